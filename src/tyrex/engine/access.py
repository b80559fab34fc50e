"""The condition by which the static index finds a state: an equality, a range, or none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from tyrex.engine.assemble import FLOAT, INT, STRING, Assembler, float_bits, int_bits
from tyrex.tesla import expressions as e
from tyrex.tesla.types import ValueType
from tyrex.tesla.values import INT_MAX, INT_MIN

_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class AccessKind(IntEnum):
    """How the index finds a state."""

    ALWAYS = 0
    EQUAL = 1
    ABOVE = 2
    BELOW = 3


@dataclass(frozen=True)
class Access:
    """The access condition; `bits` are of the column's type."""

    kind: AccessKind
    column: int = -1
    bits: int = 0
    strict: bool = False


def choose_access(
    conditions: Sequence[e.Expression], type_name: str, assembler: Assembler
) -> tuple[Access, list[e.Expression]]:
    """The best access condition among static conditions on the candidate, and the conditions left to verify."""
    best: tuple[Access, e.Expression] | None = None
    for condition in conditions:
        access = _access(condition, type_name, assembler)
        if access is not None and (best is None or access.kind < best[0].kind):
            best = (access, condition)
    if best is None:
        return Access(AccessKind.ALWAYS), list(conditions)
    access, used = best
    rest = [c for c in conditions if c is not used and not _implied(c, access, type_name, assembler)]
    return access, rest


def _implied(condition: e.Expression, access: Access, type_name: str, assembler: Assembler) -> bool:
    """Whether a condition only says that the attribute is there, which the index sees to."""
    if isinstance(condition, e.Present) and isinstance(condition.operand, e.Attribute):
        return assembler.column(type_name, condition.operand.name) == access.column
    return False


def _access(condition: e.Expression, type_name: str, assembler: Assembler) -> Access | None:
    if not isinstance(condition, e.Compare) or condition.operator not in _MIRRORED:
        return None
    left, right, operator = condition.left, condition.right, condition.operator
    if isinstance(left, e.Literal):
        left, right, operator = right, left, _MIRRORED[operator]
    if not isinstance(left, e.Attribute) or not isinstance(right, e.Literal) or right.value is None:
        return None
    column = assembler.column(type_name, left.name)
    kind = assembler.type_of(left, type_name)
    if operator == "=":
        bits = _equal_bits(right.value, kind, assembler)
        return None if bits is None else Access(AccessKind.EQUAL, column, bits)
    if kind is STRING or isinstance(right.value, str):
        return None
    return _range(operator, right.value, kind, column)


def _equal_bits(value: str | int | float | bool, kind: ValueType, assembler: Assembler) -> int | None:
    """The bits that a column of this type has where it is equal to the value; None if it never is."""
    if isinstance(value, str | bool):
        return assembler.literal_bits(value)
    if kind is FLOAT:
        return float_bits(float(value) + 0.0) if float(value) == value else None
    if isinstance(value, float) and not value.is_integer():
        return None
    return int_bits(int(value)) if INT_MIN <= value <= INT_MAX else None


def _range(operator: str, value: int | float, kind: ValueType, column: int) -> Access | None:
    access = AccessKind.ABOVE if operator in (">", ">=") else AccessKind.BELOW
    strict = operator in (">", "<")
    if kind is FLOAT:
        return Access(access, column, float_bits(float(value)), strict) if float(value) == value else None
    if kind is not INT or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if isinstance(value, float) and not value.is_integer():
        value = math.ceil(value) if access is AccessKind.ABOVE else math.floor(value)
        strict = False
    return Access(access, column, int_bits(int(value)), strict) if INT_MIN <= value <= INT_MAX else None
