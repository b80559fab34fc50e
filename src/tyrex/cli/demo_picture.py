"""The picture of the demo: how many alerts each rule gave on each day of the year, as SVG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from tyrex.plan.pictures.canvas import BORDER, INK, MUTED, Drawing

_WIDTH, _HEIGHT, _GAP, _PADDING = 1095.0, 96.0, 46.0, 28.0
_COLOURS = ("#c05621", "#2b6cb0", "#6b46c1", "#2f855a")


@dataclass(frozen=True)
class Series:
    """The alerts of one rule, by day."""

    rule: str
    title: str
    days: Mapping[date, int]


def per_day(days: Sequence[date]) -> Counter[date]:
    """How many there are on each day."""
    return Counter(days)


def days_svg(title: str, subtitle: str, series: Sequence[Series], first: date, last: date) -> str:
    """One row of bars for each rule, over the same days; the day with the most has its number."""
    sheet = Drawing()
    sheet.text(0, 18, title, size=18, anchor="start", bold=True)
    sheet.text(0, 38, subtitle, size=12, anchor="start", fill=MUTED)
    for number, one in enumerate(series):
        row = _row(one, first, last, _COLOURS[number % len(_COLOURS)])
        sheet.place(row, 0, 62 + number * (_HEIGHT + _GAP))
    card = Drawing()
    width, height = sheet.width + 2 * _PADDING, sheet.height + 2 * _PADDING
    card.box(0.5, 0.5, width - 1, height - 1, fill="#ffffff", stroke=BORDER, radius=10)
    card.place(sheet, _PADDING, _PADDING)
    card.width, card.height = width, height
    return card.document(title)


def _row(series: Series, first: date, last: date, colour: str) -> Drawing:
    count = (last - first).days + 1
    step = _WIDTH / count
    most = max(series.days.values(), default=0)
    total = sum(series.days.values())
    row = Drawing()
    row.text(0, 12, series.title, size=13, anchor="start", bold=True)
    row.text(_WIDTH, 12, f"{total:,} alerts", size=12, anchor="end", fill=MUTED)
    floor = _HEIGHT
    room = floor - 34
    row.polyline([(0, floor), (_WIDTH, floor)], stroke=BORDER)
    peak = max(series.days, key=lambda day: series.days[day], default=None)
    for day, alerts in sorted(series.days.items()):
        height = room * alerts / most
        x = (day - first).days * step
        row.box(x, floor - height, max(step - 0.6, 1), height, fill=colour)
    if peak is not None:
        x = min(max((peak - first).days * step, 50), _WIDTH - 50)
        row.text(x, floor - room - 5, f"{most} on {peak:%-d %b}", size=11, fill=INK)
    for day in (first + timedelta(days=number) for number in range(count)):
        if day.day == 1 or day == first:
            x = (day - first).days * step
            row.polyline([(x, floor), (x, floor + 5)], stroke=BORDER)
            row.text(x + 3, floor + 15, f"{day:%b}", size=11, anchor="start", fill=MUTED)
    return row
