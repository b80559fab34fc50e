"""`tyrex run --on spark`: files of events through Spark, with the output of one engine."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from typing import TYPE_CHECKING

from rich.console import Console

from tyrex.cli.common import fail
from tyrex.cli.run_results import Results
from tyrex.cli.run_runtimes import Leftover, Setting
from tyrex.events import Event
from tyrex.io import Batch, Input, Layout
from tyrex.rules import RuleSet

if TYPE_CHECKING:
    from tyrex.spark.runs import Detected, Progress, Starting
    from tyrex.spark.spool import Spool, Tables

_AT_ONCE = 1 << 14
_LOOK = 0.5  # seconds
_SHORT = 1 << 28  # bytes of input


def on_spark(
    rules: RuleSet,
    batches: Iterable[Batch],
    setting: Setting,
    results: Results,
    *,
    master: str | None,
    console: Console | None,
    size: int | None = None,
    inputs: Sequence[Input] = (),
) -> Leftover:
    """Run on Spark, which reads Parquet itself; the events of other files are put in tables while it starts.

    On the console, if there is one, stands how far Spark is. `size` is that of the input in bytes, if it is known.
    """
    from tyrex.spark.runs import RunError, detect_in_order, progress_of, spark_for_run
    from tyrex.spark.tasks import Options

    short = size is not None and size < _SHORT
    with tempfile.TemporaryDirectory(prefix="tyrex-run-") as name:
        folder = Path(name)
        try:
            with spark_for_run(master, folder / "spark.log", short=short) as starting:
                tables = _tables(rules, inputs, batches, folder, starting, console)
                if tables is None:
                    return Leftover(0, 0)
                spark = starting.session()
                options = Options(
                    shards=int(spark.conf.get("spark.sql.shuffle.partitions") or 1),
                    time_zone=setting.time_zone,
                    until=max(tables.span.last, tables.span.last if setting.until is None else setting.until),
                    lineage=setting.lineage,
                    since=tables.span.first,
                )
                found = detect_in_order(tables.sources, rules, options, all_attributes=tables.mixed)
                with _watched(console, lambda: progress_of(spark)):
                    part = list(islice(found, _AT_ONCE))
                while part:
                    _take(part, results, lineage=setting.lineage)
                    part = list(islice(found, _AT_ONCE))
                return Leftover(tables.unknown, 0, events=tables.events)
        except RunError as error:
            raise fail(str(error)) from None


def _tables(
    rules: RuleSet,
    inputs: Sequence[Input],
    batches: Iterable[Batch],
    folder: Path,
    starting: Starting,
    console: Console | None,
) -> Tables | None:
    from tyrex.spark.parquet import are_parquet

    if inputs and are_parquet(inputs):
        with _spinner(console):
            tables = _as_they_are(rules, inputs, starting)
        if tables is not None:
            return tables
    spool = _spooled(rules, batches, folder)
    with _spinner(console):
        return spool.tables(starting.session())


def _spinner(console: Console | None) -> AbstractContextManager[object]:
    """Spark takes some seconds to start, and the user should know what takes so long."""
    return nullcontext() if console is None else console.status("Starting Spark")


def _as_they_are(rules: RuleSet, inputs: Sequence[Input], starting: Starting) -> Tables | None:
    """Parquet files that Spark can read itself; None if some file is no such file, or a row no event."""
    from tyrex.spark.parquet import fitting_columns, tables_of

    layout = Layout(rules.types)
    columns = fitting_columns(inputs, layout)
    return None if columns is None else tables_of(starting.session(), inputs, columns, layout.types)


def _spooled(rules: RuleSet, batches: Iterable[Batch], folder: Path) -> Spool:
    from tyrex.spark.spool import Spool

    spool = Spool(folder / "events", rules.types)
    for batch in batches:
        spool.take(batch)
    spool.close()
    return spool


def _take(found: Sequence[Detected], results: Results, *, lineage: bool) -> None:
    made_of = {id(one.event): one.lineage for one in found}

    def lineage_of(event: Event) -> Sequence[Event]:
        return made_of[id(event)]

    results.take([one.event for one in found], lineage_of if lineage else None)


@contextmanager
def _watched(console: Console | None, look: Callable[[], Progress]) -> Iterator[None]:
    """Show how far Spark is, as long as this lasts."""
    if console is None:
        yield
        return
    done = Signal()
    with console.status("Spark") as status:

        def follow() -> None:
            while not done.wait(_LOOK):
                progress = look()
                if progress.tasks:
                    status.update(f"Spark: {progress.done:,} of {progress.tasks:,} tasks")

        thread = Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
