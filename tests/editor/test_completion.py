"""What is proposed where."""

import pytest

from tyrex.editor.completion import CompletionKind, complete

DECLARED = """\
event Smoke(area: string)
event Temp(area: string, value: float)
"""
HEAD = DECLARED + "Rule R define Fire(area: string, heat: float)\nfrom "
PATTERN = HEAD + "Smoke(area = $a) as S and last Temp(area = $a and value > 45) as T within 5 min from S "


def proposals(text: str) -> list[str]:
    """The labels at the `|` in a text."""
    return [found.label for found in complete(text.replace("|", "", 1), text.index("|"))]


@pytest.mark.parametrize("before", ["", "A() and each ", "A() and last ", "A() and 3-last ", "A() and not "])
def test_event_types_are_proposed_where_an_event_stands(before: str) -> None:
    """Behind `from`, a policy and `not`, the declared and defined types come."""
    assert {"Smoke", "Temp", "Fire"} <= set(proposals(HEAD + before + "|"))


def test_a_timer_is_proposed_only_as_terminator() -> None:
    """`Timer` can only be the first event of a pattern."""
    assert "Timer" in proposals(HEAD + "|")
    assert "Timer" not in proposals(HEAD + "Smoke() and each |")


def test_event_types_are_proposed_inside_an_aggregate() -> None:
    """An aggregate is over the events of one type."""
    assert proposals(PATTERN + "and 45 < Avg(|") == ["Smoke", "Temp", "Fire"]
    assert proposals(PATTERN + "where heat = Avg(Te|") == ["Temp"]


def test_a_type_says_its_attributes_and_origin() -> None:
    """The detail of a type is its signature."""
    text = HEAD + "Te"
    (found,) = complete(text, len(text))
    assert (found.label, found.kind, found.insert_text) == ("Temp", CompletionKind.TYPE, "Temp")
    assert found.detail == "Temp(area: string, value: float) (declared)"
    assert text[found.span.start : found.span.end] == "Te"


def test_attributes_are_proposed_first_inside_an_events_parentheses() -> None:
    """Inside its parentheses a bare name is an attribute of that event."""
    assert proposals(HEAD + "Temp(|")[:3] == ["area", "value", "timestamp"]
    assert proposals(HEAD + "Smoke() and last Temp(area = 'x' and (v|")[0] == "value"


def test_attributes_are_proposed_behind_the_dot() -> None:
    """Behind `alias.` come the attributes of its event's type."""
    assert proposals(PATTERN + "where heat = T.|") == ["area", "value", "timestamp"]
    assert proposals(PATTERN + "where heat = S.|") == ["area", "timestamp"]
    assert proposals(PATTERN + "and 45 < Avg(Temp(area = $a).|") == ["area", "value", "timestamp"]


def test_events_are_proposed_as_anchors() -> None:
    """Behind `from` in a window stand the events declared earlier, by alias."""
    assert proposals(HEAD + "Smoke() as S and last Temp() as T within 5 min from |") == ["S"]
    assert proposals(PATTERN + "and not Temp() between |") == ["S", "T"]
    assert proposals(PATTERN + "and not Temp() between T and |") == ["S", "T"]
    assert proposals(PATTERN + "where area = S.area consuming |") == ["S", "T"]


def test_a_deadline_can_be_named_timer() -> None:
    """In a deadline the terminator is called `Timer`."""
    text = HEAD + "14 days after Smoke() as S and not Temp() between S and |"
    assert proposals(text) == ["S", "Timer"]


def test_parameters_are_proposed_behind_the_dollar() -> None:
    """The parameters of the rule come with what they are bound to."""
    text = PATTERN + "where area = $"
    (found,) = complete(text, len(text))
    assert (found.label, found.detail) == ("$a", "= Smoke.area")
    assert text[found.span.start : found.span.end] == "$"


def test_a_parameter_of_another_rule_is_not_proposed() -> None:
    """A parameter belongs to one rule."""
    assert proposals(PATTERN + "where area = $a define Other() from Temp(value = $|") == []


def test_values_are_proposed_in_where() -> None:
    """A value is an event's attribute, a parameter, an aggregate or a function."""
    found = proposals(PATTERN + "where heat = |")
    assert found[:3] == ["S", "T", "$a"]
    assert {"Avg", "Count", "lower", "if", "null"} <= set(found)


def test_the_attributes_of_the_defined_event_are_proposed_in_where() -> None:
    """Those that have no value yet come first."""
    assert proposals(PATTERN + "where area = S.area and |") == ["heat", "area"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("|", ["event", "define", "rule"]),
        ("event A() |", ["event", "define", "rule"]),
        ("define X() |", ["from"]),
        ("define X() from A() |", ["as", "and", "where", "consuming"]),
        ("define X() from A() and each B() |", ["as", "within"]),
        ("define X() from A() and each B() as C |", ["within"]),
        ("define X() from A() and each B() within 5 min |", ["from"]),
        ("define X() from A() and not B() |", ["within", "between"]),
        ("define X() from A() and not B() between C |", ["and"]),
        ("define X() from 5 min |", ["after"]),
        ("define X() from A() and e|", ["each"]),
        ("define X() from A() and each B() within 5 m|", ["ms", "min"]),
        ("define X() from A() and each B() within 5m|", ["ms", "min"]),
        ("define X(a: f|", ["float"]),
        ("event X(a: |", ["string", "int", "float", "bool"]),
        ("define X(a: int) from A() where a |", []),
    ],
)
def test_keywords_are_proposed_where_they_can_stand(text: str, expected: list[str]) -> None:
    """Only what can come next is proposed."""
    assert proposals(text) == expected


def test_the_interval_of_an_aggregate_is_proposed() -> None:
    """It stands inside the parentheses or behind them."""
    assert proposals("define X() from A() and 3 < Count(B() |") == ["within", "between"]
    assert proposals("define X() from A() and 3 < Count(B()) |")[:3] == ["within", "between", "and"]


def test_timer_fields_and_weekdays_are_proposed() -> None:
    """A timer has the fields of the calendar."""
    assert proposals("define X() from Timer(|")[:4] == ["S", "M", "H", "D"]
    assert proposals("define X() from Timer(D = Fri|") == ["Friday"]


def test_undeclared_types_are_known_from_their_use() -> None:
    """Where nothing is declared, what another rule uses is proposed."""
    text = "define X() from Door(open = true) define Y() from |"
    assert "Door" in proposals(text)
    assert proposals(text.replace("|", "Door(op|")) == ["open"]


@pytest.mark.parametrize("text", ["-- from |", 'define X() from A(b = "fr|', 'define X() from A(b = "fr|")'])
def test_nothing_is_proposed_in_comments_and_texts(text: str) -> None:
    """What stands there is not of the language."""
    assert proposals(text) == []


def test_a_rule_in_the_middle_of_a_file_is_completed_by_itself() -> None:
    """What is broken here does not leak into the rules behind it."""
    rest = "\ndefine Other() from Smoke() as Z"
    assert proposals(HEAD + "Smoke() as S and last Temp(value > 3) within 5 min from |" + rest) == ["S"]
