"""What stands in the log: events, changes of rules, and time that passes."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum, StrEnum
from typing import TypeAlias

from tyrex.io.layout import Batch
from tyrex.server.log import Record
from tyrex.server.node import batches

_LENGTH = struct.Struct(">I")


class Kind(IntEnum):
    """What a record holds."""

    EVENTS = 1
    RULES = 2
    TIME = 3
    SETTINGS = 4


class Action(StrEnum):
    """What can be done with rules."""

    DEFINE = "define"
    REPLACE = "replace"
    PAUSE = "pause"
    RESUME = "resume"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class EventsRecord:
    """Events that a source sent together."""

    source: str
    key: str | None
    """By which the whole is known if it is sent again."""
    at: int
    """When it was accepted."""
    count: int
    span: tuple[int, int]
    """The earliest and the latest timestamp."""
    parts: Sequence[Batch]


@dataclass(frozen=True, slots=True)
class RulesRecord:
    """A change of the rules."""

    action: Action
    at: int
    by: str
    text: str = ""
    """TESLA, for `define` and `replace`."""
    names: tuple[str, ...] = ()
    """Of the rules it is about."""
    original: str = ""
    """The text as it was written, where that was RACED."""


@dataclass(frozen=True, slots=True)
class TimeRecord:
    """Time that passes by the clock: no event before this moment is to come."""

    moment: int


@dataclass(frozen=True, slots=True)
class SettingsRecord:
    """What settings hold from here on, of those that have an effect on what is detected."""

    delay: int
    time_zone: str
    matches: int
    ids: int


AnyRecord: TypeAlias = EventsRecord | RulesRecord | TimeRecord | SettingsRecord


def encode(record: AnyRecord) -> tuple[Kind, bytes]:
    """A record as the log keeps it."""
    match record:
        case EventsRecord():
            head = json.dumps([record.source, record.key, record.at, record.count, *record.span]).encode()
            parts = [batches.to_bytes(batch) for batch in record.parts]
            return Kind.EVENTS, b"".join([_LENGTH.pack(len(head)), head, *parts])
        case RulesRecord():
            return Kind.RULES, json.dumps(asdict(record)).encode()
        case TimeRecord():
            return Kind.TIME, struct.pack(">q", record.moment)
        case SettingsRecord():
            return Kind.SETTINGS, json.dumps(asdict(record)).encode()


def decode(record: Record) -> AnyRecord:
    """What a record of the log says."""
    if record.kind == Kind.TIME:
        return TimeRecord(*struct.unpack(">q", record.payload))
    if record.kind == Kind.SETTINGS:
        return SettingsRecord(**json.loads(record.payload))
    if record.kind == Kind.RULES:
        fields = json.loads(record.payload)
        names = tuple(fields.pop("names"))
        return RulesRecord(**{**fields, "action": Action(fields["action"]), "names": names})
    head = _head(record)
    source, key, at, count, first, last = json.loads(head)
    rest = memoryview(record.payload)[_LENGTH.size + len(head) :]
    return EventsRecord(source, key, at, count, (first, last), batches.from_bytes(rest))


def span_of(record: Record) -> tuple[int, int]:
    """The earliest and the latest timestamp of a record of events, without a look at the events."""
    *_, first, last = json.loads(_head(record))
    return first, last


def _head(record: Record) -> bytes:
    (length,) = _LENGTH.unpack_from(record.payload)
    return record.payload[_LENGTH.size : _LENGTH.size + length]
