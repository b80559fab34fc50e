"""Static and dynamic conditions: which can be tested on an event alone (T-Rex paper, section 4)."""

from __future__ import annotations

from collections.abc import Iterable

from tyrex.plan.model import Condition, Split
from tyrex.tesla.expressions import (
    CANDIDATE,
    Aggregate,
    Attribute,
    Compare,
    Expression,
    Literal,
    Precedes,
    conjuncts,
    events_in,
    walk,
)


def split_conditions(conditions: Iterable[Expression], own: int = CANDIDATE) -> Split:
    """The conditions on event `own`, or on the candidate of a negation or an aggregate, in their two kinds.

    Time constraints between events are left out: they are no conditions on content.
    """
    static: list[Expression] = []
    dynamic: list[Condition] = []
    for condition in conditions:
        for part in conjuncts(condition):
            if isinstance(part, Precedes):
                continue
            others = _others(part, own)
            if others is None:
                static.append(part)
            else:
                dynamic.append(Condition(part, others))
    return Split(tuple(static), tuple(dynamic))


def needs(expression: Expression) -> tuple[int, ...]:
    """All events an expression speaks of, in the order of declaration."""
    return tuple(sorted(events_in(expression)))


def time_constraints(conditions: Iterable[Expression]) -> list[Precedes]:
    """The time constraints among the conditions on an event; each is a conjunct of its own."""
    return [condition for condition in conditions if isinstance(condition, Precedes)]


def aggregates_in(expression: Expression) -> list[Aggregate]:
    """The aggregates in an expression, outer ones first."""
    if isinstance(expression, Attribute | Literal):
        return []
    return [node for node in walk(expression) if isinstance(node, Aggregate)]


def _others(condition: Expression, own: int) -> tuple[int, ...] | None:
    """The other events a condition needs; None if it is static."""
    if isinstance(condition, Compare):  # most are as simple as this
        left, right = condition.left, condition.right
        if isinstance(left, Attribute) and left.event == own:
            if isinstance(right, Literal):
                return None
            if isinstance(right, Attribute):
                return None if right.event == own else (right.event,)
    found = events_in(condition)
    found.discard(own)
    if found:
        return tuple(sorted(found))
    return () if aggregates_in(condition) else None
