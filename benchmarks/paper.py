"""The T-Rex paper's Section 5, Figures 5 to 17, with Tyrex; Figures 5 to 7 beside Esper.

    .venv/bin/python -m benchmarks.paper [--figure 8] [--no-peers] [--quick] [--format json]

A picture for each figure, laid out as in the paper. Its own numbers are dashed lines, where its text gives them; the
paper's machine had six cores of 2.8 GHz. `--quick` leaves out values and Esper.

Processing time is that of one event through `send_batch`, from Python objects to columns of composites. Throughput is
measured in batches of up to 100 events, the paper's queue, up to the rate at which the engine is busy all the time;
beyond, a full queue drops events, and the curve is drawn flat.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.paper_compare import CompareFigure
from benchmarks.paper_figures import Sweep, sweeps
from benchmarks.paper_measure import FULL, QUICK, MeasuredSweep
from benchmarks.paper_queue import QueueFigure
from benchmarks.report import Cell, Machine, Report, Table, arguments, publish

from benchmarks import paper_compare, paper_measure, paper_plots, paper_queue

QUEUE_TITLES = {
    16: ("Size of the input queue", "input events/s", "sequences of three events"),
    17: ("Tolerance to spikes", "events in a spike", "10 us apart, a second between spikes"),
}
NUMBERS = range(5, 18)


@dataclass(slots=True)
class Results:
    """What was measured, figure by figure."""

    compared: list[CompareFigure] = field(default_factory=list)
    swept: list[MeasuredSweep] = field(default_factory=list)
    queued: dict[int, list[QueueFigure]] = field(default_factory=dict)


def measure(numbers: list[int], *, quick: bool, with_peers: bool, tell: Callable[[str], None]) -> Results:
    """Measure the figures with these numbers."""
    results = Results()
    all_sweeps: dict[int, Sweep] = {each.number: each for each in sweeps(quick=quick)}
    for number in numbers:
        start = time.perf_counter()
        if number in paper_compare.FIGURES:
            results.compared.append(paper_compare.measure(number, with_peers=with_peers))
        elif number in all_sweeps:
            results.swept.append(paper_measure.measure(all_sweeps[number], QUICK if quick else FULL))
        else:
            results.queued[number] = [_queue(number, policy, quick=quick) for policy in ("each", "last")]
        tell(f"Figure {number}: {time.perf_counter() - start:.0f} s")
    return results


def _queue(number: int, policy: str, *, quick: bool) -> QueueFigure:
    seconds = {"each": 0.7, "last": 0.15}[policy]
    if number == 16:
        if quick:
            return paper_queue.constant_rate(
                policy, sizes=(10, 1_000), shares=(0.8, 1.2, 2), seconds=seconds / 3
            )
        return paper_queue.constant_rate(policy, seconds=seconds)
    if quick:
        return paper_queue.spikes(policy, sizes=(10, 1_000), lengths=(10, 1_000), count=1, seconds=seconds)
    return paper_queue.spikes(policy)


def report(results: Results) -> Report:
    """The report of what was measured."""
    tables = []
    rows: tuple[tuple[Cell, ...], ...]
    header: tuple[str, ...]
    for figure in results.compared:
        rows = tuple(
            (
                panel.title,
                each.engine,
                each.microseconds,
                each.rate,
                each.rate * each.composites / each.events,
            )
            for panel in figure.panels
            for each in panel.figures
        )
        header = ("", "engine", "us/event", "most events/s", "most composites/s")
        tables.append(Table(header, rows, f"Figure {figure.number}. {figure.title}"))
    for swept in results.swept:
        rows = tuple(
            (f"{panel.title}, {each.label}", each.timing.average, each.timing.p99, *each.most)
            for panel in swept.panels
            for each in panel.variants
        )
        header = ("", "average us", "p99 us", "most events/s", "most composites/s")
        tables.append(Table(header, rows, f"Figure {swept.number}. {swept.title}"))
    for number, panels in results.queued.items():
        title, x, _ = QUEUE_TITLES[number]
        for panel in panels:
            sizes = sorted({each.queue for each in panel.dropped})
            found = {(each.x, each.queue): each.percent for each in panel.dropped}
            rows = tuple(
                (f"{place:,.0f}", *(found[place, size] for size in sizes))
                for place in sorted({each.x for each in panel.dropped})
            )
            header = (x, *(f"{size:,}" for size in sizes))
            name = (
                f"Figure {number}. {title}, {panel.policy}-within: percent dropped by the size of the queue"
            )
            tables.append(Table(header, rows, name))
    notes = [f"Figure {swept.number}: {swept.note}" for swept in results.swept if swept.note]
    notes += [
        f"Figure {figure.number}, {panel.title}: no Esper: {panel.note.splitlines()[0]}"
        for figure in results.compared
        for panel in figure.panels
        if panel.note
    ]
    data = {
        "compared": [asdict(each) for each in results.compared],
        "swept": [asdict(each) for each in results.swept],
        "queued": {number: [asdict(each) for each in panels] for number, panels in results.queued.items()},
    }
    return Report("paper", "The T-Rex paper's Section 5 with Tyrex", tuple(tables), (), tuple(notes), data)


def draw(plt: Any, results: Results) -> dict[str, Any]:
    """A picture for each figure."""
    pictures = {f"paper-{each.number:02}": paper_plots.compared(plt, each) for each in results.compared}
    pictures |= {f"paper-{each.number:02}": paper_plots.sweep(plt, each) for each in results.swept}
    for number, panels in results.queued.items():
        title, x, note = QUEUE_TITLES[number]
        pictures[f"paper-{number:02}"] = paper_plots.queue(plt, number, title, x, panels, note)
    return pictures


def main() -> None:
    """Measure and show."""
    parser = arguments(__doc__)
    parser.add_argument(
        "--figure", type=int, action="append", choices=NUMBERS, metavar="N", help="only this one, 5 to 17"
    )
    parser.add_argument("--no-peers", action="store_true", help="only Tyrex")
    options = parser.parse_args()
    machine = Machine()
    results = measure(
        options.figure or list(NUMBERS),
        quick=options.quick,
        with_peers=not (options.no_peers or options.quick),
        tell=lambda line: print(line, file=sys.stderr, flush=True),
    )
    publish(report(results), lambda plt: draw(plt, results), options, machine)


if __name__ == "__main__":
    main()
