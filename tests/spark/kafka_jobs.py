"""Sends numbers through Kafka with Spark's connector: `python -m tests.spark.kafka_jobs ADDRESS FOLDER`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from tests.spark.jobs import QUICK_START

from tyrex.spark.jars import connector_jars
from tyrex.spark.kafka import Topic, TopicWriter
from tyrex.spark.session import close, session

PACKAGE = "org.apache.commons:commons-csv:1.14.1"
"""Any small package: that Spark fetches what it is told to."""


def send(spark: SparkSession, address: str, topic: str, count: int) -> None:
    """Write the numbers below `count` as messages."""
    numbers = spark.range(count).selectExpr("cast(id as string) as key", "cast(id * id as string) as value")
    numbers.write.format("kafka").option("kafka.bootstrap.servers", address).option("topic", topic).save()


def receive(spark: SparkSession, address: str, topic: str) -> list[tuple[int, int, int]]:
    """All messages of a topic: (partition, key, value)."""
    messages = (
        spark.read.format("kafka").option("kafka.bootstrap.servers", address).option("subscribe", topic)
    )
    rows = messages.load().selectExpr(
        "partition", "cast(cast(key as string) as long) as k", "cast(value as string) as v"
    )
    return [(row.partition, row.k, int(row.v)) for row in rows.collect()]


def write_again(spark: SparkSession, address: str, topic: str, notes: Path) -> list[tuple[str, str]]:
    """A micro-batch that was broken off when it had sent two of three messages, and the next one."""
    for batch, messages in [(1, "ab"), (1, "abc"), (2, "ad")]:
        writer = TopicWriter(spark, Topic(address, topic), notes)
        writer.write(batch, [(key, f"{batch}") for key in messages])
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", address).option("subscribe", topic)
    rows = reader.load().selectExpr("cast(key as string) as k", "cast(value as string) as v")
    return [(row.k, row.v) for row in rows.collect()]


def main(address: str, folder: Path) -> None:
    spark = session(
        "local[2]", packages=[PACKAGE], jars=connector_jars(), config=QUICK_START, log=folder / "spark.log"
    )
    send(spark, address, "numbers", 1000)
    jars = spark.sparkContext._jsc.sc().listJars()
    answer = {
        "messages": receive(spark, address, "numbers"),
        "written": write_again(spark, address, "composites", folder / "notes"),
        "jars": [jars.apply(index).rpartition("/")[2] for index in range(jars.size())],
    }
    close(spark)
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
