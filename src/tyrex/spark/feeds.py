"""Streams that a command names: folders of event files and Kafka topics, as one DataFrame of events.

Every file is read by the reader that `tyrex run` has for it, in one task, and every message as a line of JSON. So what
is an event, and what is none, is the same everywhere; what is none travels on as a problem, and is lost nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from tyrex.events import EventError
from tyrex.io import Form, Layout
from tyrex.io.inputs import split_type
from tyrex.spark.kafka import SCHEME, Topic, topic_of
from tyrex.spark.parsing import EVENTS, Slots, read_files, read_messages
from tyrex.spark.sources import SPARK_TYPES, Source
from tyrex.tesla.types import EventType

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

METRICS = "tyrex_feeds"
"""The name under which Spark observes what comes in."""
AT_ONCE = {"bytes": 1 << 29, "messages": 1_000_000}
"""A micro-batch has about so much of a folder, or of a topic: what was there before a stream began comes in pieces."""

_FILES = "path string, modificationTime timestamp, length long, content binary"
_MESSAGES = ("value", "topic", "partition", "offset")


@dataclass(frozen=True)
class Feed:
    """A stream of events: a folder into which files come, or a topic of Kafka."""

    name: str
    form: Form
    place: Path | Topic


def find_feed(word: str, layout: Layout, *, timestamp: str) -> Feed:
    """The stream that a word of a command names: `events/`, `kafka://host:9092/events`, or `Temp=temps/`."""
    type_, rest = split_type(word, layout)
    form = Form(type_, timestamp)
    if rest.startswith(SCHEME):
        return Feed(rest, form, topic_of(rest))
    path = Path(rest)
    if not path.is_dir():
        found = "is a file" if path.exists() else "is not there"
        raise EventError(
            f"{rest} {found}: a stream is a folder into which files come, or kafka://HOST:PORT/TOPIC"
        )
    return Feed(rest, form, path)


def needs_kafka(feeds: Iterable[Feed]) -> bool:
    """Whether Spark must have its connector for Kafka."""
    return any(isinstance(feed.place, Topic) for feed in feeds)


def open_feeds(spark: SparkSession, feeds: Sequence[Feed], types: Mapping[str, EventType]) -> Source:
    """The events of all streams, for `detect`, with what is none as problems; Spark observes how many there are."""
    from pyspark.sql import functions as sf

    layout = Layout(types)
    slots = Slots.of(layout)
    columns = ", ".join([EVENTS, *(f"{slot} {SPARK_TYPES[kind]}" for slot, kind in slots.kinds.items())])
    rows = reduce(
        lambda one, other: one.unionByName(other),
        [_raw(spark, feed).mapInArrow(_reader(feed, slots, layout.types), columns) for feed in feeds],
    )
    strange = ~sf.col("type").isin(list(layout.types))
    observed = rows.observe(
        METRICS,
        sf.count("type").alias("events"),
        sf.count_if(strange).alias("unknown"),
    )
    return Source(
        observed,
        sequence="sequence",
        id="id",
        problem="problem",
        columns={f"{type_}.{name}": slot for (type_, name), slot in slots.places.items()},
    )


def _raw(spark: SparkSession, feed: Feed) -> DataFrame:
    """Names of files, or messages."""
    if isinstance(feed.place, Topic):
        reader = spark.readStream.format("kafka").option("startingOffsets", "earliest")
        reader = reader.option("maxOffsetsPerTrigger", AT_ONCE["messages"])
        messages: DataFrame = feed.place.configure(reader).option("subscribe", feed.place.name).load()
        return messages.select(*_MESSAGES)
    files = (
        spark.readStream.format("binaryFile").schema(_FILES).option("maxBytesPerTrigger", AT_ONCE["bytes"])
    )
    return files.load(str(feed.place.resolve())).select("path")


def _reader(
    feed: Feed, slots: Slots, types: Mapping[str, EventType]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What Python workers do with them."""
    form, read = feed.form, read_messages if isinstance(feed.place, Topic) else read_files
    declared = dict(types)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return read(batches, Layout(declared), form, slots)

    return run
