"""Rules on Spark: over tables and over streams, through PySpark. Loading this does not load PySpark."""

from tyrex.spark.detect import composites, detect, finish, of, rejected
from tyrex.spark.sources import Source, SourceError

__all__ = ["Source", "SourceError", "composites", "detect", "finish", "of", "rejected"]
