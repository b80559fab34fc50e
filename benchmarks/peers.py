"""The engines that Tyrex is compared with: how they are made ready, and run on a workload.

    .venv/bin/python -m benchmarks.peers            # make all of them ready; the comparison does it, too

Esper is built with Maven from `benchmarks/esper`; Flink is installed from PyPI into an environment of its own,
`benchmarks/flink/.venv`. Both are made once and kept. What they need is looked for on the PATH: a JDK of version 17 or
newer, and Maven. On Debian, root gets them from the distribution's packages without being asked.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.streams import Stream
from benchmarks.workloads import Workload

from benchmarks import epl

HERE = Path(__file__).parent
BUILD = HERE.parent / "build" / "benchmarks"
ESPER = HERE / "esper"
ESPER_JAR = BUILD / "esper" / "esper-peer.jar"
FLINK = HERE / "flink"
FLINK_PYTHON = FLINK / ".venv" / "bin" / "python"
FLINK_STAMP = FLINK / ".venv" / "requirements.txt"

HEAP = "4g"
JAVA_OPTIONS = (f"-Xms{HEAP}", f"-Xmx{HEAP}", "-XX:+UseParallelGC", "-XX:ReservedCodeCacheSize=512m")
"""Throughput before pauses, and room for the code of a thousand compiled statements."""
PACKAGES = ("openjdk-17-jdk-headless", "maven")
LONGEST = 3_600
"""Seconds that a peer may take for one workload."""


class PeerMissing(Exception):
    """A peer can't be run here; the message says why."""


def prepare_esper() -> None:
    """Build Esper's runner unless it is newer than its sources."""
    sources = [ESPER / "pom.xml", *ESPER.rglob("*.java")]
    if ESPER_JAR.exists() and ESPER_JAR.stat().st_mtime > max(path.stat().st_mtime for path in sources):
        return
    _java("mvn")
    _run(["mvn", "-q", "-B", "-f", str(ESPER / "pom.xml"), "package"])


def prepare_flink() -> None:
    """Install PyFlink unless what it asks for is already there."""
    requirements = (FLINK / "requirements.txt").read_text()
    _java("java")
    if FLINK_STAMP.exists() and FLINK_STAMP.read_text() == requirements:
        return
    python = _flink_python()
    _run([python, "-m", "venv", "--clear", str(FLINK / ".venv")])
    _run([str(FLINK_PYTHON), "-m", "pip", "install", "-q", "-r", str(FLINK / "requirements.txt")])
    FLINK_STAMP.write_text(requirements)


def run_esper(workload: Workload, stream: Stream, *, shared: bool = False, add: bool = False) -> Figure:
    """Esper on a workload; with `add` it also adds up what the composites have measured."""
    prepare_esper()
    form = f"{workload.family}-{workload.policy}{'-shared' if shared else ''}"
    statements = _statements_file(form, epl.statements(workload, shared=shared))
    command = [
        "java",
        *JAVA_OPTIONS,
        "-jar",
        str(ESPER_JAR),
        str(statements),
        str(stream_file(workload, stream)),
    ]
    answer = _json([*command, str(stream.fill + workload.warm), *(["measured"] if add else [])])
    return Figure(
        workload=workload.name,
        engine="esper-shared" if shared else "esper",
        rules=answer["rules"],
        events=answer["events"],
        composites=answer["composites"],
        seconds=answer["seconds"],
        cpu_seconds=answer["cpu_seconds"],
        sum=answer["sum"] if add else None,
    )


def run_flink(workload: Workload, stream: Stream) -> Figure:
    """Flink CEP on a workload, on two cores."""
    prepare_flink()
    file = stream_file(workload, stream)
    answer = _json(
        [str(FLINK_PYTHON), str(FLINK / "match.py"), str(file), workload.policy, str(workload.warm)]
    )
    return Figure(
        workload=workload.name,
        engine="flink",
        rules=answer["rules"],
        events=answer["events"],
        composites=answer["composites"],
        seconds=answer["seconds"],
    )


def run(workload: Workload, stream: Stream, *, add: bool = False) -> list[Figure]:
    """Every peer that can express the workload's rules."""
    if workload.peer == "flink":
        return [run_flink(workload, stream)]
    figures = [run_esper(workload, stream, add=add)]
    if workload.family == "fire" and workload.policy in epl.SHARED:
        figures.append(run_esper(workload, stream, shared=True, add=add))
    return figures


def stream_file(workload: Workload, stream: Stream) -> Path:
    """The file of the stream, written if there is none of that length."""
    path = BUILD / "streams" / f"{workload.name}-{len(stream)}.csv"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".new")
        stream.write_csv(unfinished)
        unfinished.rename(path)
    return path


def _statements_file(form: str, text: str) -> Path:
    # What Esper compiled lies beside the file and stays good for as long as the file is not written again.
    path = BUILD / "epl" / f"{form}.epl"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    return path


def _java(command: str) -> None:
    if shutil.which(command) and shutil.which("javac"):
        return
    if shutil.which("apt-get") and os.geteuid() == 0:
        _run(["apt-get", "update", "-q"])
        _run(["apt-get", "install", "-q", "-y", "--no-install-recommends", *PACKAGES])
    if not shutil.which(command):
        raise PeerMissing(f"`{command}` is not on the PATH: install a JDK (17 or newer) and Maven")


def _flink_python() -> str:
    """A Python that PyFlink has packages for."""
    for minor in (11, 12, 10):
        for name in (f"python3.{minor}", sys.executable):
            probe = f"import sys, venv; sys.exit(sys.version_info[:2] != (3, {minor}))"
            found = shutil.which(name)
            if (
                found
                and subprocess.run([found, "-c", probe], capture_output=True, check=False).returncode == 0
            ):
                return found
    raise PeerMissing("PyFlink needs Python 3.10, 3.11 or 3.12, and none is on the PATH")


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PeerMissing(f"`{' '.join(command[:4])} ..` failed:\n{(done.stdout + done.stderr)[-2000:]}")


def _json(command: list[str]) -> dict[str, Any]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONGEST)
    except subprocess.TimeoutExpired as error:
        raise PeerMissing(f"took longer than {LONGEST} s") from error
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        raise PeerMissing(f"`{command[0]}` failed:\n{done.stderr[-2000:]}")
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer


if __name__ == "__main__":
    prepare_esper()
    prepare_flink()
    print("Esper and Flink are ready")
