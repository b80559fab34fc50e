"""`tyrex format`: prints rules in the canonical layout."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tyrex.cli.common import fail, print_diagnostics, sources_of
from tyrex.tesla import TeslaError
from tyrex.tesla.format import format_file


def format_rules(
    files: Annotated[list[Path], typer.Argument(help="Rule files.")],
    write: Annotated[bool, typer.Option("--write", "-w", help="Change the files.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only say which files would change; exit 1 if any.")
    ] = False,
) -> None:
    """Print rules in the canonical layout; comments stay where they are."""
    changed = wrong = 0
    for path in files:
        for source in sources_of(path):
            if source.name.endswith(".raced"):
                if path.is_dir():
                    continue
                raise fail(f"{source.name} is RACED; `tyrex translate` prints it as TESLA")
            try:
                text = format_file(source)
            except TeslaError as error:
                print_diagnostics(error.diagnostics)
                wrong += 1
                continue
            if not write and not check:
                typer.echo(text, nl=False)
            elif text != source.text:
                changed += 1
                if write:
                    _write(Path(source.name), text)
                typer.echo(f"{source.name} {'changed' if write else 'would change'}")
    if wrong or (check and changed):
        raise typer.Exit(1)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise fail(f"{path} can't be written: {error.strerror or error}") from None
