"""`tyrex run --on spark` and `tyrex demo`: the output of the engine in one process, line by line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from tests.cli.support import FIRE, FIRE_EVENTS, Answer, tyrex, write
from tests.cli.test_run_process import RECORDS, WRITERS, table

from tyrex import parse
from tyrex.io import Layout, find_input
from tyrex.spark.parquet import fitting_columns, tables_of

MANY = """
event A(k: int, v: int)
event B(k: int, v: int)

Rule high define High(k: int, v: int) from A(v > 3) where k = A.k, v = A.v
Rule loose define Loose(v: int) from B() and each A(v < B.v) within 2 s from B where v = A.v
Rule pair define Pair(k: int) from A(k = $k) and each B(k = $k) within 3 s from A where k = $k
Rule twice define Twice(k: int) from Pair(k = $k) and last B(k = $k) within 3 s from Pair where k = $k
Rule other define Other(v: int) from A() and last B(v = A.v) within 3 s from A where v = A.v
Rule higher define Higher(k: int) from High(v > 4) where k = High.k
Rule eaten define Eaten(v: int) from A() and first B() within 2 s from A where v = B.v consuming B
"""

pytestmark = pytest.mark.usefixtures("spark")


def counts(answer: Answer) -> str:
    """What was said, without how long it took."""
    return re.sub(r", [\d.]+ s, .*", "", answer.err)


def both(*arguments: str | Path, stdin: str | None = None) -> Answer:
    """The answer on Spark, which is that in one process."""
    process = tyrex("run", *arguments, "--on", "process", stdin=stdin)
    on_spark = tyrex("run", *arguments, "--on", "spark", stdin=stdin)
    assert (on_spark.status, counts(on_spark)) == (process.status, counts(process))
    assert on_spark.out == process.out
    return on_spark


def test_the_lines_are_those_of_one_process() -> None:
    """With what each was made of, typed as it came, and with a deadline that is due at the end."""
    answer = both(FIRE, FIRE_EVENTS, "--lineage", "--until", "2026-07-14T13:00:00Z")
    assert len(answer.events) == 5


def test_spark_is_where_files_run_if_nothing_else_is_said(tmp_path: Path) -> None:
    """It sorts them, so what would be late in one process is not."""
    lines = [json.dumps({"type": "A", "timestamp": at, "k": 1, "v": 5}) for at in (2, 1)]
    rules, events = write(tmp_path / "r.tesla", MANY), write(tmp_path / "e.jsonl", "\n".join(lines))
    assert "late" not in tyrex("run", rules, events).err
    assert "1 late" in tyrex("run", rules, events, "--on", "process").err


def test_files_of_every_format_are_merged(tmp_path: Path) -> None:
    """A file for each type, each in its own format, and one with types that no rule knows."""
    words: list[str | Path] = []
    for type_, name in [("Temp", "temps.parquet"), ("Smoke", "smoke.csv"), ("Rain", "rain.arrow")]:
        records = [{k: v for k, v in r.items() if k != "type"} for r in RECORDS if r["type"] == type_]
        WRITERS[f"e{Path(name).suffix}"](tmp_path / name, records)
        words.append(f"{type_}={tmp_path / name}")
    stranger = json.dumps({"type": "Snow", "timestamp": "2026-07-14T12:00:30Z"})
    answer = both(FIRE, *words, "-", stdin=f"{stranger}\nno event\n")
    assert "1 rejected, 1 of types that no rule knows" in answer.err


def test_simultaneous_events_and_composites_keep_the_order_of_one_process(tmp_path: Path) -> None:
    """With rules in many parts, levels above each other, and many events at each instant."""
    random = Random(7)
    lines = [
        json.dumps(
            {
                "type": random.choice("AB"),
                "timestamp": at // 6,
                "k": random.randrange(4),
                "v": random.randrange(7),
            }
            | ({"id": f"e{at}"} if random.random() < 0.3 else {})
        )
        for at in range(400)
    ]
    rules, events = write(tmp_path / "r.tesla", MANY), write(tmp_path / "e.jsonl", "\n".join(lines))
    answer = both(rules, events)
    assert len({event["rule"] for event in answer.events}) == 7
    assert len(answer.events) > 1000


def test_parquet_is_read_by_spark_itself(tmp_path: Path, spark: SparkSession) -> None:
    """Two inputs, one of two files: their rows keep their order, and ids and unknown types are as they are."""
    random = Random(3)
    layout = Layout(parse(MANY).types)
    for name, files in (("one", 2), ("two", 1)):
        (tmp_path / name).mkdir()
        for file in range(files):
            start = file * 34
            records: list[dict[str, Any]] = [
                {
                    "type": random.choice("AABBC"),
                    "timestamp": datetime.fromtimestamp(start + at // 3, UTC),
                    "name": f"{name}",
                    "id": f"{name}{start + at}" if random.random() < 0.5 else None,
                    "k": random.randrange(4),
                    "v": random.randrange(7),
                }
                for at in range(100)
            ]
            records.sort(key=lambda record: record["timestamp"])
            parquet.write_table(table(records), tmp_path / name / f"{file}.parquet")
    words = [tmp_path / "one", tmp_path / "two"]
    rules = write(tmp_path / "r.tesla", MANY)
    inputs = [find_input(str(word), layout) for word in words]
    columns = fitting_columns(inputs, layout)
    assert columns is not None
    tables = tables_of(spark, inputs, columns, layout.types)
    assert tables is not None
    assert (tables.events, tables.mixed) == (300, True)
    answer = both(rules, *words)
    assert "of types that no rule knows" in answer.err


def test_parquet_with_a_row_that_is_no_event_is_read_row_by_row(tmp_path: Path) -> None:
    """The row is reported as in one process."""
    rows = [
        {"type": "A", "timestamp": datetime(2026, 1, 1, tzinfo=UTC), "k": 1, "v": 5},
        {"type": "A", "k": 1},
    ]
    parquet.write_table(table(rows), tmp_path / "e.parquet")
    answer = both(write(tmp_path / "r.tesla", MANY), tmp_path / "e.parquet")
    assert "1 rejected" in answer.err


def test_the_output_is_chosen_by_its_name(tmp_path: Path) -> None:
    """As in one process."""
    for on in ("process", "spark"):
        tyrex("run", FIRE, FIRE_EVENTS, "--on", on, "-o", tmp_path / f"{on}.csv", "--subscribe", "Fire()")
    assert (tmp_path / "spark.csv").read_text() == (tmp_path / "process.csv").read_text()


def test_an_empty_input_gives_nothing(tmp_path: Path) -> None:
    """And is no error."""
    assert both(FIRE, write(tmp_path / "e.jsonl", "")).out == ""


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--on", "spark", "--delay", "5s"], "on Spark no event of a file is late"),
        (["--on", "process", "--master", "local"], "`--master` says where Spark runs: add `--on spark`"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: list[str], problem: str) -> None:
    """With what to do."""
    answer = tyrex("run", FIRE, FIRE_EVENTS, *options)
    assert answer.status == 1
    assert problem in answer.err


def test_it_says_what_to_install_if_spark_is_missing() -> None:
    """In one line, with the command."""
    program = (
        "import sys\nsys.modules['pyspark'] = None\nfrom tyrex.cli import app\n"
        f"app(['run', {FIRE!r}, {FIRE_EVENTS!r}, '--on', 'spark'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: Spark is not installed")
    assert done.stderr.endswith('Install it with: pip install "tyrex[spark]"\n')


def test_the_demo_finds_the_same_on_spark(tmp_path: Path, spark: SparkSession) -> None:
    """For some days: the tables that it shows are the same."""

    def shown(on: str) -> list[str]:
        answer = tyrex("demo", "--on", on, "--days", "10", "--picture", tmp_path / f"{on}.svg")
        assert answer.status == 0
        return [line for line in answer.out.splitlines() if line.startswith("│")]

    assert shown("spark") == shown("process")
    assert (tmp_path / "spark.svg").read_text() == (tmp_path / "process.svg").read_text()


@pytest.mark.nightly
def test_a_session_of_its_own_is_quiet(tmp_path: Path) -> None:
    """A process that starts Spark and ends it: only Tyrex speaks."""
    command: list[Any] = [Path(sys.executable).with_name("tyrex"), "run", FIRE, FIRE_EVENTS]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0
    assert done.stdout == tyrex("run", FIRE, FIRE_EVENTS, "--on", "process").out
    assert len(done.stderr.splitlines()) == 1
