"""A short way to the command: in this process, or as a real one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from tyrex.cli import app

COMMAND = Path(sys.executable).with_name("tyrex")
FIRE = "examples/fire/rules.tesla"
FIRE_EVENTS = "examples/fire/events.jsonl"

GOOD = "event A(v: int)\ndefine B(v: int) from A() where v = A.v\n"
BAD = "event A(v: int)\ndefine B(v: int) from A(w > 1) where v = A.v\n"


class Answer:
    """What a run of the command printed, and how it ended."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status = status
        self.out = out
        self.err = err

    @property
    def events(self) -> list[dict[str, Any]]:
        """The JSON lines on standard output."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def summary(self) -> str:
        """The last line on standard error."""
        return self.err.splitlines()[-1]


def tyrex(*arguments: str | Path, stdin: bytes | str | None = None) -> Answer:
    """Run the command in this process; an exception that it does not handle fails the test."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], input=stdin, catch_exceptions=False)
    return Answer(result.exit_code, result.stdout, result.stderr)


def spawn(*arguments: str | Path, stdin: str | None = None) -> Answer:
    """Run the command as a user does: as a process of its own."""
    done = subprocess.run(
        [COMMAND, *map(str, arguments)], input=stdin, capture_output=True, encoding="utf-8", check=False
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def buffered() -> dict[str, str]:
    """The environment, without what would make Python write through to a pipe."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def write(path: Path, text: str | bytes) -> Path:
    """Make a file."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path
