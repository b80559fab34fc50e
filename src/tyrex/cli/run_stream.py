"""`tyrex run --stream`: composite events in folders that grow and in topics of Kafka, found by Spark as they come."""

from __future__ import annotations

import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

import typer
from rich.console import Console

from tyrex.cli.common import fail
from tyrex.cli.run_folders import BatchFolder, Taken
from tyrex.cli.run_inputs import RejectedData
from tyrex.cli.run_outputs import Folder, Output, Screen, TopicOutput
from tyrex.cli.run_results import Results
from tyrex.cli.run_runtimes import Setting
from tyrex.cli.run_summary import Summary, counted, rate
from tyrex.events import Event, EventError
from tyrex.io import Found, Layout
from tyrex.io.writers import result_columns
from tyrex.rules import RuleSet
from tyrex.tesla import CheckedSubscription
from tyrex.tesla.types import EventType

if TYPE_CHECKING:
    from tyrex.spark.feeds import Feed
    from tyrex.spark.follow import Found as Brought
    from tyrex.spark.follow import Tally
    from tyrex.spark.runs import Starting

_TABLES = (".csv", ".csv.gz", ".parquet", ".arrow", ".feather")


@dataclass(frozen=True)
class Streaming:
    """How streams are read, and where things go."""

    output: str
    """A folder, `kafka://..`, or `-`."""
    master: str | None
    timestamp: str
    checkpoint: Path | None
    """Where the state is kept; None: nowhere, so that no other run goes on from it."""
    once: bool
    flush: bool
    late: Path | None
    rejected: Path | None
    strict: bool
    console: Console | None

    @property
    def tells_rest(self) -> bool:
        """Whether the rest is told at the end: if it is asked for, or if there is nothing after the end."""
        return self.flush or (self.once and self.checkpoint is None)


def run_stream(
    rules: RuleSet,
    words: Sequence[str],
    setting: Setting,
    streaming: Streaming,
    subscription: CheckedSubscription | None,
) -> Summary:
    """Follow the streams that the words name, until they end or the user stops; the counts of it."""
    from tyrex.spark.feeds import find_feed, needs_kafka
    from tyrex.spark.jars import Unresolved, connector_jars
    from tyrex.spark.kafka import SCHEME, topic_of
    from tyrex.spark.runs import RunError, spark_for_run

    started = time.perf_counter()
    layout = Layout(rules.types)
    types = _types(rules, subscription)
    to_kafka = streaming.output.startswith(SCHEME)
    try:
        feeds = [find_feed(word, layout, timestamp=streaming.timestamp) for word in words]
        topic = topic_of(streaming.output) if to_kafka else None
        if streaming.output.lower().endswith(_TABLES):
            result_columns(types)
    except EventError as error:
        raise fail(str(error)) from None
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tyrex-run-")))
        checkpoint = streaming.checkpoint or folder / "checkpoint"
        quiet_later = streaming.output == "-" and sys.stdout.isatty()
        status = _Status(streaming.console, brief=quiet_later)
        try:
            stack.enter_context(status)
            jars = connector_jars() if to_kafka or needs_kafka(feeds) else []
            starting = stack.enter_context(spark_for_run(streaming.master, folder / "spark.log", jars=jars))
            starting.session()
            output: Output
            if topic is not None:
                output = TopicOutput(starting, topic, checkpoint / "tyrex" / "kafka")
            elif streaming.output == "-":
                output = Screen(types, lineage=setting.lineage)
            else:
                output = Folder(Path(streaming.output), types, lineage=setting.lineage)
            job = _Job(rules, setting, streaming, output, subscription)
            tally = job.follow(starting, feeds, checkpoint, status)
        except (RunError, Taken, Unresolved) as error:
            raise fail(str(error)) from None
        except OSError as error:
            raise fail(f"{error.filename or streaming.output}: {error.strerror or error}") from None
    if job.told_rest and streaming.checkpoint is not None:
        typer.echo(
            f"{counted(job.told_rest, 'composite event')} of these came of the end: {output.told_again}",
            err=True,
        )
    return Summary(
        events=tally.events,
        composites=job.results.by_rule.total(),
        by_rule=job.results.by_rule,
        rejected=job.rejected.count,
        late=job.late,
        late_note=" (`--delay` waits for such events)" if setting.delay is None else "",
        unused=tally.unknown,
        seconds=time.perf_counter() - started,
    )


class _Job:
    """What is done with what a query brings."""

    def __init__(
        self,
        rules: RuleSet,
        setting: Setting,
        streaming: Streaming,
        output: Output,
        subscription: CheckedSubscription | None,
    ) -> None:
        self._rules = rules
        self._setting = setting
        self._streaming = streaming
        self._output = output
        self._writer = _Written()
        self._late = None if streaming.late is None else BatchFolder(streaming.late)
        self._kept = None if streaming.rejected is None else BatchFolder(streaming.rejected)
        self._bad: list[dict[str, Any]] = []
        self.results = Results(self._writer, subscription=subscription)
        self.rejected = RejectedData(
            strict=streaming.strict, keep=None if self._kept is None else self._bad.append
        )
        self.late = 0
        self.told_rest = 0

    def follow(self, starting: Starting, feeds: Sequence[Feed], checkpoint: Path, status: _Status) -> Tally:
        """Run the query, and tell the rest if that is asked for."""
        from tyrex.spark.feeds import open_feeds
        from tyrex.spark.follow import Follow, Query, shards_of

        setting, spark = self._setting, starting.session()
        usual = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
        source = open_feeds(spark, feeds, self._rules.types)
        how = Follow(
            self._rules,
            checkpoint,
            setting.delay or 0,
            setting.time_zone,
            setting.lineage,
            self._streaming.once,
            shards_of(checkpoint, usual),
        )
        query = Query(spark, source, how, self._take)
        with _stopped_by_signals(status) as stop:
            query.run(self._claim, stop, lambda tally: status.show(tally, self.results.by_rule.total()))
            if self._streaming.tells_rest:
                before = self.results.by_rule.total()
                self._take(query.rest(setting.until))
                self.told_rest = self.results.by_rule.total() - before
        return query.tally

    def _claim(self, query: str) -> None:
        self._output.claim(query)
        for folder in (self._late, self._kept):
            if folder is not None:
                folder.claim(query)

    def _take(self, found: Brought) -> None:
        """Keep what a micro-batch brought: what it was found wanting first, so that `--strict` ends it in time."""
        batch = None if found.number < 0 else found.number
        self._bad.clear()
        for record in found.problems:
            self.rejected.take(record)
        if self._kept is not None:
            self._kept.write_lines(batch, self._bad)
        self.late += len(found.late)
        if self._late is not None:
            self._late.write_lines(batch, found.late)
        made_of = {id(one.event): one.lineage for one in found.composites}

        def lineage_of(event: Event) -> Sequence[Event]:
            return made_of[id(event)]

        self.results.take(
            [one.event for one in found.composites], lineage_of if self._setting.lineage else None
        )
        self._output.write(batch, self._writer.taken())


class _Written:
    """Holds the composite events that are wanted of a micro-batch; an `EventWriter`."""

    def __init__(self) -> None:
        self._found: list[Found] = []

    def write(self, found: Iterable[Found]) -> None:
        """Hold these."""
        self._found.extend(found)

    def taken(self) -> list[Found]:
        """What is held; it is let go."""
        found, self._found = self._found, []
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None: ...


class _Status:
    """One line on the terminal: how far the query is."""

    def __init__(self, console: Console | None, *, brief: bool) -> None:
        self._status = None if console is None else console.status("Starting Spark")
        self._brief = brief  # as composite events come on the same screen
        self._before = (0.0, 0)
        self._rate = 0.0
        self.stopping = False

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, tally: Tally, found: int) -> None:
        """So far it is."""
        if self._status is None or self.stopping:
            return
        if self._brief:
            self._status.stop()
            return
        now, (then, events) = time.perf_counter(), self._before
        if tally.events != events:
            self._rate = (tally.events - events) / (now - then) if then else 0.0
            self._before = (now, tally.events)
        elif not then:
            self._before = (now, 0)
        parts = [counted(tally.events, "event"), f"{counted(found, 'composite event')}"]
        parts += [rate(1, 1 / self._rate)] if self._rate else []
        parts += [f"watermark {tally.watermark}"] if tally.watermark else []
        parts += [f"state {tally.state_bytes / 1e6:,.1f} MB"] if tally.state_bytes else []
        self._status.update(", ".join(parts))

    def stop(self) -> None:
        """The user has asked for the end."""
        self.stopping = True
        if self._status is not None:
            self._status.update("Stopping after this micro-batch; once more stops at once")


@contextmanager
def _stopped_by_signals(status: _Status) -> Iterator[Callable[[], bool]]:
    """Whether the user wants the end: Ctrl-C or SIGTERM; a second one does not wait."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def stop(number: int, frame: FrameType | None) -> None:
        if status.stopping:
            raise KeyboardInterrupt
        status.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: status.stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _types(rules: RuleSet, subscription: CheckedSubscription | None) -> list[EventType]:
    types = {rule.defines.name: rule.defines for rule in rules}
    return [type_ for name, type_ in types.items() if subscription is None or name == subscription.type]
