"""A measurement, and how measurements are shown: as a table, as JSON, as plots."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

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


def write_json(comparisons: Sequence[Comparison], path: Path) -> None:
    """Write all figures."""
    path.write_text(json.dumps([each.record() for each in comparisons], indent=2) + "\n")


def plot(comparisons: Sequence[Comparison], path: Path) -> bool:
    """Draw events per second, a bar for each engine; False where matplotlib is not installed."""
    try:
        mpl: Any = importlib.import_module("matplotlib")
    except ImportError:
        return False
    mpl.use("svg")
    plt: Any = importlib.import_module("matplotlib.pyplot")

    engines = sorted(
        {figure.engine for each in comparisons for figure in (each.ours, *each.peers) if figure},
        key=lambda name: (name != OURS, name),
    )
    figure, axes = plt.subplots(figsize=(9, 1.2 + 0.25 * len(engines) * len(comparisons)))
    height = 0.8 / len(engines)
    for index, engine in enumerate(engines):
        bars = [
            (place + index * height, found.rate)
            for place, each in enumerate(comparisons)
            for found in (each.ours, *each.peers)
            if found and found.engine == engine
        ]
        axes.barh([y for y, _ in bars], [rate for _, rate in bars], height=height, label=engine)
    axes.set_xscale("log")
    axes.set_xlabel("input events in a second")
    axes.set_yticks([place + 0.4 - height / 2 for place in range(len(comparisons))])
    axes.set_yticklabels([each.workload for each in comparisons])
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="best")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
    return True
