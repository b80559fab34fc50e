"""The `tyrex` command: one module for each subcommand."""

from __future__ import annotations

import os
import sys

import typer

from tyrex import __version__
from tyrex.cli.advise import advise
from tyrex.cli.broker import broker
from tyrex.cli.check import check
from tyrex.cli.demo import demo
from tyrex.cli.evaluate import evaluate
from tyrex.cli.explain import explain
from tyrex.cli.format import format_rules
from tyrex.cli.lsp import lsp
from tyrex.cli.network_clients import define, publish, status, subscribe
from tyrex.cli.run import run
from tyrex.cli.serve import keys, serve
from tyrex.cli.simulate import simulate
from tyrex.cli.state import state
from tyrex.cli.translate import translate

app = typer.Typer(
    help="Complex event processing: one rule file, one meaning, wherever it runs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("check")(check)
app.command("explain")(explain)
app.command("run")(run)
app.command("state")(state)
app.command("demo")(demo)
app.command("simulate")(simulate)
app.command("evaluate")(evaluate)
app.command("advise")(advise)
app.command("format")(format_rules)
app.command("translate")(translate)
app.command("broker")(broker)
app.command("publish")(publish)
app.command("subscribe")(subscribe)
app.command("define")(define)
app.command("status")(status)
app.command("lsp")(lsp)
app.command("serve")(serve)
app.add_typer(keys, name="keys")


def _version(show: bool) -> None:
    if show:
        typer.echo(f"tyrex {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Complex event processing: one rule file, one meaning, wherever it runs."""


def main() -> None:
    """Run the command."""
    try:
        app()
    except OSError as error:  # such as a full disk behind standard output
        typer.echo(f"error: {error.strerror or error}", err=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left can't be written either
        raise SystemExit(1) from None
