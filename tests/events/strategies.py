"""Events, values and texts as Hypothesis draws them for the tests of events and of their formats."""

from hypothesis import strategies as st

from tyrex.events import FIRST_TIMESTAMP, LAST_TIMESTAMP, Event, Value

timestamps = st.one_of(
    st.integers(FIRST_TIMESTAMP, LAST_TIMESTAMP),
    st.integers(-(10**9), 10**9),
    st.sampled_from([FIRST_TIMESTAMP, LAST_TIMESTAMP, 0, 10**15, 10**15 - 1, -(10**15)]),
)
texts = st.text(st.characters(exclude_categories=["Cs"]))
ints = st.integers(-(2**63), 2**63 - 1)
numbers = st.floats(allow_nan=False)
finite = st.floats(allow_nan=False, allow_infinity=False)
values: st.SearchStrategy[Value] = st.one_of(st.none(), st.booleans(), ints, finite, texts)
names = st.from_regex(r"[A-Za-z_äß][A-Za-z0-9_é]{0,8}", fullmatch=True)
attribute_names = names.filter(lambda name: name != "timestamp")
events = st.builds(
    Event, names, timestamps, st.dictionaries(attribute_names, values, max_size=4), st.none() | texts
)
