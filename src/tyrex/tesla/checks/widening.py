"""Ints that stand where a float is meant become floats here, once, so that no runtime has to guess."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tyrex.tesla.expressions import Aggregate, Call, Expression, Literal, walk
from tyrex.tesla.functions import EVERY_FUNCTION, WIDEN
from tyrex.tesla.types import EventType, ValueType
from tyrex.tesla.typing import type_of


def widen(
    expression: Expression,
    events: Sequence[str],
    types: Mapping[str, EventType],
    candidate: str | None = None,
    wanted: ValueType | None = None,
) -> Expression:
    """The expression with int arguments turned into floats where their function gives a float.

    `wanted` is the type of the attribute that the whole value is given to.
    """
    if any(
        isinstance(node, Call) and EVERY_FUNCTION[node.function].same is not None for node in walk(expression)
    ):
        expression = _rebuild(expression, events, types, candidate)
    if wanted is ValueType.FLOAT and type_of(expression, events, types, candidate) is ValueType.INT:
        return _as_float(expression)
    return expression


def _as_float(expression: Expression) -> Expression:
    if isinstance(expression, Literal) and isinstance(expression.value, int):
        return Literal(float(expression.value), expression.span)
    return Call(WIDEN.name, (expression,), expression.span)


def _rebuild(
    node: Expression, events: Sequence[str], types: Mapping[str, EventType], candidate: str | None
) -> Expression:
    if isinstance(node, Aggregate):
        conditions = tuple(_rebuild(c, events, types, node.type) for c in node.conditions)
        return replace(node, conditions=conditions)
    parts = {
        name: tuple(_rebuild(v, events, types, candidate) for v in value)
        if isinstance(value, tuple)
        else _rebuild(value, events, types, candidate)
        for name in ("left", "right", "operand", "options", "arguments")
        if (value := getattr(node, name, None)) is not None
    }
    if parts:
        node = replace(node, **parts)  # type: ignore[arg-type]  # the fields it has
    if isinstance(node, Call) and type_of(node, events, types, candidate) is ValueType.FLOAT:
        start = EVERY_FUNCTION[node.function].same
        if start is not None:
            arguments = tuple(
                _as_float(argument)
                if position >= start and type_of(argument, events, types, candidate) is ValueType.INT
                else argument
                for position, argument in enumerate(node.arguments)
            )
            return replace(node, arguments=arguments)
    return node
