"""The measurements of an evaluation, and what can be asked of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tyrex.simulate.charts import COLOURS, Point, Series
from tyrex.simulate.sweep import Measured

# The 97.5% points of Student's distribution, for 1 to 15 degrees of freedom.
_STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over seeds, and half of its 95% confidence interval."""

    mean: float
    half: float


@dataclass
class Results:
    """All runs of an evaluation, by figure, value and strategy."""

    runs: dict[tuple[str, float, str, str], list[Measured]] = field(default_factory=dict)
    """By figure, value, strategy and mode."""

    @staticmethod
    def of(measured: Iterable[Measured]) -> Results:
        """The runs, whose labels are a figure and a value."""
        results = Results()
        for one in measured:
            figure, _, value = one.label.partition(" ")
            key = (figure, float(value), one.strategy, one.mode)
            results.runs.setdefault(key, []).append(one)
        return results

    def values(self, figure: str) -> list[float]:
        """The values of the parameter of a figure that were run."""
        return sorted({value for name, value, _, _ in self.runs if name == figure})

    def get(
        self, figure: str, value: float, strategy: str, what: str = "events_per_second", mode: str = "exact"
    ) -> Mean | None:
        """The mean of a measurement; None if it was not run."""
        found = [getattr(one, what) for one in self.runs.get((figure, value, strategy, mode), ())]
        known = [float(one) for one in found if one is not None]
        return confidence(known) if known else None

    def line(self, figure: str, strategy: str, what: str = "events_per_second") -> list[float]:
        """The means over the values of a figure, in their order."""
        found = [self.get(figure, value, strategy, what) for value in self.values(figure)]
        return [one.mean for one in found if one is not None]

    def series(self, figure: str, strategies: Sequence[str], what: str, mode: str = "exact") -> list[Series]:
        """The lines of a plot."""
        made = []
        for place, strategy in enumerate(strategies):
            points = []
            for value in self.values(figure):
                found = self.get(figure, value, strategy, what, mode)
                if found is not None:
                    points.append(Point(value, found.mean, found.half))
            if points:
                made.append(Series(strategy, tuple(points), COLOURS[place % len(COLOURS)]))
        return made


def confidence(values: Sequence[float]) -> Mean:
    """The mean and the half of the 95% confidence interval; of a single value that is nothing."""
    average = sum(values) / len(values)
    if len(values) < 2:
        return Mean(average, 0.0)
    variance = sum((value - average) ** 2 for value in values) / (len(values) - 1)
    student = _STUDENT[len(values) - 2] if len(values) - 2 < len(_STUDENT) else 1.96
    return Mean(average, student * math.sqrt(variance / len(values)))
