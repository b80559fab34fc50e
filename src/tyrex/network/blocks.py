"""Events of one type as columns: what travels between processors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
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
    _times: Any = field(default=None, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.table)

    @property
    def times(self) -> Any:
        """The timestamps, as an array of NumPy."""
        if self._times is None:
            object.__setattr__(self, "_times", self.table.column(TIME).to_numpy())
        return self._times

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
        order = self.order()
        return self if order is None else self.take(order)

    def order(self) -> Any:
        """The positions of the events in their order; None if that is how they stand."""
        import numpy as np

        times = self.times
        if len(times) < 2 or (times[1:] > times[:-1]).all():
            return None
        order = np.lexsort((self.table.column(NUMBER).to_numpy(), self._ranks(), times))
        return None if (order[1:] > order[:-1]).all() else order

    def _ranks(self, names: Sequence[str] | None = None) -> Any:
        """The places of the origins among all names in their order."""
        import numpy as np

        column: Any = self.table.column(ORIGIN)
        if column.num_chunks != 1:
            column = column.unify_dictionaries().combine_chunks()
            column = column.chunk(0) if hasattr(column, "num_chunks") else column
        else:
            column = column.chunk(0)
        own = column.dictionary.to_pylist()
        places = {name: place for place, name in enumerate(sorted(own) if names is None else names)}
        return np.array([places[name] for name in own], np.int64)[column.indices.to_numpy()]

    def origins(self) -> set[str]:
        """The names of the origins; perhaps more than occur."""
        column: Any = self.table.column(ORIGIN)
        return {name for chunk in column.chunks for name in chunk.dictionary.to_pylist()}

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


def merged(blocks: Sequence[Block]) -> Any:
    """For blocks that are in order: of which block each event is, when all of them are put in order."""
    import numpy as np

    if len(blocks) == 1:
        return np.zeros(len(blocks[0]), np.uint32)
    numbers = np.repeat(np.arange(len(blocks), dtype=np.uint32), [len(block) for block in blocks])
    times = np.concatenate([block.times for block in blocks])
    order = np.argsort(times, kind="stable")
    found, sorted_times = numbers[order], times[order]
    if ((sorted_times[1:] == sorted_times[:-1]) & (found[1:] != found[:-1])).any():
        names = sorted(set[str]().union(*(block.origins() for block in blocks)))
        ranks = np.concatenate([block._ranks(names) for block in blocks])
        counts = np.concatenate([block.table.column(NUMBER).to_numpy() for block in blocks])
        found = numbers[np.lexsort((counts, ranks, times))]
    return found


def concatenated(blocks: Iterable[Block]) -> Block:
    """Blocks of one type as one, in order."""
    import pyarrow as pa

    every = list(blocks)
    if len(every) == 1:
        return every[0]
    table = pa.concat_tables([block.table for block in every], promote_options="default")
    return Block(every[0].type, table).in_order()
