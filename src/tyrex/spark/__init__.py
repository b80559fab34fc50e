"""Rules on Spark: over tables and over streams, through PySpark. Loading this does not load PySpark."""

from tyrex.spark.detect import detect, of
from tyrex.spark.sources import Source, SourceError

__all__ = ["Source", "SourceError", "detect", "of"]
