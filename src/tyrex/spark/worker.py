"""What runs on Spark's executors: an engine for each shard, fed with the shard's events in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tyrex.engine import Composite, Detections, Engine
from tyrex.events import Event
from tyrex.rules import RuleSet, parse
from tyrex.spark import order
from tyrex.spark.wire import ID, SHARD, SLICE, TICK, TIME, TYPE, Wire
from tyrex.tesla.checked import CheckedRules
from tyrex.tesla.types import EventType, ValueType

if TYPE_CHECKING:
    import pyarrow as pa


ROWS = 1 << 16
"""About so many events go to an engine at once: Spark's batches are small, and each call has a price."""


@dataclass(frozen=True)
class Rules:
    """Rules as they are sent to executors: a set of rules itself is not meant to travel."""

    types: tuple[EventType, ...]
    texts: tuple[str, ...]
    """The rules, one by one, in order of deployment."""


@lru_cache(maxsize=16)
def read_rules(rules: Rules) -> RuleSet:
    """The rules; read once in each process."""
    known = RuleSet(CheckedRules((), {type_.name: type_ for type_ in rules.types}))
    return parse("\n".join(rules.texts), known=known)


@dataclass(frozen=True)
class Task:
    """What the executors must know."""

    wire: Wire
    parts: tuple[Rules, ...]
    """The rules of each part of the plan."""
    part_of_shard: tuple[int, ...]
    slice_lengths: tuple[int, ...]
    """For each part, the length of its slices of time; 0 if it has none."""
    composites: tuple[EventType, ...]
    """The types that the result has, in its order."""
    time_zone: str
    lineage: bool
    positions: Mapping[str, int] | None = None
    """Where each rule stands; if it is given, the result says where each composite event belongs among all."""
    live: bool = False
    """Whether rules come and go, so that there may be types that the result has no column for."""


def detect_shards(task: Task, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Detect in the shards of one partition: its rows come ordered by shard, slice and time."""
    current: tuple[int, int] | None = None
    shard: _Shard | None = None
    for batch in batches:
        for (number, slice_), rows in _stretches(batch):
            if (number, slice_) != current or shard is None:
                if shard is not None:
                    yield from shard.end()
                current = (number, slice_)
                shard = _Shard(task, number, slice_)
            yield from shard.take(rows)
    if shard is not None:
        yield from shard.end()


def _stretches(batch: pa.RecordBatch) -> Iterator[tuple[tuple[int, int], pa.RecordBatch]]:
    """The parts of a batch with one shard and one slice."""
    import pyarrow.compute as pc

    if len(batch) == 0:
        return
    shards, slices = batch.column(SHARD), batch.column(SLICE)
    cuts = [0]
    if len(batch) > 1:
        changed: Any = pc.or_(
            pc.not_equal(shards.slice(1), shards.slice(0, len(batch) - 1)),
            pc.not_equal(slices.slice(1), slices.slice(0, len(batch) - 1)),
        )
        cuts += [at + 1 for at in pc.indices_nonzero(changed).to_pylist()]
    for start, end in zip(cuts, [*cuts[1:], len(batch)], strict=True):
        yield (shards[start].as_py(), slices[start].as_py()), batch.slice(start, end - start)


class _Shard:
    """One engine, and what its results become."""

    def __init__(self, task: Task, number: int, slice_: int) -> None:
        self._task = task
        part = task.part_of_shard[number]
        rules = read_rules(task.parts[part])
        self._engine = Engine(rules, time_zone=task.time_zone)
        self._places: order.Places | None = None
        if task.positions is not None:
            self._places = order.Places(task.wire, rules.plan.rules, task.positions)
        length = task.slice_lengths[part]
        self._waiting: list[pa.RecordBatch] = []
        self._count = 0
        self._span = (slice_ * length, (slice_ + 1) * length) if length else None

    def take(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Process events, once there are enough of them."""
        self._waiting.append(rows)
        self._count += len(rows)
        if self._count >= ROWS:
            yield from self._process()

    def end(self) -> Iterator[pa.RecordBatch]:
        """Fire what is due at the end."""
        if self._waiting:
            yield from self._process()
        yield from self._results(self._engine.flush())

    def _process(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        wire = self._task.wire
        rows = self._waiting[0]
        if len(self._waiting) > 1:
            (rows,) = pa.Table.from_batches(self._waiting).combine_chunks().to_batches()
        self._waiting, self._count = [], 0
        yield from self._results(self._engine.send_batch(events_table(wire, rows), places=wire.places), rows)

    def _results(self, found: Detections, rows: pa.RecordBatch | None = None) -> Iterator[pa.RecordBatch]:
        if len(found) == 0:
            return
        places = None if self._places is None else self._places.of(found, rows)
        table = results_table(found, self._task.composites, lineage=self._task.lineage, places=places)
        if self._span is not None:
            table = _inside(table, self._span)
        yield from table.to_batches()


def events_table(wire: Wire, rows: pa.RecordBatch | pa.Table) -> pa.Table:
    """Rows of the wire as a table that the engine reads: types by name, attributes where their types have them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = pa.array([*(type_.name for type_ in wire.types), "(tick)"], pa.string())
    numbers: Any = rows.column(TYPE)
    ticks: Any = pc.equal(numbers, pa.scalar(TICK, pa.int32()))
    indices: Any = pc.if_else(ticks, pa.scalar(len(wire.types), pa.int32()), numbers)
    if isinstance(indices, pa.ChunkedArray):  # they would be looked at one by one
        indices = indices.combine_chunks()
    columns: dict[str, Any] = {
        "type": pa.DictionaryArray.from_arrays(indices, names),
        "timestamp": rows.column(TIME).cast(pa.timestamp("us")),
    }
    if wire.has_ids:
        columns["id"] = rows.column(ID)
    for slot in wire.slots:
        columns[slot] = rows.column(slot)
    return pa.table(columns)


# --- Results ------------------------------------------------------------------------------------------------

_ARROW = {
    ValueType.INT: "int64",
    ValueType.FLOAT: "float64",
    ValueType.BOOL: "bool_",
    ValueType.STRING: "string",
}


def results_schema(
    composites: Iterable[EventType], *, lineage: bool, ordered: bool = False, open_ended: bool = False
) -> pa.Schema:
    """The columns of a result; an open-ended one has also a column for the attributes of other types."""
    import pyarrow as pa

    moment = pa.timestamp("us", "UTC")
    fields: list[Any] = [
        pa.field("type", pa.string()),
        pa.field("timestamp", moment),
        pa.field("id", pa.string()),
        pa.field("rule", pa.string()),
        *(pa.field(type_.name, _struct(type_)) for type_ in composites),
    ]
    if open_ended:
        fields.append(pa.field("attributes", pa.map_(pa.string(), pa.string())))
    if lineage:
        event = pa.struct(
            [
                pa.field("type", pa.string()),
                pa.field("timestamp", moment),
                pa.field("id", pa.string()),
                pa.field("attributes", pa.map_(pa.string(), pa.string())),
            ]
        )
        fields.append(pa.field("lineage", pa.list_(event)))
    if ordered:
        place = pa.struct([pa.field(name, pa.int64()) for name in order.FIELDS])
        fields.append(pa.field(order.COLUMN, place))
    return pa.schema(fields)


def _struct(type_: EventType) -> Any:
    import pyarrow as pa

    return pa.struct([pa.field(a.name, getattr(pa, _ARROW[a.type])()) for a in type_.attributes])


def results_table(
    found: Detections,
    composites: Iterable[EventType],
    *,
    lineage: bool,
    places: Sequence[Mapping[str, int]] | None = None,
    open_ended: bool = False,
) -> pa.Table:
    """Composite events as rows: the struct of a row's own type has the attributes, the others are null."""
    import pyarrow as pa

    composites = tuple(composites)
    schema = results_schema(composites, lineage=lineage, ordered=places is not None, open_ended=open_ended)
    numbers: dict[str, list[int]] = {}
    tables = found.tables()
    new_types = open_ended and not tables.keys() <= {type_.name for type_ in composites}
    if lineage or new_types or places is not None:
        for number, event in enumerate(found):
            numbers.setdefault(event.type, []).append(number)
    made = []
    for name, table in tables.items():
        columns: dict[str, Any] = {"type": pa.array([name], pa.string()).take(_zeros(len(table)))}
        for column in ("timestamp", "id", "rule"):
            columns[column] = table.column(column).cast(schema.field(column).type)
        if open_ended:
            texts: Any = pa.nulls(len(table), schema.field("attributes").type)
            if all(type_.name != name for type_ in composites):
                values = [_as_texts(found[number].attributes) for number in numbers[name]]
                texts = pa.array(values, schema.field("attributes").type)
            columns["attributes"] = texts
        for type_ in composites:
            columns[type_.name] = (
                _attributes(table, type_, schema.field(name).type)
                if type_.name == name
                else pa.nulls(len(table), schema.field(type_.name).type)
            )
        if lineage:
            events = [_lineage(found[number]) for number in numbers[name]]
            columns["lineage"] = pa.array(events, schema.field("lineage").type)
        if places is not None:
            own = [places[number] for number in numbers[name]]
            columns[order.COLUMN] = pa.array(own, schema.field(order.COLUMN).type)
        made.append(pa.table(columns, schema=schema))
    return pa.concat_tables(made)


def _attributes(table: pa.Table, type_: EventType, struct: Any) -> Any:
    """The attributes of composite events of one type as one column."""
    import pyarrow as pa

    if not type_.attributes:
        return pa.array([{}], struct).take(_zeros(len(table)))
    names = [
        f"attributes.{a.name}" if a.name in ("timestamp", "id", "rule") else a.name for a in type_.attributes
    ]
    values: list[Any] = [
        table.column(name).combine_chunks().cast(field.type)
        if name in table.column_names
        else pa.nulls(len(table), field.type)
        for name, field in zip(names, struct, strict=True)
    ]
    return pa.StructArray.from_arrays(values, fields=list(struct))


def _zeros(count: int) -> Any:
    """For a value that is repeated."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.int8(), count, [None, pa.py_buffer(bytes(count))])


def _lineage(event: Event) -> list[dict[str, Any]]:
    assert isinstance(event, Composite)
    return [
        {
            "type": part.type,
            "timestamp": part.timestamp,
            "id": part.id,
            "attributes": _as_texts(part.attributes),
        }
        for part in event.lineage
    ]


def _as_texts(attributes: Mapping[str, object]) -> list[tuple[str, str | None]]:
    return [(name, None if value is None else as_text(value)) for name, value in attributes.items()]


def as_text(value: object) -> str:
    """A value of an attribute among texts."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _inside(table: pa.Table, span: tuple[int, int]) -> pa.Table:
    """Only what belongs to a slice of time: what came before was made of part of the events."""
    import pyarrow as pa
    import pyarrow.compute as pc

    times: Any = table.column("timestamp").cast(pa.int64())
    start: Any = pa.scalar(span[0], pa.int64())
    end: Any = pa.scalar(span[1], pa.int64())
    inside: Any = pc.and_(pc.greater_equal(times, start), pc.less(times, end))
    return table.filter(inside)
