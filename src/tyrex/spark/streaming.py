"""Detection over streams: rows are packed for their shards, and each shard's engine lives in Spark's state.

The clock is Spark's watermark: the greatest timestamp of all rows before this micro-batch, minus the delay. An event
is late if it is older than that when its micro-batch begins. All others wait until the watermark has passed them, and
are then processed in the order that a table would give them.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from tyrex.events import to_microseconds
from tyrex.rules import RuleSet
from tyrex.spark import wire as w
from tyrex.spark.live import Ground
from tyrex.spark.packing import CHANGE, MAIN, PACKED, RESULTS, pack, unpack
from tyrex.spark.planner import SparkPlan
from tyrex.spark.pushdown import filter_for
from tyrex.spark.rows import Layout, columns_of, needed, places_of
from tyrex.spark.rule_stream import INITIAL, RuleStream, ground_of
from tyrex.spark.shard import stream_schema
from tyrex.spark.sources import (
    SPARK_TYPES,
    Events,
    History,
    SourceError,
    Stream,
    by_source,
    frames_of,
    is_of,
    is_valid,
    streams_of,
    time_of,
)
from tyrex.spark.tasks import Options, task_of
from tyrex.spark.worker import Task

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

_PLACES = "places"
_AT = "tyrex_at"


@dataclass(frozen=True)
class Prepared:
    """A stream that is planned."""

    task: Task
    layout: Layout
    wire: w.Wire
    streams: list[Stream]
    made_by: str
    """A hash of all that the state depends on."""
    ground: Ground | None
    """What rules that come later must fit, if rules come and go."""
    before: list[Stream]
    """What the tables of a history bring."""
    seam: int | None
    """Where the history ends and the stream begins, in microseconds."""


def prepare(
    events: Events, rules: RuleSet, plan: SparkPlan, options: Options, history: History | None = None
) -> Prepared:
    """Check the sources of a stream, and lay out what travels."""
    layout = Layout(plan, options.shards)
    streams = streams_of(events, rules.types, plan.filters)
    before = [] if history is None else streams_of(history.events, rules.types, plan.filters)
    travels: dict[str, frozenset[str]] = {}
    for stream in (*streams, *before):
        name = stream.type.name
        travels[name] = travels.get(name, frozenset()) | needed(plan, stream)
    wire = w.lay_out(
        rules.types, travels, has_ids=any(stream.id is not None for stream in (*streams, *before))
    )
    task = task_of(rules, plan, layout, wire, options)
    ground = ground_of(rules, plan) if options.live else None
    parts = (task.wire, task.parts, task.part_of_shard, task.time_zone, *([ground] if ground else []))
    seam = None if history is None else to_microseconds(history.before)
    if seam is not None:
        parts = (*parts, seam)
    made_by = blake2b(repr(parts).encode(), digest_size=16).hexdigest()
    return Prepared(task, layout, wire, streams, made_by, ground, before, seam)


def detect_in_stream(
    events: Events,
    rules: RuleSet,
    plan: SparkPlan,
    options: Options,
    delay: int,
    changes: RuleStream | None = None,
    history: History | None = None,
) -> DataFrame:
    """The composite events of rules over streaming DataFrames; late and bad events are among the rows."""
    from pyspark.sql import functions as sf

    from tyrex.spark.processor import Job, ShardProcessor

    if not all(source.frame.isStreaming for source in frames_of(events)):
        raise SourceError(
            "some of the DataFrames are streams and some are tables: give either all as streams, or none"
        )
    prepared = prepare(events, rules, plan, options, history)
    calendar, clocked = (
        [n for n, part in enumerate(prepared.layout.part_of_shard) if getattr(plan.parts[part].unit, kind)]
        for kind in ("calendar", "timers")
    )
    if history is not None:
        clocked = list(range(prepared.layout.count))  # the first micro-batch sets all of them off
    rows = _rows(events, prepared.streams, plan, prepared)
    if prepared.seam is not None:
        # Rows without a valid time stay, to be told.
        rows = rows.where(sf.col(_AT).isNull() | (sf.col(w.TIME) >= prepared.seam))
    if changes is not None:
        rows = _with_changes(rows, changes, prepared)
    milliseconds = -(-delay // 1000)
    timed = rows.withWatermark(_AT, f"{milliseconds} milliseconds")
    task = prepared.task
    job = Job(
        task,
        uuid.uuid4().hex,
        prepared.made_by,
        frozenset(calendar),
        ground=prepared.ground,
        seam=prepared.seam,
    )
    past = None
    if history is not None:
        if any(source.frame.isStreaming for source in frames_of(history.events)):
            raise SourceError("a history is of tables, and one of its DataFrames is a stream")
        own = _rows(history.events, prepared.before, plan, prepared)
        own = own.where(sf.col(_AT).isNull() | (sf.col(w.TIME) < sf.lit(prepared.seam)))
        past = _packed(own, clocked).groupBy(w.SHARD)
    results = (
        _packed(timed, clocked)
        .groupBy(w.SHARD)
        .transformWithStateInPandas(
            ShardProcessor(job),
            outputStructType=RESULTS,
            outputMode="Append",
            timeMode="EventTime",
            initialState=past,
        )
    )
    return results.mapInArrow(unpack, spark_schema(task))


def _packed(rows: DataFrame, clocked: Sequence[int]) -> DataFrame:
    """Rows as blobs for the shards that they go to."""
    from pyspark.sql import functions as sf

    everywhere = sf.posexplode_outer if clocked else sf.posexplode
    # The condition names the time, so that Spark does not look at it before it has looked at the time of all rows.
    placed = (
        rows.where(sf.lit(bool(clocked)) | sf.col(_AT).isNull() | (sf.size(_PLACES) > 0))
        .select("*", everywhere(_PLACES).alias("place_number", w.SHARD))
        .select(
            w.SHARD,
            (sf.col("place_number") == 0).alias(MAIN),
            *(name for name in rows.columns if name not in (_AT, _PLACES)),
        )
    )
    clocked_shards = tuple(clocked)

    def run_pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return pack(batches, clocked_shards)

    return placed.mapInArrow(run_pack, PACKED)


def spark_schema(task: Task) -> str:
    """The columns of a stream's results, as Spark writes them."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(stream_schema(task)).simpleString().removeprefix("struct")[1:-1]


# --- Rows ---------------------------------------------------------------------------------------------------


def _rows(events: Events, streams: list[Stream], plan: SparkPlan, prepared: Prepared) -> DataFrame:
    """The rows of all sources, each read once, each with its time and the shards that it goes to, perhaps none."""
    return reduce(lambda one, other: one.unionByName(other), _rows_by_source(events, streams, plan, prepared))


def _rows_by_source(
    events: Events, streams: list[Stream], plan: SparkPlan, prepared: Prepared
) -> Iterator[DataFrame]:
    from pyspark.sql import functions as sf

    tell = any(source.problem is not None for source in frames_of(events))
    nothing = _nothing(prepared.wire)
    for source, own in by_source(events, streams):
        time = time_of(source.frame, source.timestamp, "an input")
        problem = sf.lit(None).cast("string") if source.problem is None else sf.col(source.problem)
        if source.problem is not None:
            time = sf.when(problem.isNull(), time)
        valid = is_valid(time)
        branches = [(is_of(stream, events), _columns(stream, plan, prepared)) for stream in own]
        if source.problem is not None:
            branches.insert(0, (problem.isNotNull(), nothing | {_PLACES: sf.array(sf.lit(0))}))
        yield source.frame.select(
            sf.when(valid, sf.timestamp_micros(time)).alias(_AT),
            sf.when(valid, time).alias(w.TIME),
            *(
                _choose([(is_of, columns[name]) for is_of, columns in branches], other).alias(name)
                for name, other in nothing.items()
            ),
            *([problem.alias(w.PROBLEM)] if tell else []),
        )


def _with_changes(rows: DataFrame, given: RuleStream, prepared: Prepared) -> DataFrame:
    """The rows of events, and those of changes of rules: each goes to all shards."""
    from pyspark.sql import functions as sf

    if "://" not in str(given.path) and not Path(given.path).is_dir():
        raise SourceError(f"there is no directory {given.path} to read changes of rules from: make it first")
    files = (
        rows.sparkSession.readStream.format("text")
        .option("wholetext", True)
        .option("pathGlobFilter", "*.tesla")
        .load(str(given.path))
    )
    name = sf.element_at(sf.split("_metadata.file_path", "/"), -1)
    record = sf.to_json(
        sf.struct(
            sf.unix_micros("_metadata.file_modification_time").alias("modified"),
            sf.url_decode(name).alias("file"),
            sf.col("value").alias("text"),
        )
    )
    everywhere = sf.array(*(sf.lit(number) for number in range(prepared.layout.count)))
    own = {CHANGE: record, _PLACES: everywhere}
    blank = [sf.lit(None).cast(field.dataType).alias(field.name) for field in rows.schema.fields]
    changes = files.where(name != INITIAL).select(
        *(
            own[field.name].alias(field.name) if field.name in own else one
            for field, one in zip(rows.schema.fields, blank, strict=True)
        ),
        own[CHANGE].alias(CHANGE),
    )
    return rows.withColumn(CHANGE, sf.lit(None).cast("string")).unionByName(changes)


def _columns(stream: Stream, plan: SparkPlan, prepared: Prepared) -> dict[str, Column]:
    from pyspark.sql import functions as sf

    columns = columns_of(stream, prepared.wire)
    places = sf.array_distinct(sf.array(*(place.shard for place in places_of(stream, plan, prepared.layout))))
    condition = filter_for(plan.filters[stream.type.name], stream.type, stream.raw)
    columns[_PLACES] = places if condition is None else sf.when(condition, places).otherwise(_no_places())
    return columns


def _nothing(wire: w.Wire) -> dict[str, Column]:
    """What a row has that is there for its time only."""
    from pyspark.sql import functions as sf

    none = sf.lit(None)
    return {
        w.TYPE: none.cast("int"),
        w.SEQUENCE: none.cast("long"),
        **({w.ID: none.cast("string")} if wire.has_ids else {}),
        **{slot: none.cast(SPARK_TYPES[kind]) for slot, kind in wire.slots.items()},
        _PLACES: _no_places(),
    }


def _no_places() -> Column:
    from pyspark.sql import functions as sf

    return sf.array().cast("array<int>")


def _choose(branches: list[tuple[Column, Column]], other: Column) -> Column:
    from pyspark.sql import functions as sf

    for condition, column in reversed(branches):
        other = sf.when(condition, column).otherwise(other)
    return other
