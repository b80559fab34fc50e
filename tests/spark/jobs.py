"""Small jobs that use what Tyrex needs of Spark: `python -m tests.spark.jobs FOLDER` runs them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from tyrex.spark.session import close, session

QUICK_START = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
"""Short jobs end before a better compiler pays."""

EVENTS = 30


def doubled(spark: SparkSession, count: int) -> list[int]:
    """Twice the numbers below `count`, by Arrow batches in Python workers."""

    def double(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.record_batch({"id": pc.multiply(batch.column(0), 2)})

    return sorted(row.id for row in spark.range(count).mapInArrow(double, "id long").collect())


def running_totals(spark: SparkSession, folder: Path) -> list[tuple[int, str, int]]:
    """Sums that go on from one micro-batch to the next: (batch, key, total), for two files with two keys.

    What Python workers run is defined in here, so that it travels with the query: they can't import a test.
    """

    class Total(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self.total = handle.getValueState("total", "total long")

        def handleInputRows(  # noqa: N802 - Spark's name
            self,
            key: Any,
            rows: Iterator[Any],  # of pandas DataFrames
            timerValues: Any,  # noqa: N803
        ) -> Iterator[pd.DataFrame]:
            before = self.total.get()
            total = (before[0] if before else 0) + sum(int(frame["value"].sum()) for frame in rows)
            self.total.update((total,))
            yield pd.DataFrame({"key": [key[0]], "total": [total]})

        def close(self) -> None:
            pass

    source = folder / "source"
    source.mkdir(parents=True)
    for number, values in enumerate([[("a", 1), ("b", 10), ("a", 2)], [("b", 20), ("a", 3)]]):
        lines = [json.dumps({"key": key, "value": value}) for key, value in values]
        file = source / f"{number}.json"
        file.write_text("\n".join(lines))
        os.utime(file, (number, number))  # a stream takes files by age, not by name

    found: list[tuple[int, str, int]] = []

    def take(frame: Any, batch: int) -> None:
        found.extend((batch, row.key, row.total) for row in frame.collect())

    rows = spark.readStream.schema("key string, value long").option("maxFilesPerTrigger", 1).json(str(source))
    totals = rows.groupBy("key").transformWithStateInPandas(
        Total(), outputStructType="key string, total long", outputMode="Update", timeMode="None"
    )
    query = (
        totals.writeStream.foreachBatch(take)
        .outputMode("update")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return sorted(found)


def main(folder: Path) -> None:
    from tests.spark.frames import detected
    from tests.spark.streams import streamed
    from tests.spark.test_shards import PAIRS, history

    spark = session("local[2]", log=folder / "log", config=QUICK_START)
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    answer = {
        "java": jvm.java.lang.System.getProperty("java.home"),
        "doubled": doubled(spark, 100),
        "totals": running_totals(spark, folder),
        "detected": detected(spark, PAIRS, history(EVENTS)),
        "streamed": streamed(
            spark, folder / "stream", PAIRS, [list(enumerate(history(EVENTS)))], delay="5 s"
        )[0],
    }
    close(spark)
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
