"""A query over streams of events: it hands on what each micro-batch brings, and stops in good order."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from threading import Event as Signal
from threading import Lock
from typing import TYPE_CHECKING, Any

from tyrex.events import Event
from tyrex.rules import RuleSet
from tyrex.spark.detect import detect, finish
from tyrex.spark.feeds import METRICS
from tyrex.spark.runs import Detected, RunError, detected_in, part_as_event, reason
from tyrex.spark.sources import Source, SourceError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_LOOK = 0.2  # seconds
_LAST_WORDS = 10.0
"""Seconds that Spark may take to say that a query has ended."""


@dataclass(frozen=True)
class Follow:
    """How streams are followed."""

    rules: RuleSet
    checkpoint: Path
    delay: int = 0
    """How late an event may come, in microseconds."""
    time_zone: str = "UTC"
    lineage: bool = False
    once: bool = False
    """Only what is there, instead of all that comes."""
    shards: int = 1


@dataclass(frozen=True)
class Found:
    """What a micro-batch brings."""

    number: int
    composites: list[Detected]
    """In order of time, and of their rules."""
    late: list[Event]
    problems: list[dict[str, Any]]
    """What is no event: where it stood, and the reason."""


@dataclass(frozen=True)
class Tally:
    """How far a query is."""

    events: int = 0
    unknown: int = 0
    """How many were of types that no rule knows."""
    watermark: str | None = None
    state_bytes: int = 0


class Query:
    """A running query; `take` gets what each micro-batch brings, and has it kept when it returns."""

    def __init__(
        self, spark: SparkSession, source: Source, follow: Follow, take: Callable[[Found], None]
    ) -> None:
        self._spark = spark
        self._source = source
        self._follow = follow
        self._take = take
        self._tally = Tally()
        self._lock = Lock()
        self._ended = Signal()
        self._trouble: BaseException | None = None
        self._batches_done = 0
        self._positions = {rule.name: n for n, rule in enumerate(follow.rules)}

    def run(
        self, started: Callable[[str], None], stop: Callable[[], bool], look: Callable[[Tally], None]
    ) -> None:
        """Run to the end of what is there, or until `stop` says so; then the micro-batch that runs comes to its end.

        `started` gets the id of the query, which stays the same over one checkpoint, before anything is taken.
        """
        from pyspark.errors import PySparkException

        follow = self._follow
        claimed = Signal()

        def each(frame: DataFrame, number: int) -> None:
            claimed.wait()
            self._one(frame, number)

        listener = _listener(self._note, self._ended)
        self._spark.streams.addListener(listener)
        query: Any = None
        try:
            result = detect(
                self._source,
                follow.rules,
                delay=timedelta(microseconds=follow.delay),
                time_zone=follow.time_zone,
                lineage=follow.lineage,
                shards=follow.shards,
            )
            writer = result.writeStream.foreachBatch(each).option(
                "checkpointLocation", str(follow.checkpoint)
            )
            writer = writer.trigger(availableNow=True) if follow.once else writer
            query = writer.start()
            try:
                started(str(query.id))
            except BaseException as error:
                self._trouble = error
                claimed.set()
                query.stop()
                raise
            claimed.set()
            self._await(query, stop, look)
        except KeyboardInterrupt:
            self._ended.set()  # the user does not want to wait
            raise
        except SourceError as error:
            raise RunError(str(error)) from None
        except PySparkException as error:
            if self._trouble is not None:
                raise self._trouble from None
            raise RunError(_said(reason(error))) from error
        finally:
            if query is not None:
                self._ended.wait(_LAST_WORDS)
            self._spark.streams.removeListener(listener)

    def rest(self, until: int | None) -> Found:
        """What the state would still bring forth if no event came any more."""
        from pyspark.errors import PySparkException

        follow = self._follow
        if not any((follow.checkpoint / "commits").glob("[0-9]*")):
            return Found(-1, [], [], [])
        try:
            table = finish(
                self._source,
                follow.rules,
                follow.checkpoint,
                time_zone=follow.time_zone,
                until=None if until is None else Decimal(until).scaleb(-6),
                lineage=follow.lineage,
                shards=follow.shards,
            ).toArrow()
        except PySparkException as error:
            raise RunError(_said(reason(error))) from error
        return self._found(-1, table)

    @property
    def tally(self) -> Tally:
        """How far it is."""
        with self._lock:
            return self._tally

    def _one(self, frame: DataFrame, number: int) -> None:
        if self._trouble is not None:
            raise self._trouble
        try:
            self._take(self._found(number, frame.toArrow()))
        except BaseException as error:
            self._trouble = error
            raise

    def _found(self, number: int, table: pa.Table) -> Found:
        import pyarrow.compute as pc

        told: Any = pc.is_valid(table.column("rejected"))
        good: Any = pc.invert(told)
        composites = list(detected_in(table.filter(good), self._follow.rules.types))
        composites.sort(
            key=lambda one: (one.event.timestamp, self._positions.get(one.event.rule or "", 0), one.event.id)
        )
        late, problems = [], []
        for row in table.filter(told).select(["type", "timestamp", "id", "rejected"]).to_pylist():
            about = row.pop("rejected")
            if row["timestamp"] is not None:
                row["attributes"] = about["attributes"]
                late.append(part_as_event(row, self._follow.rules.types))
            else:
                problems.append(json.loads(about["problem"]))
        return Found(number, composites, late, problems)

    def _note(self, progress: Any) -> None:
        """Take what Spark tells of a micro-batch, when it is committed."""
        observed = progress.observedMetrics.get(METRICS)
        operators = progress.stateOperators
        with self._lock:
            self._batches_done += 1
            before = self._tally
            self._tally = replace(
                before,
                events=before.events + (observed["events"] if observed else 0),
                unknown=before.unknown + (observed["unknown"] if observed else 0),
                watermark=(progress.eventTime or {}).get("watermark", before.watermark),
                state_bytes=sum(operator.memoryUsedBytes for operator in operators),
            )

    def _await(self, query: Any, stop: Callable[[], bool], look: Callable[[Tally], None]) -> None:
        while not query.awaitTermination(_LOOK):
            look(self.tally)
            if stop():
                self._end(query, stop)
                return
        look(self.tally)

    def _end(self, query: Any, stop: Callable[[], bool]) -> None:
        """Let the micro-batch that runs come to its end; what stops in its midst would run again the next time."""
        with self._lock:
            done = self._batches_done
        while query.isActive and query.status["isTriggerActive"]:
            with self._lock:
                if self._batches_done > done:
                    break
            time.sleep(0.05)
        query.stop()


def shards_of(checkpoint: Path, usual: int) -> int:
    """Into how many shards the state of a checkpoint is split, which stays; a new one notes the usual number."""
    notes = checkpoint / "tyrex"
    notes.mkdir(parents=True, exist_ok=True)
    note = notes / "shards"
    if note.exists():
        return int(note.read_text())
    note.write_text(str(usual))
    return usual


def _said(why: str) -> str:
    """What went wrong, without what Spark says of the query as such."""
    why = re.sub(r"^\[STREAM_FAILED\] Query \[.*?\] terminated with exception: | SQLSTATE: \w+$", "", why)
    if "UnknownTopicOrPartition" in why:
        return "Kafka has no such topic: create it, or send its first event, before it is followed"
    return f"Spark failed: {why}"


def _listener(note: Callable[[Any], None], ended: Signal) -> Any:
    from pyspark.sql.streaming.listener import StreamingQueryListener

    class Listener(StreamingQueryListener):
        def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's names
            pass

        def onQueryProgress(self, event: Any) -> None:  # noqa: N802
            note(event.progress)

        def onQueryIdle(self, event: Any) -> None:  # noqa: N802
            pass

        def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
            ended.set()

    return Listener()
