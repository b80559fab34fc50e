"""`tyrex advise`: which strategy suits a network, its rules and its rates."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from tyrex.cli.common import OutputFormat, fail, load_rules, print_diagnostics, sources_of
from tyrex.cli.simulate import needs_network, write
from tyrex.cli.simulate_progress import SimulationBar
from tyrex.events import EventError
from tyrex.tesla.durations import DAY, NotADuration, parse_duration

if TYPE_CHECKING:
    from tyrex.simulate.sample import Sample
    from tyrex.simulate.scenario import Run, Scenario


def advise(
    topology: Annotated[
        Path, typer.Argument(help="The links, as CSV: from, to, delay_ms and perhaps mbit_per_s.")
    ],
    rules: Annotated[Path, typer.Argument(help="A rule file.")],
    rates: Annotated[Path, typer.Argument(help="Sources with their rates, and sinks, as TOML.")],
    sample: Annotated[
        str | None, typer.Option(help="Real events, as for `tyrex run`: rates and contents are measured.")
    ] = None,
    longest_delay: Annotated[str | None, typer.Option(help="How long a sink may wait, as `50 ms`.")] = None,
    duration: Annotated[
        str, typer.Option(help="How long each strategy is run, in simulated time.")
    ] = "10 min",
    samples: Annotated[int, typer.Option(min=1, help="Moments at which the delay is measured.")] = 50,
    report: Annotated[Path | None, typer.Option(help="Write a page with pictures, as HTML.")] = None,
    format: Annotated[OutputFormat, typer.Option(help="text or json.")] = OutputFormat.TEXT,
) -> None:
    """Run every strategy on your own network, and recommend one, with the traffic and delay of each."""
    needs_network()
    from tyrex.simulate.advice import advise as choose
    from tyrex.simulate.measure import measure
    from tyrex.simulate.report import html, summary

    length, limit = _duration(duration), None if longest_delay is None else _duration(longest_delay) / 1000
    scenario = _scenario(topology, rules, rates, sample)
    how = replace(scenario.run, duration=length, warm_up=length, span=max(1, length // 10), samples=samples)
    chosen = replace(scenario, run=how)
    runs = {strategy: _run(strategy, chosen) for strategy in chosen.strategies}
    console = Console(stderr=True) if sys.stderr.isatty() else None
    outcomes = []
    total = sum(run.warm_up + run.duration for run in runs.values())
    with SimulationBar(console, total, time.perf_counter) as bar:
        for strategy in chosen.strategies:
            bar.name(strategy)
            outcomes.append(
                measure(chosen.topology, chosen.workload, strategy, "exact", runs[strategy], bar.advance)
            )
    advice = choose(outcomes, longest=limit)
    if report is not None:
        write(report, html(chosen, outcomes))
    if format is OutputFormat.JSON:
        record = {
            "recommended": advice.strategy,
            "why": advice.why,
            "runs": [outcome.record() for outcome in outcomes],
        }
        typer.echo(json.dumps(record, indent=2, ensure_ascii=False))
    else:
        typer.echo(f"{summary(chosen, outcomes)}\n\n{advice.strategy} is recommended: {advice.why}.")


def _run(strategy: str, scenario: Scenario) -> Run:
    """How a strategy is run: those that pull need time until they know the rates, four reaches of a rule twice."""
    from tyrex.network.control.settings import STRATEGIES

    if not STRATEGIES[strategy].pull:
        return scenario.run
    reach = max(scenario.workload.parsed.plan.horizon.values(), default=0)
    warm_up = max(scenario.run.warm_up, min(10 * reach, DAY))
    return replace(scenario.run, warm_up=warm_up, span=max(scenario.run.span, warm_up // 20))


def _scenario(topology: Path, rules: Path, rates: Path, sample: str | None) -> Scenario:
    from tyrex.simulate.own_workload import OwnWorkload
    from tyrex.simulate.scenario import STRATEGIES, Scenario
    from tyrex.simulate.toml_reader import Reader, ScenarioError
    from tyrex.simulate.topology import TopologyError
    from tyrex.simulate.topology_file import read_topology

    checked = load_rules(rules)
    (source, *more) = sources_of(rules)
    if more:
        raise fail(f"{rules} has several rule files: name one of them")
    try:
        network = read_topology(topology)
        reader = Reader(rates.read_text("utf-8-sig"), str(rates))
        seed = reader.root.whole("seed", 0)
        measured = _measured(sample, rules)
        own = OwnWorkload(reader, reader.root, network, seed, None if measured is None else measured.rates)
        workload = own.with_rules(checked, source.text, raced=source.name.endswith(".raced"))
        reader.root.close()
        reader.finish()
    except TopologyError as error:
        raise fail(str(error)) from None
    except ScenarioError as error:
        print_diagnostics(error.diagnostics)
        raise typer.Exit(1) from None
    except OSError as error:
        raise fail(f"{rates} can't be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise fail(f"{rates} is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    if workload is None:  # never so, as then something was wrong
        raise AssertionError(rates)
    if measured is not None:
        workload = replace(workload, rows=measured.rows)
    return Scenario(rules.stem, network, workload, strategies=STRATEGIES)


def _measured(sample: str | None, rules: Path) -> Sample | None:
    from tyrex.simulate.sample import SampleError, measure_sample

    if sample is None:
        return None
    try:
        return measure_sample(sample, load_rules(rules))
    except (EventError, SampleError) as error:
        raise fail(str(error)) from None
    except OSError as error:
        raise fail(f"{sample} can't be read: {error.strerror or error}") from None


def _duration(text: str) -> int:
    try:
        return parse_duration(text)
    except NotADuration as error:
        raise fail(str(error)) from None
