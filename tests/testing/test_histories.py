"""Histories in the papers' notation, and the clock that a test turns."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tyrex import Event, EventError
from tyrex.tesla.durations import NotADuration
from tyrex.testing import Clock, history


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("10", 10_000_000),
        ("0.5", 500_000),
        ("-1", -1_000_000),
        ("5min", 300_000_000),
        ("1.5h", 5_400_000_000),
        ("09:00", 32_400_000_000),
        ("09:00:30", 32_430_000_000),
        ("2013-01-01T09:00:00Z", 1_357_030_800_000_000),
    ],
)
def test_a_time_is_written_as_the_guide_says(text: str, microseconds: int) -> None:
    """Seconds, durations, times of day, dates."""
    assert history(f"Temp@{text}()") == [Event("Temp", microseconds)]


def test_a_history_holds_events_in_the_order_of_the_text() -> None:
    """On one line or on several, with comments."""
    events = history(
        """
        Temp@10(area="A1", value=24.5) Smoke@5   -- earlier, but written later
        // nothing
        Rain@20(); Rain@20()
        """
    )
    assert [str(event) for event in events] == [
        'Temp@10(area="A1", value=24.5)',
        "Smoke@5()",
        "Rain@20()",
        "Rain@20()",
    ]


@pytest.mark.parametrize(
    "text", ["Temp", "Temp@", "Temp@soon", "Temp@1(", "Temp@1(value)", "Temp@1(value=)", "@1"]
)
def test_what_is_no_event_is_refused_with_its_line(text: str) -> None:
    """A mistake in a test is not an empty history."""
    with pytest.raises(EventError, match="line 2: "):
        history(f"Smoke@1()\n{text}")


def test_a_clock_stamps_events_and_stands_still_between_them() -> None:
    """Until it is advanced two events have one time."""
    clock = Clock()
    first = clock.event("Temp", value=50.0)
    second = clock.event("Smoke")
    clock.advance("5 min")
    third = clock.event("Smoke", area="A1")
    assert (first.timestamp, second.timestamp, third.timestamp) == (0, 0, 300_000_000)
    assert clock.events == [first, second, third]
    assert clock.now == 300_000_000


@pytest.mark.parametrize(
    "start", [1_357_030_800, "2013-01-01T09:00:00Z", datetime(2013, 1, 1, 9, tzinfo=UTC), 1_357_030_800.0]
)
def test_a_clock_begins_when_it_is_told_to(start: int | float | str | datetime) -> None:
    """In seconds, as a text, or as a datetime."""
    clock = Clock(start)
    clock.advance("1.5 s")
    assert clock.event("A").timestamp == 1_357_030_801_500_000


def test_a_clock_takes_durations_only() -> None:
    """A bare number could be seconds or anything else."""
    with pytest.raises(NotADuration, match="write a number and a unit"):
        Clock().advance("5")


def test_an_attribute_may_be_called_type() -> None:
    """The type is given by position, so every name is free."""
    assert str(Clock().event("Alert", type="smoke", self=1)) == 'Alert@0(type="smoke", self=1)'
