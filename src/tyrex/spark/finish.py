"""The end of a stream: what its state would still bring forth if no event came any more."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tyrex.rules import RuleSet
from tyrex.spark.packing import NEVER
from tyrex.spark.planner import SparkPlan
from tyrex.spark.shard import report
from tyrex.spark.shard_state import Page, checked, rebuild
from tyrex.spark.sources import Events, History, frames_of
from tyrex.spark.streaming import prepare, spark_schema
from tyrex.spark.tasks import Options
from tyrex.spark.worker import Task

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def finish_stream(
    events: Events,
    rules: RuleSet,
    plan: SparkPlan,
    options: Options,
    checkpoint: str | Path,
    history: History | None = None,
) -> DataFrame:
    """The composite events that are still to come out of the state in a checkpoint."""
    spark = frames_of(events)[0].frame.sparkSession
    prepared = prepare(events, rules, plan, options, history)
    task, made_by, until = prepared.task, prepared.made_by, options.until
    state = _read_state(spark, str(checkpoint))

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _finish_shards(task, made_by, until, batches)

    ordered = state.repartition("shard").sortWithinPartitions("shard", "kind", "number")
    return ordered.mapInArrow(run, spark_schema(task))


def _read_state(spark: SparkSession, checkpoint: str) -> DataFrame:
    """All of the state as rows of one form."""
    from pyspark.sql import functions as sf

    def variable(name: str) -> DataFrame:
        reader = spark.read.format("statestore").option("stateVarName", name)
        return reader.load(checkpoint)

    none = sf.lit(None)
    page = variable("page").select(
        sf.col("key.shard").alias("shard"),
        sf.lit("a page").alias("kind"),
        sf.lit(0).alias("number"),
        sf.to_json("value").alias("page"),
        none.cast("binary").alias("bytes"),
    )
    return page.unionByName(
        variable("pieces")
        .select("*", sf.lit("b piece").alias("kind"))
        .unionByName(variable("chunks").select("*", sf.lit("c chunk").alias("kind")))
        .select(
            sf.col("key.shard").alias("shard"),
            "kind",
            sf.col("user_map_key.number").alias("number"),
            none.cast("string").alias("page"),
            sf.col("user_map_value.bytes").alias("bytes"),
        )
    )


def _finish_shards(
    task: Task, made_by: str, until: int | None, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Finish the shards of one partition: the rows of each come together, its page first."""
    current: list[dict[str, Any]] = []
    for batch in batches:
        for row in batch.to_pylist():
            if current and row["shard"] != current[0]["shard"]:
                yield from _finish_shard(task, made_by, until, current)
                current = []
            current.append(row)
    if current:
        yield from _finish_shard(task, made_by, until, current)


def _finish_shard(
    task: Task, made_by: str, until: int | None, rows: list[dict[str, Any]]
) -> Iterator[pa.RecordBatch]:
    page = checked(Page(**json.loads(rows[0]["page"])), made_by)
    snapshot = b"".join(row["bytes"] for row in rows if row["kind"] == "b piece") or None
    chunks = [(row["number"], row["bytes"]) for row in rows if row["kind"] == "c chunk"]
    shard = rebuild(task, rows[0]["shard"], page, snapshot, chunks)
    end = max(page.greatest, NEVER if until is None else until)
    results = report(task, shard.finish(end, page.begin))
    if results is not None:
        yield from results.to_batches()
