"""The same rules over Spark's tables and streams."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tyrex.engine.engine import Moment, Span, microseconds
from tyrex.events import to_microseconds
from tyrex.rules import RuleSet, parse
from tyrex.spark.batch import detect_in_table
from tyrex.spark.finish import finish_stream
from tyrex.spark.planner import plan_spark
from tyrex.spark.rejects import or_fail, with_rejected
from tyrex.spark.sources import Events, SourceError, frames_of
from tyrex.spark.streaming import detect_in_stream
from tyrex.spark.tasks import Options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def detect(
    events: Events,
    rules: RuleSet | str,
    *,
    time_zone: str = "UTC",
    until: Moment | None = None,
    lineage: bool = False,
    shards: int | None = None,
    delay: Span = 0,
    strict: bool = False,
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

    Of streams, `delay` is how far behind the latest one an event may come: events wait so long, and are then processed
    in order. What is older than the watermark with which its micro-batch begins is late, and comes out as a row with
    the column `rejected`. At the end of a stream's input, `finish` has what still waits.
    """
    rules = parse(rules) if isinstance(rules, str) else rules
    sources = frames_of(events)
    if not sources:
        raise SourceError("there are no events: give at least one DataFrame")
    count = shards or _usual_shards(sources[0].frame)
    options = Options(count, time_zone, None if until is None else to_microseconds(until), lineage)
    if not any(source.frame.isStreaming for source in sources):
        found = detect_in_table(events, rules, plan_spark(rules), options)
        return (or_fail if strict else with_rejected)(found, events, rules)
    if strict:
        raise SourceError("a stream tells what it rejects and goes on: `strict` is for tables")
    if until is not None:
        raise SourceError("a stream has no end that `until` could move on: give it to `finish`")
    return detect_in_stream(events, rules, plan_spark(rules, streaming=True), options, microseconds(delay))


def finish(
    events: Events,
    rules: RuleSet | str,
    checkpoint: str | Path,
    *,
    time_zone: str = "UTC",
    until: Moment | None = None,
    lineage: bool = False,
    shards: int | None = None,
) -> DataFrame:
    """The composite events that a stream has not yet told, as if its input had ended: a table, not a stream.

    They come from the state in the checkpoint of a query over `detect` that has stopped; all else is given as it
    was to `detect`. The state is only read, so the query can go on later. `until` moves the end of the input on.
    """
    rules = parse(rules) if isinstance(rules, str) else rules
    count = shards or _usual_shards(frames_of(events)[0].frame)
    options = Options(count, time_zone, None if until is None else to_microseconds(until), lineage)
    return finish_stream(events, rules, plan_spark(rules, streaming=True), options, checkpoint)


def composites(result: DataFrame) -> DataFrame:
    """Only the composite events of a result, without what was rejected."""
    if "rejected" not in result.columns:
        return result
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


def of(result: DataFrame, type_name: str) -> DataFrame:
    """The composite events of one type, with their attributes as columns."""
    from pyspark.sql import functions as sf

    if type_name not in result.columns:
        made = [field.name for field in result.schema.fields if field.name not in _COMMON]
        raise SourceError(f"the rules define no `{type_name}`; they define {', '.join(made)}")
    rest = ["lineage"] if "lineage" in result.columns else []
    return (
        composites(result)
        .where(sf.col("type") == type_name)
        .select("timestamp", "id", "rule", *rest, f"`{type_name}`.*")
    )


_COMMON = ("type", "timestamp", "id", "rule", "lineage", "rejected")


def _usual_shards(frame: DataFrame) -> int:
    return max(1, int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200))
