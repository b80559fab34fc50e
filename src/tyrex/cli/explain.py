"""`tyrex explain`: shows the automaton and the plan of rules, as text or as a picture."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tyrex.cli.common import fail, load_rules
from tyrex.plan import draw
from tyrex.rules import RuleSet


class PictureFormat(StrEnum):
    """The forms that a plan can be shown in."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"
    JSON = "json"


class Place(StrEnum):
    """What can be explained: the rules themselves, or what a runtime makes of them."""

    PROCESS = "process"
    SPARK = "spark"


def explain(
    rules: Annotated[Path, typer.Argument(help="A rule file, or a directory of them.")],
    format: Annotated[PictureFormat, typer.Option(help="How to show it.")] = PictureFormat.TEXT,
    on: Annotated[
        Place, typer.Option(help="`spark` shows how Spark would divide the work, and why.")
    ] = Place.PROCESS,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="A file to write to.")] = None,
) -> None:
    """Show what each rule becomes: its automaton, its conditions, how long events are kept."""
    rule_set = load_rules(rules)
    text = draw(rule_set.plan, format.value) if on is Place.PROCESS else _on_spark(rule_set, format, output)
    if output is None:
        typer.echo(text.rstrip("\n"))
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, "utf-8")
    except OSError as error:
        raise fail(f"{output} can't be written: {error.strerror or error}") from None
    typer.echo(f"written to {output}", err=True)


def _on_spark(rules: RuleSet, format: PictureFormat, output: Path | None) -> str:
    from rich.console import Console

    from tyrex.cli.explain_spark import spark_text
    from tyrex.spark.explain import explain as explain_spark
    from tyrex.spark.pictures import draw_spark

    explanation = explain_spark(rules)
    if format is not PictureFormat.TEXT:
        return draw_spark(explanation, format.value)
    return spark_text(explanation, Console() if output is None and sys.stdout.isatty() else None)
