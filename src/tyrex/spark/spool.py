"""Events of any format as tables that Spark reads: Parquet files for each type, with the order of arrival."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tyrex.events import Event
from tyrex.io import Batch
from tyrex.io.layout import ID, TYPE, arrow_type
from tyrex.spark.sources import Source
from tyrex.tesla.types import TIMER, TIMESTAMP, EventType

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

ROWS = 1 << 18
"""About how many events a file holds: several tasks can read what came from one."""
_AT, _ARRIVAL, _NAME = "at", "arrival", "name"
_PREFIX = "a_"


@dataclass(frozen=True)
class Span:
    """The first and the last instant of events, in microseconds."""

    first: int
    last: int


@dataclass(frozen=True)
class Tables:
    """Events where Spark can read them, and what is to be known of them."""

    sources: Mapping[str, Source]
    events: int
    unknown: int
    """How many are of types that no rule knows."""
    span: Span
    mixed: bool
    """Whether some events have ids and others are known by all that they hold."""


class Spool:
    """Takes batches of events in order of arrival and keeps them in files."""

    def __init__(self, folder: Path, types: Mapping[str, EventType]) -> None:
        self._unknown = 0
        self._types = {name: type_ for name, type_ in types.items() if name != TIMER.name}
        self._tables = {name: _Table(folder / str(n), t) for n, (name, t) in enumerate(self._types.items())}
        self._arrived = 0
        self._first: int | None = None
        self._last = 0

    def take(self, batch: Batch) -> None:
        """Keep these events; they arrived after those before."""
        if len(batch) == 0:
            return
        first, last = self._take_rows(batch) if isinstance(batch, Sequence) else self._take_columns(batch)
        self._first = first if self._first is None else min(first, self._first)
        self._last = max(last, self._last)
        self._arrived += len(batch)

    def close(self) -> None:
        """Write what is still held back."""
        for table in self._tables.values():
            table.flush()

    def tables(self, spark: SparkSession) -> Tables | None:
        """What was taken; types without events are left out, but for one. None if there was nothing."""
        if self._first is None:
            return None
        some = [name for name, table in self._tables.items() if table.rows] or list(self._tables)[:1]
        return Tables(
            {name: self._tables[name].source(spark) for name in some},
            self._arrived,
            self._unknown,
            Span(self._first, self._last),
            any(0 < table.named < table.rows for table in self._tables.values()),
        )

    def _take_rows(self, events: Sequence[Event]) -> tuple[int, int]:
        import pyarrow as pa

        own: dict[str, list[tuple[int, Event]]] = {}
        for number, event in enumerate(events, self._arrived):
            own.setdefault(event.type, []).append((number, event))
        for name, numbered in own.items():
            if name not in self._tables:
                self._unknown += len(numbered)
                continue
            rows = [event for _, event in numbered]
            times = pa.array([event.timestamp for event in rows], pa.int64())
            arrivals = pa.array([number for number, _ in numbered], pa.int64())
            names = pa.array([event.id for event in rows], pa.string())
            values = {
                a.name: pa.array([event.attributes.get(a.name) for event in rows], arrow_type(a.type))
                for a in self._types[name].attributes
            }
            self._tables[name].add(times, arrivals, names, values)
        instants = [event.timestamp for event in events]
        return min(instants), max(instants)

    def _take_columns(self, batch: pa.RecordBatch) -> tuple[int, int]:
        import pyarrow as pa
        import pyarrow.compute as pc

        compute: Any = pc
        types: Any = batch.column(TYPE)
        names = types.dictionary.to_pylist()
        counts: Counter[int] = Counter(
            {pair["values"]: pair["counts"] for pair in types.indices.value_counts().to_pylist()}
        )
        times: Any = batch.column(TIMESTAMP).cast(pa.int64())
        arrivals = pa.array(range(self._arrived, self._arrived + len(batch)), pa.int64())
        for index, count in counts.items():
            name = names[index]
            if name not in self._tables:
                self._unknown += count
                continue
            rows = compute.indices_nonzero(compute.equal(types.indices, index))
            self._tables[name].add(
                times.take(rows),
                arrivals.take(rows),
                batch.column(ID).take(rows),
                {a.name: batch.column(a.name).take(rows) for a in self._types[name].attributes},
            )
        limits = compute.min_max(times).as_py()
        return limits["min"], limits["max"]


class _Table:
    """The events of one type."""

    def __init__(self, folder: Path, type_: EventType) -> None:
        import pyarrow as pa

        self.rows = 0
        self.named = 0
        self._folder = folder
        self._type = type_
        self._files = 0
        self._waiting: list[pa.RecordBatch] = []
        fields: list[Any] = [
            pa.field(_AT, pa.timestamp("us", "UTC")),
            pa.field(_ARRIVAL, pa.int64()),
            pa.field(_NAME, pa.string()),
            *(pa.field(f"{_PREFIX}{a.name}", arrow_type(a.type)) for a in type_.attributes),
        ]
        self._schema = pa.schema(fields)

    def add(self, times: Any, arrivals: Any, names: Any, values: Mapping[str, Any]) -> None:
        import pyarrow as pa

        columns = [times.cast(self._schema.field(_AT).type), arrivals, names, *values.values()]
        self._waiting.append(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        self.rows += len(times)
        self.named += len(names) - names.null_count
        if sum(len(batch) for batch in self._waiting) >= ROWS:
            self.flush()

    def flush(self) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        if not self._waiting and self._files:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        table = pa.Table.from_batches(self._waiting, self._schema)
        parquet.write_table(table, self._folder / f"{self._files:06}.parquet", compression="lz4")
        self._files += 1
        self._waiting.clear()

    def source(self, spark: SparkSession) -> Source:
        from pyspark.sql.pandas.types import from_arrow_schema

        # With a schema Spark need not look for one, which would be a job for each type.
        return Source(
            spark.read.schema(from_arrow_schema(self._schema)).parquet(str(self._folder)),
            _AT,
            sequence=_ARRIVAL,
            columns={a.name: f"{_PREFIX}{a.name}" for a in self._type.attributes},
            id=_NAME if self.named else None,
        )
