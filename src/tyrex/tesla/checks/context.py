"""What the passes share: the rules as far as they are understood, the types, and the findings."""

from __future__ import annotations

from dataclasses import dataclass, field

from tyrex.tesla import syntax as s
from tyrex.tesla.checked import BoundParameter
from tyrex.tesla.diagnostics import Diagnostic, Severity
from tyrex.tesla.expressions import Expression, Interval
from tyrex.tesla.source import Source, Span
from tyrex.tesla.types import TIMER, EventType, Origin, ValueType

ANY_TYPE = frozenset(ValueType)


@dataclass(slots=True)
class Slot:
    """The type of an attribute while it is being found out: one of `allowed`."""

    allowed: frozenset[ValueType] = ANY_TYPE
    ordered: bool = False
    """It stands in a `<` or `>`: if nothing else is known, it is rather a number than a text."""

    @property
    def open(self) -> bool:
        """Whether there is still a choice."""
        return len(self.allowed) > 1


@dataclass(slots=True)
class TypeDraft:
    """An event type while its attributes are being found out."""

    name: str
    origin: Origin
    attributes: dict[str, Slot]
    extensible: bool = False
    """Using an attribute makes it known: no declaration says otherwise."""
    source: Source | None = None
    span: Span | None = None

    @classmethod
    def of(cls, known: EventType) -> TypeDraft:
        """A type that is already settled."""
        return cls(known.name, known.origin, {a.name: Slot(frozenset((a.type,))) for a in known.attributes})


@dataclass(slots=True)
class EventDraft:
    """An event of a pattern."""

    index: int
    name: str
    type: TypeDraft
    term: s.EventTerm | None
    selection: s.Selection | None = None
    within: s.Within | None = None
    anchor: int | None = None
    window: int | None = None
    conditions: list[Expression] = field(default_factory=list)


@dataclass(slots=True)
class NegationDraft:
    """A negated event."""

    type: TypeDraft
    conditions: list[Expression]
    interval: Interval
    syntax: s.NegatedEvent


@dataclass(slots=True)
class RuleDraft:
    """A rule on its way through the passes."""

    syntax: s.Rule
    source: Source
    position: int
    name: str = ""
    defines: TypeDraft | None = None
    events: list[EventDraft] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    nameless: dict[str, int] = field(default_factory=dict)
    """Types that occur several times, so that they name no event; with how often."""
    conditions: list[Expression] = field(default_factory=list)
    negations: list[NegationDraft] = field(default_factory=list)
    assignments: list[tuple[s.Assignment, Expression]] = field(default_factory=list)
    parameters: list[BoundParameter] = field(default_factory=list)
    guards: list[Expression] = field(default_factory=list)
    consuming: list[int] = field(default_factory=list)
    broken: bool = False
    """Its events or its tree could not be made out: later passes leave it alone."""

    @property
    def deadline(self) -> s.Duration | None:
        """How long after the first event the rule is evaluated, if it is a deadline."""
        return self.syntax.terminator.deadline


@dataclass
class Context:
    """Everything the passes read and write."""

    files: list[tuple[Source, s.File]]
    types: dict[str, TypeDraft] = field(default_factory=lambda: {TIMER.name: TypeDraft.of(TIMER)})
    rules: list[RuleDraft] = field(default_factory=list)
    closed: bool = False
    """Some event is declared, so every type has to be known."""
    known_rules: frozenset[str] = frozenset()
    """The names that rules deployed earlier have taken."""
    instant_edges: list[tuple[str, str]] = field(default_factory=list)
    """Terminator and defined type of the rules deployed earlier."""
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def report(
        self,
        code: str,
        message: str,
        source: Source,
        span: Span,
        *,
        expected: str | None = None,
        found: str | None = None,
        suggestion: str | None = None,
        severity: Severity = Severity.ERROR,
    ) -> None:
        """Add a finding."""
        self.diagnostics.append(
            Diagnostic(code, message, span, source, expected, found, suggestion, severity)
        )

    @property
    def sound_rules(self) -> list[RuleDraft]:
        """The rules whose events and tree are understood."""
        return [rule for rule in self.rules if not rule.broken]
