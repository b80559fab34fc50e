"""Figures 16 and 17 of the T-Rex paper: events that a bounded queue drops.

Both use the default scenario with sequences of three events. In Figure 16 events come at a constant rate; in Figure 17
in spikes of k events, 10 us apart, with a second between spikes. `queueing.py` says how the queue is run.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.loads import SequenceLoad
from benchmarks.paper_figures import RATES
from benchmarks.queueing import Passed, pass_through
from benchmarks.rates import limit, sweep
from benchmarks.sequences import Scenario
from benchmarks.streams import START

import tyrex
from tyrex import RuleSet

SIZES = (10, 100, 1_000, 10_000)
BATCH = {"each": 16, "last": 1_024}
"""The most events that are taken from the queue at once."""
SPIKES = (10, 100, 1_000, 10_000)
SPIKE_GAP = 10e-6
"""Seconds between the events of a spike: 100,000 events/s."""
PAUSE = 1.0
SHARES = (0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0)
"""Rates as shares of the one at which the engine is busy all the time."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """How many percent were dropped."""

    queue: int
    x: float
    """The rate in events/s, or the events in a spike."""
    percent: float


@dataclass(frozen=True, slots=True)
class QueueFigure:
    """One panel of Figure 16 or 17."""

    policy: str
    limit: float
    """The rate at which the engine is busy all the time; 0 where it does not matter."""
    dropped: tuple[Dropped, ...]


def load(policy: str) -> SequenceLoad:
    """The default scenario with three states."""
    return SequenceLoad(Scenario(policy, states=3))


def most_rate(chosen: SequenceLoad, rules: RuleSet) -> float:
    """The rate at which the engine is busy all the time."""
    points = sweep(chosen, rules, RATES[chosen.scenario.policy], events=20_000, longest=0.3)
    reached = limit(points)
    return reached[0] if reached else points[-1].rate


def constant_rate(
    policy: str, *, sizes: Sequence[int] = SIZES, shares: Sequence[float] = SHARES, seconds: float = 1.0
) -> QueueFigure:
    """Figure 16: rates around the engine's limit, each for so many seconds of work.

    Beyond the limit the queue is full from the beginning, as it would be after a while.
    """
    chosen = load(policy)
    rules = tyrex.parse(chosen.text())
    most = most_rate(chosen, rules)
    dropped = []
    for share in shares:
        rate = share * most
        fill, _ = chosen.tables(min(rate, most), 0)  # of what is dropped nothing is in the windows
        step = max(1, round(1e6 / rate))
        for size in sizes:
            already = size if share > 1 else 0
            count = already + max(1_000, int(2 * rate * seconds))
            start = fill["timestamp"][-1].value + step
            table = chosen.scenario.events(step, count, start=start, seed=9).to_arrow()
            arrivals = [0.0] * already + [number / rate for number in range(count - already)]
            passed = _pass(rules, fill, policy, table, arrivals, size, seconds, already)
            dropped.append(Dropped(size, rate, passed.percent))
    return QueueFigure(policy, most, tuple(dropped))


def spikes(
    policy: str,
    *,
    sizes: Sequence[int] = SIZES,
    lengths: Sequence[int] = SPIKES,
    count: int = 3,
    seconds: float = 2.0,
) -> QueueFigure:
    """Figure 17: so many spikes, for so many seconds of work at the most.

    Before, the windows are filled by spikes of as many events as the queue can hold and the engine can take.
    """
    chosen = load(policy)
    rules = tyrex.parse(chosen.text())
    most = most_rate(chosen, rules)
    dropped = []
    for length in lengths:
        for size in sizes:
            kept = int(min(length, size + length // 10, most * PAUSE))
            full = chosen.scenario.window // 1_000 + 1
            fill = _spikes(chosen.scenario, full, kept, 0)
            table = _spikes(chosen.scenario, count, length, full)
            arrivals = [
                spike * (PAUSE + length * SPIKE_GAP) + number * SPIKE_GAP
                for spike in range(count)
                for number in range(length)
            ]
            passed = _pass(rules, _without_ends(fill), policy, table, arrivals, size, seconds)
            dropped.append(Dropped(size, length, passed.percent))
    return QueueFigure(policy, most, tuple(dropped))


def _pass(
    rules: RuleSet,
    fill: Any,
    policy: str,
    table: Any,
    arrivals: Sequence[float],
    size: int,
    seconds: float,
    already: int = 0,
) -> Passed:
    engine = tyrex.Engine(rules)
    engine.send_batch(fill)
    return pass_through(
        engine, table, arrivals, capacity=size, most=BATCH[policy], longest=seconds, already=already
    )


def _spikes(scenario: Scenario, count: int, length: int, before: int) -> Any:
    """Spikes of events, a second apart, as one table."""
    pa: Any = importlib.import_module("pyarrow")
    gap, pause = round(1e6 * SPIKE_GAP), round(1e6 * PAUSE)
    tables = [
        scenario.events(
            gap, length, start=1_000 * START + spike * (pause + 200_000), seed=spike + 1
        ).to_arrow()
        for spike in range(before, before + count)
    ]
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def _without_ends(table: Any) -> Any:
    compute: Any = importlib.import_module("pyarrow.compute")
    return table.filter(compute.not_equal(table["state"], 0))
