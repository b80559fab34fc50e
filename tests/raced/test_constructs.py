"""The five constructs of the RACED paper's section 3, run through the reference semantics."""

from __future__ import annotations

import pytest

from tyrex import RuleSet
from tyrex.events import parse_events
from tyrex.reference import run
from tyrex.rules import parse
from tyrex.testing import history

TYPES = """
Advertise(Temp[Value: int, Location: string])
Advertise(Alert[Type: string, Location: string])
Advertise(Weather[State: string, Location: string])
"""


def raced(text: str) -> RuleSet:
    return parse(text, "rules.raced")


def detected(pattern: str, events: str, attributes: str = "") -> list[str]:
    """The composite events of one definition over a history."""
    rules = raced(f"{TYPES} DefineEvent(Found{attributes}, {pattern})")
    return [str(event) for event in run(rules.checked, parse_events(events, rules.types)).composites]


# i. Message filters


@pytest.mark.parametrize(
    ("message", "fits"),
    [
        ('Temp@1(Value=20, Location="office 1")', True),
        ('Temp@1(Value=10, Location="office 1")', False),
        ('Temp@1(Value=20, Location="office 2")', False),
        ("Temp@1(Value=20)", False),
        ('Weather@1(State="rain", Location="office 1")', False),
    ],
)
def test_a_filter_matches_the_messages_of_its_type_that_fulfil_every_constraint(
    message: str, fits: bool
) -> None:
    """Example 2 matches the message of example 1, and no other type, value, place, or missing attribute."""
    assert detected('Temp[Value>10 AND Location="office 1"]', message) == ["Found@1()"] * fits


def test_a_filter_without_constraints_matches_every_message_of_its_type() -> None:
    """Empty brackets may be left out."""
    events = "Temp@1(Value=1) Temp@2()"
    assert detected("Temp[]", events) == detected("Temp", events) == ["Found@1()", "Found@2()"]


@pytest.mark.parametrize(
    ("constraint", "values"),
    [
        ("Value = 2", [2]),
        ("Value == 2", [2]),
        ("Value != 2", [1, 3]),
        ("Value <> 2", [1, 3]),
        ("Value ≠ 2", [1, 3]),
        ("Value < 2", [1]),
        ("Value <= 2", [1, 2]),
        ("Value ≤ 2", [1, 2]),
        ("Value > 2", [3]),
        ("Value >= 2", [2, 3]),
        ("Value ≥ 2", [2, 3]),
        ("1 < Value < 3", [2]),
        ("2 > Value", [1]),
        ("Value > 1, Value < 3", [2]),
        ("Value > -1", [1, 2, 3]),
        ("Value > 1.5", [2, 3]),
    ],
)
def test_a_constraint_compares_as_its_operator_says(constraint: str, values: list[int]) -> None:
    """Every operator in every spelling, chains, a comma for AND, negative and fractional numbers."""
    found = detected(f"Temp[{constraint} AND Value = $V]", "Temp@1(Value=1) Temp@2(Value=2) Temp@3(Value=3)")
    assert found == [f"Found@{value}()" for value in values]


# ii. Composition operators


@pytest.mark.parametrize(
    "events",
    ['Temp@1(Value=35) Alert@2(Type="smoke")', 'Alert@1(Type="smoke") Temp@2(Value=35)'],
)
def test_a_conjunction_is_complete_in_any_order_with_its_last_message(events: str) -> None:
    """Example 3 without its negation: whichever message comes last is the moment of the event."""
    assert detected('Temp[Value>30] AND Alert[Type="smoke"]', events) == ["Found@2()"]


def test_one_message_is_not_enough_for_a_conjunction() -> None:
    """Each filter needs a message, and a message that fits two filters serves only one of them."""
    assert detected("Temp AND Alert", "Temp@1() Temp@2()") == []
    assert detected("Temp[Value > 1] AND Temp[Value > 2]", "Temp@1(Value=3)") == []


def test_every_combination_of_messages_is_an_event() -> None:
    """A message makes an event with each earlier one that fits, as in figure 4 of the paper."""
    assert detected("Temp AND Alert", "Alert@1() Alert@2() Temp@3() Alert@4()") == [
        "Found@3()",
        "Found@3()",
        "Found@4()",
    ]


@pytest.mark.parametrize(
    ("rain", "found"),
    [
        ('Weather@1(State="rain")', []),
        ('Weather@3(State="rain")', []),
        ('Weather@1(State="sun")', ["Found@4()"]),
        ('Weather@5(State="rain")', ["Found@4()"]),
    ],
)
def test_a_negated_filter_forbids_its_messages_in_the_window_before_the_last_message(
    rain: str, found: list[str]
) -> None:
    """Example 3: rain before or between the others prevents the event; sunshine, or rain after it, does not."""
    pattern = 'Temp[Value>30] AND Alert[Type="smoke"] AND NOT Weather[State="rain"]'
    assert detected(pattern, f'Temp@2(Value=35) Alert@4(Type="smoke") {rain}') == found


# iii. Parameters

EXAMPLE_4 = (
    'Temp[Value>30 AND Location=$X] AND Alert[Type="smoke" AND Location=$X] '
    'AND NOT Weather[State="rain" AND Location=$X]'
)


@pytest.mark.parametrize(
    ("events", "found"),
    [
        ('Temp@1(35, "a") Alert@2("smoke", "a")', ['Found@2(Place="a")']),
        ('Temp@1(35, "a") Alert@2("smoke", "b")', []),
        (
            'Weather@0("rain", "b") Temp@1(35, "a") Alert@2("smoke", "a")',
            ['Found@2(Place="a")'],
        ),
        (
            'Weather@0("rain", "a") Temp@1(35, "a") Alert@2("smoke", "a")',
            [],
        ),
    ],
)
def test_a_parameter_has_one_value_in_all_filters(events: str, found: list[str]) -> None:
    """Example 4: heat and smoke count if they are in one place, and only the rain of that place matters."""
    assert detected(EXAMPLE_4, events, "[Place: $X]") == found


@pytest.mark.parametrize("order", ["Temp[Value > $X] AND Alert[Type = $T AND Level = $X]", None])
def test_a_parameter_may_be_compared_before_the_filter_that_binds_it(order: str | None) -> None:
    """Which filter is written first does not matter, nor which message comes first."""
    pattern = order or "Alert[Level = $X] AND Temp[Value > $X]"
    rules = raced(
        f"Advertise(Temp[Value: int]) Advertise(Alert[Level: int, Type: string]) DefineEvent(E[x: $X], {pattern})"
    )
    events = 'Temp@1(Value=5) Alert@2(Level=4, Type="a") Alert@3(Level=5, Type="a") Temp@4(Value=6)'
    found = [str(event) for event in run(rules.checked, history(events)).composites]
    assert found == ["E@2(x=4)", "E@4(x=4)", "E@4(x=5)"]


def test_a_chain_of_equalities_binds_every_parameter_in_it() -> None:
    """`Value = $X = $Y` gives both the attribute's value."""
    found = detected("Temp[Value = $X = $Y]", "Temp@1(Value=7)", "[a: $X, b: $Y]")
    assert found == ["Found@1(a=7, b=7)"]


# iv. Windows


@pytest.mark.parametrize(("second", "found"), [("301", ["Found@301()"]), ("301.000001", [])])
def test_a_window_says_how_far_apart_the_messages_may_be(second: str, found: list[str]) -> None:
    """Example 5: five minutes apart, and not a microsecond more."""
    pattern = 'Temp[Value>30] AND Alert[Type="smoke"] WITHIN 5 min'
    assert detected(pattern, f'Temp@1(Value=35) Alert@{second}(Type="smoke")') == found


def test_a_negation_looks_back_as_far_as_the_window() -> None:
    """Its bound is excluded, as that of TESLA's negation is."""
    pattern = "Temp AND NOT Weather WITHIN 10 s"
    assert detected(pattern, "Weather@1() Temp@10.999999()") == []
    assert detected(pattern, "Weather@1() Temp@11()") == ["Found@11()"]


def test_without_a_window_five_minutes_are_assumed() -> None:
    """The default that the paper leaves open."""
    assert detected("Temp AND Alert", "Temp@1() Alert@301()") == ["Found@301()"]
    assert detected("Temp AND Alert", "Temp@1() Alert@302()") == []


# v. Event definitions


def test_a_definition_gives_the_event_its_attributes() -> None:
    """Example 6: Fire has the temperature and the place of its messages."""
    rules = raced(
        f"{TYPES} DefineEvent(Fire[Temp:$X, Location:$Y], Temp[Value=$X>30 AND Location=$Y] "
        'AND Alert[Type="smoke" AND Location=$Y] WITHIN 5 min)'
    )
    events = parse_events('Temp@1(35, "a") Temp@2(30, "a") Alert@3("smoke", "a")', rules.types)
    assert [str(event) for event in run(rules.checked, events).composites] == [
        'Fire@3(Temp=35, Location="a")'
    ]
    assert str(rules.types["Fire"]) == "Fire(Temp: int, Location: string)"


def test_an_attribute_may_have_a_literal_as_its_value() -> None:
    """Numbers, texts and truth values keep their type."""
    found = detected("Temp", "Temp@1()", "[a: 3, b: -1.5, c: 'x', d: TRUE]")
    assert found == ['Found@1(a=3, b=-1.5, c="x", d=true)']


def test_a_defined_event_can_be_a_message_of_another_definition() -> None:
    """Definitions build on each other."""
    rules = raced(
        "DefineEvent(Hot[Area: $A], Temp[Value > 30 AND Area = $A])"
        "DefineEvent(Fire[Area: $A], Hot[Area = $A] AND Smoke[Area = $A])"
    )
    events = history('Temp@1(Value=31.0, Area="a") Smoke@2(Area="a")')
    assert [str(e) for e in run(rules.checked, events).composites] == ['Hot@1(Area="a")', 'Fire@2(Area="a")']


def test_an_event_may_be_defined_more_than_once() -> None:
    """Two definitions are two ways to the same event: what stands for OR."""
    rules = raced("DefineEvent(Wet, Rain) DefineEvent(Wet, Snow)")
    assert [str(e) for e in run(rules.checked, history("Rain@1() Snow@2()")).composites] == [
        "Wet@1()",
        "Wet@2()",
    ]


def test_an_advertised_type_is_declared_with_its_attributes() -> None:
    """The contract between sources and the service is a declaration."""
    assert str(raced(TYPES).types["Temp"]) == "Temp(Value: int, Location: string)"
