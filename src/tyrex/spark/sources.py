"""Where events come from: DataFrames of the caller, each checked against the types that the rules know."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from tyrex.engine.engine import Moment
from tyrex.events.time import FIRST_TIMESTAMP, LAST_TIMESTAMP
from tyrex.tesla.diagnostics import did_you_mean, listing
from tyrex.tesla.types import TIMER, TIMESTAMP, EventType, ValueType

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType


class SourceError(ValueError):
    """A DataFrame does not hold the events that the rules speak of."""


@dataclass(frozen=True)
class Source:
    """A DataFrame with the events of one type.

    `columns` says which column holds an attribute whose name it does not have: `{"area": "zone"}`, or, where one
    DataFrame holds events of all types, `{"Temp.area": "zone"}` for those of one type. `sequence` is a
    column of whole numbers by which simultaneous events are put in order; without one they are ordered by their
    content, which is the same in every run. `id` is a column with the ids that the source gave its events. `problem`
    is a column that says of a row of a stream that is no event why it is none: it comes out among the rejected ones.
    """

    frame: DataFrame
    timestamp: str = TIMESTAMP
    sequence: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    id: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class History:
    """Tables with what came before a stream: the rules run over them, and go on with the stream.

    The history ends, and the stream begins, at the moment `before`: what the tables have from then on is left out, as
    is what the stream has before.
    """

    events: Events
    before: Moment


Events: TypeAlias = "DataFrame | Source | Mapping[str, DataFrame | Source]"
"""Events for `detect`: a table with a column `type`, or one for each type."""


@dataclass(frozen=True)
class Stream:
    """Events of one type, as expressions over a DataFrame."""

    type: EventType
    frame: DataFrame
    time: Column
    """Microseconds since the epoch."""
    sequence: Column | None
    id: Column | None
    raw: Mapping[str, Column]
    """The attributes as the DataFrame has them, so that Spark can look for them in its files."""
    attributes: Mapping[str, Column]
    """The attributes in the types that the rules know; those that the DataFrame does not have are null."""
    held: Mapping[str, str]
    """For each attribute that the DataFrame has, its column."""
    all_have_ids: bool = False
    """Whether no id can be null."""


def streams_of(events: Events, types: Mapping[str, EventType], needed: Mapping[str, object]) -> list[Stream]:
    """The events of each type that some rule looks at; several are of one source if it holds all types."""
    if not isinstance(events, Mapping):
        source = source_of(events)
        if "type" not in source.frame.columns:
            raise SourceError(
                "the DataFrame has no column `type`: add one, or give a DataFrame for each type, "
                'as in {"Temp": temps, "Smoke": smokes}'
            )
        all_attributes = {a.name for type_ in types.values() for a in type_.attributes}
        all_attributes |= {f"{type_.name}.{a.name}" for type_ in types.values() for a in type_.attributes}
        _know(source.columns, all_attributes, "the event types have")
        return [_stream(types[name], _of_one_type(source, name), name) for name in needed]
    for name in events:
        if name not in types or name == TIMER.name:
            near = did_you_mean(name, types)
            raise SourceError(f"the rules know no event type `{name}`" + (f"; {near}" if near else ""))
    for name, source in zip(events, frames_of(events), strict=True):
        _know(source.columns, types[name].by_name, f"{types[name]} has")
    return [_stream(types[name], source_of(given), name) for name, given in events.items() if name in needed]


def frames_of(events: Events) -> list[Source]:
    """All that is given, also what no rule looks at: it says how far time has come."""
    given = list(events.values()) if isinstance(events, Mapping) else [events]
    return [source_of(source) for source in given]


def _of_one_type(source: Source, name: str) -> Source:
    """A source of all types as one of them sees it."""
    columns = {}
    for attribute, column in source.columns.items():
        type_, dot, own = attribute.rpartition(".")
        if not dot or type_ == name:
            columns[own] = column
    return replace(source, columns=columns)


def by_source(events: Events, streams: Iterable[Stream]) -> list[tuple[Source, list[Stream]]]:
    """Each source with its streams, so that it can be read once; with none if no rule looks at its events."""
    streams = list(streams)
    if not isinstance(events, Mapping):
        return [(frames_of(events)[0], streams)]
    return [
        (source, [stream for stream in streams if stream.type.name == name])
        for name, source in zip(events, frames_of(events), strict=True)
    ]


def is_of(stream: Stream, events: Events) -> Column:
    """Whether a row of a source is an event of a stream."""
    from pyspark.sql import functions as sf

    return sf.lit(True) if isinstance(events, Mapping) else sf.col("type") == stream.type.name


def source_of(given: DataFrame | Source) -> Source:
    """A DataFrame by itself: its columns `sequence` and `id` mean what they say."""
    if isinstance(given, Source):
        return given
    sequence, id_ = (name if name in given.columns else None for name in ("sequence", "id"))
    return Source(given, sequence=sequence, id=id_)


def _stream(type_: EventType, source: Source, name: str) -> Stream:
    from pyspark.sql import functions as sf

    frame = source.frame
    kinds = {field_.name: field_.dataType for field_ in frame.schema.fields}
    for attribute, column in source.columns.items():
        if attribute in type_.by_name:
            _require(column, kinds, f"attribute `{attribute}` of {name}")
    time = time_of(frame, source.timestamp, name)
    raw: dict[str, Column] = {}
    attributes: dict[str, Column] = {}
    held: dict[str, str] = {}
    for declared in type_.attributes:
        column = source.columns.get(declared.name, declared.name)
        if column not in kinds:
            attributes[declared.name] = sf.lit(None).cast(SPARK_TYPES[declared.type])
            continue
        _fits(kinds[column], declared.type, column, f"{name}.{declared.name}")
        held[declared.name] = column
        raw[declared.name] = sf.col(quoted(column))
        attributes[declared.name] = sf.col(quoted(column)).cast(SPARK_TYPES[declared.type])
    sequence = given_id = None
    all_have_ids = False
    if source.sequence is not None:
        _require(source.sequence, kinds, f"sequence of {name}")
        sequence = sf.col(quoted(source.sequence)).cast("long")
    if source.id is not None:
        _require(source.id, kinds, f"id of {name}")
        given_id = sf.col(quoted(source.id)).cast("string")
        all_have_ids = not frame.schema[source.id].nullable
    return Stream(type_, frame, time, sequence, given_id, raw, attributes, held, all_have_ids)


SPARK_TYPES = {
    ValueType.STRING: "string",
    ValueType.INT: "long",
    ValueType.FLOAT: "double",
    ValueType.BOOL: "boolean",
}


def time_of(frame: DataFrame, column: str, name: str) -> Column:
    """The column of times in microseconds; null where a row has none, or one beyond all numbers."""
    from pyspark.sql import functions as sf
    from pyspark.sql import types as st

    kinds = {field_.name: field_.dataType for field_ in frame.schema.fields}
    _require(column, kinds, f"timestamp of {name}")
    kind = kinds[column]
    if isinstance(kind, st.TimestampType):
        return sf.unix_micros(sf.col(quoted(column)))
    if isinstance(kind, st.TimestampNTZType):
        return sf.expr(
            f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01 00:00:00', {quoted(column)})"
        ).cast("long")
    if isinstance(kind, st.IntegralType):
        return sf.try_multiply(sf.col(quoted(column)).cast("long"), sf.lit(1_000_000).cast("long"))
    if isinstance(kind, st.FractionalType):
        return sf.rint(sf.col(quoted(column)).cast("double") * sf.lit(1_000_000.0)).try_cast("long")
    raise SourceError(
        f"the timestamp of {name}, column `{column}`, is of type {kind.simpleString()}: "
        "give a timestamp, or seconds as a number"
    )


def is_valid(time: Column) -> Column:
    """Whether a time in microseconds is one that events may have; never null."""
    from pyspark.sql import functions as sf

    return sf.coalesce(time.between(FIRST_TIMESTAMP, LAST_TIMESTAMP), sf.lit(False))


def _fits(kind: DataType, wanted: ValueType, column: str, attribute: str) -> None:
    from pyspark.sql import types as st

    accepted: dict[ValueType, tuple[type[DataType], ...]] = {
        ValueType.STRING: (st.StringType, st.CharType, st.VarcharType),
        ValueType.INT: (st.IntegralType,),
        ValueType.FLOAT: (st.FloatType, st.DoubleType, st.IntegralType),
        ValueType.BOOL: (st.BooleanType,),
    }
    if not isinstance(kind, (*accepted[wanted], st.NullType)):
        raise SourceError(
            f"column `{column}` is of type {kind.simpleString()}, but {attribute} is {wanted.with_article}: "
            "cast it, or name another column"
        )


def _know(attributes: Iterable[str], known: Collection[str], who: str) -> None:
    for attribute in attributes:
        if attribute not in known:
            near = did_you_mean(attribute, known)
            raise SourceError(f"{who} no attribute `{attribute}`" + (f"; {near}" if near else ""))


def _require(column: str, kinds: Mapping[str, object], what: str) -> None:
    if column not in kinds:
        near = did_you_mean(column, kinds)
        raise SourceError(
            f"there is no column `{column}` for the {what}; the DataFrame has {listing(list(kinds))}"
            + (f"; {near}" if near else "")
        )


def attribute_columns(source: Source, type_: EventType) -> dict[str, str]:
    """For each attribute of a type that the DataFrame has, its column."""
    return {
        a.name: column
        for a in type_.attributes
        if (column := source.columns.get(a.name, a.name)) in source.frame.columns
    }


def quoted(column: str) -> str:
    """The name of a column, as expressions have it."""
    return "`" + column.replace("`", "``") + "`"
