"""What the commands share: reading rule files, and saying what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

import typer

from tyrex.rules import NotUtf8, RuleSet, examine, read_sources
from tyrex.tesla import Diagnostic, Severity, Source


class OutputFormat(StrEnum):
    """For a person or for a program."""

    TEXT = "text"
    JSON = "json"


def fail(message: str) -> typer.Exit:
    """Say what is wrong on standard error; raise what this returns."""
    typer.echo(f"error: {message}", err=True)
    return typer.Exit(1)


class Unreadable(Exception):
    """A path has no rule text that can be read; the message says why."""


def read_rules(path: Path) -> list[Source]:
    """The texts of a rule file or directory; `Unreadable` says why there are none."""
    try:
        sources = read_sources(path)
    except NotUtf8 as error:
        raise Unreadable(str(error)) from None
    except OSError as error:
        raise Unreadable(f"{error.filename or path} can't be read: {error.strerror or error}") from None
    if not sources:
        raise Unreadable(f"{path} has no .tesla or .raced file in it")
    return sources


def sources_of(path: Path) -> list[Source]:
    """The texts of a rule file or directory; says why they can't be read and exits if they can't."""
    try:
        return read_rules(path)
    except Unreadable as error:
        raise fail(str(error)) from None


def print_diagnostics(diagnostics: Iterable[Diagnostic], format: OutputFormat = OutputFormat.TEXT) -> None:
    """Print diagnostics on standard error, readable by a person or by a program."""
    found = list(diagnostics)
    if format is OutputFormat.JSON:
        typer.echo(json.dumps([d.record() for d in found], indent=2, ensure_ascii=False), err=True)
    elif found:
        typer.echo("\n\n".join(d.render() for d in found), err=True)


def load_rules(path: Path) -> RuleSet:
    """The rules of a file or directory; prints the diagnostics and exits if there are errors."""
    rules, diagnostics = examine(sources_of(path))
    print_diagnostics(diagnostics)
    if rules is None:
        errors = sum(d.severity is Severity.ERROR for d in diagnostics)
        typer.echo(f"\n{errors} error{'s' if errors != 1 else ''} in {path}", err=True)
        raise typer.Exit(1)
    return rules
