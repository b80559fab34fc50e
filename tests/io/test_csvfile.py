"""CSV: names first, then one event on each line."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.io.support import TEMP, TYPES, Outcome, layout_of, read_all

from tyrex.events import EventError
from tyrex.io import Form, Layout
from tyrex.io.csvfile import CsvBatches
from tyrex.io.form import PLAIN
from tyrex.io.reading import Reading
from tyrex.tesla.types import AttributeType, EventType, ValueType

SAMPLE = EventType(
    "Sample",
    tuple(
        AttributeType(name, type_)
        for name, type_ in zip(
            "sifb", (ValueType.STRING, ValueType.INT, ValueType.FLOAT, ValueType.BOOL), strict=True
        )
    ),
)
COLUMNS = layout_of(SAMPLE, TEMP)
ROWS = layout_of(SAMPLE, TEMP, columns=False)


def read(
    folder: Path,
    data: str | bytes,
    layout: Layout = COLUMNS,
    form: Form = PLAIN,
    *,
    name: str = "events.csv",
    block_bytes: int = 1 << 22,
) -> Outcome:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_all(
        lambda taker: CsvBatches(path, Reading(layout, taker, form), block_bytes=block_bytes), layout
    )


def test_columns_are_found_by_their_names(tmp_path: Path) -> None:
    """In any order; a column that means nothing is left out, an empty cell is null."""
    data = "value,note,timestamp,type,area\n24.5,x,10,Temp,A1\n,y,2026-07-14T12:02:00Z,Temp,\n"
    assert read(tmp_path, "value,note,timestamp,type,area\n24.5,x,10,Temp,A1\n").events == [
        'Temp@10(area="A1", value=24.5)'
    ]
    assert read(tmp_path, data).events[1] == 'Temp@"2026-07-14T12:02:00.000000Z"(area=null, value=null)'


@pytest.mark.parametrize(
    ("cell", "type_", "shown"),
    [
        ("s", "5", '"5"'),
        ("s", "NULL", '"NULL"'),
        ("s", " a ", '" a "'),
        ("i", "-5", "-5"),
        ("i", "+5", "5"),
        ("i", "5.0", "5"),
        ("i", " 5", "5"),
        ("i", "1e3", "1000"),
        ("i", "007", "7"),
        ("f", "5", "5.0"),
        ("f", ".5", "0.5"),
        ("f", "Infinity", "Infinity"),
        ("f", "-inf", "-Infinity"),
        ("f", "nan", "null"),
        ("f", "1e999", "Infinity"),
        ("b", "true", "true"),
        ("b", "FALSE", "false"),
        ("b", " True", "true"),
        ("b", "", "null"),
    ],
)
def test_a_cell_is_read_as_what_its_column_is_declared(
    tmp_path: Path, cell: str, type_: str, shown: str
) -> None:
    """Numbers and bools as people and programs write them; text as it stands."""
    (event,) = read(tmp_path, f"type,timestamp,{cell}\nSample,1,{type_}\n").events
    assert f"{cell}={shown}" in event


@pytest.mark.parametrize(
    ("column", "cell", "reason"),
    [
        ("i", "5.5", "Sample.i: expected int, found the float 5.5"),
        ("i", "0x10", 'Sample.i: expected int, found the string "0x10"'),
        (
            "i",
            "9223372036854775808",
            "Sample.i: expected int, found the int 9223372036854775808; an int has 64 bits",
        ),
        ("f", "1_0", 'Sample.f: expected float, found the string "1_0"'),
        ("b", "1", 'Sample.b: expected bool, found the string "1"'),
        ("i", "1,2", "expected 3 values, as there are columns, found 4"),
    ],
)
def test_a_cell_that_does_not_fit_rejects_its_line(
    tmp_path: Path, column: str, cell: str, reason: str
) -> None:
    """With the line number and the reason; the other lines are read."""
    outcome = read(tmp_path, f"type,timestamp,{column}\nSample,1,\nSample,2,{cell}\nSample,3,\n")
    assert len(outcome.events) == 2
    assert len(outcome.rejected) == 1
    assert outcome.rejected[0].startswith(f"line 3: {reason}")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Sample,", "the timestamp is missing"),
        ("Sample,soon", "a timestamp as text must be a date and time"),
        ("Sample,1e15", "the timestamp 1.000000e+15 s since the epoch is outside the years 1 to 9999"),
        (",1", "an event needs a type: the column `type` is empty"),
        ("Sample", "expected 2 values, as there are columns, found 1"),
    ],
)
def test_a_line_that_is_no_event_is_rejected(tmp_path: Path, line: str, reason: str) -> None:
    """Type and time are needed, as in every format."""
    outcome = read(tmp_path, f"type,timestamp\nSample,1\n{line}\n")
    assert len(outcome.events) == 1
    assert outcome.rejected[0].startswith(f"line 3: {reason}")


def test_a_line_that_is_not_utf_8_is_rejected_alone(tmp_path: Path) -> None:
    """The lines around it are read."""
    outcome = read(tmp_path, b"type,timestamp,s\nSample,1,a\nSample,2,\xff\nSample,3,c\n")
    assert len(outcome.events) == 2
    assert outcome.rejected == ["line 3: not UTF-8: save the data in this encoding"]


def test_a_value_in_quotes_may_hold_commas_quotes_and_line_breaks(tmp_path: Path) -> None:
    """Lines are counted as they stand in the file; a record has the number of its first."""
    data = 'type,timestamp,s\nSample,1,"a,""b""\nc"\nSample,x,d\n"Sample",3,5" pipe\n'
    outcome = read(tmp_path, data)
    assert [event.split("s=")[1].split(", i")[0] for event in outcome.events] == [
        r'"a,\"b\"\nc"',
        r'"5\" pipe"',
    ]
    assert [reason.split(":")[0] for reason in outcome.rejected] == ["line 4"]


def test_a_quote_that_is_never_closed_costs_a_part_of_the_file_only(tmp_path: Path) -> None:
    """No value is longer than 128 KiB: then reading begins anew on the next line."""
    good = "Sample,2,c\n" * 20_000
    outcome = read(tmp_path, f'type,timestamp,s\nSample,1,"a\n{good}')
    assert outcome.rejected[0].startswith("line 2: not CSV: field larger than field limit")
    assert 5_000 < len(outcome.events) < 20_000


def test_blank_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    """As in JSON lines."""
    outcome = read(tmp_path, "type,timestamp\n\nSample,1\n\nSample,x\n")
    assert len(outcome.events) == 1
    assert [reason.split(":")[0] for reason in outcome.rejected] == ["line 5"]


def test_the_name_of_the_file_may_give_the_type(tmp_path: Path) -> None:
    """Then no column `type` is needed, and another column may hold the time."""
    outcome = read(tmp_path, "at,value\n10,24.5\n", form=Form("Temp", "at"))
    assert outcome.events == ["Temp@10(area=null, value=24.5)"]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("type,at", "has no column `timestamp`, but `type`, `at`: `--timestamp` says which one"),
        (
            "timestamp,value",
            "has no column `type`, but `timestamp`, `value`: say what all its events are, as in `Temp=",
        ),
        ("type,timestamp,a,a", "has two columns `a`: give each a name of its own"),
        (b"\xff", "has no line with the names of the columns at its beginning"),
    ],
)
def test_a_file_without_the_columns_that_are_needed_is_an_error(
    tmp_path: Path, header: str | bytes, message: str
) -> None:
    """The file is named, with the columns that it has."""
    with pytest.raises(EventError) as caught:
        read(tmp_path, header)
    assert str(caught.value).startswith(str(tmp_path / "events.csv"))
    assert message in str(caught.value)


def test_an_attribute_called_like_a_column_stands_beside_it(tmp_path: Path) -> None:
    """`attributes.id` is the attribute; without it a declared `id` is the column `id` itself."""
    layout = layout_of(TYPES["Order"])
    data = "type,timestamp,id,attributes.id\nOrder,1,shop/1,7\n"
    assert read(tmp_path, data, layout).events == ["Order@1#shop/1(id=7, rule=null, lineage=null)"]
    data = "type,timestamp,id,rule\nOrder,1,7,r\n"
    assert read(tmp_path, data, layout).events == ['Order@1(id=7, rule="r", lineage=null)']


def test_an_empty_file_has_no_events(tmp_path: Path) -> None:
    """Nor has one with only the names."""
    assert read(tmp_path, "").events == []
    assert read(tmp_path, "type,timestamp\n").events == []


def test_a_compressed_file_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    """As spreadsheets write them."""
    data = gzip.compress("\ufefftype,timestamp\r\nSample,1\r\n".encode())
    assert len(read(tmp_path, data, name="events.csv.gz").events) == 1


CELLS = st.sampled_from(
    ["", "5", "5.5", "-1", "true", "x", "inf", "nan", " 5", "0x1", 'a"b', '"', "a,b", "a\nb", "é", "\r"]
)
TIMES = st.sampled_from(["1", "2.5", "1e3", "2026-07-14T12:02:00Z", "2026-07-14", "", "x", "1e300"])
RECORDS = st.tuples(
    st.sampled_from(["Sample", "Temp", "Other", ""]),
    TIMES,
    st.sampled_from(["", "7"]),
    CELLS,
    CELLS,
    CELLS,
    CELLS,
)
GOOD = st.tuples(
    st.just("Sample"),
    st.integers(0, 9).map(str),
    st.just(""),
    st.text(max_size=3),
    st.integers(-9, 9).map(str),
    st.floats(allow_nan=False).map(str),
    st.sampled_from(["true", "false"]),
)


def written(records: list[tuple[str, ...]], *, quoting: Literal[0, 1], end: str) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, quoting=quoting, lineterminator=end)
    writer.writerow(["type", "timestamp", "id", *"sifb"])
    writer.writerows(records)
    return text.getvalue().encode(errors="replace")


FILES = st.builds(
    written,
    st.lists(GOOD) | st.lists(RECORDS, max_size=4) | st.lists(GOOD | RECORDS, max_size=8),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    end=st.sampled_from(["\n", "\r\n"]),
)


@given(FILES, st.integers(1, 100))
@example(b'type,timestamp,id,s,i,f,b\nSample,1,,"a\nSample,2,,b",,,\n', 10)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=120)
def test_a_block_gives_the_events_of_its_lines(tmp_path: Path, data: bytes, size: int) -> None:
    """At once or one by one, in large blocks or small, the events and what is rejected are the same."""
    at_once, one_by_one = read(tmp_path, data), read(tmp_path, data, ROWS)
    assert at_once.events == one_by_one.events
    assert at_once.rejected == one_by_one.rejected
    small = read(tmp_path, data, block_bytes=size)
    assert small.events == at_once.events
    assert small.rejected == at_once.rejected
