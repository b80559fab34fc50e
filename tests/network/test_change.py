"""Links, processors, rules, sources and sinks come and go, and nothing is found twice or lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.network.networks import MS, Watched, ids, type_of
from tests.network.random_networks import Scenario, identities
from tests.network.test_trees import FIGURE_3, FIRE, SMOKE, TEMP

from tyrex.network.control.settings import STRATEGIES
from tyrex.network.data.tree import LocalTree
from tyrex.tesla.durations import SECOND


@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=settings().max_examples // 10)
@given(st.integers(0, 2**32))
def test_links_and_processors_may_die_while_events_flow(strategy: str, seed: int) -> None:
    """Processors without clients die, links are cut and come back: every sink gets what one engine would give."""
    disturb(strategy, seed)


def disturb(strategy: str, seed: int) -> None:
    """A part that is cut off for a while would be a network of its own, so a way around is always left."""
    scenario = Scenario.of(seed)
    random = scenario.random
    for extra in ("x1", "x2"):
        for name in random.sample(scenario.names, 2):
            scenario.link(name, extra)
    bridge_free = [edge for edge in scenario.edges if connected(scenario, without={edge})]
    network, begin = scenario.start(LocalTree, strategy)
    for extra in ("x1", "x2"):
        moment = begin + random.randrange(12 * SECOND)
        network.at(moment, lambda name=extra: network.kill(name))  # type: ignore[misc]
    if bridge_free:
        one, other = random.choice(bridge_free)
        moment = begin + random.randrange(12 * SECOND)
        back = moment + random.randrange(SECOND, 4 * SECOND)
        network.at(moment, lambda: network.cut(one, other))
        network.at(back, lambda: network.connect(one, other, 20 * MS))
    until = begin + 40 * SECOND
    network.run(until)
    expected = scenario.expected(begin, until)
    for sink in scenario.sinks:
        assert identities(network.got(sink)) == expected, (strategy, sink)


def connected(scenario: Scenario, without: set[tuple[str, str]]) -> bool:
    """Whether the processors with clients reach each other by themselves, without some links."""
    reached = {scenario.names[0]}
    edges = [edge for edge in scenario.edges if edge not in without and not {"x1", "x2"} & set(edge)]
    for _ in scenario.names:
        for one, other in edges:
            if one in reached or other in reached:
                reached |= {one, other}
    return reached == set(scenario.names) and not without & {
        e for e in scenario.edges if {"x1", "x2"} & set(e)
    }


def fires(strategy: str) -> Watched:
    """The network of Fig. 3 with sources and a sink, and no rule yet."""
    network = Watched(FIGURE_3, LocalTree, strategy)
    network.advertise("7", "source", SMOKE)
    network.advertise("6", "source", TEMP)
    network.subscribe("1", "sink", 1, "Fire()")
    network.settle()
    return network


def burn(network: Watched, value: float = 50.0) -> None:
    """A high temperature, and smoke behind it."""
    network.emit("6", "Temp", area="A1", value=value)
    network.settle(300 * MS)
    network.emit("7", "Smoke", area="A1")
    network.settle()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rules_come_and_go(strategy: str) -> None:
    """A rule sees nothing from before it was defined, and makes nothing when it was taken away."""
    network = fires(strategy)
    network.emit("6", "Temp", area="A1", value=60.0)
    network.settle()
    network.define("3", "admin", "fire", FIRE)
    network.settle()
    network.emit("7", "Smoke", area="A1")
    network.settle()
    assert network.got("1") == []
    burn(network)
    assert len(network.got("1")) == 1
    network.undefine("3", "admin", "fire")
    network.settle()
    burn(network)
    assert len(network.got("1")) == 1


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_sinks_come_and_go(strategy: str) -> None:
    """A new sink gets what is found from then on; when the last is gone, a tree for it is given up."""
    network = fires(strategy)
    network.define("3", "admin", "fire", FIRE)
    network.settle()
    burn(network)
    network.subscribe("5", "sink", 1, "Fire(value > 45)")
    network.settle()
    burn(network)
    assert len(network.got("1")) == 2
    assert network.got("5") == network.got("1")[1:]
    network.unsubscribe("5", "sink")
    network.unsubscribe("1", "sink")
    network.settle()
    burn(network)
    assert len(network.got("1")) == 2
    if STRATEGIES[strategy].trees == "sinks":
        assert all(not processor.branches for processor in network.processors.values())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_sources_come_and_go(strategy: str) -> None:
    """A source that advertises while events flow takes part; one that left is waited for no longer."""
    network = fires(strategy)
    network.define("3", "admin", "fire", FIRE)
    network.settle()
    network.advertise("3", "source", TEMP)
    network.settle()
    network.emit("3", "Temp", area="A1", value=77.0)
    network.settle(300 * MS)
    network.emit("7", "Smoke", area="A1")
    network.settle()
    assert [event.attributes["value"] for event in network.got("1")] == [77.0]
    network.withdraw("6", "source")
    network.settle()
    network.emit("3", "Temp", area="A1", value=78.0)
    network.settle(300 * MS)
    network.emit("7", "Smoke", area="A1")
    network.settle()
    assert [event.attributes["value"] for event in network.got("1")] == [77.0, 78.0]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_new_processor_takes_part(strategy: str) -> None:
    """A processor that joins later gets rules and trees, and its sources are heard."""
    network = fires(strategy)
    network.define("3", "admin", "fire", FIRE)
    network.settle()
    network.start("8")
    network.connect("8", "7", 5 * MS)
    network.advertise("8", "source", TEMP)
    network.subscribe("8", "sink", 1, "Fire()")
    network.settle()
    network.emit("8", "Temp", area="A1", value=88.0)
    network.settle(300 * MS)
    network.emit("7", "Smoke", area="A1")
    network.settle()
    assert [event.attributes["value"] for event in network.got("1")] == [88.0]
    assert ids(network.got("8")) == ids(network.got("1"))


def test_the_next_leader_takes_over() -> None:
    """When the leader dies, another processor becomes the root, and windows that were open stay so."""
    network = Watched(
        {("1", "2"): 10 * MS, ("2", "3"): 10 * MS, ("1", "3"): 30 * MS}, LocalTree, weights={"2": 1}
    )
    network.advertise("1", "source", SMOKE)
    network.advertise("3", "source", TEMP)
    network.subscribe("3", "sink", 1, "Fire()")
    network.define("1", "admin", "fire", FIRE)
    network.settle()
    network.emit("3", "Temp", area="A1", value=50.0)
    network.settle(300 * MS)
    network.kill("2")
    network.emit("1", "Smoke", area="A1")
    network.settle()
    assert [event.attributes["value"] for event in network.got("3")] == [50.0]
    assert network.parents("1") == {"1": None, "3": "1"}


def test_types_that_disagree_are_refused() -> None:
    """A type has the same attributes everywhere: who comes second is told."""
    network = fires("ST")
    network.advertise("4", "other", type_of("Temp", place="string"))
    refused = [note for _, name, note in network.notes if note.kind == "refused" and name == "4"]
    assert [note.client for note in refused] == ["other"]
    assert "found Temp(place: string)" in refused[0].text


def test_rules_that_do_not_fit_are_refused() -> None:
    """The client that defines a wrong rule is told, and nothing is flooded."""
    network = fires("ST")
    network.define("2", "admin", "wrong", "define Fire(area: string) from Smoke(area > 3) where area = 1")
    network.define("2", "admin", "raced", "DefineEvent(", raced=True)
    network.undefine("2", "admin", "nothing")
    refused = [(name, note.client) for _, name, note in network.notes if note.kind == "refused"]
    assert refused == [("2", "admin")] * 3
    assert network.sent["Rules"] == 0


def test_rules_may_be_written_in_raced() -> None:
    """A definition in RACED is what its translation to TESLA is."""
    network = fires("RACED")
    text = (
        "DefineEvent(Fire[area:$X, value:$Y], Temp[area=$X AND value=$Y>45] AND Smoke[area=$X] WITHIN 5 min)"
    )
    network.define("2", "admin", "fire", text, raced=True)
    network.settle()
    assert [note.text for _, _, note in network.notes if note.kind == "refused"] == []
    burn(network)
    assert [event.attributes["value"] for event in network.got("1")] == [50.0]
