"""RACED definitions as TESLA rules: their text, their names, and where they point to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tyrex.raced import translate
from tyrex.rules import load, parse
from tyrex.tesla import Source, TeslaError
from tyrex.tesla.durations import HOUR
from tyrex.tesla.format import format_tree
from tyrex.tesla.parser import parse_file


def tesla(text: str) -> str:
    return format_tree(translate(text))


def names(text: str) -> list[str]:
    return [rule.name for rule in parse(text, "rules.raced")]


def test_there_is_one_rule_for_each_filter_that_can_come_last() -> None:
    """The definition's example: each positive filter is a terminator once, and all look back from it."""
    text = "DefineEvent(E[x: $X], A[v = $X] AND B[v = $X] AND NOT C[v = $X] WITHIN 1 h)"
    assert tesla(text) == (
        "Rule E_1\n"
        "define E(x)\n"
        "from   A(v = $X) and\n"
        "       each B(v = $X) within 1 h from A and\n"
        "       not C(v = $X) within 1 h from A\n"
        "where  x = $X\n"
        "\n"
        "Rule E_2\n"
        "define E(x)\n"
        "from   B(v = $X) and\n"
        "       each A(v = $X) within 1 h from B and\n"
        "       not C(v = $X) within 1 h from B\n"
        "where  x = $X\n"
    )


def test_the_default_window_is_a_setting() -> None:
    """It is taken where `WITHIN` is missing, and only there."""
    tree = translate("DefineEvent(E, A AND B) DefineEvent(F, A AND B WITHIN 1 s)", default_window=HOUR)
    assert format_tree(tree).count("within 1 h from") == 2
    assert format_tree(tree).count("within 1 s from") == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DefineEvent(E, A)", ["E"]),
        ("DefineEvent(E, A AND B)", ["E_1", "E_2"]),
        ("DefineEvent(E, A) DefineEvent(E, B)", ["E_1", "E_2"]),
        ("DefineEvent(E, A AND B) DefineEvent(E, C)", ["E_1", "E_2", "E_3"]),
        ("DefineEvent(E, A AND B) DefineEvent(E_1, C)", ["E_2", "E_3", "E_1"]),
        ("DefineEvent(E, A AND NOT B)", ["E"]),
    ],
)
def test_every_rule_has_a_name_of_its_own(text: str, expected: list[str]) -> None:
    """That of its event, with a number where an event has several rules, and never one that is taken."""
    assert names(text) == expected


@pytest.mark.parametrize(
    ("pattern", "aliases"),
    [
        ("A AND B", []),
        ("A AND A", ["A_1", "A_2"]),
        ("A AND A AND A_1", ["A_2", "A_3"]),
        ("A AND NOT A", []),
        ("A AND A AND NOT A_1", ["A_1", "A_2"]),
    ],
)
def test_filters_of_one_type_get_aliases_that_are_not_taken(pattern: str, aliases: list[str]) -> None:
    """The rules are accepted, so each name means one event; a negated filter needs none."""
    rule = next(iter(parse(f"DefineEvent(E, {pattern})", "rules.raced")))
    assert [event.name for event in rule.checked.events if event.name != event.type] == aliases


def test_the_translation_is_tesla_that_reads_back_as_the_same_tree() -> None:
    """What `tyrex translate` prints can be put into a `.tesla` file."""
    text = Path("examples/papers/fire.raced").read_text("utf-8")
    tree = translate(text)
    read, diagnostics = parse_file(Source(format_tree(tree)))
    assert not diagnostics
    assert read.items == tree.items


def test_comments_are_kept() -> None:
    """A comment stays in front of what it speaks of."""
    assert tesla("-- about E\nDefineEvent(E, A)\n// about F\nDefineEvent(F, B)\n") == (
        "-- about E\nRule E\ndefine E()\nfrom   A()\n\n// about F\nRule F\ndefine F()\nfrom   B()\n"
    )


@pytest.mark.parametrize("text", ["", " \n", "-- nothing\n", "// nothing"])
def test_an_empty_file_has_no_rules(text: str) -> None:
    """Nothing but spaces and comments is right, and means nothing."""
    assert translate(text).items == ()


def test_words_are_case_insensitive_and_names_are_not() -> None:
    """`defineevent` and `within` are words; `temp` and `Temp` are two types."""
    text = "defineevent(E, temp[v = TRUE] aNd not Temp wiThin 1 S); ADVERTISE(temp[v: bool]) advertise(Temp)"
    assert tesla(text) == (
        "Rule E\n"
        "define E()\n"
        "from   temp(v = true) and\n"
        "       not Temp() within 1 s from temp\n"
        "\n"
        "event temp(v: bool)\n"
        "event Temp()\n"
    )


def test_a_word_in_a_text_or_a_comment_begins_no_definition() -> None:
    """Only code is cut into pieces."""
    text = 'DefineEvent(E, A[x = "DefineEvent(F, B)"]) -- DefineEvent(G, C)\n'
    assert names(text) == ["E"]


def test_a_raced_file_is_loaded_by_its_name(tmp_path: Path) -> None:
    """`.raced` says that it is RACED; in a directory its types are those of the TESLA files beside it."""
    (tmp_path / "a.tesla").write_text("event A(v: int)", "utf-8")
    (tmp_path / "b.raced").write_text("DefineEvent(E[x: $X], A[v = $X])", "utf-8")
    rules = load(tmp_path)
    assert str(rules.types["E"]) == "E(x: int)"
    assert rules["E"].text == "DefineEvent(E[x: $X], A[v = $X])"


def test_what_tesla_refuses_is_shown_in_the_raced_text() -> None:
    """A finding of the checks after the translation still points into the file that the user wrote."""
    text = "Advertise(A[v: int])\nDefineEvent(E, A[w = 1])"
    with pytest.raises(TeslaError) as caught:
        parse(text, "rules.raced")
    (found,) = caught.value.diagnostics
    assert (found.code, found.line, found.column) == ("TSL013", 2, 18)
    assert text[found.span.start : found.span.end] == "w"


def test_a_wrong_definition_does_not_keep_the_others_from_being_translated() -> None:
    """The sound parts of a file are there for an editor to work with; `translate` itself is strict."""
    with pytest.raises(TeslaError) as caught:
        translate("DefineEvent(E, NOT A) DefineEvent(F, B)")
    assert [found.code for found in caught.value.diagnostics] == ["RCD003"]
