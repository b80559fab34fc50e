"""Checked rules: what the front end hands on to the plan and to the reference semantics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tyrex.tesla import syntax
from tyrex.tesla.expressions import Expression, Interval
from tyrex.tesla.source import Source
from tyrex.tesla.syntax import Selection
from tyrex.tesla.types import EventType


@dataclass(frozen=True)
class PatternEvent:
    """An event of a pattern, at its place in the order of declaration.

    The terminator has no anchor. In a deadline the terminator is the `Timer`, and event 1, the one that sets it,
    has the timer as its anchor and no selection: it is given, not chosen.
    """

    index: int
    name: str
    type: str
    selection: Selection | None
    anchor: int | None
    window: int | None
    conditions: tuple[Expression, ...]


@dataclass(frozen=True)
class Negation:
    """`not C(..)` in an interval; the conditions are on the candidate."""

    type: str
    conditions: tuple[Expression, ...]
    interval: Interval


@dataclass(frozen=True)
class BoundParameter:
    """A parameter: `expression` is what it stands for; `event` where it is bound, None on the complete tuple.

    `users` are the other events whose conditions speak of it; for pictures and explanations.
    """

    name: str
    expression: Expression
    event: int | None
    users: tuple[int, ...]


@dataclass(frozen=True)
class CheckedRule:
    """A rule that passed every check, with all names resolved."""

    name: str
    position: int
    defines: EventType
    events: tuple[PatternEvent, ...]
    negations: tuple[Negation, ...]
    guards: tuple[Expression, ...]
    """Conditions with aggregates in them: checked on the complete tuple."""
    parameters: tuple[BoundParameter, ...]
    assignments: tuple[tuple[str, Expression], ...]
    """The value of each attribute of the defined event, in declared order."""
    consuming: tuple[int, ...]
    deadline: int | None
    syntax: syntax.Rule = field(repr=False, compare=False)
    source: Source = field(repr=False, compare=False)

    @property
    def terminator(self) -> PatternEvent:
        """The event whose arrival makes the rule be evaluated."""
        return self.events[0]

    @property
    def is_calendar_timer(self) -> bool:
        """Whether the terminator is a `Timer(..)` of the calendar."""
        return self.terminator.type == "Timer" and self.deadline is None


@dataclass(frozen=True)
class CheckedRules:
    """A set of rules that fit together, in deployment order, and the event types they know."""

    rules: tuple[CheckedRule, ...] = ()
    types: Mapping[str, EventType] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class CheckedSubscription:
    """A filter on the events of one type; the conditions speak of event 0."""

    type: str
    conditions: tuple[Expression, ...]
