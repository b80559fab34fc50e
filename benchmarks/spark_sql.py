"""Rules beside what a Spark user writes for them today: Spark SQL, over the same table, with the same answers.

    .venv/bin/python -m benchmarks.spark_sql [--quick] [--events 2000000] [--rule R1] [--format json]

The rules are R1, R2 and R4 of "Deployment strategies for distributed complex event processing": temperatures before
smoke; a temperature without rain before it; and a chain of five types, each the last before the next. R4 is keyed by
area, as the first two are: without a key SQL would have nothing to join on. The events are those of a day in two
hundred areas: with two million, each area has one every nine seconds, or 35 in a window of five minutes.

`plain` is what most users write, as Spark's documentation shows it: a join on the area and an interval of time for R1,
a left anti join for R2, and for R4 four interval joins, each with the latest time of its step. All of them look at all
pairs of an area. `tuned` is what somebody writes who knows why that is slow: R1 joins on buckets of time as well, R2
looks for the last rain with a window function, and R4 has a window function for each step, all over one shuffle and one
sort. Times are unique, so there is no doubt about order. Each statement finds the times, areas and values that the
rule finds: the benchmark compares counts and sums of hashes of all rows, and fails if they differ.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.process import fresh
from benchmarks.report import BUILD, Machine, Report, Table, Verdict, arguments, publish
from benchmarks.spark_batch import clocked, start, timed

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

EVENTS = 2_000_000
AREAS = 200
SHARDS = 4
ROUNDS = 3
SLOW = 10.0
"""Seconds: of a statement that takes longer the first run counts, in which its answer is looked at."""
TARGET = 10.0
DAY = 24 * 3_600 * 1_000_000
PERCENT = {"Temp": 70, "Smoke": 2, "Rain": 3, "A": 5, "B": 5, "C": 5, "D": 5, "E": 5}
"""How often each type occurs."""
KINDS = tuple(kind for kind, percent in PERCENT.items() for _ in range(percent))

DECLARATIONS = """
event Temp(area: int, value: int)
event Smoke(area: int)
event Rain(area: int)
event A(area: int)
event B(area: int)
event C(area: int)
event D(area: int)
event E(area: int)
"""

RULES = {
    "R1": """
Rule R1
define Found(area: int, value: int)
from   Smoke(area = $a) and each Temp(area = $a and value > 45) within 5 min from Smoke
where  area = $a, value = Temp.value
""",
    "R2": """
Rule R2
define Found(area: int, value: int)
from   Temp(area = $a and value > 45) and not Rain(area = $a) within 5 min from Temp
where  area = $a, value = Temp.value
""",
    "R4": """
Rule R4
define Found(area: int, value: int)
from   A(area = $a) and last B(area = $a) within 5 min from A and last C(area = $a) within 5 min from B and
       last D(area = $a) within 5 min from C and last E(area = $a) within 5 min from D
where  area = $a, value = 0
""",
}

INTERVAL_JOIN = """
select s.timestamp, s.area, t.value
from   events s join events t
on     s.area = t.area and t.timestamp < s.timestamp and t.timestamp >= s.timestamp - interval 5 minutes
where  s.type = 'Smoke' and t.type = 'Temp' and t.value > 45
"""
INTERVAL_JOIN_IN_BUCKETS = """
with s as (
    select *, explode(array(div(unix_seconds(timestamp), 300), div(unix_seconds(timestamp), 300) - 1)) as bucket
    from events where type = 'Smoke'
), t as (
    select *, div(unix_seconds(timestamp), 300) as bucket from events where type = 'Temp' and value > 45
)
select s.timestamp, s.area, t.value
from   s join t
on     s.area = t.area and s.bucket = t.bucket
       and t.timestamp < s.timestamp and t.timestamp >= s.timestamp - interval 5 minutes
"""
ANTI_JOIN = """
select t.timestamp, t.area, t.value
from   (select * from events where type = 'Temp' and value > 45) t
       left anti join (select * from events where type = 'Rain') r
on     r.area = t.area and r.timestamp < t.timestamp and r.timestamp > t.timestamp - interval 5 minutes
"""
LAST_RAIN = """
select timestamp, area, value
from (
    select *, last_value(case when type = 'Rain' then timestamp end) ignore nulls over (
        partition by area order by timestamp rows between unbounded preceding and 1 preceding
    ) as rain
    from events where type = 'Rain' or (type = 'Temp' and value > 45)
)
where type = 'Temp' and (rain is null or rain <= timestamp - interval 5 minutes)
"""
_STEP = """select *, last_value(case when type = '{type}' then named_struct('at', timestamp, 'ok', {ok}) end)
           ignore nulls over (
        partition by area order by timestamp rows between unbounded preceding and 1 preceding
    ) as {name} from {source}"""
WINDOW_FUNCTIONS = f"""
with step_e as (
    {_STEP.format(type="E", ok="true", name="e", source="events where type in ('A', 'B', 'C', 'D', 'E')")}
), step_d as (
    {_STEP.format(type="D", ok="e.ok and e.at >= timestamp - interval 5 minutes", name="d", source="step_e")}
), step_c as (
    {_STEP.format(type="C", ok="d.ok and d.at >= timestamp - interval 5 minutes", name="c", source="step_d")}
), step_b as (
    {_STEP.format(type="B", ok="c.ok and c.at >= timestamp - interval 5 minutes", name="b", source="step_c")}
)
select timestamp, area, cast(0 as bigint) as value
from   step_b where type = 'A' and b.ok and b.at >= timestamp - interval 5 minutes
"""
_JOIN = """select s.timestamp, s.area, max(t.timestamp) as at
           from {source} s join (select * from events where type = '{type}') t
           on   s.area = t.area and t.timestamp < s.{at} and t.timestamp >= s.{at} - interval 5 minutes
           group by s.timestamp, s.area"""
INTERVAL_JOINS = f"""
with step_a as (select timestamp, area from events where type = 'A'),
     step_b as ({_JOIN.format(type="B", source="step_a", at="timestamp")}),
     step_c as ({_JOIN.format(type="C", source="step_b", at="at")}),
     step_d as ({_JOIN.format(type="D", source="step_c", at="at")}),
     step_e as ({_JOIN.format(type="E", source="step_d", at="at")})
select timestamp, area, cast(0 as bigint) as value from step_e
"""
OURS = "Tyrex"
PLAIN = "plain"
TUNED = "tuned"
SQL = {
    "R1": {f"{PLAIN}: interval join": INTERVAL_JOIN, f"{TUNED}: in buckets": INTERVAL_JOIN_IN_BUCKETS},
    "R2": {f"{PLAIN}: anti join": ANTI_JOIN, f"{TUNED}: window function": LAST_RAIN},
    "R4": {f"{PLAIN}: interval joins": INTERVAL_JOINS, f"{TUNED}: window functions": WINDOW_FUNCTIONS},
}
"""For each rule the usual statement, and what somebody writes who finds it too slow."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A rule, in one of the ways to say it: the quickest of some rounds."""

    rule: str
    way: str
    events: int
    found: int
    seconds: float
    cpu_seconds: float
    """Of the round that used least, of all of Spark's processes."""


def events(spark: SparkSession, count: int, partitions: int) -> DataFrame:
    """So many events of a day in many areas, as one table; chance is a hash of the event's number."""
    from pyspark.sql import functions as sf

    def drawn(what: str, below: int) -> Column:
        return sf.pmod(sf.xxhash64(sf.lit(what), "id"), sf.lit(below)).cast("long")

    kind = sf.element_at(
        sf.array(*(sf.lit(name) for name in KINDS)), (drawn("kind", len(KINDS)) + 1).cast("int")
    )
    return spark.range(0, count, 1, partitions).select(
        kind.alias("type"),
        sf.timestamp_micros(sf.col("id") * (DAY // count)).alias("timestamp"),
        drawn("area", AREAS).alias("area"),
        sf.when(kind == "Temp", drawn("value", 100)).alias("value"),
    )


def prepare(count: int) -> Path:
    """The file of events, written once."""
    path = BUILD / "spark" / f"sql-{AREAS}-{count}"
    if not (path / "_SUCCESS").exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh(_write, str(path), count)
    return path


def _write(path: str, count: int) -> None:
    events(start(2), count, 8).write.mode("overwrite").parquet(path)


def measure(path: str, count: int, rules: tuple[str, ...], rounds: int) -> list[Figure]:
    """The rules and their statements in turn; all must find the same."""
    from tyrex.spark import detect, of

    spark = start(2)
    table = spark.read.parquet(path)
    table.createOrReplaceTempView("events")
    figures = []
    for rule in rules:
        ways = {OURS: of(detect(table, DECLARATIONS + RULES[rule], shards=SHARDS), "Found")}
        ways |= {way: spark.sql(text) for way, text in SQL[rule].items()}
        answers: dict[str, tuple[int, ...]] = {}
        times: dict[str, list[tuple[float, float]]] = {}
        for way, frame in ways.items():  # also warms Spark up
            answers[way], seconds, cpu = _answer(frame)
            times[way] = [(seconds, cpu)] if seconds > SLOW else []
            print(f"{rule} {way}: {answers[way][0]:,} found in {seconds:.1f} s", file=sys.stderr, flush=True)
        if len(set(answers.values())) != 1:
            raise AssertionError(f"the answers for {rule} differ: {answers}")
        slow = {way for way, found in times.items() if found and way != OURS}
        for _ in range(rounds):
            for way, frame in ways.items():
                if way not in slow:
                    times[way].append(timed(frame))
        figures += [
            Figure(rule, way, count, answers[way][0], min(t for t, _ in found), min(cpu for _, cpu in found))
            for way, found in times.items()
        ]
    spark.stop()
    return figures


def _answer(frame: DataFrame) -> tuple[tuple[int, ...], float, float]:
    """How many rows there are, and what their hashes add up to; seconds on the wall and on all processors."""
    from pyspark.sql import functions as sf

    hashed = sf.xxhash64("timestamp", "area", "value")
    found = frame.agg(
        sf.count(sf.lit(1)),
        sf.coalesce(sf.bit_xor(hashed), sf.lit(0)),
        sf.sum(sf.pmod(hashed, sf.lit(1_000_003))),
    )
    (row,), seconds, cpu = clocked(found.collect)
    return tuple(int(cell or 0) for cell in row), seconds, cpu


def report(figures: list[Figure]) -> Report:
    """The report of what was measured."""
    rows, verdicts, notes = [], [], []
    for rule in dict.fromkeys(figure.rule for figure in figures):
        ours, *others = [figure for figure in figures if figure.rule == rule]
        for figure in (ours, *others):
            ratio = None if figure is ours else figure.seconds / ours.seconds
            cpu = None if figure is ours else figure.cpu_seconds / ours.cpu_seconds
            rows.append((rule, figure.way, figure.found, figure.seconds, figure.cpu_seconds, ratio, cpu))
        for kind in (PLAIN, TUNED):
            best = min((o for o in others if o.way.startswith(kind)), key=lambda figure: figure.seconds)
            ratio = best.seconds / ours.seconds
            verdicts.append(Verdict(f"{rule} beside {kind} SQL", ratio, TARGET, "x", at_least=True))
    header = ("rule", "way", "found", "seconds", "CPU s", "ratio", "CPU ratio")
    notes = ["All ways find the same. `plain` is what most users write, `tuned` the best that we know."]
    title = f"Rules beside Spark SQL, {figures[0].events:,} events of a day in {AREAS:,} areas"
    data = [asdict(figure) for figure in figures]
    return Report("spark_sql", title, (Table(header, tuple(rows)),), tuple(verdicts), tuple(notes), data)


def main() -> None:
    """Measure and show."""
    parser = arguments(__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--rule", choices=tuple(RULES), action="append")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    count = options.events // 5 if options.quick else options.events
    machine = Machine()
    path = str(prepare(count))
    figures = fresh(measure, path, count, tuple(options.rule or RULES), options.rounds)
    publish(report(figures), None, options, machine)


if __name__ == "__main__":
    main()
