import struct
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.events.strategies import events, texts, values

from tyrex.events import Event, EventError, Identities, composite_id, content_id, timer_id

TEMP = Event("Temp", 10_000_000, {"area": "A1", "value": 24.5})


def test_an_event_is_encoded_byte_by_byte_as_documented() -> None:
    """The bytes under the hash are those that the module's documentation describes."""
    event = Event("Tä", -1, {"s": "é", "i": -2, "f": 1.0, "t": True, "n": None, "u": False})
    encoded = (
        b"E\x03\x00\x00\x00T\xc3\xa4"
        b"\xff\xff\xff\xff\xff\xff\xff\xff"
        b"\x06\x00\x00\x00"
        b"\x05\x02\x00\x00\x00\xc3\xa9"
        b"\x03\xfe\xff\xff\xff\xff\xff\xff\xff"
        b"\x04\x00\x00\x00\x00\x00\x00\xf0\x3f"
        b"\x02\x00\x01"
        b"\x07\x00\x00\x00\x00\x00\x00\x00"
    )
    assert content_id(event, 7) == blake2b(encoded, digest_size=16).hexdigest()


@pytest.mark.parametrize(
    ("event", "occurrence", "id_"),
    [
        (Event("A", 0), 0, "dc5560d66214494df4b5ab83f5e3156f"),
        (TEMP, 0, "51c90e10a55e26fd9bf40ef84c7a851d"),
        (TEMP, 1, "b464ee04df9a5e28b08e7f4b06cecfd1"),
        (
            Event("Tä", -1, {"s": "é", "i": -2, "f": 1.0, "t": True, "n": None, "u": False}),
            7,
            "d987e87d8d7be828a50c8fca64e9dcf0",
        ),
    ],
)
def test_the_id_of_an_event_never_changes(event: Event, occurrence: int, id_: str) -> None:
    """These ids hold in every runtime, on every machine, in every version."""
    assert content_id(event, occurrence) == id_


def test_the_id_of_a_composite_event_never_changes() -> None:
    """A composite's id is made of its rule's name and of the ids of its events, in order."""
    encoded = b"C\x04\x00\x00\x00Fire\x02\x00\x00\x00\x01\x00\x00\x00a\x02\x00\x00\x00bc"
    assert composite_id("Fire", ["a", "bc"]) == blake2b(encoded, digest_size=16).hexdigest()
    assert composite_id("Fire", ["a", "bc"]) == "e7c7f71fb3887b180feab4acdf77b820"
    assert composite_id("Fire", []) == "0ab93acc8004d83c5d6e175d486563a8"


def test_the_id_of_a_timer_never_changes() -> None:
    """A timer's id is made of its instant."""
    assert timer_id(10_000_000) == blake2b(b"T" + struct.pack("<q", 10_000_000), digest_size=16).hexdigest()
    assert timer_id(10_000_000) == "9f42ab73a413cb648a6f16d2b1171ca5"


def test_a_composite_depends_on_the_order_and_the_borders_of_its_ids() -> None:
    """Ids that are the same letters in another order, or cut elsewhere, make another composite."""
    ids = [["a", "bc"], ["ab", "c"], ["bc", "a"], ["abc"], ["a", "b", "c"]]
    assert len({composite_id("R", one) for one in ids}) == len(ids)


def test_zero_has_one_id() -> None:
    """-0.0 and 0.0 are equal, so they are the same content."""
    assert content_id(Event("A", 0, {"x": -0.0})) == content_id(Event("A", 0, {"x": 0.0}))


def test_values_of_different_types_have_different_ids() -> None:
    """Python takes 1, 1.0 and true for equal; as content they are not."""
    alike: list[str | int | float | bool | None] = [1, 1.0, True, "1", None, 0, 0.0, False, ""]
    assert len({content_id(Event("A", 0, {"x": value})) for value in alike}) == len(alike)


@given(events, events)
def test_different_content_has_different_ids(one: Event, other: Event) -> None:
    """The encoding is injective, and the names of the attributes are no part of it: the type implies them."""
    same = (one.type, one.timestamp, list(map(repr, one.attributes.values()))) == (
        other.type,
        other.timestamp,
        list(map(repr, other.attributes.values())),
    )
    if not same and not any(value == 0 for value in one.attributes.values()):
        assert content_id(one) != content_id(other)


@given(st.lists(values, max_size=3), st.integers(0, 2**64 - 1))
def test_an_id_is_32_hexadecimal_digits(
    attributes: list[str | int | float | bool | None], occurrence: int
) -> None:
    """Every id has 128 bits."""
    id_ = content_id(Event("A", 0, dict(zip("abc", attributes, strict=False))), occurrence)
    assert len(id_) == 32
    assert int(id_, 16) >= 0


def test_equal_events_are_told_apart_by_a_counter() -> None:
    """The first of equal events has occurrence 0, the next 1, and others are not affected."""
    identities = Identities()
    other = Event("Temp", 10_000_000, {"area": "A2", "value": 24.5})
    assert [identities(TEMP), identities(other), identities(TEMP), identities(TEMP)] == [
        content_id(TEMP, 0),
        content_id(other, 0),
        content_id(TEMP, 1),
        content_id(TEMP, 2),
    ]


def test_an_id_given_by_the_source_is_kept() -> None:
    """An event with an id keeps it, and counts for no one else."""
    identities = Identities()
    assert identities(Event("Temp", 10_000_000, TEMP.attributes, id="s/17")) == "s/17"
    assert identities(TEMP) == content_id(TEMP, 0)


def test_counts_of_the_past_can_be_forgotten() -> None:
    """After `forget`, equal events of before are counted anew; those at or after that time are not."""
    identities = Identities()
    later = Event("Temp", 20_000_000, TEMP.attributes)
    identities(TEMP)
    identities(later)
    identities.forget(before=20_000_000)
    assert identities(TEMP) == content_id(TEMP, 0)
    assert identities(later) == content_id(later, 1)


@pytest.mark.parametrize("value", ["\ud800", 2**63, []])
def test_only_a_conformed_event_has_an_id(value: str) -> None:
    """What can't be encoded is refused with an EventError."""
    with pytest.raises(EventError, match=r"Unicode|only conformed events have an id"):
        content_id(Event("A", 0, {"x": value}))


@pytest.mark.parametrize("timestamp", [2**63, -(2**63) - 1, "10", 1.5, None])
def test_only_a_conformed_timestamp_has_an_id(timestamp: int) -> None:
    """A timestamp that is no int of 64 bits is refused with an EventError."""
    with pytest.raises(EventError, match="only conformed events have an id"):
        content_id(Event("A", timestamp))
    with pytest.raises(EventError, match="only conformed events have an id"):
        timer_id(timestamp)


@given(texts, st.lists(texts))
def test_any_text_can_be_a_rule_or_an_id(rule: str, ids: list[str]) -> None:
    """Names and ids of any letters make a composite's id, and another rule makes another one."""
    assert len(composite_id(rule, ids)) == 32
    assert composite_id(rule, ids) != composite_id(rule + "'", ids)
    assert composite_id(rule, ids) != composite_id(rule, [*ids, ""])


def test_a_nan_is_a_null() -> None:
    """A NaN is read as null, so it is the same content."""
    assert content_id(Event("A", 0, {"x": float("nan")})) == content_id(Event("A", 0, {"x": None}))
