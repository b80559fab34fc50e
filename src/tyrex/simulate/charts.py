"""Plots of measurements: lines over a parameter, and bars; each value with its confidence interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tyrex.plan.pictures.canvas import BORDER, INK, MUTED, Drawing
from tyrex.plan.pictures.measure import text_width

COLOURS = ("#1b6ca8", "#d1495b", "#2a9d5c", "#e9a820", "#7b4fa3", "#6b6b6b", "#0f9aa8")
_WIDTH, _HEIGHT = 400.0, 240.0
_LEFT, _TOP, _BOTTOM = 66.0, 46.0, 46.0
_SMALL, _TITLE = 11.0, 13.0
_TICKS = 5


@dataclass(frozen=True, slots=True)
class Point:
    """A measured value: its mean, and half of its confidence interval."""

    x: float
    mean: float
    half: float = 0


@dataclass(frozen=True, slots=True)
class Series:
    """A line, or a bar, with its name."""

    name: str
    points: tuple[Point, ...]
    colour: str


def lines(
    title: str, across: str, up: str, series: Sequence[Series], *, logarithmic: bool = False
) -> Drawing:
    """Lines over a parameter; `across` and `up` name the axes, with their units."""
    sheet, top = _frame(title, across, up, series)
    places = sorted({point.x for one in series for point in one.points})
    scale = _Scale(places, logarithmic)
    for x in places:
        sheet.text(scale.at(x), _TOP + _HEIGHT + 16, number(x), size=_SMALL, fill=MUTED)
    for one in series:
        points = [(scale.at(p.x), _y(p.mean, top)) for p in one.points]
        for point, (x, _) in zip(one.points, points, strict=True):
            _whisker(sheet, x, point, top, one.colour)
        if points:
            commands = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            sheet.path(commands, stroke=one.colour, width=2)
        for x, y in points:
            sheet.circle(x, y, 3, fill=one.colour, stroke=one.colour)
    _legend(sheet, series)
    return sheet


def bars(title: str, up: str, series: Sequence[Series]) -> Drawing:
    """A bar for each of the series, which have one point."""
    sheet, top = _frame(title, "", up, series)
    width = _WIDTH / max(1, len(series))
    for place, one in enumerate(series):
        x = _LEFT + (place + 0.5) * width
        for point in one.points:
            y = _y(point.mean, top)
            sheet.box(x - width * 0.32, y, width * 0.64, _TOP + _HEIGHT - y, fill=one.colour)
            _whisker(sheet, x, point, top, INK)
            sheet.text(x, _y(point.mean + point.half, top) - 5, number(point.mean), size=_SMALL, fill=MUTED)
        sheet.text(x, _TOP + _HEIGHT + 16, one.name, size=_SMALL)
    return sheet


def number(value: float) -> str:
    """A number with as many digits as a reader needs."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e6:
        return f"{value / 1e6:.3g}M"
    if size >= 1e4:
        return f"{value / 1e3:.3g}k"
    return f"{value:.0f}" if size >= 1000 else f"{value:.3g}"


@dataclass(frozen=True, slots=True)
class _Scale:
    """Where the values of the parameter stand."""

    places: Sequence[float]
    logarithmic: bool

    def at(self, x: float) -> float:
        first, last = self._seen(self.places[0]), self._seen(self.places[-1])
        part = (self._seen(x) - first) / (last - first) if last > first else 0.5
        return _LEFT + 20 + part * (_WIDTH - 40)

    def _seen(self, x: float) -> float:
        return math.log10(x) if self.logarithmic else x


def _frame(title: str, across: str, up: str, series: Sequence[Series]) -> tuple[Drawing, float]:
    """The sheet with its axes, and the value at its top."""
    highest = max((p.mean + p.half for one in series for p in one.points), default=0) or 1.0
    step = _step(highest / _TICKS)
    top = step * math.ceil(highest / step)
    sheet = Drawing()
    sheet.box(0, 0, _LEFT + _WIDTH + 10, _TOP + _HEIGHT + _BOTTOM, fill="#ffffff")
    sheet.text(0, 14, title, size=_TITLE, anchor="start", bold=True)
    sheet.text(0, 28, up, size=_SMALL, anchor="start", fill=MUTED)
    for tick in range(round(top / step) + 1):
        y = _y(tick * step, top)
        sheet.path(f"M{_LEFT} {y:.1f} H{_LEFT + _WIDTH}", stroke=BORDER if tick else INK, width=1)
        sheet.text(_LEFT - 8, y + 4, number(tick * step), size=_SMALL, anchor="end", fill=MUTED)
    if across:
        sheet.text(_LEFT + _WIDTH / 2, _TOP + _HEIGHT + 36, across, size=_SMALL, fill=MUTED)
    return sheet, top


def _step(least: float) -> float:
    """The next larger of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least * 0.999)


def _y(value: float, top: float) -> float:
    return _TOP + _HEIGHT * (1 - value / top)


def _whisker(sheet: Drawing, x: float, point: Point, top: float, colour: str) -> None:
    if point.half:
        low, high = _y(max(0.0, point.mean - point.half), top), _y(point.mean + point.half, top)
        sheet.path(
            f"M{x - 4:.1f} {high:.1f} H{x + 4:.1f} M{x:.1f} {high:.1f} V{low:.1f} M{x - 4:.1f} {low:.1f} H{x + 4:.1f}",
            stroke=colour,
            width=1,
        )


def _legend(sheet: Drawing, series: Sequence[Series]) -> None:
    x, y = _LEFT, _TOP + _HEIGHT + _BOTTOM + 14
    for one in series:
        width = 30 + text_width(one.name, _SMALL)
        if x + width > _LEFT + _WIDTH:
            x, y = _LEFT, y + 18
        sheet.box(x, y - 9, 16, 10, fill=one.colour)
        sheet.text(x + 21, y, one.name, size=_SMALL, anchor="start")
        x += width + 8
