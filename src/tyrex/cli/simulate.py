"""`tyrex simulate`: runs the strategies of a scenario file on a simulated network."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from tyrex.cli.common import OutputFormat, fail, print_diagnostics
from tyrex.cli.simulate_progress import SimulationBar

if TYPE_CHECKING:
    from tyrex.simulate.scenario import Scenario


def simulate(
    scenario: Annotated[Path, typer.Argument(help="A scenario file, in TOML.")],
    format: Annotated[
        OutputFormat, typer.Option(help="text for a person, json for a program.")
    ] = OutputFormat.TEXT,
    report: Annotated[
        Path | None, typer.Option(help="Write a page with plots and pictures of the network, as HTML.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Compare what is detected with one engine that gets all events.")
    ] = False,
) -> None:
    """Run the strategies of a scenario on a simulated network: traffic and delay of each."""
    needs_network()
    from dataclasses import replace

    from tyrex.simulate.measure import measure
    from tyrex.simulate.report import html, summary

    chosen = scenario_of(scenario)
    how = replace(chosen.run, check=chosen.run.check or check)
    total = len(chosen.strategies) * (how.warm_up + how.duration)
    outcomes = []
    console = Console(stderr=True) if sys.stderr.isatty() else None
    with SimulationBar(console, total, time.perf_counter) as bar:
        for strategy in chosen.strategies:
            bar.name(strategy)
            outcomes.append(
                measure(chosen.topology, chosen.workload, strategy, chosen.mode, how, bar.advance)
            )
    if report is not None:
        write(report, html(chosen, outcomes))
    if format is OutputFormat.JSON:
        record = {"scenario": chosen.name, "runs": [outcome.record() for outcome in outcomes]}
        typer.echo(json.dumps(record, indent=2, ensure_ascii=False))
    else:
        typer.echo(summary(chosen, outcomes))
    if any(outcome.problems for outcome in outcomes) or (
        chosen.mode == "exact" and any(o.difference is not None and not o.difference.exact for o in outcomes)
    ):
        raise typer.Exit(1)


def needs_network() -> None:
    """Say what to install if the libraries of networks are missing."""
    try:
        import msgpack  # noqa: F401 - is it installed?
        import numpy as np  # noqa: F401 - as above
        import pyarrow as pa  # noqa: F401 - as above
    except ImportError as error:
        raise fail(f'`{error.name}` is missing: pip install "tyrex[network]"') from None


def scenario_of(path: Path) -> Scenario:
    """The scenario in a file; prints the diagnostics and exits if there are errors."""
    from tyrex.simulate.scenario_file import read_scenario
    from tyrex.simulate.toml_reader import ScenarioError

    try:
        return read_scenario(path)
    except ScenarioError as error:
        print_diagnostics(error.diagnostics)
        raise typer.Exit(1) from None
    except OSError as error:
        raise fail(f"{path} can't be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise fail(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from None


def write(path: Path, text: str) -> None:
    """Write a file, or say why it can't be."""
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise fail(f"{path} can't be written: {error.strerror or error}") from None
