"""Wrong rule files give diagnostics, never a traceback."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.tesla.mutations import good_texts, mutants
from tyrex.raced import examine_raced
from tyrex.rules import examine
from tyrex.tesla import Source


def _diagnose(text: str) -> list[str]:
    rules, diagnostics = examine([Source(text)])
    for found in diagnostics:
        assert 0 <= found.span.start <= found.span.end <= max(len(text), 1), found
        assert found.line <= text.count("\n") + 1
        assert found.suggestion, found
        found.render()
    assert rules is not None or diagnostics
    return [found.code for found in diagnostics]


def test_a_thousand_wrong_files_each_give_a_diagnostic_inside_the_file() -> None:
    """Of as many mutants as it takes, 1,000 are wrong; each of these says so, with a span in the file."""
    wrong = 0
    for text in mutants(5000, seed=2010):
        wrong += bool(_diagnose(text))
        if wrong == 1000:
            break
    assert wrong == 1000


def test_good_files_give_no_diagnostic() -> None:
    """The texts that the mutants are made of are right."""
    assert [_diagnose(text) for text in good_texts()] == [[]] * len(good_texts())


@given(st.text(max_size=200))
def test_any_text_is_read_or_reported(text: str) -> None:
    """However bad the input, there is no traceback."""
    _diagnose(text)
    examine_raced(Source(text))


_WORDS = (
    "define from where consuming within between each first last and or not as event Rule 2-last after A B Temp value "
    "area $a $b ( ) , . = == != < <= + - * / % 5min 5 3.5 'x' \"y\" true null in Avg( Count( if( Timer( M D Friday :"
).split()


@given(st.lists(st.sampled_from(_WORDS), max_size=60))
def test_any_sequence_of_words_is_read_or_reported(words: list[str]) -> None:
    """Words of the language in any order give rules or diagnostics."""
    _diagnose(" ".join(words))
    _diagnose("event A(v: int) event B(v: int) define C() from A() and " + " ".join(words))


@given(
    st.lists(
        st.sampled_from(
            [*"[](),:$=<>\"' ", "DefineEvent(", "AND", "NOT", "WITHIN", "5 min", "A", "x", "$X", "3"]
        ),
        max_size=40,
    )
)
def test_any_raced_text_is_read_or_reported(words: list[str]) -> None:
    """RACED text gives TESLA rules or diagnostics with spans inside it."""
    text = "DefineEvent(E[], " + " ".join(words)
    _, diagnostics = examine_raced(Source(text))
    assert all(0 <= d.span.start < d.span.end <= len(text) for d in diagnostics)


def test_deep_nesting_is_reported() -> None:
    """Ten thousand operations inside each other are too many, and said to be."""
    depth = 10_000
    assert "TSL007" in _diagnose("define A() from B(" + "not " * depth + "x = 1)")
    assert "TSL007" in _diagnose("define A(x) from B() where x = " + "-".join(["1"] * 5000))
    assert "TSL007" in _diagnose("define A(x) from B() where x = " + "abs(" * depth + "1" + ")" * depth)


def test_parentheses_alone_are_no_depth() -> None:
    """Ten thousand pairs around one value mean that value."""
    assert _diagnose("define A() from B(" + "(" * 10_000 + "x" + ")" * 10_000 + " = 1)") == []
