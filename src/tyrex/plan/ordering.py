"""The ordering graph of a rule (TESLA paper, section 5.1): which events cannot occur after which."""

from __future__ import annotations

from collections.abc import Iterable

from tyrex.plan.conditions import time_constraints
from tyrex.plan.model import TimeConstraint, Transition, TransitionKind
from tyrex.tesla.checked import CheckedRule
from tyrex.tesla.expressions import Precedes

Successors = dict[int, list[int]]


def ordering_graph(rule: CheckedRule) -> tuple[Transition, ...]:
    """The arrows of the graph, from the earlier event to the later one.

    Every anchor is an arrow. A time constraint is one only where it orders two events that the other arrows
    leave unordered: `E within 8 min from A`, where `E` comes before `A` anyway, adds a bound and no order.
    """
    windows: dict[tuple[int, int], int] = {}
    constraints = _constraints(rule)
    for constraint in constraints:
        pair = (constraint.earlier, constraint.later)
        windows[pair] = min(constraint.window, windows.get(pair, constraint.window))

    arrows = [_anchor_arrow(rule, index, windows) for index in range(1, len(rule.events))]
    if not constraints:
        return tuple(arrows)
    successors: Successors = {}
    for arrow in arrows:
        successors.setdefault(arrow.source, []).append(arrow.target)
    kept: list[tuple[int, int]] = []
    for earlier, later in windows:
        if not _leads(successors, earlier, later) and not _leads(successors, later, earlier):
            successors.setdefault(earlier, []).append(later)
            kept.append((earlier, later))
    for earlier, later in kept:
        successors[earlier].remove(later)
        if not _leads(successors, earlier, later):  # else a later constraint made it superfluous
            successors[earlier].append(later)
            window = windows[earlier, later]
            arrows.append(Transition(earlier, later, TransitionKind.CONSTRAINT, None, window))
    return tuple(arrows)


def extra_constraints(rule: CheckedRule, order: Iterable[Transition]) -> tuple[TimeConstraint, ...]:
    """The rule's time constraints beyond its anchors."""
    ordering = {(arrow.source, arrow.target) for arrow in order if arrow.kind is TransitionKind.CONSTRAINT}
    return tuple(
        TimeConstraint(
            c.earlier, c.later, c.window, max(c.earlier, c.later), (c.earlier, c.later) in ordering
        )
        for c in _constraints(rule)
    )


def _constraints(rule: CheckedRule) -> list[Precedes]:
    return [constraint for event in rule.events for constraint in time_constraints(event.conditions)]


def _anchor_arrow(rule: CheckedRule, index: int, windows: dict[tuple[int, int], int]) -> Transition:
    event = rule.events[index]
    anchor = event.anchor or 0
    if rule.deadline is not None and event.selection is None:
        return Transition(index, anchor, TransitionKind.DEADLINE, None, rule.deadline)
    declared = event.window or 0
    window = min(declared, windows.get((index, anchor), declared))
    return Transition(index, anchor, TransitionKind.ANCHOR, event.selection, window)


def _leads(successors: Successors, start: int, goal: int) -> bool:
    """Whether the arrows lead from one event to another."""
    seen = {start}
    stack = [start]
    while stack:
        node = stack.pop()
        if node == goal:
            return True
        for following in successors.get(node, ()):
            if following not in seen:
                seen.add(following)
                stack.append(following)
    return False
