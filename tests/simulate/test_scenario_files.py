"""Scenario files: what they give, and what is said when they are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tyrex.simulate.scenario import Scenario
from tyrex.simulate.scenario_file import parse_scenario, read_scenario
from tyrex.simulate.toml_reader import ScenarioError
from tyrex.tesla.durations import MINUTE, SECOND

RULES = """event Temp(area: string, value: float)
event Smoke(area: string)
Rule fire
define Fire(area: string)
from Smoke(area = $a) and last Temp(area = $a and value > 45) within 5 min from Smoke
where area = $a
"""
OWN = """name = "Fire watch"
seed = 3

[network]
model = "file"
file = "net.csv"

[workload]
kind = "own"
rules = "fire.tesla"

[[workload.source]]
type = "Temp"
processor = ["coast", "hill"]
rate = 2.5

[[workload.source]]
type = "Smoke"
processor = "hill"
rate = 0.1

[[workload.sink]]
processor = "town"
want = ["Fire", 'Fire(area = "north")']

[workload.values.Temp]
area = ["north", "south"]
value = { low = 0, high = 90 }

[run]
strategies = ["ST", "MTpp"]
duration = "5 min"
span = "10 s"
"""


def test_an_empty_file_is_the_default_scenario_of_the_paper() -> None:
    """Everything has a default."""
    scenario = parse_scenario("", "usual.toml")
    assert len(scenario.topology.processors) == 20
    assert len(scenario.workload.feeds) == 120
    assert scenario.strategies == ("Centr", "ST", "MT", "STpp", "MTpp")
    assert scenario.name == "usual"


def test_parameters_of_the_papers_are_set_by_name() -> None:
    """Those of the network stand in its section, the others in that of the workload."""
    scenario = parse_scenario(
        '[network]\nprocessors = 10\ndegree = 3\n[workload]\nrules = 7\nwindow = "5 s"\nrates = "exponential"\n'
    )
    assert (len(scenario.topology.processors), scenario.topology.degree) == (10, 3)
    assert len(scenario.workload.parsed) == 7
    windows = [state.window for rule in scenario.workload.parsed for state in rule.plan.states[1:]]
    assert all(window is not None and 2.5 * SECOND <= window <= 7.5 * SECOND for window in windows)


def test_raced_has_its_own_scenario() -> None:
    """With its network of 120 brokers and its two strategies."""
    scenario = parse_scenario('[workload]\nkind = "raced"\nclients = 50\n')
    assert (len(scenario.topology.processors), len(scenario.workload.feeds)) == (120, 50)
    assert scenario.strategies == ("RACED", "PADRES")


def test_ones_own_rules_sources_and_sinks_are_taken(tmp_path: Path) -> None:
    """Files are looked for beside the scenario; a sink or source may be at several processors."""
    scenario = _own(tmp_path, OWN)
    assert [(feed.processor, feed.type, feed.rate) for feed in scenario.workload.feeds] == [
        ("coast", "Temp", 2.5),
        ("hill", "Temp", 2.5),
        ("hill", "Smoke", 0.1),
    ]
    assert scenario.workload.sinks[0].filters == ("Fire()", 'Fire(area = "north")')
    assert (scenario.run.duration, scenario.run.span) == (5 * MINUTE, 10 * SECOND)
    table = dict(scenario.workload.events(0, MINUTE))[scenario.workload.feeds[0]]
    assert set(table.column("@area").to_pylist()) == {"north", "south"}
    assert all(0 <= value <= 90 for value in table.column("@value").to_numpy())


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("seed = 3", "seed = [", ["SCN001", "this is not TOML"]),
        ("seed = 3", "sead = 3", ["SCN002", "no setting `sead` in the file", "did you mean `seed`?", ":2:1"]),
        ('rules = "fire.tesla"\n', "", ["SCN003", "`rules` is missing in [workload]", ":8:1"]),
        ("rate = 2.5", 'rate = "fast"', ["SCN004", "a number", "the text 'fast'", ":15:1"]),
        ("rate = 2.5", "rate = -1", ["SCN005", "`rate` can't be -1", ":15:1"]),
        ("rate = 0.1", "rats = 0.1", ["SCN002", "`rats`", "SCN003", "`rate` is missing"]),
        ('duration = "5 min"', 'duration = "long"', ["SCN004", "a length of time"]),
        ('"ST", "MTpp"', '"ST", "STp"', ["SCN005", "no `STp` among strategies", "did you mean `STpp`?"]),
        ('"net.csv"', '"none.csv"', ["SCN005", "none.csv can't be read"]),
        ('"fire.tesla"', '"none.tesla"', ["SCN006", "the rules can't be read"]),
        (
            'processor = "town"',
            'processor = "toun"',
            ["SCN005", "no processor `toun`", "did you mean `town`?"],
        ),
        ('type = "Smoke"', 'type = "Smok"', ["no event type `Smok`", "did you mean `Smoke`?", ":18:1"]),
        ('want = ["Fire"', 'want = ["Fires"', ["`Fires` can't be subscribed to"]),
        ("low = 0, high = 90", "low = 9, high = 0", ["`value` has no such values", "a list of float values"]),
        ('"north", "south"', '"north", 5', ["`area` has no such values"]),
        ("[workload.values.Temp]", "[workload.values.Tmp]", ["no event type `Tmp`"]),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    tmp_path: Path, before: str, after: str, said: list[str]
) -> None:
    """A code, the line, what was expected, and a suggestion where there is one."""
    assert before in OWN
    with pytest.raises(ScenarioError) as raised:
        _own(tmp_path, OWN.replace(before, after, 1))
    for words in said:
        assert words in str(raised.value)


def test_wrong_rules_are_told_as_everywhere(tmp_path: Path) -> None:
    """With the diagnostics of TESLA, in the rule file."""
    with pytest.raises(ScenarioError, match=r"fire\.tesla:5:"):
        _own(tmp_path, OWN, RULES.replace("value > 45", "valu > 45"))


def test_parameters_that_do_not_go_together_are_refused() -> None:
    """Such as a sequence that is longer than there are types."""
    with pytest.raises(ScenarioError, match="a rule of 3 different events can't be made of 2 types"):
        parse_scenario("[workload]\ntypes = 2\n")
    with pytest.raises(ScenarioError, match="at most 4"):
        parse_scenario("[network]\nprocessors = 5\ndegree = 9\n")


def _own(folder: Path, text: str, rules: str = RULES) -> Scenario:
    (folder / "fire.tesla").write_text(rules, "utf-8")
    (folder / "net.csv").write_text("from,to,delay_ms\ncoast,hill,3\nhill,town,2\n", "utf-8")
    path = folder / "watch.toml"
    path.write_text(text, "utf-8")
    return read_scenario(path)
