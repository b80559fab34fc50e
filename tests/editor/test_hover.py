"""What is said about a construct."""

import pytest

from tyrex.editor.hover import hover
from tyrex.editor.meanings import KEYWORDS, POLICIES
from tyrex.tesla.aggregates import AGGREGATES
from tyrex.tesla.functions import FUNCTIONS

RULE = """\
event Smoke(area: string)
event Temp(area: string, value: float)
Rule R define Fire(area: string, heat: float)
from Smoke(area = $a) as S and 3 - last Temp(area = $a and value > abs(-45)) as T within 300 sec. from S
     and not Rain(area = $a) between T and S
     and 10 < $m = Avg(Temp(area = $a).value) within 1 h from S
where area = S.area, heat = T.value
consuming T
"""


def said(text: str, word: str, nth: int = 0) -> str:
    """What is said about the n-th occurrence of a word."""
    offset = -1
    for _ in range(nth + 1):
        offset = text.index(word, offset + 1)
    found = hover(text, offset)
    return "" if found is None else found.text


@pytest.mark.parametrize(
    ("word", "nth", "expected"),
    [
        ("Smoke", 1, "Smoke(area: string)"),
        ("Smoke", 1, "declared"),
        ("Fire", 0, "defined by a rule"),
        ("value", 1, "`value: float`: An attribute of `Temp`."),
        ("value", 3, "`value: float`: An attribute of `Temp`."),
        ("heat", 1, "`heat: float`: An attribute of `Fire`."),
        ("$a", 2, "`$a`: Bound to `Smoke.area`."),
        ("$m", 0, "`$m`: Bound to `Avg(..)`."),
        ("3 - last", 0, "candidate number 3 from the end"),
        ("300 sec.", 0, "`5 min`: A duration of 300,000,000 microseconds."),
        ("T.value", 0, "`T`: 3 - last `Temp`, within 300 sec. from `S`."),
        ("S.area", 0, "the terminator"),
        ("abs", 0, "`abs(x)`: The number without its sign."),
        ("Avg", 0, "The mean of the values."),
        ("between", 0, KEYWORDS["between"]),
        ("float", 0, "A floating-point number"),
        ("R define", 0, "The name of this rule."),
    ],
)
def test_a_word_is_explained(word: str, nth: int, expected: str) -> None:
    """Each construct has a sentence."""
    assert expected in said(RULE, word, nth)


def test_the_span_is_that_of_the_word() -> None:
    """An editor marks what the text is about."""
    found = hover(RULE, RULE.index("consuming") + 3)
    assert found is not None
    assert RULE[found.span.start : found.span.end] == "consuming"


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_every_policy_is_explained(policy: str) -> None:
    """One policy, one sentence."""
    assert POLICIES[policy] in said(f"define X() from A() and {policy} B() within 1 s from A", policy)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_is_explained(name: str) -> None:
    """A function says how it is called and what it gives."""
    assert f"`{name}(" in said(f"define X(v) from A() where v = {name}(A.v)", f"{name}(")


@pytest.mark.parametrize("name", sorted(AGGREGATES))
def test_every_aggregate_is_explained(name: str) -> None:
    """An aggregate says how it is written and what it gives."""
    assert f"`{name}(Type" in said(
        f"define X(v) from A() where v = {name}(B().v) within 1 s from A", f"{name}("
    )


def test_timer_fields_are_explained() -> None:
    """A timer's fields are not attributes that someone declared."""
    text = "define X() from Timer(H = 9, D = Friday)"
    assert "The hour" in said(text, "H")
    assert "day of the week" in said(text, "Friday")
    assert "calendar" in said(text, "Timer")


def test_undeclared_types_say_that_they_are_inferred() -> None:
    """The types of their attributes are those the checks found out."""
    text = "define X() from Door(open = true and width > 2.5)"
    assert "Door(open: bool, width: float)" in said(text, "Door")
    assert "Not declared" in said(text, "Door")


def test_a_broken_rule_is_explained_as_far_as_it_goes() -> None:
    """A rule that does not parse still knows its types and parameters."""
    text = "event A(x: int) define Fire() from A(x = $x and each B( within"
    assert "`x: int`" in said(text, "x = ")
    assert "Bound to `A.x`" in said(text, "$x")
    assert "every candidate" in said(text, "each")


def test_there_is_nothing_to_say_about_blanks_and_comments() -> None:
    """No construct, no text."""
    assert hover("  -- from", 6) is None
    assert hover("", 0) is None
