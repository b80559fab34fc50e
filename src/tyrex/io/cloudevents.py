"""Events that come in the envelope of CloudEvents, version 1.0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tyrex.events import Event, EventError, to_microseconds
from tyrex.events.literals import describe
from tyrex.io.decoder import unrepeated, well_formed
from tyrex.tesla.types import EventType

SPECVERSION = "specversion"
"""The key by which a CloudEvents object is recognised."""


def read_cloud_event(obj: Mapping[str, Any], types: Mapping[str, EventType] | None = None) -> Event:
    """The event in a CloudEvents object; context attributes other than the ones below are left out.

    `type` is the event's type. If it is dotted and as a whole none of `types`, its last segment is:
    `com.example.Temp` is a `Temp`. `time` is its timestamp; CloudEvents may lack it, an event may not. Its id
    is `source/id`, as an id is unique only within its source. The attributes are those of `data`.
    """
    _text(obj, SPECVERSION)
    type_ = _text(obj, "type")
    if (types is None or type_ not in types) and "." in type_:
        type_ = type_.rpartition(".")[2] or type_
    id_ = f"{_text(obj, 'source')}/{_text(obj, 'id')}"
    if obj.get("time") is None:
        raise EventError("a CloudEvent needs `time`, the timestamp of the event, as `2013-01-01T09:00:00Z`")
    if obj.get("data_base64") is not None:
        raise EventError("a CloudEvent with `data_base64` can't be read: send `data` as a JSON object")
    data = obj.get("data")
    if data is None:
        data = {}
    if not isinstance(data, Mapping):
        raise EventError(
            f"the `data` of a CloudEvent must be a JSON object of attributes, found {describe(data)}"
        )
    return Event(type_, to_microseconds(obj["time"]), dict(unrepeated(data)), id_)


def _text(obj: Mapping[str, Any], key: str) -> str:
    value = obj.get(key)
    if not isinstance(value, str) or not value:
        raise EventError(f"a CloudEvent needs `{key}`, a text that is not empty, found {describe(value)}")
    return well_formed(value)
