"""Histories as streams: cut into micro-batches, written as files, run and brought to their end."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from tyrex import Event, RuleSet
from tyrex.spark import Source, detect, finish
from tyrex.tesla.types import TIMER, EventType, ValueType

ARROW = {
    ValueType.STRING: pa.string(),
    ValueType.INT: pa.int64(),
    ValueType.FLOAT: pa.float64(),
    ValueType.BOOL: pa.bool_(),
}


class Files:
    """A folder of files for each type, one file for each micro-batch."""

    def __init__(self, folder: Path, rules: RuleSet, events: Sequence[Event] = ()) -> None:
        self.folder, self.rules = folder, rules
        present = {event.type for event in events}
        self.types = [
            type_
            for name, type_ in rules.types.items()
            if name != TIMER.name and (name in present or name in rules.plan.types_needed)
        ]
        self.has_ids = {event.type for event in events if event.id is not None}
        self.written = 0
        for type_ in self.types:
            (folder / "in" / type_.name).mkdir(parents=True, exist_ok=True)

    def write(self, batch: Sequence[tuple[int, Event]]) -> None:
        """One more micro-batch: events with their places in the order of arrival."""
        for type_ in self.types:
            own = [(n, event) for n, event in batch if event.type == type_.name]
            pq.write_table(_table(type_, own), self.folder / "in" / type_.name / f"{self.written:05}.parquet")
        self.written += 1

    def sources(self, spark: SparkSession) -> dict[str, DataFrame | Source]:
        """The folders as streams."""
        found: dict[str, DataFrame | Source] = {}
        for type_ in self.types:
            columns = {attribute.name: f"a_{attribute.name}" for attribute in type_.attributes}
            path = self.folder / "in" / type_.name
            schema = from_arrow_schema(_table(type_, []).schema)
            frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(path))
            id_ = "name" if type_.name in self.has_ids else None
            found[type_.name] = Source(frame, "at", sequence="arrival", id=id_, columns=columns)
        return found


def _table(type_: EventType, events: list[tuple[int, Event]]) -> pa.Table:
    columns: dict[str, Any] = {
        "arrival": pa.array([n for n, _ in events], pa.int64()),
        "at": pa.array([event.timestamp for _, event in events], pa.int64()).cast(pa.timestamp("us", "UTC")),
        "name": pa.array([event.id for _, event in events], pa.string()),
    }
    for attribute in type_.attributes:
        kind = ARROW[attribute.type]
        values = [event.attributes.get(attribute.name) for _, event in events]
        if attribute.type is ValueType.FLOAT:
            values = [float(v) if isinstance(v, int) else v for v in values]
        columns[f"a_{attribute.name}"] = pa.array(values, kind)
    return pa.table(columns)


def run(found: DataFrame, checkpoint: Path, rows: list[Any]) -> None:
    """Run a query over all that is there, and keep its rows."""

    def take(frame: DataFrame, batch: int) -> None:
        rows.extend(frame.collect())

    query = (
        found.writeStream.foreachBatch(take)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def streamed(
    spark: SparkSession,
    folder: Path,
    rules: RuleSet,
    batches: Sequence[Sequence[tuple[int, Event]]],
    *,
    delay: str = "1 day",
    until: int | None = None,
    **options: Any,
) -> tuple[list[tuple[str, ...]], list[Any]]:
    """What Spark finds in a stream and at its end, without an order; and the rows of rejected events."""
    files = Files(folder, rules, [event for batch in batches for _, event in batch])
    for batch in batches:
        files.write(batch)
    rows: list[Any] = []
    run(detect(files.sources(spark), rules, delay=delay, **options), folder / "checkpoint", rows)
    moment = None if until is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=until)
    rest = finish(files.sources(spark), rules, folder / "checkpoint", until=moment, **options)
    rows.extend(rest.collect())
    return answers(rows), [row for row in rows if row["rejected"] is not None]


def answers(rows: Sequence[Any]) -> list[tuple[str, ...]]:
    """Composite events as `frames.expected` writes them."""
    return sorted(
        (row["type"], row["id"], row["rule"], repr(sorted(row[row["type"]].asDict().items())))
        for row in rows
        if row["rejected"] is None
    )
