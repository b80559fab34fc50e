"""Kafka for real: a broker of the test's own, and Spark's connector."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.spark.kafka_broker import kafka_broker

pytestmark = pytest.mark.nightly  # the jars come from a Maven repository, which takes a minute the first time


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker that all tests share: each uses topics of its own."""
    with kafka_broker(tmp_path_factory.mktemp("kafka")) as address:
        yield address


def test_a_thousand_messages_go_through_kafka(kafka: str, tmp_path: Path) -> None:
    """Spark writes them, the broker spreads them over its partitions, and Spark reads each of them once."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.kafka_jobs", kafka, tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    answer = json.loads(done.stdout)
    assert sorted(tuple(message[1:]) for message in answer["messages"]) == [(n, n * n) for n in range(1000)]
    assert {message[0] for message in answer["messages"]} == {0, 1}
    assert any("commons-csv" in jar for jar in answer["jars"])
