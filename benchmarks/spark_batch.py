"""Rules over a table on Spark, beside the same job of Spark with an empty function, and with two cores beside one.

    .venv/bin/python -m benchmarks.spark_batch [--quick] [--events 10000000] [--only empty] [--format json]

A hundred rules that are keyed by the device, over a Parquet file of events of all types (`spark_load.py`). The empty
job is the same to the last row: the same reading, shuffle and sort, and the rows go to the Python workers as they do
for the rules; there they are dropped. Results go nowhere (Spark's format `noop`).

First both jobs run in turn on two cores (`local[2]`), then the rules in a new process that has one core and
`local[1]`. The quickest round of each counts. CPU is what all of Spark's processes have used; what a job got of the
processors, CPU by time, shows whether other work took them. The usual size is four million events, so that it takes
some minutes; ten million are what the targets were set for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from benchmarks.process import cores, cpu_of_tree, fresh
from benchmarks.report import BUILD, Machine, Report, Table, Verdict, arguments, publish

import tyrex
from benchmarks import spark_load

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")

EVENTS = 4_000_000
RULES = 100
SHARDS = 4
"""In every job: two for each core."""
ROUNDS = 2
RATE_TARGET = 0.7
CORES_TARGET = 1.7


@dataclass(frozen=True, slots=True)
class Figure:
    """One job, the quickest of some rounds."""

    job: str
    events: int
    cores: int
    composites: int
    seconds: float
    cpu_seconds: float
    """Of the round that used least."""

    @property
    def rate(self) -> float:
        """Events in a second."""
        return self.events / self.seconds

    @property
    def busy(self) -> float:
        """How many processors it had on average."""
        return self.cpu_seconds / self.seconds


def prepare(events: int) -> Path:
    """The file of events, written once."""
    path = BUILD / "spark" / f"load-{events}"
    if not (path / "_SUCCESS").exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh(_write, str(path), events)
    return path


def _write(path: str, events: int) -> None:
    spark = start(2)
    spark_load.events(spark, events, 8).write.mode("overwrite").parquet(path)


def start(count: int) -> SparkSession:
    """A session on so many cores; the same garbage collector for one as for several."""
    from tyrex.spark.session import session

    return session(
        f"local[{count}]",
        log=BUILD / "spark.log",
        config={"spark.driver.memory": "3g", "spark.driver.extraJavaOptions": "-XX:+UseParallelGC"},
    )


def measure(path: str, events: int, jobs: tuple[str, ...], count: int, rounds: int) -> list[Figure]:
    """Run jobs in turn, in this process, on so many cores."""
    with cores(count):
        spark = start(count)
        made = {job: _job(spark, path, job) for job in jobs}
        composites = made["rules"].count()  # also warms Spark up
        times: dict[str, list[tuple[float, float]]] = {job: [] for job in jobs}
        for _ in range(rounds):
            for job, frame in made.items():
                times[job].append(timed(frame))
        spark.stop()
    return [
        Figure(
            job,
            events,
            count,
            composites if job == "rules" else 0,
            min(seconds for seconds, _ in found),
            min(cpu for _, cpu in found),
        )
        for job, found in times.items()
    ]


def _job(spark: SparkSession, path: str, job: str) -> DataFrame:
    from tyrex.spark.batch import detect_in_table, in_order
    from tyrex.spark.planner import plan_spark
    from tyrex.spark.tasks import Options

    rules = tyrex.parse(spark_load.rules(RULES))
    events, plan, options = spark.read.parquet(path), plan_spark(rules), Options(SHARDS)
    detected = detect_in_table(events, rules, plan, options)
    if job == "rules":
        return detected
    ordered = in_order(events, rules, plan, options)
    assert ordered is not None

    # Defined in here, so that it travels with the job.
    def nothing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        yield from ()

    return ordered.rows.mapInArrow(nothing, detected.schema)


def timed(frame: DataFrame) -> tuple[float, float]:
    """Seconds on the wall and on all processors for a job whose results go nowhere."""
    _, seconds, cpu = clocked(frame.write.format("noop").mode("overwrite").save)
    return seconds, cpu


def clocked(action: Callable[[], T]) -> tuple[T, float, float]:
    """What an action of Spark gives; its seconds on the wall and on all processors."""
    from pyspark.core.context import SparkContext

    gateway = SparkContext._gateway
    java: int = gateway.proc.pid  # type: ignore[union-attr]
    cpu, wall = cpu_of_tree(java), time.perf_counter()
    result = action()
    return result, time.perf_counter() - wall, cpu_of_tree(java) - cpu


def report(rules: Figure, empty: Figure | None, one: Figure | None) -> Report:
    """The report of what was measured: the rules on two cores, the empty job beside them, the rules on one."""
    figures = [figure for figure in (rules, empty, one) if figure is not None]
    rows = [
        (f.job, f.cores, f.events, f.composites, round(f.rate), f.seconds, f.cpu_seconds, f.busy)
        for f in figures
    ]
    header = ("job", "cores", "events", "composites", "events/s", "seconds", "CPU s", "busy")
    verdicts = []
    notes = ["Each figure is the quickest of some rounds; the empty job has the same rows and drops them."]
    if empty:
        ratio = rules.rate / empty.rate
        verdicts.append(Verdict("rate beside the empty job", ratio, RATE_TARGET, "x", at_least=True))
        notes.append(
            f"CPU of the empty job by that of the rules: {empty.cpu_seconds / rules.cpu_seconds:.2f}"
        )
    if one:
        ratio = rules.rate / one.rate
        verdicts.append(Verdict("two cores beside one", ratio, CORES_TARGET, "x", at_least=True))
        notes.append(
            f"CPU of two cores by that of one: {rules.cpu_seconds / one.cpu_seconds:.2f}; "
            f"with one core the job had {one.busy:.2f} processors, with two {rules.busy:.2f}"
        )
    data = [asdict(figure) | {"rate": figure.rate, "busy": figure.busy} for figure in figures]
    title = f"{RULES} keyed rules over a table on Spark"
    return Report("spark_batch", title, (Table(header, tuple(rows)),), tuple(verdicts), tuple(notes), data)


def main() -> None:
    """Measure and show."""
    parser = arguments(__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--only", choices=("empty", "cores"))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    events = options.events // 5 if options.quick else options.events
    machine = Machine()
    path = str(prepare(events))
    jobs = ("rules",) if options.only == "cores" else ("rules", "empty")
    rules, *others = fresh(measure, path, events, jobs, 2, options.rounds)
    one: Figure | None = None
    if options.only != "empty":
        (one,) = fresh(measure, path, events, ("rules",), 1, options.rounds)
    publish(report(rules, others[0] if others else None, one), None, options, machine)


if __name__ == "__main__":
    main()
