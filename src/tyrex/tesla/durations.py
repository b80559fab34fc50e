"""Lengths of time as TESLA writes them: `5 min`, `5min`, `5 min.`, `1day`."""

from __future__ import annotations

import re
from fractions import Fraction

MICROSECOND = 1
MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY

_UNITS = {
    "us": MICROSECOND,
    "ms": MILLISECOND,
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), SECOND),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), MINUTE),
    **dict.fromkeys(("h", "hour", "hours"), HOUR),
    **dict.fromkeys(("day", "days"), DAY),
    **dict.fromkeys(("week", "weeks"), WEEK),
}

_CANONICAL = (
    (WEEK, "week", "weeks"),
    (DAY, "day", "days"),
    (HOUR, "h", "h"),
    (MINUTE, "min", "min"),
    (SECOND, "s", "s"),
    (MILLISECOND, "ms", "ms"),
)

_PATTERN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\.?\s*", re.IGNORECASE)


_LONGEST = 100  # digits of a number; what is right has a quarter of them


class NotADuration(ValueError):
    """The text is no length of time, or no whole number of microseconds."""


def parse_duration(text: str) -> int:
    """The microseconds in a length of time.

    >>> parse_duration("5 min.")
    300000000
    """
    found = _PATTERN.fullmatch(text)
    if found is None or found[2].lower() not in _UNITS:
        raise NotADuration(f"`{text.strip()}` is not a duration: write a number and a unit, as in `5 min`")
    if len(found[1]) > _LONGEST:
        raise NotADuration(f"`{text.strip()[:12]}..` has more than {_LONGEST} digits")
    exact = Fraction(found[1]) * _UNITS[found[2].lower()]
    if exact.denominator != 1:
        raise NotADuration(f"`{text.strip()}` is not a whole number of microseconds")
    return int(exact)


def format_duration(microseconds: int) -> str:
    """A length of time in its largest whole unit.

    >>> format_duration(300_000_000)
    '5 min'
    """
    for size, one, many in _CANONICAL:
        if microseconds and microseconds % size == 0:
            count = microseconds // size
            if size == WEEK and count == 1:
                return "7 days"
            return f"{count} {one if count == 1 else many}"
    return f"{microseconds} us" if microseconds else "0 s"
