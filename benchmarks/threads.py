"""The engine with several threads beside the engine with one, on the same streams in the same run.

    .venv/bin/python -m benchmarks.threads [--threads 2] [--quick] [--format json]

Rules about fires in a thousand areas, which are divided by the area. `ratio` is how many times the events per second
of one thread several threads reach, by the time on the wall; `work` is how many times its time on the processor all of
them spend together: what dividing costs. Other work on the machine takes processors away, and makes the ratio worse.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.report import Machine, Report, Table, Verdict, arguments, publish
from benchmarks.streams import Stream

import tyrex
from benchmarks import plots, streams

ROUNDS = 7
"""One thread and several in turn; the quickest of each counts, as other work only ever adds time."""
BATCH = 16_384
KEYS = 1_000
TARGET = 1.5
TARGET_THREADS = 2

DECLARATIONS = "event Temp(area: string, value: int)\nevent Smoke(area: string)\n"
PATTERNS = {
    "last": "last Temp(area = $a and value > {n}) within {window} ms from Smoke",
    "each": "each Temp(area = $a and value > {n}) within {window} ms from Smoke",
    "avg": "{n} < $t = Avg(Temp(area = $a).value) within {window} ms from Smoke",
}


@dataclass(frozen=True, slots=True)
class Workload:
    """Some rules of one kind over a stream of fires."""

    policy: str
    rules: int
    percent_smoke: int
    events: int

    @property
    def name(self) -> str:
        """Tells it from the others: `last, 100 rules`."""
        return f"{self.policy}, {self.rules:,} rule{'s' if self.rules > 1 else ''}"

    def text(self) -> str:
        """The rules; each has its threshold."""
        measured, kind = ("$t", "float") if self.policy == "avg" else ("Temp.value", "int")
        return DECLARATIONS + "".join(
            f"""
Rule fire{n}
define Fire{n % 10}(area: string, measured: {kind})
from   Smoke(area = $a) and {PATTERNS[self.policy].format(n=n % 100, window=streams.WINDOW)}
where  area = $a, measured = {measured}
"""
            for n in range(self.rules)
        )


WORKLOADS = (
    Workload("last", 1, 10, 600_000),
    Workload("last", 100, 10, 200_000),
    Workload("last", 1_000, 10, 40_000),
    Workload("each", 100, 10, 60_000),
    Workload("avg", 100, 50, 60_000),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One workload with one thread and with several."""

    workload: str
    threads: int
    events: int
    composites: int
    one: float
    """Seconds on the wall, one thread."""
    several: float
    cpu_one: float
    """Seconds on all processors."""
    cpu_several: float

    @property
    def ratio(self) -> float:
        """How many times the events per second of one thread several reach."""
        return self.one / self.several

    @property
    def work(self) -> float:
        """How many times the work of one thread all of them do together."""
        return self.cpu_several / self.cpu_one


def measure(workload: Workload, threads: int, rounds: int = ROUNDS) -> Row:
    """One and several threads in turn."""
    stream = streams.keyed(KEYS, workload.percent_smoke, workload.events)
    rules = tyrex.parse(workload.text())
    table = stream.to_arrow()
    found: dict[int, list[tuple[float, float]]] = {1: [], threads: []}
    composites: set[int] = set()
    for _ in range(rounds):
        for count, times in found.items():
            number, wall, cpu = _round(tyrex.Engine(rules, threads=count), stream, table)
            composites.add(number)
            times.append((wall, cpu))
    if len(composites) != 1:
        raise AssertionError(f"the numbers of composite events differ: {sorted(composites)}")
    one, several = found[1], found[threads]
    return Row(
        workload.name,
        threads,
        len(stream),
        composites.pop(),
        *(min(wall for wall, _ in times) for times in (one, several)),
        *(min(cpu for _, cpu in times) for times in (one, several)),
    )


def _round(engine: tyrex.Engine, stream: Stream, table: Any) -> tuple[int, float, float]:
    composites = 0
    cpu, wall = time.process_time(), time.perf_counter()
    for at in range(0, len(stream), BATCH):
        found = engine.send_batch(table.slice(at, BATCH))
        composites += len(found)
    return composites, time.perf_counter() - wall, time.process_time() - cpu


def report(rows: list[Row]) -> Report:
    """The report of what was measured."""
    header = ("rules", "events", "composites", "1 thread, events/s", "several, events/s", "ratio", "work")
    table = Table(
        header,
        tuple(
            (
                row.workload,
                row.events,
                row.composites,
                round(row.events / row.one),
                round(row.events / row.several),
                row.ratio,
                row.work,
            )
            for row in rows
        ),
    )
    return Report(
        "threads",
        f"Fires in {KEYS:,} areas with {rows[0].threads} threads beside one",
        (table,),
        tuple(
            Verdict(row.workload, row.ratio, TARGET, "x", at_least=True)
            for row in rows
            if row.threads == TARGET_THREADS
        ),
        ("Each figure is the quickest of some rounds.",),
        [asdict(row) | {"ratio": round(row.ratio, 3), "work": round(row.work, 3)} for row in rows],
    )


def draw(plt: Any, rows: list[Row]) -> dict[str, Any]:
    """Times the events per second of one thread, a bar for each workload."""
    figure, axes = plt.subplots(figsize=(7.5, 3.2), layout="constrained")
    axes.barh([row.workload for row in rows], [row.ratio for row in rows])
    axes.axvline(TARGET, **plots.TARGET)
    axes.invert_yaxis()
    axes.set(
        xlabel="times the events/s of one thread",
        title=f"Fires in {KEYS:,} areas, {rows[0].threads} threads",
    )
    return {"threads": figure}


def main() -> None:
    """Measure and show."""
    parser = arguments(__doc__)
    parser.add_argument("--threads", type=int, default=TARGET_THREADS)
    options = parser.parse_args()
    machine = Machine()
    shrink = 4 if options.quick else 1
    rows = [
        measure(Workload(each.policy, each.rules, each.percent_smoke, each.events // shrink), options.threads)
        for each in WORKLOADS
    ]
    publish(report(rows), lambda plt: draw(plt, rows), options, machine)


if __name__ == "__main__":
    main()
