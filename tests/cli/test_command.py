"""The command as a process: what a shell sees of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.support import BAD, COMMAND, FIRE, FIRE_EVENTS, GOOD, buffered, spawn, tyrex, write

import tyrex as package


def test_it_prints_its_version() -> None:
    """`--version` names the version of the package."""
    answer = spawn("--version")
    assert (answer.status, answer.out, answer.err) == (0, f"tyrex {package.__version__}\n", "")


def test_check_exits_1_with_the_errors_on_standard_error_and_nothing_else_on_standard_output(
    tmp_path: Path,
) -> None:
    """So that a shell script can tell right from wrong."""
    answer = spawn("check", write(tmp_path / "bad.tesla", BAD))
    assert answer.status == 1
    assert answer.out == ""
    assert answer.err.startswith("error[TSL013]: `A` has no attribute `w`\n")
    assert answer.summary == "1 error"


def test_check_exits_0_for_right_rules() -> None:
    """It says how many there are, and nothing on standard error."""
    answer = spawn("check", FIRE)
    assert (answer.status, answer.out, answer.err) == (0, "3 rules, no errors\n", "")


def test_run_reads_standard_input_and_writes_standard_output() -> None:
    """In a pipe composite events are all that goes on; the counts are on standard error."""
    answer = spawn("run", FIRE, "-", "--on", "reference", stdin=Path(FIRE_EVENTS).read_text("utf-8"))
    assert answer.status == 0
    assert [event["type"] for event in answer.events] == ["Fire", "Heat", "Heat", "Fire", "Alarm"]
    assert answer.err == "12 events in, 5 composite events out\n"


def test_explain_format_and_translate_print_what_they_are_asked_for() -> None:
    """Each is a process that ends well and prints only its result."""
    assert "fire" in spawn("explain", FIRE).out
    assert spawn("format", FIRE).out == Path(FIRE).read_text("utf-8")
    assert spawn("translate", "examples/papers/fire.raced").out.count("Rule ") == 4


@pytest.mark.parametrize("command", ["run", "explain", "format"])
def test_a_reader_that_stops_reading_causes_no_traceback(tmp_path: Path, command: str) -> None:
    """`tyrex run .. | head -1` ends quietly, however much there was to print."""
    rules = "event A(v: int)\n" + "".join(
        f"define B{i}(v: int) from A(v > {i}) where v = A.v\n" for i in range(100)
    )
    path = write(tmp_path / "rules.tesla", rules)
    events = "".join(json.dumps({"type": "A", "timestamp": i, "v": 1000}) + "\n" for i in range(50))
    arguments = [command, str(path)]
    if command == "run":
        arguments += [str(write(tmp_path / "events.jsonl", events)), "--on", "process"]
    process = subprocess.Popen(
        [COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=buffered(),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    process.wait()
    assert errors == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_an_error_in_one_line() -> None:
    """A full disk is said in words, and the exit status is not that of success."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [COMMAND, "run", FIRE, FIRE_EVENTS, "--on", "process"],
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            check=False,
            env=buffered(),
        )
    assert (done.returncode, done.stderr) == (1, "error: No space left on device\n")


def test_composite_events_are_utf_8_whatever_the_terminal_is(tmp_path: Path) -> None:
    """JSON lines have one encoding."""
    rules = write(tmp_path / "r.tesla", 'define B(v: string) from A() where v = "größe"')
    events = write(tmp_path / "e.jsonl", '{"type": "A", "timestamp": 1}\n')
    done = subprocess.run(
        [COMMAND, "run", rules, events, "--on", "process"],
        capture_output=True,
        check=True,
        env=buffered() | {"PYTHONIOENCODING": "ascii"},
    )
    assert json.loads(done.stdout.decode("utf-8"))["v"] == "größe"


def test_the_module_is_the_command(tmp_path: Path) -> None:
    """`from tyrex.cli import main` is what the script calls."""
    path = write(tmp_path / "good.tesla", GOOD)
    done = subprocess.run(
        [sys.executable, "-c", "from tyrex.cli import main; main()", "check", path],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "1 rule, no errors\n")


@pytest.mark.parametrize(
    "arguments", [[], ["check"], ["run", FIRE], ["explain", FIRE, "--format", "gif"], ["fly"]]
)
def test_a_wrong_call_is_a_usage_error(arguments: list[str]) -> None:
    """Status 2 is for a command line that can't be understood."""
    answer = tyrex(*arguments)
    assert answer.status == 2
    assert "Usage" in answer.out + answer.err


def test_help_names_every_command() -> None:
    """All six, each with its sentence."""
    answer = tyrex("--help")
    assert answer.status == 0
    for command in ("check", "explain", "run", "format", "translate", "lsp"):
        assert f" {command} " in answer.out
