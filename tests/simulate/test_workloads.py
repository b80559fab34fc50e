"""The workloads of both papers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tyrex.network.blocks import TIME
from tyrex.simulate.deployment import Deployment, Rates, draw_rates
from tyrex.simulate.raced_scenario import Raced
from tyrex.simulate.workload import Arrivals, Workload, spans
from tyrex.tesla.durations import MINUTE


def test_the_default_scenario_is_that_of_the_paper() -> None:
    """20 processors, 120 types, 100 rules of three events, and 10 subscriptions for each processor."""
    scenario = Deployment()
    topology = scenario.topology()
    workload = scenario.workload(topology)
    assert (len(topology.processors), topology.degree) == (20, 5)
    assert len(workload.feeds) == 120
    assert len(workload.parsed) == 100
    assert {len(rule.plan.states) for rule in workload.parsed} == {3}
    assert {len(sink.filters) for sink in workload.sinks} == {10}
    assert len(workload.sinks) == 20
    windows = [
        state.window for rule in workload.parsed for state in rule.plan.states if state.window is not None
    ]
    assert np.mean(windows) == pytest.approx(MINUTE, rel=0.1)


def test_rates_are_spread_over_the_orders_of_magnitude() -> None:
    """Log-uniform rates are as often between 0.001 and 0.01 as between 1 and 10; exponential ones are mostly high."""
    rng = np.random.default_rng(1)
    rates = draw_rates(Rates.LOG_UNIFORM, 0.001, 10, 100_000, rng)
    low, high = (rates < 0.01).mean(), (rates > 1).mean()
    assert (low, high) == (pytest.approx(0.25, abs=0.01), pytest.approx(0.25, abs=0.01))
    assert rates.mean() == pytest.approx(9.999 / np.log(10_000), rel=0.02)
    rates = draw_rates(Rates.EXPONENTIAL, 0.001, 10, 100_000, rng)
    assert rates.min() >= 0.001
    assert rates.max() <= 10
    assert rates.mean() == pytest.approx(1.93, rel=0.02)


@pytest.mark.parametrize("arrivals", list(Arrivals))
def test_a_source_publishes_at_its_rate(arrivals: Arrivals) -> None:
    """Over an hour each source gives about as many events as its rate says."""
    scenario = Deployment(slowest=0.1, fastest=2, arrivals=arrivals)
    workload = scenario.workload(scenario.topology())
    rates = Counter({feed.type: feed.rate for feed in workload.feeds})
    for feed, table in workload.events(0, 60 * MINUTE):
        expected = rates[feed.type] * 3600
        slack = 5 * expected**0.5 if arrivals is Arrivals.POISSON else 1
        assert abs(len(table) - expected) <= slack


@pytest.mark.parametrize("arrivals", list(Arrivals))
def test_events_do_not_depend_on_the_spans_in_which_they_are_taken(arrivals: Arrivals) -> None:
    """An hour at once, and in pieces of 7 minutes, are the same events."""
    workload = _small(arrivals=arrivals)
    whole = _together(workload, [(0, 60 * MINUTE)])
    pieces = _together(workload, list(spans(0, 60 * MINUTE, 7 * MINUTE)))
    assert whole.keys() == pieces.keys()
    assert all(whole[type_].equals(pieces[type_]) for type_ in whole)
    assert all((np.diff(table.column(TIME).to_numpy()) >= 0).all() for table in whole.values())


def test_a_parameter_changes_only_what_it_says() -> None:
    """More subscriptions leave rules and sources as they are, and another seed changes all."""
    base = Deployment()
    topology = base.topology()
    one, other = base.workload(topology), replace(base, subscriptions=20).workload(topology)
    assert (one.rules, one.feeds) == (other.rules, other.feeds)
    assert one.sinks != other.sinks
    again = replace(base, seed=1)
    assert again.workload(topology).rules != one.rules


def test_filters_take_one_of_the_values() -> None:
    """With 10 values a tenth of the events fulfils each filter."""
    workload = _small(values=10)
    table = next(table for _, table in workload.events(0, 60 * MINUTE) if len(table) > 1000)
    assert set(table.column("@value").to_pylist()) == set(range(10))
    assert all(f"T{n}(value = " in workload.rules for n in range(3))


def test_locality_keeps_classes_apart_and_their_sources_together() -> None:
    """A type of a class is used by the rules of that class only, and published in one neighbourhood."""
    scenario = Deployment(classes=10, neighbourhood=3)
    topology = scenario.topology()
    workload = scenario.workload(topology)
    users: dict[str, set[int]] = {}
    for number, rule in enumerate(workload.parsed):
        for state in rule.plan.states:
            users.setdefault(state.type, set()).add(number // 10)
    assert {len(classes) for classes in users.values()} == {1}
    for first in range(0, 120, 12):
        places = {feed.processor for feed in workload.feeds[first : first + 12]}
        assert len(places) <= 3


def test_distinct_types_are_used_once() -> None:
    """In the scenario for pull, no type is used by two rules."""
    workload = Deployment(distinct=True, rules=20, length=4).workload(Deployment().topology())
    used = Counter(state.type for rule in workload.parsed for state in rule.plan.states)
    assert len(workload.feeds) == 80
    assert set(used.values()) == {1}


def test_a_type_may_have_several_sources() -> None:
    """Its rate is divided among them."""
    one, three = (Deployment(sources=n).workload(Deployment().topology()) for n in (1, 3))
    assert len(three.feeds) == 3 * len(one.feeds)
    assert three.rate == pytest.approx(one.rate)


def test_the_scenario_of_raced_has_its_clients_and_definitions() -> None:
    """120 brokers, 600 clients with about 1000 messages each, filters and negated ones as asked for."""
    scenario = Raced(filters=3, negated=1, variance=0)
    topology = scenario.topology()
    workload = scenario.workload(topology)
    assert (len(topology.processors), len(workload.feeds)) == (120, 600)
    assert workload.rate * scenario.duration == pytest.approx(600_000)
    rule = workload.parsed.rules[0]
    assert len(rule.plan.states) == 3
    assert len(rule.plan.negations) == 1
    spread = Raced(variance=4).workload(topology)
    rates = np.array([feed.rate for feed in spread.feeds])
    assert rates.var() / rates.mean() ** 2 == pytest.approx(4, rel=0.4)


def _small(*, values: int = 1, arrivals: Arrivals = Arrivals.POISSON) -> Workload:
    scenario = Deployment(types=3, rules=2, values=values, slowest=0.5, arrivals=arrivals)
    return scenario.workload(scenario.topology())


def _together(workload: Workload, pieces: list[tuple[int, int]]) -> dict[str, pa.Table]:
    found: dict[str, list[pa.Table]] = {}
    for since, until in pieces:
        for feed, table in workload.events(since, until):
            assert table.column(TIME).to_numpy().min() >= since
            assert table.column(TIME).to_numpy().max() < until
            found.setdefault(feed.type, []).append(table)
    return {type_: pa.concat_tables(tables).combine_chunks() for type_, tables in found.items()}
