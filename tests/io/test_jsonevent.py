import json
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.io.support import TEMP_LINE, TEMP_SHOWN, TYPES

from tyrex.events import Event, EventError
from tyrex.io import json_record, parse_json_event, read_json_event, write_json_event
from tyrex.io.form import Form


def test_an_event_is_an_object_of_type_timestamp_and_attributes() -> None:
    """Every key beside `type` and `timestamp` is an attribute."""
    assert parse_json_event(TEMP_LINE) == Event("Temp", 10_000_000, {"area": "A1", "value": 24.5})


def test_white_space_around_the_object_does_not_count() -> None:
    """A line may be indented, and end with a line break of either kind."""
    assert parse_json_event(f" \t{TEMP_LINE} \r\n") == parse_json_event(TEMP_LINE)


@pytest.mark.parametrize(
    ("timestamp", "microseconds"),
    [
        ("10", 10_000_000),
        ("-10", -10_000_000),
        ("0.1", 100_000),
        ("1700000000.123456", 1_700_000_000_123_456),
        ("1e3", 1_000_000_000),
        ('"1970-01-01T00:00:10Z"', 10_000_000),
        ('"1970-01-01T01:00:10.5+01:00"', 10_500_000),
        ('"1970-01-02"', 86_400_000_000),
    ],
)
def test_a_timestamp_is_seconds_or_iso_8601(timestamp: str, microseconds: int) -> None:
    """A number is seconds since the epoch, a text a date and time, in UTC if it has no offset."""
    assert parse_json_event(f'{{"type": "A", "timestamp": {timestamp}}}').timestamp == microseconds


def test_json_values_keep_their_kind() -> None:
    """An int stays an int, a float a float; NaN is null, and Infinity a float, where they are sent."""
    text = '{"type": "A", "timestamp": 0, "i": 1, "f": 1.0, "t": true, "n": null, "x": NaN, "y": -Infinity}'
    found = parse_json_event(text).attributes
    assert repr(found) == "{'i': 1, 'f': 1.0, 't': True, 'n': None, 'x': None, 'y': -inf}"


@pytest.mark.parametrize(("id_", "expected"), [('"s-17"', "s-17"), ("17", "17"), ("null", None), ('""', "")])
def test_an_id_is_a_text_or_a_whole_number(id_: str, expected: str | None) -> None:
    """The id that a source gives is kept as text, and is no attribute."""
    event = parse_json_event(f'{{"type": "A", "timestamp": 0, "id": {id_}}}')
    assert event.id == expected
    assert event.attributes == {}


def test_rule_and_lineage_of_a_composite_event_are_no_attributes() -> None:
    """What `tyrex run` writes can be read as events: the rule is kept, the lineage is left out."""
    event = parse_json_event(
        '{"type": "Fire", "timestamp": 0, "area": "A1", "id": "0af3", "rule": "R", "lineage": ["a", "b"]}'
    )
    assert event == Event("Fire", 0, {"area": "A1"}, "0af3", "R")


def test_a_declared_attribute_may_be_called_id_rule_or_lineage() -> None:
    """If the type declares an attribute of that name, the key is that attribute."""
    text = '{"type": "Order", "timestamp": 0, "id": 7, "rule": "x", "lineage": ["y"]}'
    event = parse_json_event(text, TYPES)
    assert event.attributes == {"id": 7, "rule": "x", "lineage": ["y"]}
    assert (event.id, event.rule) == (None, None)


def test_attributes_may_stand_in_an_object_of_their_own() -> None:
    """In `attributes` any name is an attribute, and the keys beside it are those of the event."""
    text = '{"type": "A", "timestamp": 1, "id": "s", "attributes": {"type": "x", "timestamp": 2, "id": 3}}'
    assert parse_json_event(text) == Event("A", 1_000_000, {"type": "x", "timestamp": 2, "id": 3}, "s")


def test_beside_attributes_an_id_is_the_id_even_if_the_type_declares_one() -> None:
    """An object of attributes settles what an attribute is, also for those that it leaves out."""
    text = '{"type": "Order", "timestamp": 0, "id": "shop/1", "rule": "R", "attributes": {"lineage": "x"}}'
    assert parse_json_event(text, TYPES) == Event("Order", 0, {"lineage": "x"}, "shop/1", "R")


def test_other_keys_beside_attributes_are_attributes_too() -> None:
    """Nothing that was sent is dropped."""
    text = '{"type": "A", "timestamp": 0, "x": 1, "attributes": {"y": 2}}'
    assert parse_json_event(text).attributes == {"x": 1, "y": 2}


def test_a_plain_attribute_may_be_called_attributes() -> None:
    """Only an object is taken for the object of attributes."""
    assert parse_json_event('{"type": "A", "timestamp": 0, "attributes": "x"}')["attributes"] == "x"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON: expecting value at column 1; write each event as one object on one line, as `{"),
        ("hello", "not JSON: expecting value at column 1"),
        ('  {"type": oops}', "not JSON: expecting value at column 12"),
        ('{"type": "A', "not JSON: unterminated string starting at column 10"),
        ('{"type": "A"', "at column 13"),
        ('{"type": "A\x01"}', "not JSON: invalid control character at column 12"),
        (
            '{"type": "A", "timestamp": 1} {"type": "B", "timestamp": 2}',
            "more text after the event, at column 31: write each event on a line of its own",
        ),
        ("[1]", "an event must be a JSON object, as `{"),
        ("[1]", "found an array"),
        ("5", "found the int 5"),
        ('"A"', 'found the string "A"'),
        ("null", "found null"),
        ("{}", "an event needs `type`, a text, as in `{"),
        ('{"type": 5, "timestamp": 0}', "an event needs `type`, a text"),
        ('{"type": "", "timestamp": 0}', "an event needs `type`, a text"),
        ('{"type": "A"}', "an event needs `timestamp`, in seconds or as a date, as in `{"),
        ('{"type": "A", "timestamp": null}', "an event needs `timestamp`"),
        ('{"type": "A", "timestamp": true}', "found the bool true"),
        ('{"type": "A", "timestamp": "10"}', "such as `2013-01-01T09:00:00Z`, found the string"),
        ('{"type": "A", "timestamp": {}}', "found an object"),
        ('{"type": "A", "timestamp": Infinity}', "a finite number of seconds"),
        ('{"type": "A", "timestamp": 1700000000000}', "divide milliseconds by 1000"),
        ('{"type": "A", "timestamp": 0, "id": 1.5}', "`id` of an event must be a text or a whole number"),
        ('{"type": "A", "timestamp": 0, "id": true}', "found the bool true"),
        ('{"type": "A", "timestamp": 0, "rule": 5}', "`rule` of an event must be a text, found the int 5"),
        (
            '{"type": "Temp", "timestamp": 0, "value": 1, "value": 2}',
            'the key "value" stands twice: send each key once',
        ),
        ('{"type": "Temp", "timestamp": 0, "timestamp": 1}', 'the key "timestamp" stands twice'),
        ('{"type": "A", "timestamp": 0, "attributes": {"x": 1, "x": 2}}', 'the key "x" stands twice'),
        (
            '{"type": "A", "timestamp": 0, "x": 1, "attributes": {"x": 2}}',
            'the key "x" stands in `attributes` and beside it: send it once',
        ),
        (r'{"type": "A", "timestamp": 0, "x": "\ud800"}', "half a surrogate pair"),
        (r'{"type": "A", "timestamp": 0, "\udc00": 1}', "half a surrogate pair"),
        ('{"type": "A", "timestamp": 0, "x": "\ud800"}', "half a surrogate pair"),
        pytest.param(
            f'{{"type": "A", "timestamp": 0, "x": {"[" * 100_000}', "nested too deeply", id="deep array"
        ),
        pytest.param('{"x":' * 100_000, "nested too deeply", id="deep object"),
        pytest.param(
            f'{{"type": "A", "timestamp": 0, "x": {"9" * 5000}}}', "thousands of digits: send it", id="digits"
        ),
    ],
)
def test_what_is_no_event_is_an_error_that_says_what_to_do(text: str, message: str) -> None:
    """The error says what is wrong, where in the line, and how it is right."""
    with pytest.raises(EventError) as caught:
        parse_json_event(text, TYPES)
    assert message in str(caught.value)


def test_a_key_that_means_nothing_may_stand_twice() -> None:
    """An attribute that the type does not declare is left out, however often; without types any key counts."""
    text = '{"type": "Temp", "timestamp": 0, "value": 1, "x": 1, "x": 2}'
    assert parse_json_event(text, TYPES)["value"] == 1
    with pytest.raises(EventError, match='the key "x" stands twice'):
        parse_json_event(text)


def test_the_type_and_the_time_may_stand_elsewhere() -> None:
    """A form gives the type of all events, and names the key of their time; a declared one stays an attribute."""
    form = Form("Order", "id")
    event = parse_json_event('{"id": 5, "rule": "x", "type": "left out", "timestamp": "too"}', TYPES, form)
    assert (event.type, event.timestamp, event["id"], event["rule"]) == ("Order", 5_000_000, 5, "x")
    with pytest.raises(EventError, match="an event needs `at`, in seconds"):
        parse_json_event('{"timestamp": 5}', TYPES, Form("Order", "at"))


def test_a_whole_surrogate_pair_is_a_letter() -> None:
    """JSON may escape letters beyond the first 65,536 as two halves."""
    assert parse_json_event(r'{"type": "A", "timestamp": 0, "x": "\ud83d\ude00"}')["x"] == "😀"


@pytest.mark.parametrize(
    "obj",
    [
        {"type": "\ud800", "timestamp": 0},
        {"type": "A", "timestamp": 0, "id": "\ud800"},
        {"type": "A", "timestamp": 0, "rule": "\ud800"},
        {"type": "A", "timestamp": 0, "id": 10**5000},
    ],
    ids=["type", "id", "rule", "long id"],
)
def test_an_object_made_in_python_is_held_to_the_same_rules(obj: dict[str, Any]) -> None:
    """What could not be written again is refused, though it came from no text."""
    with pytest.raises(EventError, match=r"surrogate pair|thousands of digits"):
        read_json_event(obj)


def test_reading_an_object_leaves_it_as_it_was() -> None:
    """The caller's object is not changed, and a change of it does not reach the event."""
    obj: dict[str, Any] = {"type": "A", "timestamp": datetime(1970, 1, 1, tzinfo=UTC), "id": "s", "x": 1}
    before = dict(obj)
    event = read_json_event(obj)
    assert obj == before
    obj["x"] = 2
    assert event == Event("A", 0, {"x": 1}, "s")


def test_an_event_is_written_in_the_form_in_which_it_is_read() -> None:
    """Type, timestamp in UTC with microseconds, attributes in order, then id and rule."""
    event = Event(
        "Fire", 1_357_030_800_250_000, {"area": "A1", "hot": True, "x": None, "é": 1e20}, "0af3", "R"
    )
    assert write_json_event(event) == (
        '{"type": "Fire", "timestamp": "2013-01-01T09:00:00.250000Z", "area": "A1", "hot": true, '
        '"x": null, "é": 1e+20, "id": "0af3", "rule": "R"}'
    )


def test_an_event_is_written_on_one_line() -> None:
    """Line breaks in a text are escaped."""
    assert "\n" not in write_json_event(Event("A", 0, {"x": "a\nb\r\n"}))


@pytest.mark.parametrize("name", ["type", "timestamp", "id", "rule", "lineage", "specversion"])
def test_attributes_that_are_called_like_a_key_are_written_apart(name: str) -> None:
    """Such an event is written with its attributes in an object of their own."""
    event = Event("A", 0, {"x": 1, name: "y"}, "s", "R")
    record = json.loads(write_json_event(event))
    assert record == {
        "type": "A",
        "timestamp": "1970-01-01T00:00:00.000000Z",
        "attributes": {"x": 1, name: "y"},
        "id": "s",
        "rule": "R",
    }
    assert read_json_event(record) == event


def test_numbers_that_json_lacks_are_written_as_text_or_null() -> None:
    """What is written is strict JSON, without NaN and Infinity."""
    text = write_json_event(Event("A", 0, {"x": float("inf"), "y": float("-inf"), "z": float("nan")}))
    record = json.loads(text, parse_constant=lambda constant: pytest.fail(f"{constant} is not JSON"))
    assert (record["x"], record["y"], record["z"]) == ("Infinity", "-Infinity", None)


def test_lineage_is_written_as_ids_or_in_full() -> None:
    """A composite event may be written with what it was made of."""
    smoke = Event("Smoke", 0, {"area": "A1"}, "s")
    record = json_record(Event("Fire", 0, {}, "f", "R"), lineage=["t", smoke])
    assert record["lineage"] == ["t", json_record(smoke)]
    assert "lineage" not in json_record(Event("Fire", 0, {}, "f", "R"))


def test_an_event_outside_the_calendar_can_not_be_written() -> None:
    """There is no date to write, and the error says so."""
    with pytest.raises(EventError, match="outside the years 1 to 9999"):
        write_json_event(Event("A", 10**30))


def test_the_example_of_the_errors_is_an_event() -> None:
    """Who follows the advice of an error has an event."""
    with pytest.raises(EventError) as caught:
        parse_json_event("{}")
    assert parse_json_event(str(caught.value).split("`")[-2]).type == "Temp"


def test_an_event_shows_itself_as_the_papers_do() -> None:
    """Reading gives an ordinary event."""
    assert str(parse_json_event(TEMP_LINE)) == TEMP_SHOWN
