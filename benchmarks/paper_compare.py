"""Figures 5 to 7 of the T-Rex paper: Tyrex beside Esper, composites in a second by the rate of input events.

The streams are those of the comparison: in their windows lie as many events at every rate, so one measurement gives the
whole curve. It rises with the rate up to the one at which the engine is busy all the time, and is flat beyond, where a
full queue drops events. Esper is version 9 on the same stream and machine; the paper had version 4 on a machine of its
time. An eighth of the comparison's events is enough here, though it warms up Esper less.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.figures import Figure
from benchmarks.paper_figures import Said
from benchmarks.workloads import chosen

from benchmarks import ours, peers

WINDOW_EVENTS = 50
PERCENTS = (10, 50, 90)


@dataclass(frozen=True, slots=True)
class Compared:
    """One panel: the engines on one stream."""

    title: str
    figures: tuple[Figure, ...]
    said: tuple[Said, ...] = ()
    note: str = ""
    """Why an engine is missing."""


@dataclass(frozen=True, slots=True)
class CompareFigure:
    """Figure 5, 6 or 7."""

    number: int
    title: str
    columns: int
    panels: tuple[Compared, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A panel that is to be measured."""

    title: str
    workload: str
    said: tuple[Said, ...] = ()


_FIGURE_5 = (
    Wanted(
        "1000 rules, of which an event fulfils one",
        "filter",
        (
            Said("paper, T-Rex: about 45,000", "5.1.1", ((0, 45_000),)),
            Said("paper, Esper 4: below 35,000", "5.1.1", ((0, 35_000),)),
        ),
    ),
)
_FIGURE_6 = tuple(
    Wanted(
        f"Rule {rule} ({policy}), {percent}% Smoke",
        f"fire-{policy}-w{WINDOW_EVENTS}-p{percent}",
        (Said("paper: Esper 4 falls beyond 6,000 events/s", "5.1.2", ((6_000, 0),)),)
        if policy == "last"
        else (),
    )
    for percent in PERCENTS
    for rule, policy in (("R1", "each"), ("R2", "last"))
)
_FIGURE_7 = tuple(
    Wanted(
        f"{percent}% Smoke",
        f"fire-avg-w{WINDOW_EVENTS}-p{percent}",
        (Said("paper: Esper 4 drops from 1,000 events/s", "5.1.3", ((1_000, 0),)),) if percent > 10 else (),
    )
    for percent in PERCENTS
)
FIGURES = {
    5: ("Filtering", 1, _FIGURE_5),
    6: ("Patterns: Rules R1 and R2", 2, _FIGURE_6),
    7: ("Aggregates: Rule R5", 3, _FIGURE_7),
}


def measure(number: int, *, with_peers: bool) -> CompareFigure:
    """Every panel of a figure."""
    title, columns, wanted = FIGURES[number]
    panels = tuple(_panel(each, with_peers=with_peers) for each in wanted)
    return CompareFigure(number, title, columns, panels)


def _panel(wanted: Wanted, *, with_peers: bool) -> Compared:
    workload = next(each for each in chosen([wanted.workload]) if each.name == wanted.workload).quick()
    stream = workload.stream()
    figures = [ours.run(workload, stream)]
    note = ""
    if with_peers:
        try:
            figures.append(peers.run_esper(workload, stream))
        except peers.PeerMissing as error:
            note = str(error)
    return Compared(wanted.title, tuple(figures), wanted.said, note)
