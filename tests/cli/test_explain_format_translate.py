"""The commands that show rules: `explain`, `format` and `translate`."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.cli.support import BAD, FIRE, GOOD, tyrex, write

RACED = "examples/papers/fire.raced"
UNTIDY = "define   B( v:int )\nfrom A() where v=A.v -- copied\n"
TIDY = "define B(v: int)\nfrom   A()\nwhere  v = A.v  -- copied\n"


# explain


def test_explain_as_text_says_what_each_rule_defines() -> None:
    """Every rule of the file, by its name."""
    answer = tyrex("explain", FIRE)
    assert answer.status == 0
    for line in ("fire defines Fire(", "heat defines Heat(", "alarm defines Alarm("):
        assert line in answer.out


def test_explain_as_json_is_json() -> None:
    """For a program that draws its own pictures."""
    plan = json.loads(tyrex("explain", FIRE, "--format", "json").out)
    assert [rule["name"] for rule in plan["rules"]] == ["fire", "heat", "alarm"]


def test_explain_as_svg_is_well_formed() -> None:
    """A browser can show it."""
    root = ElementTree.fromstring(tyrex("explain", FIRE, "--format", "svg").out)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize(("format", "beginning"), [("mermaid", "flowchart"), ("dot", "digraph")])
def test_explain_in_the_languages_of_pictures(format: str, beginning: str) -> None:
    """Mermaid and Graphviz know their own by the first word."""
    assert tyrex("explain", FIRE, "--format", format).out.startswith(beginning)


def test_explain_writes_a_file_and_the_directories_above_it(tmp_path: Path) -> None:
    """The same as on standard output, which stays empty."""
    path = tmp_path / "pictures" / "fire.svg"
    answer = tyrex("explain", FIRE, "--format", "svg", "-o", path)
    assert (answer.status, answer.out, answer.err) == (0, "", f"written to {path}\n")
    assert path.read_text("utf-8").rstrip("\n") == tyrex("explain", FIRE, "--format", "svg").out.rstrip("\n")


def test_explain_says_when_it_cannot_write(tmp_path: Path) -> None:
    """A directory is no file."""
    answer = tyrex("explain", FIRE, "-o", tmp_path)
    assert (answer.status, answer.err) == (1, f"error: {tmp_path} can't be written: Is a directory\n")


@pytest.mark.parametrize("command", ["explain", "format"])
def test_wrong_rules_are_reported_instead(tmp_path: Path, command: str) -> None:
    """Exit 1 and the diagnostic."""
    answer = tyrex(command, write(tmp_path / "r.tesla", "define B( from"))
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.startswith("error[TSL001]")


# format


def test_format_prints_the_canonical_layout_and_leaves_the_file_alone(tmp_path: Path) -> None:
    """Without an option it only prints."""
    path = write(tmp_path / "r.tesla", UNTIDY)
    answer = tyrex("format", path)
    assert (answer.status, answer.out) == (0, TIDY)
    assert path.read_text("utf-8") == UNTIDY


def test_format_check_names_the_files_that_would_change(tmp_path: Path) -> None:
    """Exit 1 if there is one, 0 if there is none; nothing is written."""
    untidy, tidy = write(tmp_path / "a.tesla", UNTIDY), write(tmp_path / "b.tesla", TIDY)
    answer = tyrex("format", "--check", untidy, tidy)
    assert (answer.status, answer.out) == (1, f"{untidy} would change\n")
    assert untidy.read_text("utf-8") == UNTIDY
    answer = tyrex("format", "--check", tidy)
    assert (answer.status, answer.out) == (0, "")


def test_format_write_changes_files_in_place_once(tmp_path: Path) -> None:
    """It names what it changed, and a second time there is nothing to do."""
    path = write(tmp_path / "a.tesla", UNTIDY)
    answer = tyrex("format", "--write", path)
    assert (answer.status, answer.out) == (0, f"{path} changed\n")
    assert path.read_text("utf-8") == TIDY
    assert tyrex("format", "-w", path).out == ""


def test_format_takes_rules_that_are_readable_but_wrong(tmp_path: Path) -> None:
    """A name that does not exist is no reason not to lay the text out."""
    assert tyrex("format", write(tmp_path / "a.tesla", BAD)).status == 0


def test_format_goes_on_after_a_file_that_cannot_be_read_as_rules(tmp_path: Path) -> None:
    """The others are formatted, and the exit status says that not all was well."""
    wrong, untidy = write(tmp_path / "a.tesla", "define ("), write(tmp_path / "b.tesla", UNTIDY)
    answer = tyrex("format", "--write", tmp_path)
    assert answer.status == 1
    assert f"--> {wrong}:1:" in answer.err
    assert untidy.read_text("utf-8") == TIDY


def test_format_leaves_raced_alone(tmp_path: Path) -> None:
    """Asked for a RACED file it says what to do; in a directory it passes over it."""
    answer = tyrex("format", RACED)
    assert (answer.status, answer.err) == (
        1,
        f"error: {RACED} is RACED; `tyrex translate` prints it as TESLA\n",
    )
    write(tmp_path / "a.raced", "DefineEvent(E,A)")
    write(tmp_path / "b.tesla", UNTIDY)
    assert tyrex("format", tmp_path).out == TIDY


def test_format_names_a_file_that_is_not_there() -> None:
    """As every command does."""
    answer = tyrex("format", "missing.tesla")
    assert (answer.status, answer.err) == (
        1,
        "error: missing.tesla can't be read: No such file or directory\n",
    )


# translate


def test_translate_prints_tesla_that_is_right(tmp_path: Path) -> None:
    """The result can be checked, and is in the canonical layout already."""
    answer = tyrex("translate", RACED)
    assert answer.status == 0
    path = write(tmp_path / "fire.tesla", answer.out)
    assert tyrex("check", path).out == "4 rules, no errors\n"
    assert tyrex("format", path).out == answer.out


def test_translate_takes_a_default_window(tmp_path: Path) -> None:
    """It holds where `WITHIN` is missing."""
    path = write(tmp_path / "r.raced", "DefineEvent(E, A AND B) DefineEvent(F, A AND B WITHIN 1 h)")
    windows = tyrex("translate", path, "--window", "2 s").out.split("within ")[1:]
    assert [window.split(" from")[0] for window in windows] == ["2 s", "2 s", "1 h", "1 h"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([RACED, "--window", "long"], "error: `long` is not a duration"),
        ([FIRE], f"error: {FIRE} is TESLA already"),
        (["missing.raced"], "error: missing.raced can't be read"),
    ],
)
def test_translate_says_what_it_cannot_do(arguments: list[str], message: str) -> None:
    """In one line."""
    answer = tyrex("translate", *arguments)
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.startswith(message)
    assert answer.err.count("\n") == 1


def test_translate_reports_every_mistake(tmp_path: Path) -> None:
    """And prints no half of a translation."""
    path = write(tmp_path / "r.raced", "DefineEvent(E, NOT A) DefineEvent(F, A) Subscribe(E)")
    answer = tyrex("translate", path)
    assert (answer.status, answer.out) == (1, "")
    assert [line[6:12] for line in answer.err.splitlines() if line.startswith("error")] == [
        "RCD003",
        "RCD006",
    ]


def test_translate_passes_over_tesla_in_a_directory(tmp_path: Path) -> None:
    """Only RACED has to be translated."""
    write(tmp_path / "a.tesla", GOOD)
    write(tmp_path / "b.raced", "DefineEvent(E, A)")
    assert tyrex("translate", tmp_path).out == "Rule E\ndefine E()\nfrom   A()\n"
