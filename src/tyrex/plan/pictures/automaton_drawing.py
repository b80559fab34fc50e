"""The automaton of a rule, drawn like Fig. 2 of the T-Rex paper."""

from __future__ import annotations

from math import sqrt

from tyrex.plan.model import RulePlan
from tyrex.plan.pictures.canvas import MUTED, PALE, Drawing, rounded
from tyrex.plan.pictures.links import Link, LinkKind, Spot
from tyrex.plan.pictures.names import short_names
from tyrex.plan.pictures.rows import INITIAL, LINE_HEIGHT, RADIUS, SIDE, Lane, Layout, lay_out

COLOURS = {
    LinkKind.JOIN: "#8493a5",
    LinkKind.PARAMETER: "#2461c9",
    LinkKind.CONDITION: "#7a45b5",
    LinkKind.NEGATION: "#c03a1d",
    LinkKind.AGGREGATE: "#0a7a53",
}
_TICKS = (6.0, 10.0, 14.0, 17.0, 19.0)
"""How far from the middle of a circle the links below it begin; the middle is for shared events."""
_BESIDE = 0
"""The side of the links that come down to a circle from a row above; those below it have -1 and 1."""


def automaton_drawing(plan: RulePlan) -> Drawing:
    """Sequence models as rows, with the dashed links between their states."""
    layout = lay_out(plan)
    sheet = Drawing()
    ticks: dict[tuple[Spot, int], int] = {}
    for link in layout.joins:
        _draw_join(sheet, layout, link)
    for lane in layout.lanes:
        _draw_lane(sheet, layout, lane, ticks)
    for lane in layout.lanes:
        sheet.label(lane.label_x, lane.y, lane.label, fill=COLOURS[lane.link.kind])
    for arrow in layout.arrows:
        y = layout.y[arrow.row]
        sheet.polyline([(arrow.start, y), (arrow.end - 4, y)])
        sheet.arrow_head((arrow.end, y), (arrow.start, y))
        middle = (arrow.start + arrow.end) / 2
        sheet.label(middle, y - 8 - len(arrow.above) * LINE_HEIGHT / 2, arrow.above, bold=len(arrow.title))
        if arrow.below:
            sheet.label(middle, y + 4 + LINE_HEIGHT / 2, (arrow.below,), fill=MUTED, italic=True)
    shorts = short_names(plan.names)
    for row, sequence in enumerate(plan.sequences):
        y = layout.y[row]
        sheet.text(0, y + 4, sequence.name, size=13, anchor="start", bold=True)
        sheet.circle(layout.starts[row], y, INITIAL)
        for event in sequence.states:
            x = layout.x[event]
            if event == sequence.accepting:
                sheet.circle(x, y, RADIUS + 4)
            sheet.circle(x, y, RADIUS, fill=PALE)
            sheet.text(x, y + 4.5, shorts[event], size=13, bold=True)
    sheet.height += 6
    return sheet


def _draw_join(sheet: Drawing, layout: Layout, link: Link) -> None:
    """The dashed line between two appearances of an event; past rows between, it runs beside the circles."""
    upper, lower = link.spots
    x, top, bottom = layout.x[upper.event], layout.y[upper.row], layout.y[lower.row]
    colour = COLOURS[LinkKind.JOIN]
    if lower.row == upper.row + 1:
        sheet.polyline([(x, top + RADIUS), (x, bottom - RADIUS)], stroke=colour, dashed=True)
        return
    near, out = RADIUS * 0.7, RADIUS + SIDE * 0.45
    sheet.path(
        rounded(
            [(x + near, top + near), (x + out, top + out), (x + out, bottom - out), (x + near, bottom - near)]
        ),
        stroke=colour,
        dashed=True,
    )


def _draw_lane(sheet: Drawing, layout: Layout, lane: Lane, ticks: dict[tuple[Spot, int], int]) -> None:
    """A dashed bracket below a row, up to each of its states; from one state alone, a line to a bar."""
    colour = COLOURS[lane.link.kind]
    upper = min(spot.row for spot in lane.link.spots)
    columns = {layout.x[spot.event] for spot in lane.link.spots}
    own_column = len(columns) < len(lane.link.spots) and len(columns) == 1  # its label stands to the left
    middle = lane.right + 1 if own_column else (lane.left + lane.right) / 2
    ends: list[float] = [lane.label_x] if own_column else []
    for spot in lane.link.spots:
        x, y = layout.x[spot.event], layout.y[spot.row]
        if spot.row == upper:
            side = -1 if x < middle else 1  # deeper lanes begin farther out, so that they do not cross
            used = ticks.get((spot, side), 0)
            ticks[spot, side] = used + 1
            shift = side * _TICKS[min(used, len(_TICKS) - 1)]
            rim = RADIUS + 4 if spot.event == 0 else RADIUS
            sheet.polyline(
                [(x + shift, y + sqrt(rim**2 - shift**2)), (x + shift, lane.y)], stroke=colour, dashed=True
            )
            ends.append(x + shift)
        else:  # in another row: down on the left of its column
            used = ticks.get((spot, _BESIDE), 0)
            ticks[spot, _BESIDE] = used + 1
            beside, near = x - RADIUS - SIDE * (0.45 + 0.2 * min(used, 2)), RADIUS * 0.7
            sheet.path(
                rounded([(beside, lane.y), (beside, y - RADIUS - 8), (x - near, y - near)]),
                stroke=colour,
                dashed=True,
            )
            ends.append(beside)
    if len(lane.link.spots) == 1:
        sheet.polyline([(lane.left, lane.y - 5), (lane.left, lane.y + 5)], stroke=colour)
        ends.append(lane.left)
    sheet.polyline([(min(ends), lane.y), (max(ends), lane.y)], stroke=colour, dashed=True)
