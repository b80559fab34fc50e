"""Events: what happened, when, and what is known about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from tyrex.events.literals import format_value, quote
from tyrex.events.time import FIRST_TIMESTAMP, LAST_TIMESTAMP, format_seconds, format_timestamp
from tyrex.tesla.types import TIMESTAMP

Value: TypeAlias = str | int | float | bool | None
"""What an attribute can hold."""

PLAIN_ID = re.compile(r"\w+(?:[-.:/]\w+)*")
"""An id that needs no quotes in the papers' notation."""

_SHOWN_AS_SECONDS = 10**15


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """Something that happened: `Temp@10(area="A1", value=24.5)`.

    Two events are equal if all their fields are. Events are not hashable, as their attributes are a mapping;
    where a key is needed, take the id that `tyrex.events.Identities` gives.
    """

    type: str
    timestamp: int
    """Microseconds since the epoch; `to_microseconds` makes them from seconds, texts and datetimes."""
    attributes: Mapping[str, Value] = field(default_factory=dict)
    id: str | None = None
    """Given by the source, or that of a composite event; None where it is to be derived from the content."""
    rule: str | None = None
    """The rule that made it, for composite events only."""

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        """Equal in every field, whatever keeps them."""
        if not isinstance(other, Event):
            return NotImplemented
        return (
            self.type == other.type
            and self.timestamp == other.timestamp
            and self.attributes == other.attributes
            and self.id == other.id
            and self.rule == other.rule
        )

    def __getitem__(self, name: str) -> Value:
        """The value of an attribute, `timestamp` among them; KeyError if the event has none of that name."""
        return self.timestamp if name == TIMESTAMP else self.attributes[name]

    def get(self, name: str, default: Value = None) -> Value:
        """The value of an attribute, or the default if the event has none of that name."""
        return self.timestamp if name == TIMESTAMP else self.attributes.get(name, default)

    def __str__(self) -> str:
        """The event in the papers' notation, as `parse_event` reads it if its names could stand in a rule.

        An id is shown where the source gave it; that of a composite event is derived and left out.
        """
        id_ = "" if self.id is None or self.rule is not None else f"#{_format_id(self.id)}"
        values = ", ".join(f"{name}={format_value(value)}" for name, value in self.attributes.items())
        return f"{self.type}@{_format_time(self.timestamp)}{id_}({values})"


def _format_time(timestamp: int) -> str:
    if abs(timestamp) < _SHOWN_AS_SECONDS or not FIRST_TIMESTAMP <= timestamp <= LAST_TIMESTAMP:
        return format_seconds(timestamp)
    return quote(format_timestamp(timestamp))


def _format_id(id_: str) -> str:
    return id_ if PLAIN_ID.fullmatch(id_) else quote(id_)
