"""Inputs as a command names them."""

from __future__ import annotations

import io
import json
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.io.support import TEMP, TEMP_LINE, TEMP_SHOWN, Outcome, layout_of, read_all

from tyrex.events import EventError
from tyrex.io import BatchReader, Form, Layout, find_input, open_input

LAYOUT = layout_of(TEMP)


def read(word: str | Path, layout: Layout = LAYOUT) -> Outcome:
    found = find_input(str(word), layout)
    return read_all(lambda taker: open_input(found, layout, lambda _: taker), layout)


def event_line(time: int) -> str:
    return json.dumps({"type": "Temp", "timestamp": time, "value": time})


def times(outcome: Outcome) -> list[str]:
    return [event.split("@")[1].split("(")[0] for event in outcome.events]


@pytest.mark.parametrize("name", ["e.jsonl", "e.ndjson", "e.json", "E.JSONL", "a=b.jsonl"])
def test_a_file_is_read_by_its_name(tmp_path: Path, name: str) -> None:
    """Lines in each of these; an equals sign in the name of a file that is there is only that."""
    path = tmp_path / name
    path.write_text(f"{TEMP_LINE}\n", "utf-8")
    assert read(path).events == [TEMP_SHOWN]


def test_an_array_is_read_in_batches(tmp_path: Path) -> None:
    """With what is rejected and where, as in lines."""
    path = tmp_path / "e.json"
    path.write_text(f"[{TEMP_LINE},\n5,\n{TEMP_LINE}]", "utf-8")
    outcome = read(path)
    assert outcome.events == [TEMP_SHOWN, TEMP_SHOWN]
    assert outcome.rejected[0].startswith("line 2: an event must be a JSON object")


def test_tab_separated_values_are_read(tmp_path: Path) -> None:
    """From a file that is named so."""
    path = tmp_path / "e.tsv"
    path.write_text("type\ttimestamp\tarea\nTemp\t10\ta,b\n", "utf-8")
    assert read(path).events == ['Temp@10(area="a,b", value=null)']


def test_a_directory_is_one_input_of_its_event_files_in_order_of_name(tmp_path: Path) -> None:
    """The one after the other, of any format; other files, hidden ones and folders in it are left out."""
    (tmp_path / "b.jsonl").write_text(event_line(1), "utf-8")
    (tmp_path / "a.csv").write_text("type,timestamp,value\nTemp,2,2\n", "utf-8")
    parquet.write_table(
        pa.table({"type": ["Temp"], "timestamp": [3], "value": [3.0]}), tmp_path / "c.parquet"
    )
    for other in ("readme.txt", ".d.jsonl", "_SUCCESS", "_e.jsonl"):
        (tmp_path / other).write_text("nonsense", "utf-8")
    (tmp_path / "folder.jsonl").mkdir()
    outcome = read(tmp_path)
    assert times(outcome) == ["2", "1", "3"]
    assert outcome.rejected == []


def test_how_much_of_a_directory_was_read_is_known(tmp_path: Path) -> None:
    """In bytes, over all files."""
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(event_line(1), "utf-8")
    reader: BatchReader = open_input(find_input(str(tmp_path), LAYOUT), LAYOUT, lambda _: lambda data: None)
    assert (reader.size, reader.position) == (2 * len(event_line(1)), 0)
    batches = iter(reader)
    next(batches)
    assert reader.position == len(event_line(1))
    next(batches)
    assert reader.position == reader.size


def test_what_a_file_of_a_directory_holds_is_rejected_under_its_own_name(tmp_path: Path) -> None:
    """Not under that of the directory."""
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text("bad\n", "utf-8")
    sources: list[str] = []
    found = find_input(str(tmp_path), LAYOUT)
    list(
        open_input(found, LAYOUT, lambda source: lambda data: sources.append(f"{source}:{data.line_number}"))
    )
    assert sources == [f"{tmp_path / 'a.jsonl'}:1", f"{tmp_path / 'b.jsonl'}:1"]


def test_a_name_before_the_path_is_the_type_of_all_events(tmp_path: Path) -> None:
    """Of a file, a directory, or standard input."""
    path = tmp_path / "temps.jsonl"
    path.write_text('{"timestamp": 10, "area": "A1", "value": 24.5}\n', "utf-8")
    assert read(f"Temp={path}").events == [TEMP_SHOWN]
    assert read(f"Temp={tmp_path}").events == [TEMP_SHOWN]
    assert find_input("Temp=-", LAYOUT).form == Form("Temp")


def test_standard_input_is_json_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bytes, whatever the terminal is."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{TEMP_LINE}\n".encode()), "ascii"))
    assert read("-").events == [TEMP_SHOWN]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("events.xml", "the format of `events.xml` is not known: expected JSON lines"),
        ("Tmep=temps.csv", "the rules know no event type `Tmep`: did you mean `Temp`?"),
        ("Xyz=temps.csv", "the rules know no event type `Xyz`: they know Temp"),
        ("events.parquet.gz", "the format of `events.parquet.gz` is not known"),
    ],
)
def test_a_word_that_names_no_input_is_an_error(word: str, message: str) -> None:
    """It says what is expected."""
    with pytest.raises(EventError) as caught:
        find_input(word, LAYOUT)
    assert str(caught.value).startswith(message)


def test_a_directory_without_events_is_an_error(tmp_path: Path) -> None:
    """Rather than an empty input: it is likely a mistake."""
    with pytest.raises(EventError, match=f"{tmp_path} has no file of events in it"):
        find_input(str(tmp_path), LAYOUT)


def test_a_file_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    """Before anything is read."""
    with pytest.raises(FileNotFoundError):
        find_input(str(tmp_path / "missing.jsonl"), LAYOUT)


@pytest.mark.parametrize("name", ["e.jsonl", "e.csv"])
def test_reading_in_columns_is_quick(tmp_path: Path, name: str) -> None:
    """Good data is read at once, several times faster than line by line."""
    lines = [TEMP_LINE] * 30_000
    if name == "e.csv":
        lines = ["type,timestamp,area,value", *["Temp,10,A1,24.5"] * 30_000]
    path = tmp_path / name
    path.write_text("\n".join(lines), "utf-8")

    def seconds(layout: Layout) -> float:
        reader = open_input(find_input(str(path), layout), layout, lambda _: lambda data: None)
        start = time.process_time()
        assert sum(map(len, reader)) == 30_000
        return time.process_time() - start

    seconds(LAYOUT)  # loads what it needs
    assert min(seconds(LAYOUT) for _ in range(3)) * 2 < seconds(layout_of(TEMP, columns=False))
