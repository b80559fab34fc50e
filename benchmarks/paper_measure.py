"""Measures what a figure of Section 5.2 of the T-Rex paper varies, value by value."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.paper_figures import Said, Sweep, Variant
from benchmarks.rates import Point, Timing, limit, sweep, time_single

import tyrex


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured."""

    single_events: int
    single_seconds: float
    batch_events: int
    batch_seconds: float


FULL = Effort(single_events=4_000, single_seconds=1.5, batch_events=20_000, batch_seconds=0.4)
QUICK = Effort(single_events=500, single_seconds=0.2, batch_events=3_000, batch_seconds=0.1)


@dataclass(frozen=True, slots=True)
class MeasuredVariant:
    """One value of what the figure varies."""

    label: str
    single_rate: float
    timing: Timing
    points: tuple[Point, ...]

    @property
    def most(self) -> tuple[float, float]:
        """The most input events/s and composites/s that were reached or found."""
        reached = limit(self.points)
        made = max(
            point.rate * point.composites for point in self.points if reached is None or point.busy < 1
        )
        return (self.points[-1].rate, made) if reached is None else (reached[0], max(made, reached[1]))


@dataclass(frozen=True, slots=True)
class MeasuredPanel:
    """A row of the figure."""

    title: str
    variants: tuple[MeasuredVariant, ...]
    times: tuple[Said, ...]
    rates: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class MeasuredSweep:
    """A whole figure."""

    number: int
    title: str
    varied: str
    panels: tuple[MeasuredPanel, ...]
    note: str


def measure(figure: Sweep, effort: Effort) -> MeasuredSweep:
    """Measure all of a figure."""
    panels = tuple(
        MeasuredPanel(
            panel.title,
            tuple(measure_variant(each, effort) for each in panel.variants),
            panel.times,
            panel.rates,
        )
        for panel in figure.panels
    )
    return MeasuredSweep(figure.number, figure.title, figure.varied, panels, figure.note)


def measure_variant(variant: Variant, effort: Effort) -> MeasuredVariant:
    """One value: single events, and then rate by rate."""
    rules = tyrex.parse(variant.load.text())
    timing = time_single(
        variant.load,
        rules,
        variant.rate,
        events=effort.single_events,
        longest=effort.single_seconds,
        threads=variant.threads,
    )
    points = sweep(
        variant.load,
        rules,
        variant.rates,
        events=effort.batch_events,
        longest=effort.batch_seconds,
        threads=variant.threads,
    )
    return MeasuredVariant(variant.label, variant.rate, timing, points)
