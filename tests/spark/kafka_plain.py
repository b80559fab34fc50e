"""From topic to topic with Spark's own sink, as a program of a user: `python -m tests.spark.kafka_plain ..`.

Its arguments are the address, the topics in and out, a file of rules, the checkpoint, and `once` for the last run.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import DataFrame
from tests.spark.jobs import QUICK_START

from tyrex import load
from tyrex.io import Layout
from tyrex.spark import composites, detect, finish
from tyrex.spark.feeds import find_feed, open_feeds
from tyrex.spark.jars import connector_jars
from tyrex.spark.session import close, session


def messages(found: DataFrame) -> DataFrame:
    """Composite events as messages, with their ids as keys."""
    return composites(found).selectExpr("id as key", "to_json(struct(*)) as value")


def main(address: str, topic: str, out: str, rules_file: str, checkpoint: str, *, once: bool) -> None:
    rules = load(rules_file)
    log = Path(checkpoint).with_suffix(".log")
    spark = session("local[2]", jars=connector_jars(), config=QUICK_START, log=log)
    feed = find_feed(f"kafka://{address}/{topic}", Layout(rules.types), timestamp="timestamp")
    events = open_feeds(spark, [feed], rules.types)
    kafka = {"kafka.bootstrap.servers": address, "topic": out}
    writer = (
        messages(detect(events, rules, delay="20 s", shards=2)).writeStream.format("kafka").options(**kafka)
    )
    writer = writer.option("checkpointLocation", checkpoint)
    query = (writer.trigger(availableNow=True) if once else writer).start()
    query.awaitTermination()
    messages(finish(events, rules, checkpoint, shards=2)).write.format("kafka").options(**kafka).save()
    close(spark)


if __name__ == "__main__":
    main(*sys.argv[1:6], once="once" in sys.argv)
