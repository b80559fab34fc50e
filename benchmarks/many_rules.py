"""What rules cost that an event does not concern: 100 to 100,000 deployed rules, of which each event triggers ten.

    .venv/bin/python -m benchmarks.many_rules [--quick] [--format json]

The rules are those of the T-Rex paper's Figure 10: sequences of two events with `last`, ten rules for each kind of
event. Two streams are sent:

- `same` is one and the same stream at every size: its events are of ten kinds. What differs is only how many rules are
  deployed beside those that are triggered. The target is about this.
- `spread` has events of all kinds, so all the rules are in use, and the memory that is touched grows with them. As many
  events of each kind lie in a window at every size.

`bounds` are the same rules where the kind is asked for by two bounds, `kind > 4 and kind < 6`, which no hash can find.
Every size runs in a process of its own, which also tells the time and the memory that deploying takes.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.process import MEGABYTE, fresh, greatest_resident, resident
from benchmarks.report import Machine, Report, Table, Verdict, arguments, publish
from benchmarks.sequences import Scenario

import tyrex
from benchmarks import plots

SIZES = (100, 1_000, 10_000, 100_000)
BOUNDS_SIZES = (100, 1_000, 10_000)
TRIGGERED = 10
BATCH = 2_048
ROUNDS = 7
"""The quickest counts: other work on the machine only ever adds time."""
EVENTS = 20 * BATCH
"""In a round."""
PER_KIND = 150
"""So many events of each kind lie in a window."""
SAME_STEP = 10_000
"""Microseconds: ten kinds, and 15 s of window."""
TARGET = 1.2


@dataclass(frozen=True, slots=True)
class Deployment:
    """What deploying took."""

    parse_seconds: float
    """Reading and checking the text."""
    engine_seconds: float
    """Planning the rules, and putting them into the engine."""
    one_more_seconds: float
    """Deploying one more rule when all others are there."""
    megabytes: float
    """What the process has more than before."""
    greatest_megabytes: float
    """The same at its greatest."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What an event costs."""

    stream: str
    microseconds: float
    composites: float
    """For one event."""


@dataclass(frozen=True, slots=True)
class Row:
    """One number of rules."""

    rules: int
    form: str
    """equal or bounds."""
    deployment: Deployment
    costs: tuple[Cost, ...]

    def cost(self, stream: str) -> Cost:
        """The cost on one of the streams."""
        return next(cost for cost in self.costs if cost.stream == stream)


def scenario(rules: int, form: str) -> Scenario:
    """So many rules, ten for each kind."""
    return Scenario("last", rules=rules, kinds=rules // TRIGGERED, intervals=form == "bounds")


def measure(rules: int, form: str, events: int = EVENTS, rounds: int = ROUNDS) -> Row:
    """Deploy so many rules and send both streams; to be run in a process of its own."""
    load = scenario(rules, form)
    text = load.text()
    import pyarrow as _  # noqa: F401 - its memory is not that of the rules

    tyrex.Engine(Scenario(rules=10, kinds=1).text())  # the parser is built once
    before = resident()
    start = time.perf_counter()
    checked = tyrex.parse(text)
    parsed = time.perf_counter()
    engine = tyrex.Engine(checked)
    deployed = time.perf_counter()
    after, greatest = resident(), greatest_resident()
    engine.deploy("define Other(kind: int) from Step(kind = 0) where kind = Step.kind")
    one_more = time.perf_counter()
    deployment = Deployment(
        parsed - start,
        deployed - parsed,
        one_more - deployed,
        (after - before) / MEGABYTE,
        (greatest - before) / MEGABYTE,
    )
    same = load.events(SAME_STEP, events * rounds + TRIGGERED * PER_KIND, kinds=10, seed=7)
    first = _cost("same", engine, same.to_arrow(), TRIGGERED * PER_KIND, events)
    step = max(1, 15_000_000 // PER_KIND // load.kinds)
    fill = load.kinds * 40  # for `last` a few events of every kind and state are as good as a full window
    spread = load.events(step, events * rounds + fill, start=same.end + 60_000_000, seed=8)
    second = _cost("spread", engine, spread.to_arrow(), fill, events)
    return Row(rules, form, deployment, (first, second))


def _cost(stream: str, engine: tyrex.Engine, table: Any, fill: int, events: int) -> Cost:
    _send(engine, table, 0, fill)
    times, composites = [], 0
    for at in range(fill, len(table), events):
        before = time.process_time()
        composites += _send(engine, table, at, events)
        times.append(time.process_time() - before)
    return Cost(stream, 1e6 * min(times) / events, composites / (len(table) - fill))


def _send(engine: tyrex.Engine, table: Any, start: int, count: int) -> int:
    composites = 0
    for at in range(start, min(start + count, len(table)), BATCH):
        composites += len(engine.send_batch(table.slice(at, min(BATCH, start + count - at))))
    return composites


def report(rows: list[Row]) -> Report:
    """The report of what was measured."""
    costs, deployments, verdicts = [], [], []
    for row in rows:
        smallest = min((each for each in rows if each.form == row.form), key=lambda each: each.rules)
        ratios = [row.cost(s).microseconds / smallest.cost(s).microseconds for s in ("same", "spread")]
        costs.append(
            (
                f"{row.form}, {row.rules:,}",
                row.cost("same").microseconds,
                row.cost("same").composites,
                ratios[0],
                row.cost("spread").microseconds,
                row.cost("spread").composites,
                ratios[1],
            )
        )
        took = row.deployment
        deployments.append(
            (
                f"{row.form}, {row.rules:,}",
                took.parse_seconds,
                took.engine_seconds,
                1e3 * (took.parse_seconds + took.engine_seconds) / row.rules,
                1e3 * took.one_more_seconds,
                took.megabytes,
                1e3 * took.megabytes / row.rules,
                took.greatest_megabytes,
            )
        )
        if row.form == "equal" and row is not smallest:
            verdicts += [
                Verdict(f"{row.rules:,} rules against {smallest.rules}, {stream} stream", ratio, TARGET, "x")
                for stream, ratio in zip(("same", "spread"), ratios, strict=True)
            ]
    return Report(
        "many_rules",
        "Cost of an event by the number of deployed rules, of which it triggers ten",
        (
            Table(
                ("rules", "same us/event", "composites", "ratio", "spread us/event", "composites", "ratio"),
                tuple(costs),
                "Cost of an event",
            ),
            Table(
                ("rules", "parse s", "engine s", "ms/rule", "one more ms", "MB", "kB/rule", "greatest MB"),
                tuple(deployments),
                "Deploying",
            ),
        ),
        tuple(verdicts),
        (
            "composites: for one event. one more: `Engine.deploy` of one rule beside all others.",
            "MB: what the process has more than before; most of it are the rules as Python objects.",
        ),
        [asdict(row) for row in rows],
    )


def draw(plt: Any, rows: list[Row]) -> dict[str, Any]:
    """Cost of an event and of deploying, by the number of rules."""
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12.5, 4.2), layout="constrained")
    equal = [row for row in rows if row.form == "equal"]
    bounds = [row for row in rows if row.form == "bounds"]
    for chosen, stream, label, style in (
        (equal, "same", "the same stream", "o-"),
        (equal, "spread", "spread over all rules", "s-"),
        (bounds, "same", "rules with bounds, the same stream", "^--"),
    ):
        costs = [row.cost(stream).microseconds for row in chosen]
        left.plot([row.rules for row in chosen], costs, style, label=label)
    limit = TARGET * equal[0].cost("same").microseconds
    left.axhline(limit, **plots.TARGET)
    left.text(equal[0].rules, limit, f"{TARGET} x", color=plots.TARGET["color"], va="bottom")
    left.set(ylabel="us/event", title="Cost of an event that triggers 10 rules", yscale="log")
    left.set_ylim(top=20 * left.get_ylim()[1])
    left.legend(loc="upper left")
    sizes = [row.rules for row in equal]
    middle.plot(sizes, [row.deployment.parse_seconds for row in equal], "o-", label="parse")
    middle.plot(sizes, [row.deployment.engine_seconds for row in equal], "s-", label="plan and put in")
    middle.plot(sizes, [row.deployment.one_more_seconds for row in equal], "^-", label="one more rule")
    middle.set(ylabel="seconds", yscale="log", title="Time to deploy")
    middle.legend()
    right.plot(sizes, [row.deployment.megabytes for row in equal], "o-", label="kept")
    right.plot(sizes, [row.deployment.greatest_megabytes for row in equal], "s-", label="greatest")
    right.set(ylabel="megabytes", yscale="log", title="Memory to deploy")
    right.legend()
    for axes in (left, middle, right):
        axes.set(xscale="log", xlabel="deployed rules")
        plots.thousands(axes.xaxis)
        plots.thousands(axes.yaxis)
    return {"many_rules": figure}


def main() -> None:
    """Measure and show."""
    options = arguments(__doc__).parse_args()
    machine = Machine()
    sizes, bounds_sizes = (SIZES[:-1], BOUNDS_SIZES[:-1]) if options.quick else (SIZES, BOUNDS_SIZES)
    rows = [fresh(measure, size, "equal") for size in sizes]
    rows += [fresh(measure, size, "bounds") for size in bounds_sizes]
    publish(report(rows), lambda plt: draw(plt, rows), options, machine)


if __name__ == "__main__":
    main()
