"""JSON lines in batches: a block of lines at once where all of it is good, else line by line.

Arrow reads a block many times faster than Python reads its lines, but it can't say which lines are bad, and it takes
some texts for events that are none. So a block counts only if it is beyond doubt; any other is read by
`JsonLinesReader`, which decides what is right. Both give the same events.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tyrex.io.blocks import BLOCK_BYTES, Block, blocks, position_in
from tyrex.io.cloudevents import SPECVERSION
from tyrex.io.decoder import decoder
from tyrex.io.jsonevent import ATTRIBUTES
from tyrex.io.jsonlines import JsonLinesReader, opened
from tyrex.io.layout import ID, TYPE, Batch, Column, arrow_type, whole
from tyrex.io.reading import READ_AHEAD, FileProgress, Reading, ahead
from tyrex.tesla.types import TIMESTAMP

if TYPE_CHECKING:
    import pyarrow as pa

_PARSED_AT_ONCE = 1 << 20
_SPECIAL = {TYPE, ID, "rule", "lineage", ATTRIBUTES, SPECVERSION}


class JsonLinesBatches(FileProgress):
    """Reads a file or a stream of JSON lines in batches; a `BatchReader`."""

    def __init__(self, source: Path | IO[bytes], reading: Reading, *, block_bytes: int = BLOCK_BYTES) -> None:
        super().__init__(source if isinstance(source, Path) else None)
        self._source = source
        self._reading = reading
        self._block_bytes = block_bytes
        layout, form = reading.layout, reading.form
        self._is_plain = (
            layout.in_columns and _SPECIAL.isdisjoint(layout.attributes) and form.timestamp not in _SPECIAL
        )

    def __iter__(self) -> Iterator[Batch]:
        """The batches."""
        if isinstance(self._source, Path):
            with opened(self._source) as stream:
                yield from self._read(stream, str(self._source))
        else:
            yield from self._read(self._source, "standard input")

    def _read(self, stream: IO[bytes], name: str) -> Iterator[Batch]:
        # A file is read ahead, with all cores; a stream may be live, and what has come must not wait for more.
        depth = 0 if self.size is None or not self._is_plain else READ_AHEAD
        for block, batch in ahead(self._at_once, blocks(stream, name, size=self._block_bytes), depth):
            self.position = position_in(stream)
            if batch is not None:
                yield batch
            else:
                yield from self._line_by_line(block)

    def _line_by_line(self, block: Block) -> Iterator[Batch]:
        reading = self._reading
        reader = JsonLinesReader(
            block.lines,
            types=reading.layout.types,
            form=reading.form,
            first_line=block.first_line,
            on_rejected=reading.on_rejected,
        )
        yield from reading.batches(reader)

    def _at_once(self, block: Block) -> pa.RecordBatch | None:
        """The events of a block, or None where a closer look is needed."""
        data, lines = block.data, block.line_count
        if not self._is_plain:
            return None
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        if not data.endswith(b"\n"):
            data += b"\n"
        # Every line is one object: it begins with `{` and ends with `}`, and there are as many objects as lines.
        # (A line that begins with null would end the process: apache/arrow#47409.)
        if not (data.startswith(b"{") and data.endswith(b"}\n")) or data.count(b"}\n{") + 1 != lines:
            return None
        if SPECVERSION.encode() in data or not _is_utf8(data):
            return None
        return self._parsed(data, lines)

    def _parsed(self, data: bytes, lines: int) -> pa.RecordBatch | None:
        import pyarrow as pa
        import pyarrow.compute as pc
        from pyarrow import json

        from tyrex.io.times import timestamp_column

        schema = self._schema(data[: data.index(b"\n")].decode())
        if schema is None:
            return None
        source: Any = pa.BufferReader(data)
        try:
            table = json.read_json(
                source,
                read_options=json.ReadOptions(block_size=_PARSED_AT_ONCE),
                parse_options=json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
            )
        except (pa.ArrowInvalid, UnicodeDecodeError):  # the message of the former may quote what is not UTF-8
            return None
        if len(table) != lines:
            return None
        columns = {name: whole(table[name]) for name in table.column_names}
        for column in columns.values():
            if pa.types.is_floating(column.type) and not pc.all(pc.is_finite(column), min_count=0).as_py():
                return None
        layout, form = self._reading.layout, self._reading.form
        timestamps = timestamp_column(columns[form.timestamp])
        types: Column | str | None = form.type
        if types is None:
            types = columns[TYPE].dictionary_encode()
            if types.null_count or "" in types.dictionary.to_pylist():
                return None
        if timestamps is None:
            return None
        return layout.assemble(types, timestamps, columns[ID].cast(pa.string()), columns)

    def _schema(self, first: str) -> pa.Schema | None:
        """What to look for in the lines; numbers or texts as timestamps and ids, as in the first of them."""
        import pyarrow as pa

        try:
            record, _ = decoder.raw_decode(first)
        except (ValueError, RecursionError):
            return None
        layout, form = self._reading.layout, self._reading.form
        names = layout.attributes if form.type is None else layout.types[form.type].by_name
        fields = {name: arrow_type(type_) for name, type_ in names.items()}
        if form.timestamp == TIMESTAMP or form.timestamp not in names:
            is_text = isinstance(record.get(form.timestamp), str)
            fields[form.timestamp] = pa.string() if is_text else pa.float64()
        if form.type is None:
            fields[TYPE] = pa.string()
        fields[ID] = pa.int64() if isinstance(record.get(ID), int) else pa.string()
        fields["rule"] = pa.string()
        fields[ATTRIBUTES] = pa.null()  # anything but null in it needs a closer look
        return pa.schema(list(fields.items()))


def _is_utf8(data: bytes) -> bool:
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            return False
    return True
