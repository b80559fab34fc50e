"""What a stream's checkpoint holds: the state of each shard, for people and for programs."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tyrex.spark import wire as w
from tyrex.spark.live import Catalogue, read_types, write_types
from tyrex.spark.packing import NEVER
from tyrex.spark.shard_state import Page, rebuild
from tyrex.spark.worker import Rules, Task
from tyrex.tesla.types import ValueType

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


class NoState(ValueError):
    """A folder is no checkpoint of a stream with rules."""


@dataclass(frozen=True)
class RuleState:
    """A rule of a shard."""

    name: str
    paused: bool
    evaluated: int
    """How often its terminator came."""
    fired: int
    """How many composite events it made."""


@dataclass(frozen=True)
class ShardState:
    """What the checkpoint of a stream holds of a shard."""

    shard: int
    part: int
    """The part of the plan that it belongs to, counted from 1 as `tyrex explain --on spark` does."""
    watermark: int | None
    """The stream's, in microseconds, when the shard last had something to do; None if it had nothing so far."""
    waiting: int
    """Events that wait for the watermark."""
    stored: Mapping[str, int] = field(hash=False)
    """By type, the events that some window may still reach."""
    open_deadlines: int
    snapshot_bytes: int
    chunks: int
    """The micro-batches whose events are in the state besides the snapshot."""
    chunk_bytes: int
    rules: tuple[RuleState, ...]


def shard_states(spark: SparkSession, checkpoint: str | Path) -> list[ShardState]:
    """The state of each shard in the checkpoint of a stream, after its last micro-batch; it is only read.

    Raises `NoState` if it is none.
    """
    from pyspark.errors import PySparkException

    try:
        rows = read_state(spark, checkpoint, everything=True)
    except PySparkException as error:
        reason = str(error).split("\n", 1)[0]
        raise NoState(f"{checkpoint} is no checkpoint of a stream with rules: {reason}") from None
    ordered = rows.repartition("shard")
    records = ordered.sortWithinPartitions("shard", "kind", "number").mapInArrow(_describe, "record string")
    found = [json.loads(row["record"]) for row in records.collect()]
    return sorted(
        (ShardState(**{**one, "rules": tuple(RuleState(**rule) for rule in one["rules"])}) for one in found),
        key=lambda state: state.shard,
    )


def read_state(spark: SparkSession, checkpoint: str | Path, *, everything: bool = False) -> DataFrame:
    """The state as rows of one form; with `everything` also what it says of its rules."""
    from pyspark.sql import functions as sf

    path = _for_reader(checkpoint)

    def variable(name: str) -> DataFrame:
        return spark.read.format("statestore").option("stateVarName", name).load(path)

    none = sf.lit(None)

    def of_shard(name: str, kind: str) -> DataFrame:
        return variable(name).select(
            sf.col("key.shard").alias("shard"),
            sf.lit(kind).alias("kind"),
            sf.lit(0).alias("number"),
            sf.to_json("value").alias("text"),
            none.cast("binary").alias("bytes"),
        )

    def numbered(name: str, kind: str) -> DataFrame:
        return variable(name).select(
            sf.col("key.shard").alias("shard"),
            sf.lit(kind).alias("kind"),
            sf.col("user_map_key.number").alias("number"),
            none.cast("string").alias("text"),
            sf.col("user_map_value.bytes").alias("bytes"),
        )

    found = of_shard("page", PAGE_ROW)
    for more in (numbered("pieces", PIECE_ROW), numbered("chunks", CHUNK_ROW)):
        found = found.unionByName(more)
    if everything:
        found = found.unionByName(of_shard("about", ABOUT_ROW)).unionByName(of_shard("rules", RULES_ROW))
    return found


def _for_reader(checkpoint: str | Path) -> str:
    """A path without spaces and the like: where one has a space, Spark's reader of state looks for `%20`."""
    path = Path(checkpoint).absolute()
    if quote(str(path)) == str(path) or not path.is_dir():
        return str(checkpoint)
    folder = tempfile.mkdtemp(prefix="tyrex-state-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # the reader may read at any time until then
    link = Path(folder) / "checkpoint"
    link.symlink_to(path, target_is_directory=True)
    return str(link)


PAGE_ROW, PIECE_ROW, CHUNK_ROW, ABOUT_ROW, RULES_ROW = "a page", "b piece", "c chunk", "d about", "e rules"
"""What a row of the state is; they are in this order."""


def by_shard(batches: Iterable[pa.RecordBatch]) -> Iterator[list[dict[str, Any]]]:
    """The rows of each shard in one partition, its page first."""
    current: list[dict[str, Any]] = []
    for batch in batches:
        for row in batch.to_pylist():
            if current and row["shard"] != current[0]["shard"]:
                yield current
                current = []
            current.append(row)
    if current:
        yield current


def rebuilt_from(rows: list[dict[str, Any]], page: Page, task: Task) -> Any:
    """The shard whose rows these are."""
    snapshot = b"".join(row["bytes"] for row in rows if row["kind"] == PIECE_ROW) or None
    chunks = [(row["number"], row["bytes"]) for row in rows if row["kind"] == CHUNK_ROW]
    return rebuild(task, rows[0]["shard"], page, snapshot, chunks)


# --- What a shard is, so that its state can be read without the rules that made it --------------------------


def about(task: Task, number: int) -> str:
    """All that is needed to bring a shard back from its state, as JSON."""
    part = task.part_of_shard[number]
    rules = task.parts[part]
    return json.dumps(
        {
            "part": part,
            "types": write_types(rules.types),
            "texts": rules.texts,
            "travelling": write_types(task.wire.types),
            "slots": {name: kind.value for name, kind in task.wire.slots.items()},
            "places": {name: dict(slots) for name, slots in task.wire.places.items()},
            "has_ids": task.wire.has_ids,
            "time_zone": task.time_zone,
            "live": task.live,
        }
    )


def task_about(record: str, number: int) -> tuple[Task, int]:
    """A task that is enough for one shard, and the part of the plan that the shard belongs to."""
    held = json.loads(record)
    wire = w.Wire(
        read_types(held["travelling"]),
        {name: ValueType(kind) for name, kind in held["slots"].items()},
        held["places"],
        held["has_ids"],
    )
    task = Task(
        wire,
        (Rules(read_types(held["types"]), tuple(held["texts"])),),
        (0,) * (number + 1),
        (0,),
        (),
        held["time_zone"],
        lineage=False,
        live=held["live"],
    )
    return task, held["part"]


def _describe(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for rows in by_shard(batches):
        yield pa.record_batch({"record": [json.dumps(asdict(_state_of(rows)))]})


def _state_of(rows: list[dict[str, Any]]) -> ShardState:
    number = rows[0]["shard"]
    page = Page(**json.loads(rows[0]["text"]))
    texts = {row["kind"]: json.loads(row["text"])["record"] for row in rows if row["kind"] >= ABOUT_ROW}
    task, part = task_about(texts[ABOUT_ROW], number)
    shard = rebuilt_from(rows, page, task)
    paused: set[str] = set()
    if RULES_ROW in texts:
        paused = {rule.name for rule in Catalogue.read(texts[RULES_ROW]).rules if rule.paused}
    stats = shard.engine.stats()
    chunks = [len(row["bytes"]) for row in rows if row["kind"] == CHUNK_ROW]
    return ShardState(
        shard=number,
        part=part + 1,
        watermark=page.watermark if page.watermark > NEVER else None,
        waiting=sum(len(table) for table in shard.held),
        stored={name: type_.stored for name, type_ in stats.types.items() if type_.stored},
        open_deadlines=stats.open_deadlines,
        snapshot_bytes=page.snapshot_bytes,
        chunks=len(chunks),
        chunk_bytes=sum(chunks),
        rules=tuple(
            RuleState(name, name in paused, rule.evaluated, rule.fired) for name, rule in stats.rules.items()
        ),
    )
