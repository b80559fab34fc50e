"""A table of which one shard is larger than the memory that Spark has: `python -m tests.spark.large FOLDER`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tyrex.spark import composites, detect
from tyrex.spark.session import close, session

EVENTS = 4_000_000
HOT = 0.9
NOTE = 250
"""Bytes of text in each event; without ids all of it must travel."""
HEAP = 512
PYTHON = 1_536
"""Megabytes: of addresses that a Python worker may use, its libraries among them."""

RULES = """
event Tick(key: int, value: int, note: string)

define Echo(key: int, value: int)
from   Tick(key = $k and value = 1) as B and last Tick(key = $k and value = 0) as A within 2 ms from B
where  key = $k, value = B.value
consuming A
"""
"""Consuming, so that time can't be cut."""


def main(folder: Path) -> None:
    spark = session(
        "local[2]",
        log=folder / "log",
        config={"spark.driver.memory": f"{HEAP}m", "spark.executor.pyspark.memory": f"{2 * PYTHON}m"},
    )
    hot = int(EVENTS * HOT)
    # The hot key first: its events are a millisecond apart and every second one finds the one before it.
    events = spark.range(0, EVENTS, 1, 8).selectExpr(
        "'Tick' as type",
        "timestamp_millis(id) as timestamp",
        f"case when id < {hot} then 0 else id end as key",
        "id % 2 as value",
        f"repeat(chr(cast(97 + id % 26 as int)), {NOTE}) as note",
    )
    found = composites(detect(events, RULES, shards=2)).count()
    close(spark)
    answer = {
        "found": found,
        "right": hot // 2,
        "largest_shard_bytes": hot * NOTE,
        "heap_bytes": HEAP * 1_000_000,
    }
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
