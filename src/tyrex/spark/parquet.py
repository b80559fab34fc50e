"""Parquet files as Spark reads them: nothing is copied, and filters and columns reach into the files.

Rows have an order: that of the inputs, of the files in each, and of the rows in these. Only tables that fit as they
are are read so. Where a row might be no event, or a column needs care, `tables_of` says no, and the files are read as
those of any other format are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tyrex.events import EventError
from tyrex.io import Input, Layout
from tyrex.io.columns import Columns
from tyrex.io.layout import ID
from tyrex.spark.sources import SPARK_TYPES, Source, time_of
from tyrex.spark.spool import Span, Tables
from tyrex.tesla.types import EventType, ValueType

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_AT, _ARRIVAL, _NAME, _TYPE, _PREFIX = "tyrex at", "tyrex arrival", "tyrex name", "tyrex type", "tyrex a "
_ROWS = 36
"""So many bits of a sequence count the rows of a file; the others count files."""
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
_FITTING = {
    ValueType.STRING: ("string", "large_string"),
    ValueType.INT: _INTEGERS,
    ValueType.FLOAT: ("float", "double", *_INTEGERS),
    ValueType.BOOL: ("bool",),
}


def are_parquet(inputs: Sequence[Input]) -> bool:
    """Whether all files are Parquet, by their names."""
    paths = [path for one in inputs for path in one.paths]
    return all(one.paths for one in inputs) and all(path.name.lower().endswith(".parquet") for path in paths)


def fitting_columns(inputs: Sequence[Input], layout: Layout) -> list[Columns] | None:
    """For each input the columns of its files, if Spark can take these as they are; else None."""
    import pyarrow as pa
    from pyarrow import parquet

    found = []
    for one in inputs:
        try:
            schemas = [parquet.read_schema(path) for path in one.paths]
            columns = Columns.of(schemas[0].names, layout, one.form, one.name)
        except (EventError, pa.ArrowException, OSError):
            return None
        names = [name.lower() for name in schemas[0].names]
        alike = all(schema.equals(schemas[0]) for schema in schemas)
        if not alike or len(set(names)) < len(names) or not _fits(columns, schemas[0]):
            return None
        found.append(columns)
    return found


def _fits(columns: Columns, schema: Any) -> bool:
    import pyarrow as pa

    time = schema.field(columns.timestamp).type
    if not (pa.types.is_timestamp(time) and time.unit in ("us", "ms")):
        return False
    if any(
        str(schema.field(name).type) not in _FITTING[ValueType.STRING]
        for name in (columns.type, ID if ID in schema.names else None)
        if name is not None
    ):
        return False
    return all(
        str(schema.field(column).type) in _FITTING[columns.layout.types[type_].by_name[attribute]]
        for type_ in columns.layout.types
        for attribute, column in columns.attributes(type_).items()
    )


def tables_of(
    spark: SparkSession, inputs: Sequence[Input], columns: Sequence[Columns], types: Mapping[str, EventType]
) -> Tables | None:
    """The events of Parquet files; None if some row is no event."""
    from pyspark.sql import functions as sf

    frames, counts = [], []
    files = 0
    for one, own in zip(inputs, columns, strict=True):
        frames.append(_frame(spark, one.paths, files, own))
        files += len(one.paths)
        kind = sf.lit(own.form.type) if own.type is None else sf.col(own.type)
        (row,) = (
            frames[-1]
            .select(_AT, _NAME, kind.alias(_TYPE))
            .agg(
                sf.count(sf.lit(1)).alias("rows"),
                sf.count_if(sf.col(_AT).isNull() | sf.col(_TYPE).isNull() | (sf.col(_TYPE) == "")).alias(
                    "bad"
                ),
                sf.count_if(~sf.col(_TYPE).isin(list(types))).alias("unknown"),
                sf.count(_NAME).alias("named"),
                sf.min(_AT).alias("first"),
                sf.max(_AT).alias("last"),
            )
            .collect()
        )
        counts.append(row)
    rows, named = sum(row["rows"] for row in counts), sum(row["named"] for row in counts)
    if rows == 0 or any(row["bad"] for row in counts):
        return None
    sources = {}
    for name, type_ in types.items():
        parts = [
            part
            for frame, own in zip(frames, columns, strict=True)
            if (part := _of_type(frame, own, type_)) is not None
        ]
        if parts:
            sources[name] = Source(
                reduce(lambda one, other: one.unionByName(other), parts),
                _AT,
                sequence=_ARRIVAL,
                columns={a.name: f"{_PREFIX}{a.name}" for a in type_.attributes},
                id=_NAME if named else None,
            )
    filled = [row for row in counts if row["rows"]]
    # An event without an id is known by all that it holds.
    by_content = named < rows or any(own.id(name) is None for own in columns for name in sources)
    return Tables(
        sources,
        rows,
        sum(row["unknown"] for row in counts),
        Span(min(row["first"] for row in filled), max(row["last"] for row in filled)),
        named > 0 and by_content,
    )


def _frame(spark: SparkSession, paths: Sequence[Path], files_before: int, columns: Columns) -> DataFrame:
    """The rows of an input, with the time in microseconds, the sequence and the id."""
    from pyspark.sql import functions as sf

    frame = spark.read.parquet(*(str(path.resolve()) for path in paths))
    file: Column = sf.lit(files_before).cast("long")
    if len(paths) > 1:
        numbers = [sf.lit(x) for n, path in enumerate(paths) for x in (path.name, files_before + n)]
        file = sf.create_map(*numbers)[sf.col("_metadata.file_name")].cast("long")
    return frame.select(
        *(f"`{name}`" for name in columns.needed),
        time_of(frame, columns.timestamp, "an input").alias(_AT),
        (sf.shiftleft(file, _ROWS) + sf.col("_metadata.row_index")).alias(_ARRIVAL),
        (sf.col(ID) if ID in columns.names else sf.lit(None).cast("string")).alias(_NAME),
    )


def _of_type(frame: DataFrame, columns: Columns, type_: EventType) -> DataFrame | None:
    """The events of one type; None if the input has none."""
    from pyspark.sql import functions as sf

    if columns.type is None and columns.form.type != type_.name:
        return None
    own = frame if columns.type is None else frame.where(sf.col(columns.type) == type_.name)
    held = columns.attributes(type_.name)
    return own.select(
        sf.timestamp_micros(_AT).alias(_AT),
        _ARRIVAL,
        (sf.col(_NAME) if columns.id(type_.name) else sf.lit(None).cast("string")).alias(_NAME),
        *(
            (sf.col(f"`{held[a.name]}`") if a.name in held else sf.lit(None))
            .cast(SPARK_TYPES[a.type])
            .alias(f"{_PREFIX}{a.name}")
            for a in type_.attributes
        ),
    )
