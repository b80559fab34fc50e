"""Folders that a stream writes: what a micro-batch brought is there once, however often it runs."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tyrex import Event, parse
from tyrex.cli.run_folders import BatchFolder, Taken
from tyrex.io import Found

RULES = parse("event A(v: int)\nRule copy define B(v: int) from A() where v = A.v")
TYPES = [rule.defines for rule in RULES]


def found(*values: int) -> list[Found]:
    return [Found(Event("B", value, {"v": value}, f"id{value}", "copy")) for value in values]


def values(folder: Path) -> list[int]:
    files = sorted(folder.glob("*.parquet"))
    return [row["v"] for file in files for row in pq.read_table(file).to_pylist()]


def test_a_micro_batch_that_runs_again_replaces_its_file(tmp_path: Path) -> None:
    """Also if it brings nothing any more; the rest of a stream goes when the next run begins."""
    path = tmp_path / "found.parquet"
    folder = BatchFolder(path)
    folder.claim("query")
    for number, brought in [(0, (1,)), (1, (2, 3)), (1, (2, 3)), (2, (4,)), (2, ()), (None, (5,))]:
        folder.write_events(number, found(*brought), TYPES, lineage=False)
    assert values(path) == [1, 2, 3, 5]
    (path / ".draft-000000003.parquet").write_bytes(b"half of it")
    again = BatchFolder(path)
    again.claim("query")
    assert values(path) == [1, 2, 3]
    assert sorted(file.name for file in path.iterdir()) == [
        "000000000.parquet",
        "000000001.parquet",
        "_tyrex",
    ]


def test_lines_are_compressed_if_the_name_says_so(tmp_path: Path) -> None:
    """And a name that says nothing is one for JSON lines."""
    for name, file in [("found.jsonl.gz", "000000007.jsonl.gz"), ("found", "000000007.jsonl")]:
        folder = BatchFolder(tmp_path / name)
        folder.claim("query")
        folder.write_events(7, found(1), TYPES, lineage=False)
        assert (tmp_path / name / file).exists()


def test_what_others_wrote_is_left_alone(tmp_path: Path) -> None:
    """Another stream, files of the user, and a file of the name that was given."""
    mine = tmp_path / "mine"
    BatchFolder(mine).claim("one")
    with pytest.raises(Taken, match="is from another stream"):
        BatchFolder(mine).claim("two")
    (tmp_path / "notes").write_text("text")
    with pytest.raises(Taken, match="is a file"):
        BatchFolder(tmp_path / "notes").claim("one")
    with pytest.raises(Taken, match="has other files in it"):
        BatchFolder(tmp_path).claim("one")
