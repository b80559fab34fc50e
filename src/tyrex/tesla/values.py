"""What operators do with values (SEMANTICS section 10): nulls, exact comparison, overflow, division.

Every runtime gives these answers; this is the plain Python of them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Value = str | int | float | bool | None

INT_MIN, INT_MAX = -(2**63), 2**63 - 1


@dataclass
class Tally:
    """Counts what became null because it did not fit: nothing is lost silently."""

    overflows: int = 0


def fit(value: int | float, tally: Tally) -> int | float | None:
    """A number as a value: NaN is null, and so is an integer beyond 64 bits, which is counted."""
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if INT_MIN <= value <= INT_MAX:
        return value
    tally.overflows += 1
    return None


_ARITHMETIC: dict[str, Callable[[int | float, int | float], int | float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


def arithmetic(symbol: str, left: Value, right: Value, tally: Tally) -> Value:
    """`+ - * / %` of two numbers; with a null, or a division by zero, null."""
    if left is None or right is None:
        return None
    assert not isinstance(left, str)
    assert not isinstance(right, str)
    if symbol == "/":
        return None if right == 0 else fit(_divide(float(left), float(right)), tally)
    if symbol == "%":
        return None if right == 0 else fit(_modulo(left, right), tally)
    return fit(_ARITHMETIC[symbol](left, right), tally)


def _divide(left: float, right: float) -> float:
    return left / right


def _modulo(left: int | float, right: int | float) -> int | float:
    """The remainder with the sign of the divisor, as in Python."""
    if isinstance(left, float) and math.isinf(left):
        return math.nan
    return left % right


def negate(value: Value, tally: Tally) -> Value:
    """`-x`."""
    if value is None:
        return None
    assert not isinstance(value, str)
    return fit(-value, tally)


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare(symbol: str, left: Value, right: Value) -> bool:
    """A comparison: exact between int and float, by code point between texts, false with null."""
    if left is None or right is None:
        return False
    return bool(_COMPARISONS[symbol](left, right))


def truth(value: Value) -> bool:
    """A value as a condition: null counts as false."""
    return value is True
