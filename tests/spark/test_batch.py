"""Rules over tables: the answers of the reference, whatever the partitioning."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from tests.engine.random_rules import random_history, random_rules
from tests.spark.frames import detected, expected, one_table, sources

from tyrex import Engine, Event, parse
from tyrex.spark import Source, SourceError, composites, detect, of, rejected
from tyrex.spark.batch import in_order
from tyrex.spark.planner import Split, plan_spark
from tyrex.spark.rows import Layout, places_of
from tyrex.spark.sources import streams_of
from tyrex.spark.tasks import Options
from tyrex.testing import Case, read_fixture

FIXTURES = Path(__file__).parents[1] / "semantics"
CASES = [
    case
    for path in sorted(FIXTURES.rglob("*.tesla.md"))
    for case in read_fixture(path)
    if not case.is_about_diagnostics and case.setting.delay is None
]
EXAMPLES = 200 if settings.default and settings.default.max_examples > 100 else 10

FIRE = """
event Temp(area: string, value: float)
event Smoke(area: string)

define Fire(area: string, value: float)
from   Smoke(area = $a) and last Temp(area = $a and value > 45) within 5 min from Smoke
where  area = Smoke.area, value = Temp.value
"""
NO_KEY = """
event A(v: int)
event B(v: int)

define Pair(v: int) from B() and each A(v < B.v) within 20 s from B where v = A.v
"""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_fixture_has_the_same_answer_on_spark(spark: SparkSession, case: Case) -> None:
    """The composite events of the reference, with the same ids; a table has no late events."""
    rules = case.rules()
    events = sorted(case.events(rules), key=lambda event: event.timestamp)
    until, zone = case.setting.until, case.setting.time_zone
    found = detected(spark, rules, events, shards=2, until=until, time_zone=zone)
    assert found == expected(rules, events, until=until, time_zone=zone)


@given(st.integers(0, 2**32))
@example(7958)  # events of one type with and without ids
@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), deadline=None)
def test_random_rules_have_the_same_answer_on_spark(spark: SparkSession, seed: int) -> None:
    """Every construct, on random histories, in one to five shards, from one table or one for each type."""
    random = Random(seed)
    while (rules := random_rules(random)) is None:
        pass
    events = sorted(random_history(random, most=30), key=lambda event: event.timestamp)
    shards = random.choice([1, 2, 5])
    together = random.random() < 0.5
    assert detected(spark, rules, events, shards=shards, together=together) == expected(rules, events)


def test_a_long_history_without_a_key_is_cut_into_slices_of_time(spark: SparkSession) -> None:
    """What lies across the border of two slices is found, and once."""
    rules = parse(NO_KEY)
    random = Random(1)
    events = [
        Event(random.choice("AB"), random.randrange(0, 2_000) * 1_000_000, {"v": random.randrange(50)})
        for _ in range(600)
    ]
    events.sort(key=lambda event: event.timestamp)
    assert detected(spark, rules, events, shards=3) == expected(rules, events)


def test_what_no_rule_can_use_stays_in_its_file(spark: SparkSession, tmp_path: Path) -> None:
    """The static conditions are filters of the Parquet reader, and columns that no type declares are not read."""
    rows = [("A1", float(value), value, "x" * 20) for value in range(100)]
    frame = spark.createDataFrame(rows, "area string, value double, timestamp long, note string")
    frame.write.parquet(str(tmp_path / "temps"))
    temps = spark.read.parquet(str(tmp_path / "temps"))
    smokes = spark.createDataFrame([("A1", 200)], "area string, timestamp long")
    found = detect({"Temp": temps, "Smoke": smokes}, FIRE)
    plan = physical_plan(composites(found))
    assert "GreaterThan(value,45.0)" in pushed_filters(plan)
    assert read_schema(plan) == "struct<area:string,value:double,timestamp:bigint>"
    assert [row["value"] for row in of(found, "Fire").collect()] == [99.0]


def test_the_conditions_of_all_types_reach_the_file_of_a_table_with_all_types(
    spark: SparkSession, tmp_path: Path
) -> None:
    """An event is read if some rule can use one of its type; the filter is the reader's, before the shuffle."""
    frame = spark.createDataFrame(
        [("Temp", 1, "A1", 50.0, "x"), ("Temp", 2, "A1", 20.0, "x"), ("Smoke", 3, "A1", None, "x")],
        "type string, timestamp long, area string, value double, note string",
    )
    frame.write.parquet(str(tmp_path / "events"))
    found = composites(detect(spark.read.parquet(str(tmp_path / "events")), FIRE))
    plan = physical_plan(found)
    assert "EqualTo(type,Temp),GreaterThan(value,45.0)" in pushed_filters(plan)
    assert "EqualTo(type,Smoke)" in pushed_filters(plan)
    assert read_schema(plan) == "struct<type:string,timestamp:bigint,area:string,value:double>"
    assert plan.index("MapInArrow") < plan.index("Exchange") < plan.index("Scan parquet")
    assert found.count() == 1


def physical_plan(frame: DataFrame) -> str:
    """What `explain("formatted")` prints."""
    jvm = SparkContext._jvm
    assert jvm is not None
    text: str = jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "formatted")
    return text


def pushed_filters(plan: str) -> str:
    """Of the first file that is read."""
    return plan.split("PushedFilters: [")[1].splitlines()[0].replace(", ", ",")


def read_schema(plan: str) -> str:
    """The columns of the first file that is read."""
    return plan.split("ReadSchema: ")[1].splitlines()[0].strip()


def test_one_table_may_hold_all_types(spark: SparkSession) -> None:
    """With a column `type`; `of` gives the composites of one type with their attributes as columns."""
    frame = spark.createDataFrame(
        [("Temp", 10.0, "A1", 50.5), ("Smoke", 12.0, "A1", None), ("Other", 13.0, None, None)],
        "type string, timestamp double, area string, value double",
    )
    (row,) = of(detect(frame, FIRE, lineage=True), "Fire").collect()
    engine = Engine(FIRE)
    engine.send("Temp", timestamp=10, area="A1", value=50.5)
    (composite,) = engine.send("Smoke", timestamp=12, area="A1")
    assert (row["id"], row["area"], row["value"]) == (composite.id, "A1", 50.5)
    assert [(part["type"], part["attributes"]) for part in row["lineage"]] == [
        ("Smoke", {"area": "A1"}),
        ("Temp", {"area": "A1", "value": "50.5"}),
    ]


def test_detection_can_be_a_step_of_a_chain(spark: SparkSession) -> None:
    """`df.transform(detect, rules)`."""
    frame = spark.createDataFrame(
        [("Temp", 1, "A1", 50.0), ("Smoke", 2, "A1", None)],
        "type string, timestamp int, area string, value double",
    )
    assert frame.transform(detect, FIRE).count() == 1


def test_simultaneous_events_without_a_sequence_have_the_same_order_in_every_run(spark: SparkSession) -> None:
    """They are ordered by content, so the partitions of the input do not matter."""
    rows = [("Temp", 1, "A1", float(value)) for value in range(46, 90)] + [("Smoke", 2, "A1", None)]
    schema = "type string, timestamp int, area string, value double"
    found = {
        tuple(row["id"] for row in detect(frame, FIRE).collect())
        for frame in (
            spark.createDataFrame(rows, schema).coalesce(1),
            spark.createDataFrame(rows[::-1], schema).repartition(5),
        )
    }
    assert len(found) == 1


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ("area string", "there is no column `timestamp` for the timestamp of Temp"),
        ("timestamp string", "is of type string: give a timestamp, or seconds as a number"),
        ("timestamp long, value string", "column `value` is of type string, but Temp.value is a float"),
        ("timestamp long, area long", "column `area` is of type bigint, but Temp.area is a string"),
    ],
)
def test_columns_that_do_not_fit_are_named(spark: SparkSession, events: str, problem: str) -> None:
    """Before anything runs."""
    with pytest.raises(SourceError, match=problem):
        detect({"Temp": spark.createDataFrame([], events)}, FIRE)


def test_names_that_are_not_there_are_refused(spark: SparkSession) -> None:
    """Of types, of attributes, of columns, and of the type column."""
    frame = spark.createDataFrame([], "timestamp long, area string")
    with pytest.raises(SourceError, match="no event type `Tmp`; did you mean `Temp`"):
        detect({"Tmp": frame}, FIRE)
    with pytest.raises(SourceError, match="no attribute `aera`"):
        detect({"Temp": Source(frame, columns={"aera": "area"})}, FIRE)
    with pytest.raises(SourceError, match="no column `zone` for the attribute `area` of Temp"):
        detect({"Temp": Source(frame, columns={"area": "zone"})}, FIRE)
    with pytest.raises(SourceError, match="no column `type`"):
        detect(frame, FIRE)
    with pytest.raises(SourceError, match="define no `Flood`"):
        of(detect({"Smoke": frame}, FIRE), "Flood")


def test_ids_of_the_source_let_unused_attributes_stay_behind(spark: SparkSession, tmp_path: Path) -> None:
    """Without them an event is known by all that it holds, and all of it must be read."""
    rules = """
    event A(k: int, note: string)
    define X(k: int) from A(k = $k) as B and last A(k = $k) within 1 min from B where k = $k
    """
    frame = spark.createDataFrame(
        [(second, f"e{second}", second % 2, "n") for second in range(6)],
        "timestamp long, name string, k long, note string",
    )
    frame.write.parquet(str(tmp_path / "events"))
    events = spark.read.parquet(str(tmp_path / "events"))

    def read(source: Source) -> str:
        found = composites(detect({"A": source}, rules))
        assert found.count() == 4
        plan: str = found._jdf.queryExecution().executedPlan().toString()
        return plan.split("ReadSchema")[1]

    assert "note" in read(Source(events, sequence="timestamp"))
    assert "note" in read(Source(events, sequence="timestamp", id="name"))  # some could be null
    named = events.selectExpr("timestamp", "coalesce(name, '') as name", "k", "note")
    assert "note" not in read(Source(named, sequence="timestamp", id="name"))


BAD = """{"type": "Temp", "at": 10.0, "area": "A1", "value": 50.0, "n": 1}
{"type": "Temp", "at": null, "area": "A2", "value": 51.0, "n": 2}
{"type": "Temp", "at": "NaN", "area": "A2", "value": 51.0, "n": 3}
{"type": "Temp", "at": 1e300, "area": "A3", "value": 51.0, "n": 4}
{"type": "Tmp", "at": 11.0, "area": "A4", "value": 52.0, "n": 5}
{"type": null, "at": 11.0, "area": "A5", "value": null, "n": 6}
{"type": "Timer", "at": 11.0, "area": "A6", "value": null, "n": 7}
{"type": "Smoke", "at": 12.0, "area": "A1", "value": null, "n": null}
{"type": "Smoke", "at": 13.0, "area": "A1", "value": null, "n": 9}"""


def bad_table(spark: SparkSession, folder: Path) -> Source:
    """Two events and seven rows that are none."""
    (folder / "bad.jsonl").write_text(BAD)
    frame = spark.read.schema("type string, at double, area string, value double, n long").json(str(folder))
    return Source(frame, timestamp="at", sequence="n")


def test_rows_that_are_no_events_are_told_and_the_others_are_processed(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Each with what is wrong, and with what it holds; nothing is lost."""
    found = detect(bad_table(spark, tmp_path), FIRE)
    assert [row["area"] for row in of(found, "Fire").collect()] == ["A1"]
    told = rejected(found)
    assert {(r["type"], r["problem"], r["attributes"]["area"]) for r in told.collect()} == {
        ("Temp", "no valid timestamp", "A2"),
        ("Temp", "no valid timestamp", "A3"),
        ("Tmp", "unknown type", "A4"),
        (None, "no type", "A5"),
        ("Timer", "unknown type", "A6"),
        ("Smoke", "no sequence", "A1"),
    }
    counts = {row["problem"]: row["count"] for row in told.groupBy("problem").count().collect()}
    assert counts == {"no valid timestamp": 3, "unknown type": 2, "no type": 1, "no sequence": 1}
    assert found.count() == composites(found).count() + told.count() == 8


def test_what_is_rejected_of_a_table_for_each_type_is_told(spark: SparkSession) -> None:
    """Without a time, or with one that is none; integers that overflow are no reason to fail."""
    temps = spark.createDataFrame(
        [(1, "A1", 50.0), (None, "A2", 46.5), (2**62, "A3", 47.0)],
        "timestamp long, area string, value double",
    )
    found = detect({"Temp": temps, "Smoke": temps.select("timestamp", "area")}, FIRE)
    assert sorted(
        (row["type"], row["problem"], tuple(sorted(row["attributes"].items())))
        for row in rejected(found).collect()
    ) == [
        (name, "no valid timestamp", (("area", area), *((("value", value),) if name == "Temp" else ())))
        for name in ("Smoke", "Temp")
        for area, value in (("A2", "46.5"), ("A3", "47.0"))
    ]


def test_a_strict_detection_ends_at_a_row_that_is_no_event(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever is asked of it; the message says what the row was, and what can be done."""
    source = bad_table(spark, tmp_path)
    for action in ("count", "collect"):
        with pytest.raises(
            PySparkException, match=r"a row is no event: no valid timestamp.*of type Temp.*strict"
        ):
            getattr(detect(Source(source.frame.where("type = 'Temp'"), "at"), FIRE, strict=True), action)()
    good = detect(Source(source.frame.where("area = 'A1'"), "at"), FIRE, strict=True)
    assert of(good, "Fire").count() == 2
    with pytest.raises(SourceError, match="no column `rejected`"):
        rejected(good)


def test_what_nobody_asks_for_is_not_computed(spark: SparkSession, tmp_path: Path) -> None:
    """Rejected rows need no detection, and composite events no second reading of the source."""
    found = detect(bad_table(spark, tmp_path), FIRE)

    assert physical_plan(of(found, "Fire")).count("ReadSchema") == 1
    assert physical_plan(rejected(found)).count("ReadSchema") == 1
    assert "MapInArrow" not in physical_plan(rejected(found))


def test_a_table_with_all_types_is_read_and_shuffled_once(spark: SparkSession) -> None:
    """Also if its events go to shards of several parts, in other slots, by other keys."""
    rules = parse(
        """
        event A(k: string, v: int, x: float)
        event B(v: int, k: string)
        event C(x: float, y: float)

        define AB(k: string) from B(k = $k) and each A(k = $k) within 30 s from B where k = $k
        define BA(v: int) from A(v = $v and x > 0.5) and last B(v = $v) within 30 s from A where v = $v
        define Near(x: float) from C() and each A(x < C.x) within 5 s from C where x = C.x
        define Many(n: int) from B() and not C(y > B.v) within 5 s from B where n = B.v
        """
    )
    random = Random(3)
    rows: list[tuple[Any, ...]] = [
        (
            n,
            random.choice("ABC"),
            random.randrange(300),
            random.choice(["p", "q", None]),
            *(random.choice([0.0, -0.0, 1.5, 2.5, None]) for _ in "xy"),
            random.randrange(4),
        )
        for n in range(400)
    ]
    schema = "sequence long, type string, timestamp long, k string, x double, y double, v long"
    frame = spark.createDataFrame(rows, schema)
    found = composites(detect(frame, rules, shards=3))
    names = schema.replace(" long", "").replace(" string", "").replace(" double", "").split(", ")
    events = []
    for row in sorted(rows, key=lambda row: (row[2], row[0])):
        cells = dict(zip(names, row, strict=True))
        attributes = {a.name: cells[a.name] for a in rules.types[cells["type"]].attributes}
        events.append(Event(cells["type"], cells["timestamp"] * 1_000_000, attributes))
    answer = expected(rules, events)
    assert sorted(row["id"] for row in found.collect()) == sorted(one[1] for one in answer)
    assert {one[0] for one in answer} == {"AB", "BA", "Near", "Many"}
    plan = composites(detect(frame, rules))._jdf.queryExecution().executedPlan().toString()
    assert plan.count("Scan") == plan.count("Exchange") == 1


def test_events_whose_key_is_null_do_not_burden_one_shard(spark: SparkSession) -> None:
    """Null equals nothing, so they need not meet; those that are equal do, as their ids tell them apart."""
    rules = parse(FIRE)
    plan = plan_spark(rules)
    frame = spark.range(1_000).selectExpr("cast(null as string) as area", "id as timestamp", "50.0D as value")
    (stream,) = streams_of({"Temp": frame}, rules.types, plan.filters)
    (place,) = places_of(stream, plan, Layout(plan, 4))
    counts = {row["s"]: row["count"] for row in frame.groupBy(place.shard.alias("s")).count().collect()}
    assert len(counts) == 4
    assert max(counts.values()) < 350


def skewed_events(random: Random, count: int) -> list[Event]:
    """Nine of ten events have one key."""
    events = []
    for _ in range(count):
        area = "hot" if random.random() < 0.9 else random.choice("abcdefgh")
        values: dict[str, Any] = {"area": area}
        kind = random.choice(["Temp", "Temp", "Smoke"])
        if kind == "Temp":
            values["value"] = float(random.randrange(100))
        events.append(Event(kind, random.randrange(200_000) * 1_000_000, values))
    return sorted(events, key=lambda event: event.timestamp)


def test_a_hot_key_changes_no_answer_and_can_be_divided_by_time(spark: SparkSession) -> None:
    """By key one shard has most of the events; with `skewed` all have about as many, and find the same."""
    rules = parse(FIRE)
    events = skewed_events(Random(5), 2_000)
    answer = expected(rules, events)
    assert detected(spark, rules, events, shards=4) == answer
    assert detected(spark, rules, events, shards=4, skewed=True) == answer

    def largest_share(*, skewed: bool) -> float:
        plan = plan_spark(rules, skewed=skewed)
        ordered = in_order(sources(spark, rules, events), rules, plan, Options(4))
        assert ordered is not None
        counts: list[int] = [row["count"] for row in ordered.rows.groupBy("shard").count().collect()]
        return max(counts) / sum(counts)

    assert largest_share(skewed=False) > 0.85
    assert largest_share(skewed=True) < 0.5


def test_rules_that_time_can_not_cut_keep_their_key(spark: SparkSession) -> None:
    """`skewed` is a wish: what consumes depends on all that came before."""
    rules = parse(FIRE + "consuming Temp")
    assert [part.split for part in plan_spark(rules, skewed=True).parts] == [Split.KEY]
    events = skewed_events(Random(6), 300)
    assert detected(spark, rules, events, shards=3, skewed=True) == expected(rules, events)


def test_the_partitions_of_the_input_and_the_number_of_shards_change_no_answer(spark: SparkSession) -> None:
    """Nor does the order of rows: what comes late in a table is where its time says."""
    rules = parse(FIRE)
    events = skewed_events(Random(7), 500)
    answer = expected(rules, events)
    given = one_table(spark, rules, events)
    assert given is not None
    for partitions, shards in ((1, 1), (7, 3), (3, 8)):
        shuffled = given.frame.orderBy(sf.rand(partitions)).repartition(partitions)
        found = composites(detect(replace(given, frame=shuffled), rules, shards=shards))
        assert sorted(row["id"] for row in found.collect()) == sorted(one[1] for one in answer)


@pytest.mark.nightly
def test_a_shard_larger_than_the_memory_of_spark_is_processed(tmp_path: Path) -> None:
    """One key has most of the events: more bytes than Java's heap has."""
    command = [sys.executable, "-m", "tests.spark.large", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1_200)
    assert done.returncode == 0, done.stderr[-4_000:]
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["found"] == answer["right"] > 0
    assert answer["largest_shard_bytes"] > answer["heap_bytes"]
