import json
from pathlib import Path
from typing import Any

import pytest
from tests.io.support import TEMP_SHOWN, TYPES, reader_of, shown

from tyrex.events import Event, EventError
from tyrex.io import parse_json_event, read_cloud_event
from tyrex.tesla.types import EventType

ENVELOPE: dict[str, Any] = {
    "specversion": "1.0",
    "type": "Temp",
    "source": "/sensors/7",
    "id": "17",
    "time": "1970-01-01T00:00:10Z",
    "datacontenttype": "application/json",
    "subject": "kitchen",
    "data": {"area": "A1", "value": 24.5},
}


def test_a_cloud_event_is_recognised_by_its_specversion() -> None:
    """Type, time and data make the event; its id is that of the source and its own."""
    assert parse_json_event(json.dumps(ENVELOPE)) == Event(
        "Temp", 10_000_000, {"area": "A1", "value": 24.5}, "/sensors/7/17"
    )


def test_cloud_events_stand_beside_others(tmp_path: Path) -> None:
    """Each line, and each element of an array, may be of either form."""
    plain = {"type": "Temp", "timestamp": 10, "id": "/sensors/7/17", "area": "A1", "value": 24.5}
    expected = [TEMP_SHOWN.replace("(", '#"/sensors/7/17"(')] * 2
    lines = f"{json.dumps(ENVELOPE)}\n{json.dumps(plain)}"
    assert shown(reader_of(tmp_path, "events.jsonl", lines, strict=True)) == expected
    assert shown(reader_of(tmp_path, "batch.json", json.dumps([ENVELOPE, plain]), strict=True)) == expected


@pytest.mark.parametrize(
    ("type_", "expected"),
    [("Temp", "Temp"), ("com.example.Temp", "Temp"), ("com.example.temp.v2", "v2"), ("Temp.", "Temp.")],
)
def test_a_dotted_type_is_called_by_its_last_segment(type_: str, expected: str) -> None:
    """Names in rules have no dots, those of CloudEvents often have."""
    assert read_cloud_event(ENVELOPE | {"type": type_}).type == expected


def test_a_dotted_type_that_is_declared_stays_as_it_is() -> None:
    """The last segment counts only where the whole is not known."""
    types = {"a.Temp": EventType("a.Temp", ())}
    assert read_cloud_event(ENVELOPE | {"type": "a.Temp"}, types).type == "a.Temp"
    assert read_cloud_event(ENVELOPE | {"type": "b.Temp"}, types).type == "Temp"


def test_data_may_hold_attributes_of_any_name() -> None:
    """In `data` even `id` and `type` are attributes."""
    event = read_cloud_event(ENVELOPE | {"data": {"id": 7, "type": "x"}}, TYPES)
    assert (event.id, event.attributes) == ("/sensors/7/17", {"id": 7, "type": "x"})


@pytest.mark.parametrize("change", [{"data": None}, {"data": None, "data_base64": None}, {"data": {}}])
def test_a_cloud_event_without_data_has_no_attributes(change: dict[str, Any]) -> None:
    """Null is as good as absent."""
    assert read_cloud_event(ENVELOPE | change).attributes == {}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"specversion": 1.0}, "needs `specversion`, a text that is not empty, found the float 1.0"),
        ({"specversion": None}, "needs `specversion`"),
        ({"type": None}, "needs `type`, a text that is not empty, found null"),
        ({"type": 5}, "needs `type`"),
        ({"source": ""}, "needs `source`"),
        ({"id": 17}, "needs `id`, a text that is not empty, found the int 17"),
        ({"id": "\ud800"}, "half a surrogate pair"),
        ({"time": None}, "needs `time`, the timestamp of the event"),
        ({"time": "today"}, "such as `2013-01-01T09:00:00Z`"),
        ({"data": "text"}, "must be a JSON object of attributes, found the string"),
        ({"data": [1]}, "must be a JSON object of attributes, found an array"),
        ({"data_base64": "AAAA"}, "`data_base64` can't be read: send `data` as a JSON object"),
    ],
)
def test_a_cloud_event_that_is_none_is_refused(change: dict[str, Any], message: str) -> None:
    """The error names the key and what it needs."""
    with pytest.raises(EventError) as caught:
        parse_json_event(json.dumps(ENVELOPE | change))
    assert message in str(caught.value)


def test_no_key_of_the_data_may_stand_twice() -> None:
    """One of the two values would be lost."""
    text = json.dumps(ENVELOPE).replace('"area": "A1"', '"value": 1')
    with pytest.raises(EventError, match='the key "value" stands twice'):
        parse_json_event(text)


def test_a_cloud_event_is_left_as_it_was() -> None:
    """The caller's object is not changed, and a change of it does not reach the event."""
    data: dict[str, Any] = {"x": 1}
    event = read_cloud_event(ENVELOPE | {"data": data})
    data["x"] = 2
    assert event.attributes == {"x": 1}
