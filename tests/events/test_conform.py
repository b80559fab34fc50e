from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.events.strategies import ints, numbers, texts

from tyrex.events import Conformer, Event, EventError, conform
from tyrex.tesla.types import AttributeType, EventType, ValueType

SAMPLE = EventType(
    "Sample",
    (
        AttributeType("s", ValueType.STRING),
        AttributeType("i", ValueType.INT),
        AttributeType("f", ValueType.FLOAT),
        AttributeType("b", ValueType.BOOL),
    ),
)


def conformed(name: str, value: object) -> object:
    """The value that an attribute has after conforming, which must be of exactly the declared Python type."""
    found = conform(Event("Sample", 0, {name: value}), SAMPLE)[name]  # type: ignore[dict-item]
    assert found is None or type(found) is {"s": str, "i": int, "f": float, "b": bool}[name]
    return found


def test_attributes_come_in_declared_order_with_null_for_what_is_missing() -> None:
    """A conformed event has exactly the declared attributes; what isn't declared is left out."""
    event = conform(Event("Sample", 5, {"f": 1.5, "other": 7, "s": "x"}, "id", "rule"), SAMPLE)
    assert list(event.attributes.items()) == [("s", "x"), ("i", None), ("f", 1.5), ("b", None)]
    assert (event.type, event.timestamp, event.id, event.rule) == ("Sample", 5, "id", "rule")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("f", 24, 24.0),
        ("f", 2**53 + 1, float(2**53)),
        ("f", 10**20, 1e20),
        ("f", float("nan"), None),
        ("f", float("inf"), float("inf")),
        ("f", "Infinity", float("inf")),
        ("f", "-Infinity", float("-inf")),
        ("f", "NaN", None),
        ("f", Fraction(1, 4), 0.25),
        ("i", 3.0, 3),
        ("i", -0.0, 0),
        ("i", float(-(2**63)), -(2**63)),
        ("i", float("nan"), None),
        ("i", Fraction(6, 2), 3),
        ("i", 2**63 - 1, 2**63 - 1),
        ("b", False, False),
        ("s", "ä", "ä"),
        ("s", "", ""),
    ],
)
def test_a_value_takes_its_declared_type_where_nothing_is_lost(
    name: str, value: object, expected: object
) -> None:
    """Ints widen to the nearest float, whole floats narrow to ints, and a NaN is null."""
    assert conformed(name, value) == expected


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("s", 5, "Sample.s: expected string, found the int 5; send it as text, in quotes"),
        ("s", "\ud800", "well-formed Unicode"),
        ("i", "5", 'Sample.i: expected int, found the string "5"; send a whole number, without quotes'),
        (
            "i",
            3.5,
            "Sample.i: expected int, found the float 3.5; send a whole number, or declare .* as float",
        ),
        ("i", float("inf"), "found the float Infinity; send a finite number"),
        ("i", True, "found the bool true"),
        ("i", 2**63, "an int has 64 bits"),
        ("i", float(2**63), "an int has 64 bits"),
        pytest.param("i", 10**5000, "an integer of 16610 bits", id="i-5000 digits"),
        ("f", "24.5", "Sample.f: expected float, found the string"),
        ("f", True, "found the bool true"),
        pytest.param("f", 10**400, "too large for a float", id="f-400 digits"),
        ("f", [1.0], "found an array"),
        ("f", {}, "found an object"),
        ("b", 1, "Sample.b: expected bool, found the int 1; send true or false"),
        ("b", "true", "found the string"),
        ("b", object(), "found object"),
        ("s", ["x"], "found an array"),
        pytest.param("i", "x" * 1000, "found the string .{60};", id="i-1000 letters"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(name: str, value: object, message: str) -> None:
    """The error names event type, attribute, expected type, found value and what to do."""
    with pytest.raises(EventError, match=message):
        conformed(name, value)


def test_an_event_of_an_unknown_type_is_none() -> None:
    """A type that nobody declared is no error: the conformer returns None, and the caller counts it."""
    assert Conformer({"Sample": SAMPLE})(Event("Other", 0)) is None


def test_a_single_event_must_be_of_the_type_it_is_conformed_to() -> None:
    """`conform` with the wrong type says so."""
    with pytest.raises(EventError, match="type Sample, found one of type Other"):
        conform(Event("Other", 0), SAMPLE)


@pytest.mark.parametrize("timestamp", [1.5, True, "10", None, 10**30])
def test_a_timestamp_must_be_microseconds(timestamp: object) -> None:
    """An event made with anything but an int of microseconds as timestamp is refused."""
    with pytest.raises(EventError, match="timestamp"):
        conform(Event("Sample", timestamp), SAMPLE)  # type: ignore[arg-type]


@given(st.fixed_dictionaries({}, optional={"s": texts, "i": ints, "f": numbers | ints, "b": st.booleans()}))
def test_conforming_twice_changes_nothing(attributes: dict[str, str | int | float | bool]) -> None:
    """A conformed event is its own conformed form."""
    once = conform(Event("Sample", 0, attributes), SAMPLE)
    assert conform(once, SAMPLE) == once


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.decimals() | st.binary(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from("sifbx"), ANYTHING))
def test_any_value_conforms_or_is_an_event_error(attributes: dict[str, str]) -> None:
    """Conforming raises nothing but EventError."""
    with suppress(EventError):
        conform(Event("Sample", 0, attributes), SAMPLE)
