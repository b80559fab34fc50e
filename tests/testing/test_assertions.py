"""`assert_fires` and `assert_silent` hold when they should, and fail with a readable message when they should."""

from __future__ import annotations

import pytest

import tyrex
from tyrex import EventError, TeslaError
from tyrex.testing import Setting, assert_fires, assert_silent, detect, history

TEXT = """
event Temp(area: string, value: float)
define Hot(area: string, value: float) from Temp(value > 45) where area = Temp.area, value = Temp.value
define Cold(area: string) from Temp(value < 0) where area = Temp.area
"""
RULES = tyrex.parse(TEXT)
EVENTS = 'Temp@1("a", 50) Temp@2("b", 20) Temp@3("c", -5) Temp@4("d", 60)'
HOT_A, COLD_C, HOT_D = 'Hot@1("a", 50.0)', 'Cold@3("c")', 'Hot@4("d", 60.0)'
FOUND = 'found Hot@1(area="a", value=50.0), Cold@3(area="c"), Hot@4(area="d", value=60.0)'


def message(*expected: str, exactly: bool = False) -> str:
    """What `assert_fires` says when it fails."""
    with pytest.raises(AssertionError) as caught:
        assert_fires(RULES, EVENTS, *expected, exactly=exactly)
    return str(caught.value)


@pytest.mark.parametrize(
    "expected",
    [
        [HOT_A],
        [HOT_D],
        [HOT_A, HOT_D],
        [HOT_A, COLD_C, HOT_D],
        [f"{HOT_A} {COLD_C}", HOT_D],
        ["Hot"],
        ["Hot", "Cold", "Hot"],
        ["Hot", HOT_D],
        ['Hot@1(value=50, area="a")'],
    ],
)
def test_expected_events_that_are_detected_in_this_order_are_fine(expected: list[str]) -> None:
    """Others may come before, between and after; an int fits a float; attributes may be named in any order."""
    assert_fires(RULES, EVENTS, *expected)


def test_exactly_all_events_in_order_are_fine() -> None:
    """And with no expectation it says that there are none."""
    assert_fires(RULES, EVENTS, "Hot", COLD_C, HOT_D, exactly=True)
    assert_fires(RULES, 'Temp@1("a", 20)', exactly=True)


@pytest.mark.parametrize(
    ("expected", "missing"),
    [
        (['Hot@2("a", 50.0)'], 'Hot@2(area="a", value=50.0)'),  # another time
        (['Hot@1("b", 50.0)'], 'Hot@1(area="b", value=50.0)'),  # another value
        (['Hot@1(area="a")'], 'Hot@1(area="a", value=null)'),  # a value that is not null
        ([HOT_D, HOT_A], 'Hot@1(area="a", value=50.0)'),  # another order
        ([HOT_A, HOT_A], 'Hot@1(area="a", value=50.0)'),  # only once
        (["Cold", "Cold"], "Cold"),
    ],
)
def test_an_expected_event_that_is_not_detected_fails(expected: list[str], missing: str) -> None:
    """The message names the first one that is missing, and everything that was found."""
    assert message(*expected) == f"expected {missing}, {FOUND}"


def test_nothing_found_is_said_so() -> None:
    """An empty list would be hard to read."""
    with pytest.raises(AssertionError, match=r"^expected Hot, found nothing$"):
        assert_fires(RULES, 'Temp@1("a", 20)', "Hot")


def test_exactly_fails_for_an_event_too_many() -> None:
    """Before, between or after the expected ones."""
    assert message(COLD_C, HOT_D, exactly=True) == (
        f'did not expect Hot@1(area="a", value=50.0) before Cold@3(area="c"), {FOUND}'
    )
    assert message(HOT_A, HOT_D, exactly=True).startswith('did not expect Cold@3(area="c") before Hot@4(')
    assert message(HOT_A, COLD_C, exactly=True).startswith(
        'did not expect Hot@4(area="d", value=60.0), found'
    )
    assert message(exactly=True).startswith('did not expect Hot@1(area="a", value=50.0), found')


def test_no_expectation_is_refused() -> None:
    """It would hold for any rules."""
    with pytest.raises(ValueError, match="say which composite events are expected"):
        assert_fires(RULES, EVENTS)
    with pytest.raises(ValueError, match="say which composite events are expected"):
        assert_fires(RULES, EVENTS, "-- Hot@1()")


def test_silence_is_fine_where_nothing_is_detected() -> None:
    """Of any type, or of the types that are named."""
    assert_silent(RULES, 'Temp@1("a", 20)')
    assert_silent(RULES, 'Temp@1("a", 50)', "Cold")
    assert_silent(TEXT, [])


def test_silence_fails_with_what_was_detected() -> None:
    """Only the types that it is about are listed."""
    with pytest.raises(AssertionError) as caught:
        assert_silent(RULES, EVENTS)
    assert str(caught.value) == f"expected silence, {FOUND}"
    with pytest.raises(AssertionError, match=r'^expected silence, found Cold@3\(area="c"\)$'):
        assert_silent(RULES, EVENTS, "Cold")


def test_a_misspelt_type_is_refused() -> None:
    """An assertion of silence about it would always hold."""
    with pytest.raises(ValueError, match=r"define no event `Cald`; did you mean `Cold`\?"):
        assert_silent(RULES, 'Temp@1("a", 20)', "Cald")
    with pytest.raises(ValueError, match="the rules define no event `Fire`; they define `Cold` or `Hot`"):
        assert_fires(RULES, EVENTS, "Fire")


def test_an_expected_event_that_cannot_be_one_is_refused() -> None:
    """An attribute or a value that does not fit the type is a mistake of the test, not of the rules."""
    with pytest.raises(EventError, match="expected an attribute of Hot"):
        assert_fires(RULES, EVENTS, 'Hot@1(aera="a")')
    with pytest.raises(EventError, match=r"Hot\.value: expected float"):
        assert_fires(RULES, EVENTS, 'Hot@1(value="a")')


def test_wrong_rules_and_wrong_events_are_refused() -> None:
    """With their own errors, so that no assertion holds by accident."""
    with pytest.raises(TeslaError, match="TSL003"):
        assert_silent("define Hot() from", [])
    with pytest.raises(EventError, match="expected an attribute of Temp"):
        assert_silent(RULES, "Temp@1(valu=3)")
    with pytest.raises(EventError, match=r"Temp\.value: expected float"):
        assert_silent(RULES, 'Temp@1(value="x")')


def test_rules_and_events_may_be_texts_or_objects() -> None:
    """All four ways detect the same."""
    events = history('Temp@1(area="a", value=50.0)')
    for rules in (RULES, TEXT):
        assert_fires(rules, events, HOT_A, exactly=True)
        assert_fires(rules, 'Temp@1("a", 50.0)', HOT_A, exactly=True)
    assert_fires(RULES, iter(events), HOT_A, exactly=True)


def test_detect_gives_the_composite_events_themselves() -> None:
    """With their attributes and the rule that made them."""
    (event,) = detect(TEXT, 'Temp@1("a", 50.0)')
    assert (event.type, event.timestamp, event["area"], event.rule) == ("Hot", 1_000_000, "a", "Hot")


def test_an_unknown_runtime_is_refused() -> None:
    """With the names of those that are there."""
    with pytest.raises(ValueError, match="no runtime `moon`; there is reference"):
        detect(RULES, EVENTS, on="moon")


def test_a_setting_says_how_late_events_may_come() -> None:
    """Without a delay they are put in order; with one, what comes later is not processed."""
    events = 'Temp@5("a", 50) Temp@1("b", 50)'
    assert_fires(RULES, events, 'Hot@1("b", 50.0) Hot@5("a", 50.0)', exactly=True)
    assert_fires(RULES, events, 'Hot@5("a", 50.0)', exactly=True, setting=Setting(delay=3_000_000))
    assert_silent(RULES, 'Temp@5("a", 5) Temp@1("b", 50)', setting=Setting(delay=3_000_000))


def test_a_setting_says_where_time_moves_to_and_which_zone_timers_have() -> None:
    """Deadlines and calendar timers need both."""
    rules = "event A(v: int) define Nine() from Timer(H = 9) define After() from 1 h after A()"
    hour = 3_600_000_000
    assert_silent(rules, "A@0()")
    assert_fires(rules, "A@0()", "After@1h", exactly=True, setting=Setting(until=hour))
    rome = Setting(until=9 * hour, time_zone="Europe/Rome")
    assert_fires(rules, "A@0()", "After@1h Nine@8h", exactly=True, setting=rome)
