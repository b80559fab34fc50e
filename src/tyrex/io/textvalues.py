"""Values that are written as text, as in CSV: what each means where a type is declared."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tyrex.events import EventError, Value, to_microseconds
from tyrex.tesla.types import ValueType

if TYPE_CHECKING:
    from tyrex.io.layout import Column

_WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")
_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE | re.ASCII
)
_BOOLS = {"true": True, "false": False}


def value_of_text(text: str, type_: ValueType) -> Value:
    """The value that a cell holds; the text itself if it is none of the type, which a `Conformer` will say."""
    if not text:
        return None
    if type_ is ValueType.STRING:
        return text
    word = text.strip()
    if type_ is ValueType.BOOL:
        return _BOOLS.get(word.lower(), text)
    if type_ is ValueType.INT and _WHOLE.fullmatch(word):
        return int(word)
    return float(word) if _NUMBER.fullmatch(word) else text


def microseconds_of_text(text: str) -> int:
    """The timestamp in a cell: a number of seconds, or ISO 8601."""
    word = text.strip()
    if not word:
        raise EventError("the timestamp is missing")
    if _WHOLE.fullmatch(word):
        return to_microseconds(int(word))
    return to_microseconds(float(word) if _NUMBER.fullmatch(word) else word)


def column_of_texts(column: Column, type_: ValueType) -> Column | None:
    """The values of a column of texts, or None if one of them needs a closer look; equal to `value_of_text`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    empty = pc.equal(column, pa.scalar(""))
    if pc.any(empty).as_py():
        column = pc.if_else(empty, pa.scalar(None, pa.string()), column)
    if type_ is ValueType.STRING or column.null_count == len(column):
        return column
    try:
        if type_ is ValueType.BOOL:
            words = pc.utf8_lower(column)
            known = pc.is_in(words, value_set=pa.array([*_BOOLS, None], pa.string()))
            return pc.equal(words, pa.scalar("true")) if pc.all(known).as_py() else None
        if type_ is ValueType.INT:
            # Arrow reads `0x10` as 16, which is no whole number here.
            hexadecimal = pc.match_substring(column, "x", ignore_case=True)
            return None if pc.any(hexadecimal).as_py() else column.cast(pa.int64())
        numbers = column.cast(pa.float64())
        return numbers if pc.all(pc.invert(pc.is_nan(numbers))).as_py() is not False else None
    except pa.ArrowInvalid:
        return None


def timestamps_of_texts(column: Column) -> Column | None:
    """The timestamps in a column of texts, numbers or ISO 8601, or None if one of them needs a closer look."""
    import pyarrow as pa

    from tyrex.io.times import timestamp_column

    if _NUMBER.fullmatch(column[0].as_py() or ""):
        try:
            column = column.cast(pa.float64())
        except pa.ArrowInvalid:
            return None
    return timestamp_column(column)
