"""The type of a checked expression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tyrex.tesla import expressions as e
from tyrex.tesla.aggregates import AGGREGATES
from tyrex.tesla.functions import EVERY_FUNCTION
from tyrex.tesla.types import EventType, ValueType

INT, FLOAT, BOOL, STRING = ValueType.INT, ValueType.FLOAT, ValueType.BOOL, ValueType.STRING


def literal_type(value: str | int | float | bool | None) -> ValueType | None:
    """The type of a literal; null has none."""
    match value:
        case None:
            return None
        case bool():
            return BOOL
        case int():
            return INT
        case float():
            return FLOAT
        case str():
            return STRING


def arithmetic_type(symbol: str, left: ValueType, right: ValueType) -> ValueType:
    """The type of `left symbol right`: an int only if both are, and never from `/`."""
    return INT if symbol != "/" and left is INT and right is INT else FLOAT


def type_of(
    expression: e.Expression,
    events: Sequence[str],
    types: Mapping[str, EventType],
    candidate: str | None = None,
) -> ValueType | None:
    """The type of an expression; None of a null literal.

    `events` are the types of the pattern's events, `candidate` that of the negated or aggregated one.
    """
    match expression:
        case e.Literal(value=value):
            return literal_type(value)
        case e.Attribute(event=event, name=name):
            return types[candidate if event == e.CANDIDATE and candidate else events[event]].by_name[name]
        case e.Unary(operator="-", operand=operand):
            return type_of(operand, events, types, candidate)
        case e.Binary(operator="+" | "-" | "*" | "/" | "%" as symbol, left=left, right=right):
            return arithmetic_type(
                symbol,
                type_of(left, events, types, candidate) or INT,
                type_of(right, events, types, candidate) or INT,
            )
        case e.Call(function=name, arguments=arguments):
            known = [type_of(argument, events, types, candidate) for argument in arguments]
            some = next((t for t in known[EVERY_FUNCTION[name].same or 0 :] if t is not None), None)
            if some is None:
                return None if EVERY_FUNCTION[name].same is not None else EVERY_FUNCTION[name].gives([INT])
            return EVERY_FUNCTION[name].gives([t or some for t in known])
        case e.Aggregate(function=name, type=type_, attribute=attribute):
            return AGGREGATES[name].gives or types[type_].by_name[attribute or ""]
        case _:
            return BOOL
