"""The formatter: the same tree, the same comments, and nothing more to change."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tesla.mutations import good_texts
from tests.tesla.syntax_strategies import files
from tyrex.tesla import Source
from tyrex.tesla import syntax as s
from tyrex.tesla.format import format_file, format_tree
from tyrex.tesla.parser import parse_file

_TOKEN = re.compile(r"--[^\n]*|\"[^\"]*\"|\d+-\w+|\d+\s*[a-z]+\b\.?|\$?\w+|[<>=!]=|\S")


@given(files)
def test_reading_what_is_printed_gives_the_same_tree(file: s.File) -> None:
    """Parse, format, parse gives the same tree, for any tree."""
    text = format_tree(file)
    again, diagnostics = parse_file(Source(text))
    assert not diagnostics, diagnostics[0].render()
    assert again == file


@given(st.sampled_from(good_texts()), st.randoms(use_true_random=False))
def test_comments_anywhere_are_kept_in_order_and_formatting_is_stable(text: str, random: object) -> None:
    """Comments between any two tokens survive, in order, and a second formatting changes nothing."""
    ends = [m.end() for m in _TOKEN.finditer(text)]
    places = sorted(random.sample(ends, 5), reverse=True)  # type: ignore[attr-defined]
    for number, place in enumerate(places):
        text = text[:place] + f" -- note {number}\n" + text[place:]
    before, diagnostics = parse_file(Source(text))
    assert not diagnostics
    formatted = format_file(Source(text))
    after, _ = parse_file(Source(formatted))
    assert after == before
    assert [c.text for c in after.comments] == [c.text for c in before.comments]
    assert format_file(Source(formatted)) == formatted


@pytest.mark.parametrize("text", good_texts())
def test_formatted_text_is_stable(text: str) -> None:
    """Formatting what is formatted changes nothing."""
    once = format_file(Source(text))
    assert format_file(Source(once)) == once


def test_the_layout_is_canonical() -> None:
    """Keywords, spaces, windows and parentheses get their one form."""
    text = (
        "DEFINE F(a,b:int) FROM S(x=$a) AND EACH T(((v>1) and (w<2)) or z==3) WITHIN 300 sec FROM S "
        "WHERE a=(1+2)*3,b=$a"
    )
    assert format_file(Source(text)) == (
        "define F(a, b: int)\n"
        "from   S(x = $a) and\n"
        "       each T(v > 1 and w < 2 or z = 3) within 5 min from S\n"
        "where  a = (1 + 2) * 3, b = $a\n"
    )
