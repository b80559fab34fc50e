"""Static conditions as Spark filters, so that what no rule can use never leaves its source.

A filter may let too much through, never too little: the engine tests every condition again. So a condition that Spark
would see differently, or can't express, is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
    found: dict[str, Column] = {}
    for conditions in alternatives:
        parts = [part for c in conditions if (part := _column(c, type_, columns)) is not None]
        if not parts:
            return None
        whole = reduce(and_, parts)
        found[str(whole)] = whole
    if not found or len(found) > _MOST_ALTERNATIVES:
        return None
    return reduce(or_, found.values())


def _column(expression: Expression, type_: EventType, columns: Mapping[str, Column]) -> Column | None:
    """A condition as Spark has it; None if it has none that is the same for every value."""
    match expression:
        case Binary(operator="and", left=left, right=right):
            parts = [p for side in (left, right) if (p := _column(side, type_, columns)) is not None]
            return reduce(and_, parts) if parts else None
        case Binary(operator="or", left=left, right=right):
            one, other = _column(left, type_, columns), _column(right, type_, columns)
            return None if one is None or other is None else one | other
        case Present(operand=Attribute(name=name)) if name in columns:
            return columns[name].isNotNull()
        case Compare(operator=operator, left=Attribute(name=name), right=Literal(value=value)):
            return _compare(operator, name, value, type_, columns)
        case Compare(operator=operator, left=Literal(value=value), right=Attribute(name=name)):
            return _compare(_TURNED[operator], name, value, type_, columns)
        case OneOf(operand=Attribute(name=name), options=options):
            values = [option.value for option in options if isinstance(option, Literal)]
            if len(values) == len(options) and all(_is_same(v, name, type_, columns) for v in values):
                return columns[name].isin(values)
        case _:
            pass
    return None


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
_TURNED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _compare(
    operator: str,
    name: str,
    value: int | float | str | bool | None,
    type_: EventType,
    columns: Mapping[str, Column],
) -> Column | None:
    if not _is_same(value, name, type_, columns):
        return None
    column: Any = columns[name]
    found: Column = _OPERATORS[operator](column, value)
    return found


def _is_same(
    value: int | float | str | bool | None, name: str, type_: EventType, columns: Mapping[str, Column]
) -> bool:
    """Whether Spark compares the attribute with the value as TESLA does."""
    kind = type_.by_name.get(name)
    if name not in columns or kind is None or value is None:
        return False
    if isinstance(value, bool) or kind is ValueType.BOOL:
        return isinstance(value, bool) and kind is ValueType.BOOL
    if isinstance(value, str) or kind is ValueType.STRING:
        return isinstance(value, str) and kind is ValueType.STRING
    if kind is ValueType.INT:
        return isinstance(value, int) and abs(value) < 2**63
    return abs(value) <= _LARGEST if isinstance(value, int) else True
