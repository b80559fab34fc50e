"""Hypothesis strategies for TESLA's syntax trees: everything that some text can say, right or wrong."""

from __future__ import annotations

from hypothesis import strategies as st

from tyrex.tesla import syntax as s
from tyrex.tesla.builder import INT_MAX, INT_MIN

FUNCTIONS = "abs floor ceil round sqrt pow least greatest lower upper length concat coalesce if".split()
AGGREGATES = "Avg Sum Min Max Count StdDev Var First Last CountDistinct avg COUNT last".split()
TYPES = "Temp Smoke Rain Fire Alert_2 Überlauf Timer Event Rule".split()
# Words with a meaning elsewhere are names here too: units, selections, what begins an item.
ATTRIBUTES = "area value x y2 _z größe first last event rule min h s after Count length timestamp".split()

types = st.sampled_from(TYPES).map(s.Identifier)
attributes = st.sampled_from(ATTRIBUTES).map(s.Identifier)
events = st.sampled_from([*TYPES, "A", "B", "X1"]).map(s.Identifier)
durations = st.one_of(
    st.integers(0, INT_MAX), st.integers(1, 100).map(lambda n: n * 60_000_000), st.just(7 * 86_400_000_000)
).map(s.Duration)
texts = st.one_of(st.text(max_size=8), st.text(alphabet="\\\"'nu0-/ \n\r\t\0é\u2028\ud800😀", max_size=8))
literals = st.one_of(
    st.integers(INT_MIN, INT_MAX),
    st.sampled_from([INT_MIN, INT_MAX, 0, 1, -1]),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
    st.booleans(),
    st.none(),
).map(s.Literal)

withins = st.builds(s.Within, durations, events)
betweens = st.builds(s.Between, events, events)
intervals = st.one_of(withins, betweens)

_leaves = st.one_of(
    literals,
    durations,
    attributes.map(lambda name: s.Name(name.text)),
    st.builds(s.AttributeOf, st.one_of(events, attributes), attributes),
    attributes.map(lambda name: s.Parameter(name.text)),
)


def _negative(operand: s.Expression) -> s.Expression:
    """`-operand`; of a positive number it is the negative literal, as the parser reads it."""
    if isinstance(operand, s.Literal) and type(operand.value) in (int, float):
        value = operand.value
        assert isinstance(value, int | float)
        if value > 0:
            return s.Literal(-value)
    return s.Unary("-", operand)


@st.composite
def _comparisons(draw: st.DrawFn, parts: st.SearchStrategy[s.Expression]) -> s.Comparison:
    operands = draw(st.lists(parts, min_size=2, max_size=4))
    operators = [draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">="])) for _ in operands[1:]]
    return s.Comparison(tuple(operands), tuple(operators))


def _larger(parts: st.SearchStrategy[s.Expression]) -> st.SearchStrategy[s.Expression]:
    several = st.lists(parts, max_size=3).map(tuple)
    return st.one_of(
        parts.map(_negative),
        st.builds(s.Unary, st.just("not"), parts),
        st.builds(s.Binary, st.sampled_from(["+", "-", "*", "/", "%", "and", "or"]), parts, parts),
        _comparisons(parts),
        st.builds(s.Membership, parts, st.lists(parts, min_size=1, max_size=3).map(tuple)),
        st.builds(s.Call, st.sampled_from(FUNCTIONS).map(s.Identifier), several),
        st.builds(
            s.Aggregate,
            st.sampled_from(AGGREGATES).map(s.Identifier),
            st.builds(s.EventTerm, types, several),
            st.none() | attributes,
            st.none() | intervals,
        ),
    )


expressions: st.SearchStrategy[s.Expression] = st.recursive(_leaves, _larger, max_leaves=8)

plain_events = st.builds(s.EventTerm, types, st.lists(expressions, max_size=3).map(tuple))
named_events = st.builds(s.EventTerm, types, st.lists(expressions, max_size=3).map(tuple), st.none() | events)
selections = st.one_of(
    st.just(s.Selection(s.Policy.EACH)),
    st.builds(
        s.Selection, st.sampled_from([s.Policy.FIRST, s.Policy.LAST]), st.integers(1, 4) | st.just(INT_MAX)
    ),
)
conjuncts: st.SearchStrategy[s.Conjunct] = st.one_of(
    st.builds(s.SelectedEvent, selections, named_events, withins),
    st.builds(s.NegatedEvent, plain_events, intervals),
    st.builds(s.TimeConstraint, events, withins),
    st.builds(s.Condition, expressions),
)

_declared = st.builds(
    s.AttributeDeclaration,
    attributes,
    st.none() | st.sampled_from(["string", "int", "double", "long", "boolean"]).map(s.Identifier),
)
declarations = st.builds(s.EventDeclaration, types, st.lists(_declared, max_size=3).map(tuple))
rules = st.builds(
    s.Rule,
    st.none() | events,
    types,
    st.lists(_declared, max_size=3).map(tuple),
    st.builds(s.Terminator, named_events, st.none() | durations),
    st.lists(conjuncts, max_size=3).map(tuple),
    st.lists(st.builds(s.Assignment, attributes, expressions), max_size=3).map(tuple),
    st.lists(events, max_size=2).map(tuple),
)
files = st.builds(s.File, st.lists(declarations | rules, max_size=4).map(tuple))
