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
from tyrex.spark.shard_state import Page, checked
from tyrex.spark.sources import Events, History, frames_of
from tyrex.spark.state import by_shard, read_state, rebuilt_from
from tyrex.spark.streaming import prepare, spark_schema
from tyrex.spark.tasks import Options
from tyrex.spark.worker import Task

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


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
    state = read_state(spark, checkpoint)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _finish_shards(task, made_by, until, batches)

    ordered = state.repartition("shard").sortWithinPartitions("shard", "kind", "number")
    return ordered.mapInArrow(run, spark_schema(task))


def _finish_shards(
    task: Task, made_by: str, until: int | None, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Finish the shards of one partition: the rows of each come together, its page first."""
    for rows in by_shard(batches):
        yield from _finish_shard(task, made_by, until, rows)


def _finish_shard(
    task: Task, made_by: str, until: int | None, rows: list[dict[str, Any]]
) -> Iterator[pa.RecordBatch]:
    page = checked(Page(**json.loads(rows[0]["text"])), made_by)
    shard = rebuilt_from(rows, page, task)
    end = max(page.greatest, NEVER if until is None else until)
    results = report(task, shard.finish(end, page.begin))
    if results is not None:
        yield from results.to_batches()
