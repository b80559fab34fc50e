"""A keyed rule over a file on Spark, beside Flink CEP (`MATCH_RECOGNIZE`) over the same file.

    .venv/bin/python -m benchmarks.spark_flink [--quick] [--events 5000000] [--policy last] [--format json]

The rule is the one that both can express, in a thousand areas: `flink/match.py` says which and why. Both read the
stream from the same CSV file, on two cores, and count what they find; the counts must be equal. Each runs a short
file first and a second time, and then the whole file; `rate` is that of what the whole has more than the short one, so
neither the start of a job nor the first warming up counts. The usual size is two million events, so that it takes
some minutes; five million are what the target was set for.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.process import fresh
from benchmarks.report import Machine, Report, Table, Verdict, arguments, publish
from benchmarks.spark_batch import SHARDS, start
from benchmarks.streams import Stream
from benchmarks.workloads import Workload, keyed_rule

from benchmarks import peers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS = 2_000_000
SHORT = 500_000
TARGET = 15.0
SCHEMA = "type string, millis long, area string, value long"


@dataclass(frozen=True, slots=True)
class Figure:
    """One engine."""

    engine: str
    events: int
    """What the whole file has more than the short one."""
    composites: int
    """Of the whole, without those of the short file."""
    seconds: float

    @property
    def rate(self) -> float:
        """Events in a second."""
        return self.events / self.seconds


def on_spark(whole: str, short: str, policy: str, more: int) -> Figure:
    """The rule on Spark: the short file twice, then the whole."""
    from tyrex.spark import composites, detect

    spark = start(2)

    def job(path: str) -> DataFrame:
        return composites(detect(_events(spark, path), keyed_rule(policy), shards=SHARDS))

    found = []
    for path in (short, short, whole):
        before = time.perf_counter()
        count = job(path).count()
        found.append((time.perf_counter() - before, count))
    spark.stop()
    (_, (short_seconds, few), (seconds, many)) = found
    return Figure("tyrex on Spark", more, many - few, seconds - short_seconds)


def _events(spark: SparkSession, path: str) -> DataFrame:
    from pyspark.sql import functions as sf

    rows = spark.read.schema(SCHEMA).csv(path)
    return rows.select("type", sf.timestamp_millis("millis").alias("timestamp"), "area", "value")


def files(workload: Workload, stream: Stream) -> tuple[Path, Path]:
    """The whole stream and its beginning, without the line of names: Flink's CSV knows none."""
    path = peers.stream_file(workload, stream)
    whole, short = path.with_suffix(".all.csv"), path.with_suffix(".short.csv")
    if not short.exists():
        with path.open() as source:
            next(source)
            lines = source.readlines()
        whole.write_text("".join(lines))
        short.write_text("".join(lines[: workload.warm]))
    return whole, short


def report(ours: Figure, flink: Figure | None, notes: tuple[str, ...], policy: str) -> Report:
    """The report of what was measured."""
    figures = [ours, *([flink] if flink else [])]
    rows = [(f.engine, f.events, f.composites, round(f.rate), f.seconds) for f in figures]
    header = ("engine", "events", "composites", "events/s", "seconds")
    verdicts: tuple[Verdict, ...] = ()
    if flink:
        verdicts = (Verdict("rate beside Flink CEP", ours.rate / flink.rate, TARGET, "x", at_least=True),)
    title = f"`{policy}` in a thousand areas, from a CSV file, two cores"
    data = [asdict(figure) for figure in figures]
    return Report("spark_flink", title, (Table(header, tuple(rows)),), verdicts, notes, data)


def main() -> None:
    """Measure and show."""
    parser = arguments(__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--policy", choices=("last", "each"), default="last")
    parser.add_argument("--no-peers", action="store_true", help="only Tyrex")
    options = parser.parse_args()
    events = options.events // 5 if options.quick else options.events
    short = min(SHORT, events // 2)
    workload = Workload(
        "keyed",
        options.policy,
        warm=short,
        events=events - short,
        peer="flink",
        target=TARGET,
        percent_smoke=10,
    )
    machine = Machine()
    stream = workload.stream()
    whole, beginning = files(workload, stream)
    ours = fresh(on_spark, str(whole), str(beginning), options.policy, events - short)
    flink: Figure | None = None
    notes: tuple[str, ...] = ()
    if not options.no_peers:
        try:
            found = peers.run_flink(workload, stream)
        except peers.PeerMissing as error:
            notes = (f"flink: {error}",)
        else:
            flink = Figure("flink", found.events, found.composites, found.seconds)
            if flink.composites != ours.composites:
                raise AssertionError(f"Flink finds {flink.composites:,}, Tyrex {ours.composites:,}")
    publish(report(ours, flink, notes, options.policy), None, options, machine)


if __name__ == "__main__":
    main()
