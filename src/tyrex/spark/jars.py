"""Spark's connector for Kafka, from a Maven repository: a plain install does without it.

Spark brings Ivy along, which fetches them once into the user's cache. Java's own settings apply: JAVA_TOOL_OPTIONS
may name a proxy or a trust store.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tyrex.spark.java import cache_folder, find_java
from tyrex.spark.session import SCALA

TOKENS = f"spark-token-provider-kafka-0-10_{SCALA}"
"""What the connector needs for secured clusters, a module of its own."""


class Unresolved(RuntimeError):
    """A repository lacks a jar, or could not be reached; the message is Ivy's."""


@dataclass(frozen=True)
class Wanted:
    """Modules with all that they need: `org:name:version`."""

    modules: tuple[str, ...]
    overrides: Mapping[str, str] = field(default_factory=dict)
    """The version to take of a module of Spark, whatever version the others ask for."""
    there: frozenset[str] = frozenset()
    """The names of modules that are at hand."""

    @property
    def ivy(self) -> str:
        """As a module file of Ivy."""
        lines = [
            '<ivy-module version="2.0">',
            '<info organisation="tyrex" module="tests"/>',
            '<configurations><conf name="default"/></configurations>',
            "<dependencies>",
        ]
        for module in self.modules:
            org, name, version = module.split(":")
            lines.append(f'<dependency org="{org}" name="{name}" rev="{version}" conf="default->default"/>')
        lines += [f'<exclude module="{name}"/>' for name in sorted(self.there)]
        lines += [
            f'<override org="org.apache.spark" module="{name}" rev="{version}"/>'
            for name, version in self.overrides.items()
        ]
        return "\n".join([*lines, "</dependencies>", "</ivy-module>"])


def connector_jars() -> list[Path]:
    """Spark's Kafka connector with what it needs and Spark lacks.

    PyPI may have a Spark that a Maven repository lacks, wholly or in part. Then an older connector is taken that
    is known to work with it.
    """
    import pyspark

    connector = f"org.apache.spark:spark-sql-kafka-0-10_{SCALA}"
    there = frozenset(re.sub(r"-\d[^-]*(?:-\d+)?\.jar$", "", jar.name) for jar in _spark_jars().glob("*.jar"))
    choices = [
        Wanted((f"{connector}:{pyspark.__version__}",), there=there),
        Wanted((f"{connector}:4.2.0",), overrides={TOKENS: "4.0.0"}, there=there),
    ]
    return first_resolved(choices)


def _spark_jars() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent / "jars"


def first_resolved(choices: Sequence[Wanted]) -> list[Path]:
    """The jars of the first of these that a repository has; from the cache, if they were fetched before."""
    folder = cache_folder() / "jars"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Ivy's cache is made for one process at a time
        for choice in choices:
            if (jars := _recorded(_record(folder, choice))) is not None:
                return jars
        reasons = []
        for choice in choices:
            try:
                return _resolve(folder, choice)
            except Unresolved as unresolved:
                reasons.append(str(unresolved))
    raise Unresolved("\n\n".join(reasons))


def _record(folder: Path, wanted: Wanted) -> Path:
    return folder / f"{hashlib.sha256(wanted.ivy.encode()).hexdigest()[:16]}.classpath"


def _recorded(record: Path) -> list[Path] | None:
    if not record.exists():
        return None
    jars = _paths(record.read_text().split(os.pathsep))
    return jars if all(jar.exists() for jar in jars) else None


def _resolve(folder: Path, wanted: Wanted) -> list[Path]:
    (ivy,) = _spark_jars().glob("ivy-*.jar")
    with tempfile.TemporaryDirectory() as name:
        module, answer = Path(name, "ivy.xml"), Path(name, "classpath")
        module.write_text(wanted.ivy)
        done = subprocess.run(
            [find_java().binary, "-jar", ivy, "-cache", folder / "ivy", "-ivy", module, "-cachepath", answer],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0 or not answer.exists():
            raise Unresolved(
                f"{', '.join(wanted.modules)} could not be had:\n{done.stdout[-4000:]}{done.stderr}"
            )
        _record(folder, wanted).write_text(answer.read_text())
        return _paths(answer.read_text().split(os.pathsep))


def _paths(names: Iterable[str]) -> list[Path]:
    return [Path(name.strip()) for name in names]
