"""How events travel through a shuffle: few narrow columns that all event types share.

A row has the number of its type, its time, its place among simultaneous events, its id if the source gave one, and a
slot for each attribute that is needed. Attributes of different types share slots of their value type, so a row
is as wide as the widest type, not as all types together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from tyrex.tesla.types import EventType, ValueType

SHARD, SLICE, TYPE, TIME, SEQUENCE, ID = "shard", "slice", "type", "timestamp", "sequence", "id"
TICK = -1
"""The type of a row that is no event: it only lets time pass."""
PROBLEM = "problem"
"""The column that says of a row that is no event why it is none, where a source tells."""

_LETTERS = {ValueType.STRING: "s", ValueType.INT: "i", ValueType.FLOAT: "f", ValueType.BOOL: "b"}


@dataclass(frozen=True)
class Wire:
    """The columns of events on their way, and where each type has its attributes."""

    types: tuple[EventType, ...]
    """The types that travel; a row names one by its position."""
    slots: Mapping[str, ValueType] = field(hash=False)
    """The shared columns."""
    places: Mapping[str, Mapping[str, str]] = field(hash=False)
    """For each type, the slot of each attribute that is needed."""
    has_ids: bool
    """Whether some source gives its events ids."""

    def number(self, type_name: str) -> int:
        """What a row says for a type."""
        return next(n for n, type_ in enumerate(self.types) if type_.name == type_name)


def lay_out(types: Mapping[str, EventType], needed: Mapping[str, frozenset[str]], *, has_ids: bool) -> Wire:
    """Slots for the attributes that are needed of each type."""
    slots: dict[str, ValueType] = {}
    places: dict[str, dict[str, str]] = {}
    for name, attributes in needed.items():
        taken: Counter[ValueType] = Counter()
        places[name] = {}
        for attribute in types[name].attributes:
            if attribute.name in attributes:
                slot = f"{_LETTERS[attribute.type]}{taken[attribute.type]}"
                taken[attribute.type] += 1
                slots[slot] = attribute.type
                places[name][attribute.name] = slot
    return Wire(tuple(types[name] for name in needed), dict(sorted(slots.items())), places, has_ids)
