"""What the benchmarks count is what the reference semantics finds."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from benchmarks.loads import NegationLoad
from benchmarks.partial import count
from benchmarks.sequences import Scenario, Steps
from benchmarks.workloads import Workload, chosen

import tyrex
from benchmarks import ours, streams, workloads
from tyrex.reference import run as run_reference


def _by_definition(text: str, events: list[tyrex.Event]) -> int:
    return len(run_reference(tyrex.parse(text).checked, events).composites)


def _events(steps: Steps) -> list[tyrex.Event]:
    return [tyrex.Event(each.pop("type"), each.pop("timestamp"), each) for each in steps.dicts()]


@pytest.mark.parametrize("name", ["fire-each-w50-p90", "fire-last-w50-p90", "filter", "keyed-last"])
def test_the_engine_finds_what_the_reference_finds_in_the_streams(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few events and rules of a workload: the same number of composites, and the same sum of what they measured."""
    monkeypatch.setattr(workloads, "FIRE_PAIRS", workloads.FIRE_PAIRS[::20])
    monkeypatch.setattr(streams, "FILTERS", 50)
    (workload,) = (each for each in chosen([name]) if each.name == name)
    small: Workload = replace(workload, warm=0, events=30, window_events=workload.window_events and 2)
    stream = replace(small.stream(), fill=0)
    right = ours.run_by_definition(small, stream)
    found = ours.run(small, stream, add=True)
    assert found.composites == right.composites
    assert found.composites > 0 or name == "keyed-last"
    assert found.sum == right.sum


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario("each", rules=12, kinds=3, states=3),
        Scenario("last", rules=12, kinds=3, states=4),
        Scenario("first", rules=12, kinds=3, states=3),
        Scenario("each", rules=6, kinds=2, sequences=3),
        Scenario("each", rules=12, kinds=3, consuming=True),
        Scenario("last", rules=12, kinds=3, intervals=True),
    ],
)
def test_every_form_of_the_synthetic_rules_means_what_it_should(scenario: Scenario) -> None:
    """The engine on the scenario's table makes as many composites as the reference on its events."""
    steps = scenario.events(2_000_000, 60)
    found = tyrex.Engine(scenario.text()).send_batch(steps.to_arrow())
    assert len(found) == _by_definition(scenario.text(), _events(steps)) > 0


def test_negation_at_a_rate_makes_what_the_reference_makes() -> None:
    """Temperatures without rain in the second before."""
    load = NegationLoad(20.0, thresholds=5)
    fill, table = load.tables(20, 12)
    engine = tyrex.Engine(load.text())
    found = len(engine.send_batch(fill)) + len(engine.send_batch(table))
    rows = [row for each in (fill, table) for row in each.to_pylist()]
    events = [
        tyrex.Event(
            row["type"],
            round(row["timestamp"].timestamp() * 1e6),
            {"area": row["area"]} if row["value"] is None else {"area": row["area"], "value": row["value"]},
        )
        for row in rows
    ]
    assert found == _by_definition(load.text(), events) > 0


def test_partial_matches_are_the_chains_that_may_still_grow() -> None:
    """Against all combinations of a few events, tried one by one."""
    scenario = Scenario("each", rules=2, kinds=1, states=3, window=6_000)
    steps = scenario.events(500_000, 40)
    moment = steps.start + 15_000_000
    counted = count(scenario, steps, [moment])
    alive = composites = 0
    triples = list(zip(steps.times(), steps.states, strict=True))
    for near, far in scenario.windows():
        for time, state in triples:
            alive += state == 2 and moment - 1000 * far <= time < moment
        for (first, a), (second, b) in combinations(triples, 2):
            chain = (a, b) == (2, 1) and second - first <= 1000 * far
            alive += chain and moment - 1000 * near <= second < moment
            composites += sum(
                chain and state == 0 and second < time <= second + 1000 * near and time >= moment
                for time, state in triples
            )
    assert counted.partial == [alive]
    assert counted.composites == composites > 0


def test_chains_are_as_many_as_the_engine_detects() -> None:
    """The count beside the load of the TESLA paper is the engine's."""
    scenario = Scenario("each", rules=10, kinds=2, states=4, window=5_000)
    steps = scenario.events(200_000, 150)
    found = tyrex.Engine(scenario.text()).send_batch(steps.to_arrow())
    assert count(scenario, steps, [steps.start]).composites == len(found) > 0


def test_only_plain_sequences_have_their_chains_counted() -> None:
    """Everything else is refused rather than counted wrongly."""
    with pytest.raises(ValueError, match="only sequences with `each`"):
        count(Scenario("last", rules=2, kinds=1), Scenario(rules=2, kinds=1).events(1_000, 5), [0])
