"""How an engine answers to a rate of events: its time for an event, what comes out, and where it is at its limit.

Everything is measured with the load's events at that rate in the windows. Up to the rate at which the engine is busy
all the time, what comes out is what the events make. Beyond, a full queue drops events, and what comes out stays what
it was at the limit: that part of a curve is drawn from there, not measured.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.loads import Load

import tyrex
from tyrex import RuleSet

QUEUE = 100
"""The paper's queue: when the engine is busy, so many events wait, and are taken as one batch."""
MOST_COMPOSITES = 2e6
"""Batches are smaller where they would make more than this."""
LONGEST_EVENT = 5e6
"""Rates at which one event makes more composites than this are not tried."""


@dataclass(frozen=True, slots=True)
class Timing:
    """The time for single events, in microseconds."""

    average: float
    p99: float


@dataclass(frozen=True, slots=True)
class Point:
    """One rate."""

    rate: float
    """Input events in a second."""
    seconds: float
    """For an event, in batches as a busy queue gives them."""
    composites: float
    """For an event."""

    @property
    def busy(self) -> float:
        """The share of the time that the engine works; above 1, events are dropped."""
        return self.rate * self.seconds


def time_single(
    load: Load, rules: RuleSet, rate: float, *, events: int, longest: float, threads: int = 1
) -> Timing:
    """Send events one by one, and time each; at most so many, for at most so many seconds."""
    fill, measured = load.tables(rate, events)
    engine = tyrex.Engine(rules, threads=threads)
    _fill(engine, fill)
    times = []
    clock = time.perf_counter_ns
    end = time.perf_counter() + longest
    objects = [[tyrex.Event(*_parts(row))] for row in measured.to_pylist()]
    for event in objects:
        before = clock()
        engine.send_batch(event)
        times.append(clock() - before)
        if time.perf_counter() > end:
            break
    times.sort()
    return Timing(sum(times) / len(times) / 1000, times[int(0.99 * len(times))] / 1000)


def _parts(row: dict[str, Any]) -> tuple[str, int, dict[str, Any]]:
    type_, timestamp = row.pop("type"), row.pop("timestamp")
    microseconds = int(timestamp.timestamp()) * 1_000_000 + timestamp.microsecond
    return type_, microseconds, {name: value for name, value in row.items() if value is not None}


def time_rate(
    load: Load, rules: RuleSet, rate: float, *, events: int, longest: float, threads: int = 1
) -> Point:
    """Send events in batches, as a busy queue gives them; at most so many, for at most so many seconds."""
    fill, measured = load.tables(rate, events)
    engine = tyrex.Engine(rules, threads=threads)
    _fill(engine, fill)
    size = batch_size(load, rate)
    done = composites = 0
    start = time.perf_counter()
    while done < events and (done == 0 or time.perf_counter() - start < longest):
        found = engine.send_batch(measured.slice(done, size))
        composites += len(found)
        done = min(done + size, events)
    return Point(rate, (time.perf_counter() - start) / done, composites / done)


def batch_size(load: Load, rate: float) -> int:
    """A queue full, or fewer where that would make too many composites at once."""
    return max(1, min(QUEUE, int(MOST_COMPOSITES / max(load.expected(rate), 1))))


def _fill(engine: tyrex.Engine, table: Any) -> None:
    for at in range(0, len(table), 8_192):
        engine.send_batch(table.slice(at, 8_192))


def sweep(
    load: Load, rules: RuleSet, rates: Sequence[float], *, events: int, longest: float, threads: int = 1
) -> tuple[Point, ...]:
    """One rate after the other, until the engine is at its limit."""
    points: list[Point] = []
    for rate in rates:
        if load.expected(rate) > LONGEST_EVENT:
            break
        points.append(time_rate(load, rules, rate, events=events, longest=longest, threads=threads))
        if points[-1].busy > 1:
            break
    return tuple(points)


def limit(points: Sequence[Point]) -> tuple[float, float] | None:
    """The rate at which the engine is busy all the time, and the composites/s there; None if it was not reached."""
    above = next((point for point in points if point.busy >= 1), None)
    if above is None:
        return None
    below = max((p for p in points if p.rate < above.rate), key=lambda point: point.rate, default=None)
    if below is None:
        return 1 / above.seconds, above.composites / above.seconds
    share = math.log(1 / below.busy) / math.log(above.busy / below.busy)
    rate = _between(below.rate, above.rate, share)
    return rate, rate * _between(below.composites, above.composites, share)


def _between(low: float, high: float, share: float) -> float:
    """The value at a share of the way, on a logarithmic scale."""
    if low <= 0 or high <= 0:
        return low + share * (high - low)
    return float(low * (high / low) ** share)


def curve(points: Sequence[Point], end: float) -> list[tuple[float, float]]:
    """Rate and composites/s up to a rate: rising as measured, then flat at the limit."""
    reached = limit(points)
    if reached is None:
        return [(point.rate, point.rate * point.composites) for point in points]
    rising = [(p.rate, p.rate * p.composites) for p in points if p.busy < 1 and p.rate < reached[0]]
    flat = [(end, reached[1])] if end > reached[0] else []
    return [*rising, reached, *flat]
