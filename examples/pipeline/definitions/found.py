"""All that the rules find in the files of `events/`, and the events that are rejected."""

from pathlib import Path

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

import tyrex
from tyrex.spark import detect

HERE = Path(__file__).resolve().parents[1]
RULES = tyrex.load(HERE.parent / "fire" / "rules.tesla")
COLUMNS = "type string, timestamp timestamp, area string, value double"

# `detect` looks at the columns of its events. A pipeline forbids this in the functions of its tables, not here.
EVENTS = SparkSession.active().readStream.schema(COLUMNS).json(str(HERE / "events"))
FOUND = EVENTS.transform(detect, RULES, delay="1 min")


@dp.table
def found() -> DataFrame:
    """A streaming table: each run takes the files that have come since the last one."""
    return FOUND
