"""Writes composite events, in the form in which they can be read again: JSON lines, CSV, Parquet or Arrow."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Protocol, Self, cast

from tyrex.events import Event, EventError, Value, format_timestamp
from tyrex.io.columns import qualified
from tyrex.io.jsonevent import json_record, write_json_event
from tyrex.io.layout import BATCH_ROWS, ID, TYPE, arrow_type, require_arrow
from tyrex.tesla.types import TIMESTAMP, EventType, ValueType

if TYPE_CHECKING:
    import pyarrow as pa

STANDARD_OUTPUT = "-"
_HEAD = (TYPE, TIMESTAMP)
_TAIL = (ID, "rule")
_LINEAGE = "lineage"
_RESERVED = frozenset((*_HEAD, *_TAIL, _LINEAGE))
SUPPORTED = (
    "JSON lines (`.jsonl`, `.ndjson`, `.json`, or `-` for standard output), CSV (`.csv`), each also with `.gz`, "
    "Parquet (`.parquet`) or Arrow (`.arrow`, `.feather`)"
)


@dataclass(frozen=True, slots=True)
class Found:
    """A composite event to write, and what it was made of if that is to be written, too."""

    event: Event
    lineage: Sequence[Event] | None = None


class EventWriter(Protocol):
    """Takes composite events in order; a context manager that closes what it opened."""

    def write(self, found: Iterable[Found]) -> None:
        """Write these events after those before."""

    def __enter__(self) -> Self:
        """The writer itself."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write what is still held back, and close the file."""


class _Writer:
    """What writers have in common: they own what they write to, unless it is standard output."""

    def __init__(self, sink: IO[bytes], *, owned: bool) -> None:
        self._sink = sink
        self._owned = owned

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._finish()
        finally:
            if self._owned:
                self._sink.close()

    def _finish(self) -> None:
        self._sink.flush()


class JsonLinesWriter(_Writer):
    """Writes one JSON object on each line."""

    def write(self, found: Iterable[Found]) -> None:
        """Write these events after those before; a reader of the stream has them at once."""
        lines = [f"{write_json_event(one.event, lineage=one.lineage)}\n" for one in found]
        if lines:
            self._sink.write("".join(lines).encode())
            self._sink.flush()


class CsvWriter(_Writer):
    """Writes comma-separated values, with the names of the columns first; null is an empty cell."""

    def __init__(
        self, sink: IO[bytes], columns: Mapping[str, ValueType], *, lineage: bool, owned: bool
    ) -> None:
        super().__init__(sink, owned=owned)
        self._columns = columns
        self._lineage = lineage
        self._text = io.StringIO()
        self._csv = csv.writer(self._text, lineterminator="\n")
        self._csv.writerow(column_names(columns, lineage=lineage))
        self._drain()

    def write(self, found: Iterable[Found]) -> None:
        """Write these events after those before."""
        for one in found:
            event = one.event
            values = [event.attributes.get(name) for name in self._columns]
            row = [event.type, format_timestamp(event.timestamp), *map(_cell, values), event.id, event.rule]
            self._csv.writerow([*row, _lineage_text(one)] if self._lineage else row)
        self._drain()

    def _drain(self) -> None:
        self._sink.write(self._text.getvalue().encode())
        self._sink.flush()
        self._text.seek(0)
        self._text.truncate()


class TableWriter(_Writer):
    """Writes the rows of a Parquet or Arrow file, many at a time."""

    def __init__(
        self, sink: IO[bytes], columns: Mapping[str, ValueType], *, lineage: bool, format_: str
    ) -> None:
        import pyarrow as pa

        super().__init__(sink, owned=True)
        self._columns = columns
        self._rows: list[Found] = []
        names = column_names(columns, lineage=lineage)
        types: list[pa.DataType] = [pa.string(), pa.timestamp("us", "UTC")]
        types += map(arrow_type, columns.values())
        types += [pa.string()] * (len(names) - len(types))
        self._schema = pa.schema(list(zip(names, types, strict=True)))
        self._writer = _table_writer(sink, self._schema, format_)

    def write(self, found: Iterable[Found]) -> None:
        """Write these events after those before, or hold them back until there are many."""
        self._rows.extend(found)
        if len(self._rows) >= BATCH_ROWS:
            self._drain()

    def _drain(self) -> None:
        import pyarrow as pa

        events = [row.event for row in self._rows]
        attributes = [event.attributes for event in events]
        columns: list[list[Any]] = [
            [event.type for event in events],
            [event.timestamp for event in events],
            *(
                [_fitting(values.get(name), type_) for values in attributes]
                for name, type_ in self._columns.items()
            ),
            [event.id for event in events],
            [event.rule for event in events],
        ]
        if len(columns) < len(self._schema):
            columns.append([_lineage_text(row) for row in self._rows])
        arrays = [pa.array(values, field.type) for values, field in zip(columns, self._schema, strict=True)]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        self._rows.clear()

    def _finish(self) -> None:
        if self._rows:
            self._drain()
        self._writer.close()


def open_writer(
    path: str, types: Iterable[EventType], *, lineage: bool, standard_output: IO[bytes]
) -> EventWriter:
    """A writer for events of these types, chosen by the name of the file; `-` is standard output."""
    name = path.lower()
    plain = name.removesuffix(".gz")
    if path == STANDARD_OUTPUT:
        return JsonLinesWriter(standard_output, owned=False)
    if plain.endswith((".jsonl", ".ndjson", ".json")) or _is_device(path):
        return JsonLinesWriter(_opened(path), owned=True)
    if plain.endswith(".csv"):
        columns = result_columns(types)
        return CsvWriter(_opened(path), columns, lineage=lineage, owned=True)
    if name.endswith((".parquet", ".arrow", ".feather")):
        require_arrow(f"`{path}`")
        columns = result_columns(types)
        format_ = "parquet" if name.endswith(".parquet") else "arrow"
        return TableWriter(_opened(path), columns, lineage=lineage, format_=format_)
    raise EventError(f"the format of `{path}` is not known: expected {SUPPORTED}")


def result_columns(types: Iterable[EventType]) -> dict[str, ValueType]:
    """The columns for the attributes of some types; EventError if one column can't hold what two types call alike."""
    columns: dict[str, ValueType] = {}
    owners: dict[str, str] = {}
    for type_ in types:
        for attribute in type_.attributes:
            known = columns.setdefault(attribute.name, attribute.type)
            owner = owners.setdefault(attribute.name, type_.name)
            if known is attribute.type:
                continue
            if not (known.numeric and attribute.type.numeric):
                raise EventError(
                    f"`{attribute.name}` is {known.with_article} in {owner} and {attribute.type.with_article} in "
                    f"{type_.name}, and one column can't hold both: write JSON lines"
                )
            columns[attribute.name] = ValueType.FLOAT
    return columns


def column_names(attributes: Iterable[str], *, lineage: bool) -> list[str]:
    """The names of all columns of a table of composite events."""
    own = [qualified(name) if name in _RESERVED else name for name in attributes]
    return [*_HEAD, *own, *_TAIL, *((_LINEAGE,) if lineage else ())]


def _is_device(path: str) -> bool:
    """Whether it is there and no file, as a named pipe is: it takes lines."""
    return Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir()


def _opened(path: str) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path, "wb")) if path.lower().endswith(".gz") else Path(path).open("wb")


def _table_writer(sink: Any, schema: pa.Schema, format_: str) -> Any:
    if format_ == "parquet":
        from pyarrow import parquet

        return parquet.ParquetWriter(sink, schema)
    from pyarrow import ipc

    return ipc.new_file(sink, schema)


def _fitting(value: Value, type_: ValueType) -> Value:
    """The value, which may be an int where another type of events has a float."""
    return float(value) if type_ is ValueType.FLOAT and isinstance(value, int) else value


def _cell(value: Value) -> Value:
    """A value as CSV has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value


def _lineage_text(found: Found) -> str:
    return json.dumps(
        [json_record(event) for event in found.lineage or ()], ensure_ascii=False, allow_nan=False
    )
