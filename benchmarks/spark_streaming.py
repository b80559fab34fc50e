"""Rules over a stream of Spark, beside the same packed stream with an empty function, and with state beside without.

    .venv/bin/python -m benchmarks.spark_streaming [--quick] [--format json]

A hundred rules about fires in a thousand areas, divided by area. `rate`: micro-batches of Parquet files, the same for
both; the empty function takes the packed rows from Spark and does nothing with them. `state`: small micro-batches of a
query whose shards hold about 20 MB each, beside one whose shards hold next to nothing and which finds the same. A
micro-batch counts from its trigger to its commit, as Spark tells it. All queries run in one session.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.process import cpu_of_tree
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

KEEPER = """
Rule keeper
define Kept(area: string)
from   Smoke(area = $a) and last Temp(area = $a) as Any within {window} from Smoke and
       last Temp(area = $a and value > 9998) as High within 1 ms from Any
where  area = $a
"""
"""A rule that stores every temperature of its window, and finds next to nothing."""


def rules() -> str:
    """Each has its threshold; together they make about one composite event of twenty events."""
    return DECLARATIONS + "".join(
        f"""
Rule fire{n}
define Fire{n % 10}(area: string, value: int)
from   Smoke(area = $a) and last Temp(area = $a and value > {9_900 + n}) within 5 s from Smoke
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
    """The micro-batches of one query that count."""

    name: str
    events: int
    """In a micro-batch."""
    milliseconds: tuple[int, ...]
    """Of each micro-batch."""
    cpu_seconds: float
    """Of a micro-batch, on the mean: Spark and its workers."""

    @property
    def rate(self) -> float:
        """Events in a second, in the middle one of the micro-batches."""
        return self.events / median(self.milliseconds) * 1000


def run(name: str, frame: DataFrame, checkpoint: Path, events: int, warm: int) -> Query:
    """Run over all files; the first micro-batches do not count."""
    java: int = frame.sparkSession.sparkContext._gateway.proc.pid  # type: ignore[union-attr]
    query = (
        frame.writeStream.format("noop")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    began = None
    while query.isActive:
        time.sleep(0.1)
        if began is None and (last := query.lastProgress) is not None and last["batchId"] >= warm - 1:
            began = cpu_of_tree(java)
    ended = cpu_of_tree(java)
    if (error := query.exception()) is not None:
        raise SystemExit(f"{name}: {error}")  # as text: the session that knows more is about to be closed
    done = [progress for progress in query.recentProgress if progress["numInputRows"]][warm:]
    if began is None or len(done) < 2:
        raise SystemExit(f"{name}: too few micro-batches to measure anything")
    times = tuple(int(progress["durationMs"]["triggerExecution"]) for progress in done)
    return Query(name, events, times, (ended - began) / len(done))


def empty(sources: dict[str, DataFrame | Source], text: str) -> DataFrame:
    """The packed stream of the rules, into an empty function."""
    from unittest import mock

    from tyrex.spark import processor

    with mock.patch.object(processor, "ShardProcessor", return_value=Nothing()):
        return detect(sources, text, delay="1 s", shards=SHARDS)


def measure_rate(spark: SparkSession, folder: Path, events: int, batches: int) -> list[Query]:
    """The empty function, then the rules."""
    given = Input(folder / "in")
    for _ in range(batches + WARM):
        given.write(events)
    sources = given.sources(spark)
    frames = (
        ("empty function", empty(sources, rules())),
        (f"{RULES} rules", detect(sources, rules(), delay="1 s", shards=SHARDS)),
    )
    return [
        run(name, frame, folder / f"checkpoint-{n}", events, WARM) for n, (name, frame) in enumerate(frames)
    ]


def measure_state(
    spark: SparkSession, folder: Path, stored: int, events: int, batches: int
) -> tuple[list[Query], int]:
    """The same micro-batches with a rule whose window is short, and is long; the bytes that a shard then holds.

    The first micro-batch fills the long window. From then on as much leaves it as comes.
    """
    given = Input(folder / "in")
    given.write(stored)
    for _ in range(batches + WARM):
        given.write(events)
    found = []
    for n, (name, window) in enumerate((("empty state", 1), ("with state", stored // PER_SECOND))):
        text = rules() + KEEPER.format(window=f"{window} s")
        frame = detect(given.sources(spark), text, delay="1 s", shards=SHARDS)
        found.append(run(name, frame, folder / f"checkpoint-{n}", events, 1 + WARM))
    states = shard_states(spark, folder / f"checkpoint-{len(found) - 1}")
    return found, max(state.snapshot_bytes for state in states)


def report(rates: list[Query], states: list[Query], held: int) -> Report:
    """The report of what was measured."""
    header = (
        "query",
        "events in a micro-batch",
        "micro-batches",
        "ms, middle",
        "ms, mean",
        "cpu ms, mean",
        "events/s",
    )
    rows = tuple(
        (
            query.name,
            query.events,
            len(query.milliseconds),
            float(median(query.milliseconds)),
            float(mean(query.milliseconds)),
            query.cpu_seconds * 1000,
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
        (
            f"CPU of the empty function by that of the rules: {nothing.cpu_seconds / working.cpu_seconds:.2f}",
            f"CPU with state by that with an empty state: {large.cpu_seconds / small.cpu_seconds:.2f}",
            "The rate is that of the middle micro-batch. The state is judged by the mean: some write a snapshot.",
        ),
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
    parser = arguments(__doc__)
    parser.add_argument("--full", action="store_true", help="three times the micro-batches")
    options = parser.parse_args()
    machine = Machine()
    folder = Path(tempfile.mkdtemp(prefix="tyrex-benchmark-"))
    shrink = 5 if options.quick else 1
    times = 3 if options.full else 1
    spark = session("local[2]", log=folder / "spark.log")
    try:
        rates = measure_rate(spark, folder / "rate", 300_000 // shrink, 6 * times)
        states, held = measure_state(
            spark, folder / "state", 1_000_000 // shrink, 50_000 // shrink, 20 * times // shrink
        )
    finally:
        close(spark)
        shutil.rmtree(folder, ignore_errors=True)
    publish(report(rates, states, held), lambda plt: draw(plt, [*rates, *states]), options, machine)


if __name__ == "__main__":
    main()
