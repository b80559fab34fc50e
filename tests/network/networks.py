"""Networks of processors for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from tests.network.simulated import SimulatedNetwork

from tyrex.events import Event
from tyrex.network.control.settings import STRATEGIES, Mode, Settings
from tyrex.network.data.interface import Task
from tyrex.network.messages import Message
from tyrex.network.processor import Processor
from tyrex.tesla import EventType
from tyrex.tesla.types import AttributeType, ValueType

MS = 1000
HEARTBEAT = 100 * MS
"""Of networks whose messages are looked at."""


def type_of(name: str, **attributes: str) -> EventType:
    """An event type from its attributes."""
    return EventType(name, tuple(AttributeType(a, ValueType(t)) for a, t in attributes.items()))


class Watched(SimulatedNetwork):
    """A network that remembers what was sent."""

    def __init__(
        self,
        edges: Mapping[tuple[str, str], int],
        data: Callable[[Task], Any],
        strategy: str = "ST",
        *,
        mode: Mode = Mode.EXACT,
        weights: Mapping[str, int] | None = None,
        lateness: int | None = 0,
        heartbeat: int = HEARTBEAT,
    ) -> None:
        self.log: list[tuple[int, str, str, Message]] = []
        super().__init__(heartbeat=heartbeat, watch=lambda *sent: self.log.append(sent))
        self._settings = Settings(STRATEGIES[strategy], mode, heartbeat=heartbeat, lateness=lateness)
        self._weights = weights or {}
        self._data = data
        for name in sorted({name for edge in edges for name in edge}):
            self.start(name)
        for (one, other), delay in edges.items():
            self.connect(one, other, delay)

    def start(self, name: str) -> None:
        """A processor starts."""
        chosen = replace(self._settings, weight=self._weights.get(name, 10))
        self.add(Processor(name, chosen, data=self._data, incarnation=self.now))

    def settle(self, time: int = 2_000 * MS) -> None:
        """Let things come to rest."""
        self.run(self.now + time)

    def messages(self, kind: type, since: int = 0) -> list[tuple[str, str, Message]]:
        """What was sent of a kind: sender, receiver, message."""
        return [(a, b, m) for at, a, b, m in self.log if isinstance(m, kind) and at >= since]

    def emit(self, at: str, type_: str, **attributes: object) -> Event:
        """A source publishes an event with the present as its time."""
        event = Event(type_, self.now, attributes)  # type: ignore[arg-type]
        self.publish(at, "source", type_, [event])
        return event

    def got(self, at: str, client: str = "sink") -> list[Event]:
        """What a client has got, in the order of time."""
        events = [
            event
            for delivery in self.deliveries
            if (delivery.processor, delivery.client) == (at, client)
            for event in delivery.block.events()
        ]
        return sorted(events, key=lambda event: (event.timestamp, event.id or ""))

    def parents(self, root: str) -> dict[str, str | None]:
        """Who has which parent in a tree."""
        return {
            name: processor.branches[root].place.parent
            for name, processor in self.processors.items()
            if root in processor.branches
        }


def ids(events: Iterable[Event]) -> list[str]:
    """The ids of events, in order."""
    return sorted(event.id or "" for event in events)
