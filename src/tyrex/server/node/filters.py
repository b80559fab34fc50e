"""Filters of subscriptions: which events a sink wants."""

from __future__ import annotations

from dataclasses import dataclass

from tyrex.events import Event
from tyrex.rules import RuleSet
from tyrex.tesla import CheckedSubscription, ValueType
from tyrex.tesla.evaluate import holds
from tyrex.tesla.expressions import Aggregate, Precedes
from tyrex.tesla.values import Tally, Value


@dataclass(frozen=True, slots=True)
class Filter:
    """Lets events of one type through whose conditions hold."""

    text: str
    checked: CheckedSubscription
    floats: frozenset[str]
    """The attributes of its type that are floats."""

    def __call__(self, event: Event) -> bool:
        """Whether an event gets through."""
        if event.type != self.checked.type:
            return False
        scope, tally = _One(event, self.floats), Tally()
        return all(holds(condition, scope, tally) for condition in self.checked.conditions)


@dataclass(frozen=True, slots=True)
class _One:
    """The scope of conditions on a single event."""

    event: Event
    floats: frozenset[str]

    def attribute(self, event: int, name: str) -> Value:
        """Its own attribute."""
        value = self.event.get(name)
        # JSON has no infinity: in what was read from the log it is a text.
        return float(value) if name in self.floats and isinstance(value, str) else value

    def precedes(self, node: Precedes) -> bool:
        """There is no other event."""
        raise AssertionError("a filter speaks of one event")

    def aggregate(self, node: Aggregate) -> Value:
        """There are no other events."""
        raise AssertionError("a filter speaks of one event")


def filter_of(text: str, rules: RuleSet) -> Filter:
    """The filter in a text such as `Fire(area = "A1")`; `TeslaError` if it is none."""
    checked = rules.subscription(text)
    declared = rules.types[checked.type].attributes
    return Filter(text, checked, frozenset(a.name for a in declared if a.type is ValueType.FLOAT))
