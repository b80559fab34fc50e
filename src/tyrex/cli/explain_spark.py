"""`tyrex explain --on spark`: what Spark would do with the rules and why, for a person."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tyrex.spark.explain import ExplainedPart, Explanation
from tyrex.spark.planner import Split

_COLOURS = {Split.KEY: "green", Split.EVENT: "green", Split.TIME: "yellow", Split.NONE: "red"}
_WIDTH = 100


def spark_text(explanation: Explanation, console: Console | None = None) -> str:
    """The text of an explanation; with colours if it goes to a terminal."""
    console = console or Console(width=_WIDTH)
    with console.capture() as captured:
        for number, part in enumerate(explanation.parts, 1):
            title = f"Part {number}: " if len(explanation.parts) > 1 else ""
            rules = "rule" if len(part.rules) == 1 else "rules"
            console.print(Text(f"{title}{rules} {', '.join(part.rules)}", style="bold"))
            console.print(_rows(_part(part)))
            console.print()
        console.print(Text("What leaves the sources", style="bold"))
        console.print(_sources(explanation))
        console.print()
        for line in _notes(explanation):
            console.print(Text(line, style="dim"))
    return "\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n"


def _part(part: ExplainedPart) -> Iterable[tuple[str, Text]]:
    yield "Split", Text(part.how, style=_COLOURS[part.split])
    if part.split is Split.KEY and (anywhere := [name for name in part.types if name not in part.keys]):
        yield "", Text(f"{', '.join(anywhere)}: anywhere, rules look at one such event at a time")
    if part.reason:
        yield "Because", Text(part.reason)
    for line in part.help:
        yield "Better if", Text(line)
    yield "Looks at", Text(", ".join(part.types) or "nothing but time")
    yield "Makes", Text(", ".join(part.makes))


def _rows(rows: Iterable[tuple[str, Text]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True, min_width=9)
    table.add_column()
    for title, content in rows:
        table.add_row(f"  {title}", content)
    return table


def _sources(explanation: Explanation) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("  type", no_wrap=True)
    for name in ("only if", "attributes", "not looked at"):
        table.add_column(name)
    for one in explanation.types:
        table.add_row(
            f"  {one.type}",
            Text("(made in the shards)", style="dim") if one.made else Text(one.filter or "all"),
            Text(", ".join(one.used) or "-"),
            Text(", ".join(one.behind) or "-"),
        )
    return table


def _notes(explanation: Explanation) -> Iterable[str]:
    if any(one.behind for one in explanation.types):
        yield (
            "What is not looked at stays behind if the source gives its events ids; "
            "without ids an event is known by all that it holds."
        )
    if explanation.unused_types:
        yield f"No rule looks at {', '.join(explanation.unused_types)}: these events stay behind."
    yield "Columns that no type declares are never read."
