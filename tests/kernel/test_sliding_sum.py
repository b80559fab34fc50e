"""Sums of floats that come and go: what has left leaves no trace."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tyrex._kernel import exact_sum, sliding_sum

finite = st.floats(allow_nan=False, allow_infinity=False)
GREATEST = 1.7976931348623157e308


@given(st.lists(finite, max_size=40), st.data())
def test_what_is_taken_away_was_never_there(values: list[float], data: st.DataObject) -> None:
    """The sum is that of the values that are left, to the last bit."""
    number = data.draw(st.integers(0, len(values)))
    assert sliding_sum(values, values[:number]) == exact_sum(values[number:])


@given(st.lists(finite, max_size=20), st.lists(finite, max_size=20))
@example([1e16, 1.0], [1e16])
@example([5e-324, GREATEST], [GREATEST])
@example([2.0**53, 1.0], [])
@example([2.0**53, 1.0, 5e-324], [])
def test_the_sum_is_rounded_once(added: list[float], taken: list[float]) -> None:
    """To the nearest float, halves to the even one."""
    exact = sum(map(Fraction, added)) - sum(map(Fraction, taken))
    try:
        wanted = float(exact)
    except OverflowError:
        wanted = math.inf if exact > 0 else -math.inf
    assert sliding_sum(added, taken) == wanted


def test_a_window_that_moves_a_long_way_stays_exact() -> None:
    """Sixty thousand steps over all magnitudes, each of them compared now and then."""
    random = Random(7)
    values = [random.uniform(-1, 1) * 2.0 ** random.randint(-1000, 900) for _ in range(60_000)]
    for end in range(100, len(values), 9_973):
        assert sliding_sum(values[:end], values[: end - 100]) == math.fsum(values[end - 100 : end])


def test_many_equal_values_carry_right() -> None:
    """Limbs have room for carries, and use it."""
    values = [GREATEST / 2**20] * 200_000
    assert sliding_sum(values, values[1:]) == values[0]
    assert sliding_sum(values, values) == 0.0


@pytest.mark.parametrize(
    ("added", "taken", "wanted"),
    [
        ([], [], 0.0),
        ([-0.0], [], 0.0),
        ([1.0], [1.0], 0.0),
        ([math.inf, 1.0], [], math.inf),
        ([-math.inf, 1.0], [], -math.inf),
        ([math.inf, 1.0], [math.inf], 1.0),
        ([math.inf, -math.inf, 2.0], [-math.inf], math.inf),
        ([math.inf, -math.inf, 2.0], [math.inf, -math.inf], 2.0),
        ([GREATEST, GREATEST], [], math.inf),
        ([GREATEST, GREATEST], [GREATEST], GREATEST),
        ([-GREATEST, -GREATEST, GREATEST], [], -GREATEST),
    ],
)
def test_infinities_and_sums_beyond_the_range(added: list[float], taken: list[float], wanted: float) -> None:
    """They leave as they came; a sum of zero is positive."""
    found = sliding_sum(added, taken)
    assert found == wanted
    assert math.copysign(1.0, found) == math.copysign(1.0, wanted)


def test_infinities_of_both_signs_are_no_number() -> None:
    """As long as both are there."""
    assert math.isnan(sliding_sum([math.inf, -math.inf], []))
