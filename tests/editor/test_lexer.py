"""Highlighting: the rules of the papers, and whatever else can be written."""

from importlib.metadata import entry_points
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, String, _TokenType

from tyrex.editor.lexer import TeslaLexer
from tyrex.tesla import check_text

RULES = sorted((Path(__file__).parent / "rules").glob("*.tesla"))


def kinds(text: str) -> dict[str, _TokenType]:
    """The token type of each word, the last one where a word stands twice."""
    return {word: kind for kind, word in TeslaLexer().get_tokens(text) if word.strip()}


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.stem)
def test_a_good_rule_has_no_error_tokens(path: Path) -> None:
    """Whatever the checks accept is highlighted without an error, and nothing of the text is lost."""
    text = path.read_text("utf-8")
    check_text(text)
    tokens = list(TeslaLexer().get_tokens(text))
    assert [token for token in tokens if token[0] is Error] == []
    assert "".join(word for _, word in tokens) == text


def test_the_rule_with_an_aggregate_is_highlighted() -> None:
    """Rule R5 of the T-Rex paper shows nearly every kind of word."""
    found = kinds((Path(__file__).parent / "rules" / "aggregate.tesla").read_text("utf-8"))
    assert found["Rule"] is Keyword.Declaration
    assert found["R5"] is Name.Label
    assert found["define"] is Keyword.Declaration
    assert found["Fire"] is Name.Class
    assert found["double"] is Keyword.Type
    assert found["from"] is Keyword
    assert found["Temp"] is Name.Class
    assert found["$t"] is Name.Variable
    assert found["45"] is Number.Integer
    assert found["Avg"] is Name.Builtin
    assert found["value"] is Name.Attribute
    assert found["5 min"] is Number.Duration
    assert found["and"] is Operator.Word
    assert found["<"] is Operator


def test_keywords_and_policies_are_highlighted_in_any_case() -> None:
    """Keywords are case-insensitive."""
    found = kinds(
        "DEFINE X() FROM A() AS B AND 3-LAST C() Within 1 h From A and EACH D() within 2 days from A"
    )
    assert found["DEFINE"] is Keyword.Declaration
    assert found["FROM"] is Keyword
    assert found["B"] is Name.Entity
    assert found["3-LAST"] is Keyword.Pseudo
    assert found["EACH"] is Keyword.Pseudo
    assert found["2 days"] is Number.Duration


def test_functions_literals_and_comments_are_highlighted() -> None:
    """Functions, texts, truth values, timers and comments have kinds of their own."""
    found = kinds("where a = lower('x'), b = true, c = 1.5e3 from Timer(D = Friday) -- so it is")
    assert found["lower"] is Name.Function
    assert found["'x'"] is String.Single
    assert found["true"] is Keyword.Constant
    assert found["1.5e3"] is Number.Float
    assert found["Timer"] is Name.Builtin.Pseudo
    assert found["Friday"] is Name.Constant
    assert found["-- so it is"] is Comment.Single


def test_first_is_a_policy_or_an_aggregate() -> None:
    """Before a parenthesis `First` is an aggregate, before an event a policy."""
    assert kinds("first A")["first"] is Keyword.Pseudo
    assert kinds("First(A().v)")["First"] is Name.Builtin


def test_pygments_finds_the_lexer_by_its_name() -> None:
    """The entry point makes ```tesla blocks work wherever Pygments is used."""
    if not any(entry.name == "tesla" for entry in entry_points(group="pygments.lexers")):
        pytest.skip("the package runs from its source, without its metadata")
    assert isinstance(get_lexer_by_name("tesla"), TeslaLexer)


@given(st.text())
def test_no_text_is_lost(text: str) -> None:
    """Any text comes back whole."""
    lexer = TeslaLexer(ensurenl=False, stripnl=False)
    assert "".join(word for _, word in lexer.get_tokens(text)) == text.replace("\r\n", "\n").replace(
        "\r", "\n"
    ).removeprefix("\ufeff")
