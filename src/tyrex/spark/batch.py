"""Detection over tables: shuffle by shard, sort by time, an engine for each shard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from tyrex.rules import RuleSet
from tyrex.spark import wire as w
from tyrex.spark.planner import Part, SparkPlan, Split
from tyrex.spark.pushdown import filter_for
from tyrex.spark.sources import SPARK_TYPES, Events, Stream, frames_of, streams_of, time_of
from tyrex.spark.worker import Rules, Task, detect_shards, results_schema
from tyrex.tesla.types import EventType, ValueType

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

FIRST, LAST = -(2**63), 2**63 - 1
"""Places before and behind all events of an instant."""


@dataclass(frozen=True)
class Options:
    """How rules are run."""

    shards: int
    time_zone: str = "UTC"
    until: int | None = None
    lineage: bool = False
    ordered: bool = False
    """Whether the result says where each composite event belongs among all."""
    since: int | None = None
    """When time begins, if that is before the first event that some rule knows."""


def detect_in_table(events: Events, rules: RuleSet, plan: SparkPlan, options: Options) -> DataFrame:
    """The composite events of rules over DataFrames that are not streams."""
    layout = Layout(plan, options.shards)
    streams = streams_of(events, rules.types, plan.filters)
    has_ids = any(stream.id is not None for stream in streams)
    wire = w.lay_out(
        rules.types, {stream.type.name: needed(plan, stream) for stream in streams}, has_ids=has_ids
    )
    rows = reduce(
        lambda one, other: one.unionByName(other),
        [
            *(_rows(stream, plan, layout, wire) for stream in streams),
            *_ticks(events, plan, layout, wire, options),
        ],
    )
    ordered = rows.repartitionById(layout.count, _column(w.SHARD)).sortWithinPartitions(
        w.SHARD, w.SLICE, w.TIME, w.SEQUENCE, w.TYPE
    )
    task = task_of(rules, plan, layout, wire, options)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return detect_shards(task, batches)

    return ordered.mapInArrow(
        run, schema_of(task.composites, lineage=options.lineage, ordered=options.ordered)
    )


class Layout:
    """Which shards each part of a plan has."""

    def __init__(self, plan: SparkPlan, shards: int) -> None:
        self.first: list[int] = []
        self.width: list[int] = []
        self.count = 0
        for part in plan.parts:
            self.first.append(self.count)
            self.width.append(1 if part.split is Split.NONE else shards)
            self.count += self.width[-1]
        self.count = max(1, self.count)

    @property
    def part_of_shard(self) -> tuple[int, ...]:
        """For each shard, the part that it belongs to."""
        return tuple(part for part, width in enumerate(self.width) for _ in range(width))


def task_of(rules: RuleSet, plan: SparkPlan, layout: Layout, wire: w.Wire, options: Options) -> Task:
    """What the executors need."""
    types = tuple(rules.types.values())
    return Task(
        wire=wire,
        parts=tuple(
            Rules(types, tuple(rules[name].canonical_text for name in part.rules)) for part in plan.parts
        ),
        part_of_shard=layout.part_of_shard,
        slice_lengths=tuple(part.slice_length for part in plan.parts),
        composites=defined(rules),
        time_zone=options.time_zone,
        lineage=options.lineage,
        positions={rule.name: n for n, rule in enumerate(rules.plan.rules)} if options.ordered else None,
    )


def defined(rules: RuleSet) -> tuple[EventType, ...]:
    """The types that the rules make, in the order of the rules."""
    return tuple({rule.defines.name: rule.defines for rule in rules}.values())


def schema_of(composites: Iterable[EventType], *, lineage: bool, ordered: bool = False) -> str:
    """The columns of a result, as Spark writes them."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return (
        from_arrow_schema(results_schema(composites, lineage=lineage, ordered=ordered))
        .simpleString()
        .removeprefix("struct")[1:-1]
    )


def needed(plan: SparkPlan, stream: Stream) -> frozenset[str]:
    """The attributes that must travel: without ids of the source, an event is known by all that it holds."""
    if stream.id is not None:
        return plan.used[stream.type.name]
    return frozenset(attribute.name for attribute in stream.type.attributes)


# --- Rows ---------------------------------------------------------------------------------------------------


def _rows(stream: Stream, plan: SparkPlan, layout: Layout, wire: w.Wire) -> DataFrame:
    """The events of one type that some rule can use, each once for every shard that needs it."""
    from pyspark.sql import functions as sf

    name = stream.type.name
    frame = stream.frame
    condition = filter_for(plan.filters[name], stream.type, stream.raw)
    if condition is not None:
        frame = frame.where(condition)
    content = [*stream.attributes.values(), *([stream.id] if stream.id is not None else [])]
    sequence = sf.xxhash64(sf.lit(name), *content) if stream.sequence is None else stream.sequence
    slots: Mapping[str, str] = {slot: attribute for attribute, slot in wire.places[name].items()}
    columns = {
        w.TYPE: sf.lit(wire.number(name)).cast("int"),
        w.TIME: stream.time,
        w.SEQUENCE: sequence,
        **({w.ID: sf.lit(None).cast("string") if stream.id is None else stream.id} if wire.has_ids else {}),
        **{
            slot: stream.attributes[slots[slot]] if slot in slots else sf.lit(None).cast(SPARK_TYPES[kind])
            for slot, kind in wire.slots.items()
        },
    }
    places = [
        _places(part, layout.first[number], layout.width[number], stream, stream.time)
        for number, part in enumerate(plan.parts)
        if name in part.unit.types
    ]
    if len(places) == 1 and plan_is_plain(plan, name):
        shard, slice_ = places[0][0]
        return frame.select(
            shard.alias(w.SHARD), slice_.alias(w.SLICE), *(c.alias(n) for n, c in columns.items())
        )
    everywhere = sf.array(
        *(
            sf.struct(shard.alias(w.SHARD), slice_.alias(w.SLICE))
            for group in places
            for shard, slice_ in group
        )
    )
    # A slice of time that an event does not reach into is given as the event's own: it is there once.
    return frame.select(
        sf.explode(sf.array_distinct(everywhere)).alias("place"), *(c.alias(n) for n, c in columns.items())
    ).select(f"place.{w.SHARD}", f"place.{w.SLICE}", *columns)


def plan_is_plain(plan: SparkPlan, name: str) -> bool:
    """Whether each event of a type goes to one place."""
    parts = [part for part in plan.parts if name in part.unit.types]
    return len(parts) == 1 and parts[0].split is not Split.TIME


def _places(part: Part, first: int, width: int, stream: Stream, time: Column) -> list[tuple[Column, Column]]:
    """The shards and slices that an event goes to in a part."""
    from pyspark.sql import functions as sf

    none = sf.lit(0).cast("long")
    if part.split is Split.NONE:
        return [(sf.lit(first), none)]
    if part.split is Split.TIME:
        own = _floor_div(time, part.slice_length)
        following = _floor_div(time + sf.lit(part.overlap).cast("long"), part.slice_length)
        return [(_shard(first, width, sf.xxhash64(slice_)), slice_) for slice_ in (own, following)]
    key = (part.unit.key or {}).get(stream.type.name)
    if key is None:
        return [(_shard(first, width, sf.xxhash64(time, *stream.attributes.values())), none)]
    value = stream.attributes[key.name]
    if key.hash_as is ValueType.FLOAT:
        number = value.cast("double")
        # 0.0 and -0.0 are one value, and a NaN is read as null.
        value = sf.when(number == 0.0, sf.lit(0.0)).when(~sf.isnan(number), number)
    return [(_shard(first, width, sf.xxhash64(value)), none)]


def _shard(first: int, width: int, hashed: Column) -> Column:
    from pyspark.sql import functions as sf

    return (sf.lit(first) + sf.pmod(hashed, sf.lit(width))).cast("int")


def _floor_div(time: Column, length: int) -> Column:
    from pyspark.sql import functions as sf

    whole = sf.lit(length).cast("long")
    return ((time - sf.pmod(time, whole)) / whole).cast("long")


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
    bounds = times.agg(sf.min("t").alias("least"), sf.max("t").alias("greatest")).where(
        sf.col("least").isNotNull()
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
