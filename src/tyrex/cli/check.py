"""`tyrex check`: says everything that is wrong with rule files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tyrex.cli.common import OutputFormat, print_diagnostics, sources_of
from tyrex.rules import examine
from tyrex.tesla import Diagnostic, Severity


def check(
    files: Annotated[list[Path], typer.Argument(help="Rule files; a directory is one rule set of all its files.")],
    format: Annotated[OutputFormat, typer.Option(help="text for a person, json for a program.")] = OutputFormat.TEXT,
) -> None:
    """Check rule files: exit 0 if they are right, 1 with every error on standard error if not."""
    found: list[Diagnostic] = []
    rules = 0
    for path in files:
        checked, diagnostics = examine(sources_of(path))
        found += diagnostics
        rules += 0 if checked is None else len(checked)
    errors = sum(d.severity is Severity.ERROR for d in found)
    print_diagnostics(found, format)
    if format is OutputFormat.TEXT:
        if errors:
            typer.echo(f"\n{errors} error{'s' if errors != 1 else ''}", err=True)
        else:
            typer.echo(f"{rules} rule{'s' if rules != 1 else ''}, no errors")
    if errors:
        raise typer.Exit(1)
