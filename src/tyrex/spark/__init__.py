"""Tyrex on Spark: the same rules over tables and over streams. Loading this does not load PySpark."""
