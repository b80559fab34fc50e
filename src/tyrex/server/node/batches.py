"""Batches of events as bytes in the log: small ones as JSON, large ones in the columns of Arrow."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tyrex.events import Conformer, Event, Value
from tyrex.io.layout import ID, TYPE, Batch
from tyrex.tesla.types import TIMESTAMP

if TYPE_CHECKING:
    import pyarrow as pa

_HEAD = struct.Struct(">BI")
_EVENTS, _ARROW = 0, 1
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


def to_bytes(batch: Batch) -> bytes:
    """A batch as it stands in a record of the log; `from_bytes` gives an equal one."""
    if isinstance(batch, Sequence):
        rows = [[event.type, event.timestamp, event.id, dict(event.attributes)] for event in batch]
        kind, data = _EVENTS, _encode(rows).encode()
    else:
        kind, data = _ARROW, _arrow_bytes(batch)
    return _HEAD.pack(kind, len(data)) + data


def from_bytes(data: memoryview) -> list[Batch]:
    """The batches that stand one behind the other."""
    found: list[Batch] = []
    while data:
        kind, length = _HEAD.unpack_from(data)
        part, data = data[_HEAD.size : _HEAD.size + length], data[_HEAD.size + length :]
        found.append(_events(bytes(part)) if kind == _EVENTS else _table(part))
    return found


def _events(data: bytes) -> list[Event]:
    return [Event(type_, time, attributes, id_) for type_, time, id_, attributes in json.loads(data)]


def _arrow_bytes(batch: pa.RecordBatch) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def _table(data: memoryview) -> pa.RecordBatch:
    import pyarrow as pa

    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_next_batch()


def ids_of(batch: Batch) -> Sequence[str | None] | None:
    """The ids that the source gave; None if it gave none."""
    if isinstance(batch, Sequence):
        ids = [event.id for event in batch]
        return ids if any(id_ is not None for id_ in ids) else None
    column: Any = batch.column(ID)
    return None if column.null_count == len(batch) else column.to_pylist()


def only(batch: Batch, kept: Sequence[int]) -> Batch:
    """The events of a batch at these places."""
    if isinstance(batch, Sequence):
        return [batch[place] for place in kept]
    import pyarrow as pa

    return batch.take(pa.array(kept, pa.int64()))


def between(batch: Batch, start: int | None, end: int | None) -> Batch:
    """The events of a batch from one time on, up to another."""
    times = times_of(batch)
    kept = [
        place
        for place, time in enumerate(times)
        if (start is None or time >= start) and (end is None or time < end)
    ]
    return batch if len(kept) == len(times) else only(batch, kept)


def times_of(batch: Batch) -> list[int]:
    """The timestamps of a batch, in microseconds."""
    if isinstance(batch, Sequence):
        return [event.timestamp for event in batch]
    column: Any = batch.column(TIMESTAMP)
    return list(column.cast("int64").to_pylist())


def span_of(batch: Batch) -> tuple[int, int]:
    """The earliest and the latest timestamp of a batch that is not empty."""
    if isinstance(batch, Sequence):
        times = [event.timestamp for event in batch]
        return min(times), max(times)
    import pyarrow.compute as pc

    column: Any = batch.column(TIMESTAMP).cast("int64")
    limits: Any = pc.min_max(column)
    return limits["min"].as_py(), limits["max"].as_py()


def types_of(batch: Batch) -> set[str]:
    """The types of the events of a batch."""
    if isinstance(batch, Sequence):
        return {event.type for event in batch}
    column: Any = batch.column(TYPE)
    names: list[str] = column.unique().to_pylist()
    return set(names)


def events_of(batch: Batch, limit: int | None = None) -> list[Event]:
    """The events of a batch one by one, or the last of them."""
    if isinstance(batch, Sequence):
        return list(batch if limit is None else batch[-limit:])
    if limit is not None and len(batch) > limit:
        batch = batch.slice(len(batch) - limit)
    times = times_of(batch)
    rows: list[dict[str, Value]] = batch.drop_columns([TIMESTAMP]).to_pylist()
    return [
        Event(
            str(row[TYPE]),
            time,
            {name: value for name, value in row.items() if name not in (TYPE, ID) and value is not None},
            None if row[ID] is None else str(row[ID]),
        )
        for time, row in zip(times, rows, strict=True)
    ]


def conformed(batch: Batch, conform: Conformer) -> list[Event]:
    """The events of a batch in the form that their types declare by now; `EventError` if one has another."""
    return [conform(event) or event for event in events_of(batch)]
