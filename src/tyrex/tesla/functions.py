"""The functions of expressions: for each its arguments, the type of its result, and what it does."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tyrex.tesla.types import ValueType
from tyrex.tesla.values import Tally, Value, fit, truth

STRING, INT, FLOAT, BOOL = ValueType.STRING, ValueType.INT, ValueType.FLOAT, ValueType.BOOL
NUMBER = (INT, FLOAT)
Types = tuple[ValueType, ...]


@dataclass(frozen=True)
class Function:
    """A function; `takes` says what the argument at a position may be, `gives` the type of the result.

    `same` tells that the arguments from that position on must be of one kind, so that one can stand for another.
    """

    name: str
    meaning: str
    least: int
    most: int | None
    takes: Callable[[int], Types]
    gives: Callable[[Sequence[ValueType]], ValueType]
    apply: Callable[[Sequence[Value], Tally], Value]
    same: int | None = None


def _widest(types: Sequence[ValueType]) -> ValueType:
    return FLOAT if FLOAT in types else types[0]


def _numbers(_: int) -> Types:
    return NUMBER


def _strings(_: int) -> Types:
    return (STRING,)


def _anything(_: int) -> Types:
    return (STRING, INT, FLOAT, BOOL)


def _null_in_null_out(function: Callable[..., Value]) -> Callable[[Sequence[Value], Tally], Value]:
    def apply(arguments: Sequence[Value], tally: Tally) -> Value:
        return None if any(a is None for a in arguments) else function(*arguments, tally=tally)

    return apply


def _abs(x: int | float, *, tally: Tally) -> Value:
    return fit(abs(x), tally)


def _whole(rounding: Callable[[int | float], int]) -> Callable[..., Value]:
    def apply(x: int | float, *, tally: Tally) -> Value:
        if isinstance(x, float) and math.isinf(x):
            tally.overflows += 1
            return None
        return fit(rounding(x), tally)

    return apply


def _round(x: int | float, digits: int | None = None, *, tally: Tally) -> Value:
    if digits is None:
        return _whole(round)(x, tally=tally)
    if isinstance(x, float) and math.isinf(x):
        return x
    digits = max(-400, min(400, digits))
    try:
        return fit(round(x, digits), tally)
    except OverflowError:
        return math.copysign(math.inf, x)


def _sqrt(x: int | float, *, tally: Tally) -> Value:
    return None if x < 0 else math.sqrt(x)


def _pow(x: int | float, y: int | float, *, tally: Tally) -> Value:
    try:
        return fit(math.pow(x, y), tally)
    except OverflowError:
        odd = float(y).is_integer() and float(y) % 2 == 1
        return -math.inf if x < 0 and odd else math.inf
    except ValueError:  # a root of a negative number, or 0 to a negative power: a division by zero
        return None


def _extreme(
    pick: Callable[[list[int | float] | list[str]], Value],
) -> Callable[[Sequence[Value], Tally], Value]:
    def apply(arguments: Sequence[Value], tally: Tally) -> Value:
        present = [a for a in arguments if a is not None]
        return pick(present) if present else None  # type: ignore[arg-type]  # of one kind, says the types pass

    return apply


def _coalesce(arguments: Sequence[Value], tally: Tally) -> Value:
    return next((a for a in arguments if a is not None), None)


def _if(arguments: Sequence[Value], tally: Tally) -> Value:
    return arguments[1] if truth(arguments[0]) else arguments[2]


FUNCTIONS: dict[str, Function] = {
    f.name: f
    for f in (
        Function("abs", "the number without its sign", 1, 1, _numbers, _widest, _null_in_null_out(_abs)),
        Function(
            "floor",
            "the greatest int not above",
            1,
            1,
            _numbers,
            lambda _: INT,
            _null_in_null_out(_whole(math.floor)),
        ),
        Function(
            "ceil",
            "the smallest int not below",
            1,
            1,
            _numbers,
            lambda _: INT,
            _null_in_null_out(_whole(math.ceil)),
        ),
        Function(
            "round",
            "the nearest int, halves to the even one; with a second argument, to so many decimals",
            1,
            2,
            lambda i: (INT,) if i == 1 else NUMBER,
            lambda types: INT if len(types) == 1 else types[0],
            _null_in_null_out(_round),
        ),
        Function(
            "sqrt",
            "the square root; null of a negative",
            1,
            1,
            _numbers,
            lambda _: FLOAT,
            _null_in_null_out(_sqrt),
        ),
        Function("pow", "the power, a float", 2, 2, _numbers, lambda _: FLOAT, _null_in_null_out(_pow)),
        Function(
            "least",
            "the smallest of the values that are not null",
            1,
            None,
            lambda _: (INT, FLOAT, STRING),
            _widest,
            _extreme(min),
            same=0,
        ),
        Function(
            "greatest",
            "the greatest of the values that are not null",
            1,
            None,
            lambda _: (INT, FLOAT, STRING),
            _widest,
            _extreme(max),
            same=0,
        ),
        Function(
            "lower",
            "the text in lower case",
            1,
            1,
            _strings,
            lambda _: STRING,
            _null_in_null_out(lambda x, tally: x.lower()),
        ),
        Function(
            "upper",
            "the text in upper case",
            1,
            1,
            _strings,
            lambda _: STRING,
            _null_in_null_out(lambda x, tally: x.upper()),
        ),
        Function(
            "length",
            "how many characters the text has",
            1,
            1,
            _strings,
            lambda _: INT,
            _null_in_null_out(lambda x, tally: len(x)),
        ),
        Function(
            "concat",
            "the texts one after the other",
            1,
            None,
            _strings,
            lambda _: STRING,
            _null_in_null_out(lambda *texts, tally: "".join(texts)),
        ),
        Function(
            "coalesce", "the first value that is not null", 1, None, _anything, _widest, _coalesce, same=0
        ),
        Function(
            "if",
            "the second value if the condition holds, else the third",
            3,
            3,
            lambda i: (BOOL,) if i == 0 else (STRING, INT, FLOAT, BOOL),
            lambda types: _widest(types[1:]),
            _if,
            same=1,
        ),
    )
}


WIDEN = Function(
    "float",
    "an int as a float; put in by the widening pass, not to be written",
    1,
    1,
    _numbers,
    lambda _: FLOAT,
    _null_in_null_out(lambda x, tally: float(x)),
)
EVERY_FUNCTION = {**FUNCTIONS, WIDEN.name: WIDEN}


def call(name: str, arguments: Sequence[Value], tally: Tally) -> Value:
    """The result of a function."""
    return EVERY_FUNCTION[name].apply(arguments, tally)
