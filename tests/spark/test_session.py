"""The session: what it is set to, and that it does what Tyrex needs of Spark."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession
from tests.spark.frames import expected
from tests.spark.jobs import EVENTS, doubled, running_totals
from tests.spark.test_shards import PAIRS, history

from tyrex.spark.java import bundled_java
from tyrex.spark.session import SessionError, kafka_package, session

TOTALS = [(0, "a", 3), (0, "b", 10), (1, "a", 6), (1, "b", 30)]


def test_importing_tyrex_does_not_load_spark() -> None:
    """PySpark takes its time to load, and most users of Tyrex do without it."""
    question = (
        "import sys, tyrex, tyrex.spark, tyrex.cli; print({'pyspark', 'pandas', 'py4j'} & set(sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", question], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"


def test_arrow_batches_go_through_python_workers(spark: SparkSession) -> None:
    """The way of a batch job."""
    assert doubled(spark, 100) == [2 * number for number in range(100)]


def test_state_goes_on_from_batch_to_batch(spark: SparkSession, tmp_path: Path) -> None:
    """The way of a stream: each micro-batch starts from what the one before left in RocksDB."""
    assert running_totals(spark, tmp_path) == TOTALS
    assert list((tmp_path / "checkpoint/state/0").rglob("*.changelog"))


def test_all_works_on_a_machine_without_java(tmp_path: Path) -> None:
    """Tables and streams with state run on the Java that comes as a package; what Spark says goes to its log."""
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment["PATH"] = str(_programs_but_java(tmp_path / "bin"))
    assert shutil.which("java", path=environment["PATH"]) is None
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.jobs", tmp_path],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["java"] == str(bundled_java().home)
    assert answer["doubled"] == [2 * number for number in range(100)]
    assert [tuple(row) for row in answer["totals"]] == TOTALS
    wanted = expected(PAIRS, history(EVENTS))
    assert wanted
    assert [tuple(row) for row in answer["detected"]] == wanted
    assert [tuple(row) for row in answer["streamed"]] == wanted
    assert done.stderr == ""
    assert "TransformWithStateInPandas" in (tmp_path / "log").read_text()


def _programs_but_java(folder: Path) -> Path:
    """A folder with all programs of the PATH, of each the first, but without Java."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in sorted(Path(place).iterdir()) if Path(place).is_dir() else []:
            if program.name != "java" and not (folder / program.name).is_symlink():
                (folder / program.name).symlink_to(program)
    return folder


def test_workers_run_the_python_that_runs_tyrex(spark: SparkSession) -> None:
    """Else they could lack what is installed here, or be of another version."""
    assert spark.sparkContext.pythonExec == sys.executable


def test_the_environment_is_left_as_it_was(spark: SparkSession) -> None:
    """The session sets variables for the launcher only."""
    assert os.environ.get("PYSPARK_DRIVER_PYTHON") != sys.executable
    assert "tyrex" not in os.environ.get("JAVA_HOME", "")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("spark.master", "local[2]"),
        ("spark.sql.shuffle.partitions", "2"),
        ("spark.sql.session.timeZone", "UTC"),
        ("spark.sql.execution.arrow.pyspark.enabled", "true"),
        ("spark.ui.enabled", "false"),
    ],
)
def test_settings_fit_one_machine(spark: SparkSession, setting: str, value: str) -> None:
    """Partitions by cores, times in UTC, no page to look at."""
    assert spark.conf.get(setting) == value


def test_tables_are_written_to_a_folder_that_goes_away(spark: SparkSession) -> None:
    """Nothing of Spark's is left where the command was called."""
    warehouse = spark.conf.get("spark.sql.warehouse.dir")
    assert warehouse is not None
    assert "tyrex-spark-" in warehouse


def test_a_second_session_is_refused_with_what_to_do(spark: SparkSession) -> None:
    """It would be the first one with the first one's settings."""
    with pytest.raises(SessionError, match=r"SparkSession\.active\(\)"):
        session()


def test_a_java_that_ends_early_is_an_error_with_what_it_said(tmp_path: Path) -> None:
    """The log is where the reason is, and nobody should have to look for it."""
    binary = tmp_path / "bin" / "java"
    binary.parent.mkdir()
    binary.write_text("#!/bin/sh\necho 'no room for a heap' >&2\nexit 1\n")
    binary.chmod(0o755)
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from tyrex.spark.java import Java\n"
        "from tyrex.spark.session import session\n"
        "session(java=Java(Path(sys.argv[1]), 17, 'PATH'), log=Path(sys.argv[1], 'log'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=False
    )
    assert "SessionError: Spark did not start: its Java process ended early." in done.stderr
    assert "no room for a heap" in done.stderr.split("SessionError")[-1]


def test_the_kafka_connector_is_that_of_the_installed_spark() -> None:
    """Connectors work with their own version of Spark."""
    assert kafka_package() == f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
