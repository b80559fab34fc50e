"""The form of an event in JSON, to read and to write.

An event is an object whose keys are `type`, `timestamp` and its attributes:

    {"type": "Temp", "timestamp": 10, "area": "A1", "value": 24.5}

Beside them may stand `id`, the id that the source gave, and for composite events `rule` and `lineage`. If the
type declares an attribute of one of these names, the key is that attribute. No key may stand twice.

An event with an attribute that is called like one of these keys is written with its attributes in an object
of their own, and any event can be read in that form. The keys beside it are then never mistaken for them:

    {"type": "Order", "timestamp": 10, "attributes": {"type": "express", "id": 7}, "id": "shop/1"}
"""

from __future__ import annotations

import json
import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tyrex.events import Event, EventError, Value, format_timestamp, to_microseconds
from tyrex.events.literals import describe, is_well_formed, quote
from tyrex.io.cloudevents import SPECVERSION, read_cloud_event
from tyrex.io.decoder import (
    NOT_UNICODE,
    SPACE,
    TOO_DEEP,
    TOO_LONG,
    RepeatedKey,
    decoder,
    trouble,
    unrepeated,
    well_formed,
)
from tyrex.io.form import PLAIN, Form
from tyrex.tesla.types import TIMESTAMP, EventType

ATTRIBUTES = "attributes"
_RESERVED = frozenset(("type", "timestamp", "id", "rule", "lineage", SPECVERSION))
_EXAMPLE = '`{"type": "Temp", "timestamp": 10, "value": 24.5}`'

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def read_json_event(
    obj: Mapping[str, Any], types: Mapping[str, EventType] | None = None, form: Form = PLAIN
) -> Event:
    """The event that a JSON object describes; its attributes are still as they were sent.

    `types` tells whether a key `id`, `rule` or `lineage` is an attribute, and `form` where its type and its
    time are. Values that don't fit their type, objects and arrays among them, are for `Conformer` to find.

    >>> print(read_json_event({"type": "Temp", "timestamp": 10, "area": "A1", "value": 24.5}))
    Temp@10(area="A1", value=24.5)
    """
    return _read(dict(obj), types, form)


def _read(attributes: dict[str, Any], types: Mapping[str, EventType] | None, form: Form) -> Event:
    """The event in an object that becomes its attributes."""
    if SPECVERSION in attributes:
        event = read_cloud_event(attributes, types)
        return event if form.type is None else replace(event, type=form.type)
    type_ = attributes.pop("type", None) if form.type is None else form.type
    if not isinstance(type_, str) or not type_:
        raise EventError(f"an event needs `type`, a text, as in {_EXAMPLE}")
    declared = _declared(type_, types)
    timestamp = attributes.get(form.timestamp)
    if timestamp is None:
        raise EventError(f"an event needs `{form.timestamp}`, in seconds or as a date, as in {_EXAMPLE}")
    timestamp = to_microseconds(timestamp)
    if form.timestamp == TIMESTAMP or form.timestamp not in declared:
        del attributes[form.timestamp]
    nested: dict[str, Any] = {}
    if isinstance(attributes.get(ATTRIBUTES), dict):
        nested, declared = unrepeated(attributes.pop(ATTRIBUTES)), {}
    id_ = rule = None
    if "id" in attributes and "id" not in declared:
        id_ = _read_id(attributes.pop("id"))
    if "rule" in attributes and "rule" not in declared:
        rule = _read_rule(attributes.pop("rule"))
    if "lineage" not in declared and isinstance(attributes.get("lineage"), list):
        del attributes["lineage"]
    if nested:
        for name in attributes:
            if name in nested:
                raise EventError(f"the key {quote(name)} stands in `attributes` and beside it: send it once")
        attributes |= nested
    return Event(well_formed(type_), timestamp, attributes, id_, rule)


def _declared(type_: str, types: Mapping[str, EventType] | None) -> Mapping[str, object]:
    """The attributes that a type is known to have."""
    return types[type_].by_name if types is not None and type_ in types else {}


def parse_json_event(text: str, types: Mapping[str, EventType] | None = None, form: Form = PLAIN) -> Event:
    """The event that a JSON text describes; EventError says why it is none."""
    start = 0 if text.startswith("{") else len(text) - len(text.lstrip(SPACE))
    try:
        obj, end = decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        what = trouble(error, f"column {error.pos + 1}")
        raise EventError(
            f"not JSON: {what}; write each event as one object on one line, as {_EXAMPLE}"
        ) from None
    except RecursionError:
        raise EventError(TOO_DEEP) from None
    except ValueError:
        raise EventError(TOO_LONG) from None
    if end != len(text) and (rest := text[end:].lstrip(SPACE)):
        column = len(text) - len(rest) + 1
        raise EventError(
            f"more text after the event, at column {column}: write each event on a line of its own"
        )
    if obj.__class__ is dict and "\\u" not in text and is_well_formed(text):
        return _read(obj, types, form)
    return event_of(obj, types, form)


def event_of(obj: Any, types: Mapping[str, EventType] | None, form: Form = PLAIN) -> Event:
    """The event that a JSON value describes, whatever it is."""
    if not isinstance(obj, dict):
        raise EventError(f"an event must be a JSON object, as {_EXAMPLE}, found {describe(obj)}")
    if isinstance(obj, RepeatedKey):
        obj = unrepeated(obj, _used(obj, types, form))
    try:
        json.dumps(obj, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise EventError(NOT_UNICODE) from None
    except RecursionError:
        raise EventError(TOO_DEEP) from None
    return _read(obj, types, form)


def _used(obj: dict[str, Any], types: Mapping[str, EventType] | None, form: Form) -> Container[str] | None:
    """The keys of an object that mean something, if that is known: the others may stand in it twice."""
    if types is None or SPECVERSION in obj:
        return None
    type_ = obj.get("type") if form.type is None else form.type
    declared = _declared(type_, types) if isinstance(type_, str) else {}
    return {*declared, *_RESERVED, ATTRIBUTES, form.timestamp}


def json_record(event: Event, *, lineage: Sequence[str | Event] | None = None) -> dict[str, Any]:
    """The event as an object of JSON: what `write_json_event` writes."""
    record: dict[str, Any] = {"type": event.type, "timestamp": format_timestamp(event.timestamp)}
    attributes = {name: _json_value(value) for name, value in event.attributes.items()}
    if _RESERVED.isdisjoint(attributes):
        record |= attributes
    else:
        record[ATTRIBUTES] = attributes
    if (id_ := event.id) is not None:
        record["id"] = id_
    if (rule := event.rule) is not None:
        record["rule"] = rule
    if lineage is not None:
        record["lineage"] = [json_record(one) if isinstance(one, Event) else one for one in lineage]
    return record


def write_json_event(event: Event, *, lineage: Sequence[str | Event] | None = None) -> str:
    """The event as one line of strict JSON, in the form in which it can be read again.

    `lineage` is what a composite event was made of: ids, or events to write out in full. JSON has no
    infinity, so it is the text `"Infinity"` or `"-Infinity"`, which `Conformer` reads back; a NaN is null.

    >>> write_json_event(Event("Temp", 10_000_000, {"area": "A1", "value": 24.5}))
    '{"type": "Temp", "timestamp": "1970-01-01T00:00:10.000000Z", "area": "A1", "value": 24.5}'
    """
    return _encode(json_record(event, lineage=lineage))


def _read_id(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return str(value)
        except ValueError:  # thousands of digits
            raise EventError(TOO_LONG) from None
    raise EventError(f"the `id` of an event must be a text or a whole number, found {describe(value)}")


def _read_rule(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        return well_formed(value)
    raise EventError(f"the `rule` of an event must be a text, found {describe(value)}")


def _json_value(value: Value) -> Value:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return value
