"""Every strategy detects what one engine detects that gets all events: on random networks, rules and workloads."""

from __future__ import annotations

import random

import pytest
from tests.engine.random_rules import random_text

from tyrex.rules import parse
from tyrex.simulate.contents import Draw, OneOf
from tyrex.simulate.measure import measure
from tyrex.simulate.scenario import STRATEGIES, Run
from tyrex.simulate.topologies import barabasi_albert, grid, tree, waxman
from tyrex.simulate.topology import Topology
from tyrex.simulate.workload import Feed, Sink, Workload
from tyrex.tesla import TeslaError
from tyrex.tesla.durations import MILLISECOND, SECOND

QUICK, MANY = 30, 1000


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_strategy_detects_what_one_engine_detects(strategy: str) -> None:
    """Random networks, sources, sinks, rules of every construct, and waves of any length."""
    _compare(strategy, range(QUICK // len(STRATEGIES) + 1))


@pytest.mark.nightly
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_strategy_detects_what_one_engine_detects_a_thousand_times(strategy: str) -> None:
    """The same for many more."""
    _compare(strategy, range(100, 100 + MANY // len(STRATEGIES) + 1))


def _compare(strategy: str, seeds: range) -> None:
    detected = 0
    for seed in seeds:
        topology, workload, run = _triple(seed)
        outcome = measure(topology, workload, strategy, "exact", run)
        assert not outcome.problems, (seed, outcome.problems)
        assert outcome.difference is not None
        assert outcome.difference.exact, (seed, outcome.difference)
        detected += outcome.difference.expected
    assert detected > len(seeds), "random workloads in which nothing is detected show nothing"


def _triple(seed: int) -> tuple[Topology, Workload, Run]:
    """A network, a workload on it, and how it is run: the same for each strategy."""
    luck = random.Random(seed)
    number = luck.randint(1, 9)
    topology = luck.choice(
        (
            lambda: waxman(number, degree=min(3, number - 1), seed=seed),
            lambda: barabasi_albert(number, degree=min(2, number - 1), seed=seed),
            lambda: grid(luck.randint(1, 3), luck.randint(1, 3)),
            lambda: tree(number, children=luck.randint(1, 3)),
        )
    )()
    text = _rules(luck)
    feeds = tuple(
        Feed(luck.choice(topology.processors), type_, luck.uniform(0.3, 3))
        for type_ in ("A", "B", "C")
        for _ in range(luck.choice((0, 1, 1, 1, 2)))
    )
    wanted = sorted({rule.defines.name for rule in parse(text)}) + ["A"] * (luck.random() < 0.2)
    sinks = tuple(
        Sink(
            luck.choice(topology.processors),
            tuple(f"{name}()" for name in luck.sample(wanted, luck.randint(1, len(wanted)))),
        )
        for _ in range(luck.randint(1, 4))
    )
    draws: dict[str, Draw] = {
        "k": OneOf((0, 0, 1, 1, 2)),
        "v": OneOf((0.0, 1.0, 1.5, 2.0)),
        "s": OneOf(("a", "a", "b")),
        "b": OneOf((True, False)),
    }
    workload = Workload(text, feeds, sinks, dict.fromkeys(("A", "B", "C"), draws), seed=seed)
    span = luck.choice((500 * MILLISECOND, SECOND, 4 * SECOND, 20 * SECOND))
    return topology, workload, Run(duration=15 * SECOND, warm_up=0, span=span, samples=0, check=True)


def _rules(luck: random.Random) -> str:
    """Rules that don't contradict themselves."""
    while True:
        text = random_text(luck, joined=luck.random() < 0.5)
        try:
            parse(text)
        except TeslaError:
            continue
        return text
