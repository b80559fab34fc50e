"""`tyrex translate`: prints RACED definitions as TESLA rules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tyrex.cli.common import fail, print_diagnostics, sources_of
from tyrex.raced import examine_raced
from tyrex.tesla.durations import NotADuration, parse_duration
from tyrex.tesla.format import format_tree


def translate(
    file: Annotated[Path, typer.Argument(help="A RACED file.")],
    window: Annotated[str, typer.Option(help="The window of patterns without WITHIN.")] = "5 min",
) -> None:
    """Print the TESLA rules that RACED definitions mean."""
    try:
        default = parse_duration(window)
    except NotADuration as error:
        raise fail(str(error)) from None
    for source in sources_of(file):
        if source.name.endswith(".tesla"):
            if file.is_dir():
                continue
            raise fail(f"{source.name} is TESLA already; `tyrex format` prints it in the canonical layout")
        tree, diagnostics = examine_raced(source, default_window=default)
        if diagnostics:
            print_diagnostics(diagnostics)
            raise typer.Exit(1)
        typer.echo(format_tree(tree), nl=False)
