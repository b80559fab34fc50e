"""The composite events of a run: those that are wanted are counted and written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, TypeAlias

from tyrex.events import Event
from tyrex.io import EventWriter, Found, write_json_event
from tyrex.tesla import CheckedSubscription
from tyrex.tesla.evaluate import holds
from tyrex.tesla.expressions import Aggregate, Precedes
from tyrex.tesla.values import Tally, Value

LineageOf: TypeAlias = Callable[[Event], Sequence[Event]]
"""Tells what a composite event was made of."""


class Results:
    """Takes what a runtime finds: composite events in order, and late events."""

    def __init__(
        self,
        writer: EventWriter,
        *,
        subscription: CheckedSubscription | None = None,
        late: IO[str] | None = None,
    ) -> None:
        self.by_rule: Counter[str] = Counter()
        self.late = 0
        self._writer = writer
        self._subscription = subscription
        self._late = late

    def take(self, composites: Iterable[Event], lineage: LineageOf | None) -> None:
        """Write those that fit the subscription."""
        self._writer.write(self._wanted(composites, lineage))

    def take_late(self, events: Sequence[Event]) -> None:
        """Count events that came too late, and write them where they are wanted."""
        self.late += len(events)
        if self._late is not None and events:
            self._late.writelines(f"{write_json_event(event)}\n" for event in events)
            self._late.flush()

    def _wanted(self, composites: Iterable[Event], lineage: LineageOf | None) -> Iterator[Found]:
        subscription = self._subscription
        for event in composites:
            if subscription is None or fits(subscription, event):
                self.by_rule[event.rule or ""] += 1
                yield Found(event, None if lineage is None else lineage(event))


class _OneEvent:
    """The scope of a subscription: a single event."""

    def __init__(self, event: Event) -> None:
        self._event = event

    def attribute(self, event: int, name: str) -> Value:
        return self._event.get(name)

    def precedes(self, node: Precedes) -> bool:
        raise AssertionError("a subscription speaks of one event")

    def aggregate(self, node: Aggregate) -> Value:
        raise AssertionError("a subscription has no aggregates")


def fits(subscription: CheckedSubscription, event: Event) -> bool:
    """Whether the event is one that the subscription asks for."""
    scope = _OneEvent(event)
    return event.type == subscription.type and all(holds(c, scope, Tally()) for c in subscription.conditions)
