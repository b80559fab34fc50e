"""A rule over what is stored: which events fulfil which of its conditions, one terminator at a time.

The kernel keeps no record of what it rejected. So an explanation walks the pattern once more, in the order in
which it chooses (SEMANTICS sections 2 to 4), and this is what it walks with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tyrex.engine.deploy import Deployed
from tyrex.engine.stored import Occurrence, Stored
from tyrex.events import Event, Value
from tyrex.tesla.aggregates import AGGREGATES
from tyrex.tesla.checked import Negation, PatternEvent
from tyrex.tesla.evaluate import evaluate, holds
from tyrex.tesla.expressions import (
    CANDIDATE,
    Aggregate,
    Expression,
    Interval,
    Precedes,
    Within,
    conjuncts,
)
from tyrex.tesla.syntax import Policy, Selection
from tyrex.tesla.values import Tally

Tuple = tuple[Occurrence, ...]
"""The events chosen so far, in the order of declaration."""


@dataclass(frozen=True)
class Scope:
    """The events that a condition speaks of."""

    matcher: Matcher
    chosen: Sequence[Occurrence]
    candidate: Occurrence | None = None

    def attribute(self, event: int, name: str) -> Value:
        """The value of an attribute of a chosen event, or of the candidate."""
        occurrence = self.candidate if event == CANDIDATE else self.chosen[event]
        assert occurrence is not None
        return occurrence.event.get(name)

    def precedes(self, node: Precedes) -> bool:
        """Whether one event comes before the other, at most its window before."""
        earlier, later = self.chosen[node.earlier], self.chosen[node.later]
        return earlier.sequence < later.sequence and later.time - earlier.time <= node.window

    def aggregate(self, node: Aggregate) -> Value:
        """The value of an aggregate over the stored events."""
        events = [
            o.event
            for o in self.matcher.inside(node.type, node.interval, self.chosen, ends=True)
            if self.matcher.all_hold(node.conditions, self.chosen, o)
        ]
        if node.attribute is None:
            return len(events)
        values = [value for event in events if (value := event[node.attribute]) is not None]
        return AGGREGATES[node.function].compute(values, Tally())


@dataclass(frozen=True)
class Matcher:
    """One rule over the stored events; `consumed` are the places of those that it can't choose any more."""

    stored: Stored
    deployed: Deployed
    consumed: Mapping[float, Occurrence] = field(default_factory=dict)

    # Conditions

    def value(
        self, expression: Expression, chosen: Sequence[Occurrence], candidate: Occurrence | None = None
    ) -> Value:
        """The value of an expression."""
        return evaluate(expression, Scope(self, chosen, candidate), Tally())

    def all_hold(
        self,
        conditions: Iterable[Expression],
        chosen: Sequence[Occurrence],
        candidate: Occurrence | None = None,
    ) -> bool:
        """Whether all conditions hold."""
        scope = Scope(self, chosen, candidate)
        return all(holds(condition, scope, Tally()) for condition in conditions)

    def failing(self, given: Tuple) -> tuple[PatternEvent, Expression] | None:
        """The first condition on the given events, the terminator's, that does not hold, and whose it is."""
        for event in self.deployed.plan.rule.events[: len(given)]:
            for condition in conditions_of(event):
                if not self.all_hold((condition,), given):
                    return event, condition
        return None

    # Choosing

    def visible(self, type_name: str) -> list[Occurrence]:
        """The stored events of a type that came after the rule was deployed."""
        return [o for o in self.stored.of(type_name).all if o.sequence >= self.deployed.moment]

    def in_window(self, event: PatternEvent, chosen: Tuple) -> list[Occurrence]:
        """The events that are near enough before the anchor of an event of the pattern."""
        assert event.anchor is not None
        assert event.window is not None
        anchor = chosen[event.anchor]
        found = self.stored.of(event.type).between(anchor.time - event.window, -1, anchor.sequence)
        return [o for o in found if o.sequence >= self.deployed.moment]

    def candidates(self, event: PatternEvent, chosen: Tuple) -> list[Occurrence]:
        """The events among which one of the pattern is chosen."""
        return [
            o
            for o in self.in_window(event, chosen)
            if o.sequence not in self.consumed and self.all_hold(event.conditions, (*chosen, o))
        ]

    def extend(self, chosen: Tuple) -> list[Tuple]:
        """The tuples with the next event of the pattern."""
        event = self.deployed.plan.rule.events[len(chosen)]
        assert event.selection is not None
        return [(*chosen, o) for o in pick(event.selection, self.candidates(event, chosen))]

    def matches(self, given: Tuple) -> list[Tuple]:
        """The complete tuples for a terminator, in order."""
        tuples = [given]
        for _ in self.deployed.plan.rule.events[len(given) :]:
            tuples = [longer for shorter in tuples for longer in self.extend(shorter)]
        return [match for match in tuples if self.is_complete(match)]

    # The complete tuple

    def is_complete(self, match: Tuple) -> bool:
        """Whether the events are distinct, and negations and guards hold."""
        rule = self.deployed.plan.rule
        return (
            is_distinct(match)
            and not any(self.blockers(negation, match) for negation in rule.negations)
            and self.all_hold(rule.guards, match)
        )

    def inside(
        self, type_name: str, interval: Interval, chosen: Sequence[Occurrence], *, ends: bool
    ) -> list[Occurrence]:
        """The events in an interval: with both ends for aggregates, without for negations."""
        if isinstance(interval, Within):
            last = chosen[interval.anchor]
            start, after = last.time - interval.window + (0 if ends else 1), -1.0
        else:
            first, last = chosen[interval.earlier], chosen[interval.later]
            start, after = first.time, first.sequence
        found = self.stored.of(type_name).between(start, after, last.sequence, ends=ends)
        return [o for o in found if o.sequence >= self.deployed.moment]

    def blockers(self, negation: Negation, match: Tuple) -> list[Occurrence]:
        """The events that a negation forbids."""
        found = self.inside(negation.type, negation.interval, match, ends=False)
        return [o for o in found if self.all_hold(negation.conditions, match, o)]

    def compose(self, match: Tuple) -> Event:
        """The composite event of a match, without its id."""
        rule = self.deployed.plan.rule
        attributes = {name: self.value(value, match) for name, value in rule.assignments}
        return Event(rule.defines.name, match[0].time, attributes, None, rule.name)


def conditions_of(event: PatternEvent) -> list[Expression]:
    """The conditions on an event, one by one."""
    return [part for condition in event.conditions for part in conjuncts(condition)]


def is_distinct(match: Tuple) -> bool:
    """Whether no event plays two roles."""
    return len({occurrence.sequence for occurrence in match}) == len(match)


def pick(selection: Selection, candidates: Sequence[Occurrence]) -> Sequence[Occurrence]:
    """The candidates, which are in order, that a policy chooses."""
    if selection.policy is Policy.EACH:
        return candidates
    if len(candidates) < selection.k:
        return []
    return [candidates[selection.k - 1 if selection.policy is Policy.FIRST else -selection.k]]
