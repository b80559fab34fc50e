"""`tyrex simulate`, `tyrex evaluate` and `tyrex advise`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tyrex.cli import app

EXAMPLES = Path(__file__).parents[2] / "examples" / "network"
SMALL = """name = "Small"
[network]
processors = 6
degree = 2
[workload]
types = 8
rules = 5
subscriptions = 2
slowest = 0.2
window = "5 s"
[run]
strategies = ["Centr", "MT"]
duration = "1 min"
warm_up = "10 s"
samples = 5
check = true
"""


def test_a_scenario_is_run_and_summed_up(tmp_path: Path) -> None:
    """A row for each strategy, with what it detects beside one engine."""
    result = _simulate(tmp_path)
    assert result.exit_code == 0, result.output
    assert "Small: 6 processors" in result.stdout
    rows = {line.split()[0]: line for line in result.stdout.splitlines() if line.startswith(("Centr", "MT"))}
    assert rows.keys() == {"Centr", "MT"}
    assert all(row.endswith("all right") for row in rows.values())


def test_a_run_is_data_for_programs(tmp_path: Path) -> None:
    """`--format json` has traffic by kind and link, and the delays."""
    result = _simulate(tmp_path, "--format", "json")
    runs = json.loads(result.stdout)["runs"]
    assert [run["strategy"] for run in runs] == ["Centr", "MT"]
    for run in runs:
        assert run["difference"]["missing"] == run["difference"]["extra"] == 0 < run["difference"]["expected"]
        sent = sum(run["traffic"][kind]["events"] for kind in run["traffic"])
        assert sent == sum(link["events"] for link in run["links"]) > 0
        assert 0 <= run["delay_assumed_ms"] <= run["delay_ms"]


def test_a_report_shows_the_network(tmp_path: Path) -> None:
    """Every processor, every strategy, and plots, in one file that loads nothing else."""
    page = tmp_path / "out.html"
    assert _simulate(tmp_path, "--report", str(page)).exit_code == 0
    text = page.read_text("utf-8")
    assert all(f">p{number}</text>" in text for number in range(1, 7))
    assert "Centr: the network" in text
    assert "MT: the network" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_a_wrong_scenario_is_told(tmp_path: Path) -> None:
    """With code and place; and a file that is not there."""
    path = tmp_path / "wrong.toml"
    path.write_text("[network]\nprocesors = 5\n", "utf-8")
    result = CliRunner().invoke(app, ["simulate", str(path)])
    assert result.exit_code == 1
    assert "SCN002" in result.stderr
    assert "did you mean `processors`?" in result.stderr
    assert "wrong.toml:2:1" in result.stderr
    missing = CliRunner().invoke(app, ["simulate", str(tmp_path / "none.toml")])
    assert "can't be read" in missing.stderr


@pytest.mark.parametrize("name", ["fire.toml", "default.toml"])
def test_the_examples_are_right(name: str) -> None:
    """They are read without a complaint."""
    from tyrex.simulate.scenario_file import read_scenario

    assert read_scenario(EXAMPLES / name).workload.sinks


def test_advice_names_a_strategy_and_the_figures_of_all(tmp_path: Path) -> None:
    """On the example: a filter at the sources beats the centre in traffic."""
    result = _advise("--duration", "1 min", "--samples", "3", "--format", "json")
    assert result.exit_code == 0, result.output
    advice = json.loads(result.stdout)
    traffic = {run["strategy"]: run["bytes_per_second"] for run in advice["runs"]}
    assert traffic.keys() == {"Centr", "ST", "MT", "STpp", "MTpp", "RACED", "PADRES"}
    assert traffic[advice["recommended"]] <= 1.02 * min(traffic.values()) < traffic["Centr"]


def test_advice_measures_rates_from_real_events(tmp_path: Path) -> None:
    """Sources without a rate share what the sample has of their type; what never came has no source."""
    sample = tmp_path / "events.jsonl"
    lines = [
        {"type": "Temp", "timestamp": second / 2, "area": "north", "value": 50.0} for second in range(121)
    ] + [{"type": "Smoke", "timestamp": second, "area": "north"} for second in range(0, 61, 10)]
    sample.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    rates = tmp_path / "rates.toml"
    rates.write_text(
        '[[source]]\ntype = "Temp"\nprocessor = ["north", "south"]\n[[source]]\ntype = "Smoke"\nprocessor = "lake"\n'
        '[[source]]\ntype = "Rain"\nprocessor = "lake"\n[[sink]]\nprocessor = "capital"\nwant = ["Fire"]\n',
        "utf-8",
    )
    result = _advise("--duration", "1 min", "--samples", "3", "--sample", str(sample), rates=rates)
    assert result.exit_code == 0, result.output
    assert "3 sources" in result.stdout
    assert "2.13 events/s" in result.stdout
    assert "is recommended" in result.stdout


def test_what_is_wrong_with_rates_is_told(tmp_path: Path) -> None:
    """A source without a rate, where none is measured."""
    rates = tmp_path / "rates.toml"
    rates.write_text(
        '[[source]]\ntype = "Temp"\nprocessor = "north"\n[[sink]]\nprocessor = "capital"\nwant = ["Fire"]\n',
        "utf-8",
    )
    result = _advise(rates=rates)
    assert result.exit_code == 1
    assert "`rate` is missing in [source]" in result.stderr


def test_an_evaluation_of_one_figure_has_its_claims(tmp_path: Path) -> None:
    """Figure 10 in a short run: a plot and each claim, with our numbers."""
    page = tmp_path / "out.html"
    arguments = ["evaluate", "deployment", "--quick", "--seeds", "1", "--figure", "10", "--duration", "10 s"]
    result = CliRunner().invoke(app, [*arguments, "--warm-up", "10 s", "--report", str(page)])
    assert result.exit_code == 0, result.output
    assert result.stdout.count("Fig.  10") == 6
    assert "Figure 10: Default scenario" in page.read_text("utf-8")
    wrong = CliRunner().invoke(app, ["evaluate", "raced", "--figure", "10"])
    assert "there is no figure `10` of raced: expected 6a, 6b, 6c, 7n" in wrong.stderr


def _simulate(folder: Path, *options: str) -> Result:
    path = folder / "small.toml"
    path.write_text(SMALL, "utf-8")
    return CliRunner().invoke(app, ["simulate", str(path), *options])


def _advise(*options: str, rates: Path = EXAMPLES / "rates.toml") -> Result:
    files = [str(EXAMPLES / "fire.csv"), str(EXAMPLES / "fire.tesla"), str(rates)]
    return CliRunner().invoke(app, ["advise", *files, *options])
