"""Whatever the strategy, what is detected is what one engine detects that gets all events."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.network.plain_data import PlainData
from tests.network.random_networks import Scenario, identities

from tyrex.network.control.settings import STRATEGIES
from tyrex.network.data.tree import LocalTree
from tyrex.tesla.durations import SECOND

seeds = st.integers(0, 2**32)


@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=settings().max_examples // 10)
@given(seeds)
def test_every_strategy_gives_what_one_engine_gives(strategy: str, seed: int) -> None:
    """Each sink of a random network gets each composite once, with the id that the central engine gives it."""
    check(LocalTree, strategy, seed)


@settings(max_examples=settings().max_examples // 10)
@given(seeds)
def test_the_control_plane_needs_no_more_of_the_data_plane_than_it_says(seed: int) -> None:
    """The same with a data plane that prunes by type alone."""
    check(PlainData, "ST", seed)


def check(data: type[LocalTree | PlainData], strategy: str, seed: int) -> None:
    scenario = Scenario.of(seed)
    network, begin = scenario.start(data, strategy)
    until = begin + 20 * SECOND
    network.run(until)
    expected = scenario.expected(begin, until)
    for sink in scenario.sinks:
        got = identities(network.got(sink))
        assert got == expected, (strategy, sink)
    assert [note.text for _, _, note in network.notes if note.kind != "noticed"] == []
