"""A run over files: detection on Spark whose composite events come back in the order of one engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tyrex.events import Event, Value, to_microseconds
from tyrex.rules import RuleSet
from tyrex.spark import order
from tyrex.spark.batch import detect_in_table
from tyrex.spark.planner import SparkPlan, plan_spark
from tyrex.spark.session import SessionError, close, session
from tyrex.spark.sources import Events, SourceError
from tyrex.spark.tasks import Options
from tyrex.tesla.types import EventType, ValueType

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_ROWS = 1 << 14
"""Composite events are made into objects so many at a time."""


class RunError(RuntimeError):
    """Spark could not do it: the message says why."""


@dataclass(frozen=True)
class Detected:
    """A composite event, and what it was made of if that was asked for."""

    event: Event
    lineage: tuple[Event, ...] = ()


@contextmanager
def spark_for_run(
    master: str | None, log: Path, *, short: bool = False, jars: Sequence[Path] = ()
) -> Iterator[Starting]:
    """The session of this process if there is one, which goes on; else a new one, which ends with the run.

    It starts while the caller does something else. What Spark prints goes to the file `log`. A `short` run ends
    before Java's better compiler pays.
    """
    running = _running()
    with ThreadPoolExecutor(1) as threads:
        if running is not None:
            yield Starting(threads.submit(lambda: running))
            return
        config = {"spark.driver.maxResultSize": "0"}
        if short:
            config["spark.driver.extraJavaOptions"] = "-XX:TieredStopAtLevel=1"
        starting = threads.submit(lambda: session(master, log=log, config=config, jars=jars))
        try:
            yield Starting(starting)
        finally:
            wait([starting])
            if starting.exception() is None:
                close(starting.result())


@dataclass(frozen=True)
class Starting:
    """A session that is on its way."""

    future: Future[SparkSession]

    def session(self) -> SparkSession:
        """The session, once it is there."""
        try:
            return self.future.result()
        except SessionError as error:
            raise RunError(str(error)) from None


@dataclass(frozen=True)
class Progress:
    """How many tasks the running stages of Spark have done."""

    done: int
    tasks: int


def progress_of(spark: SparkSession) -> Progress:
    """How far Spark is with what it is doing."""
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    known = [stage for stage in stages if stage is not None]
    return Progress(sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known))


def _running() -> SparkSession | None:
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise RunError(
            f'Spark is not installed ({error}). Install it with: pip install "tyrex[spark]"'
        ) from None
    return SparkSession.getActiveSession()


def detect_in_order(
    events: Events, rules: RuleSet, options: Options, *, all_attributes: bool = False
) -> Iterator[Detected]:
    """The composite events of tables, in the order in which one engine would find them.

    With `all_attributes` all of them travel, also those that no rule looks at.
    """
    import pyarrow.compute as pc

    compute: Any = pc
    plan = plan_spark(rules)
    if all_attributes or options.lineage:
        everything = {name: frozenset(a.name for a in rules.types[name].attributes) for name in plan.used}
        plan = replace(plan, used=everything)
    table = _collected(events, rules, plan, replace(options, ordered=True))
    place = table.column(order.COLUMN).combine_chunks()
    keys = [("timestamp", "ascending"), *((name, "ascending") for name in order.FIELDS), ("id", "ascending")]
    sortable: Any = table.select(["timestamp", "id"])
    for name in order.FIELDS:
        sortable = sortable.append_column(name, compute.struct_field(place, name))
    indices = compute.sort_indices(sortable, sort_keys=keys)
    for start in range(0, len(indices), _ROWS):
        yield from detected_in(table.take(indices.slice(start, _ROWS)), rules.types)


def _collected(events: Events, rules: RuleSet, plan: SparkPlan, options: Options) -> pa.Table:
    from pyspark.errors import PySparkException

    try:
        return detect_in_table(events, rules, plan, options).toArrow()
    except SourceError as error:
        raise RunError(str(error)) from None
    except PySparkException as error:
        raise RunError(f"Spark failed: {reason(error)}") from error


def reason(error: Exception) -> str:
    """The line that says what went wrong: the last of a Python worker's, else the first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("at ", "File ", "Driver stacktrace", "JVM"))]
    python = [line for line in told if "Error: " in line and not line.startswith("org.")]
    return (python or told or ["no reason was given"])[0 if not python else -1]


# --- Rows as events -----------------------------------------------------------------------------------------


def detected_in(table: pa.Table, types: Mapping[str, EventType]) -> Iterator[Detected]:
    """The composite events of a result, in the order of its rows."""
    import pyarrow as pa

    times: Any = table.column("timestamp").cast(pa.int64()).to_pylist()
    names: Any = table.column("type").to_pylist()
    structs: dict[str, Any] = {name: table.column(name).to_pylist() for name in set(names)}
    lineages: Any = (
        table.column("lineage").to_pylist() if "lineage" in table.column_names else [()] * len(table)
    )
    ids, rules = table.column("id").to_pylist(), table.column("rule").to_pylist()
    for row, (name, time, id_, rule) in enumerate(zip(names, times, ids, rules, strict=True)):
        event = Event(name, time, structs[name][row], id_, rule)
        yield Detected(event, tuple(part_as_event(part, types) for part in lineages[row] or ()))


def part_as_event(part: Mapping[str, Any], types: Mapping[str, EventType]) -> Event:
    """An event of a lineage, or a late one: its attributes came as texts."""
    known = types[part["type"]].by_name if part["type"] in types else {}
    given: Sequence[tuple[str, str | None]] = part["attributes"]
    attributes = {name: _value(text, known.get(name, ValueType.STRING)) for name, text in given}
    return Event(part["type"], to_microseconds(part["timestamp"]), attributes, part["id"])


def _value(text: str | None, kind: ValueType) -> Value:
    if text is None or kind is ValueType.STRING:
        return text
    if kind is ValueType.BOOL:
        return text == "true"
    return int(text) if kind is ValueType.INT else float(text)
