"""Whatever the bytes are, reading gives events, rejected data or EventError, and no line is lost."""

import gzip
import io
import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.events.strategies import events
from tests.io.support import TEMP_LINE, TYPES

from tyrex.events import Conformer, Event, EventError
from tyrex.io import JsonLinesReader, open_events, parse_json_event, write_json_event

PIECES = [
    *'{}[]":,\\ \n',
    '"type"',
    '"timestamp"',
    '"attributes"',
    '"id"',
    '"rule"',
    '"lineage"',
    '"specversion"',
    '"time"',
    '"data"',
    "\\ud800",
    "1e999",
    "-",
    "NaN",
    "null",
    "true",
    "10",
    TEMP_LINE,
]
JUNK = st.lists(st.sampled_from(PIECES)).map(lambda pieces: "".join(pieces).encode())
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
KEYS = ["type", "timestamp", "attributes", "id", "rule", "lineage", "specversion", "source", "time", "data"]
NEARLY_EVENTS = st.dictionaries(st.sampled_from(KEYS), JSON_VALUES | st.sampled_from(["Temp", "Order"])).map(
    lambda obj: json.dumps({"type": "Temp", "timestamp": 10} | obj).encode()
)
DATA = st.binary(max_size=200) | JUNK | NEARLY_EVENTS | st.lists(NEARLY_EVENTS | JUNK).map(b"\n".join)
FILES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)


def _read(path: Path, *, strict: bool) -> None:
    """Read a file to its end, or to an EventError, and bring its events into declared form."""
    conform = Conformer(TYPES)
    with suppress(EventError):
        reader = open_events(path, types=TYPES, strict=strict)
        for event in reader:
            try:
                conform(event)
            except EventError as error:
                reader.reject(str(error))


@given(
    DATA | DATA.map(lambda data: b"[" + data + b"]") | DATA.map(gzip.compress),
    st.sampled_from(["e.jsonl", "e.json", "e.jsonl.gz", "e.json.gz"]),
    st.booleans(),
)
@FILES
def test_any_file_is_events_or_an_event_error(tmp_path: Path, data: bytes, name: str, strict: bool) -> None:
    """No bytes, under whatever name, make reading raise anything but EventError."""
    path = tmp_path / name
    path.write_bytes(data)
    _read(path, strict=strict)


@given(st.integers(0, 10_000), st.integers(0, 255), st.booleans())
@FILES
def test_a_compressed_file_with_a_changed_byte_is_events_or_an_event_error(
    tmp_path: Path, position: int, byte: int, cut: bool
) -> None:
    """Damage of a compressed file is never another error than EventError."""
    data = bytearray(gzip.compress("\n".join([TEMP_LINE] * 50).encode()))
    position %= len(data)
    data[position:] = [byte] if cut else [byte, *data[position + 1 :]]
    path = tmp_path / "e.jsonl.gz"
    path.write_bytes(data)
    _read(path, strict=True)


@given(DATA)
@example(b"\xef\xbb\xbf\n\xff\n ")
def test_every_line_is_an_event_or_rejected_or_blank(data: bytes) -> None:
    """Nothing is dropped silently: the lines of the data are those that are accounted for."""
    reader = JsonLinesReader(io.BytesIO(data))
    found = sum(1 for _ in reader)
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    assert found + len(reader.rejected) == sum(1 for line in lines if line.strip(b" \t\r"))


@given(DATA)
def test_a_strict_reader_fails_where_another_rejects(data: bytes) -> None:
    """The first rejected line is what the strict reader reports, word for word."""
    reader = JsonLinesReader(io.BytesIO(data))
    list(reader)
    strict = JsonLinesReader(io.BytesIO(data), strict=True)
    if reader.rejected:
        with pytest.raises(EventError) as caught:
            list(strict)
        assert str(caught.value) == str(reader.rejected[0])
    else:
        assert len(list(strict)) == len(list(JsonLinesReader(io.BytesIO(data))))


@given(DATA)
def test_what_was_read_can_be_written_and_is_read_as_the_same(data: bytes) -> None:
    """An event that was accepted, brought into declared form, is written as UTF-8 and read back."""
    conform = Conformer(TYPES)
    for event in JsonLinesReader(io.BytesIO(data), types=TYPES):
        try:
            conformed = conform(event)
        except EventError:
            continue
        if conformed is not None:
            line = write_json_event(conformed).encode()
            [again] = JsonLinesReader([line], types=TYPES, strict=True)
            assert conform(again) == conformed


@given(st.text() | JUNK.map(bytes.decode))
def test_any_text_is_an_event_or_an_event_error(text: str) -> None:
    """`parse_json_event` raises nothing but EventError, and the message can be printed."""
    try:
        outcome = str(parse_json_event(text))
    except EventError as error:
        outcome = str(error)
    assert outcome.encode()


@given(st.lists(events, min_size=1))
def test_a_file_of_good_events_loses_none(history: list[Event]) -> None:
    """As many events are read as were written, in their order."""
    data = "".join(write_json_event(event) + "\n" for event in history).encode()
    assert list(JsonLinesReader(io.BytesIO(data), strict=True)) == history
