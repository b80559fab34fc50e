"""How long events must be kept: the age at which an event can no longer take part.

Let a match be complete when its terminator occurs, at age 0. A window `e within w from p` says that `e` comes
before `p` and at most `w` before it, so `age(p) <= age(e) <= age(p) + w`, and an extra time constraint says
the same of its two events. The greatest age that a system of such differences allows is the shortest path
from the terminator in the graph that has an edge of length `w` from `p` to `e` and one of length 0 back. That
is `ages`. It is exact: an event older than that can be in no match, and the ages along the shortest paths are
themselves a solution, so a match with an event of just that age is possible.

For choosing, an event must sometimes be kept longer than it can be in a match, because a choice is never
revised: a `first` event that later turns out to contradict another clause must still be there to be chosen,
and so to prevent the match. Its candidates are bounded only by the clauses that take part in choosing it,
those between it and events declared earlier, whose ages are as above because otherwise there would be no
match anyhow. That is `reaches`. `each` and `last` need no such care: without an older event they choose what
they chose, or choose nothing where the match was bound to fail.

A negation or an aggregate is evaluated on the complete tuple. `within w from X` looks back `w` from `X`,
hence `age(X) + w`; `between X and Y` looks back to the earlier of the two, hence its age. (A negation
excludes the end of its window, so there the bound is generous by one microsecond.)

The bounds come from the clauses about time only. Conditions on the attribute `timestamp` are not used.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from tyrex.plan.conditions import time_constraints
from tyrex.tesla.checked import CheckedRule, PatternEvent
from tyrex.tesla.expressions import Interval, Within
from tyrex.tesla.syntax import Policy
from tyrex.tesla.types import TIMER


def ages(rule: CheckedRule) -> tuple[int, ...]:
    """For each event, how old it can be in a complete match."""
    if not any(time_constraints(event.conditions) for event in rule.events):
        return _tree_ages(rule)  # the only path is along the anchors
    edges: list[list[tuple[int, int]]] = [[] for _ in rule.events]
    for event in rule.events:
        for earlier, later, window in _clauses(rule, event):
            edges[later].append((earlier, window))
            edges[earlier].append((later, 0))
    found: dict[int, int] = {}
    queue = [(0, 0)]
    while queue:
        age, index = heappop(queue)
        if index in found:
            continue
        found[index] = age
        for following, length in edges[index]:
            if following not in found:
                heappush(queue, (age + length, following))
    return tuple(found[event.index] for event in rule.events)


def reaches(rule: CheckedRule, age: tuple[int, ...]) -> tuple[int, ...]:
    """For each event, how long events must be kept to be chosen for it."""
    return tuple(_reach(rule, event, age) for event in rule.events)


def interval_reach(interval: Interval, age: tuple[int, ...]) -> int:
    """How far back a negation or an aggregate looks."""
    if isinstance(interval, Within):
        return age[interval.anchor] + interval.window
    return max(age[interval.earlier], age[interval.later])


def type_horizon(needed: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The greatest reach for each type, in the order of the types' names; timers are not kept."""
    found: dict[str, int] = {}
    for name, reach in needed:
        if name != TIMER.name and reach >= found.get(name, 0):
            found[name] = reach
    return dict(sorted(found.items()))


def _clauses(rule: CheckedRule, event: PatternEvent) -> list[tuple[int, int, int]]:
    """The clauses that take part in choosing an event: earlier event, later event, window."""
    clauses = [(c.earlier, c.later, c.window) for c in time_constraints(event.conditions)]
    if event.anchor is not None:
        clauses.append((event.index, event.anchor, _window(rule, event)))
    return clauses


def _window(rule: CheckedRule, event: PatternEvent) -> int:
    if event.selection is None and rule.deadline is not None:
        return rule.deadline
    return event.window or 0


def _tree_ages(rule: CheckedRule) -> tuple[int, ...]:
    found: list[int] = []
    for event in rule.events:  # an anchor is declared before what hangs on it
        found.append(0 if event.anchor is None else found[event.anchor] + _window(rule, event))
    return tuple(found)


def _reach(rule: CheckedRule, event: PatternEvent, age: tuple[int, ...]) -> int:
    if event.selection is None or event.selection.policy is not Policy.FIRST:
        return age[event.index]
    return min(
        age[later] + window if earlier == event.index else age[earlier]
        for earlier, later, window in _clauses(rule, event)
    )
