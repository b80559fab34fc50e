"""`tyrex evaluate`: runs the evaluations of the papers again, in simulation."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tyrex.cli.common import OutputFormat, fail
from tyrex.cli.simulate import needs_network, write
from tyrex.cli.simulate_progress import SimulationBar
from tyrex.tesla.durations import NotADuration, parse_duration


class Paper(StrEnum):
    """Whose evaluation it is."""

    DEPLOYMENT = "deployment"
    RACED = "raced"


def evaluate(
    paper: Annotated[
        Paper, typer.Argument(help="deployment: Figures 10 to 20 of that paper; raced: Figures 6 and 7.")
    ],
    report: Annotated[
        Path | None, typer.Option(help="Write a page with every figure and claim, as HTML.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Two seeds, short runs, the ends and the middle of each figure.")
    ] = False,
    figure: Annotated[list[str] | None, typer.Option(help="Only this figure; may be given again.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="How many seeds; 10 without `--quick`.")] = None,
    duration: Annotated[str | None, typer.Option(help="Of event time, for each run: `30 min`.")] = None,
    warm_up: Annotated[
        str | None,
        typer.Option(help="Before that, uncounted: masters of pull need 4 to 8 times the windows."),
    ] = None,
    processes: Annotated[int, typer.Option(min=1, help="How many runs at a time.")] = 1,
    master: Annotated[
        str | None, typer.Option(help="Run on Spark: `local[4]` or `spark://host:7077`.")
    ] = None,
    format: Annotated[OutputFormat, typer.Option(help="text or json.")] = OutputFormat.TEXT,
) -> None:
    """Reproduce the figures of a paper, and say which of its claims hold here."""
    needs_network()
    from tyrex.simulate.evaluation import EVALUATIONS, html_report, plan_of, text_report, verdicts
    from tyrex.simulate.results import Results
    from tyrex.simulate.sweep import measured_of, run_cases, sweep, sweep_frame

    names = [one.name for one in EVALUATIONS[paper.value]]
    for name in figure or ():
        if name not in names:
            raise fail(f"there is no figure `{name}` of {paper.value}: expected {', '.join(names)}")
    try:
        length = None if duration is None else parse_duration(duration)
        before = None if warm_up is None else parse_duration(warm_up)
    except NotADuration as error:
        raise fail(str(error)) from None
    plan = plan_of(
        paper.value, quick=quick, seeds=seeds, duration=length, warm_up=before, figures=figure or ()
    )
    cases = plan.cases()
    if master is not None:
        from tyrex.spark.session import close, session

        spark = session(master=master)
        try:
            rows = sweep(sweep_frame(spark, cases)).collect()
        finally:
            close(spark)
        measured = measured_of(row.asDict() for row in rows)
    else:
        console = Console(stderr=True) if sys.stderr.isatty() else None
        with SimulationBar(console, len(cases), time.perf_counter) as bar:
            bar.name(f"{len(cases)} runs")
            measured = run_cases(cases, processes=processes, progress=lambda _: bar.advance(1))
    if report is not None:
        write(report, html_report(plan, measured))
    if format is OutputFormat.JSON:
        record = {"runs": [asdict(one) for one in measured], "claims": verdicts(Results.of(measured))}
        typer.echo(json.dumps(record, indent=2, ensure_ascii=False))
    else:
        typer.echo(text_report(plan, measured))
    problems = [one.problems for one in measured if one.problems]
    if problems:
        raise fail(f"{len(problems)} runs had problems; the first: {problems[0]}")
