"""Events of several trees travel once."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from tests.network.networks import type_of

from tyrex.events import Event
from tyrex.network.blocks import Block, block_of
from tyrex.network.control.labels import label
from tyrex.network.messages import Tree

TYPE = type_of("A", k="int")


def block(origin: str, numbers: list[int]) -> Block:
    """Events of an origin with these numbers."""
    blocks = [block_of(TYPE, [Event("A", n, {"k": n})], origin, n) for n in numbers]
    return Block("A", pa.concat_tables([one.table for one in blocks]))


sets = st.dictionaries(
    st.sampled_from("rstuvwxyz"),
    st.dictionaries(st.sampled_from(["p", "q"]), st.sets(st.integers(0, 6), min_size=1), max_size=2),
    max_size=9,
)


@given(sets)
def test_each_event_travels_once_with_all_its_trees(wanted: dict[str, dict[str, set[int]]]) -> None:
    """The labels say for each tree which events are its, and no event comes twice."""
    found = {
        Tree(root, 1): [block(origin, sorted(numbers)) for origin, numbers in origins.items()]
        for root, origins in wanted.items()
    }
    back: dict[str, set[str]] = {root: set() for root in wanted}
    seen: list[str] = []
    for trees, one in label(found):
        seen += one.ids()
        for tree in trees:
            back[tree.root] |= set(one.ids())
    assert len(seen) == len(set(seen))
    assert back == {
        root: {f"{origin}/{number}" for origin, numbers in origins.items() for number in numbers}
        for root, origins in wanted.items()
    }
