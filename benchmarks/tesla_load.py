"""The TESLA paper's load: 5,000 rules with 25,000 states, and more than 1.5 million partial matches.

    .venv/bin/python -m benchmarks.tesla_load [--quick] [--format json]

The paper (Section 5, "Performance") says of its load: 5,000 rules with 25,000 automata states, 100 events/s, a peak of
more than 1.5 million automata instances, more than 62,000 composite events/s, less than 700 MB, 98% of a 2.53 GHz core.
"Every input event caused the duplication of many automata and the detection of a large number of complex events." The
rest is not said, and chosen here so that these numbers come out:

- A rule is a sequence of five events with `each`. All rules differ in their windows.
- Events come 10 ms apart. An event has one of 370 kinds and one of five states, so that it concerns 13 or 14 rules.
- Windows are 73 s on average: about four events of a state lie in one, so an event that ends a sequence makes 4^4
  composites for each of its rules.

Tyrex keeps stored events, not automata instances. `partial matches` is what an incremental engine would hold, counted
by `partial.py` from the same stream; it also counts the composites, which must be those that the engine finds.

Memory is that of a fresh process with rules and load, less what it has before the rules are read. The load runs with
one thread of the engine, and with two.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.partial import Count, count
from benchmarks.process import MEGABYTE, fresh, greatest_resident, resident
from benchmarks.report import Cell, Machine, Report, Table, Verdict, arguments, publish
from benchmarks.sequences import Scenario, Steps

import tyrex
from benchmarks import plots

LOAD = Scenario("each", rules=5_000, kinds=370, states=5, window=73_000)
STEP = 10_000
"""Microseconds: 100 events/s."""
FILL = 32_000
"""Events until the windows are full: four windows of 78 s at the most, one after the other."""
EVENTS = 60_000
QUICK_EVENTS = 10_000
BATCH = 256
"""Events sent at once: they make about 170,000 composites."""
SAMPLES = 60
THREADS = (1, 2)

PAPER_RATE = 100.0
PAPER_COMPOSITES = 62_000.0
PAPER_PARTIAL = 1.5e6
PAPER_MEGABYTES = 700.0
MEMORY_TARGET = 200.0
RATE_TARGET = 1_000 * PAPER_RATE


@dataclass(frozen=True, slots=True)
class Run:
    """The engine under the load."""

    threads: int
    events: int
    composites: int
    seconds: float
    cpu_seconds: float
    deploy_seconds: float
    deployed_megabytes: float
    """After the rules were deployed."""
    loaded_megabytes: float
    """After the last event."""
    greatest_megabytes: float
    stored: int
    """Events that the engine holds at the end."""
    engine_megabytes: float
    """What the engine says that it holds."""

    @property
    def rate(self) -> float:
        """Events in a second, on the wall."""
        return self.events / self.seconds


def run(load: Scenario, fill: int, events: int, threads: int = 1, batch: int = BATCH) -> Run:
    """Deploy the rules, fill the windows, and measure; to be run in a process of its own."""
    table = load.events(STEP, fill + events).to_arrow()
    tyrex.Engine(Scenario(rules=10, kinds=1).text())  # the parser is built once
    before = resident()
    start = time.perf_counter()
    engine = tyrex.Engine(load.text(), threads=threads)
    deploy_seconds = time.perf_counter() - start
    deployed = resident()
    for at in range(0, fill, batch):
        found = engine.send_batch(table.slice(at, min(batch, fill - at)))
    composites = 0
    cpu, wall = time.process_time(), time.perf_counter()
    for at in range(fill, fill + events, batch):
        found = engine.send_batch(table.slice(at, min(batch, fill + events - at)))
        composites += len(found)
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    stats = engine.stats()
    return Run(
        threads,
        events,
        composites,
        seconds,
        cpu_seconds,
        deploy_seconds,
        (deployed - before) / MEGABYTE,
        (resident() - before) / MEGABYTE,
        (greatest_resident() - before) / MEGABYTE,
        stats.stored,
        stats.bytes / MEGABYTE,
    )


def partial_matches(load: Scenario, fill: int, events: int, samples: int = SAMPLES) -> Count:
    """What an incremental engine would hold, at moments of the measured part."""
    steps: Steps = load.events(STEP, fill + events)
    measured = steps.start + STEP * fill
    moments = [measured + number * (steps.end - measured) // samples for number in range(samples)]
    return count(load, steps, moments)


def report(runs: Sequence[Run], counted: Count) -> Report:
    """The report of what was measured."""
    average = sum(counted.partial) / len(counted.partial)
    stream_seconds = runs[0].events * STEP / 1e6

    def row(name: str, get: Callable[[Run], Cell], paper: Cell = None) -> tuple[Cell, ...]:
        return (name, *(get(each) for each in runs), paper)

    rows = (
        row("rules", lambda _: LOAD.rules, 5_000),
        row("automata states", lambda _: LOAD.rules * LOAD.all_states, 25_000),
        row("partial matches, least", lambda _: min(counted.partial)),
        row("partial matches, average", lambda _: round(average)),
        row("partial matches, most", lambda _: max(counted.partial), round(PAPER_PARTIAL)),
        row(
            "composites in a second of the stream",
            lambda run: run.composites / stream_seconds,
            PAPER_COMPOSITES,
        ),
        row("events/s sustained", lambda run: run.rate, PAPER_RATE),
        row("composites/s sustained", lambda run: run.composites / run.seconds, PAPER_COMPOSITES),
        row("us/event on the processor", lambda run: 1e6 * run.cpu_seconds / run.events),
        row("MB, greatest", lambda run: run.greatest_megabytes, PAPER_MEGABYTES),
        row("MB after deploying", lambda run: run.deployed_megabytes),
        row("MB after the load", lambda run: run.loaded_megabytes),
        row("MB that the engine counts", lambda run: run.engine_megabytes),
        row("events stored", lambda run: run.stored),
        row("seconds to deploy", lambda run: run.deploy_seconds),
    )
    agree = all(each.composites == counted.composites for each in runs)
    same = f"counting chains gives {'the same number' if agree else f'another, {counted.composites:,}'}"
    needed = RATE_TARGET * runs[0].composites / runs[0].events
    verdicts = [
        Verdict("partial matches on average", average / 1e6, PAPER_PARTIAL / 1e6, "million", at_least=True)
    ]
    for each in runs:
        with_threads = f"with {threads_text(each.threads)}"
        verdicts += [
            Verdict(f"memory of rules and load {with_threads}", each.greatest_megabytes, MEMORY_TARGET, "MB"),
            Verdict(f"sustained rate {with_threads}", each.rate, RATE_TARGET, "events/s", at_least=True),
        ]
    return Report(
        "tesla_load",
        "The TESLA paper's load: 5,000 rules, 25,000 states, 1.5 million partial matches",
        (Table(("", *(threads_text(each.threads) for each in runs), "paper"), rows),),
        tuple(verdicts),
        (
            f"{runs[0].composites:,} composite events were found; {same}.",
            f"At {RATE_TARGET:,.0f} events/s the load makes {needed / 1e6:.0f} million composites/s.",
            "Partial matches are those of an incremental engine; Tyrex holds the stored events.",
        ),
        {"runs": [asdict(each) for each in runs], "partial": asdict(counted), "agree": agree},
    )


def threads_text(threads: int) -> str:
    """How many threads, in words."""
    return f"{threads} thread{'s' * (threads > 1)}"


def draw(plt: Any, runs: Sequence[Run], counted: Count) -> dict[str, Any]:
    """Partial matches over the stream; rate and memory beside the paper's and the targets."""
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(12, 4), layout="constrained", width_ratios=(2, 1, 1)
    )
    begin = counted.moments[0]
    left.plot([(moment - begin) / 1e6 for moment in counted.moments], [n / 1e6 for n in counted.partial])
    left.axhline(
        PAPER_PARTIAL / 1e6,
        color=plots.PAPER,
        linestyle="--",
        label="the paper's peak: more than 1.5 million",
    )
    left.set_ylim(bottom=0)
    left.set(
        xlabel="seconds of the stream, after the windows are full",
        ylabel="million partial matches",
        title="What an incremental engine would hold",
    )
    left.legend(loc="lower right")
    for axes, values, title, target, unit in (
        (middle, (PAPER_RATE, *(each.rate for each in runs)), "Sustained rate", RATE_TARGET, "events/s"),
        (
            right,
            (PAPER_MEGABYTES, *(each.greatest_megabytes for each in runs)),
            "Memory",
            MEMORY_TARGET,
            "megabytes",
        ),
    ):
        names = ("paper\n(Core2, 2010)", *(f"Tyrex\n{threads_text(each.threads)}" for each in runs))
        bars = axes.bar(names, values, color=(plots.PAPER, *(plots.OURS for _ in runs)), width=0.5)
        axes.bar_label(bars, [f"{'< ' if value == PAPER_MEGABYTES else ''}{value:,.0f}" for value in values])
        axes.axhline(target, **plots.TARGET)
        axes.text(0.5, target, f"target\n{target:,.0f}", color=plots.TARGET["color"], ha="center")
        axes.set(title=title, ylabel=unit)
        axes.margins(x=0.1, y=0.12)
    middle.set_yscale("log")
    plots.thousands(middle.yaxis)
    return {"tesla_load": figure}


def main() -> None:
    """Measure and show."""
    options = arguments(__doc__).parse_args()
    machine = Machine()
    events = QUICK_EVENTS if options.quick else EVENTS
    runs = [fresh(run, LOAD, FILL, events, threads) for threads in THREADS]
    counted = partial_matches(LOAD, FILL, events)
    publish(report(runs, counted), lambda plt: draw(plt, runs, counted), options, machine)


if __name__ == "__main__":
    main()
