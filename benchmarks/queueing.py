"""A queue before the engine, on a clock of its own: what is dropped, by the size of the queue.

Events arrive when they are said to; the engine's work really is done, and its real time moves the clock. So a second
of arrivals takes as long as the work in it, and nothing but the work: no thread sleeps, and no other thread takes the
processor from the engine. The engine takes what waits as one batch, as `QueuedEngine` does, but at most `most` events,
so that the composites of one batch stay few enough to be held.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tyrex


@dataclass(frozen=True, slots=True)
class Passed:
    """What became of the events."""

    arrived: int
    dropped: int
    seconds: float
    """That the engine worked."""

    @property
    def percent(self) -> float:
        """How many percent of the events were dropped."""
        return 100 * self.dropped / self.arrived if self.arrived else 0.0


def pass_through(
    engine: tyrex.Engine,
    table: Any,
    arrivals: Sequence[float],
    *,
    capacity: int,
    most: int,
    longest: float,
    already: int = 0,
) -> Passed:
    """Let the events of a table arrive at these seconds; those that find the queue full are dropped.

    The first `already` events wait at the beginning and count as neither. It ends early when the engine has worked for
    `longest` seconds: then only what has arrived until then counts.
    """
    waiting = [range(already)] if already else []
    now = worked = 0.0
    arrived, dropped = already, 0
    while (arrived < len(arrivals) or waiting) and worked < longest:
        if not waiting:
            now = max(now, arrivals[arrived])
        here = bisect_right(arrivals, now, lo=arrived)
        taken = min(here - arrived, capacity - sum(map(len, waiting)))
        if taken and waiting and waiting[-1].stop == arrived:
            waiting[-1] = range(waiting[-1].start, arrived + taken)
        elif taken:
            waiting.append(range(arrived, arrived + taken))
        dropped += here - arrived - taken
        arrived = here
        first = waiting.pop(0)
        batch, rest = first[:most], first[most:]
        if rest:
            waiting.insert(0, rest)
        begin = time.perf_counter()
        engine.send_batch(table.slice(batch.start, len(batch)))
        took = time.perf_counter() - begin
        now += took
        worked += took
    return Passed(arrived - already, dropped, worked)
