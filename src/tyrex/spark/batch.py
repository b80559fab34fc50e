"""Detection over tables: shuffle by shard, sort by time, an engine for each shard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from tyrex.rules import RuleSet
from tyrex.spark import wire as w
from tyrex.spark.planner import SparkPlan
from tyrex.spark.pushdown import filter_for
from tyrex.spark.rows import Layout, needed, place_rows
from tyrex.spark.sources import (
    SPARK_TYPES,
    Events,
    Source,
    Stream,
    by_source,
    frames_of,
    is_of,
    is_valid,
    streams_of,
    time_of,
)
from tyrex.spark.tasks import Options, defined, schema_of, task_of
from tyrex.spark.worker import Task, detect_shards

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

FIRST, LAST = -(2**63), 2**63 - 1
"""Places before and behind all events of an instant."""


@dataclass(frozen=True)
class Ordered:
    """The events that some rule can use, where they are needed and in their order, and what is to be done with them."""

    rows: DataFrame
    task: Task


def detect_in_table(events: Events, rules: RuleSet, plan: SparkPlan, options: Options) -> DataFrame:
    """The composite events of rules over DataFrames that are not streams."""
    schema = schema_of(defined(rules), lineage=options.lineage, ordered=options.ordered)
    ordered = in_order(events, rules, plan, options)
    if ordered is None:
        return frames_of(events)[0].frame.sparkSession.createDataFrame([], schema)
    task = ordered.task

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return detect_shards(task, batches)

    return ordered.rows.mapInArrow(run, schema)


def in_order(events: Events, rules: RuleSet, plan: SparkPlan, options: Options) -> Ordered | None:
    """Divide events among shards, and sort those of each; None if no rule looks at any of them."""
    layout = Layout(plan, options.shards)
    streams = streams_of(events, rules.types, plan.filters)
    has_ids = any(stream.id is not None for stream in streams)
    wire = w.lay_out(
        rules.types, {stream.type.name: needed(plan, stream) for stream in streams}, has_ids=has_ids
    )
    found = [
        *(
            _rows(events, source, own, plan, layout, wire)
            for source, own in by_source(events, streams)
            if own
        ),
        *_ticks(events, plan, layout, wire, options),
    ]
    if not found:
        return None
    rows = reduce(lambda one, other: one.unionByName(other), found)
    ordered = rows.repartitionById(layout.count, _column(w.SHARD)).sortWithinPartitions(
        w.SHARD, w.SLICE, w.TIME, w.SEQUENCE, w.TYPE
    )
    return Ordered(ordered, task_of(rules, plan, layout, wire, options))


# --- Rows ---------------------------------------------------------------------------------------------------

_KIND = "tyrex kind"


def _rows(
    events: Events, source: Source, streams: list[Stream], plan: SparkPlan, layout: Layout, wire: w.Wire
) -> DataFrame:
    """The events of one source that some rule can use, each once for every shard that needs it."""
    from pyspark.sql import functions as sf

    wanted = [
        _usable(stream, plan)
        if isinstance(events, Mapping)
        else is_of(stream, events) & _usable(stream, plan)
        for stream in streams
    ]
    frame = source.frame.where(reduce(or_, wanted))
    frame = frame.where(is_valid(streams[0].time))
    if streams[0].sequence is not None:
        frame = frame.where(streams[0].sequence.isNotNull())
    numbers = [wire.number(stream.type.name) for stream in streams]
    if len(streams) == 1:
        return place_rows(frame, streams, plan, layout, wire, sf.lit(numbers[0]).cast("int"))
    kind = sf.lit(numbers[-1])
    for number, stream in zip(numbers[-2::-1], streams[-2::-1], strict=True):
        kind = sf.when(is_of(stream, events), number).otherwise(kind)
    return place_rows(
        frame.withColumn(_KIND, kind.cast("int")), streams, plan, layout, wire, sf.col(f"`{_KIND}`")
    )


def _usable(stream: Stream, plan: SparkPlan) -> Column:
    """Whether some rule can use an event."""
    from pyspark.sql import functions as sf

    condition = filter_for(plan.filters[stream.type.name], stream.type, stream.raw)
    return sf.lit(True) if condition is None else condition


def _column(name: str) -> Column:
    from pyspark.sql import functions as sf

    return sf.col(name)


def _ticks(
    events: Events, plan: SparkPlan, layout: Layout, wire: w.Wire, options: Options
) -> list[DataFrame]:
    """Rows that tell the shards of parts with timers when time begins and how far it comes."""
    from pyspark.sql import functions as sf

    shards = [
        layout.first[number] + at
        for number, part in enumerate(plan.parts)
        if part.unit.timers
        for at in range(layout.width[number])
    ]
    if not shards:
        return []
    times = reduce(
        lambda one, other: one.union(other),
        [
            source.frame.select(time_of(source.frame, source.timestamp, "an input").alias("t"))
            for source in frames_of(events)
        ],
    )
    bounds = (
        times.where(is_valid(sf.col("t")))
        .agg(sf.min("t").alias("least"), sf.max("t").alias("greatest"))
        .where(sf.col("least").isNotNull())
    )
    start, end = sf.col("least"), sf.col("greatest")
    if options.since is not None:
        start = sf.least(start, sf.lit(options.since).cast("long"))
    if options.until is not None:
        end = sf.greatest(end, sf.lit(options.until).cast("long"))
    ends = sf.explode(
        sf.array(
            sf.struct(start.alias("at"), sf.lit(FIRST).cast("long").alias("place")),
            sf.struct(end.alias("at"), sf.lit(LAST).cast("long").alias("place")),
        )
    )
    return [
        bounds.select(ends.alias("end"))
        .select("end", sf.explode(sf.array(*(sf.lit(shard).cast("int") for shard in shards))).alias(w.SHARD))
        .select(
            w.SHARD,
            sf.lit(0).cast("long").alias(w.SLICE),
            sf.lit(w.TICK).cast("int").alias(w.TYPE),
            sf.col("end.at").alias(w.TIME),
            sf.col("end.place").alias(w.SEQUENCE),
            *([sf.lit(None).cast("string").alias(w.ID)] if wire.has_ids else []),
            *(sf.lit(None).cast(SPARK_TYPES[kind]).alias(slot) for slot, kind in wire.slots.items()),
        )
    ]
