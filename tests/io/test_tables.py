"""Tables in Parquet and Arrow files: columns are brought into their declared types, and bad rows are found."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather, ipc, parquet
from tests.io.support import TEMP, TYPES, Outcome, layout_of, read_all

from tyrex.events import Conformer, Event, EventError
from tyrex.io import Form, Layout, find_input, open_input
from tyrex.io.tables import fitting
from tyrex.tesla.types import AttributeType, EventType, ValueType

SAMPLE = EventType(
    "Sample",
    (
        AttributeType("s", ValueType.STRING),
        AttributeType("i", ValueType.INT),
        AttributeType("f", ValueType.FLOAT),
        AttributeType("b", ValueType.BOOL),
    ),
)
COLUMNS = layout_of(SAMPLE, TEMP)


def write_parquet(table: pa.Table, path: Path) -> None:
    parquet.write_table(table, path, row_group_size=2)


def write_file(table: pa.Table, path: Path) -> None:
    with ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table, 2)


def write_stream(table: pa.Table, path: Path) -> None:
    with ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table, 2)


def write_feather(table: pa.Table, path: Path) -> None:
    feather.write_feather(table, str(path))


FORMATS: dict[str, Callable[[pa.Table, Path], None]] = {
    "e.parquet": write_parquet,
    "e.arrow": write_file,
    "stream.arrow": write_stream,
    "e.feather": write_feather,
}


def read(path: Path, layout: Layout = COLUMNS, *, timestamp: str = "timestamp", word: str = "") -> Outcome:
    found = find_input(f"{word}{path}", layout, timestamp=timestamp)
    return read_all(lambda taker: open_input(found, layout, lambda _: taker), layout)


def read_table(folder: Path, columns: dict[str, Any], layout: Layout = COLUMNS) -> Outcome:
    rows = max(len(column) for column in columns.values())
    head: dict[str, Any] = {"type": ["Sample"] * rows, "timestamp": [float(n) for n in range(rows)]}
    write_parquet(pa.table(head | columns), folder / "t.parquet")
    return read(folder / "t.parquet", layout)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("columns", [True, False])
def test_a_table_is_read_from_every_format(tmp_path: Path, name: str, columns: bool) -> None:
    """The same events in the same order, in columns or one by one; columns that mean nothing are left out."""
    table = pa.table(
        {
            "note": [{"a": 1}] * 3,
            "timestamp": pa.array([1_000_000, 2_000_000, 3_000_000], pa.timestamp("us", "UTC")),
            "value": [24.5, None, 3.0],
            "type": pa.array(["Temp", "Temp", "Other"]).dictionary_encode(),
            "id": ["a", None, None],
            "area": ["A1", None, "x"],
        }
    )
    FORMATS[name](table, tmp_path / name)
    outcome = read(tmp_path / name, layout_of(SAMPLE, TEMP, columns=columns))
    assert outcome.events == [
        'Temp@1#a(area="A1", value=24.5)',
        "Temp@2(area=null, value=null)",
        "Other@3()",
    ]
    assert outcome.rejected == []


@pytest.mark.parametrize(
    "times",
    [
        pa.array([1, 2], pa.timestamp("s")),
        pa.array([1000, 2000], pa.timestamp("ms", "Europe/Rome")),
        pa.array([1_000_000_999, 2_000_000_000], pa.timestamp("ns")),
        pa.array([1, 2], pa.int32()),
        pa.array([1.0, 2.0], pa.float32()),
        pa.array(["1970-01-01T00:00:01Z", "1970-01-01T01:00:02+01:00"]),
        pa.array(["1970-01-01T00:00:01", "1970-01-01 00:00:02"], pa.large_string()),
        pa.array([Decimal(1), Decimal(2)]),
        pa.array(["1970-01-01T00:00:01Z", "1970-01-01T00:00:02"]).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
def test_time_may_stand_in_a_column_of_any_kind(tmp_path: Path, times: pa.Array[Any]) -> None:
    """Timestamps of any unit, numbers of seconds, texts of ISO 8601; no zone is UTC, nanoseconds are cut off."""
    write_parquet(pa.table({"at": times, "type": ["Other"] * 2}), tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet", timestamp="at").events == ["Other@1()", "Other@2()"]


def test_a_date_is_midnight_and_time_before_the_epoch_is_cut_off_downwards(tmp_path: Path) -> None:
    """So that nanoseconds keep their order."""
    for times, shown in [
        (pa.array([date(1970, 1, 2)]), "86400"),
        (pa.array([date(1970, 1, 2)], pa.date64()), "86400"),
        (pa.array([-1], pa.timestamp("ns")), "-0.000001"),
    ]:
        columns: dict[str, Any] = {"timestamp": times, "type": ["Other"]}
        write_file(pa.table(columns), tmp_path / "t.arrow")
        assert read(tmp_path / "t.arrow").events == [f"Other@{shown}()"]


@pytest.mark.parametrize(
    ("times", "reason"),
    [
        (pa.array([1, None]), "the timestamp is missing"),
        (
            pa.array([1, 10**12]),
            "the timestamp 1000000000000000000 us since the epoch is outside the years 1 to 9999",
        ),
        (
            pa.array([1, 10**12], pa.timestamp("s")),
            "the timestamp 1000000000000000000 us since the epoch is outside",
        ),
        (pa.array([1, 2**62], pa.timestamp("s")), "the timestamp "),
        (pa.array([1.0, float("nan")]), "a timestamp must be a finite number of seconds"),
        (pa.array(["1970-01-01", "10"]), "a timestamp as text must be a date and time"),
    ],
)
def test_a_row_without_a_time_is_rejected(tmp_path: Path, times: pa.Array[Any], reason: str) -> None:
    """With its number, counted from 1 over the whole file; the other rows are read."""
    write_file(pa.table({"timestamp": times, "type": ["Other"] * 2}), tmp_path / "t.arrow")
    outcome = read(tmp_path / "t.arrow")
    assert len(outcome.events) == 1
    assert len(outcome.rejected) == 1
    assert outcome.rejected[0].startswith(f"row 2: {reason}")


def test_columns_of_related_types_are_brought_into_the_declared_ones(tmp_path: Path) -> None:
    """Small ints, whole floats, decimals; a NaN is null."""
    outcome = read_table(
        tmp_path,
        {
            "s": pa.array(["a", None], pa.large_string()),
            "i": pa.array([3.0, None], pa.float32()),
            "f": pa.array([1, 2], pa.uint8()),
            "b": pa.array([None, None], pa.null()),
        },
    )
    assert outcome.events == [
        'Sample@0(s="a", i=3, f=1.0, b=null)',
        "Sample@1(s=null, i=null, f=2.0, b=null)",
    ]
    outcome = read_table(
        tmp_path, {"f": [float("nan"), 2.5], "i": pa.array([Decimal("7"), Decimal("8")], pa.decimal128(5, 2))}
    )
    assert outcome.events == [
        "Sample@0(s=null, i=7, f=null, b=null)",
        "Sample@1(s=null, i=8, f=2.5, b=null)",
    ]


@pytest.mark.parametrize(
    ("name", "column", "reason"),
    [
        ("i", pa.array([1, 2.5, 3]), "Sample.i: expected int, found the float 2.5"),
        (
            "i",
            pa.array([1, 2**63, 3], pa.uint64()),
            "Sample.i: expected int, found the int 9223372036854775808",
        ),
        ("i", pa.array([None, True, None]), "Sample.i: expected int, found the bool true"),
        ("s", pa.array([None, 5, None]), "Sample.s: expected string, found the int 5"),
        ("f", pa.array([None, "x", None]), 'Sample.f: expected float, found the string "x"'),
        ("b", pa.array([None, 1, None]), "Sample.b: expected bool, found the int 1"),
        ("s", pa.array([None, [1], None]), "Sample.s: expected string, found an array"),
        ("id", pa.array([None, 1.5, None]), "the `id` of an event must be a text or a whole number"),
        ("type", pa.array(["Sample", None, "Sample"]), "an event needs a type, a text"),
        ("type", pa.array(["Sample", "", "Sample"]), "an event needs a type, a text"),
    ],
)
def test_a_row_with_a_value_that_does_not_fit_is_rejected(
    tmp_path: Path, name: str, column: pa.Array[Any], reason: str
) -> None:
    """The reason is the one that any format would give; the other rows are read."""
    outcome = read_table(tmp_path, {name: column})
    assert len(outcome.events) == 2
    assert len(outcome.rejected) == 1
    assert outcome.rejected[0].startswith(f"row 2: {reason}")


def test_a_text_that_is_not_utf_8_is_rejected_alone(tmp_path: Path) -> None:
    """No format makes sure that texts are what they should be."""
    texts = pa.array([b"a", b"\xff", b"c"], pa.binary()).view(pa.string())
    write_file(pa.table({"type": ["Sample"] * 3, "timestamp": [1, 2, 3], "s": texts}), tmp_path / "t.arrow")
    outcome = read(tmp_path / "t.arrow")
    assert len(outcome.events) == 2
    assert outcome.rejected[0].startswith("row 2: Sample.s: expected string")


def test_a_time_is_a_text_where_a_string_is_declared(tmp_path: Path) -> None:
    """There is no type for it in rules."""
    times = pa.array([datetime(2026, 1, 1, tzinfo=UTC)], pa.timestamp("s", "UTC"))
    assert read_table(tmp_path, {"s": times}).events[0].startswith('Sample@0(s="2026-01-01 00:00:00')


def test_ids_may_be_numbers(tmp_path: Path) -> None:
    """As in JSON."""
    assert read_table(tmp_path, {"id": [17, 18]}).events[1] == "Sample@1#18(s=null, i=null, f=null, b=null)"


def test_an_attribute_called_like_a_column_stands_beside_it(tmp_path: Path) -> None:
    """`attributes.id` is the attribute where `id` is the id of the event."""
    table = pa.table({"type": ["Order"], "timestamp": [1], "id": ["shop/1"], "attributes.id": [7]})
    write_parquet(table, tmp_path / "t.parquet")
    outcome = read(tmp_path / "t.parquet", layout_of(TYPES["Order"]))
    assert outcome.events == ["Order@1#shop/1(id=7, rule=null, lineage=null)"]


def test_the_name_of_the_file_may_give_the_type(tmp_path: Path) -> None:
    """Then no column `type` is needed."""
    write_parquet(pa.table({"timestamp": [1, 2], "value": [1, None]}), tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet", word="Temp=").events == [
        "Temp@1(area=null, value=1.0)",
        "Temp@2(area=null, value=null)",
    ]


def test_a_large_batch_in_a_file_is_cut_into_smaller_ones(tmp_path: Path) -> None:
    """An engine gets no more than 65,536 events at once, however they were written."""
    table = pa.table({"type": ["Temp"] * 200_000, "timestamp": list(range(200_000))})
    with ipc.new_file(str(tmp_path / "t.arrow"), table.schema) as writer:
        writer.write_table(table)
    parquet.write_table(table, tmp_path / "t.parquet")
    for name in ("t.arrow", "t.parquet"):
        found = find_input(str(tmp_path / name), COLUMNS)
        sizes = [len(batch) for batch in open_input(found, COLUMNS, lambda _: lambda data: None)]
        assert (sum(sizes), max(sizes)) == (200_000, 65_536)


@pytest.mark.parametrize("name", ["e.parquet", "e.arrow", "e.feather"])
@pytest.mark.parametrize("data", [b"", b"nonsense", b"PAR1 nonsense PAR1", b"ARROW1\0\0 nonsense"])
def test_a_file_that_is_no_table_is_an_error_that_names_it(tmp_path: Path, name: str, data: bytes) -> None:
    """In one line."""
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(EventError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path} can't be read as ")
    assert "\n" not in str(caught.value)


ARRAYS = st.one_of(
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)).map(lambda v: pa.array(v, pa.int64())),
    st.lists(st.none() | st.integers(0, 2**64 - 1)).map(lambda v: pa.array(v, pa.uint64())),
    st.lists(st.none() | st.floats()).map(lambda v: pa.array(v, pa.float64())),
    st.lists(st.none() | st.integers(-3, 3).map(float)).map(lambda v: pa.array(v, pa.float64())),
    st.lists(st.none() | st.text()).map(lambda v: pa.array(v, pa.string())),
    st.lists(st.none() | st.booleans()).map(lambda v: pa.array(v, pa.bool_())),
    st.lists(st.none()).map(lambda v: pa.array(v, pa.null())),
)


@given(ARRAYS, st.sampled_from(list(ValueType)))
@settings(max_examples=300)
def test_a_column_fits_as_a_whole_if_each_of_its_values_does(column: pa.Array[Any], type_: ValueType) -> None:
    """What a column becomes is what `Conformer` makes of its values; if it refuses one, the column does not fit."""
    conform = Conformer({"A": EventType("A", (AttributeType("x", type_),))})
    found = fitting(column, type_)
    if found is None:
        return
    events = [conform(Event("A", 0, {"x": value})) for value in column.to_pylist()]
    assert [repr(value) for value in found.to_pylist()] == [repr(e["x"]) for e in events if e is not None]


@given(st.lists(st.none() | st.integers(-(2**53), 2**53)), st.sampled_from([ValueType.INT, ValueType.FLOAT]))
def test_a_column_of_good_values_needs_no_closer_look(values: list[int | None], type_: ValueType) -> None:
    """It is taken as it is, which is what makes tables quick."""
    assert fitting(pa.array(values, pa.int64()), type_) is not None


def test_a_form_is_what_an_input_is_read_by(tmp_path: Path) -> None:
    """A word of the command says it."""
    write_parquet(pa.table({"timestamp": [1]}), tmp_path / "t.parquet")
    assert find_input(f"Temp={tmp_path / 't.parquet'}", COLUMNS, timestamp="at").form == Form("Temp", "at")
