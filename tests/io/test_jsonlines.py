import gzip
import io
from pathlib import Path

import pytest
from tests.io.support import TEMP_LINE, TEMP_SHOWN, TYPES, reader_of, reasons, shown

from tyrex.events import Event, EventError
from tyrex.io import JsonLinesReader, Rejected

THREE = f'{TEMP_LINE}\nnonsense\n{{"type": "B", "timestamp": 20}}\n'


@pytest.mark.parametrize(
    "data",
    [
        f"{TEMP_LINE}\n{TEMP_LINE}\n",
        f"{TEMP_LINE}\n{TEMP_LINE}",
        f"{TEMP_LINE}\r\n{TEMP_LINE}\r\n",
        f"\n  {TEMP_LINE}  \n \t\r\n{TEMP_LINE}\n\n",
        f"\ufeff{TEMP_LINE}\n{TEMP_LINE}\n",
        f"\ufeff\n{TEMP_LINE}\n{TEMP_LINE}\n",
    ],
    ids=["lines", "no last line break", "Windows", "blank lines", "byte order mark", "mark on a blank line"],
)
def test_each_line_is_an_event(tmp_path: Path, data: str) -> None:
    """Line breaks of either kind, blank lines, indentation and a byte order mark make no difference."""
    reader = reader_of(tmp_path, "events.jsonl", data, strict=True)
    assert shown(reader) == [TEMP_SHOWN, TEMP_SHOWN]


def test_an_empty_file_has_no_events(tmp_path: Path) -> None:
    """No line is no event and no error."""
    assert shown(reader_of(tmp_path, "events.jsonl", "", strict=True)) == []


@pytest.mark.parametrize(
    "lines",
    [
        [TEMP_LINE],
        [TEMP_LINE.encode()],
        io.StringIO(TEMP_LINE),
        io.BytesIO(TEMP_LINE.encode()),
        iter((TEMP_LINE, "\n")),
    ],
    ids=["texts", "bytes", "text stream", "binary stream", "iterator"],
)
def test_lines_may_come_from_anywhere(lines: list[str]) -> None:
    """A list, an iterator, a binary stream and a stream of text are read alike."""
    assert shown(JsonLinesReader(lines, strict=True)) == [TEMP_SHOWN]


def test_a_bad_line_is_rejected_and_the_others_are_read() -> None:
    """What is no event is kept with its line number, its text and the reason."""
    reader = JsonLinesReader(THREE.splitlines(keepends=True))
    assert shown(reader) == [TEMP_SHOWN, "B@20()"]
    [rejected] = reader.rejected
    assert (rejected.line_number, rejected.text) == (2, "nonsense")
    assert rejected.reason.startswith("not JSON: ")
    assert str(rejected) == f"line 2: {rejected.reason}"


def test_blank_lines_count_in_the_number_of_a_line() -> None:
    """The number is the one that an editor shows."""
    reader = JsonLinesReader(["\n", "\n", "nonsense\n"])
    assert shown(reader) == []
    assert [one.line_number for one in reader.rejected] == [3]


@pytest.mark.parametrize("blank", ["\x0c", "\xa0", "\u2028", "\0"], ids=ascii)
def test_a_line_of_what_only_looks_blank_is_rejected(blank: str) -> None:
    """Only what JSON takes for white space is skipped without a word."""
    reader = JsonLinesReader([blank])
    assert shown(reader) == []
    assert len(reader.rejected) == 1


def test_a_function_may_take_what_is_rejected() -> None:
    """With `on_rejected` nothing is kept: an endless input needs no endless memory."""
    taken: list[Rejected] = []
    reader = JsonLinesReader(THREE.splitlines(), on_rejected=taken.append)
    assert len(list(reader)) == 2
    assert [one.line_number for one in taken] == [2]
    assert reader.rejected == []


def test_a_strict_reader_stops_at_the_first_bad_line_with_file_and_line(tmp_path: Path) -> None:
    """The error names file and line; the events before it have been given."""
    reader = reader_of(tmp_path, "events.jsonl", THREE, strict=True)
    events = iter(reader)
    assert str(next(events)) == TEMP_SHOWN
    with pytest.raises(EventError) as caught:
        next(events)
    assert str(caught.value).startswith(f"{tmp_path / 'events.jsonl'}: line 2: not JSON: ")


def test_a_strict_reader_of_a_stream_names_it_if_it_has_a_name(tmp_path: Path) -> None:
    """The stream of a file is called like the file, and a list of lines has no name."""
    path = tmp_path / "events.txt"
    path.write_text("nonsense")
    with path.open("rb") as stream, pytest.raises(EventError, match=r"events\.txt: line 1: "):
        list(JsonLinesReader(stream, strict=True))
    with pytest.raises(EventError, match=r"^line 1: "):
        list(JsonLinesReader(["nonsense"], strict=True))


def test_the_reader_of_a_file_can_be_iterated_again(tmp_path: Path) -> None:
    """Each iteration opens the file anew, and what was rejected is not counted twice."""
    reader = reader_of(tmp_path, "events.jsonl", THREE)
    assert shown(reader) == shown(reader) == [TEMP_SHOWN, "B@20()"]
    assert len(reader.rejected) == 1


def test_the_user_of_an_event_can_reject_it_after_all() -> None:
    """`reject` takes the line of the event given last: a reader can't know whether its values fit."""
    reader = JsonLinesReader([TEMP_LINE, "\n", TEMP_LINE])
    events = iter(reader)
    next(events)
    next(events)
    reader.reject("too hot")
    assert reader.rejected == [Rejected(3, TEMP_LINE, "too hot")]


def test_the_types_tell_whether_an_id_is_an_attribute() -> None:
    """A reader that knows the types reads `id` as they declare it."""
    line = '{"type": "Order", "timestamp": 0, "id": 7}'
    assert shown(JsonLinesReader([line], types=TYPES)) == ["Order@0(id=7)"]
    assert shown(JsonLinesReader([line])) == ["Order@0#7()"]


@pytest.mark.parametrize(
    "line",
    [b'{"type": "\xff", "timestamp": 0}', b"\xff\xfe{\0}\0", b"\xed\xa0\x80", b"\xc3"],
    ids=["Latin-1", "UTF-16", "surrogate", "half a letter"],
)
def test_a_line_that_is_not_utf_8_is_rejected_alone(line: bytes) -> None:
    """The lines around it are read, and its text can be printed."""
    reader = JsonLinesReader([TEMP_LINE.encode(), line, TEMP_LINE.encode()])
    assert shown(reader) == [TEMP_SHOWN, TEMP_SHOWN]
    assert reasons(reader) == ["line 2: not UTF-8: save the data in this encoding"]
    assert reader.rejected[0].text.encode() == line.decode(errors="backslashreplace").encode()


def test_a_text_that_is_no_unicode_is_rejected_and_can_be_printed() -> None:
    """A stream of text may hold halves of surrogate pairs where bytes were bad."""
    reader = JsonLinesReader(['{"type": "\udcff", "timestamp": 0}'])
    assert shown(reader) == []
    assert reader.rejected[0].text == r'{"type": "\udcff", "timestamp": 0}'
    assert "surrogate pair" in reader.rejected[0].reason


def test_a_stream_of_text_that_can_not_be_decoded_is_an_event_error(tmp_path: Path) -> None:
    """The error names the file and the way out, as the stream can't go on after it."""
    path = tmp_path / "events.txt"
    path.write_bytes(b"\xff\n")
    with path.open(encoding="utf-8") as stream, pytest.raises(EventError) as caught:
        list(JsonLinesReader(stream))
    assert str(caught.value).startswith(
        f"{path} is not UTF-8 after line 0: save the data in this encoding, or"
    )


@pytest.mark.parametrize("name", ["events.jsonl.gz", "EVENTS.NDJSON.GZ", "events.json.gz"])
def test_a_compressed_file_is_read_like_any_other(tmp_path: Path, name: str) -> None:
    """A name that ends in `.gz` means gzip."""
    reader = reader_of(tmp_path, name, gzip.compress(THREE.encode()))
    assert shown(reader) == [TEMP_SHOWN, "B@20()"]
    assert len(reader.rejected) == 1


MANY = gzip.compress("".join(f'{{"type": "A", "timestamp": {n}}}\n' for n in range(1000)).encode())


@pytest.mark.parametrize(
    "data",
    [
        MANY[:-1],
        MANY[:-8],
        MANY[: len(MANY) // 2],
        MANY[:5],
        b"A" + MANY,
        MANY[:-8] + bytes(8),
        MANY + b"more",
    ],
    ids=["size cut", "checksum cut", "half", "header cut", "no gzip", "wrong checksum", "trailing bytes"],
)
def test_a_damaged_compressed_file_is_an_error_after_what_could_be_read(tmp_path: Path, data: bytes) -> None:
    """The whole lines before the damage are events; then comes an error with the file and the last line."""
    reader = reader_of(tmp_path, "events.jsonl.gz", data)
    events: list[Event] = []
    with pytest.raises(EventError) as caught:
        events.extend(reader)
    assert [event.timestamp for event in events] == [n * 1_000_000 for n in range(len(events))]
    assert f"{tmp_path / 'events.jsonl.gz'} is damaged after line {len(events)}: " in str(caught.value)
    assert reader.rejected == []


def test_a_damaged_compressed_stream_is_an_event_error_too() -> None:
    """Who opens the stream gets the same error."""
    with (
        gzip.open(io.BytesIO(MANY[:-1])) as stream,
        pytest.raises(EventError, match="is damaged after line 1000"),
    ):
        list(JsonLinesReader(stream))


def test_a_file_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    """A missing file is no bad data: Python's own error says it best."""
    with pytest.raises(FileNotFoundError, match="missing"):
        list(JsonLinesReader(tmp_path / "missing.jsonl"))
