"""The offsets of a time zone from UTC, as the kernel wants them: from which instant on which offset holds."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from tyrex.tesla.durations import DAY, SECOND

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STEP = 7 * DAY  # no zone has changed its offset twice within a week and back
FIRST_YEAR, LAST_YEAR = 1900, 2440


@cache
def offsets(name: str) -> tuple[list[int], list[int]]:
    """The instants at which the offset changes, and the offsets, in microseconds.

    They cover the years from 1900 to 2440. Before, the first offset holds; after, the kernel goes on as the calendar
    does, which repeats itself every 400 years.
    """
    if name == "UTC":
        return [0], [0]
    zone = ZoneInfo(name)
    changes = list(_changes(zone))
    return [instant for instant, _ in changes], [offset for _, offset in changes]


def _changes(zone: ZoneInfo) -> Iterator[tuple[int, int]]:
    at = _instant(datetime(FIRST_YEAR, 1, 1, tzinfo=UTC))
    end = _instant(datetime(LAST_YEAR, 1, 1, tzinfo=UTC))
    offset = _offset(zone, at)
    yield at, offset
    while at < end:
        after = _offset(zone, at + _STEP)
        if after != offset:
            low, high = at, at + _STEP
            while high - low > SECOND:
                middle = (low + high) // (2 * SECOND) * SECOND
                low, high = (middle, high) if _offset(zone, middle) == offset else (low, middle)
            yield high, after
            offset = after
        at += _STEP


def _instant(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _offset(zone: ZoneInfo, instant: int) -> int:
    offset = (_EPOCH + timedelta(microseconds=instant)).astimezone(zone).utcoffset()
    assert offset is not None
    return offset // timedelta(microseconds=1)
