"""Events as CSV: a line with the names of the columns, then one event on each line.

As with JSON lines, a block of lines is read at once where all of it is good, and row by row otherwise. A value in
quotes may go over several lines; what is rejected then has the number of the first.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tyrex.events import Event, EventError
from tyrex.events.literals import is_well_formed
from tyrex.io.blocks import BLOCK_BYTES, Block, blocks, position_in
from tyrex.io.columns import Columns
from tyrex.io.jsonlines import opened
from tyrex.io.layout import ID, Batch, Column, whole
from tyrex.io.reader import OnRejected, Rejections
from tyrex.io.reading import READ_AHEAD, FileProgress, Reading, ahead
from tyrex.io.textvalues import column_of_texts, microseconds_of_text, timestamps_of_texts, value_of_text
from tyrex.tesla.types import ValueType

if TYPE_CHECKING:
    import pyarrow as pa

_LONGEST_RECORD = 4 * BLOCK_BYTES


class CsvBatches(FileProgress):
    """Reads a file or a stream of comma-separated values in batches; a `BatchReader`."""

    def __init__(
        self,
        source: Path | IO[bytes],
        reading: Reading,
        *,
        delimiter: str = ",",
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        super().__init__(source if isinstance(source, Path) else None)
        self._source = source
        self._path = source if isinstance(source, Path) else "the data"
        self._reading = reading
        self._delimiter = delimiter
        self._block_bytes = block_bytes

    def __iter__(self) -> Iterator[Batch]:
        """The batches."""
        with opened(self._source) if isinstance(self._source, Path) else nullcontext(self._source) as stream:
            records = _whole_records(blocks(stream, str(self._path), size=self._block_bytes))
            first = next(records, None)
            if first is None:
                return
            columns, first = self._header(first)
            table = _Table(columns, self._reading.on_rejected, self._delimiter)
            depth = READ_AHEAD if self._reading.layout.in_columns else 0
            for block, batch in ahead(table.at_once, _chain(first, records), depth):
                self.position = position_in(stream)
                if batch is not None:
                    yield batch
                else:
                    yield from self._reading.batches(table.row_by_row(block))

    def _header(self, block: Block) -> tuple[Columns, Block]:
        """What the first record says, and the block after it."""
        lines = block.lines
        try:
            texts = (line.decode() for line in lines)
            reader = csv.reader(texts, delimiter=self._delimiter)
            names = [name.strip() for name in next(reader)]
        except (csv.Error, UnicodeDecodeError) as error:
            raise EventError(
                f"{self._path} has no line with the names of the columns at its beginning: {error}"
            ) from None
        columns = Columns.of(names, self._reading.layout, self._reading.form, str(self._path))
        used = reader.line_num
        rest = block.data[sum(map(len, lines[:used])) :]
        return columns, Block(rest, block.first_line + used, block.line_count - used)


class _Table:
    """Reads the records of a file whose columns are known."""

    def __init__(self, columns: Columns, on_rejected: OnRejected, delimiter: str) -> None:
        self._columns = columns
        self._on_rejected = on_rejected
        self._delimiter = delimiter

    def row_by_row(self, block: Block) -> _Rows:
        """The events of a block, one after the other."""
        return _Rows(block, self._columns, self._on_rejected, self._delimiter)

    def at_once(self, block: Block) -> pa.RecordBatch | None:
        """The events of a block, or None where a closer look is needed."""
        columns = self._columns
        layout = columns.layout
        data = block.data.replace(b"\r\n", b"\n") if b"\r" in block.data else block.data
        if not layout.in_columns or not data or b"\r" in data:
            return None
        texts = self._texts(data, block.line_count)
        if texts is None:
            return None
        timestamps = timestamps_of_texts(texts[columns.timestamp])
        types: Column | str | None = columns.form.type
        if columns.type is not None:
            types = texts[columns.type].dictionary_encode()
            if "" in types.dictionary.to_pylist():
                return None
        if timestamps is None or types is None:
            return None
        values = {}
        for name, column in columns.all_attributes.items():
            fitting = column_of_texts(texts[column], layout.attributes[name])
            if fitting is None:
                return None
            values[name] = fitting
        ids = column_of_texts(texts[ID], ValueType.STRING) if ID in texts else None
        return layout.assemble(types, timestamps, ids, values)

    def _texts(self, data: bytes, lines: int) -> dict[str, Column] | None:
        """The columns that mean something, if there is one record on each line and all are well formed."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        wanted = self._columns.needed
        source: Any = pa.BufferReader(data)
        try:
            table = arrow_csv.read_csv(
                source,
                read_options=arrow_csv.ReadOptions(
                    column_names=list(self._columns.names), block_size=len(data) + 1
                ),
                parse_options=arrow_csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(
                    include_columns=wanted, column_types=dict.fromkeys(wanted, pa.string())
                ),
            )
        except pa.ArrowInvalid:
            return None
        if len(table) != lines:
            return None
        return {name: whole(table[name]) for name in wanted}


class _Rows(Rejections):
    """The events of a block of lines; an `EventReader`."""

    def __init__(self, block: Block, columns: Columns, on_rejected: OnRejected, delimiter: str) -> None:
        super().__init__("", strict=False, on_rejected=on_rejected)
        self._block = block
        self._columns = columns
        self._delimiter = delimiter

    def __iter__(self) -> Iterator[Event]:
        """The events of the records that are events."""
        self._restart()
        taken: list[str] = []
        reader = csv.reader(self._lines(taken), delimiter=self._delimiter)
        before = 0
        while True:
            taken.clear()
            self._line_number = self._block.first_line + before
            try:
                record = next(reader, None)
                self._text = "".join(taken).rstrip("\r\n")
                if record is None:
                    return
                event = self._event(record) if record else None
            except csv.Error as error:
                self._text = "".join(taken)[:1000]
                self.reject(f"not CSV: {error}")
            except EventError as error:
                self.reject(str(error))
            else:
                if event is not None:
                    yield event
            before = reader.line_num

    def _lines(self, taken: list[str]) -> Iterator[str]:
        for line in self._block.lines:
            try:
                text = line.decode()
            except UnicodeDecodeError:
                text = line.decode(errors="surrogateescape")
            taken.append(text)
            yield text

    def _event(self, record: list[str]) -> Event:
        columns = self._columns
        if len(record) != len(columns.names):
            raise EventError(
                f"expected {len(columns.names)} values, as there are columns, found {len(record)}; "
                "a value that holds a comma stands in quotes"
            )
        if not all(map(is_well_formed, record)):
            raise EventError("not UTF-8: save the data in this encoding")
        cells = dict(zip(columns.names, record, strict=True))
        type_ = columns.form.type if columns.type is None else cells[columns.type]
        if not type_:
            raise EventError("an event needs a type: the column `type` is empty")
        timestamp = microseconds_of_text(cells[columns.timestamp])
        declared = columns.layout.types[type_].by_name if type_ in columns.layout.types else {}
        attributes = {
            name: value_of_text(cells[column], declared[name])
            for name, column in columns.attributes(type_).items()
        }
        id_column = columns.id(type_)
        return Event(type_, timestamp, attributes, (cells[id_column] or None) if id_column else None)


def _whole_records(source: Iterable[Block]) -> Iterator[Block]:
    """Blocks that end where a record does: where the quotes before it are even in number."""
    open_block: Block | None = None
    for block in source:
        whole = block
        if open_block is not None:
            count = open_block.line_count + block.line_count
            whole = Block(open_block.data + block.data, open_block.first_line, count)
        # A single quote inside a value is no reason to read on without end: no record is that long.
        is_open = whole.data.count(b'"') % 2 == 1 and len(whole.data) < _LONGEST_RECORD
        open_block = whole if is_open else None
        if not is_open:
            yield whole
    if open_block is not None:
        yield open_block


def _chain(first: Block, rest: Iterator[Block]) -> Iterator[Block]:
    if first.data:
        yield first
    yield from rest
