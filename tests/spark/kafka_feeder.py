"""Another end of Kafka: `python -m tests.spark.kafka_feeder ADDRESS FOLDER` does what lines on standard input say.

`["send", topic, [value, ..]]` writes messages and answers when they are there; `["read", topic]` answers with all
messages of a topic: keys and values.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from tests.spark.jobs import QUICK_START

from tyrex.spark.jars import connector_jars
from tyrex.spark.session import close, session

ROOT = Path(__file__).parents[2]


class Feeder:
    """The process, as a test sees it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def send(self, topic: str, values: Sequence[str]) -> None:
        """Write messages, in their order in each partition."""
        self._ask("send", topic, values)

    def read(self, topic: str) -> list[tuple[str, dict[str, Any]]]:
        """All keys and values of a topic."""
        return [(key, json.loads(value)) for key, value in self._ask("read", topic)]

    def _ask(self, *words: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@contextmanager
def feeder(address: str, folder: Path) -> Iterator[Feeder]:
    """A feeder that is ready, and gone afterwards."""
    command: list[Any] = [sys.executable, "-m", "tests.spark.kafka_feeder", address, folder]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT) as process:
        yield Feeder(process)
        assert process.stdin is not None
        process.stdin.close()


def _send(spark: SparkSession, address: str, topic: str, values: Sequence[str]) -> None:
    rows = spark.createDataFrame([(value,) for value in values], "value string").coalesce(1)
    rows.write.format("kafka").option("kafka.bootstrap.servers", address).option("topic", topic).save()


def _read(spark: SparkSession, address: str, topic: str) -> list[tuple[str, str]]:
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", address).option("subscribe", topic)
    rows = reader.load().selectExpr("cast(key as string) as k", "cast(value as string) as v")
    return [(row.k, row.v) for row in rows.collect()]


def main(address: str, folder: Path) -> None:
    spark = session(
        "local[1]", jars=connector_jars(), config=QUICK_START, log=folder / "feeder.log", name="feeder"
    )
    for line in sys.stdin:
        what, topic, *values = json.loads(line)
        answer = []
        if what == "read":
            answer = _read(spark, address, topic)
        else:
            _send(spark, address, topic, values[0])
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    close(spark)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
