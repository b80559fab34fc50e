"""`tyrex explain`: shows the automaton and the plan of rules, as text or as a picture."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tyrex.cli.common import fail, load_rules
from tyrex.plan import draw


class PictureFormat(StrEnum):
    """The forms that a plan can be shown in."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"
    JSON = "json"


def explain(
    rules: Annotated[Path, typer.Argument(help="A rule file, or a directory of them.")],
    format: Annotated[PictureFormat, typer.Option(help="How to show it.")] = PictureFormat.TEXT,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="A file to write to.")] = None,
) -> None:
    """Show what each rule becomes: its automaton, its conditions, how long events are kept."""
    text = draw(load_rules(rules).plan, format.value)
    if output is None:
        typer.echo(text.rstrip("\n"))
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, "utf-8")
    except OSError as error:
        raise fail(f"{output} can't be written: {error.strerror or error}") from None
    typer.echo(f"written to {output}", err=True)
