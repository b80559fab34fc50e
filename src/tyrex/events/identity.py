"""Ids of events: the same in every runtime, and after every restart.

A source may give its events ids, which must then be unique. Every other id is the first 128 bits that BLAKE2b
makes at a digest size of 16 bytes, without key, salt or personalisation, as 32 lower-case hexadecimal digits.
What is hashed is, with all integers little endian:

    event      "E"  string(type)  i64(timestamp)  u32(number of attributes)  value*  u64(occurrence)
    composite  "C"  string(rule)  u32(number of ids)  string(id)*
    timer      "T"  i64(instant)

    string(s)  u32(length of s in UTF-8, in bytes)  the bytes of s in UTF-8
    value      0x00                    null
               0x01                    false
               0x02                    true
               0x03  i64               int, two's complement
               0x04  f64               float, IEEE 754 binary64, with -0.0 written as 0.0
               0x05  string            string

"E", "C" and "T" are one byte of ASCII. The values of an event stand in declared order, with their declared
types: an event is conformed before it is hashed. `occurrence` counts the earlier events of equal content,
from 0. The ids of a composite event are those of its events in the order in which the rule declares them,
the terminator first.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from struct import Struct
from struct import error as StructError  # noqa: N812  a class named in lower case

from tyrex.events.errors import EventError
from tyrex.events.event import Event, Value
from tyrex.events.literals import describe

_U32 = Struct("<I").pack
_U64 = Struct("<Q").pack
_I64 = Struct("<q").pack
_TAGGED_INT = Struct("<Bq").pack
_TAGGED_FLOAT = Struct("<Bd").pack
_NULL, _FALSE, _TRUE = b"\x00", b"\x01", b"\x02"
_INT, _FLOAT, _STRING = 3, 4, b"\x05"


def content_id(event: Event, occurrence: int = 0) -> str:
    """The id of a conformed event by its content, and by how many equal ones came before it."""
    return _hash(_content(event) + _U64(occurrence))


def composite_id(rule: str, ids: Sequence[str]) -> str:
    """The id of the event that a rule makes of the events with these ids, in order of declaration."""
    return _hash(b"C" + _string(rule) + _U32(len(ids)) + b"".join(map(_string, ids)))


def timer_id(instant: int) -> str:
    """The id of the timer event at an instant, in microseconds since the epoch."""
    return _hash(b"T" + _instant(instant))


class Identities:
    """Hands out the ids of conformed events: their own where they have one, else by their content.

    It counts equal events to tell them apart. Equal events have equal timestamps, so the counts of a time
    that no event can have any more are of no use: `forget` drops them.
    """

    def __init__(self) -> None:
        self._seen: dict[int, dict[str, int]] = {}

    def __call__(self, event: Event) -> str:
        """The id of the event, which is a new occurrence if it has no id of its own."""
        if event.id is not None:
            return event.id
        content = _content(event)
        first = _hash(content + _U64(0))
        seen = self._seen.setdefault(event.timestamp, {})
        occurrence = seen.get(first, 0)
        seen[first] = occurrence + 1
        return first if occurrence == 0 else _hash(content + _U64(occurrence))

    def forget(self, before: int) -> None:
        """Drop what was counted for events older than this timestamp."""
        self._seen = {timestamp: seen for timestamp, seen in self._seen.items() if timestamp >= before}


def _hash(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()


def _string(text: str) -> bytes:
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        raise EventError(f"{describe(text)} is not well-formed Unicode, so no id can be made of it") from None
    return _U32(len(encoded)) + encoded


def _content(event: Event) -> bytes:
    parts = [b"E", _string(event.type), _instant(event.timestamp), _U32(len(event.attributes))]
    parts += map(_value, event.attributes.values())
    return b"".join(parts)


def _instant(timestamp: int) -> bytes:
    try:
        return _I64(timestamp)
    except StructError:
        raise _unconformed(timestamp) from None


def _value(value: Value) -> bytes:
    if value is None:
        return _NULL
    if isinstance(value, str):
        return _STRING + _string(value)
    if isinstance(value, float):
        if value != value:  # noqa: PLR0124  a NaN is read as null
            return _NULL
        return _TAGGED_FLOAT(_FLOAT, value + 0.0)  # -0.0 + 0.0 is 0.0
    if isinstance(value, bool):
        return _TRUE if value else _FALSE
    try:
        return _TAGGED_INT(_INT, value)
    except StructError:
        raise _unconformed(value) from None


def _unconformed(value: object) -> EventError:
    return EventError(f"only conformed events have an id; this one holds {describe(value)}")
