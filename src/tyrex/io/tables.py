"""Events in the columns of a table: each column is brought into its declared type at once.

Only where a column does not fit as a whole the rows are looked at one by one, to find those that are bad.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tyrex.events import Event, EventError
from tyrex.io.columns import Columns
from tyrex.io.layout import ID, Batch, Column
from tyrex.io.reader import Rejected, Rejections
from tyrex.io.reading import Reading
from tyrex.io.times import timestamp_column, timestamp_value, timestamp_values
from tyrex.tesla.types import ValueType


class TableBatches:
    """Brings tables into the layout, piece by piece; rows are counted from 1 over all of them."""

    def __init__(self, columns: Columns, reading: Reading) -> None:
        self._columns = columns
        self._reading = reading
        self._rows = 0

    def __call__(self, table: pa.RecordBatch) -> Iterator[Batch]:
        """The next rows, as batches."""
        if len(table) == 0:
            return
        table = _without_dictionaries(table)
        batch = self._at_once(table) if self._reading.layout.in_columns else None
        if batch is not None:
            yield batch
        else:
            yield from self._reading.batches(_Rows(table, self._rows, self._columns, self._reading))
        self._rows += len(table)

    def _at_once(self, table: pa.RecordBatch) -> pa.RecordBatch | None:
        """The rows as they are to be, or None if one of them is bad."""
        columns, layout = self._columns, self._reading.layout
        types: Column | str | None = columns.form.type
        if columns.type is not None:
            column = fitting(table.column(columns.type), ValueType.STRING)
            if column is None or column.null_count or pc.any(pc.equal(column, pa.scalar(""))).as_py():
                return None
            types = column
        timestamps = timestamp_column(table.column(columns.timestamp))
        if types is None or timestamps is None:
            return None
        values = {}
        for name, column_name in columns.all_attributes.items():
            found = fitting(table.column(column_name), layout.attributes[name])
            if found is None:
                return None
            values[name] = found
        ids = None
        if ID in columns.needed:
            ids = _ids(table.column(ID))
            if ids is None:
                return None
        return layout.assemble(types, timestamps, ids, values)


def fitting(column: Column, type_: ValueType) -> Column | None:
    """The column in the declared type, or None if a value in it does not fit; equal to `Conformer`."""
    kind = column.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    try:
        if pa.types.is_null(kind):
            return column
        if type_ is ValueType.STRING:
            return _text(column)
        if type_ is ValueType.BOOL:
            return column if pa.types.is_boolean(kind) else None
        if not is_number:
            return None
        if type_ is ValueType.INT:
            return column.cast(pa.int64())
        return _without_nan(column.cast(pa.float64(), safe=False))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _text(column: Column) -> Column | None:
    if not (
        pa.types.is_string(column.type)
        or pa.types.is_large_string(column.type)
        or pa.types.is_string_view(column.type)
    ):
        return None
    column.validate(full=True)  # that it is UTF-8, which no format makes sure of
    return column.cast(pa.string())


def _without_nan(column: Column) -> Column:
    is_nan = pc.is_nan(column)
    if not pc.any(is_nan).as_py():
        return column
    cleaned: Column = pc.if_else(is_nan, pa.scalar(None, pa.float64()), column)
    return cleaned


def _ids(column: Column) -> Column | None:
    if pa.types.is_integer(column.type) or pa.types.is_null(column.type):
        return column.cast(pa.string())
    try:
        return _text(column)
    except pa.ArrowInvalid:
        return None


def _without_dictionaries(table: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows, with the values themselves where a column holds their numbers."""
    columns = {
        name: column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for name, column in zip(table.schema.names, table.columns, strict=True)
    }
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


class _Rows(Rejections):
    """The events in the rows of a table, one after the other; an `EventReader`."""

    def __init__(self, table: pa.RecordBatch, rows_before: int, columns: Columns, reading: Reading) -> None:
        super().__init__("", strict=False, on_rejected=reading.on_rejected)
        self._table = table
        self._rows_before = rows_before
        self._columns = columns
        self._row: dict[str, Any] = {}

    def __iter__(self) -> Iterator[Event]:
        """The events of the rows that are events."""
        self._restart()
        values = {name: _values(self._table.column(name)) for name in self._columns.needed}
        times = timestamp_values(self._table.column(self._columns.timestamp))
        for number, timestamp in enumerate(times):
            self._line_number = self._rows_before + number + 1
            self._row = {name: column[number] for name, column in values.items()}
            try:
                event = self._event(self._row, timestamp)
            except EventError as error:
                self.reject(str(error))
            else:
                yield event

    def reject(self, reason: str) -> None:
        """Reject the row that was given last."""
        text = json.dumps(self._row, ensure_ascii=True, default=str)
        self._on_rejected(Rejected(self._line_number, text, reason, "row"))

    def _event(self, row: dict[str, Any], timestamp: Any) -> Event:
        columns = self._columns
        type_ = columns.form.type if columns.type is None else row[columns.type]
        if not isinstance(type_, str) or not type_:
            raise EventError("an event needs a type, a text: the column `type` has none")
        id_column = columns.id(type_)
        id_ = None if id_column is None else row[id_column]
        if id_ is not None and not isinstance(id_, str):
            if not isinstance(id_, int) or isinstance(id_, bool):
                raise EventError(f"the `id` of an event must be a text or a whole number, found {id_}")
            id_ = str(id_)
        attributes = {name: row[column] for name, column in columns.attributes(type_).items()}
        return Event(type_, timestamp_value(timestamp), attributes, id_)


def _values(column: Column) -> list[Any]:
    """The values of a column as Python's; a text that is not UTF-8 holds halves of surrogate pairs, and is refused."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        texts = column.cast(pa.large_binary()).to_pylist()
        return [None if text is None else text.decode(errors="surrogateescape") for text in texts]
    if pa.types.is_temporal(column.type):
        return column.cast(pa.string()).to_pylist()
    return [_plain(value) for value in column.to_pylist()]


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value
