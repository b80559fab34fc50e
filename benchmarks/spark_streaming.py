"""Rules over a stream of Spark, beside the same packed stream with an empty function, and with state beside without.

    .venv/bin/python -m benchmarks.spark_streaming [--quick] [--format json]

A hundred rules about fires in a thousand areas, divided by area. `rate`: micro-batches of Parquet files, the same for
both; the empty function takes the packed rows from Spark and does nothing with them. `state`: small micro-batches of a
query whose shards hold about 20 MB each, beside one whose shards hold next to nothing. A micro-batch counts from its
trigger to its commit, as Spark tells it. All queries run in one session.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.report import Machine, Report, Table, Verdict, arguments, publish
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from tyrex.spark import Source, detect, shard_states
from tyrex.spark.session import close, session

AREAS = 1_000
RULES = 100
SHARDS = 2
PER_SECOND = 200
RATE_TARGET = 0.7
STATE_TARGET = 1.5
WARM = 2
"""So many micro-batches start workers and compilers, and do not count."""
DECLARATIONS = "event Temp(area: string, value: int)\nevent Smoke(area: string)\n"


ALL = """
Rule warmer
define Warmer(area: string)
from   Smoke(area = $a) and last Temp(area = $a) as Any within 1 day from Smoke and
       last Temp(area = $a and value > 9998) as High within 1 ms from Any
where  area = $a
"""
"""A rule that stores nearly everything, and seldom fires."""


def rules(window: str) -> str:
    """Each has its threshold; together they make about one composite event of twenty events."""
    return DECLARATIONS + "".join(
        f"""
Rule fire{n}
define Fire{n % 10}(area: string, value: int)
from   Smoke(area = $a) and last Temp(area = $a and value > {9_900 + n}) within {window} from Smoke
where  area = $a, value = Temp.value
"""
        for n in range(RULES)
    )


class Input:
    """Folders of files with events, each file a micro-batch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._random = numpy.random.default_rng(7)
        self._at = 1_000_000_000_000_000
        self._areas = numpy.array([f"area {n}" for n in range(AREAS)])
        self._files = 0
        for name in ("Temp", "Smoke"):
            (folder / name).mkdir(parents=True)

    def write(self, events: int) -> None:
        """One more micro-batch: nine in ten are temperatures."""
        step = 1_000_000 // PER_SECOND
        times = self._at + numpy.arange(events) * step
        self._at += events * step
        smoke = self._random.random(events) < 0.1
        columns: dict[str, Any] = {
            "timestamp": pa.array(times).cast(pa.timestamp("us", "UTC")),
            "sequence": pa.array(numpy.arange(events)),
            "area": pa.array(self._areas[self._random.integers(0, AREAS, events)]),
            "value": pa.array(self._random.integers(0, 10_000, events)),
        }
        table = pa.table(columns)
        name = f"{self._files:05}.parquet"
        pq.write_table(table.filter(pa.array(~smoke)), self.folder / "Temp" / name)
        pq.write_table(table.filter(pa.array(smoke)).drop_columns(["value"]), self.folder / "Smoke" / name)
        self._files += 1

    def sources(self, spark: SparkSession) -> dict[str, DataFrame | Source]:
        """As streams."""
        found: dict[str, DataFrame | Source] = {}
        for name in ("Temp", "Smoke"):
            columns = "timestamp timestamp, sequence long, area string" + (
                ", value long" if name == "Temp" else ""
            )
            frame = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1)
            found[name] = Source(frame.parquet(str(self.folder / name)), sequence="sequence")
        return found


class Nothing(StatefulProcessor):
    """Takes packed rows and does nothing with them."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """It has no state of its own but a number: Spark asks for one."""
        self._count = handle.getValueState("count", "count long")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        """Look at the blobs, as the rules must."""
        import pandas as pd

        held = self._count.get()
        count = (held[0] if held else 0) + sum(len(blob) for frame in rows for blob in frame["blob"] if blob)
        self._count.update((count,))
        yield pd.DataFrame({"blob": pd.Series([], dtype=object)})

    def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True)
class Query:
    """The micro-batches of one query."""

    name: str
    events: int
    """In a micro-batch."""
    milliseconds: tuple[int, ...]
    """Of each micro-batch that counts."""

    @property
    def rate(self) -> float:
        """Events in a second, in the middle one of the micro-batches."""
        return self.events / median(self.milliseconds) * 1000


def run(frame: DataFrame, checkpoint: Path) -> list[int]:
    """Run over all files; the milliseconds of each micro-batch with events."""
    query = (
        frame.writeStream.format("noop")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return [
        int(progress["durationMs"]["triggerExecution"])
        for progress in query.recentProgress
        if progress["numInputRows"]
    ]


def empty(sources: dict[str, DataFrame | Source], text: str) -> DataFrame:
    """The packed stream of the rules, into an empty function."""
    from unittest import mock

    from tyrex.spark import processor

    with mock.patch.object(processor, "ShardProcessor", return_value=Nothing()):
        return detect(sources, text, delay="1 s", shards=SHARDS)


def measure_rate(spark: SparkSession, folder: Path, events: int, batches: int, rounds: int) -> list[Query]:
    """The rules and the empty function in turn."""
    text = rules("5 s")
    given = Input(folder / "in")
    for _ in range(batches + WARM):
        given.write(events)
    sources = given.sources(spark)
    times: dict[str, list[int]] = {"empty function": [], f"{RULES} rules": []}
    for number in range(rounds):
        for name, own in times.items():
            frame = (
                empty(sources, text)
                if name == "empty function"
                else detect(sources, text, delay="1 s", shards=SHARDS)
            )
            own.extend(run(frame, folder / f"{name} {number}")[WARM:])
    return [Query(name, events, tuple(own)) for name, own in times.items()]


def measure_state(
    spark: SparkSession, folder: Path, preloaded: int, events: int, batches: int
) -> tuple[list[Query], int]:
    """The same micro-batches, after a large one and after a small one; the bytes that a shard holds in the end."""
    text = rules("1 day") + ALL
    found = []
    held = 0
    for name, first in (("empty state", events), ("with state", preloaded)):
        given = Input(folder / name / "in")
        given.write(first)
        for _ in range(batches + WARM):
            given.write(events)
        checkpoint = folder / name / "checkpoint"
        times = run(detect(given.sources(spark), text, delay="1 s", shards=SHARDS), checkpoint)
        found.append(Query(name, events, tuple(times[1 + WARM :])))
        if name == "with state":
            held = max(state.snapshot_bytes for state in shard_states(spark, checkpoint))
    return found, held


def report(rates: list[Query], states: list[Query], held: int) -> Report:
    """The report of what was measured."""
    header = ("query", "events in a micro-batch", "micro-batches", "ms, middle", "ms, mean", "events/s")
    rows = tuple(
        (
            query.name,
            query.events,
            len(query.milliseconds),
            float(median(query.milliseconds)),
            float(mean(query.milliseconds)),
            float(query.rate),
        )
        for query in (*rates, *states)
    )
    nothing, working = rates
    small, large = states
    return Report(
        "spark_streaming",
        f"Streams of Spark with {RULES} rules over {AREAS:,} areas in {SHARDS} shards",
        (Table(header, rows),),
        (
            Verdict(
                "rate beside an empty function", working.rate / nothing.rate, RATE_TARGET, "x", at_least=True
            ),
            Verdict(
                f"micro-batch with {held / 1e6:.0f} MB of state in a shard beside an empty state",
                mean(large.milliseconds) / mean(small.milliseconds),
                STATE_TARGET,
                "x",
            ),
        ),
        ("The rate is that of the middle micro-batch; the state is judged by the mean: snapshots are rare.",),
        [asdict(query) for query in (*rates, *states)],
    )


def draw(plt: Any, queries: list[Query]) -> dict[str, Any]:
    """The duration of each micro-batch."""
    figure, axes = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
    for query in queries:
        axes.plot(query.milliseconds, marker=".", label=query.name)
    axes.set(xlabel="micro-batch", ylabel="ms", title="Micro-batches of Spark", ylim=(0, None))
    axes.legend()
    return {"spark_streaming": figure}


def main() -> None:
    """Measure and show."""
    options = arguments(__doc__).parse_args()
    machine = Machine()
    folder = Path(tempfile.mkdtemp(prefix="tyrex-benchmark-"))
    shrink = 5 if options.quick else 1
    batches = 2 if options.quick else 8
    spark = session("local[2]", log=folder / "spark.log")
    try:
        rates = measure_rate(spark, folder / "rate", 300_000 // shrink, batches, 1 if options.quick else 2)
        states, held = measure_state(spark, folder / "state", 900_000 // shrink, 50_000 // shrink, batches)
    finally:
        close(spark)
        shutil.rmtree(folder, ignore_errors=True)
    publish(report(rates, states, held), lambda plt: draw(plt, [*rates, *states]), options, machine)


if __name__ == "__main__":
    main()
