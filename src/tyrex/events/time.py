"""Timestamps: from what people and systems write to microseconds since the epoch, and back."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal
from numbers import Integral

from tyrex.events.errors import EventError
from tyrex.events.literals import describe, format_value
from tyrex.tesla.durations import SECOND

FIRST_TIMESTAMP = -62_135_596_800 * SECOND
"""The first microsecond of the year 1: nothing before it can be written as a date."""
LAST_TIMESTAMP = 253_402_300_800 * SECOND - 1
"""The last microsecond of the year 9999."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_WITHOUT_ZONE = datetime(1970, 1, 1)  # noqa: DTZ001  it is written several times faster
_MICRO = Decimal("0.000001")
_CONTEXT = Context(prec=40, rounding=ROUND_HALF_EVEN)
_FURTHEST = 10**12
_EXACT_ENOUGH = 2.0**31
_SEPARATORS = ("T", " ", "t", "")


def to_microseconds(value: int | float | str | Decimal | datetime) -> int:
    """The microseconds since the epoch that a timestamp stands for.

    A number is seconds, rounded to the nearest microsecond: by its decimal digits, so that `0.1` is exactly
    100,000. A text is a date and time of ISO 8601 (`2013-01-01T09:00:00.25Z`); without an offset it is UTC,
    and digits beyond microseconds are cut off, which keeps the order of nanosecond logs. A datetime without
    a zone is UTC.

    >>> to_microseconds(0.1)
    100000
    >>> to_microseconds("1970-01-01T01:00:00+01:00")
    0
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return in_range(int(value) * SECOND)
    if isinstance(value, str):
        return _of_text(value)
    if isinstance(value, float):
        return _of_float(value)
    if isinstance(value, datetime):
        # A zone that knows no offset is none.
        return _of_datetime(value if value.utcoffset() is not None else value.replace(tzinfo=None))
    if isinstance(value, Decimal):
        return _of_decimal(value)
    if isinstance(value, Integral) and not isinstance(value, bool):
        return in_range(int(value) * SECOND)
    raise EventError(
        "a timestamp must be a number of seconds or a text such as `2013-01-01T09:00:00Z`, "
        f"found {describe(value)}"
    )


def in_range(microseconds: int) -> int:
    """The same timestamp, if it lies in the years 1 to 9999."""
    if FIRST_TIMESTAMP <= microseconds <= LAST_TIMESTAMP:
        return microseconds
    raise EventError(
        f"the timestamp {format_value(microseconds)} us since the epoch is outside the years 1 to 9999: "
        "a plain number is seconds, so divide milliseconds by 1000"
    )


def format_timestamp(microseconds: int) -> str:
    """The timestamp as ISO 8601 in UTC, always with microseconds.

    >>> format_timestamp(10_000_000)
    '1970-01-01T00:00:10.000000Z'
    """
    try:
        moment = _EPOCH_WITHOUT_ZONE + timedelta(0, 0, microseconds)
    except OverflowError:
        in_range(microseconds)
        raise
    return moment.isoformat("T", "microseconds") + "Z"


def format_seconds(microseconds: int) -> str:
    """The timestamp as an exact number of seconds, as short as possible.

    >>> format_seconds(-1_500_000)
    '-1.5'
    """
    whole, rest = divmod(abs(microseconds), SECOND)
    digits = f"{whole}.{rest:06d}".rstrip("0").removesuffix(".")
    return f"-{digits}" if microseconds < 0 else digits


def _of_float(seconds: float) -> int:
    if -_EXACT_ENOUGH < seconds < _EXACT_ENOUGH:
        # Up to here a float is less than 1/8 us away from its decimal digits, and the product at most 1/8 us
        # from its exact value: if it is within 1/4 us of a whole number, the digits round to this one, too.
        scaled = seconds * 1e6
        nearest = round(scaled)
        if -0.25 <= scaled - nearest <= 0.25:
            return nearest
    elif not math.isfinite(seconds):
        raise EventError(f"a timestamp must be a finite number of seconds, found {describe(seconds)}")
    return _of_decimal(Decimal(float.__repr__(seconds)))


def _of_decimal(seconds: Decimal) -> int:
    if not seconds.is_finite():
        raise EventError("a timestamp must be a finite number of seconds, found " + str(seconds))
    if not -_FURTHEST < seconds < _FURTHEST:
        raise EventError(
            f"the timestamp {seconds:.6e} s since the epoch is outside the years 1 to 9999: "
            "a plain number is seconds, so divide milliseconds by 1000"
        )
    return in_range(int(seconds.quantize(_MICRO, context=_CONTEXT).scaleb(6, context=_CONTEXT)))


def _of_text(text: str) -> int:
    # Only `YYYY-MM-DD` and what follows it: a text of digits alone may be a count of anything.
    moment = None
    if text[4:8:3] == "--" and text[10:11] in _SEPARATORS:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            try:
                moment = datetime.fromisoformat(text.upper())
            except ValueError:
                moment = None
    if moment is None:
        raise EventError(
            "a timestamp as text must be a date and time such as `2013-01-01T09:00:00Z`, "
            f"found {describe(text)}"
        )
    return _of_datetime(moment)


def _of_datetime(moment: datetime) -> int:
    since = moment - (_EPOCH_WITHOUT_ZONE if moment.tzinfo is None else _EPOCH)
    return in_range((since.days * 86_400 + since.seconds) * SECOND + since.microseconds)
