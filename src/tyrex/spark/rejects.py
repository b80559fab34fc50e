"""Rows of tables that are no events: told beside the composite events, or the end of the job.

They come from a reading of the sources of their own, which Spark leaves out if nobody looks at them: a filter for
what is rejected, or for what is not, decides it before anything runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from tyrex.rules import RuleSet
from tyrex.spark.sources import Events, Source, attribute_columns, by_source, is_valid, quoted, time_of
from tyrex.tesla.types import TIMER, EventType

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField

REJECTED = "rejected"
"""The column of a result that says what is wrong with an event; null for composite events."""
_ABOUT = "struct<problem: string, attributes: map<string, string>>"


def with_rejected(found: DataFrame, events: Events, rules: RuleSet) -> DataFrame:
    """Composite events, and the rows of the sources that are no events."""
    from pyspark.sql import functions as sf

    result = found.withColumn(REJECTED, sf.lit(None).cast(_ABOUT))
    return reduce(lambda one, other: one.unionByName(other), _rejected(found, events, rules), result)


def or_fail(found: DataFrame, events: Events, rules: RuleSet) -> DataFrame:
    """Composite events; the job fails at a row that is no event."""
    from pyspark.sql import functions as sf

    result = found
    for rows in _rejected(found, events, rules):
        text = sf.concat(
            sf.lit("a row is no event: "),
            sf.col(f"{REJECTED}.problem"),
            sf.lit(". It is of type "),
            sf.coalesce("type", sf.lit("null")),
            sf.lit(" and has "),
            sf.to_json(f"{REJECTED}.attributes"),
            sf.lit(". Without `strict` such rows are left out, and `rejected` shows them"),
        )
        # No row is left; as a filter it is evaluated whatever is asked of the result.
        failing = rows.where(
            sf.when(sf.col(f"{REJECTED}.problem").isNotNull(), sf.raise_error(text)).isNotNull()
        )
        result = result.unionByName(failing.drop(REJECTED))
    return result


def _rejected(found: DataFrame, events: Events, rules: RuleSet) -> list[DataFrame]:
    """The rows of each source that are no events, in the columns of a result."""
    known = {name: type_ for name, type_ in rules.types.items() if name != TIMER.name}
    if isinstance(events, Mapping):
        return [
            _of_source(source, {name: known[name]}, found.schema.fields, name)
            for name, (source, _) in zip(events, by_source(events, ()), strict=True)
        ]
    return [_of_source(source, known, found.schema.fields, None) for source, _ in by_source(events, ())]


def _of_source(
    source: Source, types: Mapping[str, EventType], result: Sequence[StructField], name: str | None
) -> DataFrame:
    """`name` is the type of all events, if they are of one."""
    from pyspark.sql import functions as sf

    frame = source.frame
    type_ = sf.col("type") if name is None else sf.lit(name)
    time = time_of(frame, source.timestamp, name or "an input")
    problem = sf.when(sf.lit(False), sf.lit(""))
    if name is None:
        problem = problem.when(sf.coalesce(type_, sf.lit("")) == "", "no type")
        problem = problem.when(~type_.isin(list(types)), "unknown type")
    problem = problem.when(~is_valid(time), "no valid timestamp")
    if source.sequence is not None:
        problem = problem.when(sf.col(quoted(source.sequence)).isNull(), "no sequence")
    shown = {
        "type": type_,
        "timestamp": sf.when(is_valid(time), sf.timestamp_micros(time)),
        "id": sf.lit(None) if source.id is None else sf.col(quoted(source.id)),
    }
    about = sf.struct(problem.alias("problem"), _attributes(source, types, name).alias("attributes"))
    return frame.where(problem.isNotNull()).select(
        *(shown.get(field.name, sf.lit(None)).cast(field.dataType).alias(field.name) for field in result),
        about.alias(REJECTED),
    )


def _attributes(source: Source, types: Mapping[str, EventType], name: str | None) -> Column:
    """The attributes as texts; of a type that is not known, all columns that have one."""
    from pyspark.sql import functions as sf
    from pyspark.sql import types as st

    def texts(columns: Mapping[str, str]) -> Column:
        pairs = [part for n, c in columns.items() for part in (sf.lit(n), sf.col(quoted(c)).cast("string"))]
        return sf.create_map(*pairs).cast("map<string, string>")

    if name is not None:
        return texts(attribute_columns(source, types[name]))
    nested = (st.ArrayType, st.MapType, st.StructType, st.BinaryType, st.VariantType)
    taken = ("type", source.timestamp, source.sequence, source.id)
    found = texts(
        {
            field.name: field.name
            for field in source.frame.schema.fields
            if field.name not in taken and not isinstance(field.dataType, nested)
        }
    )
    for type_ in types.values():
        found = sf.when(sf.col("type") == type_.name, texts(attribute_columns(source, type_))).otherwise(
            found
        )
    return found
