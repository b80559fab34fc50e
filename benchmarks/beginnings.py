"""What it brings to keep the beginnings of matches between terminators, beside looking for them anew each time.

    .venv/bin/python -m benchmarks.beginnings [--quick] [--format json]

The rule is `C` after each `B` of the last minute after the last (or each) `A` of the second before that, all of one
of a hundred keys. The share of `B` that an `A` goes before, and the number of `C` for each `B`, are varied. The first
way is that of the incremental sequences in the T-Rex paper, the second that of its delayed evaluation; both run in the
same kernel.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
from benchmarks.report import Machine, Report, Table, Verdict, arguments, publish
from benchmarks.streams import START, Numbers

import tyrex
from benchmarks import plots
from tyrex.engine import deploy

ROUNDS = 3
"""Both ways in turn; the quickest of each counts."""
BATCH = 4_096
KEYS = 100
TARGET = 0.9
"""Keeping them must nowhere cost more than this."""
RULES = """
event A(k: int)
event B(k: int)
event C(k: int)
define Found(k: int)
from   C(k = $k) and each B(k = $k) within 60 s from C and {policy} A(k = $k) within 1 s from B
where  k = $k
"""


@dataclass(frozen=True, slots=True)
class Load:
    """How the rule is written, and how often its events come: of a hundred, so many are of each type."""

    policy: str
    a: int
    b: int
    events: int = 200_000

    def table(self) -> pa.Table:
        """Events 2 ms apart: thirty thousand in the window."""
        random = Numbers()
        types, keys = [], []
        for _ in range(self.events):
            kind = random(100)
            types.append("A" if kind < self.a else "B" if kind < self.a + self.b else "C")
            keys.append(random(KEYS))
        times = pa.array([START * 1_000 + 2_000 * n for n in range(self.events)], pa.timestamp("us"))
        return pa.table({"type": pa.array(types).dictionary_encode(), "timestamp": times, "k": keys})


LOADS = tuple(
    Load(policy, a, b) for policy in ("last", "each") for a, b in ((1, 80), (1, 40), (10, 60), (40, 40))
)


@dataclass(frozen=True, slots=True)
class Row:
    """One load, both ways."""

    policy: str
    a: int
    b: int
    events: int
    composites: int
    anew: float
    """Seconds."""
    kept: float

    @property
    def ratio(self) -> float:
        """How many times the events per second are reached by keeping."""
        return self.anew / self.kept


@contextmanager
def _forgetting() -> Iterator[None]:
    """Rules that are deployed meanwhile keep nothing."""
    writer: Any = deploy._RuleWriter
    decide = writer._keeps_beginnings
    writer._keeps_beginnings = lambda *_: False
    try:
        yield
    finally:
        writer._keeps_beginnings = decide


def measure(load: Load, rounds: int = ROUNDS) -> Row:
    """Both ways in turn."""
    rules = tyrex.parse(RULES.format(policy=load.policy))
    table = load.table()
    anew: list[float] = []
    kept: list[float] = []
    numbers: set[int] = set()
    for _ in range(rounds):
        with _forgetting():
            engine = tyrex.Engine(rules)
        for engine_, seconds in ((engine, anew), (tyrex.Engine(rules), kept)):
            before = time.process_time()
            composites = 0
            for at in range(0, len(table), BATCH):
                composites += len(engine_.send_batch(table.slice(at, BATCH)))
            seconds.append(time.process_time() - before)
            numbers.add(composites)
    if len(numbers) != 1:
        raise AssertionError(f"the numbers of composite events differ: {sorted(numbers)}")
    return Row(load.policy, load.a, load.b, load.events, numbers.pop(), min(anew), min(kept))


def report(rows: list[Row]) -> Report:
    """The report of what was measured."""
    header = ("A chosen by", "A %", "B %", "C %", "composites", "anew, us/event", "kept, us/event", "ratio")
    table = Table(
        header,
        tuple(
            (
                row.policy,
                row.a,
                row.b,
                100 - row.a - row.b,
                row.composites,
                1e6 * row.anew / row.events,
                1e6 * row.kept / row.events,
                row.ratio,
            )
            for row in rows
        ),
    )
    return Report(
        "beginnings",
        "Beginnings of matches, kept between terminators and found anew",
        (table,),
        (Verdict("the worst ratio", min(row.ratio for row in rows), TARGET, "x", at_least=True),),
        ("Time on the processor; the quickest of some rounds.",),
        [asdict(row) | {"ratio": round(row.ratio, 3)} for row in rows],
    )


def draw(plt: Any, rows: list[Row]) -> dict[str, Any]:
    """Times the events per second of finding them anew, a bar for each load."""
    figure, axes = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
    names = [f"{row.policy} A; {row.a} % A, {row.b} % B" for row in rows]
    axes.barh(names, [row.ratio for row in rows])
    axes.axvline(1, **plots.TARGET)
    axes.invert_yaxis()
    axes.set(xlabel="times the events/s of finding them anew", title="Beginnings of matches, kept")
    return {"beginnings": figure}


def main() -> None:
    """Measure and show."""
    options = arguments(__doc__).parse_args()
    machine = Machine()
    shrink = 4 if options.quick else 1
    rows = [measure(Load(each.policy, each.a, each.b, each.events // shrink)) for each in LOADS]
    publish(report(rows), lambda plt: draw(plt, rows), options, machine)


if __name__ == "__main__":
    main()
