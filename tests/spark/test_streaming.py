"""Rules over streams of Spark: the answers of the reference, once, through restarts and failures."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from tests.spark.frames import expected
from tests.spark.streams import Files, answers, run, streamed
from tests.spark.test_shards import CASES, DEADLINES, PAIRS, cut, history

from tyrex.spark import SourceError, composites, detect, finish, of, rejected
from tyrex.testing import Case

SOME = CASES[:: max(1, len(CASES) // 2)][:2]
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=() if case in SOME else pytest.mark.nightly, id=case.name) for case in CASES],
)
def test_every_fixture_has_the_same_answer_as_a_stream(
    spark: SparkSession, case: Case, tmp_path: Path
) -> None:
    """Cut into micro-batches at random, with a delay that lets nothing be late."""
    rules = case.rules()
    events = case.events(rules)
    until, zone = case.setting.until, case.setting.time_zone
    batches = cut(Random(case.name), events)[:4]
    events = [event for batch in batches for _, event in batch]
    found, late = streamed(
        spark, tmp_path, rules, batches, delay="3000 days", until=until, shards=2, time_zone=zone
    )
    in_order = sorted(events, key=lambda event: event.timestamp)
    assert found == expected(rules, in_order, until=until, time_zone=zone)
    assert late == []


def test_a_stream_goes_on_from_its_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    """Three runs with more files each, one fails in the sink at first: nothing is lost, nothing is twice."""
    events = sorted(history(90, spread=2), key=lambda event: event.timestamp)
    numbered = list(enumerate(events))
    files = Files(tmp_path, PAIRS)
    rows: list[Any] = []
    for number, start in enumerate((0, 30, 60)):
        files.write(numbered[start : start + 30])
        found = detect(files.sources(spark), PAIRS, delay="5 s", shards=2)
        if number == 1:
            with pytest.raises(StreamingQueryException, match="no room"):
                run(found, tmp_path / "checkpoint", _Full())
        run(found, tmp_path / "checkpoint", rows)
    before_the_end = len(rows)
    rows += finish(files.sources(spark), PAIRS, tmp_path / "checkpoint", shards=2).collect()
    assert answers(rows) == expected(PAIRS, events)
    assert before_the_end > 0.8 * len(rows)


class _Full(list[Any]):
    def extend(self, rows: Any) -> None:
        raise OSError("no room")


def test_rejected_events_are_among_the_results(spark: SparkSession, tmp_path: Path) -> None:
    """Late ones and those without a time, in one stream of all types; deadlines come out without new events."""
    source = tmp_path / "in"
    schema = "type string, timestamp double, k long"
    batches: list[list[tuple[Any, ...]]] = [
        [("A", 10.0, 1), ("Other", 100.0, None)],
        [("A", 89.9, 2), ("B", None, 3), ("A", 90.0, 4), ("Other", 200.0, None)],
    ]
    for number, rows in enumerate(batches):
        frame = spark.createDataFrame(rows, schema).coalesce(1)
        frame.write.mode("append").parquet(str(source / str(number)))
        time.sleep(0.01)
    events = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(f"{source}/*")
    found = detect(events, DEADLINES, delay="10 s", shards=2)
    query = (
        found.writeStream.format("memory")
        .queryName("found")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    result = spark.table("found")
    bad = {(row["type"], row["problem"], row["attributes"]["k"]) for row in rejected(result).collect()}
    assert bad == {("A", "late", "2"), ("B", "no valid timestamp", "3")}
    assert sorted(row["k"] for row in of(result, "Quiet").collect()) == [1, 4]
    assert composites(result).count() == 2
    with pytest.raises(SourceError, match="give it to `finish`"):
        detect(events, DEADLINES, until=10)
    table = spark.createDataFrame([], schema)
    with pytest.raises(SourceError, match="give either all as streams, or none"):
        detect({"A": events, "B": table}, DEADLINES)


def test_a_checkpoint_of_other_rules_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Instead of reading its state as something that it is not."""
    files = Files(tmp_path, PAIRS)
    files.write(list(enumerate(history(5))))
    run(detect(files.sources(spark), PAIRS, shards=1), tmp_path / "checkpoint", [])
    with pytest.raises(Exception, match="made with other rules"):
        finish(files.sources(spark), PAIRS, tmp_path / "checkpoint", shards=2).collect()


@pytest.mark.nightly
def test_a_stream_that_is_killed_again_and_again_tells_everything_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    """SIGKILL at random moments, then a run to the end: files and a sink by ids have what the reference has."""
    events = sorted(history(240, spread=1), key=lambda event: event.timestamp)
    numbered = list(enumerate(events))
    files = Files(tmp_path, PAIRS)
    (tmp_path / "kept").mkdir()
    for start in range(0, 240, 20):
        files.write(numbered[start : start + 20])
    random = Random(5)
    killed = 0
    for attempt in range(12):
        process = subprocess.Popen([sys.executable, "-m", "tests.spark.killed", str(tmp_path)], cwd=ROOT)
        try:
            process.wait(None if attempt >= 4 else random.uniform(12, 25))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
        if (tmp_path / "done").exists():
            break
    assert killed >= 2
    wanted = sorted(row[1] for row in expected(PAIRS, events))

    def ids(frame: DataFrame) -> list[str]:
        return [row["id"] for row in frame.select("id").collect()]

    rest = {name: ids(spark.read.parquet(str(tmp_path / f"rest-{name}"))) for name in ("files", "ids")}
    assert sorted(ids(spark.read.parquet(str(tmp_path / "found"))) + rest["files"]) == wanted
    by_id = {path.name for path in (tmp_path / "kept").iterdir()}
    assert sorted(by_id | set(rest["ids"])) == wanted
