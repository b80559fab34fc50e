"""Static conditions as Spark filters, so that what no rule can use never leaves its source.

A filter may let too much through, never too little: the engine tests every condition again. So a condition that Spark
would see differently, or can't express, is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne, or_
from typing import TYPE_CHECKING, Any

from tyrex.tesla.expressions import Attribute, Binary, Compare, Expression, Literal, OneOf, Present
from tyrex.tesla.types import EventType, ValueType

if TYPE_CHECKING:
    from pyspark.sql import Column

_LARGEST = 2**53
"""Whole numbers up to here are the same as floats."""
_MOST_ALTERNATIVES = 200
"""Beyond this many a filter costs more than it saves."""


def filter_for(
    alternatives: Iterable[tuple[Expression, ...]], type_: EventType, columns: Mapping[str, Column]
) -> Column | None:
    """What an event must fulfil for some rule to look at it; None if all events may pass."""
    conjunctions = pushed(alternatives, type_, columns)
    if not conjunctions:
        return None
    return reduce(or_, (reduce(and_, (_column(c, columns) for c in parts)) for parts in conjunctions))


def pushed(
    alternatives: Iterable[tuple[Expression, ...]], type_: EventType, names: Container[str]
) -> list[tuple[Expression, ...]]:
    """What of the conditions Spark tests at the source: one of these must hold as a whole; none if all may pass.

    `names` are the attributes that the source has.
    """
    found: dict[tuple[Expression, ...], None] = {}
    for conditions in alternatives:
        parts = tuple(part for c in conditions if (part := _weakened(c, type_, names)) is not None)
        if not parts:
            return []
        found[parts] = None
    return list(found) if len(found) <= _MOST_ALTERNATIVES else []


def _weakened(expression: Expression, type_: EventType, names: Container[str]) -> Expression | None:
    """The part of a condition that Spark sees as TESLA does; None if there is none."""
    match expression:
        case Binary(operator="and", left=left, right=right):
            parts = [p for side in (left, right) if (p := _weakened(side, type_, names)) is not None]
            return (
                replace(expression, left=parts[0], right=parts[1]) if len(parts) == 2 else (*parts, None)[0]
            )
        case Binary(operator="or", left=left, right=right):
            one, other = _weakened(left, type_, names), _weakened(right, type_, names)
            return None if one is None or other is None else replace(expression, left=one, right=other)
        case Present(operand=Attribute(name=name)) if name in names:
            return expression
        case Compare(left=Attribute(name=name), right=Literal(value=value)):
            return expression if _is_same(value, name, type_, names) else None
        case Compare(left=Literal(value=value), right=Attribute(name=name)):
            return expression if _is_same(value, name, type_, names) else None
        case OneOf(operand=Attribute(name=name), options=options):
            if all(isinstance(o, Literal) and _is_same(o.value, name, type_, names) for o in options):
                return expression
        case _:
            pass
    return None


def _column(expression: Expression, columns: Mapping[str, Column]) -> Column:
    """A condition as Spark has it; only for what is left of one that was weakened."""
    match expression:
        case Binary(operator=operator, left=left, right=right):
            one, other = _column(left, columns), _column(right, columns)
            return one & other if operator == "and" else one | other
        case Present(operand=Attribute(name=name)):
            return columns[name].isNotNull()
        case Compare(operator=operator, left=Attribute(name=name), right=Literal(value=value)):
            return _compare(operator, columns[name], value)
        case Compare(operator=operator, left=Literal(value=value), right=Attribute(name=name)):
            return _compare(_TURNED[operator], columns[name], value)
        case OneOf(operand=Attribute(name=name), options=options):
            return columns[name].isin([option.value for option in options if isinstance(option, Literal)])
        case _:
            raise AssertionError(f"Spark has no {expression}")


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
_TURNED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _compare(operator: str, column: Any, value: int | float | str | bool | None) -> Column:
    found: Column = _OPERATORS[operator](column, value)
    return found


def _is_same(
    value: int | float | str | bool | None, name: str, type_: EventType, names: Container[str]
) -> bool:
    """Whether Spark compares the attribute with the value as TESLA does."""
    kind = type_.by_name.get(name)
    if name not in names or kind is None or value is None:
        return False
    if isinstance(value, bool) or kind is ValueType.BOOL:
        return isinstance(value, bool) and kind is ValueType.BOOL
    if isinstance(value, str) or kind is ValueType.STRING:
        return isinstance(value, str) and kind is ValueType.STRING
    if kind is ValueType.INT:
        return isinstance(value, int) and abs(value) < 2**63
    return abs(value) <= _LARGEST if isinstance(value, int) else True
