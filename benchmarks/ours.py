"""Tyrex on a workload: the row that the peers are compared with.

The stream is sent as slices of an Arrow table. The composites of a slice are held, as a user may hold them, until those
of the next are there; making and freeing their columns is part of the time.
"""

from __future__ import annotations

import time
from typing import Any

from benchmarks.figures import OURS, Figure
from benchmarks.streams import Stream
from benchmarks.workloads import Workload

import tyrex
from tyrex.reference import run as run_reference

ROUNDS = 3
"""Each on a new engine; the one with the median time counts."""
BATCH = {"each": 256}
OTHER_BATCH = 2_048
"""Events in a batch: all that a batch makes is held at once, and a terminator of the rules about fire makes a hundred
composites with `last` and up to 25,000 with `each`. So a batch makes at most two hundred thousand of them, and with
`each` some million. A batch costs about 60 us by itself, which these sizes make small.
"""


class NotBuilt(Exception):
    """This version of Tyrex has no engine."""


def run(workload: Workload, stream: Stream, *, add: bool = False, threads: int = 1) -> Figure:
    """The engine on a workload, in this process."""
    engine_class = getattr(tyrex, "Engine", None)
    if engine_class is None:
        raise NotBuilt("tyrex.Engine is not built yet")
    rules = tyrex.parse(workload.rules())
    table = stream.to_arrow()
    rounds = [
        _round(engine_class(rules, threads=threads), workload, stream, table, add=add) for _ in range(ROUNDS)
    ]
    return sorted(rounds, key=lambda figure: figure.seconds)[ROUNDS // 2]


def _round(engine: Any, workload: Workload, stream: Stream, table: Any, *, add: bool) -> Figure:
    size = BATCH.get(workload.policy, OTHER_BATCH)
    skip = stream.fill + workload.warm

    def send(start: int, stop: int) -> tuple[int, float]:
        composites, total = 0, 0.0
        for at in range(start, stop, size):
            found = engine.send_batch(table.slice(at, min(size, stop - at)))
            composites += len(found)
            if add:
                total += sum(event.attributes["measured"] for event in found)
        return composites, total

    _, warm_sum = send(0, skip)
    cpu = time.process_time()
    before = time.perf_counter()
    composites, measured_sum = send(skip, len(stream))
    seconds = time.perf_counter() - before
    return Figure(
        workload=workload.name,
        engine=OURS,
        rules=workload.rules().count("\ndefine "),
        events=len(stream) - skip,
        composites=composites,
        seconds=seconds,
        cpu_seconds=time.process_time() - cpu,
        sum=warm_sum + measured_sum if add else None,
    )


def run_by_definition(workload: Workload, stream: Stream) -> Figure:
    """The reference semantics on a workload: slow, but right by definition. All events count as measured."""
    rules = tyrex.parse(workload.rules())
    events = [
        tyrex.Event(event.pop("type"), event.pop("timestamp"), event)
        for event in ({**each} for each in stream.events())
    ]
    before = time.perf_counter()
    composites = run_reference(rules.checked, events).composites
    return Figure(
        workload=workload.name,
        engine="reference",
        rules=len(rules),
        events=len(stream),
        composites=len(composites),
        seconds=time.perf_counter() - before,
        sum=float(sum(float(event["measured"] or 0) for event in composites)),
    )
