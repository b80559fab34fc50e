"""Columns of timestamps, whatever they are written in, as microseconds: equal to `to_microseconds`, only quicker."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tyrex.events import FIRST_TIMESTAMP, LAST_TIMESTAMP, EventError, to_microseconds
from tyrex.events.time import in_range
from tyrex.io.layout import Column
from tyrex.tesla.durations import DAY, SECOND

MICROSECONDS = pa.timestamp("us", "UTC")
_UNITS = {"s": SECOND, "ms": 1000, "us": 1}
_EXACT_ENOUGH = 2.0**31  # as in tyrex.events.time
_QUARTER = 0.25


def timestamp_column(column: Column) -> Column | None:
    """The column as timestamps in microseconds, or None if one of them is null or none.

    Numbers are seconds, texts ISO 8601; a timestamp column may have any unit, and without a zone it is UTC.
    """
    if column.null_count:
        return None
    type_ = column.type
    try:
        if pa.types.is_temporal(type_):
            found = _of_temporal(column)
        elif pa.types.is_string(type_) or pa.types.is_large_string(type_):
            found = _of_text(column)
        elif pa.types.is_integer(type_):
            found = pc.multiply_checked(column.cast(pa.int64()), pa.scalar(SECOND, pa.int64()))
        elif pa.types.is_floating(type_):
            found = _of_floats(column.cast(pa.float64()))
        else:
            return None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    if found is None or not _all_in_range(found):
        return None
    return found.cast(MICROSECONDS)


def timestamp_values(column: Column) -> list[Any]:
    """The values of the column, each for `timestamp_value`."""
    type_ = column.type
    if pa.types.is_timestamp(type_):
        ticks = column.cast(pa.int64()).to_pylist()
        factor = _UNITS.get(type_.unit)
        return [
            None if t is None else _Microseconds(t // 1000 if factor is None else t * factor) for t in ticks
        ]
    if pa.types.is_date32(type_):
        days = column.cast(pa.int32()).to_pylist()
        return [None if day is None else _Microseconds(day * DAY) for day in days]
    return column.to_pylist()


def timestamp_value(value: Any) -> int:
    """The microseconds that a value stands for; EventError if it is no timestamp."""
    if isinstance(value, _Microseconds):
        return in_range(int(value))
    if value is None or isinstance(value, (int, float, str, Decimal, datetime)):
        if value is None:
            raise EventError("the timestamp is missing")
        return to_microseconds(value)
    raise EventError(f"a timestamp must be a number of seconds, a text or a date, found {value}")


class _Microseconds(int):
    """A count of microseconds, not of seconds."""


def _of_temporal(column: Column) -> Column | None:
    type_ = column.type
    if pa.types.is_date(type_):
        column = column.cast(pa.timestamp("s" if pa.types.is_date32(type_) else "ms"))
    elif not pa.types.is_timestamp(type_):
        return None
    elif type_.unit == "ns":
        column = pc.floor_temporal(column.cast(pa.timestamp("ns")), unit="microsecond")
    return column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())


def _of_text(column: Column) -> Column:
    # With an offset or without one: which of them the first text tells.
    first = column[0].as_py()[10:] if len(column) else ""
    has_offset = first.endswith("Z") or "+" in first or "-" in first
    return column.cast(MICROSECONDS if has_offset else pa.timestamp("us")).cast(pa.int64())


def _of_floats(column: Column) -> Column | None:
    """The nearest microseconds, where they are beyond doubt; `to_microseconds` says why that is so."""
    scaled = pc.multiply(column, 1e6)
    nearest = pc.round(scaled)
    doubt = pc.max(pc.abs(pc.subtract(scaled, nearest))).as_py()
    furthest = pc.max(pc.abs(column)).as_py()
    if doubt is not None and not (doubt <= _QUARTER and furthest < _EXACT_ENOUGH):
        if not pc.all(pc.is_finite(column)).as_py():
            return None
        try:
            seconds: list[Any] = column.to_pylist()
            return pa.array(map(to_microseconds, seconds), pa.int64())
        except EventError:
            return None
    return nearest.cast(pa.int64())


def _all_in_range(column: Column) -> bool:
    limits: Any = pc.min_max(column).as_py()
    if limits["min"] is None:
        return True
    return bool(limits["min"] >= FIRST_TIMESTAMP and limits["max"] <= LAST_TIMESTAMP)
