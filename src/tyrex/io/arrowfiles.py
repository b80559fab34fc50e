"""Tables in files: Parquet, and Arrow's own format as a file or as a stream."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import ipc, parquet

from tyrex.events import EventError
from tyrex.io.columns import Columns
from tyrex.io.layout import BATCH_ROWS, Batch
from tyrex.io.reading import FileProgress, Reading
from tyrex.io.tables import TableBatches

_UNREADABLE = (
    pa.ArrowInvalid,
    pa.ArrowIOError,
    pa.ArrowTypeError,
    pa.ArrowNotImplementedError,
    pa.ArrowKeyError,
)


class ParquetBatches(FileProgress):
    """Reads a Parquet file in batches; a `BatchReader`."""

    def __init__(self, path: Path, reading: Reading) -> None:
        super().__init__(path)
        self._path = path
        self._reading = reading

    def __iter__(self) -> Iterator[Batch]:
        """The batches."""
        with _readable(self._path, "Parquet"), parquet.ParquetFile(self._path, pre_buffer=False) as file:
            reading = self._reading
            columns = Columns.of(file.schema_arrow.names, reading.layout, reading.form, str(self._path))
            batches = TableBatches(columns, reading)
            total, read = file.metadata.num_rows, 0
            for table in file.iter_batches(BATCH_ROWS, columns=columns.needed):
                read += len(table)
                self.position = (self.size or 0) * read // max(total, 1)
                yield from batches(table)


class ArrowBatches(FileProgress):
    """Reads an Arrow file or stream, or the bytes of one, in batches; a `BatchReader`. Feather is the same."""

    def __init__(self, source: Path | bytes, reading: Reading) -> None:
        super().__init__(source if isinstance(source, Path) else None)
        self._source = source
        self._path = source if isinstance(source, Path) else "the data"
        self._reading = reading

    def __iter__(self) -> Iterator[Batch]:
        """The batches."""
        with _readable(self._path, "Arrow"), _opened(self._source) as source:
            names, is_file = _schema(source)
            reading = self._reading
            columns = Columns.of(names, reading.layout, reading.form, str(self._path))
            batches = TableBatches(columns, reading)
            for table in _tables(source, is_file, [names.index(name) for name in columns.needed]):
                self.position = source.tell()
                for start in range(0, len(table), BATCH_ROWS):
                    yield from batches(table.slice(start, BATCH_ROWS))


def _opened(source: Path | bytes) -> Any:
    return pa.memory_map(str(source)) if isinstance(source, Path) else pa.BufferReader(source)


def _schema(source: Any) -> tuple[list[str], bool]:
    """The names of the columns, and whether it is a file rather than a stream."""
    try:
        with ipc.open_file(source) as file:
            return file.schema.names, True
    except pa.ArrowInvalid:
        source.seek(0)
        with ipc.open_stream(source) as stream:
            return stream.schema.names, False


def _tables(source: Any, is_file: bool, fields: list[int]) -> Iterator[pa.RecordBatch]:
    options = ipc.IpcReadOptions(included_fields=fields)
    source.seek(0)
    if is_file:
        with ipc.open_file(source, options=options) as file:
            for number in range(file.num_record_batches):
                yield file.get_batch(number)
    else:
        with ipc.open_stream(source, options=options) as stream:
            yield from stream


@contextmanager
def _readable(path: Path | str, format_: str) -> Iterator[None]:
    try:
        yield
    except _UNREADABLE as error:
        # An error of the system, such as a file that is not there, is one of these, too.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise EventError(f"{path} can't be read as {format_}: {reason}") from None
