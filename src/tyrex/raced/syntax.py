"""The syntax tree of RACED; values and constraints are TESLA's, as they mean the same there."""

from __future__ import annotations

from dataclasses import dataclass, field

from tyrex.tesla.source import NOWHERE, Span
from tyrex.tesla.syntax import AttributeDeclaration, Comparison, Expression, Identifier


@dataclass(frozen=True)
class Advertisement:
    """`Advertise(Temp[Value: float])`: the attributes of a message type."""

    name: Identifier
    attributes: tuple[AttributeDeclaration, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Filter:
    """`Temp[Value > 10 AND Location = $X]`, perhaps behind `NOT`."""

    type: Identifier
    constraints: tuple[Comparison, ...]
    negated: bool
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Pattern:
    """A conjunction of filters in a window; None is the default one."""

    filters: tuple[Filter, ...]
    window: int | None
    window_span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Definition:
    """`DefineEvent(Fire[Temp: $X], pattern)`."""

    name: Identifier
    attributes: tuple[tuple[Identifier, Expression], ...]
    pattern: Pattern
    span: Span = field(default=NOWHERE, compare=False)


Item = Advertisement | Definition
