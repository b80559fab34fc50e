"""`tyrex check`: says everything that is wrong with rule files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tyrex.cli.common import OutputFormat, Unreadable, print_diagnostics, read_rules
from tyrex.rules import examine
from tyrex.tesla import Diagnostic, Severity, Source
from tyrex.tesla.source import NOWHERE


def check(
    files: Annotated[
        list[Path], typer.Argument(help="Rule files; a directory is one rule set of all its files.")
    ],
    format: Annotated[
        OutputFormat, typer.Option(help="text for a person, json for a program.")
    ] = OutputFormat.TEXT,
) -> None:
    """Check rule files: exit 0 if they are right, 1 with every error on standard error if not."""
    found: list[Diagnostic] = []
    unreadable: list[Diagnostic] = []
    rules = 0
    for path in files:
        try:
            sources = read_rules(path)
        except Unreadable as error:
            unreadable.append(Diagnostic("FILE", str(error), NOWHERE, Source("", str(path))))
            continue
        checked, diagnostics = examine(sources)
        found += diagnostics
        rules += 0 if checked is None else len(checked)
    errors = sum(d.severity is Severity.ERROR for d in found) + len(unreadable)
    print_diagnostics([*found, *(unreadable if format is OutputFormat.JSON else ())], format)
    if format is OutputFormat.TEXT:
        for diagnostic in unreadable:  # there is no text to show
            typer.echo(f"error: {diagnostic.message}", err=True)
        if errors:
            typer.echo(f"\n{errors} error{'s' if errors != 1 else ''}", err=True)
        else:
            typer.echo(f"{rules} rule{'s' if rules != 1 else ''}, no errors")
    if errors:
        raise typer.Exit(1)
