"""Where the parts of an automaton go: sequence models as rows, the same event always in the same column.

From left to right a row has its initial state, a state for each event and the accepting state. Below it run
lanes for the dashed links, packed so that their labels do not touch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tyrex.plan.model import RulePlan, SequenceModel, Transition
from tyrex.plan.pictures.canvas import LINE
from tyrex.plan.pictures.links import Link, LinkKind, links
from tyrex.plan.pictures.measure import text_width, wrap
from tyrex.plan.text import show_static, show_step, show_type

RADIUS = 21.0
INITIAL = 7.0
TEXT = 12.0
LINE_HEIGHT = TEXT * LINE
SIDE = 18.0
"""Room between a circle and the label of an arrow; links to far rows run in it."""
LEFT = 46.0
"""Room for the name of a sequence model."""
_WIDEST_LABEL = 176.0
_LEAST_GAP = 64.0
_NARROWEST_LABEL = 150.0
_WIDEST_BRANCH = 250.0
_TICKS = 24.0
"""Room below a circle where links begin."""
_LANE_GAP = 8.0


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow between two circles, with the lines above it, the type first, and the text below."""

    row: int
    start: float
    end: float
    title: tuple[str, ...]
    conditions: tuple[str, ...]
    below: str

    @property
    def above(self) -> tuple[str, ...]:
        """All lines above the arrow."""
        return self.title + self.conditions


@dataclass(frozen=True, slots=True)
class Lane:
    """A dashed link below a row: its line at `y` from `left` to `right`, and its label."""

    link: Link
    left: float
    right: float
    y: float
    label: tuple[str, ...]
    label_x: float


@dataclass(frozen=True, slots=True)
class Layout:
    """The geometry of an automaton."""

    x: Mapping[int, float]
    """The middle of each event's column."""
    y: tuple[float, ...]
    """The line of each row."""
    starts: tuple[float, ...]
    """The middle of each row's initial state."""
    arrows: tuple[Arrow, ...]
    lanes: tuple[Lane, ...]
    joins: tuple[Link, ...]


def lay_out(plan: RulePlan) -> Layout:
    """Place everything."""
    columns = _columns(plan)
    dashed = [link for link in links(plan) if link.kind is not LinkKind.JOIN]
    x = _column_places(plan, columns, dashed)
    place = {event: x[column] for event, column in columns.items()}
    starts = tuple(x[columns[sequence.initial] - 1] for sequence in plan.sequences)
    arrows = tuple(
        arrow
        for row, sequence in enumerate(plan.sequences)
        for arrow in _row_arrows(plan, row, sequence, place, starts[row])
    )
    y: list[float] = []
    lanes: list[Lane] = []
    top = 0.0
    for row in range(len(plan.sequences)):
        above = max(len(arrow.above) for arrow in arrows if arrow.row == row)
        y.append(top + max(above * LINE_HEIGHT + 8, RADIUS + 8))
        below = y[row] + RADIUS + 10
        packed, below = _pack([_lane(link, place) for link in dashed if _upper(link) == row], below)
        lanes += packed
        top = below + 8
    joins = tuple(link for link in links(plan) if link.kind is LinkKind.JOIN)
    return Layout(place, tuple(y), starts, arrows, tuple(lanes), joins)


def _columns(plan: RulePlan) -> dict[int, int]:
    """The column of each event; the terminator has the last one."""
    depth = dict.fromkeys(range(len(plan.states)), 0)
    changed = True
    while changed:
        changed = False
        for arrow in plan.order:
            if depth[arrow.source] <= depth[arrow.target]:
                depth[arrow.source] = depth[arrow.target] + 1
                changed = True
    last = max(depth.values()) + 1
    return {event: last - steps for event, steps in depth.items()}


def _column_places(plan: RulePlan, columns: Mapping[int, int], dashed: Sequence[Link]) -> list[float]:
    """The middle of each column, wide enough apart for the labels of the arrows between."""
    gaps = [_LEAST_GAP] * max(columns.values())
    for sequence in plan.sequences:
        steps: list[Transition | None] = [None, *sequence.transitions]
        for step, event in zip(steps, sequence.states, strict=True):
            column = columns[event]
            if step is None or columns[step.source] == column - 1:
                gaps[column - 1] = max(gaps[column - 1], _label_width(plan, event, step) + 2 * SIDE)
    x = [LEFT]
    for gap in gaps:
        x.append(x[-1] + 2 * RADIUS + gap)
    for link in dashed:
        ends = sorted({columns[spot.event] for spot in link.spots})
        if len(ends) == 1:  # it reaches back, or down its own column: make room before its state
            missing = _width(wrap(link.label, TEXT, _WIDEST_BRANCH)) + _TICKS + 2 * SIDE - x[ends[0]]
        else:
            room = max(x[right] - x[left] for left, right in pairwise(ends))
            missing = _width(wrap(link.label, TEXT, _WIDEST_BRANCH)) + 2 * _TICKS - room
        if missing > 0:
            x[ends[-1] :] = [place + missing for place in x[ends[-1] :]]
    return x


def _label_width(plan: RulePlan, event: int, step: Transition | None) -> float:
    title = max(text_width(line, TEXT, bold=True) for line in _title(plan, event))
    below = "" if step is None else show_step(step)
    return max(title, _width(_conditions(plan, event)), text_width(below, TEXT))


def _title(plan: RulePlan, event: int) -> tuple[str, ...]:
    return tuple(wrap(show_type(plan.states[event]), TEXT, _WIDEST_LABEL, bold=True))


def _conditions(plan: RulePlan, event: int) -> tuple[str, ...]:
    shown = show_static(plan, plan.states[event])
    return tuple(line for condition in shown for line in wrap(condition, TEXT, _WIDEST_LABEL))


def _row_arrows(
    plan: RulePlan, row: int, sequence: SequenceModel, place: Mapping[int, float], start: float
) -> list[Arrow]:
    steps: list[Transition | None] = [None, *sequence.transitions]
    found = []
    for step, event in zip(steps, sequence.states, strict=True):
        source = start + INITIAL if step is None else place[step.source] + RADIUS
        rim = RADIUS + 4 if event == sequence.accepting else RADIUS
        below = "" if step is None else show_step(step)
        title, conditions = _title(plan, event), _conditions(plan, event)
        found.append(Arrow(row, source, place[event] - rim, title, conditions, below))
    return found


def _upper(link: Link) -> int:
    return min(spot.row for spot in link.spots)


def _lane(link: Link, place: Mapping[int, float]) -> Lane:
    """A link with its horizontal extent; where it goes down is decided later."""
    ends = sorted(place[spot.event] for spot in link.spots)
    if len(link.spots) == 1:
        label = wrap(link.label, TEXT, _WIDEST_BRANCH)
        middle = ends[0] - _TICKS - _width(label) / 2
        return Lane(link, middle - _width(label) / 2 - SIDE, ends[0], 0, tuple(label), middle)
    left, right = ends[0], ends[-1]
    if left == right:  # the same column in different rows: the label stands left of it
        label = wrap(link.label, TEXT, _NARROWEST_LABEL)
        middle = left - RADIUS - SIDE - _width(label) / 2
        return Lane(link, middle, right, 0, tuple(label), middle)
    stops = sorted({left, right, *(x for x in place.values() if left < x < right)})
    gaps = list(pairwise(stops)) or [(left, right)]
    label = wrap(link.label, TEXT, max(max(b - a for a, b in gaps) - 2 * _TICKS + 1, _NARROWEST_LABEL))
    width = _width(label)
    wide = [gap for gap in gaps if gap[1] - gap[0] + 1 >= width + 2 * _TICKS] or gaps
    start, end = min(wide, key=lambda gap: abs(sum(gap) - left - right))
    return Lane(link, left, right, 0, tuple(label), max((start + end) / 2, width / 2 + 8))


def _pack(lanes: Sequence[Lane], top: float) -> tuple[list[Lane], float]:
    """Give each lane a line, short ones first, several on one line where they leave each other room."""
    lines: list[list[Lane]] = []
    for lane in sorted(lanes, key=lambda lane: (lane.right - lane.left, lane.label)):
        left, right = _extent(lane)
        for line in lines:
            taken = [_extent(other) for other in line]
            if all(right + 12 < start or end + 12 < left for start, end in taken):
                line.append(lane)
                break
        else:
            lines.append([lane])
    placed: list[Lane] = []
    for line in lines:
        height = max(max(len(lane.label), 1) for lane in line) * LINE_HEIGHT + _LANE_GAP
        placed += [replace(lane, y=top + height / 2) for lane in line]
        top += height
    return placed, top


def _extent(lane: Lane) -> tuple[float, float]:
    half = _width(lane.label) / 2 + 4
    return min(lane.left, lane.label_x - half), max(lane.right, lane.label_x + half)


def _width(lines: Sequence[str]) -> float:
    return max((text_width(line, TEXT) for line in lines), default=0.0)
