"""A SparkSession for the command line and for tests; what works on DataFrames takes its caller's session."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tyrex.spark.java import Java, find_java, launch_home

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

LOGGING = Path(__file__).with_name("log4j2.properties")

LOCAL = re.compile(r"local(?:\[(?P<threads>\d+|\*)(?:,\s*\d+)?\])?$")
"""The masters that run all of Spark in one process of this machine."""

SCALA = "2.13"
"""The Scala that every PySpark 4 brings along."""

ALWAYS = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    # The only state store with transformWithState. It writes what changed, not all there is.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

ON_ONE_MACHINE = {
    # Needs no network, and no name that resolves.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}

LONGEST = 30
"""Seconds that a JVM may take to end before it is ended."""


class SessionError(RuntimeError):
    """There can be no session as asked for: the message says why, and what to do."""


def session(
    master: str | None = None,
    *,
    name: str = "tyrex",
    packages: Sequence[str] = (),
    jars: Sequence[str | Path] = (),
    config: Mapping[str, str] | None = None,
    java: Java | None = None,
    log: Path | None = None,
) -> SparkSession:
    """Start Spark: on all cores of this machine, quiet, and ready for streams with state.

    `master` is Spark's: `local[4]`, `spark://host:7077` and so on. `packages` are coordinates of a Maven
    repository such as `kafka_package()`, and `jars` files; Spark loads both. `config` has the last word over
    every setting. `java` is found if it is not given. What Spark and its Python workers print goes to the file
    `log`, or else to standard error. Spark reads its own settings as ever, so that
    `spark-defaults.conf` or `SPARK_CONF_DIR` can name other repositories.
    """
    try:
        from pyspark import SparkConf
        from pyspark.core.context import SparkContext
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SessionError(
            f'Spark is not installed ({error}). Install it with: pip install "tyrex[spark]"'
        ) from error
    if SparkContext._active_spark_context is not None:
        raise SessionError(
            "A Spark session is running in this process, and there can be only one. "
            "Use that one (SparkSession.active()), or stop it first."
        )
    # A JVM that is left over would keep its Java, its packages and its memory, whatever is asked for now.
    _end_jvm()

    master = master or f"local[{_cores()}]"
    folder = Path(tempfile.mkdtemp(prefix="tyrex-spark-"))
    atexit.register(_clean_up, folder)
    conf = SparkConf(loadDefaults=False).setMaster(master).setAppName(name)
    conf.setAll(list(_settings(master, folder, packages, jars, config or {}).items()))
    with _environment(_variables(master, java or find_java())):
        _start_jvm(conf, log)
        # The launcher has all settings, and has made one of `packages` and `jars`: to give them again would undo it.
        return SparkSession.builder.getOrCreate()


def close(spark: SparkSession) -> None:
    """Stop a session, and end the Java process that it ran in."""
    spark.stop()
    _end_jvm()


def kafka_package() -> str:
    """The package with Spark's Kafka connector, in the version of the installed Spark."""
    import pyspark

    return f"org.apache.spark:spark-sql-kafka-0-10_{SCALA}:{pyspark.__version__}"


def _settings(
    master: str, folder: Path, packages: Sequence[str], jars: Sequence[str | Path], config: Mapping[str, str]
) -> dict[str, str]:
    settings = dict(ALWAYS)
    if (local := LOCAL.match(master)) is not None:
        threads = local["threads"] or "1"
        settings |= ON_ONE_MACHINE
        settings["spark.sql.shuffle.partitions"] = str(_cores()) if threads == "*" else threads
        settings["spark.sql.warehouse.dir"] = (folder / "warehouse").as_uri()
        settings["spark.local.dir"] = str(folder)
    if packages:
        settings["spark.jars.packages"] = ",".join(packages)
    if jars:
        settings["spark.jars"] = ",".join(str(jar) for jar in jars)
    settings |= config
    options = [
        f"-Dlog4j2.configurationFile={LOGGING.as_uri()}",
        config.get("spark.driver.extraJavaOptions", ""),
    ]
    settings["spark.driver.extraJavaOptions"] = " ".join(filter(None, options))
    return settings


def _variables(master: str, java: Java) -> dict[str, str]:
    variables = {"JAVA_HOME": str(launch_home(java))}
    # The nodes of a cluster have their own Python, at a path that only their keeper knows.
    if LOCAL.match(master) or "PYSPARK_PYTHON" not in os.environ:
        variables |= {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    return variables


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Spark's launcher takes its settings from the environment: they are there while it starts."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _start_jvm(conf: SparkConf, log: Path | None) -> None:
    from pyspark.core.context import SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    try:
        if log is None:
            gateway = launch_gateway(conf)  # type: ignore[no-untyped-call]
        else:
            with log.open("ab") as file:
                streams = {"stdout": file, "stderr": file}
                gateway = launch_gateway(conf, streams)  # type: ignore[no-untyped-call]
    except PySparkRuntimeError as error:
        said = "Standard error says why." if log is None else f"The end of {log}:\n{_tail(log)}"
        raise SessionError(f"Spark did not start: its Java process ended early. {said}") from error
    SparkContext._ensure_initialized(gateway=gateway)


def _tail(log: Path, lines: int = 20) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


def _end_jvm() -> None:
    """End the Java process that PySpark keeps, if there is one; the next session starts another."""
    from pyspark.core.context import SparkContext

    with SparkContext._lock:
        gateway = SparkContext._gateway
        SparkContext._gateway = None
        SparkContext._jvm = None
    if gateway is None:
        return
    gateway.shutdown()
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    if process is None:
        return
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(LONGEST)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _clean_up(folder: Path) -> None:
    """At the end of Python: files go when nobody writes them any more."""
    _end_jvm()
    shutil.rmtree(folder, ignore_errors=True)
