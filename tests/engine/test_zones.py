"""Calendar timers in time zones: local time, summer time, and zones with odd offsets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tyrex import Engine
from tyrex.engine.zones import offsets
from tyrex.tesla.durations import HOUR, MINUTE

TICK = "event A() define Tick(h: int, m: int) from Timer({}) where h = Timer.H, m = Timer.M"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _ticks(fields: str, zone: str, start: str, end: str) -> list[str]:
    """The instants in UTC at which a timer fires."""
    engine = Engine(TICK.format(fields), time_zone=zone)
    engine.send("A", timestamp=start)
    found = engine.flush(until=end)
    return [(EPOCH + timedelta(microseconds=event.timestamp)).strftime("%m-%d %H:%M:%S") for event in found]


def test_without_a_zone_timers_are_in_utc() -> None:
    """Nine in the morning is nine in UTC."""
    engine = Engine(TICK.format("H = 9, M = 0"))
    assert engine.time_zone == "UTC"
    engine.send("A", timestamp="2026-07-14T00:00:00Z")
    assert [event.timestamp for event in engine.flush(until="2026-07-15T00:00:00Z")] == [
        1_784_019_600_000_000
    ]


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("UTC", "07-14 09:00:00"),
        ("Europe/Rome", "07-14 07:00:00"),
        ("Asia/Kathmandu", "07-14 03:15:00"),
        ("America/St_Johns", "07-14 11:30:00"),
        ("Pacific/Kiritimati", "07-14 19:00:00"),
        ("Pacific/Pago_Pago", "07-14 20:00:00"),
    ],
)
def test_a_timer_fires_at_local_time(zone: str, expected: str) -> None:
    """Whole hours, quarters, and zones that are a day ahead."""
    assert _ticks("H = 9, M = 0", zone, "2026-07-14T00:00:00Z", "2026-07-14T23:59:59Z") == [expected]


def test_fields_of_a_timer_are_local() -> None:
    """Hour, weekday, day, month and year, across the date line of the zone."""
    engine = Engine(
        "event A() define T(d: int, day: int, month: int, year: int) from Timer(H = 0, M = 0) "
        "where d = Timer.D, day = Timer.Day, month = Timer.Month, year = Timer.Year",
        time_zone="Pacific/Kiritimati",
    )
    engine.send("A", timestamp="2025-12-31T00:00:00Z")
    (event,) = engine.flush(until="2025-12-31T12:00:00Z")
    assert dict(event.attributes) == {"d": 4, "day": 1, "month": 1, "year": 2026}


def test_an_hour_that_is_skipped_has_no_timers() -> None:
    """On the day on which summer time begins, half past two does not come."""
    found = _ticks("H = 2, M = 30", "Europe/Rome", "2026-03-27T12:00:00Z", "2026-03-30T12:00:00Z")
    assert found == ["03-28 01:30:00", "03-30 00:30:00"]


def test_an_hour_that_comes_twice_has_its_timers_twice() -> None:
    """On the day on which summer time ends, half past two comes again."""
    found = _ticks("H = 2, M = 30", "Europe/Rome", "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z")
    assert found == ["10-25 00:30:00", "10-25 01:30:00", "10-26 01:30:00"]


def test_every_minute_comes_however_clocks_are_set() -> None:
    """Three hours around the change have 180 minutes."""
    for start, end in (
        ("2026-03-29T00:00:00.000001Z", "2026-03-29T03:00:00Z"),
        ("2026-10-25T00:00:00.000001Z", "2026-10-25T03:00:00Z"),
    ):
        assert len(_ticks("M % 1 = 0", "Europe/Rome", start, end)) == 180


def test_seconds_and_weekdays() -> None:
    """Every twenty seconds; on Fridays only."""
    found = _ticks(
        "S % 20 = 0, H = 9, M = 0, D = Friday", "Europe/Rome", "2026-07-16T00:00:00Z", "2026-07-18T00:00:00Z"
    )
    assert found == ["07-17 07:00:00", "07-17 07:00:20", "07-17 07:00:40"]


def test_a_change_of_half_an_hour_is_followed() -> None:
    """Lord Howe Island moves its clocks by thirty minutes."""
    found = _ticks("H = 12, M = 0", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", "2026-04-06T00:00:00Z")
    assert found == ["04-04 01:00:00", "04-05 01:30:00"]


@pytest.mark.parametrize("zone", ["Mars/Phobos", "", "../etc/passwd"])
def test_a_zone_that_is_none_is_refused(zone: str) -> None:
    """When the engine is made."""
    with pytest.raises((ZoneInfoNotFoundError, ValueError)):
        Engine(TICK.format("H = 9"), time_zone=zone)


@given(
    st.sampled_from(
        ["Europe/Rome", "America/St_Johns", "Africa/Casablanca", "Asia/Tehran", "Antarctica/Troll", "UTC"]
    ),
    st.datetimes(datetime(1975, 1, 1), datetime(2199, 12, 1)),  # noqa: DTZ001  Hypothesis wants them so
)
def test_offsets_are_those_of_the_zone(zone: str, moment: datetime) -> None:
    """At any instant from 1900 to 2200, to the minute."""
    instants, found = offsets(zone)
    moment = moment.replace(tzinfo=UTC)
    instant = (moment - EPOCH) // timedelta(microseconds=1)
    place = max(number for number, start in enumerate(instants) if start <= instant)
    expected = moment.astimezone(ZoneInfo(zone)).utcoffset()
    assert expected is not None
    assert found[place] == expected // timedelta(microseconds=1)
    assert abs(found[place]) <= 15 * HOUR
    assert found[place] % MINUTE == 0


def test_summer_time_goes_on_after_2200() -> None:
    """As the rules of the zone have it."""
    assert _ticks("H = 9, M = 0", "Europe/Rome", "2205-07-14T00:00:00Z", "2205-07-14T12:00:00Z") == [
        "07-14 07:00:00"
    ]
