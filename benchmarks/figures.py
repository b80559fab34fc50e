"""A measurement beside those of the peers, and how they are shown: as a table, a report, a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from benchmarks.report import Report, Table, Verdict

from benchmarks import plots

OURS = "tyrex"


@dataclass(frozen=True, slots=True)
class Figure:
    """One engine on one workload."""

    workload: str
    engine: str
    rules: int
    events: int
    composites: int
    seconds: float
    """On the wall, from the first measured event to the last."""
    cpu_seconds: float | None = None
    """On the processor: of our whole process, of the one thread of Esper that detects (its collector is left out).

    Where other work shares the machine, this is steadier than the time on the wall.
    """
    sum: float | None = None
    """Of `measured` over all composites, where it was asked for."""

    @property
    def microseconds(self) -> float:
        """For an input event."""
        return 1e6 * self.seconds / self.events

    @property
    def rate(self) -> float:
        """Input events in a second."""
        return self.events / self.seconds

    def record(self) -> dict[str, Any]:
        """The figure for JSON."""
        return asdict(self) | {
            "microseconds_per_event": round(self.microseconds, 4),
            "events_per_second": round(self.rate, 1),
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Our figure, if there is one, beside those of the peers on the same stream."""

    workload: str
    target: float
    ours: Figure | None
    peers: tuple[Figure, ...]
    notes: tuple[str, ...] = ()
    """Why a figure is missing."""

    def ratio(self, peer: Figure) -> float | None:
        """How many times the peer's rate ours is."""
        return None if self.ours is None else self.ours.rate / peer.rate

    def cpu_ratio(self, peer: Figure) -> float | None:
        """The same by the time on the processor, where both are known."""
        if self.ours is None or not self.ours.cpu_seconds or not peer.cpu_seconds:
            return None
        return (peer.cpu_seconds / peer.events) / (self.ours.cpu_seconds / self.ours.events)

    @property
    def agree(self) -> bool:
        """Whether all engines found the same number of composite events."""
        figures = [*self.peers, *([self.ours] if self.ours else [])]
        return len({figure.composites for figure in figures}) <= 1

    def record(self) -> dict[str, Any]:
        """The comparison for JSON."""
        return {
            "workload": self.workload,
            "target": self.target,
            "agree": self.agree,
            "figures": [figure.record() for figure in ([self.ours] if self.ours else []) + [*self.peers]],
            "ratios": {peer.engine: self.ratio(peer) for peer in self.peers},
            "cpu_ratios": {peer.engine: self.cpu_ratio(peer) for peer in self.peers},
            "notes": list(self.notes),
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Comparison:
        """The comparison that `record` wrote."""
        names = {each.name for each in fields(Figure)}
        figures = [
            Figure(**{name: value for name, value in figure.items() if name in names})
            for figure in record["figures"]
        ]
        return cls(
            record["workload"],
            record["target"],
            next((figure for figure in figures if figure.engine == OURS), None),
            tuple(figure for figure in figures if figure.engine != OURS),
            tuple(record["notes"]),
        )


HEADER = (
    f"{'workload':<22} {'engine':<13} {'us/event':>10} {'cpu us':>9} {'events/s':>12} {'composites':>12} "
    f"{'ratio':>8} {'cpu ratio':>9} {'target':>7}"
)


def table(comparison: Comparison) -> str:
    """The lines of one workload."""
    lines = []
    name = comparison.workload
    for figure in ([comparison.ours] if comparison.ours else []) + [*comparison.peers]:
        ratio = None if figure is comparison.ours else comparison.ratio(figure)
        cpu_ratio = None if figure is comparison.ours else comparison.cpu_ratio(figure)
        cpu = "" if figure.cpu_seconds is None else f"{1e6 * figure.cpu_seconds / figure.events:.2f}"
        target = "" if figure is comparison.ours else f"{comparison.target:.0f} x"
        lines.append(
            f"{name:<22} {figure.engine:<13} {figure.microseconds:>10.2f} {cpu:>9} {figure.rate:>12,.0f} "
            f"{figure.composites:>12,} {_times(ratio):>8} {_times(cpu_ratio):>9} {target:>7}"
        )
        name = ""
    lines += [f"{'':<22} {note}" for note in comparison.notes]
    if not comparison.agree:
        lines.append(f"{'':<22} the numbers of composite events differ")
    return "\n".join(lines)


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.1f} x"


def report(comparisons: Sequence[Comparison], threads: int) -> Report:
    """All figures, and a verdict for each peer; windows that were shared by hand have none."""
    rows = []
    verdicts = []
    for comparison in comparisons:
        for figure in ([comparison.ours] if comparison.ours else []) + [*comparison.peers]:
            is_ours = figure is comparison.ours
            ratio = None if is_ours else comparison.ratio(figure)
            rows.append(
                (
                    comparison.workload,
                    figure.engine,
                    figure.microseconds,
                    None if figure.cpu_seconds is None else 1e6 * figure.cpu_seconds / figure.events,
                    round(figure.rate),
                    figure.composites,
                    ratio,
                    None if is_ours else comparison.cpu_ratio(figure),
                )
            )
            if ratio is not None and not figure.engine.endswith("-shared"):
                what = f"{comparison.workload} against {figure.engine}"
                verdicts.append(Verdict(what, ratio, comparison.target, "x", at_least=True))
    header = ("workload", "engine", "us/event", "cpu us", "events/s", "composites", "ratio", "cpu ratio")
    notes = [f"{each.workload}: {note.splitlines()[0]}" for each in comparisons for note in each.notes]
    notes += [
        f"{each.workload}: the numbers of composite events differ" for each in comparisons if not each.agree
    ]
    return Report(
        "compare",
        f"Tyrex with {threads} thread{'s' * (threads > 1)} beside Esper 9 and Flink on the same streams",
        (Table(header, tuple(rows)),),
        tuple(verdicts),
        tuple(notes),
        [each.record() for each in comparisons],
    )


def draw(plt: Any, comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Events per second, a bar for each engine."""
    engines = sorted(
        {figure.engine for each in comparisons for figure in (each.ours, *each.peers) if figure},
        key=lambda name: (name != OURS, name),
    )
    size = (9, 1.6 + 0.22 * len(engines) * len(comparisons))
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    height = 0.8 / len(engines)
    for index, engine in enumerate(engines):
        bars = [
            (place + index * height, found.rate)
            for place, each in enumerate(comparisons)
            for found in (each.ours, *each.peers)
            if found and found.engine == engine
        ]
        drawn = axes.barh([y for y, _ in bars], [rate for _, rate in bars], height=height, label=engine)
        axes.bar_label(drawn, [plots.short(rate) for _, rate in bars], fontsize=7, padding=2)
    axes.set(xscale="log", xlabel="input events/s", title="Tyrex beside its peers, on the same streams")
    plots.thousands(axes.xaxis)
    axes.set_yticks([place + 0.4 - height / 2 for place in range(len(comparisons))])
    axes.set_yticklabels([each.workload for each in comparisons])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    figure.legend(loc="outside lower center", ncols=len(engines))
    return {"compare": figure}
