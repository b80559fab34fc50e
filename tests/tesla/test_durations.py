"""Lengths of time: what is one, and what is not."""

from __future__ import annotations

import pytest

from tyrex.tesla.durations import DAY, MINUTE, NotADuration, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("5min", 5 * MINUTE),
        ("5 min.", 5 * MINUTE),
        ("1day", DAY),
        ("1.5 h", 90 * MINUTE),
        ("0.001 ms", 1),
        ("2 Weeks", 14 * DAY),
    ],
)
def test_a_number_and_a_unit_are_a_duration(text: str, microseconds: int) -> None:
    """With or without a space, a trailing dot, a fraction; the unit in any case."""
    assert parse_duration(text) == microseconds


@pytest.mark.parametrize("text", ["", "5", "min", "5 m", "-5 min", "0.0001 ms", "9" * 5000 + " weeks"])
def test_anything_else_is_none(text: str) -> None:
    """It is refused in one way, however long it is."""
    with pytest.raises(NotADuration):
        parse_duration(text)


@pytest.mark.parametrize("microseconds", [0, 1, 1_500, 90 * MINUTE, 14 * DAY, 2**63 - 1])
def test_a_duration_is_read_as_it_is_printed(microseconds: int) -> None:
    """In its largest whole unit."""
    assert parse_duration(format_duration(microseconds)) == microseconds
