"""Rules on Spark: over tables and over streams, through PySpark. Loading this does not load PySpark."""

from tyrex.spark.detect import changes, composites, detect, finish, of, rejected
from tyrex.spark.rule_stream import RuleStream
from tyrex.spark.sources import Source, SourceError

__all__ = [
    "RuleStream",
    "Source",
    "SourceError",
    "changes",
    "composites",
    "detect",
    "finish",
    "of",
    "rejected",
]
