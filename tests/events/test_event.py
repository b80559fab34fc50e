from collections.abc import Hashable

import pytest

from tyrex.events import Event

TEMP = Event("Temp", 10_000_000, {"area": "A1", "value": 24.5})


def test_an_attribute_is_read_by_its_name() -> None:
    """An event is read like a mapping of its attributes."""
    assert TEMP["area"] == "A1"
    assert TEMP.get("value") == 24.5
    assert TEMP.get("humidity") is None
    assert TEMP.get("humidity", 3) == 3


def test_an_unknown_attribute_is_a_key_error() -> None:
    """Reading an attribute that the event doesn't have raises KeyError with its name."""
    with pytest.raises(KeyError, match="humidity"):
        TEMP["humidity"]


def test_the_timestamp_is_an_attribute_of_every_event() -> None:
    """`timestamp` can be read like an attribute, in microseconds."""
    assert TEMP["timestamp"] == TEMP.get("timestamp") == 10_000_000


def test_events_are_equal_if_all_fields_are() -> None:
    """Type, timestamp, attributes, id and rule all count in a comparison."""
    assert Event("Temp", 10_000_000, {"value": 24.5, "area": "A1"}) == TEMP
    assert Event("Temp", 10_000_000, {"area": "A1", "value": 24.5}, id="7") != TEMP
    assert Event("Temp", 10_000_000, {"area": "A1", "value": 24.5}, rule="R") != TEMP
    assert Event("Temp", 10_000_001, {"area": "A1", "value": 24.5}) != TEMP


def test_an_event_is_not_hashable() -> None:
    """An event can't be a key; its id can."""
    assert not isinstance(TEMP, Hashable)
    with pytest.raises(TypeError, match="unhashable type: 'Event'"):
        hash(TEMP)


def test_an_event_can_not_be_changed() -> None:
    """Assigning to a field of an event raises an error."""
    with pytest.raises(AttributeError):
        TEMP.type = "Smoke"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (TEMP, 'Temp@10(area="A1", value=24.5)'),
        (Event("A", -1_500_000), "A@-1.5()"),
        (Event("A", 1_357_030_800_000_000), 'A@"2013-01-01T09:00:00.000000Z"()'),
        (Event("A", 0, {"x": None, "y": True, "z": 1e20}), "A@0(x=null, y=true, z=1e+20)"),
        (Event("A", 0, {"x": 'a "b"\n'}), r'A@0(x="a \"b\"\n")'),
        (Event("A", 0, {"x": float("inf"), "y": float("nan")}), "A@0(x=Infinity, y=null)"),
        (Event("A", 0, {}, id="s-17"), "A@0#s-17()"),
        (Event("A", 0, {}, id="s 17"), 'A@0#"s 17"()'),
        (Event("A", 0, {}, id="0af3", rule="R"), "A@0()"),
        (Event("A", 10**30), f"A@{10**24}()"),
    ],
)
def test_an_event_is_shown_in_the_notation_of_the_papers(event: Event, text: str) -> None:
    """The text of an event is short, exact, and shows the id only if the source gave it."""
    assert str(event) == text
