"""Events as rows of the wire: which columns they have, and which shards they go to."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tyrex.spark import wire as w
from tyrex.spark.planner import Part, SparkPlan, Split
from tyrex.spark.sources import SPARK_TYPES, Stream
from tyrex.tesla.types import ValueType

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class Layout:
    """Which shards each part of a plan has."""

    def __init__(self, plan: SparkPlan, shards: int) -> None:
        self.first: list[int] = []
        self.width: list[int] = []
        self.count = 0
        for part in plan.parts:
            self.first.append(self.count)
            self.width.append(1 if part.split is Split.NONE else shards)
            self.count += self.width[-1]
        self.count = max(1, self.count)

    @property
    def part_of_shard(self) -> tuple[int, ...]:
        """For each shard, the part that it belongs to."""
        return tuple(part for part, width in enumerate(self.width) for _ in range(width))


def needed(plan: SparkPlan, stream: Stream) -> frozenset[str]:
    """The attributes that must travel: an event without an id of its source is known by all that it holds."""
    if stream.all_have_ids:
        return plan.used[stream.type.name]
    return frozenset(attribute.name for attribute in stream.type.attributes)


def columns_of(stream: Stream, wire: w.Wire) -> dict[str, Column]:
    """The columns of the events of one type, but for the shard."""
    from pyspark.sql import functions as sf

    name = stream.type.name
    content = [*stream.attributes.values(), *([stream.id] if stream.id is not None else [])]
    sequence = sf.xxhash64(sf.lit(name), *content) if stream.sequence is None else stream.sequence
    slots = {slot: attribute for attribute, slot in wire.places[name].items()}
    return {
        w.TYPE: sf.lit(wire.number(name)).cast("int"),
        w.TIME: stream.time,
        w.SEQUENCE: sequence,
        **({w.ID: sf.lit(None).cast("string") if stream.id is None else stream.id} if wire.has_ids else {}),
        **{
            slot: stream.attributes[slots[slot]] if slot in slots else sf.lit(None).cast(SPARK_TYPES[kind])
            for slot, kind in wire.slots.items()
        },
    }


@dataclass(frozen=True)
class Place:
    """Where an event of some type goes to."""

    same: Hashable
    """Equal for expressions that are the same over one source: these need not be told apart by type."""
    shard: Column
    slice: Column


def place_rows(
    frame: DataFrame, streams: Sequence[Stream], plan: SparkPlan, layout: Layout, wire: w.Wire, kind: Column
) -> DataFrame:
    """The events of one source as rows of the wire, each once for every shard and slice that needs it.

    All rows of the frame are events of one of the streams; `kind` is the number of their type.
    """
    from pyspark.sql import functions as sf

    numbers = [wire.number(stream.type.name) for stream in streams]
    places = [places_of(stream, plan, layout) for stream in streams]
    columns = _columns_of_all(streams, numbers, wire, kind)
    if all(len(each) == 1 for each in places):
        found = [each[0] for each in places]
        shard = choose(kind, [(n, p.same, p.shard) for n, p in zip(numbers, found, strict=True)])
        slice_ = choose(kind, [(n, p.same, p.slice) for n, p in zip(numbers, found, strict=True)])
        return frame.select(
            shard.alias(w.SHARD), slice_.alias(w.SLICE), *(c.alias(n) for n, c in columns.items())
        )
    everywhere = choose(
        kind,
        [
            (
                number,
                tuple(place.same for place in each),
                sf.array(*(sf.struct(p.shard.alias(w.SHARD), p.slice.alias(w.SLICE)) for p in each)),
            )
            for number, each in zip(numbers, places, strict=True)
        ],
    )
    # A slice of time that an event does not reach into is given as the event's own: it is there once.
    return frame.select(
        sf.explode(sf.array_distinct(everywhere)).alias("place"), *(c.alias(n) for n, c in columns.items())
    ).select(f"place.{w.SHARD}", f"place.{w.SLICE}", *columns)


def _columns_of_all(
    streams: Sequence[Stream], numbers: Sequence[int], wire: w.Wire, kind: Column
) -> dict[str, Column]:
    """The columns of the events of one source, but for the shard."""
    own = [columns_of(stream, wire) for stream in streams]
    if len(streams) == 1:
        return own[0]
    chosen = {w.TYPE: kind, w.TIME: own[0][w.TIME]}
    for name in own[0]:
        if name in chosen:
            continue
        branches: list[tuple[int, Hashable, Column]] = []
        for number, stream, columns in zip(numbers, streams, own, strict=True):
            same: Hashable = name
            if name == w.SEQUENCE and stream.sequence is None:
                same = number
            if name in wire.slots:
                # What is in a slot that a type does not use does not matter.
                attribute = next((a for a, s in wire.places[stream.type.name].items() if s == name), None)
                if attribute is None:
                    continue
                same = stream.held.get(attribute)
            branches.append((number, same, columns[name]))
        chosen[name] = choose(kind, branches) if branches else own[0][name]
    return chosen


def choose(kind: Column, branches: Sequence[tuple[int, Hashable, Column]]) -> Column:
    """For each type its expression; those that are the same are not told apart."""
    from pyspark.sql import functions as sf

    groups: dict[Hashable, tuple[list[int], Column]] = {}
    for number, same, column in branches:
        groups.setdefault(same, ([], column))[0].append(number)
    *others, (_, found) = groups.values()
    for numbers, column in reversed(others):
        found = sf.when(kind.isin(numbers), column).otherwise(found)
    return found


def places_of(stream: Stream, plan: SparkPlan, layout: Layout) -> list[Place]:
    """The shards and slices that an event of a type goes to; some may be the same."""
    return [
        place
        for number, part in enumerate(plan.parts)
        if stream.type.name in part.unit.types
        for place in _places(number, part, layout.first[number], layout.width[number], stream)
    ]


def _places(number: int, part: Part, first: int, width: int, stream: Stream) -> list[Place]:
    """The shards and slices that an event goes to in a part."""
    from pyspark.sql import functions as sf

    none = sf.lit(0).cast("long")
    if part.split is Split.NONE:
        return [Place(number, sf.lit(first), none)]
    if part.split is Split.TIME:
        own = _floor_div(stream.time, part.slice_length)
        following = _floor_div(stream.time + sf.lit(part.overlap).cast("long"), part.slice_length)
        return [
            Place((number, which), _shard(first, width, sf.xxhash64(slice_)), slice_)
            for which, slice_ in enumerate((own, following))
        ]
    key = (part.unit.key or {}).get(stream.type.name)
    if key is None:
        content = sf.xxhash64(stream.time, *stream.attributes.values())
        return [Place((number, stream.type.name), _shard(first, width, content), none)]
    kind = stream.type.by_name[key.name]
    value = stream.attributes[key.name]
    if key.hash_as is ValueType.FLOAT:
        float_ = value.cast("double")
        # 0.0 and -0.0 are one value, and a NaN is read as null.
        value = sf.when(float_ == 0.0, sf.lit(0.0)).when(~sf.isnan(float_), float_)
    # Null equals nothing: such events can be anywhere, and must not all burden one shard.
    hashed = sf.when(value.isNotNull(), sf.xxhash64(value)).otherwise(sf.xxhash64(stream.time))
    same = (number, stream.held.get(key.name), kind, key.hash_as)
    return [Place(same, _shard(first, width, hashed), none)]


def _shard(first: int, width: int, hashed: Column) -> Column:
    from pyspark.sql import functions as sf

    return (sf.lit(first) + sf.pmod(hashed, sf.lit(width))).cast("int")


def _floor_div(time: Column, length: int) -> Column:
    from pyspark.sql import functions as sf

    whole = sf.lit(length).cast("long")
    return sf.rint((time - sf.pmod(time, whole)) / whole).cast("long")
