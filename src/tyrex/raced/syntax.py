"""The syntax tree of RACED; values and constraints are TESLA's, as they mean the same there.

As in TESLA's tree, spans do not take part in comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tyrex.tesla.source import NOWHERE, Span
from tyrex.tesla.syntax import (
    AttributeDeclaration,
    Comment,
    Comparison,
    Duration,
    Identifier,
    Literal,
    Parameter,
)


def _span() -> Span:
    return field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Advertisement:
    """`Advertise(Temp[Value: float])`: the attributes of a message type."""

    name: Identifier
    attributes: tuple[AttributeDeclaration, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Filter:
    """`Temp[Value > 10 AND Location = $X]`, perhaps behind `NOT`."""

    type: Identifier
    constraints: tuple[Comparison, ...]
    negated: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Pattern:
    """A conjunction of filters in a window; None is the default one."""

    filters: tuple[Filter, ...]
    window: Duration | None = None

    @property
    def positive(self) -> tuple[Filter, ...]:
        """The messages that have to come, in the order they are written."""
        return tuple(part for part in self.filters if not part.negated)

    @property
    def negated(self) -> tuple[Filter, ...]:
        """The messages that must not come."""
        return tuple(part for part in self.filters if part.negated)


@dataclass(frozen=True, slots=True)
class AttributeValue:
    """`Temp: $X` of a defined event."""

    name: Identifier
    value: Parameter | Literal
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Definition:
    """`DefineEvent(Fire[Temp: $X], pattern)`."""

    name: Identifier
    attributes: tuple[AttributeValue, ...]
    pattern: Pattern
    span: Span = _span()


Item = Advertisement | Definition


@dataclass(frozen=True, slots=True)
class RacedFile:
    """Advertisements and definitions in the order they were written."""

    items: tuple[Item, ...]
    comments: tuple[Comment, ...] = field(default=(), compare=False)
