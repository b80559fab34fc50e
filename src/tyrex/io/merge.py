"""Several inputs as one: their events in order of time, batch by batch.

Each input is taken to be in its own order of arrival. Of the events that come next in each, the earliest comes first,
and of equally early ones that of the input named first. Only one batch of each input is held at a time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, cast

from tyrex.events import Event
from tyrex.io.layout import Batch
from tyrex.io.reading import BatchReader

if TYPE_CHECKING:
    import pyarrow as pa


def merged(inputs: Sequence[BatchReader]) -> Iterator[Batch]:
    """The events of all inputs, merged by time."""
    if len(inputs) == 1:
        yield from inputs[0]
        return
    waiting = [one for one in (_Waiting.first(iter(input_)) for input_ in inputs) if one is not None]
    while len(waiting) > 1:
        # Up to the end of the batch that ends first nothing earlier can come. What is as late as that end may
        # still come from that input, so the inputs after it wait with theirs.
        end = min(one.last for one in waiting)
        ending = next(n for n, one in enumerate(waiting) if one.last == end)
        taken = [one.take(end, with_end=n <= ending) for n, one in enumerate(waiting)]
        yield _in_order([part for part in taken if len(part.batch)])
        waiting = [one for one in waiting if one.refill()]
    for one in waiting:
        yield from one.rest()


@dataclass(frozen=True)
class _Part:
    """Events of one input, and when each of them is its turn."""

    batch: Batch
    turns: list[int]
    """The latest timestamp of the input so far: an event that is out of order comes right after the one before it."""


class _Waiting:
    """The batch of an input from which the next events come; it is never empty."""

    def __init__(self, batches: Iterator[Batch], part: _Part) -> None:
        self._batches = batches
        self._part = part
        self._start = 0

    @classmethod
    def first(cls, batches: Iterator[Batch]) -> _Waiting | None:
        """The first batch of an input, if it has any."""
        batch = next(batches, None)
        return None if batch is None else cls(batches, _Part(batch, list(accumulate(_times(batch), max))))

    @property
    def last(self) -> int:
        """The turn of the last event of the batch."""
        return self._part.turns[-1]

    def take(self, end: int, *, with_end: bool) -> _Part:
        """The events whose turn comes before the end, or with it."""
        turns = self._part.turns
        stop = (bisect_right if with_end else bisect_left)(turns, end, self._start)
        part = _Part(_slice(self._part.batch, self._start, stop), turns[self._start : stop])
        self._start = stop
        return part

    def refill(self) -> bool:
        """Read the next batch if this one is used up; whether there are events."""
        if self._start < len(self._part.turns):
            return True
        batch = next(self._batches, None)
        if batch is None:
            return False
        turns = list(accumulate(_times(batch), max, initial=self.last))[1:]
        self._part, self._start = _Part(batch, turns), 0
        return True

    def rest(self) -> Iterator[Batch]:
        """All that is left of the input."""
        yield _slice(self._part.batch, self._start, len(self._part.turns))
        yield from self._batches


def _times(batch: Batch) -> list[int]:
    if isinstance(batch, Sequence):
        return [event.timestamp for event in batch]
    import pyarrow as pa

    times: Any = batch.column(1).cast(pa.int64()).to_pylist()
    return cast(list[int], times)


def _slice(batch: Batch, start: int, stop: int) -> Batch:
    return batch[start:stop] if isinstance(batch, Sequence) else batch.slice(start, stop - start)


def _in_order(parts: list[_Part]) -> Batch:
    if len(parts) == 1:
        return parts[0].batch
    turns = [turn for part in parts for turn in part.turns]
    order = sorted(range(len(turns)), key=turns.__getitem__)  # stable: inputs stay in their order
    batches = [part.batch for part in parts]
    rows: list[Event] = []
    tables: list[pa.RecordBatch] = []
    for batch in batches:
        if isinstance(batch, Sequence):
            rows.extend(batch)
        else:
            tables.append(batch)
    if rows:
        return [rows[number] for number in order]
    import pyarrow as pa

    table = pa.Table.from_batches(tables).unify_dictionaries().combine_chunks()
    (whole,) = table.to_batches()
    return whole.take(pa.array(order, pa.int64()))
