"""Events as DataFrames, and detections as plain values that can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tyrex import Event, RuleSet
from tyrex.reference import run as run_reference
from tyrex.spark import Source, composites, detect
from tyrex.tesla.types import TIMER, EventType, ValueType

SPARK = {
    ValueType.STRING: "string",
    ValueType.INT: "long",
    ValueType.FLOAT: "double",
    ValueType.BOOL: "boolean",
}


def sources(spark: SparkSession, rules: RuleSet, events: Sequence[Event]) -> dict[str, DataFrame | Source]:
    """A DataFrame for each type, with the order of arrival."""
    found: dict[str, DataFrame | Source] = {}
    for name, type_ in rules.types.items():
        own = [(number, event) for number, event in enumerate(events) if event.type == name]
        if name != TIMER.name and (own or name in rules.plan.types_needed):
            found[name] = _source(spark, type_, own)
    return found


def one_table(spark: SparkSession, rules: RuleSet, events: Sequence[Event]) -> Source | None:
    """A DataFrame for all types, with the order of arrival; None if an attribute has several types."""
    kinds = {
        (a.name, a.type)
        for name, type_ in rules.types.items()
        if name != TIMER.name
        for a in type_.attributes
    }
    attributes = dict(sorted(kinds))
    if len(attributes) < len(kinds):
        return None
    rows = [
        (
            number,
            event.timestamp,
            event.type,
            event.id,
            *(_value(event, name, kind) for name, kind in attributes.items()),
        )
        for number, event in enumerate(events)
    ]
    schema = ["arrival long", "micros long", "type string", "name string"]
    schema += [f"`a_{name}` {SPARK[kind]}" for name, kind in attributes.items()]
    frame = spark.createDataFrame(rows, ", ".join(schema))
    return Source(
        frame.withColumn("at", sf.timestamp_micros("micros")),
        "at",
        sequence="arrival",
        id="name" if any(event.id is not None for event in events) else None,
        columns={name: f"a_{name}" for name in attributes},
    )


def _source(spark: SparkSession, type_: EventType, events: list[tuple[int, Event]]) -> Source:
    columns = {attribute.name: f"a_{attribute.name}" for attribute in type_.attributes}
    rows = [
        (number, event.timestamp, event.id, *(_value(event, a.name, a.type) for a in type_.attributes))
        for number, event in events
    ]
    schema = ["arrival long", "micros long", "name string"]
    schema += [f"`a_{attribute.name}` {SPARK[attribute.type]}" for attribute in type_.attributes]
    frame = spark.createDataFrame(rows, ", ".join(schema)).selectExpr(
        "arrival", "timestamp_micros(micros) as at", "name", *(f"`{column}`" for column in columns.values())
    )
    has_ids = any(event.id is not None for _, event in events)
    return Source(frame, "at", sequence="arrival", id="name" if has_ids else None, columns=columns)


def _value(event: Event, name: str, kind: ValueType) -> Any:
    value = event.attributes.get(name)
    return float(value) if kind is ValueType.FLOAT and isinstance(value, int) else value


def detected(
    spark: SparkSession,
    rules: RuleSet,
    events: Sequence[Event],
    *,
    until: int | None = None,
    together: bool = False,
    **options: Any,
) -> list[tuple[str, ...]]:
    """What Spark finds, without an order; in one table if that is asked for and can be."""
    given = (one_table(spark, rules, events) if together else None) or sources(spark, rules, events)
    moment = None if until is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=until)
    rows = composites(detect(given, rules, until=moment, **options)).collect()
    return sorted((row["type"], row["id"], row["rule"], _content(row[row["type"]].asDict())) for row in rows)


def expected(rules: RuleSet, events: Sequence[Event], **options: Any) -> list[tuple[str, ...]]:
    """What the reference finds, without an order."""
    composites = run_reference(rules.checked, events, **options).composites
    return sorted(
        (event.type, event.id or "", event.rule or "", _content(dict(event.attributes)))
        for event in composites
    )


def _content(attributes: dict[str, Any]) -> str:
    return repr(sorted(attributes.items()))
