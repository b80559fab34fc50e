"""Events on their way into the kernel: from Python's objects and from Arrow's columns to typed columns."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tyrex.engine.deploy import UNKNOWN
from tyrex.events import Conformer, Event, Value
from tyrex.tesla.types import TIMER, EventType

ColumnLayout: TypeAlias = tuple[Any, ...]
"""("objects", values), or Arrow's layout: (layout, offset, address of the validity, addresses of the data)."""
Block: TypeAlias = tuple[int, int, int, list[ColumnLayout], ColumnLayout | None]


@dataclass
class Encoded:
    """Events of several types, ready for the kernel."""

    order: array[int]
    events: Sequence[Event]
    blocks: list[Block] = field(default_factory=list)
    alive: list[object] = field(default_factory=list)
    """What the addresses point into."""


class Encoder:
    """Encodes events of the known types."""

    def __init__(self, types: Mapping[str, EventType], numbers: Mapping[str, int], unknown: int) -> None:
        self._types = {name: type_ for name, type_ in types.items() if name != TIMER.name}
        self._numbers = numbers
        self._unknown = unknown
        self._conform = Conformer(self._types)

    def one(self, event: Event) -> tuple[int, list[Value]]:
        """The number of an event's type and its values in declared order."""
        conformed = self._conform(event)
        if conformed is None:
            return self._unknown, []
        return self._numbers[event.type], list(conformed.attributes.values())

    def events(self, events: Iterable[Event]) -> Encoded:
        """Events as objects."""
        given = list(events)
        encoded = Encoded(order=array("I"), events=given)
        groups: dict[str, tuple[int, list[Event]]] = {}
        for event in given:
            conformed = self._conform(event)
            name = UNKNOWN.name
            if conformed is None:
                conformed = event
            else:
                name = event.type
            if name not in groups:
                groups[name] = (len(groups), [])
            number, group = groups[name]
            group.append(conformed)
            encoded.order.append(number)
        encoded.blocks = [self._block(name, group, encoded) for name, (_, group) in groups.items()]
        return encoded

    def _block(self, name: str, group: Sequence[Event], encoded: Encoded) -> Block:
        times = array("q", [event.timestamp for event in group])
        encoded.alive.append(times)
        if name == UNKNOWN.name:
            return (self._unknown, times.buffer_info()[0], len(times), [], None)
        columns: list[ColumnLayout] = [
            ("objects", [event.attributes[a.name] for event in group]) for a in self._types[name].attributes
        ]
        ids = [event.id for event in group]
        given_ids = ("objects", ids) if any(id_ is not None for id_ in ids) else None
        return (self._numbers[name], times.buffer_info()[0], len(times), columns, given_ids)
