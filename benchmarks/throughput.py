"""Composite events in a second on one core: a thousand rules about fire with `each`, W = 50.

    .venv/bin/python -m benchmarks.throughput [--quick] [--format json]

The stream is sent as slices of an Arrow table, the process may use one core. A composite counts when its attributes are
in columns; the composites of a slice are held until those of the next are there, and freeing them is part of the time.
The time is that on the processor, which other work on the machine disturbs least; that on the wall stands beside it.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.process import cores
from benchmarks.report import Machine, Report, Table, Verdict, arguments, publish
from benchmarks.streams import fire
from benchmarks.workloads import fire_rules

import tyrex
from benchmarks import plots

WINDOW_EVENTS = 50
PERCENTS = (10, 50, 90)
BATCH = 256
"""The size that counts for the target, the same as in the comparison with the peers."""
BATCHES = (32, 128, BATCH, 512, 2_048)
EVENTS = {10: 80_000, 50: 20_000, 90: 12_000}
ROUNDS = 5
"""The quickest counts: other work on the machine only ever adds time."""
TARGET = 50e6


@dataclass(frozen=True, slots=True)
class Row:
    """One stream in batches of one size."""

    percent_smoke: int
    batch: int
    events: int
    composites: int
    seconds: float
    cpu_seconds: float

    @property
    def rate(self) -> float:
        """Composite events in a second on the processor."""
        return self.composites / self.cpu_seconds

    @property
    def wall_rate(self) -> float:
        """Composite events in a second on the wall."""
        return self.composites / self.seconds


def measure(percent_smoke: int, batches: tuple[int, ...], events: int, rounds: int = ROUNDS) -> list[Row]:
    """One stream in batches of several sizes, each in its quickest round."""
    stream = fire(WINDOW_EVENTS, percent_smoke, events)
    table = stream.to_arrow()
    rules = tyrex.parse(fire_rules("each"))
    best: dict[int, Row] = {}
    with cores(1):
        for _ in range(rounds):
            for batch in batches:
                row = _round(tyrex.Engine(rules), table, stream.fill, percent_smoke, batch)
                if batch not in best or row.cpu_seconds < best[batch].cpu_seconds:
                    best[batch] = row
    return [best[batch] for batch in batches]


def _round(engine: tyrex.Engine, table: Any, fill: int, percent_smoke: int, batch: int) -> Row:
    engine.send_batch(table.slice(0, fill))
    composites = 0
    cpu, wall = time.process_time(), time.perf_counter()
    for at in range(fill, len(table), batch):
        found = engine.send_batch(table.slice(at, batch))
        composites += len(found)
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    return Row(percent_smoke, batch, len(table) - fill, composites, seconds, cpu_seconds)


def report(rows: list[Row]) -> Report:
    """The report of what was measured."""
    header = (
        "stream",
        "batch",
        "events",
        "composites",
        "composites/s",
        "on the wall",
        "us/event",
        "ns/composite",
    )
    table = Table(
        header,
        tuple(
            (
                f"fire-each-w50-p{row.percent_smoke}",
                row.batch,
                row.events,
                row.composites,
                round(row.rate),
                round(row.wall_rate),
                1e6 * row.cpu_seconds / row.events,
                1e9 * row.cpu_seconds / row.composites,
            )
            for row in rows
        ),
    )
    return Report(
        "throughput",
        "Composite events in a second on one core: Fire each, W = 50",
        (table,),
        tuple(
            Verdict(
                f"p = {row.percent_smoke}, batches of {row.batch}",
                row.rate / 1e6,
                TARGET / 1e6,
                "million composites/s",
                at_least=True,
            )
            for row in rows
            if row.batch == BATCH
        ),
        ("Each row is the quickest of some rounds, by the time on the processor.",),
        [asdict(row) | {"composites_per_second": round(row.rate)} for row in rows],
    )


def draw(plt: Any, rows: list[Row]) -> dict[str, Any]:
    """Composites per second by the size of a batch."""
    figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    for percent in sorted({row.percent_smoke for row in rows}):
        chosen = [row for row in rows if row.percent_smoke == percent]
        axes.plot(
            [row.batch for row in chosen],
            [row.rate / 1e6 for row in chosen],
            marker="o",
            label=f"{percent}% Smoke: {chosen[0].composites / chosen[0].events:,.0f} composites/event",
        )
    axes.axhline(TARGET / 1e6, **plots.TARGET)
    axes.text(
        max(row.batch for row in rows),
        TARGET / 1e6,
        "target",
        color=plots.TARGET["color"],
        va="bottom",
        ha="right",
    )
    axes.set_xscale("log", base=2)
    sizes = sorted({row.batch for row in rows})
    axes.set_xticks(sizes, labels=[f"{size:,}" for size in sizes])
    axes.set_ylim(bottom=0)
    axes.set(
        xlabel="events in a batch",
        ylabel="million composite events/s, one core",
        title="Fire each, W = 50, 1000 rules",
    )
    axes.legend(loc="lower right")
    return {"throughput": figure}


def main() -> None:
    """Measure and show."""
    options = arguments(__doc__).parse_args()
    machine = Machine()
    rows = []
    for percent in PERCENTS:
        if options.quick:
            rows += measure(percent, (BATCH,), EVENTS[percent] // 4, rounds=3)
        else:
            rows += measure(percent, BATCHES, EVENTS[percent])
    publish(report(rows), lambda plt: draw(plt, rows), options, machine)


if __name__ == "__main__":
    main()
