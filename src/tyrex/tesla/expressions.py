"""Expressions after the checks: every name resolved, every parameter replaced by what it is bound to.

Events are meant by their position in the pattern; `CANDIDATE` is the event that a negation or an aggregate looks at.
Spans are kept for messages and do not take part in comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from tyrex.tesla.source import NOWHERE, Span

CANDIDATE = -1


def _span() -> Span:
    return field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Literal:
    """A value."""

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
class Attribute:
    """An attribute of an event of the pattern, or of the candidate."""

    event: int
    name: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$name` that is not yet replaced; none is left in a checked rule."""

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
class Compare:
    """One comparison: `= != < <= > >=`."""

    operator: str
    left: Expression
    right: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class OneOf:
    """`x in (a, b)`."""

    operand: Expression
    options: tuple[Expression, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Call:
    """A function of values."""

    function: str
    arguments: tuple[Expression, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Present:
    """True if the value is not null: what is left of `attribute = $p` where it binds `$p`."""

    operand: Expression
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Precedes:
    """`earlier within window from later`: it comes before, and at most so long before."""

    earlier: int
    later: int
    window: int
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Within:
    """The stretch of time that ends with an event and is `window` microseconds long."""

    anchor: int
    window: int


@dataclass(frozen=True, slots=True)
class Between:
    """The stretch of the history from one event of the pattern to a later one."""

    earlier: int
    later: int


Interval = Within | Between


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A function of the events of one type in an interval; the conditions are on `CANDIDATE`."""

    function: str
    type: str
    conditions: tuple[Expression, ...]
    attribute: str | None
    interval: Interval
    span: Span = _span()


Expression = (
    Literal | Attribute | Parameter | Unary | Binary | Compare | OneOf | Call | Present | Precedes | Aggregate
)


def children(expression: Expression) -> tuple[Expression, ...]:
    """The expressions directly inside an expression."""
    match expression:
        case Unary(operand=operand) | Present(operand=operand):
            return (operand,)
        case Binary(left=left, right=right) | Compare(left=left, right=right):
            return (left, right)
        case OneOf(operand=operand, options=options):
            return (operand, *options)
        case Call(arguments=arguments):
            return arguments
        case Aggregate(conditions=conditions):
            return conditions
        case _:
            return ()


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and everything inside it, outside first."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def rebuild(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The expression with `change` applied to every part of it, inside first."""
    match expression:
        case Unary() | Present():
            expression = replace(expression, operand=rebuild(expression.operand, change))
        case Binary() | Compare():
            expression = replace(
                expression, left=rebuild(expression.left, change), right=rebuild(expression.right, change)
            )
        case OneOf():
            expression = replace(
                expression,
                operand=rebuild(expression.operand, change),
                options=tuple(rebuild(option, change) for option in expression.options),
            )
        case Call():
            expression = replace(
                expression, arguments=tuple(rebuild(a, change) for a in expression.arguments)
            )
        case Aggregate():
            expression = replace(
                expression, conditions=tuple(rebuild(c, change) for c in expression.conditions)
            )
        case _:
            pass
    return change(expression)


def conjuncts(expression: Expression) -> Iterator[Expression]:
    """The parts of a conjunction, from left to right."""
    if isinstance(expression, Binary) and expression.operator == "and":
        yield from conjuncts(expression.left)
        yield from conjuncts(expression.right)
    else:
        yield expression


def events_in(expression: Expression) -> set[int]:
    """The pattern's events that an expression speaks of; the candidate of an aggregate or a negation is none."""
    found: set[int] = set()
    for node in walk(expression):
        match node:
            case Attribute(event=event) if event != CANDIDATE:
                found.add(event)
            case Precedes(earlier=earlier, later=later):
                found |= {earlier, later}
            case Aggregate(interval=Within(anchor=anchor)):
                found.add(anchor)
            case Aggregate(interval=Between(earlier=earlier, later=later)):
                found |= {earlier, later}
            case _:
                pass
    return found


def has_aggregate(expression: Expression) -> bool:
    """Whether some part of the expression is an aggregate."""
    return any(isinstance(node, Aggregate) for node in walk(expression))
