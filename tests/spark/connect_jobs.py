"""Jobs through Spark Connect, whose sessions share no process with others: `python -m tests.spark.connect_jobs FOLDER`.

It prints what it found as JSON. What Spark has to say goes to standard error.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from tests.spark.frames import detected
from tests.spark.streams import Files, answers
from tests.spark.test_shards import CASES, PAIRS, history

import tyrex
from tyrex.spark import TyrexReplay, composites, detect, finish, of, rejected

GUIDE = Path(__file__).parents[2] / "docs/guide/spark.md"
FIRE = Path(__file__).parents[2] / "examples/fire"
FIXTURES = [
    "TESLA paper, Fig. 3: each-within and last-within on one history",
    "At the end, time can be moved on",
]
EVENTS = 40
RULES = """
event A(k: int)
event B(k: int)
define Pair(k: int) from B(k = $k) and last A(k = $k) within 1 min from B where k = $k
"""
ROWS = [("A", 10.0, 1), ("A", 11.0, 2), ("B", 12.0, 1), ("B", 90.0, 2)]


def connected() -> SparkSession:
    """A session of Spark Connect, started as the guide says, with a server in a process of its own."""
    program = re.search(
        r"^```python fragment connect\n(.*?)^```", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert program is not None
    os.environ["PYSPARK_PYTHON"] = sys.executable
    names: dict[str, Any] = {}
    exec(program[1], names)
    spark: SparkSession = names["spark"]
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    return spark


def fixtures(spark: SparkSession) -> list[list[tuple[str, ...]]]:
    """The answers of fixtures, as tables."""
    found = []
    for case in (case for name in FIXTURES for case in CASES if case.name == name):
        rules = case.rules()
        setting = case.setting
        events = case.events(rules)
        found.append(detected(spark, rules, events, until=setting.until, time_zone=setting.time_zone))
    return found


def streamed(spark: SparkSession, folder: Path) -> tuple[int, list[tuple[str, ...]]]:
    """The answer of a stream of two micro-batches and of its end; and how much of it came before the end."""
    files = Files(folder, PAIRS)
    events = list(enumerate(history(EVENTS)))
    files.write(events[: EVENTS // 2])
    files.write(events[EVENTS // 2 :])
    found = detect(files.sources(spark), PAIRS, delay="5 s")
    rows: list[Any] = _run(found, folder)
    before = len(rows)
    rows += finish(files.sources(spark), PAIRS, folder / "checkpoint").collect()
    return before, answers(rows)


def transformed(spark: SparkSession) -> dict[str, Any]:
    """A step of a chain, and what there is to do with its result."""
    found = spark.createDataFrame(ROWS, "type string, timestamp double, k long").transform(
        detect, RULES, lineage=True
    )
    (pair,) = of(found, "Pair").collect()
    return {"k": pair["k"], "of": [part["type"] for part in pair["lineage"]]}


def replayed(spark: SparkSession) -> list[str]:
    """The types of composite events over a replay, which is registered through Connect."""
    spark.dataSource.register(TyrexReplay)
    rules = tyrex.load(FIRE / "rules.tesla")
    events = spark.read.format("tyrex-replay").option("rules", str(FIRE / "rules.tesla"))
    found = detect(events.load(str(FIRE / "events.jsonl")), rules)
    return sorted(row["type"] for row in composites(found).collect())


def _run(found: DataFrame, folder: Path) -> list[Any]:
    query = (
        found.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "out"))
    )
    query.awaitTermination()
    told = found.sparkSession.read.schema(found.schema).parquet(str(folder / "out"))
    assert composites(told).count() + rejected(told).count() == told.count()
    return told.collect()


def main(folder: Path) -> None:
    spark = connected()
    before, answer = streamed(spark, folder)
    found = {
        "session": f"{type(spark).__module__}.{type(spark).__name__}",
        "fixtures": fixtures(spark),
        "before the end": before,
        "stream": answer,
        "transformed": transformed(spark),
        "replayed": replayed(spark),
    }
    spark.stop()
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
