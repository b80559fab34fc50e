"""The state of an engine as bytes, and back: exact to the event, checked before anything is believed.

    magic  "TYREXSNP"                          8 bytes
    u32    version of the form                 little endian, as all numbers
    u64    length of the header, the header    JSON: rules, types, time zone, delay, layout
    u64    length of a state, the state        a kernel's; for each kernel of the layout
           BLAKE2b over all before it          16 bytes

The rules stand in it as their text, so that a snapshot explains itself and needs no code to be read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from struct import Struct
from typing import Any

from tyrex.engine.layout import Layout, PlaceLayout
from tyrex.tesla.types import AttributeType, EventType, Origin, ValueType

MAGIC = b"TYREXSNP"
VERSION = 2
_DIGEST = 16
_LENGTH = Struct("<Q")
_VERSION = Struct("<I")


class SnapshotError(ValueError):
    """The bytes are no snapshot that can be restored."""


@dataclass(frozen=True)
class RuleRecord:
    """A deployed rule, and the moment at which it was deployed."""

    name: str
    text: str
    moment: int
    paused: bool


@dataclass(frozen=True)
class Snapshot:
    """Everything that makes an engine go on where another stopped."""

    time_zone: str
    delay: int
    types: Sequence[EventType]
    rules: Sequence[RuleRecord]
    layout: Layout
    states: Sequence[bytes]
    """Of the kernels, place by place."""

    def to_bytes(self) -> bytes:
        """The snapshot in its form as bytes."""
        header = json.dumps(
            {
                "time_zone": self.time_zone,
                "delay": self.delay,
                "types": [_type_record(type_) for type_ in self.types],
                "rules": [[rule.name, rule.text, rule.moment, rule.paused] for rule in self.rules],
                "threads": self.layout.threads,
                "places": [
                    [list(place.rules), place.key, place.kernels, place.timers]
                    for place in self.layout.places
                ],
            }
        ).encode()
        parts = [part for section in (header, *self.states) for part in (_LENGTH.pack(len(section)), section)]
        content = b"".join((MAGIC, _VERSION.pack(VERSION), *parts))
        return content + _digest(content)

    @staticmethod
    def from_bytes(data: bytes) -> Snapshot:
        """Read a snapshot; `SnapshotError` if it is none, is damaged, or is of another version."""
        if data[: len(MAGIC)] != MAGIC:
            raise SnapshotError("this is no snapshot of a Tyrex engine")
        if len(data) < len(MAGIC) + _VERSION.size + 2 * _LENGTH.size + _DIGEST:
            raise SnapshotError("the snapshot is cut off: take an earlier one")
        version = _VERSION.unpack_from(data, len(MAGIC))[0]
        if version != VERSION:
            raise SnapshotError(
                f"the snapshot has version {version}, and this engine reads version {VERSION}: "
                "restore it with the release that made it"
            )
        if _digest(data[:-_DIGEST]) != data[-_DIGEST:]:
            raise SnapshotError("the snapshot is damaged: its checksum is wrong; take an earlier one")
        header, *states = _parts(data[:-_DIGEST], len(MAGIC) + _VERSION.size)
        try:
            record: dict[str, Any] = json.loads(header)
            return Snapshot(
                record["time_zone"],
                record["delay"],
                [_type_of(type_) for type_ in record["types"]],
                [RuleRecord(*rule) for rule in record["rules"]],
                Layout(
                    record["threads"],
                    tuple(PlaceLayout(tuple(rules), *rest) for rules, *rest in record["places"]),
                ),
                states,
            )
        except (ValueError, LookupError, TypeError) as error:
            raise SnapshotError(f"the snapshot can't be read: {error!r}; take an earlier one") from None


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=_DIGEST).digest()


def _parts(content: bytes, start: int) -> list[bytes]:
    parts = []
    while start < len(content):
        length = _LENGTH.unpack_from(content, start)[0]
        start += _LENGTH.size
        parts.append(content[start : start + length])
        start += length
    return parts


def _type_record(type_: EventType) -> dict[str, Any]:
    attributes = [[attribute.name, attribute.type.value] for attribute in type_.attributes]
    return {"name": type_.name, "origin": type_.origin.value, "attributes": attributes}


def _type_of(record: dict[str, Any]) -> EventType:
    attributes = tuple(AttributeType(name, ValueType(type_)) for name, type_ in record["attributes"])
    return EventType(record["name"], attributes, Origin(record["origin"]))
