"""The types of values and of events."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property


class ValueType(StrEnum):
    """What an attribute can hold; any attribute can also be null."""

    STRING = "string"
    INT = "int"
    FLOAT = "float"
    BOOL = "bool"

    @property
    def numeric(self) -> bool:
        """Whether it takes part in arithmetic."""
        return self in (ValueType.INT, ValueType.FLOAT)

    @property
    def with_article(self) -> str:
        """The type as it stands in a sentence: "an int", "a string"."""
        return f"an {self.value}" if self is ValueType.INT else f"a {self.value}"


TYPE_WORDS = {
    "string": ValueType.STRING,
    "int": ValueType.INT,
    "long": ValueType.INT,
    "float": ValueType.FLOAT,
    "double": ValueType.FLOAT,
    "bool": ValueType.BOOL,
    "boolean": ValueType.BOOL,
}

TIMESTAMP = "timestamp"


class Origin(StrEnum):
    """Where an event type is known from."""

    DECLARED = "declared"
    """by `event Temp(..)`"""
    DEFINED = "defined"
    """by the `define` of a rule"""
    INFERRED = "inferred"
    """from its use in rules, where a file declares no events at all"""
    TIMER = "timer"
    """the built-in `Timer`"""


@dataclass(frozen=True)
class AttributeType:
    """An attribute of an event type."""

    name: str
    type: ValueType

    def __str__(self) -> str:
        return f"{self.name}: {self.type.value}"


@dataclass(frozen=True)
class EventType:
    """A type of events: its name and its attributes in declared order."""

    name: str
    attributes: tuple[AttributeType, ...]
    origin: Origin = field(default=Origin.DECLARED, compare=False)

    @cached_property
    def by_name(self) -> dict[str, ValueType]:
        """The type of each attribute, `timestamp` among them."""
        return {**{a.name: a.type for a in self.attributes}, TIMESTAMP: ValueType.INT}

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.attributes))})"


TIMER_FIELDS = ("S", "M", "H", "D", "Day", "Month", "Year")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
TIMER = EventType("Timer", tuple(AttributeType(name, ValueType.INT) for name in TIMER_FIELDS), Origin.TIMER)
