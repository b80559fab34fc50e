"""Rules through Spark Connect: the client has no Java objects, and its server runs what the client sent."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.spark.connect_jobs import EVENTS, FIRE, FIXTURES
from tests.spark.frames import expected
from tests.spark.test_shards import CASES, PAIRS, history

import tyrex
from tyrex.io import open_events

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the jobs found, which run in a process of their own."""
    folder = tmp_path_factory.mktemp("connect")
    with (folder / "log").open("w") as log:
        done = subprocess.run(
            [sys.executable, "-m", "tests.spark.connect_jobs", folder],
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=ROOT,
            check=False,
        )
    assert done.returncode == 0, (folder / "log").read_text()[-5000:]
    return json.loads(done.stdout)


def test_the_session_is_one_of_spark_connect(answer: Any) -> None:
    """Else these tests would tell nothing."""
    assert answer["session"] == "pyspark.sql.connect.session.SparkSession"


@pytest.mark.parametrize("name", FIXTURES)
def test_fixtures_have_the_same_answer_through_connect(answer: Any, name: str) -> None:
    """As tables, with the ids of the reference."""
    (case,) = (case for case in CASES if case.name == name)
    rules = case.rules()
    wanted = expected(rules, case.events(rules), until=case.setting.until, time_zone=case.setting.time_zone)
    assert _tuples(answer["fixtures"][FIXTURES.index(name)]) == wanted


def test_a_stream_has_the_same_answer_through_connect(answer: Any) -> None:
    """With state in RocksDB, a sink in files, and `finish` for what waits at the end."""
    wanted = expected(PAIRS, history(EVENTS))
    assert _tuples(answer["stream"]) == wanted
    assert len(wanted) / 2 < answer["before the end"] < len(wanted)


def test_transform_and_of_work_through_connect(answer: Any) -> None:
    """`detect` as a step of a chain, with lineage."""
    assert answer["transformed"] == {"k": 1, "of": ["B", "A"]}


def test_a_replay_works_through_connect(answer: Any) -> None:
    """The data source is sent to the server, and read there."""
    events = list(open_events(FIRE / "events.jsonl"))
    wanted = expected(tyrex.load(FIRE / "rules.tesla"), events)
    assert answer["replayed"] == sorted(row[0] for row in wanted) != []


def _tuples(rows: list[list[str]]) -> list[tuple[str, ...]]:
    return [tuple(row) for row in rows]
