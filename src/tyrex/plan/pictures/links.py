"""The dashed lines of Fig. 2 of the T-Rex paper: what connects the states of the sequence models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from tyrex.plan.model import ParameterLink, PlaceKind, RulePlan
from tyrex.plan.text import printer, show_aggregate, show_negation
from tyrex.tesla.durations import format_duration
from tyrex.tesla.expressions import Attribute, Compare, Expression, Interval, Within


class LinkKind(StrEnum):
    """What a dashed line stands for."""

    JOIN = "shared event"
    PARAMETER = "parameter"
    CONDITION = "condition"
    NEGATION = "negation"
    AGGREGATE = "aggregate"


@dataclass(frozen=True, slots=True)
class Spot:
    """A state in one of the sequence models."""

    row: int
    event: int


@dataclass(frozen=True, slots=True)
class Link:
    """A dashed line through some states; with one state only, it reaches back from it."""

    kind: LinkKind
    spots: tuple[Spot, ...]
    label: str


def links(plan: RulePlan) -> tuple[Link, ...]:
    """All dashed lines of a rule's automaton."""
    return (*_joins(plan), *_parameters(plan), *_conditions(plan), *_negations(plan), *_aggregates(plan))


def spots_of(plan: RulePlan, *events: int) -> tuple[Spot, ...]:
    """A place for each event: in the first sequence model that has them all, else each in its first one."""
    rows = [
        row
        for row, sequence in enumerate(plan.sequences)
        if all(event in sequence.states for event in events)
    ]
    if rows:
        return tuple(Spot(rows[0], event) for event in plan.sequences[rows[0]].states if event in events)
    return tuple(
        next(Spot(row, event) for row, sequence in enumerate(plan.sequences) if event in sequence.states)
        for event in events
    )


def _joins(plan: RulePlan) -> Iterator[Link]:
    for joined in plan.joined:
        for upper, lower in pairwise(joined.models):
            yield Link(LinkKind.JOIN, (Spot(upper, joined.event), Spot(lower, joined.event)), "")


def _parameters(plan: RulePlan) -> Iterator[Link]:
    for parameter in plan.parameters:
        if parameter.event is None:
            continue
        in_one_row: dict[tuple[int, str], dict[int, None]] = {}
        for event, label in _labelled_users(plan, parameter):
            spots = spots_of(plan, parameter.event, event)
            if len({spot.row for spot in spots}) == 1:
                in_one_row.setdefault((spots[0].row, label), {})[event] = None
            else:
                yield Link(LinkKind.PARAMETER, spots, label)
        for (row, label), events in in_one_row.items():
            connected = {parameter.event, *events}
            states = [event for event in plan.sequences[row].states if event in connected]
            yield Link(LinkKind.PARAMETER, tuple(Spot(row, event) for event in states), label)


def _labelled_users(plan: RulePlan, parameter: ParameterLink) -> Iterator[tuple[int, str]]:
    """The events that use a parameter; equality of attributes with one name goes without saying."""
    for use in parameter.uses:
        if use.place.kind is PlaceKind.EVENT and use.place.index != parameter.event:
            own = printer(plan, use.place.index, parameters=True)
            plain = use.operator == "=" and _is_same_attribute(use.condition, parameter.expression)
            yield use.place.index, f"${parameter.name}" if plain else own.show(use.condition)


def _is_same_attribute(condition: Expression, meant: Expression) -> bool:
    """Whether a comparison is between attributes with one name: `area = $a`, where `$a` is an `area`."""
    match condition, meant:
        case Compare(left=Attribute(name=left), right=Attribute(name=right)), Attribute():
            return left == right
        case _:
            return False


def _conditions(plan: RulePlan) -> Iterator[Link]:
    """Dynamic conditions that are written without a parameter: `B.zone = A.area`."""
    shown = {
        (use.place.index, use.condition)
        for parameter in plan.parameters
        for use in parameter.uses
        if use.place.kind is PlaceKind.EVENT
    }
    for state in plan.states:
        own = printer(plan, state.index, parameters=True)
        for condition in state.dynamic:
            if (state.index, condition.expression) not in shown:
                spots = spots_of(plan, *sorted({state.index, *condition.needs}))
                yield Link(LinkKind.CONDITION, spots, own.show(condition.expression))


def _negations(plan: RulePlan) -> Iterator[Link]:
    for negation in plan.negations:
        text = show_negation(plan, negation, interval=False)
        yield _interval_link(plan, LinkKind.NEGATION, negation.interval, text)


def _aggregates(plan: RulePlan) -> Iterator[Link]:
    for aggregate in plan.aggregates:
        text = show_aggregate(plan, aggregate, interval=False)
        yield _interval_link(plan, LinkKind.AGGREGATE, aggregate.interval, text)


def _interval_link(plan: RulePlan, kind: LinkKind, interval: Interval, text: str) -> Link:
    if isinstance(interval, Within):
        label = f"{text} within {format_duration(interval.window)}"
        return Link(kind, spots_of(plan, interval.anchor), label)
    return Link(kind, spots_of(plan, interval.earlier, interval.later), text)
