"""The example of a declarative pipeline, run as a user runs it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.spark.frames import expected

import tyrex
from tyrex.io import open_events
from tyrex.spark.java import use_java

ROOT = Path(__file__).parents[2]
LATER = [
    {"type": "Temp", "timestamp": "2026-07-14T15:00:00Z", "area": "north", "value": 52.0},
    {"type": "Smoke", "timestamp": "2026-07-14T15:01:00Z", "area": "north"},
    {"type": "Smoke", "timestamp": "2026-07-14T18:00:00Z", "area": "south"},
]


class Pipeline:
    """A copy of the example, with its storage and its tables in a folder of the test."""

    def __init__(self, folder: Path) -> None:
        shutil.copytree(ROOT / "examples", folder / "examples")
        self.home = folder / "examples" / "pipeline"
        self.tables = folder / "tables"
        spec = self.home / "spark-pipeline.yml"
        text, count = re.subn(
            r"^storage: .*$", f"storage: {(folder / 'storage').as_uri()}", spec.read_text(), flags=re.M
        )
        assert count == 1
        spec.write_text(text)

    def run(self) -> None:
        """One update."""
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
        use_java(environment)
        command: list[str | Path] = [Path(sys.executable).with_name("spark-pipelines"), "run"]
        for setting in ("catalogImplementation=hive", f"warehouse.dir={self.tables.as_uri()}"):
            command[1:1] = ["--conf", f"spark.sql.{setting}"]
        done = subprocess.run(
            command, cwd=self.home, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-5000:]

    def table(self, name: str) -> list[dict[str, Any]]:
        """The rows of one of its tables."""
        return pq.read_table(self.tables / name).to_pylist()


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    """The example after one run."""
    made = Pipeline(tmp_path_factory.mktemp("pipeline"))
    made.run()
    return made


def test_a_pipeline_finds_what_the_rules_find(pipeline: Pipeline) -> None:
    """In the files of its folder; views over the table have the attributes as columns."""
    wanted = fires(pipeline.home / "events" / "1.jsonl")
    assert sorted(row["id"] for row in pipeline.table("found") if row["type"] == "Fire") == wanted != []
    rows = pipeline.table("fires")
    assert sorted(row["id"] for row in rows) == wanted
    assert {(row["area"], row["measuredTemp"]) for row in rows} == {("north", 50.0), ("east", 47.5)}


def test_the_guide_shows_the_example() -> None:
    """What is printed there is what runs here."""
    guide = (ROOT / "docs/guide/spark.md").read_text("utf-8")
    (shown,) = re.findall(r"^```python fragment pipeline\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
    assert shown in (ROOT / "examples/pipeline/definitions/found.py").read_text("utf-8")


@pytest.mark.nightly
def test_a_second_run_takes_what_has_come_since(pipeline: Pipeline) -> None:
    """No event is read twice, and rules go on with what they know."""
    events = pipeline.home / "events"
    (events / "2.jsonl").write_text("".join(json.dumps(event) + "\n" for event in LATER))
    pipeline.run()
    whole = pipeline.home / "all.jsonl"
    whole.write_text((events / "1.jsonl").read_text() + (events / "2.jsonl").read_text())
    wanted = fires(whole)
    assert sorted(row["id"] for row in pipeline.table("fires")) == wanted
    assert len(wanted) > len(fires(events / "1.jsonl"))


def fires(path: Path) -> list[str]:
    """The ids of the fires in a file, as the reference has them."""
    rules = tyrex.load(ROOT / "examples/fire/rules.tesla")
    return sorted(
        row[1] for row in expected(rules, list(open_events(path, types=rules.types))) if row[0] == "Fire"
    )
