"""The value of a checked expression, given the events it speaks of."""

from __future__ import annotations

from typing import Protocol

from tyrex.tesla.expressions import (
    Aggregate,
    Attribute,
    Binary,
    Call,
    Compare,
    Expression,
    Literal,
    OneOf,
    Parameter,
    Precedes,
    Present,
    Unary,
)
from tyrex.tesla.functions import call
from tyrex.tesla.values import Tally, Value, arithmetic, compare, negate, truth


class Scope(Protocol):
    """Where an expression finds its events."""

    def attribute(self, event: int, name: str) -> Value:
        """The value of an attribute of an event of the pattern, or of the candidate."""

    def precedes(self, node: Precedes) -> bool:
        """Whether one event comes before the other, at most its window before."""

    def aggregate(self, node: Aggregate) -> Value:
        """The value of an aggregate."""


def evaluate(expression: Expression, scope: Scope, tally: Tally) -> Value:
    """The value of an expression."""
    match expression:
        case Literal(value=value):
            return value
        case Attribute(event=event, name=name):
            return scope.attribute(event, name)
        case Compare(operator=symbol, left=left, right=right):
            return compare(symbol, evaluate(left, scope, tally), evaluate(right, scope, tally))
        case Binary(operator="and", left=left, right=right):
            return holds(left, scope, tally) and holds(right, scope, tally)
        case Binary(operator="or", left=left, right=right):
            return holds(left, scope, tally) or holds(right, scope, tally)
        case Binary(operator=symbol, left=left, right=right):
            return arithmetic(symbol, evaluate(left, scope, tally), evaluate(right, scope, tally), tally)
        case Unary(operator="not", operand=operand):
            return not holds(operand, scope, tally)
        case Unary(operand=operand):
            return negate(evaluate(operand, scope, tally), tally)
        case OneOf(operand=operand, options=options):
            value = evaluate(operand, scope, tally)
            return any(compare("=", value, evaluate(option, scope, tally)) for option in options)
        case Call(function=function, arguments=arguments):
            return call(function, [evaluate(a, scope, tally) for a in arguments], tally)
        case Present(operand=operand):
            return evaluate(operand, scope, tally) is not None
        case Precedes():
            return scope.precedes(expression)
        case Aggregate():
            return scope.aggregate(expression)
        case Parameter(name=name):
            raise AssertionError(f"${name} should have been replaced by the parameters pass")


def holds(condition: Expression, scope: Scope, tally: Tally) -> bool:
    """Whether a condition is true; null is not."""
    return truth(evaluate(condition, scope, tally))
