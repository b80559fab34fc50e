"""`tyrex check` says everything that is wrong with rule files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.support import BAD, FIRE, GOOD, tyrex, write


def found(*arguments: str | Path) -> list[dict[str, Any]]:
    """The findings as JSON."""
    records: list[dict[str, Any]] = json.loads(tyrex("check", "--format", "json", *arguments).err)
    return records


def test_json_has_the_place_the_message_and_the_suggestion_of_each_error(tmp_path: Path) -> None:
    """What an editor or a script needs is in fields of its own."""
    path = write(tmp_path / "bad.tesla", BAD)
    assert found(path) == [
        {
            "code": "TSL013",
            "severity": "error",
            "message": "`A` has no attribute `w`",
            "file": str(path),
            "line": 2,
            "column": 25,
            "end_line": 2,
            "end_column": 26,
            "expected": "`v`",
            "found": "`w`",
            "suggestion": "use an attribute of `A`, or add it to its declaration",
        }
    ]


def test_json_of_right_rules_is_an_empty_list() -> None:
    """A program can always parse it."""
    answer = tyrex("check", "--format", "json", FIRE)
    assert (answer.status, answer.out, json.loads(answer.err)) == (0, "", [])


def test_each_file_is_a_rule_set_of_its_own(tmp_path: Path) -> None:
    """Two files may say the same; the rules of all are counted, the errors of all reported."""
    good, also_good = write(tmp_path / "a.tesla", GOOD), write(tmp_path / "b.tesla", GOOD)
    bad = write(tmp_path / "c.tesla", BAD)
    assert tyrex("check", good, also_good).out == "2 rules, no errors\n"
    answer = tyrex("check", good, bad, bad)
    assert answer.status == 1
    assert answer.summary == "2 errors"
    assert [record["file"] for record in found(good, bad, bad)] == [str(bad)] * 2


def test_a_directory_is_one_rule_set(tmp_path: Path) -> None:
    """Its files see each other's types, TESLA and RACED alike; others are not looked at."""
    write(tmp_path / "a.tesla", "event A(v: int)")
    write(tmp_path / "b.tesla", "define B(v: int) from A(v > 1) where v = A.v")
    write(tmp_path / "c.raced", "DefineEvent(C[v: $V], B[v = $V])")
    write(tmp_path / "notes.txt", b"\xff")
    (tmp_path / "old.tesla").mkdir()
    assert tyrex("check", tmp_path).out == "2 rules, no errors\n"
    assert [record["code"] for record in found(tmp_path / "b.tesla", tmp_path)] == []
    write(tmp_path / "d.tesla", "define D(v: string) from A() where v = A.v")
    assert [record["code"] for record in found(tmp_path)] == ["TSL044"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.tesla", None, "missing.tesla can't be read: No such file or directory"),
        ("latin.tesla", b"-- gr\xf6\xdfe\n", "latin.tesla is not UTF-8 text (byte 5); save it as UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_and_hides_no_other(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    """It is named with the reason; the files after it are checked, and JSON stays JSON."""
    path = tmp_path / name
    if content is not None:
        write(path, content)
    bad = write(tmp_path / "bad.tesla", BAD)
    answer = tyrex("check", path, bad)
    assert answer.status == 1
    assert "error[TSL013]" in answer.err
    assert f"error: {tmp_path}/{message}\n" in answer.err
    assert answer.summary == "2 errors"
    codes = {record["file"]: record["code"] for record in found(path, bad)}
    assert codes == {str(path): "FILE", str(bad): "TSL013"}


def test_a_directory_without_rule_files_is_an_error(tmp_path: Path) -> None:
    """Probably it is the wrong directory."""
    answer = tyrex("check", tmp_path)
    assert answer.status == 1
    assert answer.err == f"error: {tmp_path} has no .tesla or .raced file in it\n\n1 error\n"


def test_a_file_in_a_directory_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    """Not the directory: the user needs to know which file to save again."""
    write(tmp_path / "a.tesla", GOOD)
    latin = write(tmp_path / "b.tesla", b"\xf6")
    assert f"error: {latin} is not UTF-8 text (byte 0)" in tyrex("check", tmp_path).err


def test_a_byte_order_mark_is_no_part_of_the_rules(tmp_path: Path) -> None:
    """Some editors write one."""
    assert tyrex("check", write(tmp_path / "a.tesla", b"\xef\xbb\xbf" + GOOD.encode())).status == 0


def test_line_ends_of_windows_change_no_place(tmp_path: Path) -> None:
    """The columns and the shown line are those of the same file with plain ends."""
    (record,) = found(write(tmp_path / "a.tesla", BAD.replace("\n", "\r\n")))
    assert (record["line"], record["column"], record["end_column"]) == (2, 25, 26)


def test_an_empty_file_is_right(tmp_path: Path) -> None:
    """It has no rules."""
    for name in ("empty.tesla", "empty.raced"):
        answer = tyrex("check", write(tmp_path / name, ""))
        assert (answer.status, answer.out) == (0, "0 rules, no errors\n")


def test_a_raced_file_is_checked_as_raced(tmp_path: Path) -> None:
    """The name of the file says which language it is."""
    path = write(tmp_path / "a.raced", "DefineEvent(E, NOT A)")
    assert [record["code"] for record in found(path)] == ["RCD003"]
