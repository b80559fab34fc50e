"""Kafka for real: a broker of the test's own, and Spark's connector."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.cli.support import COMMAND
from tests.spark.frames import expected
from tests.spark.kafka_broker import kafka_broker
from tests.spark.kafka_feeder import ROOT, feeder
from tests.spark.test_shards import history

from tyrex import parse
from tyrex.io import write_json_event

pytestmark = pytest.mark.nightly  # the jars come from a Maven repository, which takes a minute the first time


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker that all tests share: each uses topics of its own."""
    with kafka_broker(tmp_path_factory.mktemp("kafka")) as address:
        yield address


def test_a_thousand_messages_go_through_kafka(kafka: str, tmp_path: Path) -> None:
    """Spark writes them, the broker spreads them over its partitions, and Spark reads each of them once.

    What a micro-batch has sent is not sent again when it runs once more.
    """
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
    assert sorted(map(tuple, answer["written"])) == [
        ("a", "1"),
        ("a", "2"),
        ("b", "1"),
        ("c", "1"),
        ("d", "2"),
    ]
    assert any("commons-csv" in jar for jar in answer["jars"])


KILLS = 5
LONGEST = 300
"""Seconds until a run has begun a micro-batch."""
RULES = """
event A(k: int, v: int)
event B(k: int, v: int)
Rule pair define Pair(k: int, v: int)
from B(k = $k) and each A(k = $k and v < B.v) within 20 s from B where k = $k, v = A.v
Rule quiet define Quiet(k: int) from 9 s after A(k = $k) as O and not B(k = $k) between O and Timer where k = $k
"""


@pytest.mark.parametrize("sink", ["tyrex run", "spark"])
def test_from_topic_to_topic_nothing_is_lost_however_often_it_is_killed(
    kafka: str, tmp_path: Path, sink: str
) -> None:
    """SIGKILL to all processes in mid-batch, again and again, while messages come: then the topic has the reference's.

    `tyrex run` writes each composite event once. Spark's own sink may write some twice; they have the same ids.
    """
    events = history(240)
    command: list[Any]
    topic, out = (f"{name}-{sink.replace(' ', '-')}" for name in ("in", "out"))
    rules = tmp_path / "rules.tesla"
    rules.write_text(RULES)
    checkpoint = tmp_path / "checkpoint"
    if sink == "spark":
        command = [sys.executable, "-m", "tests.spark.kafka_plain", kafka, topic, out, rules, checkpoint]
        last = [*command, "once"]
    else:
        ends = [rules, f"kafka://{kafka}/{topic}", "-o", f"kafka://{kafka}/{out}"]
        command = [
            COMMAND,
            "run",
            *ends,
            "--checkpoint",
            checkpoint,
            "--delay",
            "20s",
            "--master",
            "local[2]",
        ]
        last = [*command, "--once", "--flush"]
    with feeder(kafka, tmp_path) as other_end:
        lots = [events[start : start + 12] for start in range(0, len(events), 12)]

        def feed() -> None:
            lines = [write_json_event(event) for event in lots.pop(0)]
            other_end.send(topic, [*lines[:5], "no event", *lines[5:]])

        feed()
        _kill_again_and_again(command, checkpoint, Random(sink), feed)
        while lots:
            feed()
        done = subprocess.run(last, capture_output=True, text=True, check=False, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        found = other_end.read(out)
    wanted = {row[1] for row in expected(parse(RULES), events)}
    ids = [key for key, _ in found]
    assert [record["id"] for _, record in found] == ids
    assert set(ids) == wanted
    if sink == "tyrex run":
        assert len(ids) == len(wanted)


def test_a_topic_that_is_not_there_is_an_error_in_one_line(kafka: str, tmp_path: Path) -> None:
    """It says what to do."""
    rules = tmp_path / "rules.tesla"
    rules.write_text(RULES)
    command: list[Any] = [COMMAND, "run", rules, f"kafka://{kafka}/nothing", "--once"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: Kafka has no such topic: create it, or send its first event, before it is followed\n"
    )


def _kill_again_and_again(
    command: Sequence[Any], checkpoint: Path, random: Random, feed: Callable[[], None]
) -> None:
    """Each run gets some events, one lot when it has begun to work on the last, and is killed in mid-batch."""
    for _ in range(KILLS):
        complaints = checkpoint.with_name("complaints")
        with complaints.open("w") as file:
            process = subprocess.Popen(command, cwd=ROOT, start_new_session=True, stderr=file)
        try:
            for _ in range(random.randrange(1, 4)):
                begun, end = _batches(checkpoint), time.monotonic() + LONGEST
                feed()
                while _batches(checkpoint) == begun:
                    assert process.poll() is None, f"it ended by itself: {complaints.read_text()}"
                    assert time.monotonic() < end, "nothing happens"
                    time.sleep(0.02)
            time.sleep(random.uniform(0, 1))
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _batches(checkpoint: Path) -> int:
    """How many micro-batches were begun."""
    return len(list((checkpoint / "offsets").glob("[0-9]*")))
