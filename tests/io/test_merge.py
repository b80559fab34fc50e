"""Several inputs are merged by time, whatever the batches are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.io.support import TEMP, layout_of, rows_of

from tyrex.events import Event
from tyrex.io import Batch, Layout, merged

COLUMNS = layout_of(TEMP)
ROWS = layout_of(TEMP, columns=False)


class Source:
    """An input of given batches, which says how many were read."""

    size = None
    position = 0

    def __init__(self, number: int, batches: Sequence[Sequence[int]], layout: Layout) -> None:
        self._batches = [
            layout.batch(
                [Event("Temp", t, {"area": f"{number}", "value": float(n)}) for n, t in enumerate(batch)]
            )
            for batch in batches
        ]
        self.read = 0

    def __iter__(self) -> Iterator[Batch]:
        for batch in self._batches:
            self.read += 1
            yield batch


def merge_all(inputs: Sequence[Sequence[Sequence[int]]], layout: Layout) -> list[tuple[str, int]]:
    batches = list(merged([Source(n, batches, layout) for n, batches in enumerate(inputs)]))
    assert all(len(batch) for batch in batches)
    return [(str(e["area"]), e.timestamp) for batch in batches for e in rows_of(batch, layout)]


def head_by_head(inputs: Sequence[Sequence[Sequence[int]]]) -> list[tuple[str, int]]:
    """What merging means: of the events that come next in each input the earliest, and the first named, is taken."""
    waiting = [[(str(n), t) for batch in batches for t in batch] for n, batches in enumerate(inputs)]
    taken = []
    while any(waiting):
        first = min((events for events in waiting if events), key=lambda events: events[0][1])
        taken.append(first.pop(0))
    return taken


BATCHES = st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=5), max_size=4)


@pytest.mark.parametrize("layout", [COLUMNS, ROWS], ids=["columns", "rows"])
@given(inputs=st.lists(BATCHES, min_size=1, max_size=4))
@example(inputs=[[[5, 1]], [[3, 4, 5]]])
@example(inputs=[[[1], [1]], [[1], [1]], [[1, 1]]])
@example(inputs=[[], [[1]], []])
def test_the_earliest_event_comes_next(layout: Layout, inputs: list[list[list[int]]]) -> None:
    """Ties go to the input named first; an input that is not in order keeps its own order."""
    assert merge_all(inputs, layout) == head_by_head(inputs)


@given(st.lists(st.lists(st.integers(0, 20)).map(sorted), min_size=2, max_size=4))
def test_inputs_in_order_make_one_in_order(histories: list[list[int]]) -> None:
    """As merging sorted lists does."""
    inputs = [[history] if history else [] for history in histories]
    assert [t for _, t in merge_all(inputs, COLUMNS)] == list(merge(*histories))


def test_only_one_batch_of_each_input_is_held() -> None:
    """The second batch of an input is read when its first is used up, not before."""
    early = Source(0, [[n] for n in range(10)], COLUMNS)
    late = Source(1, [[100], [200]], COLUMNS)
    batches = merged([early, late])
    next(batches)
    assert (early.read, late.read) == (1, 1)
    next(batches)
    assert (early.read, late.read) == (2, 1)


def test_a_single_input_is_passed_on_as_it_is() -> None:
    """There is nothing to put in order."""
    assert merge_all([[[3, 1], [2]]], COLUMNS) == [("0", 3), ("0", 1), ("0", 2)]
