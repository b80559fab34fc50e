"""A column of timestamps becomes what `to_microseconds` makes of each of them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tyrex.events import EventError, to_microseconds
from tyrex.io.times import timestamp_column

NUMBERS = (
    st.integers(-(10**13), 10**13)
    | st.floats()
    | st.floats(-1e10, 1e10)
    | st.decimals(0, 10**9, places=6).map(float)
)
ISO = st.one_of(
    st.datetimes().map(lambda moment: moment.isoformat()),
    st.datetimes().map(lambda moment: moment.isoformat() + "Z"),
    st.datetimes().map(lambda moment: moment.isoformat(" ", "minutes") + "+05:30"),
    st.dates().map(str),
    st.sampled_from(
        ["10", "", "2026", "2026-07-14T24:00:00Z", "2026-07-14T12:02:00.1234567Z", "0000-01-01T00:00:00Z"]
    ),
    st.from_regex(
        r"\A[0-9]{4}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-6][0-9](:[0-6][0-9](\.[0-9]{1,7})?)?"
        r"(Z|[+-][0-2][0-9]:?[0-9]{2})?\Z"
    ),
)


def agrees(column: pa.Array[Any]) -> bool:
    """Whether the column was read, and then as its values are one by one."""
    found = timestamp_column(column)
    if found is None:
        return False
    assert found.type == pa.timestamp("us", "UTC")
    values: list[Any] = column.to_pylist()
    assert found.cast(pa.int64()).to_pylist() == [to_microseconds(value) for value in values]
    return True


@given(st.lists(st.floats(-1e10, 1e10)) | st.lists(NUMBERS.map(float)))
@example([0.1, 0.3, 1784030520.123457])
@example([2.0**31 + 0.1])
@example([0.0000005])
@settings(max_examples=300)
def test_numbers_are_rounded_by_their_decimal_digits(values: list[float]) -> None:
    """To the same microsecond, at the edges of rounding, too."""
    agrees(pa.array(values, pa.float64()))


@given(st.lists(st.integers(-(10**12), 10**12)))
def test_whole_numbers_are_seconds(values: list[int]) -> None:
    """In any column of ints."""
    agrees(pa.array(values, pa.int64()))


@given(st.lists(ISO, max_size=3))
@settings(max_examples=200)
def test_texts_are_dates_and_times(texts: list[str]) -> None:
    """What Arrow takes for one, `to_microseconds` does, too, and for the same."""
    agrees(pa.array(texts, pa.string()))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2]),
        pa.array([1.5, 1784030520.123457]),
        pa.array([1e9, 3e9]),
        pa.array(["2026-07-14T12:02:00Z", "2026-07-14T12:02:00.25+02:00"]),
        pa.array(["2026-07-14", "2026-07-14 12:02"]),
        pa.array([], pa.string()),
        pa.array([], pa.float64()),
    ],
    ids=str,
)
def test_what_is_common_needs_no_closer_look(column: pa.Array[Any]) -> None:
    """It is read as a column."""
    assert agrees(column)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, None]),
        pa.array([True]),
        pa.array(["x"]),
        pa.array([float("inf")]),
        pa.array([2**62]),
        pa.array([10**12], pa.timestamp("s")),
        pa.array([5], pa.time32("s")),
        pa.array([[1]]),
    ],
    ids=str,
)
def test_what_is_no_time_is_left_to_a_closer_look(column: pa.Array[Any]) -> None:
    """Which will say which row is bad, and why."""
    assert timestamp_column(column) is None


def test_the_edge_of_time_is_the_same() -> None:
    """The last microsecond of the year 9999 is one, the next is none."""
    last = pa.array(["9999-12-31T23:59:59.999999Z"])
    assert agrees(last)
    beyond = "9999-12-31T23:59:59-01:00"
    assert timestamp_column(pa.array([beyond])) is None
    with pytest.raises(EventError):
        to_microseconds(beyond)
