"""Whatever stands in a RACED file, it is read or reported: no traceback, and places inside the file."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tyrex.raced import examine_raced
from tyrex.rules import examine
from tyrex.tesla import Source
from tyrex.tesla.format import format_tree
from tyrex.tesla.parser import parse_file

GOOD = Path("examples/papers/fire.raced").read_text("utf-8")
TOKENS = re.findall(r'--[^\n]*\n|"[^"]*"|\$?\w+|[<>=!]=|\s+|\S', GOOD)
WORDS = [
    *"[ ] ( ) , : ; $ = < > - . \" ' “ # \\ é 🔥 \n \t \u2028 \x00".split(" "),
    *"DefineEvent( Advertise( Subscribe( Publish( DefineEvent AND NOT WITHIN OR true null Timer Count".split(),
    *"A B x $X $Y 3 -3 1.5 1e999 99999999999999999999 5min 0.1us 'x' \"y\" int string -- //".split(),
]
words = st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """The papers' definitions with up to three tokens removed, doubled, or replaced, perhaps cut off."""
    tokens = list(TOKENS)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(tokens) - 1))
        tokens[at] = draw(st.sampled_from(["", tokens[at] * 2, draw(st.sampled_from(WORDS))]))
    return "".join(tokens[: draw(st.integers(1, len(tokens)))])


@given(st.one_of(st.text(max_size=100), words, words.map(lambda text: f"DefineEvent(E[], {text}"), damaged()))
def test_any_text_is_translated_or_reported(text: str) -> None:
    """Each finding has a place inside the text and a suggestion, and can be shown."""
    source = Source(text, "rules.raced")
    tree, found = examine_raced(source)
    for diagnostic in found:
        assert 0 <= diagnostic.span.start < diagnostic.span.end <= len(text)
        assert diagnostic.code.startswith("RCD")
        assert diagnostic.suggestion
        assert diagnostic.render().startswith(f"error[{diagnostic.code}]: ")
    if not found:
        read, wrong = parse_file(Source(format_tree(tree)))
        assert not wrong
        assert read.items == tree.items


@given(damaged())
def test_any_text_gives_rules_or_diagnostics(text: str) -> None:
    """After the translation the checks of TESLA find places in the RACED text, too."""
    rules, found = examine([Source(text, "rules.raced")])
    assert rules is not None or found
    for diagnostic in found:
        assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text)
        assert diagnostic.line <= text.count("\n") + 1
