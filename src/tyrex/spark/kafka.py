"""Kafka as a command names it, `kafka://host:9092/topic`, and topics as a place where each composite event is once."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from tyrex.events import EventError
from tyrex.spark.runs import RunError, reason

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEME = "kafka://"
_NAME = re.compile(r"[\w.-]{1,249}")
_EXAMPLE = "kafka://localhost:9092/events"


@dataclass(frozen=True)
class Topic:
    """A topic of Kafka."""

    servers: str
    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    """Options of Spark's connector, as `kafka.security.protocol`."""

    def configure(self, reader: Any) -> Any:
        """Tell a reader or writer of Spark where the topic is."""
        return reader.option("kafka.bootstrap.servers", self.servers).options(**self.options)


def topic_of(address: str) -> Topic:
    """The topic that an address names; what follows a `?` are options of Spark's connector."""
    parts = urlsplit(address)
    name = parts.path.removeprefix("/")
    if not parts.netloc or not _NAME.fullmatch(name):
        raise EventError(f"`{address}` names no topic of Kafka: write it as {_EXAMPLE}")
    return Topic(parts.netloc, name, dict(parse_qsl(parts.query)))


class TopicWriter:
    """Writes messages of micro-batches to a topic, each once, also if a micro-batch runs again after a failure.

    Before a micro-batch writes, the ends of the topic's partitions are noted. If they were noted before, it was broken
    off, and what it has written since is there: messages with these keys are not written again.
    """

    def __init__(self, spark: SparkSession, topic: Topic, notes: Path) -> None:
        self._spark = spark
        self._topic = topic
        self._notes = notes

    def write(self, batch: int | None, messages: Sequence[tuple[str, str]]) -> None:
        """Write keys and values, in their order in each partition of the topic; without a number, at least once."""
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        if not messages:
            return
        try:
            self._write(batch, messages)
        except (Py4JError, PySparkException) as error:
            raise RunError(
                f"Kafka at {self._topic.servers} did not take what was found: {reason(error)}"
            ) from error

    def _write(self, batch: int | None, messages: Sequence[tuple[str, str]]) -> None:
        noted = json.loads(self._notes.read_text()) if self._notes.exists() else {}
        there: set[str] = set()
        if batch is None:
            pass
        elif noted.get("batch") == batch and noted.get("topic") == self._topic.name:
            there = self._keys_since(noted["ends"])
        else:
            note = {"batch": batch, "topic": self._topic.name, "ends": self._ends()}
            draft = self._notes.with_suffix(".draft")
            draft.write_text(json.dumps(note))
            draft.replace(self._notes)
        self._send([message for message in messages if message[0] not in there])

    def _send(self, messages: Sequence[tuple[str, str]]) -> None:
        if not messages:
            return
        rows = self._spark.createDataFrame(list(messages), "key string, value string").coalesce(1)
        self._topic.configure(rows.write.format("kafka")).option("topic", self._topic.name).save()

    def _keys_since(self, ends: Mapping[str, int]) -> set[str]:
        now = self._ends()
        starts = {partition: ends.get(partition, 0) for partition in now}
        if not now:
            return set()
        found = (
            self._topic.configure(self._spark.read.format("kafka"))
            .option("subscribe", self._topic.name)
            .option("startingOffsets", json.dumps({self._topic.name: starts}))
            .option("endingOffsets", json.dumps({self._topic.name: now}))
            .load()
            .selectExpr("cast(key as string) as key")
        )
        return {row["key"] for row in found.collect()}

    def _ends(self) -> dict[str, int]:
        """The offset behind the last message of each partition; none if there is no such topic yet."""
        jvm: Any = self._spark.sparkContext._jvm
        bytes_reader = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
        settings = {
            "bootstrap.servers": self._topic.servers,
            "key.deserializer": bytes_reader,
            "value.deserializer": bytes_reader,
        }
        settings |= {
            name.removeprefix("kafka."): value
            for name, value in self._topic.options.items()
            if name.startswith("kafka.")
        }
        properties = jvm.java.util.Properties()
        for name, value in settings.items():
            properties.setProperty(name, value)
        consumer = jvm.org.apache.kafka.clients.consumer.KafkaConsumer(properties)
        try:
            partitions = jvm.java.util.ArrayList()
            for info in consumer.partitionsFor(self._topic.name) or ():
                partitions.add(jvm.org.apache.kafka.common.TopicPartition(info.topic(), info.partition()))
            return {
                str(partition.partition()): int(end)
                for partition, end in consumer.endOffsets(partitions).items()
            }
        finally:
            consumer.close()
