"""`tyrex run`: detects composite events in files and streams of events."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer
from rich.console import Console

from tyrex.cli.common import fail, load_rules
from tyrex.cli.run_inputs import Intake, RejectedData, as_lines, unreadable
from tyrex.cli.run_progress import ProgressBar
from tyrex.cli.run_results import Results
from tyrex.cli.run_runtimes import Runtime, Setting, on_process, on_reference
from tyrex.cli.run_spark import on_spark
from tyrex.cli.run_stream import Streaming, run_stream
from tyrex.cli.run_summary import Summary
from tyrex.events import FIRST_TIMESTAMP, LAST_TIMESTAMP, EventError, to_microseconds
from tyrex.io import Batch, EventWriter, Input, Layout, find_input, open_writer
from tyrex.io.layout import has_arrow
from tyrex.rules import RuleSet
from tyrex.tesla import CheckedSubscription, TeslaError
from tyrex.tesla.durations import NotADuration, parse_duration

SCHEME = "kafka://"
_ALL_TIME = LAST_TIMESTAMP - FIRST_TIMESTAMP
"""No event can come later than that."""


def run(
    rules: Annotated[Path, typer.Argument(help="A rule file, or a directory of them.")],
    events: Annotated[
        list[str],
        typer.Argument(
            help="Files or directories of events: JSON lines, JSON, CSV, Parquet, Arrow. `Temp=temps.csv` says "
            "that all events in it are of one type; `-` is standard input, JSON lines. Several are merged by time."
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "-o", "--output", help="A file: .jsonl, .csv, .parquet or .arrow; - is standard output."
        ),
    ] = "-",
    on: Annotated[
        Runtime | None,
        typer.Option(
            help="Spark, the engine in this process, or the slow reference. Without it: Spark, if it is installed; "
            "in this process with `-`, `--delay` or `--late`."
        ),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(help="With `--on spark`: where Spark runs, as `local[4]` or `spark://host:7077`."),
    ] = None,
    timestamp: Annotated[str, typer.Option(help="The key or column that holds the time.")] = "timestamp",
    delay: Annotated[
        str | None,
        typer.Option(help="How late an event may come, as `30s`; without it the reference sorts the events."),
    ] = None,
    late: Annotated[Path | None, typer.Option(help="A file for events that come too late.")] = None,
    until: Annotated[
        str | None, typer.Option(help="Move time on to this at the end: seconds or ISO 8601.")
    ] = None,
    time_zone: Annotated[str, typer.Option(help="The time zone of timers.")] = "UTC",
    subscribe: Annotated[
        str | None, typer.Option(help='Only composite events that fit, as `Fire(area = "A1")`.')
    ] = None,
    lineage: Annotated[bool, typer.Option("--lineage", help="With each, the events it was made of.")] = False,
    rejected: Annotated[
        Path | None, typer.Option(help="A file for data that is no event, with line number and reason.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first bad line.")] = False,
    stream: Annotated[
        bool,
        typer.Option(
            "--stream",
            help="Follow folders into which files come, and topics as `kafka://localhost:9092/events`, on Spark.",
        ),
    ] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="With `--stream`: a folder for the state, from which the next run goes on."),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="With `--stream`: end with what is there, instead of waiting.")
    ] = False,
    flush: Annotated[
        bool,
        typer.Option("--flush", help="With `--stream`: tell at the end what is still open, as if all ended."),
    ] = False,
) -> None:
    """Detect composite events in streams of events, and write them in order.

    Data that is no event is reported on standard error, counted and left out.
    """
    started = time.perf_counter()
    stream = stream or any(SCHEME in word for word in (*events, output))
    _check_options(on, stream=stream, master=master, delay=delay, late=late)
    if not stream and (checkpoint is not None or once or flush):
        raise fail("`--checkpoint`, `--once` and `--flush` are for streams: add `--stream`")
    terminal = Console(stderr=True) if sys.stderr.isatty() else None
    rule_set = load_rules(rules)
    subscription = _subscription(rule_set, subscribe)
    setting = _setting(delay=delay, until=until, time_zone=time_zone, lineage=lineage)
    if stream:
        streaming = Streaming(
            output=output,
            master=master,
            timestamp=timestamp,
            checkpoint=checkpoint,
            once=once,
            flush=flush,
            late=late,
            rejected=rejected,
            strict=strict,
            console=terminal,
        )
        if until is not None and not streaming.tells_rest:
            raise fail("`--until` is for the end of a stream: add `--flush`")
        typer.echo(str(run_stream(rule_set, events, setting, streaming, subscription)), err=True)
        return
    layout = Layout(rule_set.types, columns=on is not Runtime.REFERENCE)
    inputs = [_input(word, layout, timestamp) for word in events]
    on = on or _usual_place(inputs, master=master, in_order=delay is not None or late is not None)
    with ExitStack() as stack:
        bad = RejectedData(strict=strict, keep=as_lines(_text_file(stack, rejected)))
        intake = Intake(inputs, layout, bad)
        writer = stack.enter_context(_writer(output, rule_set, subscription, lineage=lineage))
        results = Results(writer, subscription=subscription, late=_text_file(stack, late))
        batches: Iterable[Batch] = intake
        if terminal is not None and output != "-":
            batches = _watched(intake, ProgressBar(terminal, intake.size, time.perf_counter))
        try:
            if on is Runtime.SPARK:
                left = on_spark(
                    rule_set,
                    batches,
                    setting,
                    results,
                    master=master,
                    console=terminal,
                    size=intake.size,
                    inputs=inputs,
                )
            else:
                detect = on_process if on is Runtime.PROCESS else on_reference
                left = detect(rule_set, batches, setting, results)
        except EventError as error:
            raise fail(str(error)) from None
    told = on is not Runtime.REFERENCE
    summary = Summary(
        events=intake.events if left.events is None else left.events,
        composites=results.by_rule.total(),
        by_rule=results.by_rule if told else {},
        rejected=bad.count,
        late=results.late,
        late_note=" (`--delay` waits for such events)" if delay is None else "",
        unused=left.unused,
        open_deadlines=left.open_deadlines,
        overflows=left.overflows,
        seconds=time.perf_counter() - started if told else None,
    )
    typer.echo(str(summary), err=True)


def _usual_place(inputs: Sequence[Input], *, master: str | None, in_order: bool) -> Runtime:
    """Spark, for files; what lives, and what has an order of arrival, is for the engine in this process."""
    if master is not None:
        return Runtime.SPARK
    if in_order or not all(one.paths and all(path.is_file() for path in one.paths) for one in inputs):
        return Runtime.PROCESS
    if find_spec("pyspark") is None or not has_arrow():
        typer.echo('Spark is not installed (pip install "tyrex[spark]"): this runs in one process', err=True)
        return Runtime.PROCESS
    return Runtime.SPARK


def _check_options(
    on: Runtime | None, *, stream: bool, master: str | None, delay: str | None, late: Path | None
) -> None:
    if stream:
        if on in (Runtime.PROCESS, Runtime.REFERENCE):
            raise fail(f"`--stream` runs on Spark: leave `--on {on}` out")
        return
    if on in (Runtime.PROCESS, Runtime.REFERENCE) and master is not None:
        raise fail("`--master` says where Spark runs: add `--on spark`")
    if (on is Runtime.SPARK or master is not None) and (delay is not None or late is not None):
        raise fail(
            "on Spark no event of a file is late, as all are sorted: leave `--delay` and `--late` out, "
            "or take `--on process`, or `--stream` for folders that grow"
        )


def _setting(*, delay: str | None, until: str | None, time_zone: str, lineage: bool) -> Setting:
    try:
        ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise fail(f"there is no time zone `{time_zone}`: write it as `Europe/Rome` or `UTC`") from None
    try:
        return Setting(
            delay=None if delay is None else min(parse_duration(delay), _ALL_TIME),
            until=None if until is None else to_microseconds(float(until) if _is_number(until) else until),
            time_zone=time_zone,
            lineage=lineage,
        )
    except (NotADuration, EventError) as error:
        raise fail(str(error)) from None


def _input(word: str, layout: Layout, timestamp: str) -> Input:
    try:
        return find_input(word, layout, timestamp=timestamp)
    except EventError as error:
        raise fail(str(error)) from None
    except OSError as error:
        raise unreadable(word, error) from None


def _writer(
    output: str, rules: RuleSet, subscription: CheckedSubscription | None, *, lineage: bool
) -> EventWriter:
    types = {rule.defines.name: rule.defines for rule in rules}
    if subscription is not None:
        types = {name: type_ for name, type_ in types.items() if name == subscription.type}
    try:
        return open_writer(output, types.values(), lineage=lineage, standard_output=sys.stdout.buffer)
    except EventError as error:
        raise fail(str(error)) from None
    except OSError as error:
        raise _unwritable(output, error) from None


def _text_file(stack: ExitStack, path: Path | None) -> IO[str] | None:
    if path is None:
        return None
    try:
        return stack.enter_context(path.open("w", encoding="utf-8"))
    except OSError as error:
        raise _unwritable(str(path), error) from None


def _unwritable(name: str, error: OSError) -> typer.Exit:
    return fail(f"{name} can't be written: {error.strerror or error}")


def _watched(intake: Intake, bar: ProgressBar) -> Iterator[Batch]:
    with bar:
        for batch in intake:
            bar.update(intake.events, intake.position)
            yield batch


def _subscription(rules: RuleSet, text: str | None) -> CheckedSubscription | None:
    if text is None:
        return None
    try:
        return rules.subscription(text)
    except TeslaError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
