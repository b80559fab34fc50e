"""What a processor of the network does with an event: forwarding it, pruning it by 100 rules, detecting with them.

    .venv/bin/python -m benchmarks.network_data [--quick] [--format json]

One processor gets blocks of events as another one sends them, and makes a move of time for each round: a block of each
of 20 types. What is timed is all that its data plane does: order, engines, history, blocks for the parent. Encoding
messages and sockets are not in it.

- `passes on` is a centralized deployment: every event goes on without a look at it.
- `forwards` has a partial rule with a static condition for each type, which every second event fulfils.
- `prunes` has the partial rules of 100 sequences of three events, of which the third comes from elsewhere.
- `detects` has these 100 rules as a whole, and makes their composites with ids.
- `late` is `detects` at a parent, where a child has held the second events of the sequences back until the first came:
  engines are made anew for them.

Rounds of few events show what a move costs by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
from benchmarks.report import Machine, Report, Table, Verdict, arguments, publish

import tyrex
from tyrex.network.blocks import NUMBER, ORIGIN, SEPARATOR, TIME, Block
from tyrex.network.data.interface import Task
from tyrex.network.data.tree import LocalTree
from tyrex.network.messages import BEGINNING, Group, Part, PartMode, Tree

TYPES = 20
RULES = 100
SECOND = 1_000_000
SIZES = (1, 50, 2_000)
"""Events of each type in a round."""
SPAN = 10 * SECOND
"""Event time of a round with the most events; others have the same rate."""
ROUNDS = 3
"""The quickest counts."""
TARGET = 100_000.0


@dataclass(frozen=True, slots=True)
class Cost:
    """What was measured."""

    job: str
    events: int
    """In a round."""
    rate: float
    """Events in a second."""
    move: float
    """Microseconds for a round."""
    sent: float
    """Blocks' rows that went up, for each event that came."""
    composites: float
    """For each event that came."""


def rules_text() -> str:
    """Sequences of three events, with a parameter and a condition."""
    declared = "".join(f"event T{n}(k: int, v: float)\n" for n in range(TYPES)) + "event Far(k: int)\n"
    return declared + "\n".join(
        f"Rule r{n} define C{n}(k: int) from T{n % TYPES}(k = $k, v > {n // TYPES / 5}) as A and "
        f"last T{(n * 7 + 1) % TYPES}(k = $k) as B within 1 s from A and "
        f"last T{(n * 3 + 2) % TYPES}(k = $k) as C within 1 s from B where k = $k"
        for n in range(RULES)
    )


def jobs() -> dict[str, Callable[[], LocalTree]]:
    """The processors to be measured."""
    rules = tyrex.parse(rules_text())
    plain = Task(
        Tree("root", 1), "here", "root", ("child",), BEGINNING, 0, dict(rules.types), (), (), frozenset()
    )
    names = [f"T{n}" for n in range(TYPES)]
    single = tuple(f"{name}(v > 0.5)\nsend {name}" for name in names)
    sequences = tuple(
        f"T{n % TYPES}(v > {n // TYPES / 5}) as A and last T{(n * 7 + 1) % TYPES}(k = A.k) as B within 1 s from A\n"
        "send A, B"
        for n in range(RULES)
    )
    groups = tuple(Group((rule.canonical_text,), (BEGINNING,)) for rule in rules)
    held = tuple(
        f"T{n % TYPES}() as A and each T{(n * 7 + 1) % TYPES}() as B within 1 s from A\nsend A, B"
        for n in range(RULES)
    )
    tasks = {
        "passes on": replace(plain, everything=frozenset(names)),
        "forwards": replace(plain, parts=(Part(1, PartMode.PUSH, single, 0),)),
        "prunes": replace(plain, parts=(Part(1, PartMode.PUSH, sequences, 0),)),
        "detects": replace(plain, groups=groups),
        "late": replace(plain, groups=groups[:5], given={"child": (Part(1, PartMode.PUSH, held, 0),)}),
    }
    return {name: partial(LocalTree, task) for name, task in tasks.items()}


def rounds(size: int, count: int, late: bool) -> list[tuple[list[Block], int]]:
    """Blocks for each round, and the time that it reaches."""
    random = np.random.default_rng(7)
    span = SPAN * size // max(SIZES)
    made = []
    number = 0
    for round_ in range(count):
        blocks = []
        for n in range(TYPES):
            start = round_ * span + 1 - (SECOND // 4 if late and n % 2 else 0)
            times = np.sort(random.integers(start, start + span, size))
            columns = {
                TIME: pa.array(times),
                ORIGIN: pa.DictionaryArray.from_arrays(np.zeros(size, np.int32), pa.array(["child"])),
                NUMBER: pa.array(np.arange(number, number + size)),
                SEPARATOR + "k": pa.array(random.integers(0, 50, size)),
                SEPARATOR + "v": pa.array(random.random(size)),
            }
            number += size
            blocks.append(Block(f"T{n}", pa.table(columns)))
        made.append((blocks, (round_ + 1) * span))
    return made


def measure(job: str, make: Callable[[], LocalTree], size: int, count: int) -> Cost:
    """The quickest of some runs."""
    given = rounds(size, count, job == "late")
    best = float("inf")
    counts: Mapping[str, int] = {}
    for _ in range(ROUNDS):
        tree = make()
        tree.local((), 10**15)
        began = time.perf_counter()
        for blocks, upto in given:
            tree.received("child", blocks, upto, None)
            tree.step()
        best = min(best, time.perf_counter() - began)
        counts = tree.counts()
    events = size * TYPES * count
    return Cost(
        job,
        size * TYPES,
        events / best,
        best / count * 1e6,
        counts["sent"] / events,
        counts["composites"] / events,
    )


def report(costs: Sequence[Cost]) -> Report:
    """The table and the targets."""
    rows = tuple((c.job, c.events, c.rate, c.move, c.sent, c.composites) for c in costs)
    most = max(c.events for c in costs)
    verdicts = tuple(
        Verdict(f"{c.job}, {c.events:,} events in a move", c.rate, TARGET, "events/s", at_least=True)
        for c in costs
        if c.events == most and c.job in ("passes on", "forwards", "prunes")
    )
    header = ("job", "events in a move", "events/s", "us/move", "sent/event", "composites/event")
    return Report(
        "network_data",
        "What a processor does with an event",
        (Table(header, rows),),
        verdicts,
        data=[asdict(cost) for cost in costs],
    )


def main() -> None:
    """Measure, and tell."""
    options = arguments(__doc__).parse_args()
    machine = Machine()
    costs = []
    for size in SIZES:
        for job, make in jobs().items():
            moves = {1: 200, 50: 40, 2_000: 5}[size]
            if options.quick or (job == "late" and size > 1):
                moves = max(moves // 10, 2)
            costs.append(measure(job, make, size, moves))
    publish(report(costs), None, options, machine)


if __name__ == "__main__":
    main()
