from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import ROUND_HALF_EVEN, Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.events.strategies import timestamps

from tyrex.events import (
    FIRST_TIMESTAMP,
    LAST_TIMESTAMP,
    EventError,
    format_seconds,
    format_timestamp,
    to_microseconds,
)

NINE = 1_357_030_800_000_000  # 2013-01-01 09:00 in UTC


class NoOffset(tzinfo):
    """A zone that doesn't know its offset."""

    def utcoffset(self, dt: datetime | None) -> timedelta | None:
        return None

    def dst(self, dt: datetime | None) -> timedelta | None:
        return None

    def tzname(self, dt: datetime | None) -> str | None:
        return None


@pytest.mark.parametrize(
    ("value", "microseconds"),
    [
        (10, 10_000_000),
        (0.1, 100_000),
        (-0.1, -100_000),
        (1700000000.123456, 1_700_000_000_123_456),
        (8589934591.999999, 8_589_934_591_999_999),
        (0.0000005, 0),
        (0.0000015, 2),
        (Decimal("0.1"), 100_000),
        (Decimal("1e-999999"), 0),
        ("2013-01-01T09:00:00Z", NINE),
        ("2013-01-01T09:00:00", NINE),
        ("2013-01-01 09:00", NINE),
        ("2013-01-01t09:00:00z", NINE),
        ("2013-01-01T10:30:00+01:30", NINE),
        ("2013-01-01T09:00:00.25Z", NINE + 250_000),
        ("2013-01-01T09:00:00.123456789Z", NINE + 123_456),
        ("1969-12-31T23:59:59.999999999Z", -1),
        ("2013-01-01", NINE - 9 * 3_600_000_000),
        (datetime(2013, 1, 1, 9), NINE),  # noqa: DTZ001
        (datetime(2013, 1, 1, 9, tzinfo=NoOffset()), NINE),
        (datetime(2013, 1, 1, 9, tzinfo=UTC), NINE),
        (datetime(2013, 1, 1, 10, tzinfo=timezone(timedelta(hours=1))), NINE),
    ],
)
def test_a_timestamp_is_a_number_of_seconds_a_text_or_a_datetime(
    value: int | float | str | Decimal | datetime, microseconds: int
) -> None:
    """Seconds are read by their decimal digits; what has no zone is UTC; nanoseconds are cut off."""
    assert to_microseconds(value) == microseconds


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), "finite"),
        (float("-inf"), "finite"),
        (Decimal("sNaN"), "finite"),
        (True, "found the bool true"),
        (None, "found null"),
        ([], "found an array"),
        ("", "such as `2013-01-01T09:00:00Z`"),
        ("yesterday", 'found the string "yesterday"'),
        ("16121231412", "such as `2013"),
        ("20130101T090000", "such as `2013"),
        ("2013-W01-1", "such as `2013"),
        ("2013-02-30", "such as `2013"),
        (1_700_000_000_000, "divide milliseconds by 1000"),
        (1.7e12, "divide milliseconds by 1000"),
        (Decimal("1e999999"), "outside the years 1 to 9999"),
        pytest.param(10**5000, "outside the years 1 to 9999", id="5000 digits"),
        ("0001-01-01T00:00:00+01:00", "outside the years 1 to 9999"),
    ],
)
def test_what_is_no_timestamp_is_refused_with_the_way_out(value: object, message: str) -> None:
    """The error says what a timestamp looks like, and what was found."""
    with pytest.raises(EventError, match=message):
        to_microseconds(value)  # type: ignore[arg-type]


@given(timestamps)
def test_a_written_timestamp_is_read_back(microseconds: int) -> None:
    """`format_timestamp` and `to_microseconds` are inverse over the years 1 to 9999."""
    text = format_timestamp(microseconds)
    assert to_microseconds(text) == microseconds
    assert len(text) == len("1970-01-01T00:00:10.000000Z")


@given(timestamps)
def test_written_seconds_are_read_back(microseconds: int) -> None:
    """`format_seconds` is exact."""
    assert to_microseconds(Decimal(format_seconds(microseconds))) == microseconds


@given(st.lists(timestamps, min_size=2, max_size=2))
def test_written_timestamps_sort_as_their_times_do(pair: list[int]) -> None:
    """The order of the texts is the order of the times."""
    assert sorted(map(format_timestamp, pair)) == [format_timestamp(one) for one in sorted(pair)]


@pytest.mark.parametrize("microseconds", [FIRST_TIMESTAMP - 1, LAST_TIMESTAMP + 1, 10**40])
def test_a_timestamp_outside_the_calendar_can_not_be_written(microseconds: int) -> None:
    """Before the year 1 and after the year 9999 there are no dates to write."""
    with pytest.raises(EventError, match="outside the years 1 to 9999"):
        format_timestamp(microseconds)


@given(st.floats(-6e10, 2.5e11) | st.floats(-(2.0**31), 2.0**31) | st.floats(1.6e9, 1.8e9))
@example(1700000000.1234565)
@example(2147483647.9999998)
def test_a_float_means_its_decimal_digits(seconds: float) -> None:
    """The shortest digits that stand for the float, rounded to the nearest microsecond, are the timestamp."""
    exact = Decimal(repr(seconds)).quantize(Decimal("0.000001"), rounding=ROUND_HALF_EVEN)
    assert to_microseconds(seconds) == int(exact * 1_000_000)


@given(st.integers(-(2**32) * 10**6, 2**32 * 10**6))
def test_seconds_as_a_float_keep_their_microseconds(microseconds: int) -> None:
    """For as long as anyone will care, a JSON number with six digits after the point is exact."""
    assert to_microseconds(float(format_seconds(microseconds))) == microseconds


@given(st.text() | st.from_regex(r"\d{4}-\d\d-\d\d[T ]?[\d:.,+Z-]{0,20}", fullmatch=True))
def test_any_text_is_a_timestamp_or_an_event_error(text: str) -> None:
    """Reading a text as a timestamp raises nothing but EventError."""
    with suppress(EventError):
        assert FIRST_TIMESTAMP <= to_microseconds(text) <= LAST_TIMESTAMP
