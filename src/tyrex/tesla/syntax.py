"""The syntax tree of TESLA: what was written, with where it was written.

Trees are frozen; spans do not take part in comparisons, so two texts that differ only in layout have equal trees.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from tyrex.tesla.source import NOWHERE, Span


def _span() -> Span:
    return field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Identifier:
    """A name as written."""

    text: str
    span: Span = _span()


# --- Expressions -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, a text, `true`, `false` or `null`."""

    value: int | float | str | bool | None
    span: Span = _span()

    def __eq__(self, other: object) -> bool:
        """Equal if value and type are: `1`, `1.0` and `true` are three literals."""
        return (
            isinstance(other, Literal) and type(self.value) is type(other.value) and self.value == other.value
        )

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time, in microseconds."""

    microseconds: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Name:
    """A bare name: an attribute of the event in whose parentheses it stands."""

    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class AttributeOf:
    """`event.attribute`."""

    event: Identifier
    attribute: Identifier
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$name`, without the dollar."""

    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Unary:
    """`-x` or `not x`."""

    operator: str
    operand: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Binary:
    """`+ - * / %`, `and`, `or`."""

    operator: str
    left: Expression
    right: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Comparison:
    """A chain of comparisons: `45 < $t = Avg(..)` means `45 < $t` and `$t = Avg(..)`."""

    operands: tuple[Expression, ...]
    operators: tuple[str, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Membership:
    """`x in (a, b, c)`."""

    operand: Expression
    options: tuple[Expression, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Call:
    """A function applied to values."""

    function: Identifier
    arguments: tuple[Expression, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Within:
    """`within w from anchor`."""

    window: Duration
    anchor: Identifier
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Between:
    """`between X and Y`."""

    first: Identifier
    second: Identifier
    span: Span = _span()


Interval = Within | Between


@dataclass(frozen=True, slots=True)
class EventTerm:
    """`Type(arguments) as Alias`."""

    type: Identifier
    arguments: tuple[Expression, ...]
    alias: Identifier | None = None
    span: Span = _span()

    @property
    def name(self) -> Identifier:
        """What the event is called in the rule: its alias, else its type."""
        return self.alias or self.type


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`Avg(Type(..).attribute) within w from X`; the interval may stand inside the parentheses."""

    function: Identifier
    event: EventTerm
    attribute: Identifier | None
    interval: Interval | None
    span: Span = _span()


Expression = (
    Literal
    | Duration
    | Name
    | AttributeOf
    | Parameter
    | Unary
    | Binary
    | Comparison
    | Membership
    | Call
    | Aggregate
)


# --- Patterns --------------------------------------------------------------------------------------------------


class Policy(StrEnum):
    """Which of its candidates an event takes."""

    EACH = "each"
    FIRST = "first"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Selection:
    """`each`, `first`, `last`, or `3-last`: the k-th from that end."""

    policy: Policy
    k: int = 1
    span: Span = _span()

    def __str__(self) -> str:
        return self.policy.value if self.k == 1 else f"{self.k}-{self.policy.value}"


@dataclass(frozen=True, slots=True)
class Terminator:
    """The first event of `from`; with `deadline`, `14 days after Offer(..)`."""

    event: EventTerm
    deadline: Duration | None = None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class SelectedEvent:
    """`last B(..) as X within 5 min from A`."""

    selection: Selection
    event: EventTerm
    within: Within
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class NegatedEvent:
    """`not C(..) between X and Y`, `not C(..) within w from X`."""

    event: EventTerm
    interval: Interval
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class TimeConstraint:
    """`E within 8 min from A`, for an event declared elsewhere in the pattern."""

    event: Identifier
    within: Within
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Condition:
    """A conjunct of its own: `X.value > 45`, `45 < $t = Avg(..)`."""

    expression: Expression
    span: Span = _span()


Conjunct = SelectedEvent | NegatedEvent | TimeConstraint | Condition


# --- Files -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AttributeDeclaration:
    """`area: string`; in `define` the type may be left out."""

    name: Identifier
    type: Identifier | None
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class EventDeclaration:
    """`event Temp(area: string, value: float)`."""

    name: Identifier
    attributes: tuple[AttributeDeclaration, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Assignment:
    """`area = Smoke.area` in `where`."""

    attribute: Identifier
    value: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Rule:
    """A whole rule, `Rule R1 define .. from .. where .. consuming ..`."""

    name: Identifier | None
    defines: Identifier
    attributes: tuple[AttributeDeclaration, ...]
    terminator: Terminator
    conjuncts: tuple[Conjunct, ...]
    assignments: tuple[Assignment, ...]
    consuming: tuple[Identifier, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment with its marker, kept for the formatter."""

    text: str
    span: Span = _span()


Item = EventDeclaration | Rule


@dataclass(frozen=True, slots=True)
class File:
    """Declarations and rules in the order they were written."""

    items: tuple[Item, ...]
    comments: tuple[Comment, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Subscription:
    """`Subscribe(Temp, Room = "Room1" and Value > 20)` or `Temp(area = "A1", value >= 12)`."""

    type: Identifier
    arguments: tuple[Expression, ...]
    span: Span = _span()
