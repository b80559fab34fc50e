"""Composite events are written so that they can be read again, in every format."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import ipc, parquet
from tests.io.support import TEMP, layout_of, rows_of

from tyrex.events import Event, EventError
from tyrex.io import Found, find_input, open_input, open_writer, write_json_event
from tyrex.io.writers import result_columns
from tyrex.tesla.types import AttributeType, EventType, ValueType

FIRE = EventType("Fire", (AttributeType("area", ValueType.STRING), AttributeType("heat", ValueType.FLOAT)))
ALARM = EventType(
    "Alarm",
    (
        AttributeType("area", ValueType.STRING),
        AttributeType("count", ValueType.INT),
        AttributeType("sure", ValueType.BOOL),
    ),
)
EVENTS = [
    Event("Fire", 1_000_000, {"area": 'A,"1"\n', "heat": 24.5}, "id1", "fire"),
    Event("Alarm", 2_000_000, {"area": None, "count": 2**63 - 1, "sure": True}, "id2", "alarm"),
    Event("Fire", 3_000_001, {"area": "größe", "heat": None}, "id3", "fire"),
]
NAMES = [
    "o.jsonl",
    "o.ndjson",
    "o.json",
    "o.jsonl.gz",
    "o.csv",
    "o.csv.gz",
    "o.parquet",
    "o.arrow",
    "o.feather",
]


def write(
    path: Path, events: Sequence[Event], *types: EventType, lineage: Sequence[Event] | None = None
) -> None:
    writer = open_writer(str(path), types, lineage=lineage is not None, standard_output=io.BytesIO())
    with writer:
        for event in events:  # one by one, as a slow stream brings them
            writer.write([Found(event, lineage)])


def read(path: Path, *types: EventType) -> list[Event]:
    layout = layout_of(*types)
    rejected: list[object] = []
    reader = open_input(find_input(str(path), layout), layout, lambda _: rejected.append)
    events = [event for batch in reader for event in rows_of(batch, layout)]
    assert rejected == []
    return events


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_read_back(tmp_path: Path, name: str) -> None:
    """Types, times, values and ids, nulls and large ints among them, in order."""
    write(tmp_path / name, EVENTS, FIRE, ALARM)
    expected = [Event(e.type, e.timestamp, e.attributes, e.id) for e in EVENTS]
    assert read(tmp_path / name, FIRE, ALARM) == expected


TEXTS = st.text(st.characters(codec="utf-8"), min_size=1)
SAMPLES = st.builds(
    lambda time, area, heat: Event("Fire", time, {"area": area, "heat": heat}, f"{time}", "fire"),
    st.integers(-(10**15), 10**15),
    TEXTS | st.none(),
    st.floats(allow_nan=False) | st.none(),
)


@pytest.mark.parametrize("name", ["o.csv", "o.parquet", "o.jsonl"])
@given(events=st.lists(SAMPLES, max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_any_values_are_read_back(tmp_path: Path, name: str, events: list[Event]) -> None:
    """Every text and every number, as it was; but a carriage return alone ends a line of CSV."""
    if name == "o.csv":
        events = [e for e in events if "\r" not in str(e["area"]) and "\0" not in str(e["area"])]
    write(tmp_path / name, events, FIRE)
    expected = [Event(e.type, e.timestamp, e.attributes, e.id) for e in events]
    assert list(map(str, read(tmp_path / name, FIRE))) == list(map(str, expected))


def test_json_lines_are_those_of_single_events(tmp_path: Path) -> None:
    """`write_json_event` says what a line is; standard output gets the same."""
    write(tmp_path / "o.jsonl", EVENTS, FIRE, ALARM)
    expected = "".join(f"{write_json_event(event)}\n" for event in EVENTS)
    assert (tmp_path / "o.jsonl").read_text("utf-8") == expected
    out = io.BytesIO()
    with open_writer("-", [], lineage=False, standard_output=out) as writer:
        writer.write(map(Found, EVENTS))
    assert out.getvalue().decode() == expected
    assert not out.closed


def test_lines_are_there_as_soon_as_they_are_written() -> None:
    """Who reads the stream need not wait for its end."""
    sent = io.BytesIO()
    stream = io.BufferedWriter(_Raw(sent))
    writer = open_writer("-", [], lineage=False, standard_output=stream)
    with writer:
        writer.write([Found(EVENTS[0])])
        assert sent.getvalue().endswith(b"}\n")


class _Raw(io.RawIOBase):
    """A stream below a buffer."""

    def __init__(self, sent: io.BytesIO) -> None:
        self._sent = sent

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._sent.write(bytes(data))


def test_a_table_has_a_column_for_each_attribute_and_the_names_first(tmp_path: Path) -> None:
    """Type and time, the attributes of all types, id and rule; what a type does not have is empty."""
    write(tmp_path / "o.csv", EVENTS[:2], FIRE, ALARM)
    with (tmp_path / "o.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["type", "timestamp", "area", "heat", "count", "sure", "id", "rule"],
        ["Fire", "1970-01-01T00:00:01.000000Z", 'A,"1"\n', "24.5", "", "", "id1", "fire"],
        ["Alarm", "1970-01-01T00:00:02.000000Z", "", "", "9223372036854775807", "true", "id2", "alarm"],
    ]
    write(tmp_path / "o.parquet", EVENTS[:2], FIRE, ALARM)
    assert parquet.read_table(tmp_path / "o.parquet").schema.names == rows[0]


def test_no_events_make_an_empty_table_with_its_columns(tmp_path: Path) -> None:
    """So that who reads it finds what is expected."""
    for name in ("o.parquet", "o.arrow"):
        write(tmp_path / name, [], FIRE)
    assert parquet.read_table(tmp_path / "o.parquet").num_rows == 0
    with ipc.open_file(str(tmp_path / "o.arrow")) as file:
        assert file.schema.names == ["type", "timestamp", "area", "heat", "id", "rule"]


@pytest.mark.parametrize("name", ["o.jsonl", "o.csv", "o.parquet"])
def test_lineage_is_written_where_it_is_asked_for(tmp_path: Path, name: str) -> None:
    """In JSON as an array, in tables as the text of that array."""
    temp = Event("Temp", 1_000_000, {"area": "A1", "value": 50.0})
    write(tmp_path / name, EVENTS[:1], FIRE, lineage=[temp])
    record: Any
    if name == "o.jsonl":
        record = json.loads((tmp_path / name).read_bytes())["lineage"]
    elif name == "o.csv":
        with (tmp_path / name).open(encoding="utf-8", newline="") as file:
            record = json.loads(next(csv.DictReader(file))["lineage"])
    else:
        record = json.loads(str(parquet.read_table(tmp_path / name)["lineage"][0]))
    assert record == [json.loads(write_json_event(temp))]


def test_an_attribute_called_like_a_column_has_a_column_of_its_own(tmp_path: Path) -> None:
    """`attributes.rule` is read back as the attribute."""
    odd = EventType("Odd", (AttributeType("rule", ValueType.STRING),))
    write(tmp_path / "o.csv", [Event("Odd", 0, {"rule": "x"}, "i", "r")], odd)
    assert (tmp_path / "o.csv").read_text("utf-8").startswith("type,timestamp,attributes.rule,id,rule\n")
    assert read(tmp_path / "o.csv", odd) == [Event("Odd", 0, {"rule": "x"}, "i")]


def test_an_int_goes_into_a_column_of_floats_and_nothing_else_is_mixed() -> None:
    """Where types disagree otherwise, the error names them and the way out."""
    whole = EventType("Whole", (AttributeType("heat", ValueType.INT),))
    assert result_columns([FIRE, whole]) == {"area": ValueType.STRING, "heat": ValueType.FLOAT}
    text = EventType("Text", (AttributeType("heat", ValueType.STRING),))
    with pytest.raises(EventError) as caught:
        result_columns([FIRE, text])
    assert str(caught.value) == (
        "`heat` is a float in Fire and a string in Text, and one column can't hold both: write JSON lines"
    )


def test_a_large_int_in_a_column_of_floats_is_the_nearest_float(tmp_path: Path) -> None:
    """As everywhere."""
    whole = EventType("Whole", (AttributeType("heat", ValueType.INT),))
    write(tmp_path / "o.parquet", [Event("Whole", 0, {"heat": 2**53 + 1}, "i", "r")], FIRE, whole)
    assert parquet.read_table(tmp_path / "o.parquet")["heat"].to_pylist() == [2.0**53]


def test_an_unknown_format_is_an_error_and_makes_no_file(tmp_path: Path) -> None:
    """It says which are known."""
    path = tmp_path / "o.xml"
    with pytest.raises(EventError, match="is not known: expected JSON lines"):
        open_writer(str(path), [TEMP], lineage=False, standard_output=io.BytesIO())
    assert not path.exists()


def test_a_compressed_file_is_one(tmp_path: Path) -> None:
    """By its name."""
    write(tmp_path / "o.jsonl.gz", EVENTS, FIRE, ALARM)
    assert len(gzip.decompress((tmp_path / "o.jsonl.gz").read_bytes()).splitlines()) == 3
