import io
import sys
from pathlib import Path

import pytest
from tests.io.support import TEMP_LINE, TEMP_SHOWN, TYPES, reader_of, reasons, shown

from tyrex.events import EventError
from tyrex.io import JsonArrayReader, JsonLinesReader, Rejected, open_events


@pytest.mark.parametrize("name", ["e.jsonl", "e.ndjson", "e.json", "E.JSONL", "a.b.json"])
def test_lines_are_read_under_each_name_for_them(tmp_path: Path, name: str) -> None:
    """`.jsonl`, `.ndjson` and a `.json` file that begins with no `[` are JSON lines."""
    reader = reader_of(tmp_path, name, f"{TEMP_LINE}\n{TEMP_LINE}\n")
    assert isinstance(reader, JsonLinesReader)
    assert shown(reader) == [TEMP_SHOWN, TEMP_SHOWN]


@pytest.mark.parametrize("before", ["", " \n\t", "\ufeff", "\ufeff\n", "\n" * 5000])
def test_a_json_file_that_begins_with_a_bracket_is_an_array(tmp_path: Path, before: str) -> None:
    """White space and a byte order mark before it don't count."""
    reader = reader_of(tmp_path, "e.json", f"{before}[{TEMP_LINE}]")
    assert isinstance(reader, JsonArrayReader)
    assert shown(reader) == [TEMP_SHOWN]


def test_an_array_under_the_name_of_lines_is_rejected(tmp_path: Path) -> None:
    """`.jsonl` says lines, so a line that is an array is no event."""
    reader = reader_of(tmp_path, "e.jsonl", f"[{TEMP_LINE}]")
    assert shown(reader) == []
    assert "line 1: an event must be a JSON object" in reasons(reader)[0]


def test_an_object_over_several_lines_is_rejected_with_the_form_to_write(tmp_path: Path) -> None:
    """A single event laid out over lines is not JSON lines, and each line of it says so."""
    reader = reader_of(tmp_path, "e.json", '{"type": "A",\n"timestamp": 1}')
    assert shown(reader) == []
    assert len(reader.rejected) == 2
    assert all("each event" in reason for reason in reasons(reader))


@pytest.mark.parametrize("name", ["e.csv", "e", "jsonl", "e.jsonl.bz2", "e.gz", "e.parquet"])
def test_a_file_of_another_name_is_refused_with_the_names_to_use(tmp_path: Path, name: str) -> None:
    """The error names the file and every format that can be read."""
    with pytest.raises(EventError) as caught:
        reader_of(tmp_path, name, TEMP_LINE)
    assert f"the format of `{tmp_path / name}` is not known: expected JSON lines (`.jsonl`" in str(
        caught.value
    )


def test_a_damaged_compressed_json_file_is_an_event_error(tmp_path: Path) -> None:
    """Already the look at its beginning says which file is damaged."""
    with pytest.raises(EventError, match=r"e\.json\.gz is damaged: "):
        reader_of(tmp_path, "e.json.gz", b"no gzip")


def test_standard_input_is_read_as_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` is the standard input, whose bytes are JSON lines."""
    data = io.BytesIO(f"{TEMP_LINE}\n\xff\n".encode("latin-1"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data, encoding="ascii"))
    reader = open_events("-", types=TYPES)
    assert shown(reader) == [TEMP_SHOWN]
    assert reasons(reader) == ["line 2: not UTF-8: save the data in this encoding"]


@pytest.mark.parametrize(("name", "data"), [("e.jsonl", "5"), ("e.json", "5"), ("e.json", "[5]")])
def test_settings_reach_every_reader(tmp_path: Path, name: str, data: str) -> None:
    """`strict` and `on_rejected` mean the same in each format."""
    path = tmp_path / name
    path.write_text(data)
    with pytest.raises(EventError, match=r"line 1: .*found the int 5"):
        list(open_events(str(path), strict=True))
    taken: list[Rejected] = []
    assert list(open_events(path, on_rejected=taken.append)) == []
    assert [(one.line_number, one.text) for one in taken] == [(1, "5")]
