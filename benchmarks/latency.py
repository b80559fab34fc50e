"""How long one event takes through `Engine.send`: a thousand rules about fire with `last`, W = 50, p = 10.

    .venv/bin/python -m benchmarks.latency [--quick] [--format json]

The clock runs from before the call to after it: the event comes as Python values, and the composite events that
follow from it are a list of Python objects. Their attributes are read from the engine's columns when somebody looks;
the row `read` has that in its time, too. The garbage collector is on, as in every program. What the machine
does meanwhile is part of the greatest times.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.report import Machine, Report, Table, Verdict, arguments, publish

import tyrex
from benchmarks import plots, streams, workloads

WINDOW_EVENTS = 50
PERCENT_SMOKE = 10
EVENTS = 400_000
QUICK_EVENTS = 40_000
MEDIAN_TARGET = 10.0
P99_TARGET = 50.0
QUANTILES = (0.5, 0.9, 0.99, 0.999)


@dataclass(frozen=True, slots=True)
class Times:
    """The times of single calls, in nanoseconds, sorted."""

    name: str
    nanoseconds: list[int]

    def __post_init__(self) -> None:
        if not self.nanoseconds:
            raise ValueError(f"{self.name}: no event was timed, send more")

    def quantile(self, share: float) -> float:
        """The time in microseconds that this share of the calls does not exceed."""
        return self.nanoseconds[min(int(share * len(self.nanoseconds)), len(self.nanoseconds) - 1)] / 1000

    def row(self) -> tuple[str | int | float, ...]:
        """Its row of the table."""
        mean = sum(self.nanoseconds) / len(self.nanoseconds) / 1000
        values = [mean, *(self.quantile(share) for share in QUANTILES), self.nanoseconds[-1] / 1000]
        return (self.name, len(self.nanoseconds), *(round(value, 2) for value in values))


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of one call of `send`."""

    type: str
    timestamp: float
    """Seconds."""
    attributes: dict[str, Any]


def calls(stream: streams.Stream) -> list[Call]:
    """The events of a stream as somebody would send them one by one."""
    return [
        Call(event.pop("type"), event.pop("timestamp") / 1e6, event) for event in map(dict, stream.events())
    ]


def send_all(engine: tyrex.Engine, events: Iterable[Call], *, read: bool) -> tuple[list[int], int]:
    """Send one by one: the nanoseconds of each, and how many composite events came of them."""
    clock, send = time.perf_counter_ns, engine.send
    times = []
    composites = 0
    for event in events:
        kind, timestamp, attributes = event.type, event.timestamp, event.attributes
        before = clock()
        found = send(kind, timestamp, **attributes)
        if read:
            for each in found:
                each.attributes  # noqa: B018 - looked at: this makes it
        times.append(clock() - before)
        composites += len(found)
    return times, composites


@dataclass(frozen=True, slots=True)
class Result:
    """All that was measured."""

    rows: tuple[Times, ...]
    clock: int
    """Nanoseconds that the clock itself takes."""
    composites: int


def measure(events: int, *, rules: str | None = None) -> Result:
    """Send so many events twice, once without and once with a look at what came of them."""
    stream = streams.fire(WINDOW_EVENTS, PERCENT_SMOKE, events)
    prepared = calls(stream)
    fill, rest = prepared[: stream.fill], prepared[stream.fill :]
    gc.freeze()  # the events that wait to be sent are ours: the collector need not look through them
    rows = []
    composites = 0
    checked = tyrex.parse(rules or workloads.fire_rules("last"))
    for read in (False, True):
        engine = tyrex.Engine(checked)
        send_all(engine, fill, read=read)
        times, composites = send_all(engine, rest, read=read)
        if not read:
            rows.append(Times("send", sorted(times)))
            for prefix, name in (("Temp", "send, Temp"), ("Smoke", "send, Smoke")):
                chosen = [t for t, event in zip(times, rest, strict=True) if event.type.startswith(prefix)]
                rows.append(Times(name, sorted(chosen)))
        else:
            rows.append(Times("send, read", sorted(times)))
    return Result(tuple(rows), _clock(), composites)


def _clock() -> int:
    pauses = []
    for _ in range(10_000):
        before = time.perf_counter_ns()
        pauses.append(time.perf_counter_ns() - before)
    return sorted(pauses)[len(pauses) // 2]


def report(result: Result) -> Report:
    """The report of what was measured."""
    header = ("us", "events", "mean", "median", "p90", "p99", "p99.9", "max")
    whole = result.rows[0]
    return Report(
        "latency",
        "One event through Engine.send: 1000 rules about fire, last, W = 50, p = 10",
        (Table(header, tuple(each.row() for each in result.rows)),),
        (
            Verdict("median of send", whole.quantile(0.5), MEDIAN_TARGET, "us"),
            Verdict("99th percentile of send", whole.quantile(0.99), P99_TARGET, "us"),
        ),
        (
            f"{result.composites:,} composite events; a Smoke makes about a hundred.",
            f"The clock itself takes {result.clock} ns of each time.",
        ),
        {
            "clock_ns": result.clock,
            "composites": result.composites,
            "rows": [
                {"name": each.name, "events": len(each.nanoseconds)}
                | {f"p{100 * share:g}_us": each.quantile(share) for share in QUANTILES}
                | {"max_us": each.nanoseconds[-1] / 1000}
                for each in result.rows
            ],
        },
    )


def draw(plt: Any, result: Result) -> dict[str, Any]:
    """A histogram of Temp and Smoke apart, with the percentiles of all."""
    whole, temps, smokes, _ = result.rows
    figure, axes = plt.subplots(figsize=(8.5, 4.4), layout="constrained")
    top = max(whole.quantile(0.9999), 2 * P99_TARGET)
    bins = _bins(whole.quantile(0.0) * 0.9, top)
    axes.hist(
        [[t / 1000 for t in each.nanoseconds] for each in (temps, smokes)],
        bins=bins,
        stacked=True,
        label=[
            f"Temp: enters the windows ({len(temps.nanoseconds):,} events)",
            f"Smoke: makes about 100 fires ({len(smokes.nanoseconds):,} events)",
        ],
        color=plots.COLOURS[:2],
    )
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="microseconds in Engine.send",
        ylabel="events",
        title="One event through Engine.send, 1000 rules about fire (last, W = 50, p = 10)",
    )
    axes.set_ylim(0.8, axes.get_ylim()[1] * 20)
    plots.thousands(axes.xaxis)
    plots.thousands(axes.yaxis)
    height = axes.get_ylim()[1]
    for value, text, style in (
        (whole.quantile(0.5), f"median {whole.quantile(0.5):.1f}", {"color": "black", "linewidth": 1}),
        (whole.quantile(0.99), f"p99 {whole.quantile(0.99):.1f}", {"color": "black", "linewidth": 1}),
        (MEDIAN_TARGET, f"target of the\nmedian {MEDIAN_TARGET:.0f}", plots.TARGET),
        (P99_TARGET, f"target of\np99 {P99_TARGET:.0f}", plots.TARGET),
    ):
        axes.axvline(value, **style)
        down = 0.8 if style is plots.TARGET else 0.25
        axes.text(value * 1.02, height * down, text, va="top", fontsize=8.5, color=style["color"])
    figure.legend(loc="outside lower center", ncols=2)
    return {"latency": figure}


def _bins(low: float, high: float, count: int = 90) -> Sequence[float]:
    return [low * (high / low) ** (step / count) for step in range(count + 1)]


def main() -> None:
    """Measure and show."""
    options = arguments(__doc__).parse_args()
    machine = Machine()
    result = measure(QUICK_EVENTS if options.quick else EVENTS)
    publish(report(result), lambda plt: draw(plt, result), options, machine)


if __name__ == "__main__":
    main()
