"""Events of one type as columns: what travels between processors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tyrex.events import Event
from tyrex.tesla.types import EventType, ValueType

if TYPE_CHECKING:
    import pyarrow as pa

TIME = "timestamp"
"""Microseconds, as whole numbers."""
ORIGIN = "origin"
"""The processor where the event was handed in."""
NUMBER = "number"
"""Counts the events of an origin up."""
ID = "id"
"""The id that the source gave; null, or no column, where it is `origin/number`."""
ORDER = (TIME, ORIGIN, NUMBER)
"""The order of events, which all processors agree on."""
SEPARATOR = "@"
"""Attributes are columns whose names begin with it, so that none is mistaken for one of the above."""

_ARROW = {
    ValueType.STRING: "string",
    ValueType.INT: "int64",
    ValueType.FLOAT: "float64",
    ValueType.BOOL: "bool_",
}


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Events of one type, in their order."""

    type: str
    table: pa.Table

    def __len__(self) -> int:
        return len(self.table)

    @property
    def times(self) -> Any:
        """The timestamps, as an array of NumPy."""
        return self.table.column(TIME).to_numpy()

    def take(self, rows: Any) -> Block:
        """Some of the events, by their positions or by a mask."""
        import numpy as np
        import pyarrow as pa

        wanted = np.asarray(rows)
        if wanted.dtype == bool:
            return Block(self.type, self.table.filter(pa.array(wanted)))
        return Block(self.type, self.table.take(pa.array(wanted)))

    def in_order(self) -> Block:
        """The same events, in the order that all processors agree on."""
        import numpy as np
        import pyarrow as pa

        if len(self) < 2:
            return self
        table = self.table.unify_dictionaries().combine_chunks()
        origins: Any = table.column(ORIGIN).chunk(0)
        ranks = np.argsort(np.argsort(np.asarray(origins.dictionary.to_pylist())))
        keys = (
            table.column(NUMBER).to_numpy(),
            ranks[origins.indices.to_numpy(zero_copy_only=False)],
            table.column(TIME).to_numpy(),
        )
        order: Any = pa.array(np.lexsort(keys))
        return Block(self.type, table.take(order))

    def events(self) -> Iterator[Event]:
        """The events as objects."""
        names = [name for name in self.table.column_names if name.startswith(SEPARATOR)]
        columns: dict[str, Any] = {name: self.table.column(name).to_pylist() for name in names}
        times: Any = self.table.column(TIME).to_pylist()
        for row, (time, id_) in enumerate(zip(times, self.ids(), strict=True)):
            yield Event(self.type, time, {name[1:]: columns[name][row] for name in names}, id_)

    def ids(self) -> list[str]:
        """The ids of the events."""
        origins: Any = self.table.column(ORIGIN).to_pylist()
        numbers: Any = self.table.column(NUMBER).to_pylist()
        given: Any = (
            self.table.column(ID).to_pylist() if ID in self.table.column_names else [None] * len(self)
        )
        return [
            own if own is not None else f"{origin}/{number}"
            for own, origin, number in zip(given, origins, numbers, strict=True)
        ]


def schema_of(type_: EventType, *, ids: bool) -> pa.Schema:
    """The columns of the events of a type."""
    import pyarrow as pa

    fields = [
        pa.field(TIME, pa.int64()),
        pa.field(ORIGIN, pa.dictionary(pa.int32(), pa.string())),
        pa.field(NUMBER, pa.int64()),
    ]
    if ids:
        fields.append(pa.field(ID, pa.string()))
    fields += [pa.field(SEPARATOR + a.name, getattr(pa, _ARROW[a.type])()) for a in type_.attributes]
    return pa.schema(fields)


def block_of(type_: EventType, events: Sequence[Event], origin: str, first: int) -> Block:
    """A block from events of one type whose values fit it; they are numbered from `first` on."""
    import pyarrow as pa

    schema = schema_of(type_, ids=any(event.id is not None for event in events))
    columns: dict[str, Any] = {
        TIME: [event.timestamp for event in events],
        ORIGIN: pa.array([origin] * len(events)).dictionary_encode(),
        NUMBER: range(first, first + len(events)),
        ID: [event.id for event in events],
    }
    columns |= {
        SEPARATOR + a.name: [event.attributes.get(a.name) for event in events] for a in type_.attributes
    }
    arrays = [pa.array(columns[field.name], field.type) for field in schema]
    return Block(type_.name, pa.Table.from_arrays(arrays, schema=schema)).in_order()


def concatenated(blocks: Iterable[Block]) -> Block:
    """Blocks of one type as one, in order."""
    import pyarrow as pa

    every = list(blocks)
    if len(every) == 1:
        return every[0]
    table = pa.concat_tables([block.table for block in every], promote_options="default")
    return Block(every[0].type, table).in_order()
