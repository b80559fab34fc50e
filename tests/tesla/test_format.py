"""The formatter: the same tree, the same comments, and nothing more to change."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tesla.mutations import good_texts
from tyrex.tesla import Source
from tyrex.tesla import syntax as s
from tyrex.tesla.format import format_file, format_tree
from tyrex.tesla.parser import parse_file

_TOKEN = re.compile(r"--[^\n]*|\"[^\"]*\"|\d+-\w+|\$?\w+|[<>=!]=|\S")

names = st.sampled_from([s.Identifier(n) for n in ("A", "B", "Temp", "x", "value", "last", "min")])
durations = st.integers(0, 10**12).map(s.Duration)
literals = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.booleans(),
    st.none(),
).map(s.Literal)


def _expressions(inner: st.SearchStrategy[s.Expression]) -> st.SearchStrategy[s.Expression]:
    several = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        st.builds(s.Unary, st.just("not"), inner),
        st.builds(s.Unary, st.just("-"), inner.filter(_not_a_positive_number)),
        st.builds(s.Binary, st.sampled_from(["+", "-", "*", "/", "%", "and", "or"]), inner, inner),
        st.lists(inner, min_size=2, max_size=3).flatmap(
            lambda parts: st.lists(
                st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), min_size=len(parts) - 1, max_size=len(parts) - 1
            ).map(lambda operators: s.Comparison(tuple(parts), tuple(operators)))
        ),
        st.builds(s.Membership, inner, several),
        st.builds(s.Call, st.sampled_from([s.Identifier("abs"), s.Identifier("if")]), several),
        st.builds(
            s.Aggregate,
            st.sampled_from([s.Identifier("Avg"), s.Identifier("Last")]),
            st.builds(s.EventTerm, names, several),
            st.none() | names,
            st.none() | st.builds(s.Within, durations, names) | st.builds(s.Between, names, names),
        ),
    )


def _not_a_positive_number(tree: s.Expression) -> bool:
    value = tree.value if isinstance(tree, s.Literal) else None
    return isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or str(value) == "-0.0"


expressions = st.recursive(
    st.one_of(
        literals,
        st.builds(s.AttributeOf, names, names),
        names.map(lambda n: s.Name(n.text)),
        st.just(s.Parameter("p")),
        durations,
    ),
    _expressions,
    max_leaves=12,
)
terms = st.builds(s.EventTerm, names, st.lists(expressions, max_size=3).map(tuple), st.none() | names)
plain_terms = st.builds(s.EventTerm, names, st.lists(expressions, max_size=2).map(tuple))
conjuncts = st.one_of(
    st.builds(
        s.SelectedEvent,
        st.builds(s.Selection, st.sampled_from(list(s.Policy)), st.just(1)) | st.just(s.Selection(s.Policy.LAST, 3)),
        terms,
        st.builds(s.Within, durations, names),
    ),
    st.builds(s.NegatedEvent, plain_terms, st.builds(s.Within, durations, names) | st.builds(s.Between, names, names)),
    st.builds(s.TimeConstraint, names, st.builds(s.Within, durations, names)),
    st.builds(s.Condition, expressions),
)
attributes = st.lists(
    st.builds(s.AttributeDeclaration, names, st.none() | st.just(s.Identifier("int"))), max_size=3
).map(tuple)
rules = st.builds(
    s.Rule,
    st.none() | names,
    names,
    attributes,
    st.builds(s.Terminator, terms, st.none() | durations),
    st.lists(conjuncts, max_size=3).map(tuple),
    st.lists(st.builds(s.Assignment, names, expressions), max_size=3).map(tuple),
    st.lists(names, max_size=2).map(tuple),
)


@given(st.lists(rules | st.builds(s.EventDeclaration, names, attributes), max_size=3))
def test_reading_what_is_printed_gives_the_same_tree(items: list[s.Item]) -> None:
    """Parse, format, parse gives the same tree, for any tree."""
    file = s.File(tuple(items))
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
    text = 'DEFINE F(a,b:int) FROM S(x=$a) AND EACH T(((v>1) and (w<2)) or z==3) WITHIN 300 sec FROM S WHERE a=(1+2)*3,b=$a'
    assert format_file(Source(text)) == (
        "define F(a, b: int)\n"
        "from   S(x = $a) and\n"
        "       each T(v > 1 and w < 2 or z = 3) within 5 min from S\n"
        "where  a = (1 + 2) * 3, b = $a\n"
    )
