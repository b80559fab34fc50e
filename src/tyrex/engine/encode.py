"""Events on their way into the kernel: from Python's objects and from Arrow's columns to typed columns."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from tyrex.engine.assemble import TYPE_CODES
from tyrex.engine.deploy import UNKNOWN
from tyrex.events import Conformer, Event, EventError, Value
from tyrex.events.literals import describe, is_well_formed
from tyrex.events.time import in_range
from tyrex.io.jsonevent import read_json_event
from tyrex.tesla.types import TIMER, TIMESTAMP, EventType, ValueType

if TYPE_CHECKING:
    import pyarrow as pa

ArrowArray: TypeAlias = Any
"""An array or chunked array of Arrow; its stubs ask for more than is known here."""
Layout: TypeAlias = tuple[Any, ...]
"""("objects", values), or as Arrow has it: (layout, offset, address of the validity, addresses of the data)."""


@dataclass
class Encoded:
    """Events ready for the kernel; see `send_input` there."""

    columns: list[tuple[int, int, Layout]] = field(default_factory=list)
    times: list[tuple[int, int]] = field(default_factory=list)
    ids: list[tuple[int, Layout]] = field(default_factory=list)
    blocks: list[tuple[int, list[int], int, int]] = field(default_factory=list)
    order: tuple[int, int] = (0, 0)
    table: bool = False
    alive: list[object] = field(default_factory=list)
    """What the addresses point into."""

    def add_column(self, type_: ValueType, rows: int, layout: Layout) -> int:
        """Add a column; its number."""
        self.columns.append((TYPE_CODES[type_], rows, layout))
        return len(self.columns) - 1


@dataclass(frozen=True, slots=True)
class Columns:
    """Events of one type as columns, in their order."""

    type: str
    times: ArrowArray
    """Microseconds, as an array of NumPy of 64-bit whole numbers."""
    values: Mapping[str, ArrowArray]
    """Arrow's columns by the names of the attributes; one that is missing is null."""
    ids: ArrowArray | None = None


class Encoder:
    """Encodes events of the known types."""

    def __init__(self, types: Mapping[str, EventType], numbers: Mapping[str, int], unknown: int) -> None:
        self._types = {name: type_ for name, type_ in types.items() if name != TIMER.name}
        self._numbers = numbers
        self._unknown = unknown
        self._conform = Conformer(self._types)

    def one(self, event: Event) -> tuple[int, list[Value]]:
        """The number of an event's type and its values in declared order."""
        if event.id is not None:
            _check_id(event.id)
        conformed = self._conform(event)
        if conformed is None:
            return self._unknown, []
        return self._numbers[event.type], list(conformed.attributes.values())

    # Objects

    def events(self, events: Iterable[Event]) -> Encoded:
        """Events as objects."""
        encoded = Encoded()
        order = array("I")
        groups: dict[str, tuple[int, list[Event]]] = {}
        for event in events:
            conformed = self._conform(event)
            name = UNKNOWN.name if conformed is None else event.type
            if name not in groups:
                groups[name] = (len(groups), [])
            number, group = groups[name]
            group.append(conformed or event)
            order.append(number)
        for name, (_, group) in groups.items():
            self._add_group(encoded, name, group)
        encoded.alive.append(order)
        encoded.order = order.buffer_info()
        return encoded

    def _add_group(self, encoded: Encoded, name: str, group: Sequence[Event]) -> None:
        rows = len(group)
        times = array("q", [event.timestamp for event in group])
        encoded.alive.append(times)
        encoded.times.append(times.buffer_info())
        if name == UNKNOWN.name:
            encoded.blocks.append((self._unknown, [], len(encoded.times) - 1, -1))
            return
        columns = [
            encoded.add_column(a.type, rows, ("objects", [event.attributes[a.name] for event in group]))
            for a in self._types[name].attributes
        ]
        ids = [event.id for event in group]
        which = -1
        if any(id_ is not None for id_ in ids):
            for id_ in ids:
                if id_ is not None:
                    _check_id(id_)
            which = len(encoded.ids)
            encoded.ids.append((rows, ("objects", ids)))
        encoded.blocks.append((self._numbers[name], columns, len(encoded.times) - 1, which))

    # Arrow

    def arrow(self, table: pa.Table, places: Mapping[str, Mapping[str, str]] | None = None) -> Encoded:
        """A table with the columns `type`, `timestamp`, perhaps `id`, and the attributes.

        Attributes are in columns of their names, or where `places` says for each type.
        """
        encoded = Encoded(table=True)
        for name in ("type", TIMESTAMP):
            if name not in table.column_names:
                raise EventError(f"the table has no column `{name}`; it has {', '.join(table.column_names)}")
        for name, count in Counter(table.column_names).items():
            if count > 1:
                raise EventError(f"the table has {count} columns `{name}`: leave all but one of them out")
        times = _times(table.column(TIMESTAMP))
        encoded.alive.append(times)
        encoded.times.append((_address(times.buffers()[1], 8 * times.offset), len(times)))
        types = _type_names(table.column("type"))
        indices = types.indices.cast("uint32")
        encoded.alive.append(indices)
        encoded.order = (_address(indices.buffers()[1], 4 * indices.offset), len(indices))
        ids = -1
        if "id" in table.column_names and table.column("id").null_count < len(table):
            encoded.ids.append(
                (len(table), self._layout(table.column("id"), ValueType.STRING, "id", encoded))
            )
            ids = 0
        known: dict[tuple[str, ValueType], int] = {}
        for name in types.dictionary.to_pylist():
            type_ = self._types.get(name)
            if type_ is None:
                encoded.blocks.append((self._unknown, [], 0, -1))
                continue
            columns = []
            for a in type_.attributes:
                place = a.name if places is None else places.get(name, {}).get(a.name, "")
                if (place, a.type) not in known:
                    layout: Layout = ("null", 0, 0)
                    if place in table.column_names:
                        layout = self._layout(table.column(place), a.type, place, encoded)
                    known[place, a.type] = encoded.add_column(a.type, len(table), layout)
                columns.append(known[place, a.type])
            encoded.blocks.append((self._numbers[name], columns, 0, ids))
        return encoded

    def columns(self, blocks: Sequence[Columns], order: ArrowArray) -> Encoded:
        """Blocks of events of one type each; `order` has for each event in turn the number of its block."""
        encoded = Encoded(alive=[blocks, order], order=(order.ctypes.data, len(order)))
        for block in blocks:
            rows = len(block.times)
            if rows:
                in_range(int(block.times[0]))
                in_range(int(block.times[-1]))
            encoded.times.append((block.times.ctypes.data, rows))
            type_ = self._types.get(block.type)
            if type_ is None:
                encoded.blocks.append((self._unknown, [], len(encoded.times) - 1, -1))
                continue
            columns = []
            for a in type_.attributes:
                layout: Layout = ("null", 0, 0)
                if a.name in block.values:
                    layout = self._layout(block.values[a.name], a.type, a.name, encoded)
                columns.append(encoded.add_column(a.type, rows, layout))
            which = -1
            if block.ids is not None:
                which = len(encoded.ids)
                encoded.ids.append((rows, self._layout(block.ids, ValueType.STRING, "id", encoded)))
            encoded.blocks.append((self._numbers[block.type], columns, len(encoded.times) - 1, which))
        return encoded

    def _layout(self, column: ArrowArray, type_: ValueType, name: str, encoded: Encoded) -> Layout:
        import pyarrow as pa

        array_ = _whole(column)
        wanted = {
            ValueType.INT: pa.int64(),
            ValueType.FLOAT: pa.float64(),
            ValueType.BOOL: pa.bool_(),
            ValueType.STRING: pa.large_string(),
        }[type_]
        if array_.type == wanted:
            return _flat(array_, encoded)
        try:
            if pa.types.is_dictionary(array_.type) and type_ is ValueType.STRING:
                return _dictionary(array_, encoded)
            if pa.types.is_string(array_.type) and type_ is ValueType.STRING:
                wanted = pa.string()
            fits = pa.types.is_boolean(array_.type) == (type_ is ValueType.BOOL) and _is_text(
                array_.type
            ) == (type_ is ValueType.STRING)
            if not fits and not pa.types.is_null(array_.type):
                raise pa.ArrowInvalid(f"it is of type {array_.type}")
            # An int becomes the nearest float, as it does everywhere.
            array_ = array_.cast(wanted, safe=type_ is not ValueType.FLOAT)
        except pa.ArrowException as error:
            raise EventError(f"the column `{name}` can't be read as {type_.with_article}: {error}") from None
        return _flat(array_, encoded)


def _check_id(id_: object) -> None:
    if not isinstance(id_, str) or not is_well_formed(id_):
        raise EventError(f"the id of an event is a text, found {describe(id_)}")


def as_table(events: object) -> pa.Table | None:
    """A table or record batch of Arrow as a table; None if it is neither."""
    if not hasattr(events, "schema"):
        return None
    import pyarrow as pa

    if isinstance(events, pa.RecordBatch):
        return pa.Table.from_batches([events])
    return events if isinstance(events, pa.Table) else None


def events_in(given: Iterable[Event | Mapping[str, Any]], types: Mapping[str, EventType]) -> list[Event]:
    """Events, some of which may be dicts as in JSON lines."""
    if isinstance(given, Event) or not isinstance(given, Iterable):
        raise EventError(f"expected several events, found {given!r:.80}: put it into a list, or use `send`")
    return [event if isinstance(event, Event) else _event_of(event, types) for event in given]


def _event_of(record: object, types: Mapping[str, EventType]) -> Event:
    if not isinstance(record, Mapping) or "type" not in record or TIMESTAMP not in record:
        raise EventError(f"an event is an Event, or a dict with `type` and `timestamp`; found {record!r:.80}")
    return read_json_event(record, types)


def events_of(table: pa.Table) -> list[Event]:
    """The rows of a table as events."""
    times = _times(table.column(TIMESTAMP)).to_pylist()
    rows: list[dict[str, Any]] = table.drop_columns([TIMESTAMP]).to_pylist()
    return [
        Event(
            row.pop("type"),
            time,
            {k: v for k, v in row.items() if k != "id" and v is not None},
            row.get("id"),
        )
        for time, row in zip(times, rows, strict=True)
    ]


def _type_names(column: ArrowArray) -> ArrowArray:
    """The column `type` as a dictionary of texts."""
    import pyarrow as pa

    whole = _whole(column)
    if not _is_text(whole.type):
        raise EventError(f"the column `type` is of type {whole.type}: give the names of the types, as texts")
    if pa.types.is_string_view(whole.type):
        whole = whole.cast(pa.large_string())
    types = whole.dictionary_encode()
    if types.null_count or types.dictionary.null_count:
        raise EventError("the column `type` has nulls: every event has a type")
    return types


def _whole(column: ArrowArray) -> ArrowArray:
    """A column as one array."""
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _is_text(type_: pa.DataType) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    return bool(
        pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_)
    )


def _times(column: ArrowArray) -> ArrowArray:
    """Timestamps in microseconds: of Arrow's type, or numbers of seconds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array_ = _whole(column)
    if array_.null_count:
        raise EventError("the column `timestamp` has nulls: every event has a time")
    try:
        if pa.types.is_integer(array_.type):
            times: ArrowArray = pc.multiply_checked(array_.cast(pa.int64()), 1_000_000)
        elif pa.types.is_floating(array_.type):
            times = pc.round(pc.multiply(array_.cast(pa.float64()), 1_000_000.0)).cast(pa.int64())
        elif pa.types.is_timestamp(array_.type):
            times = array_.cast(pa.timestamp("us", array_.type.tz), safe=False).cast(pa.int64())
        else:
            raise EventError(
                f"the column `timestamp` is of type {array_.type}: give timestamps, or seconds as numbers"
            )
    except pa.ArrowException as error:
        raise EventError(f"the column `timestamp` can't be read: {error}") from None
    if len(times):
        limits: Any = pc.min_max(times)
        for limit in limits.values():
            in_range(limit.as_py())
    return times


def _flat(array_: ArrowArray, encoded: Encoded) -> Layout:
    import pyarrow as pa

    encoded.alive.append(array_)
    validity, *data = array_.buffers()
    addresses = [_address(buffer) for buffer in data]
    if pa.types.is_boolean(array_.type):
        layout = "bits"
    elif pa.types.is_string(array_.type):
        layout = "texts"
    elif pa.types.is_large_string(array_.type):
        layout = "long texts"
    else:
        layout = "words"
    return (layout, array_.offset, 0 if validity is None else validity.address, *addresses)


def _dictionary(array_: ArrowArray, encoded: Encoded) -> Layout:
    indices = array_.indices.cast("int32")
    encoded.alive.append(indices)
    validity, data = indices.buffers()
    texts = array_.dictionary.cast("string")
    return (
        "dictionary",
        indices.offset,
        0 if validity is None else validity.address,
        _address(data),
        _flat(texts, encoded),
        len(texts),
    )


def _address(buffer: pa.Buffer | None, offset: int = 0) -> int:
    return 0 if buffer is None else int(buffer.address) + offset
