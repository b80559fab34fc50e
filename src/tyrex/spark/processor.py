"""What Spark calls for the shards of a stream, in each micro-batch that brings rows or passes a timer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from tyrex.spark.live import Change, Ground, Outcome, Step, apply
from tyrex.spark.packing import NEVER, UNKNOWN, from_bytes, to_bytes
from tyrex.spark.shard import Shard, Sorted, report, sort_out
from tyrex.spark.shard_state import (
    ABOUT,
    CACHE,
    CHUNKS,
    HISTORY,
    NUMBER,
    PAGE,
    PIECES,
    RULES,
    SMALLEST_LOG,
    History,
    Page,
    Stored,
    row_of,
    turned,
)
from tyrex.spark.state import about
from tyrex.spark.worker import Task

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


@dataclass(frozen=True)
class Job:
    """A stream of rules, as the workers know it."""

    task: Task
    run: str
    """Different in every run of a query."""
    made_by: str
    calendar: frozenset[int]
    """The shards with rules that the calendar evaluates."""
    smallest_log: int = SMALLEST_LOG
    ground: Ground | None = None
    """What rules that come later must fit, if rules come and go."""
    seam: int | None = None
    """Where a history ends and the stream begins, in microseconds."""


class ShardProcessor(StatefulProcessor):
    """Lets a shard's engine process what the watermark has passed, and writes what has changed."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the parts of the state."""
        self._kept = 0
        self._handle = handle
        self._stored: Any = Stored(
            handle.getValueState("page", PAGE),
            handle.getMapState("pieces", NUMBER, PIECES),
            handle.getMapState("chunks", NUMBER, CHUNKS),
            handle.getValueState("rules", RULES),
            handle.getValueState("about", ABOUT),
            handle.getMapState("history", NUMBER, HISTORY),
        )

    def handleInputRows(  # noqa: N802 - Spark's names
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Work with new rows."""
        import pandas as pd

        packed = pd.concat(list(rows))
        blobs = [from_bytes(bytes(blob)) for blob in packed["blob"] if blob is not None]
        least, greatest = int(packed["least"].min()), int(packed["greatest"].max())
        span = None if least == UNKNOWN else (least, greatest)
        changes = sorted(Change.read(record) for record in packed["changes"] if record is not None)
        yield from self._work(int(key[0]), blobs, span, timerValues.getCurrentWatermarkInMs(), changes)

    def handleInitialState(  # noqa: N802
        self,
        key: Any,
        initialState: Any,  # noqa: N803
        timerValues: Any,  # noqa: N803
    ) -> None:
        """Keep the history until the first micro-batch works with the shard."""
        for least, greatest, blob in zip(
            initialState["least"], initialState["greatest"], initialState["blob"], strict=True
        ):
            data = None if blob is None else bytes(blob)
            self._stored.history.updateValue((self._kept,), (int(least), int(greatest), data))
            self._kept += 1

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Work because the watermark has passed something that waits."""
        yield from self._work(int(key[0]), [], None, timerValues.getCurrentWatermarkInMs())

    def close(self) -> None:
        """Nothing is open."""

    def _work(
        self,
        number: int,
        blobs: list[pa.Table],
        span: tuple[int, int] | None,
        milliseconds: int,
        changes: Sequence[Change] = (),
    ) -> Iterator[pd.DataFrame]:
        import pandas as pd
        import pyarrow as pa

        job, stored = self._job, self._stored
        page = stored.read_page(job.made_by)
        watermark = max(page.watermark, milliseconds * 1000 if milliseconds > 0 else NEVER)
        if not page.tokens:
            stored.about.update((about(job.task, number),))
        past = None
        if job.seam is not None:
            watermark = max(watermark, job.seam)
            past = stored.take_history() if not page.tokens else None
        if not blobs and not changes and span is None and watermark == page.watermark:
            return
        shard = CACHE.take(job.run, job.task, number, page, stored)
        before = None
        if past is not None:
            before, page = self._before(shard, past, page)
        if span is not None:
            begin = min(page.begin, max(watermark, span[0])) if number in job.calendar else UNKNOWN
            page = replace(page, begin=begin, greatest=max(page.greatest, span[1]))
        rows = sort_out(pa.concat_tables(blobs), watermark) if blobs else None
        if rows is not None and len(rows.good):
            data = to_bytes(rows.good.combine_chunks())
            stored.chunks.updateValue((shard.next_chunk,), (data,))
            shard.hold(shard.next_chunk, rows.good, len(data))
        found = shard.release(watermark, page.begin)
        told = self._change(shard, changes, watermark)
        results = report(job.task, found, rows, told if number == 0 else (), before)
        changed = shard.changes != page.changes or past is not None
        page = turned(replace(page, watermark=watermark, next_chunk=shard.next_chunk, changes=shard.changes))
        page = self._set_timer(self._shorten(page, shard, always=changed), shard.wakes_at(page.begin))
        stored.page.update(row_of(page))
        if results is not None:
            yield pd.DataFrame({"blob": [to_bytes(results)]})
        CACHE.put(job.run, number, page.token, shard)

    def _before(self, shard: Shard, past: History, page: Page) -> tuple[Sorted | None, Page]:
        """Give a shard its history: it is processed with this micro-batch, so its state never has it as a chunk."""
        import pyarrow as pa

        rows = sort_out(pa.concat_tables(map(from_bytes, past.blobs)), NEVER) if past.blobs else None
        if rows is not None and len(rows.good):
            shard.held.append(rows.good)
        if past.least != UNKNOWN:
            begin = past.least if shard.number in self._job.calendar else UNKNOWN
            page = replace(page, begin=begin, greatest=past.greatest)
        return rows, page

    def _change(
        self, shard: Shard, changes: Sequence[Change], watermark: int
    ) -> list[tuple[Change, Outcome, int]]:
        """Change the rules, at the watermark: events before it have been processed, all others see the change."""
        if not changes or self._job.ground is None:
            return []
        catalogue = self._stored.read_rules(self._job.ground)
        steps: list[Step] = []
        told = []
        for change in changes:
            applied = apply(catalogue, change, self._job.ground)
            catalogue = applied.catalogue
            steps += applied.steps
            told.append((change, applied.outcome, watermark))
        if any(outcome.accepted for _, outcome, _ in told):
            self._stored.rules.update((catalogue.record(),))
        shard.change(steps)
        return told

    def _shorten(self, page: Page, shard: Shard, *, always: bool) -> Page:
        """Write a new snapshot when the chunks that it makes superfluous are larger than the last one.

        Also when rules have changed: what is in the chunks can't tell that.
        """
        done = [number for number, (greatest, _) in shard.chunks.items() if greatest < page.watermark]
        size = sum(shard.chunks[number][1] for number in done)
        if not always and size < max(self._job.smallest_log, page.snapshot_bytes):
            return page
        for number in done:
            del shard.chunks[number]
        found: Page = self._stored.write_snapshot(page, shard.engine.snapshot(), done)
        return found

    def _set_timer(self, page: Page, at: int | None) -> Page:
        wanted = -1 if at is None else at
        if wanted == page.timer:
            return page
        if page.timer >= 0:
            self._handle.deleteTimer(page.timer)
        if wanted >= 0:
            self._handle.registerTimer(wanted)
        return replace(page, timer=wanted)
