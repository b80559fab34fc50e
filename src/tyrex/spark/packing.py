"""Rows packed for the way to a shard's state: Spark hands over a few large blobs instead of many rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tyrex.spark.wire import SHARD, TIME

if TYPE_CHECKING:
    import pyarrow as pa

MAIN = "main"
"""Of the copies of an event in several shards, one is the event itself: it is reported if it is rejected."""
PACKED = f"{SHARD} int, least long, greatest long, blob binary, changes string"
"""The columns of packed rows: the earliest and the latest time of their partition, the rows, and changes of rules."""
CHANGE = "change"
"""The column of rows that are no events but changes of rules, where rules can change."""
RESULTS = "blob binary"
NEVER = -(2**62)
"""Before all times."""
UNKNOWN = 2**62
"""Behind all times."""
MOST_ROWS = 200_000
"""A blob has no more rows than that."""


def to_bytes(table: pa.Table | pa.RecordBatch) -> bytes:
    """A table in Arrow's stream format."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write(table)
    return sink.getvalue().to_pybytes()


def from_bytes(data: bytes) -> pa.Table:
    """The table that `to_bytes` wrote."""
    import pyarrow as pa

    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_all()


def pack(batches: Iterable[pa.RecordBatch], clocked: tuple[int, ...]) -> Iterator[pa.RecordBatch]:
    """The rows of one partition as blobs, one for each shard and about `MOST_ROWS` rows.

    Shards that are `clocked` are told the span of time of all rows, also if none is for them. Rows without a
    shard are there for their time only.
    """
    least = greatest = None
    waiting: list[pa.RecordBatch] = []
    count = 0
    for given in batches:
        batch, changes = _without_changes(given)
        yield from changes
        if clocked and (span := _span(batch)) is not None:
            least = span[0] if least is None else min(least, span[0])
            greatest = span[1] if greatest is None else max(greatest, span[1])
        waiting.append(batch)
        count += len(batch)
        if count >= MOST_ROWS:
            yield from _blobs(waiting)
            waiting, count = [], 0
    if count:
        yield from _blobs(waiting)
    if least is not None:
        n = len(clocked)
        yield _packed(list(clocked), [least] * n, [greatest] * n, [None] * n)


def _without_changes(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, list[pa.RecordBatch]]:
    """The events of a batch, and for each shard that is sent changes of rules, a row with them."""
    import pyarrow.compute as pc

    if CHANGE not in batch.schema.names:
        return batch, []
    column = batch.column(CHANGE)
    events = batch.drop_columns([CHANGE])
    if column.null_count == len(batch):
        return events, []
    own = batch.filter(pc.is_valid(column))
    shards: list[Any]
    shards, texts = own.column(SHARD).to_pylist(), own.column(CHANGE).to_pylist()
    n = len(shards)
    packed = _packed(shards, [UNKNOWN] * n, [NEVER] * n, [None] * n, texts)
    return events.filter(pc.is_null(column)), [packed]


def pack_results(results: pa.Table) -> list[bytes]:
    """Results as blobs: each has the columns that some of its rows use, as most rows use few.

    A result has a column for every type of composite event, so most of its cells are null.
    """
    blobs = []
    for batch in results.to_batches():
        used = [name for name in batch.schema.names if batch.column(name).null_count < len(batch)]
        blobs.append(to_bytes(batch.select(used)))
    return blobs


def unpack_results(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The results in blobs, as rows with all columns."""
    import pyarrow as pa

    for batch in batches:
        blobs: list[Any] = batch.column(0).to_pylist()
        for blob in blobs:
            for part in from_bytes(blob).to_batches():
                used = frozenset(part.schema.names)
                columns = [
                    part.column(field.name) if field.name in used else pa.nulls(len(part), field.type)
                    for field in schema
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _span(batch: pa.RecordBatch) -> tuple[int, int] | None:
    import pyarrow.compute as pc

    times: Any = pc.min_max(batch.column(TIME))
    least, greatest = times["min"].as_py(), times["max"].as_py()
    return None if least is None else (least, greatest)


def _blobs(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.compute as pc

    table = pa.Table.from_batches(batches)
    every: Any = pc.value_counts(table.column(SHARD).combine_chunks())
    counts = {one["values"]: one["counts"] for one in every.to_pylist()}
    order: Any = pc.sort_indices(table.column(SHARD))  # nulls last
    ordered = table.take(order).drop_columns([SHARD]).combine_chunks()
    start = 0
    shards: list[int] = []
    blobs: list[bytes] = []
    for shard in sorted(number for number in counts if number is not None):
        shards.append(shard)
        blobs.append(to_bytes(ordered.slice(start, counts[shard])))
        start += counts[shard]
    # No nulls: pandas would make floats of the times.
    yield _packed(shards, [UNKNOWN] * len(shards), [NEVER] * len(shards), blobs)


def _packed(
    shards: list[int],
    least: list[Any],
    greatest: list[Any],
    blobs: list[Any],
    changes: list[Any] | None = None,
) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_arrays(
        [
            pa.array(shards, pa.int32()),
            pa.array(least, pa.int64()),
            pa.array(greatest, pa.int64()),
            pa.array(blobs, pa.binary()),
            pa.array(changes or [None] * len(shards), pa.string()),
        ],
        names=[SHARD, "least", "greatest", "blob", "changes"],
    )
