"""A stream that is meant to be killed: `python -m tests.spark.killed FOLDER` goes on where the last run was."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import DataFrame
from tests.spark.jobs import QUICK_START
from tests.spark.streams import Files
from tests.spark.test_shards import PAIRS

from tyrex.spark import composites, detect, finish, of
from tyrex.spark.session import close, session


def main(folder: Path) -> None:
    spark = session("local[2]", log=folder / "log", config=QUICK_START)
    spark.conf.set("spark.sql.parquet.compression.codec", "none")
    sources = Files(folder, PAIRS).sources(spark)

    def keep(frame: DataFrame, batch: int) -> None:
        for row in of(frame, "Pair").collect():
            (folder / "kept" / row["id"]).write_text(str(row["v"]))

    to_files = (
        composites(detect(sources, PAIRS, delay="2 s", shards=2))
        .writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint-files"))
        .trigger(availableNow=True)
        .start(str(folder / "found"))
    )
    to_files.awaitTermination()
    by_id = (
        detect(sources, PAIRS, delay="2 s", shards=2)
        .writeStream.foreachBatch(keep)
        .option("checkpointLocation", str(folder / "checkpoint-ids"))
        .trigger(availableNow=True)
        .start()
    )
    by_id.awaitTermination()
    for name in ("files", "ids"):
        rest = composites(finish(sources, PAIRS, folder / f"checkpoint-{name}", shards=2))
        rest.write.mode("overwrite").parquet(str(folder / f"rest-{name}"))
    close(spark)
    (folder / "done").touch()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
