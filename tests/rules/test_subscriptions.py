"""Subscriptions: filters of one event, checked against the types of a rule set."""

from __future__ import annotations

import pytest

import tyrex
from tyrex import TeslaError
from tyrex.tesla import CheckedSubscription, check_subscription
from tyrex.tesla.expressions import Attribute, Compare, Literal

RULES = tyrex.parse(
    """
    event Temp(Room: string, Value: float)
    define Hot(area: string, value: int) from Temp(Value > 45) where area = Temp.Room, value = 1
    """
)


def compared(name: str, operator: str, value: object) -> Compare:
    return Compare(operator, Attribute(0, name), Literal(value))  # type: ignore[arg-type]


def test_the_papers_form_is_read() -> None:
    """A type, and a condition on its attributes."""
    assert RULES.subscription('Subscribe(Temp, Room = "Room1" and Value > 20)') == CheckedSubscription(
        "Temp", (compared("Room", "=", "Room1"), compared("Value", ">", 20))
    )


def test_the_form_of_patterns_is_read() -> None:
    """As an event in a rule; a comma is an `and`."""
    assert RULES.subscription('Hot(area="A1", value>=12)') == CheckedSubscription(
        "Hot", (compared("area", "=", "A1"), compared("value", ">=", 12))
    )


@pytest.mark.parametrize("text", ["Hot", "Hot()", "Subscribe(Hot)", " subscribe ( Hot ) -- all of them"])
def test_a_type_alone_is_every_event_of_it(text: str) -> None:
    """There are no conditions."""
    assert RULES.subscription(text) == CheckedSubscription("Hot", ())


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ('Hot("A1", 3)', 'Hot(area = "A1", value = 3)'),
        ("Hot(Hot.value > 3)", "Hot(value > 3)"),
        ("Subscribe(Hot, value > 3, value < 5)", "Hot(value > 3 and value < 5)"),
        ("Hot(3 < value < 5)", "Hot(3 < value and value < 5)"),
    ],
)
def test_two_texts_can_say_the_same(text: str, same: str) -> None:
    """Positions, the type as a name, commas and chains are ways of writing."""
    assert RULES.subscription(text) == RULES.subscription(same)


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("Temperature", "TSL010", "Temperature"),
        ("Subscribe(Tmp, Value > 3)", "TSL010", "Tmp"),
        ("Temp(value > 3)", "TSL013", "value"),
        ('Subscribe(Temp, Room = "a" and valu > 3)', "TSL013", "valu"),
        ("Hot('a', 1, 2)", "TSL024", "2"),
        ("Hot(value > $x)", "TSL031", "$x"),
        ("Hot(Temp.Value > 3)", "TSL019", "Temp"),
        ("Hot(value > 'x')", "TSL040", "value > 'x'"),
        ("Hot(area + 1 = 2)", "TSL041", "area"),
        ("Temp(Value + 1 and true)", "TSL042", "Value + 1"),
        ("Hot(value = 9223372036854775808)", "TSL004", "9223372036854775808"),
        ("Hot(", "TSL003", "("),
        ("Hot() and Temp()", "TSL001", "and"),
        ("define A() from Hot()", "TSL001", "define"),
        ("Hot(value ? 3)", "TSL002", "?"),
    ],
)
def test_a_wrong_subscription_is_reported_at_its_place(text: str, code: str, place: str) -> None:
    """With the code that the same mistake has in a rule, and a suggestion."""
    with pytest.raises(TeslaError) as caught:
        RULES.subscription(text)
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert text[found.span.start : found.span.end] == place
    assert found.suggestion
    assert "--> <subscription>:1:" in str(caught.value)


def test_every_mistake_of_a_subscription_is_reported() -> None:
    """In the order of the text."""
    with pytest.raises(TeslaError) as caught:
        RULES.subscription("Hot(valu > 1, value > $x, aera = 3)")
    assert [found.code for found in caught.value.diagnostics] == ["TSL013", "TSL031", "TSL013"]


def test_a_suggestion_names_what_was_probably_meant() -> None:
    """A type or an attribute of nearly the same name."""
    with pytest.raises(TeslaError, match=r"did you mean `Temp`\?"):
        RULES.subscription("Tmep")
    with pytest.raises(TeslaError, match=r"did you mean `Value`\?"):
        RULES.subscription("Temp(value > 3)")


def test_an_empty_subscription_is_an_error() -> None:
    """There is nothing that it could be about."""
    with pytest.raises(TeslaError, match="TSL003"):
        RULES.subscription("")


def test_a_subscription_is_checked_against_the_types_it_is_given() -> None:
    """The function behind the method."""
    with pytest.raises(TeslaError, match="TSL010"):
        check_subscription("Hot", {})
    assert check_subscription("Hot", RULES.types).type == "Hot"
