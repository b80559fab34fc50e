"""Events in columns: which columns hold the events of some types, and how events become such a batch.

A batch of columns is an Arrow record batch with

    type        dictionary of string
    timestamp   timestamp[us, UTC]
    id          string, null where the source gave none
    ..          one column for each attribute name, null where the type has no such attribute

in order of arrival. All batches of one layout have the same schema. Where two types disagree about an attribute,
or one is called like a column above, no such table can say what is meant: then a batch is a list of events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias, Union, cast

from tyrex.events import Conformer, Event, EventError
from tyrex.tesla.types import TIMESTAMP, EventType, ValueType

if TYPE_CHECKING:
    import pyarrow as pa

Batch: TypeAlias = Union["pa.RecordBatch", Sequence[Event]]
"""Events in order of arrival, conformed: as columns or one by one."""

Column: TypeAlias = "pa.Array[Any]"
"""One column of a batch."""

TYPE, ID = "type", "id"
BATCH_ROWS = 1 << 16
"""About how many events a batch holds at most."""


def has_arrow() -> bool:
    """Whether pyarrow is installed."""
    return find_spec("pyarrow") is not None


def require_arrow(what: str) -> None:
    """EventError if pyarrow, which reads and writes this, is not installed."""
    if not has_arrow():
        raise EventError(f"{what} needs pyarrow, which is not installed: pip install 'tyrex[arrow]'")


class Layout:
    """How the events of some types are handed on: in columns if they fit in one table, else one by one."""

    def __init__(self, types: Mapping[str, EventType], *, columns: bool = True) -> None:
        self.types = {name: type_ for name, type_ in types.items() if name != "Timer"}
        self.conform = Conformer(self.types)
        self.attributes: dict[str, ValueType] = {}
        self.ambiguous: str | None = None
        """An attribute name for which there can't be one column."""
        for type_ in self.types.values():
            for attribute in type_.attributes:
                known = self.attributes.setdefault(attribute.name, attribute.type)
                if known is not attribute.type or attribute.name in (TYPE, ID):
                    self.ambiguous = attribute.name
        self.in_columns = columns and self.ambiguous is None and has_arrow()

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of every batch."""
        import pyarrow as pa

        return pa.schema(
            [
                (TYPE, pa.dictionary(pa.int32(), pa.string())),
                (TIMESTAMP, pa.timestamp("us", "UTC")),
                (ID, pa.string()),
                *((name, arrow_type(type_)) for name, type_ in self.attributes.items()),
            ]
        )

    def batch(self, events: Sequence[Event]) -> Batch:
        """Conformed events as a batch."""
        if not self.in_columns:
            return events
        import pyarrow as pa

        columns = [
            pa.array([event.type for event in events], pa.string()).dictionary_encode(),
            pa.array([event.timestamp for event in events], pa.int64()).cast(self.schema.field(1).type),
            pa.array([event.id for event in events], pa.string()),
        ]
        known = [event.attributes if event.type in self.types else {} for event in events]
        columns += [
            pa.array([attributes.get(field.name) for attributes in known], field.type)
            for field in list(self.schema)[3:]
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def assemble(
        self,
        types: Column | str,
        timestamps: Column,
        ids: Column | None,
        attributes: Mapping[str, Column],
    ) -> pa.RecordBatch:
        """A batch of columns that fit their types: those that are missing are null."""
        import pyarrow as pa

        rows = len(timestamps)
        if isinstance(types, str):
            names = pa.array([types], pa.string())
            types = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), names)
        elif not pa.types.is_dictionary(types.type):
            types = types.dictionary_encode()
        columns = [types, timestamps, pa.nulls(rows, pa.string()) if ids is None else ids]
        for field in list(self.schema)[3:]:
            column = attributes.get(field.name)
            if column is None or column.null_count == rows:
                columns.append(pa.nulls(rows, field.type))
            else:
                columns.append(self._only_declared(field.name, column, types))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _only_declared(self, name: str, column: Column, types: Any) -> Column:
        """The column, with null where the event's type has no attribute of this name."""
        import pyarrow as pa
        import pyarrow.compute as pc

        declares = [n in self.types and name in self.types[n].by_name for n in types.dictionary.to_pylist()]
        if all(declares):
            return column
        is_declared = pa.array(declares, pa.bool_()).take(types.indices)
        return cast(Column, pc.if_else(is_declared, column, pa.scalar(None, column.type)))


def whole(column: pa.ChunkedArray[Any]) -> Column:
    """A column in one piece."""
    pieces: Any = column if column.num_chunks == 1 else column.combine_chunks()
    return cast(Column, pieces.chunk(0) if hasattr(pieces, "num_chunks") else pieces)


def arrow_type(type_: ValueType) -> pa.DataType:
    """The type of a column of such values."""
    import pyarrow as pa

    types: dict[ValueType, pa.DataType] = {
        ValueType.STRING: pa.string(),
        ValueType.INT: pa.int64(),
        ValueType.FLOAT: pa.float64(),
        ValueType.BOOL: pa.bool_(),
    }
    return types[type_]
