"""`tyrex state`: what the checkpoint of a stream on Spark holds of each shard."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tyrex.cli.common import OutputFormat, fail
from tyrex.events.time import format_timestamp

if TYPE_CHECKING:
    from rich.table import Table

    from tyrex.spark.state import ShardState


def state(
    checkpoint: Annotated[
        str,
        typer.Argument(metavar="CHECKPOINT", help="The folder that a stream has as `checkpointLocation`."),
    ],
    format: Annotated[OutputFormat, typer.Option(help="A table, or JSON with a line for each shard.")] = (
        OutputFormat.TEXT
    ),
    master: Annotated[str | None, typer.Option(help="Spark's master, such as local[4].")] = None,
) -> None:
    """Show what each shard of a stream on Spark holds: it is only read."""
    from tyrex.spark.runs import RunError, spark_for_run
    from tyrex.spark.state import NoState, shard_states

    if "://" not in checkpoint and not (Path(checkpoint) / "state").is_dir():
        raise fail(f"{checkpoint} is no checkpoint of a stream with rules: it has no folder `state`")
    with tempfile.TemporaryDirectory(prefix="tyrex-state-") as folder:
        try:
            with spark_for_run(master, Path(folder) / "spark.log", short=True) as starting:
                found = shard_states(starting.session(), checkpoint)
        except (NoState, RunError) as error:
            raise fail(str(error)) from None
    if format is OutputFormat.JSON:
        for one in found:
            typer.echo(json.dumps(_record(one)))
        return
    _print(found)


def _record(one: ShardState) -> dict[str, Any]:
    return {**asdict(one), "watermark": None if one.watermark is None else format_timestamp(one.watermark)}


def _print(states: Sequence[ShardState]) -> None:
    from rich.console import Console

    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=120)
    for table in (_shards(states), _rules(states)):
        with console.capture() as captured:
            console.print(table)
        typer.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _table(*names: str, numbers: int) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for at, name in enumerate(names):
        table.add_column(name, justify="right" if at >= len(names) - numbers else "left")
    return table


def _shards(states: Sequence[ShardState]) -> Table:
    table = _table(
        "shard",
        "part",
        "watermark",
        "stored",
        "waiting",
        "deadlines",
        "snapshot",
        "chunks",
        "bytes",
        numbers=5,
    )
    for one in states:
        stored = ", ".join(f"{name} {count:,}" for name, count in one.stored.items())
        table.add_row(
            str(one.shard),
            str(one.part),
            "-" if one.watermark is None else format_timestamp(one.watermark),
            stored or "-",
            *(
                f"{count:,}"
                for count in (
                    one.waiting,
                    one.open_deadlines,
                    one.snapshot_bytes,
                    one.chunks,
                    one.chunk_bytes,
                )
            ),
        )
    return table


def _rules(states: Sequence[ShardState]) -> Table:
    """The rules of each part, with the sums of its shards."""
    table = _table("\nrule", "\npart", "\n", "\nevaluated", "\nfired", numbers=2)
    totals: dict[tuple[int, str], list[int]] = {}
    paused: set[tuple[int, str]] = set()
    for one in states:
        for rule in one.rules:
            sums = totals.setdefault((one.part, rule.name), [0, 0])
            sums[0] += rule.evaluated
            sums[1] += rule.fired
            if rule.paused:
                paused.add((one.part, rule.name))
    for (part, name), (evaluated, fired) in totals.items():
        status = "paused" if (part, name) in paused else ""
        table.add_row(name, str(part), status, f"{evaluated:,}", f"{fired:,}")
    return table
