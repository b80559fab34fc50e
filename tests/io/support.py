"""Types and short ways that the tests of reading and writing share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from tyrex.events import Event
from tyrex.io import Batch, BatchReader, EventReader, Layout, OnRejected, open_events
from tyrex.tesla.types import AttributeType, EventType, ValueType

TEMP = EventType("Temp", (AttributeType("area", ValueType.STRING), AttributeType("value", ValueType.FLOAT)))
ORDER = EventType(
    "Order",
    (
        AttributeType("id", ValueType.INT),
        AttributeType("rule", ValueType.STRING),
        AttributeType("lineage", ValueType.STRING),
    ),
)
TYPES: Mapping[str, EventType] = {"Temp": TEMP, "Order": ORDER}

TEMP_LINE = '{"type": "Temp", "timestamp": 10, "area": "A1", "value": 24.5}'
TEMP_SHOWN = 'Temp@10(area="A1", value=24.5)'


def reader_of(folder: Path, name: str, data: bytes | str, *, strict: bool = False) -> EventReader:
    """A reader of a new file with this name and content."""
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return open_events(path, types=TYPES, strict=strict)


def shown(reader: EventReader) -> list[str]:
    """The events of a reader in the papers' notation."""
    return [str(event) for event in reader]


def reasons(reader: EventReader) -> list[str]:
    """What a reader has rejected, with the line and the reason."""
    return [str(one) for one in reader.rejected]


# Batches


def layout_of(*types: EventType, columns: bool = True) -> Layout:
    """The layout of these types."""
    return Layout({type_.name: type_ for type_ in types}, columns=columns)


@dataclass
class Outcome:
    """What reading an input gave: its events in the papers' notation, what was rejected, and the sizes of batches."""

    events: list[str]
    rejected: list[str]
    batches: list[Batch]


def read_all(reader: Callable[[OnRejected], BatchReader], layout: Layout) -> Outcome:
    """Read an input to its end."""
    rejected: list[str] = []
    batches = list(reader(lambda data: rejected.append(str(data))))
    events = [str(event) for batch in batches for event in rows_of(batch, layout)]
    return Outcome(events, rejected, batches)


def rows_of(batch: Batch, layout: Layout) -> list[Event]:
    """The events of a batch as far as an engine looks at them: of an unknown type it takes only the time."""
    if isinstance(batch, Sequence):
        known = layout.types
        return [
            Event(e.type, e.timestamp, e.attributes if e.type in known else {}, e.id, None) for e in batch
        ]
    batch.validate(full=True)
    assert batch.schema == layout.schema
    times: Any = batch.column(1).cast(pa.int64()).to_pylist()
    events = []
    for row, time in zip(batch.to_pylist(), times, strict=True):
        type_ = layout.types.get(row["type"])
        declared = [a.name for a in type_.attributes] if type_ else []
        rest = set(row) - {"type", "timestamp", "id", *declared}
        assert [row[name] for name in rest] == [None] * len(rest)
        events.append(Event(row["type"], time, {name: row[name] for name in declared}, row["id"]))
    return events
