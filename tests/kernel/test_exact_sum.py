import math
import sys
from fractions import Fraction
from importlib.metadata import version
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tyrex import _kernel
from tyrex._kernel import exact_sum

LARGEST = sys.float_info.max
SMALLEST = math.ulp(0.0)

finite = st.floats(allow_nan=False, allow_infinity=False)
moderate = st.floats(min_value=-1e300, max_value=1e300)


def near_a_power_of_two(exponents: st.SearchStrategy[int]) -> st.SearchStrategy[float]:
    """Floats that tie, cancel and overflow far more often than floats drawn evenly."""
    return st.builds(
        lambda sign, power, ulps: sign * (power + ulps * math.ulp(power)),
        st.sampled_from([-1.0, 1.0]),
        exponents.map(lambda exponent: math.ldexp(1.0, exponent)),
        st.integers(-2, 2),
    )


# Where the kernel changes its way of adding, and where the result is rounded then.
BORDERS = [-1074, -600, -552, -501, -500, -499, 907, 959, 960, 961, 968, 969, 970, 971, 1021, 1022, 1023]
tricky = st.one_of(
    finite,
    near_a_power_of_two(st.integers(-1074, 1023)),
    near_a_power_of_two(st.sampled_from(BORDERS)),
    st.sampled_from([LARGEST, -LARGEST]),
)


def rounded(exact: Fraction) -> float:
    """The float nearest to a fraction, or the infinity of its sign."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def test_the_kernel_is_built_for_this_version() -> None:
    """The kernel reports a version, which is that of the installed package."""
    assert _kernel.version() == version("tyrex")


def test_the_sum_of_nothing_is_zero() -> None:
    """An empty sum is 0.0."""
    assert exact_sum([]) == 0.0


@pytest.mark.parametrize("values", [[-0.0], [-0.0, -0.0], [1.5, -1.5], [LARGEST, -LARGEST]])
def test_a_sum_of_zero_has_no_sign(values: list[float]) -> None:
    """Terms that cancel, and negative zeros, sum to positive zero."""
    assert math.copysign(1.0, exact_sum(values)) == 1.0
    assert exact_sum(values) == 0.0


def test_small_terms_survive_beside_large_ones() -> None:
    """What plain addition loses is still there once the large terms cancel."""
    assert exact_sum([1e100, 1.0, -1e100, 1e-100]) == 1.0
    assert exact_sum([0.1] * 10) == 1.0


@given(st.lists(moderate, max_size=50))
def test_the_sum_is_that_of_fsum(values: list[float]) -> None:
    """Where no partial sum overflows, the sum is Python's math.fsum."""
    assert exact_sum(values) == math.fsum(values)


@given(st.lists(tricky, max_size=12))
def test_the_sum_is_the_exact_sum_rounded_once(values: list[float]) -> None:
    """Over the whole range of floats, the sum is the float nearest to the sum of fractions."""
    assert exact_sum(values) == rounded(sum(map(Fraction, values), Fraction(0)))


@given(st.lists(tricky, max_size=12), st.integers())
def test_the_order_of_terms_does_not_matter(values: list[float], seed: int) -> None:
    """Shuffled terms have the same sum."""
    shuffled = values.copy()
    Random(seed).shuffle(shuffled)
    assert exact_sum(shuffled) == exact_sum(values)


def test_partial_sums_may_overflow() -> None:
    """A sum within the range of floats is found although sums on the way to it are not."""
    assert exact_sum([LARGEST, LARGEST, -LARGEST]) == LARGEST
    assert exact_sum([LARGEST, LARGEST, 3.0, -LARGEST, -LARGEST]) == 3.0
    assert exact_sum([LARGEST] * 1000 + [SMALLEST] + [-LARGEST] * 1000) == SMALLEST


def test_a_sum_beyond_the_range_is_the_infinity_of_its_sign() -> None:
    """An exact sum too large for a float becomes an infinity."""
    assert exact_sum([LARGEST, LARGEST]) == math.inf
    assert exact_sum([-LARGEST, -LARGEST, 1.0]) == -math.inf


def test_the_smallest_term_can_decide_between_the_largest_float_and_infinity() -> None:
    """Half a unit above the largest float is infinite, and any float less is not."""
    half_a_unit = math.ulp(LARGEST) / 2
    assert exact_sum([LARGEST, half_a_unit]) == math.inf
    assert exact_sum([LARGEST, half_a_unit, -SMALLEST]) == LARGEST
    assert exact_sum([LARGEST, half_a_unit, -1e-200, SMALLEST]) == LARGEST
    assert exact_sum([LARGEST, half_a_unit, 1e-200, -SMALLEST]) == math.inf


@pytest.mark.parametrize("infinity", [math.inf, -math.inf])
def test_an_infinity_outweighs_every_finite_term(infinity: float) -> None:
    """With infinities of one sign the sum is that infinity."""
    assert exact_sum([1.0, infinity, -LARGEST, infinity, LARGEST, -LARGEST]) == infinity


@pytest.mark.parametrize(
    "values",
    [
        [math.nan],
        [1.0, math.nan, 2.0],
        [math.inf, -math.inf],
        [-math.inf, 1.0, math.inf],
        [math.inf, math.nan],
    ],
)
def test_nan_and_opposite_infinities_give_nan(values: list[float]) -> None:
    """A sum that has no meaning is NaN, wherever in the list the reason stands."""
    assert math.isnan(exact_sum(values))
    assert math.isnan(exact_sum(reversed(values)))


def test_any_iterable_of_numbers_is_accepted() -> None:
    """Tuples, generators and ranges can be summed as lists can."""
    assert exact_sum((1.0, 2.0)) == 3.0
    assert exact_sum(x / 2 for x in range(4)) == 3.0
    assert exact_sum(range(4)) == 6.0


def test_something_that_is_not_a_number_is_refused() -> None:
    """A term without a float value is a TypeError."""
    with pytest.raises(TypeError, match="real number"):
        exact_sum([1.0, "2"])  # type: ignore[list-item]


def test_an_error_while_iterating_reaches_the_caller() -> None:
    """What the iterable raises is raised."""
    with pytest.raises(ZeroDivisionError):
        exact_sum(1 / x for x in [1.0, 0.0])
