from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.events.strategies import numbers

from tyrex.events.literals import describe, format_value, is_well_formed, quote


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("", '""'),
        ("A1", '"A1"'),
        ('5" pipe', r'"5\" pipe"'),
        ("it's", '"it\'s"'),
        ("a\\b", r'"a\\b"'),
        ("a\nb\tc\rd", r'"a\nb\tc\rd"'),
        ("\0\x1b\x7f", r'"\u0000\u001b\u007f"'),
        ("\ud800", r'"\ud800"'),
        ("é→😀", '"é→😀"'),
    ],
    ids=ascii,
)
def test_a_text_is_quoted_so_that_it_can_be_printed(text: str, literal: str) -> None:
    """Quotes, backslashes and what can't be seen are escaped; other letters stay as they are."""
    assert quote(text) == literal


@given(st.text())
def test_a_quoted_text_can_always_be_encoded(text: str) -> None:
    """Whatever a text holds, its literal is well-formed Unicode."""
    assert is_well_formed(quote(text))


@given(st.text())
def test_a_text_is_well_formed_if_it_holds_no_half_of_a_surrogate_pair(text: str) -> None:
    """Surrogates are the one thing that a Python text can hold and UTF-8 can't."""
    assert is_well_formed(text) == (not any("\ud800" <= letter <= "\udfff" for letter in text))


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (7, "7"),
        (-(2**63), "-9223372036854775808"),
        (2**200, "<an integer of 201 bits>"),
        (24.5, "24.5"),
        (24.0, "24.0"),
        (1e300, "1e+300"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "null"),
        ("A1", '"A1"'),
        ({"x": 1}, "<an object>"),
        ([1], "<an array>"),
        ((1,), "<an array>"),
        (datetime(2013, 1, 1, tzinfo=UTC), "<datetime>"),
    ],
)
def test_a_value_is_shown_as_tesla_writes_it(value: object, literal: str) -> None:
    """Values are shown as literals; what is no value of an event is named by its kind."""
    assert format_value(value) == literal


@given(numbers.filter(lambda number: abs(number) != float("inf")))
def test_a_float_is_shown_exactly(number: float) -> None:
    """The digits of a float stand for that float and no other, and show that it is one."""
    literal = format_value(number)
    assert float(literal) == number
    assert "." in literal or "e" in literal


@pytest.mark.parametrize(
    ("value", "description"),
    [
        (None, "null"),
        (True, "the bool true"),
        (5, "the int 5"),
        (5.0, "the float 5.0"),
        ("5", 'the string "5"'),
        ([5], "an array"),
        ({}, "an object"),
        (b"5", "bytes"),
    ],
)
def test_an_error_names_the_kind_of_a_value_before_the_value(value: object, description: str) -> None:
    """5, 5.0 and "5" are told apart."""
    assert describe(value) == description


def test_a_long_value_is_cut_in_an_error() -> None:
    """An error shows the beginning of a long text, not all of it."""
    assert describe("x" * 1000) == f'the string "{"x" * 58}…'
