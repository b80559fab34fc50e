"""The same rules over Spark's tables and streams."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tyrex.engine.engine import Moment, Span, microseconds
from tyrex.events import to_microseconds
from tyrex.rules import RuleSet, parse
from tyrex.spark.batch import detect_in_table
from tyrex.spark.finish import finish_stream
from tyrex.spark.planner import SparkPlan, plan_spark
from tyrex.spark.rejects import or_fail, with_rejected
from tyrex.spark.rule_stream import RuleStream, plan_live
from tyrex.spark.sources import Events, History, SourceError, frames_of
from tyrex.spark.streaming import detect_in_stream
from tyrex.spark.tasks import Options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def detect(
    events: Events,
    rules: RuleSet | str | RuleStream,
    *,
    time_zone: str = "UTC",
    until: Moment | None = None,
    lineage: bool = False,
    shards: int | None = None,
    delay: Span = 0,
    history: History | None = None,
    strict: bool = False,
    skewed: bool = False,
) -> DataFrame:
    """The composite events that rules find in DataFrames.

    `events` is one DataFrame with the columns `type`, `timestamp` and the attributes, or a DataFrame or `Source` for
    each type of events. The result has the columns `type`, `timestamp`, `id`, `rule`, and for each type that the
    rules define a struct with its attributes; `of(result, "Fire")` makes columns of them. With `lineage` it also has
    the events that each composite was made of. `until` moves the end of the input on, for timers and deadlines that
    are due later than the last event. `shards` is into how many shards a part of the rules that can be
    split is split; without it, as many as Spark has shuffle partitions.

    Rows of tables that are no events come out as rows with the column `rejected`: those without a type that the
    rules know, without a valid timestamp, or without the sequence that the others have. With `strict` they end the job.

    `skewed` says that a few keys have a large share of a table's events. Then the rules that have a key are divided by
    time all the same, where they allow it, so that no shard has more than its share.

    Of streams, `delay` is how far behind the latest one an event may come: events wait so long, and are then processed
    in order. What is older than the watermark with which its micro-batch begins is late, and comes out as a row with
    the column `rejected`. At the end of a stream's input, `finish` has what still waits. With a `RuleStream` the rules
    of a stream change while it runs, and `changes` tells what became of each change. With a `history` the rules run
    over its tables first, and go on with the stream where these end.
    """
    live = rules if isinstance(rules, RuleStream) else None
    rules = _read(rules)
    sources = frames_of(events)
    if not sources:
        raise SourceError("there are no events: give at least one DataFrame")
    count = shards or _usual_shards(sources[0].frame)
    options = Options(count, time_zone, None if until is None else to_microseconds(until), lineage)
    if not any(source.frame.isStreaming for source in sources):
        if any(source.problem is not None for source in sources):
            raise SourceError("a table has no `problem`: leave the rows out that are no events")
        if live is not None:
            raise SourceError("rules can change over streams only: give tables the rules themselves")
        if history is not None:
            raise SourceError("a history comes before a stream, and these are tables: put them together")
        found = detect_in_table(events, rules, plan_spark(rules, skewed=skewed), options)
        return (or_fail if strict else with_rejected)(found, events, rules)
    if strict:
        raise SourceError("a stream tells what it rejects and goes on: `strict` is for tables")
    if skewed:
        raise SourceError("a stream can't be divided by time: `skewed` is for tables")
    if until is not None:
        raise SourceError("a stream has no end that `until` could move on: give it to `finish`")
    options = replace(options, live=live is not None)
    plan = _plan(events, rules, live)
    return detect_in_stream(events, rules, plan, options, microseconds(delay), live, history)


def finish(
    events: Events,
    rules: RuleSet | str | RuleStream,
    checkpoint: str | Path,
    *,
    time_zone: str = "UTC",
    until: Moment | None = None,
    lineage: bool = False,
    shards: int | None = None,
    history: History | None = None,
) -> DataFrame:
    """The composite events that a stream has not yet told, as if its input had ended: a table, not a stream.

    They come from the state in the checkpoint of a query over `detect` that has stopped; all else is given as it
    was to `detect`. The state is only read, so the query can go on later. `until` moves the end of the input on.
    """
    live = rules if isinstance(rules, RuleStream) else None
    rules = _read(rules)
    count = shards or _usual_shards(frames_of(events)[0].frame)
    options = Options(
        count, time_zone, None if until is None else to_microseconds(until), lineage, live=live is not None
    )
    return finish_stream(events, rules, _plan(events, rules, live), options, checkpoint, history)


def _read(rules: RuleSet | str | RuleStream) -> RuleSet:
    if isinstance(rules, RuleStream):
        return rules.read_initial()
    return parse(rules) if isinstance(rules, str) else rules


def _plan(events: Events, rules: RuleSet, live: RuleStream | None) -> SparkPlan:
    return plan_spark(rules, streaming=True) if live is None else plan_live(rules, live, events)


def composites(result: DataFrame) -> DataFrame:
    """Only the composite events of a result, without what was rejected."""
    if "rejected" not in result.columns:
        return result
    if "change" in result.columns:
        result = result.where("change is null").drop("change")
    return result.where("rejected is null").drop("rejected")


def rejected(result: DataFrame) -> DataFrame:
    """What was not processed: late events of a stream, rows without a valid timestamp, a known type or a sequence.

    Of a table only that is computed, so to look at it, or to count it, detects nothing.
    """
    if "rejected" not in result.columns:
        raise SourceError(
            "the result has no column `rejected`: a strict detection has none, as it rejects nothing"
        )
    return result.where("rejected is not null").select("type", "timestamp", "id", "rejected.*")


def changes(result: DataFrame) -> DataFrame:
    """What became of the changes of rules: a row for each file, with the watermark at which it counted."""
    if "change" not in result.columns:
        raise SourceError("the rules of this result do not change: give `detect` a `RuleStream`")
    return result.where("change is not null").select("timestamp", "id", "change.*")


def of(result: DataFrame, type_name: str, attributes: str | None = None) -> DataFrame:
    """The composite events of one type, with their attributes as columns.

    A type that rules brought while a stream ran has a column `attributes` instead, a map of texts. If it is said what
    they are, as in `"area string, value double"`, they become columns as well.
    """
    from pyspark.sql import functions as sf

    rest = ["lineage"] if "lineage" in result.columns else []
    found = composites(result).where(sf.col("type") == type_name)
    if type_name in result.columns and type_name not in _COMMON:
        # Not by `Fire.*`: a table with that name would come first.
        fields = result.select(f"`{type_name}`").schema[0].dataType
        own = [sf.col(f"`{type_name}`").getField(name).alias(name) for name in getattr(fields, "names", ())]
        return found.select("timestamp", "id", "rule", *rest, *own)
    if "change" not in result.columns:
        made = [field.name for field in result.schema.fields if field.name not in _COMMON]
        raise SourceError(f"the rules define no `{type_name}`; they define {', '.join(made)}")
    if attributes is None:
        return found.select("timestamp", "id", "rule", *rest, "attributes")
    from pyspark.sql.types import StructType

    wanted = StructType.fromDDL(attributes)
    if not isinstance(wanted, StructType):
        raise SourceError(f"`{attributes}` names no attributes: write them as in `area string, value double`")
    columns = [
        sf.col("attributes")[field.name].cast(field.dataType).alias(field.name) for field in wanted.fields
    ]
    return found.select("timestamp", "id", "rule", *rest, *columns)


_COMMON = ("type", "timestamp", "id", "rule", "lineage", "rejected", "change", "attributes")


def _usual_shards(frame: DataFrame) -> int:
    return max(1, int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200))
