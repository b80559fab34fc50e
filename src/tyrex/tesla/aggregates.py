"""The aggregate functions (SEMANTICS section 4): for each the type of its result, and what it computes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tyrex.tesla.types import ValueType
from tyrex.tesla.values import Tally, Value, fit

INT, FLOAT = ValueType.INT, ValueType.FLOAT


@dataclass(frozen=True)
class AggregateFunction:
    """An aggregate; `gives` is the type of its result, None where it keeps the attribute's.

    `compute` gets the values that are not null, in the order of their events.
    """

    name: str
    meaning: str
    takes: frozenset[ValueType]
    gives: ValueType | None
    compute: Callable[[Sequence[Value], Tally], Value]
    takes_attribute: bool = True

    @property
    def numeric(self) -> bool:
        """Whether it takes numbers only, so that the only numeric attribute can be left out."""
        return self.takes <= {INT, FLOAT} or self.name in ("Min", "Max")


def exact_sum(values: Sequence[float]) -> float:
    """The correctly rounded exact sum; beyond the range of floats the infinity of its sign."""
    try:
        return math.fsum(values)
    except ValueError:  # infinities of both signs
        return math.nan
    except OverflowError:
        infinite = [v for v in values if math.isinf(v)]
        if infinite:
            return infinite[0]
        exact = sum(map(Fraction, values))
        try:
            return float(exact)
        except OverflowError:
            return math.inf if exact > 0 else -math.inf


def _sum(values: Sequence[Value], tally: Tally) -> Value:
    if not values:
        return None
    if isinstance(values[0], int):
        return fit(sum(values), tally)  # type: ignore[arg-type]  # one attribute has one type
    return fit(exact_sum(values), tally)  # type: ignore[arg-type]


def _average(values: Sequence[Value], tally: Tally) -> Value:
    if not values:
        return None
    if isinstance(values[0], int):  # no float between the exact sum and the division
        return float(sum(values)) / len(values)  # type: ignore[arg-type]
    return fit(exact_sum(values) / len(values), tally)  # type: ignore[arg-type]


def _variance(values: Sequence[Value], tally: Tally) -> Value:
    if not values:
        return None
    numbers = [float(v) for v in values]  # type: ignore[arg-type]
    mean = exact_sum(numbers) / len(numbers)
    return fit(exact_sum([_square(x - mean) for x in numbers]) / len(numbers), tally)


def _square(x: float) -> float:
    """A product, not a power: rounded the same way everywhere, and infinite where it is too large."""
    return x * x


def _deviation(values: Sequence[Value], tally: Tally) -> Value:
    variance = _variance(values, tally)
    return None if variance is None else math.sqrt(variance)  # type: ignore[arg-type]


_ANY = frozenset(ValueType)
_NUMBERS = frozenset((INT, FLOAT))
_ORDERED = frozenset((INT, FLOAT, ValueType.STRING))

AGGREGATES: dict[str, AggregateFunction] = {
    a.name: a
    for a in (
        AggregateFunction("Avg", "the mean of the values", _NUMBERS, FLOAT, _average),
        AggregateFunction("Sum", "the sum of the values", _NUMBERS, None, _sum),
        AggregateFunction("Min", "the smallest value", _ORDERED, None, lambda v, _: min(v) if v else None),  # type: ignore[type-var]
        AggregateFunction("Max", "the greatest value", _ORDERED, None, lambda v, _: max(v) if v else None),  # type: ignore[type-var]
        AggregateFunction(
            "Count", "how many events there are", _ANY, INT, lambda v, _: len(v), takes_attribute=False
        ),
        AggregateFunction("StdDev", "the standard deviation of the population", _NUMBERS, FLOAT, _deviation),
        AggregateFunction("Var", "the variance of the population", _NUMBERS, FLOAT, _variance),
        AggregateFunction(
            "First", "the value of the first event", _ANY, None, lambda v, _: v[0] if v else None
        ),
        AggregateFunction(
            "Last", "the value of the last event", _ANY, None, lambda v, _: v[-1] if v else None
        ),
        AggregateFunction(
            "CountDistinct", "how many different values there are", _ANY, INT, lambda v, _: len(set(v))
        ),
    )
}

BY_LOWER_CASE = {name.lower(): name for name in AGGREGATES}
