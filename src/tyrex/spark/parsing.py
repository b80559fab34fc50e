"""Files and messages as rows of events, in Spark's workers, by the readers of `tyrex run`."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tyrex.events import Event, EventError
from tyrex.io import Batch, Form, Input, Layout, OnRejected, Rejected, open_input, parse_json_event
from tyrex.io.inputs import is_event_file
from tyrex.io.jsonblocks import JsonLinesBatches
from tyrex.io.layout import ID, TYPE, arrow_type
from tyrex.io.reading import Reading
from tyrex.tesla.types import TIMESTAMP, ValueType

if TYPE_CHECKING:
    import pyarrow as pa

EVENTS = "type string, timestamp timestamp, id string, sequence long, problem string"
"""The first columns of the rows; the slots of attributes follow."""

_LINES = 43
"""So many bits of a file's sequence count its events; those above are a hash of its name."""
_OFFSETS = 48
"""So many bits of a message's sequence are its offset; those above are its partition."""
_TEXT = 10_000
"""As much of a bad message is kept."""


@dataclass(frozen=True)
class Slots:
    """Columns for the attributes of all types: those of one name and one value type share one."""

    kinds: Mapping[str, ValueType]
    names: Mapping[str, str]
    """The attribute in each column."""
    places: Mapping[tuple[str, str], str]
    """The column of each attribute of each type."""

    @classmethod
    def of(cls, layout: Layout) -> Slots:
        """The columns for the types of a layout."""
        slots: dict[tuple[str, ValueType], str] = {}
        places = {}
        for type_ in layout.types.values():
            for attribute in type_.attributes:
                slot = slots.setdefault((attribute.name, attribute.type), f"a{len(slots)}")
                places[type_.name, attribute.name] = slot
        kinds = {slot: kind for (_, kind), slot in slots.items()}
        return cls(kinds, {slot: name for (name, _), slot in slots.items()}, places)


def read_files(
    batches: Iterable[pa.RecordBatch], layout: Layout, form: Form, slots: Slots
) -> Iterator[pa.RecordBatch]:
    """The events of files of which the names come in; files that hold no events by their names are left out."""
    rows = _Rows(layout, slots)
    for batch in batches:
        names: list[Any] = batch.column(0).to_pylist()
        for name in names:
            path = local_path(name)
            if is_event_file(path):
                yield from _read_file(path, layout, form, rows)


def local_path(name: str) -> Path:
    """The path of a file as Spark names it: `file:/tmp/events.jsonl`."""
    return Path("/" + name.removeprefix("file:").lstrip("/"))


def _read_file(path: Path, layout: Layout, form: Form, rows: _Rows) -> Iterator[pa.RecordBatch]:
    def taker(source: str) -> OnRejected:
        def take(data: Rejected) -> None:
            rows.reject({"source": source, data.unit: data.line_number}, data.reason, data.text)

        return take

    first = int.from_bytes(blake2b(str(path).encode(), digest_size=8).digest()) >> (_LINES + 1) << _LINES
    try:
        for events in open_input(Input(str(path), (path,), form), layout, taker):
            yield rows.of(events, range(first, first + len(events)))
            first += len(events)
            yield from rows.problems()
    except EventError as error:  # the rest of the file can't be read, and the stream goes on
        rows.reject({"source": str(path)}, str(error), None)
    yield from rows.problems()


def read_messages(
    batches: Iterable[pa.RecordBatch], layout: Layout, form: Form, slots: Slots
) -> Iterator[pa.RecordBatch]:
    """The events of messages of Kafka, of which each is one."""
    rows = _Rows(layout, slots)
    for batch in batches:
        at_once = _all_at_once(batch, layout, form)
        if at_once is not None:
            partitions: list[Any] = batch.column("partition").to_pylist()
            offsets: list[Any] = batch.column("offset").to_pylist()
            places = [
                (partition << _OFFSETS) + offset
                for partition, offset in zip(partitions, offsets, strict=True)
            ]
            start = 0
            for events in at_once:
                yield rows.of(events, places[start : start + len(events)])
                start += len(events)
        else:
            yield from _one_by_one(batch, layout, form, rows)


def _all_at_once(batch: pa.RecordBatch, layout: Layout, form: Form) -> list[Batch] | None:
    """The events of messages that are all beyond doubt: each is a line, and each line an event."""
    values: list[Any] = batch.column("value").to_pylist()
    if any(value is None or not value or b"\n" in value or b"\r" in value for value in values):
        return None
    bad: list[Rejected] = []
    found = list(JsonLinesBatches(io.BytesIO(b"\n".join(values)), Reading(layout, bad.append, form)))
    return found if not bad and sum(map(len, found)) == len(values) else None


def _one_by_one(batch: pa.RecordBatch, layout: Layout, form: Form, rows: _Rows) -> Iterator[pa.RecordBatch]:
    events, places = [], []
    for message in batch.to_pylist():
        data = message["value"]
        text = None
        try:
            if data is None:
                raise EventError("the message has no value, and an event is an object of JSON")
            text = data.decode(errors="backslashreplace")
            try:
                event = parse_json_event(data.decode().strip(), layout.types, form)
            except UnicodeDecodeError:
                raise EventError("not UTF-8: send the data in this encoding") from None
            events.append(layout.conform(event) or event)
            places.append((message["partition"] << _OFFSETS) + message["offset"])
        except EventError as error:
            where = {
                "source": message["topic"],
                "partition": message["partition"],
                "offset": message["offset"],
            }
            rows.reject(where, str(error), text)
    if events:
        yield rows.of(events, places)
    yield from rows.problems()


class _Rows:
    """Makes rows of events and of problems."""

    def __init__(self, layout: Layout, slots: Slots) -> None:
        import pyarrow as pa

        self._layout = layout
        self._slots = slots
        self._problems: list[str] = []
        fields: list[Any] = [
            pa.field(TYPE, pa.string()),
            pa.field(TIMESTAMP, pa.timestamp("us", "UTC")),
            pa.field(ID, pa.string()),
            pa.field("sequence", pa.int64()),
            pa.field("problem", pa.string()),
            *(pa.field(slot, arrow_type(kind)) for slot, kind in slots.kinds.items()),
        ]
        self._schema = pa.schema(fields)

    def of(self, events: Batch, places: Iterable[int]) -> pa.RecordBatch:
        """Events as rows, with their places among simultaneous ones."""
        import pyarrow as pa

        count = len(events)
        if isinstance(events, pa.RecordBatch):
            columns: list[Any] = [
                events.column(TYPE).cast(pa.string()),
                events.column(TIMESTAMP),
                events.column(ID),
            ]
            attributes: list[Any] = [events.column(name) for name in self._slots.names.values()]
        else:
            columns = [
                pa.array([event.type for event in events], pa.string()),
                pa.array([event.timestamp for event in events], pa.int64()).cast(self._schema.field(1).type),
                pa.array([event.id for event in events], pa.string()),
            ]
            attributes = [self._attribute(slot, events) for slot in self._slots.names]
        columns += [pa.array(places, pa.int64()), pa.nulls(count, pa.string())]
        return pa.RecordBatch.from_arrays([*columns, *attributes], schema=self._schema)

    def _attribute(self, slot: str, events: Iterable[Event]) -> Any:
        import pyarrow as pa

        name, places = self._slots.names[slot], self._slots.places
        values = [
            event.attributes.get(name) if places.get((event.type, name)) == slot else None for event in events
        ]
        return pa.array(values, self._schema.field(slot).type)

    def reject(self, where: Mapping[str, Any], reason: str, text: str | None) -> None:
        """Something is no event."""
        told = {**where, "reason": reason, **({} if text is None else {"text": text[:_TEXT]})}
        self._problems.append(json.dumps(told, ensure_ascii=False))

    def problems(self) -> Iterator[pa.RecordBatch]:
        """What was rejected since the last time, as rows."""
        import pyarrow as pa

        if not self._problems:
            return
        count = len(self._problems)
        columns: list[Any] = [
            pa.array(self._problems, pa.string()) if field.name == "problem" else pa.nulls(count, field.type)
            for field in self._schema
        ]
        self._problems = []
        yield pa.RecordBatch.from_arrays(columns, schema=self._schema)
