"""Events as rows of the wire: which columns they have, and which shards they go to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tyrex.spark import wire as w
from tyrex.spark.planner import Part, SparkPlan, Split
from tyrex.spark.sources import SPARK_TYPES, Stream
from tyrex.tesla.types import ValueType

if TYPE_CHECKING:
    from pyspark.sql import Column


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


def places_of(stream: Stream, plan: SparkPlan, layout: Layout) -> list[tuple[Column, Column]]:
    """The shards and slices that an event of a type goes to; some may be the same."""
    return [
        place
        for number, part in enumerate(plan.parts)
        if stream.type.name in part.unit.types
        for place in _places(part, layout.first[number], layout.width[number], stream, stream.time)
    ]


def _places(part: Part, first: int, width: int, stream: Stream, time: Column) -> list[tuple[Column, Column]]:
    """The shards and slices that an event goes to in a part."""
    from pyspark.sql import functions as sf

    none = sf.lit(0).cast("long")
    if part.split is Split.NONE:
        return [(sf.lit(first), none)]
    if part.split is Split.TIME:
        own = _floor_div(time, part.slice_length)
        following = _floor_div(time + sf.lit(part.overlap).cast("long"), part.slice_length)
        return [(_shard(first, width, sf.xxhash64(slice_)), slice_) for slice_ in (own, following)]
    key = (part.unit.key or {}).get(stream.type.name)
    if key is None:
        return [(_shard(first, width, sf.xxhash64(time, *stream.attributes.values())), none)]
    value = stream.attributes[key.name]
    if key.hash_as is ValueType.FLOAT:
        number = value.cast("double")
        # 0.0 and -0.0 are one value, and a NaN is read as null.
        value = sf.when(number == 0.0, sf.lit(0.0)).when(~sf.isnan(number), number)
    return [(_shard(first, width, sf.xxhash64(value)), none)]


def _shard(first: int, width: int, hashed: Column) -> Column:
    from pyspark.sql import functions as sf

    return (sf.lit(first) + sf.pmod(hashed, sf.lit(width))).cast("int")


def _floor_div(time: Column, length: int) -> Column:
    from pyspark.sql import functions as sf

    whole = sf.lit(length).cast("long")
    return ((time - sf.pmod(time, whole)) / whole).cast("long")
