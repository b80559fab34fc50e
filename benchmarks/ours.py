"""Tyrex on a workload: the row that the peers are compared with.

The stream is sent as slices of an Arrow table. The composites of a slice are held, as a user may hold them, until those
of the next are there; making and freeing their columns is part of the time.
"""

from __future__ import annotations

import math
import time
from typing import Any

from benchmarks.figures import OURS, Figure
from benchmarks.streams import Stream
from benchmarks.workloads import Workload

import tyrex
from tyrex.reference import run as run_reference

ROUNDS = 3
"""Each on a new engine; the one with the median time counts."""
BATCH = 8_192
"""Events in a batch, where few of them make composites. A batch costs about 60 us by itself."""
BATCH_OF_FIRES = 2_048
MOST_HELD = 1_000_000
"""Fewer if they would make more composites than this, as those of a batch are held at once: a terminator of the rules
about fire makes a hundred of them with `last`, and with `each` up to 25,000.
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


def batch_size(workload: Workload) -> int:
    """So many events that they make about as many composites as may be held."""
    if workload.family != "fire":
        return BATCH
    made = 50 * workload.window_events if workload.policy == "each" else 100
    return min(BATCH_OF_FIRES, 1 << int(math.log2(MOST_HELD * 100 / (made * workload.percent_smoke))))


def _round(engine: Any, workload: Workload, stream: Stream, table: Any, *, add: bool) -> Figure:
    size = batch_size(workload)
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
