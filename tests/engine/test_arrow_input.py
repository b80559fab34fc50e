"""Tables and record batches of Arrow as events: every kind of column that is taken, and those that are refused."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tyrex import Engine, Event, EventError
from tyrex.engine.encode import Columns
from tyrex.events import Value

RULES = """
event Reading(n: int, ok: bool, text: string, x: float)
event Temp(area: string, value: float)
Rule echo
define Echo(n: int, ok: bool, text: string, x: float)
from   Reading()
where  n = Reading.n, ok = Reading.ok, text = Reading.text, x = Reading.x
Rule hot define Hot(area: string) from Temp(value > 45) where area = Temp.area
"""
SECOND = 1_000_000


def _table(rows: int, **columns: Any) -> pa.Table:
    """Readings, a second apart."""
    return pa.table({"type": ["Reading"] * rows, "timestamp": list(range(rows)), **columns})


def _echoes(table: Any, name: str) -> list[Value]:
    return [event[name] for event in Engine(RULES).send_batch(table)]


def _chunked(*parts: Any) -> pa.ChunkedArray[Any]:
    return pa.chunked_array(list(parts))


# Columns of values


@pytest.mark.parametrize(
    "type_",
    [
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.float16(), pa.float32(), pa.float64(), pa.decimal128(5, 1), pa.decimal256(5, 1)),
        *(pa.dictionary(pa.int8(), pa.int64()), pa.dictionary(pa.int32(), pa.int16())),
    ],
    ids=str,
)
@pytest.mark.parametrize(("name", "kind"), [("n", int), ("x", float)])
def test_an_int_or_float_may_be_any_number_of_arrow(type_: pa.DataType, name: str, kind: type) -> None:
    """Where nothing is lost; nulls stay null."""
    if pa.types.is_dictionary(type_):
        column = pa.array([1, None, 100], type_.value_type).dictionary_encode().cast(type_)
    elif pa.types.is_decimal(type_):
        column = pa.array([Decimal(1), None, Decimal(100)], type_)
    else:
        column = pa.array([1, None, 100], pa.int64()).cast(type_)
    found = _echoes(_table(3, **{name: column}), name)
    assert found == [1, None, 100]
    assert [type(value) for value in found] == [kind, type(None), kind]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", None, "", "東京 🦖"]),
        pa.array(["a", None, "", "東京 🦖"], pa.large_string()),
        pa.array(["a", None, "", "東京 🦖"]).dictionary_encode(),
        pa.array(["a", None, "", "東京 🦖"], pa.large_string()).dictionary_encode(),
        pa.array(["a", None, "", "東京 🦖"]).dictionary_encode().cast(pa.dictionary(pa.uint8(), pa.string())),
        pa.DictionaryArray.from_arrays(pa.array([2, 1, 0, 3]), pa.array(["", None, "a", "東京 🦖"])),
        _chunked(pa.array(["a", None]), pa.array([], pa.string()), pa.array(["", "東京 🦖"])),
        _chunked(pa.array(["a", None]).dictionary_encode(), pa.array(["", "東京 🦖"]).dictionary_encode()),
        pa.array(["x", "a", None, "", "東京 🦖", "x"]).slice(1, 4),
        pa.array(["x", "a", None, "", "東京 🦖", "x"]).dictionary_encode().slice(1, 4),
    ],
    ids=lambda column: f"{type(column).__name__} {column.type}",
)
def test_a_string_may_be_any_text_of_arrow(column: Any) -> None:
    """Plain, long, by dictionary, in chunks, cut out of a longer column; a null in a dictionary is null, too."""
    assert _echoes(_table(4, text=column), "text") == ["a", None, "", "東京 🦖"]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([True, None, False]),
        _chunked(pa.array([True, None]), pa.array([False])),
        pa.array([False] * 11 + [True, None, False]).slice(11),
    ],
    ids=["plain", "chunked", "cut"],
)
def test_a_bool_is_a_bool_of_arrow(column: Any) -> None:
    """Bit by bit, also where a column does not begin at a whole byte."""
    assert _echoes(_table(3, ok=column), "ok") == [True, None, False]


def test_a_column_of_nulls_and_a_missing_one_are_null() -> None:
    """And so is a NaN."""
    found = Engine(RULES).send_batch(
        _table(1, n=pa.nulls(1), text=pa.nulls(1, pa.string()), x=[float("nan")])
    )
    assert dict(found[0].attributes) == {"n": None, "ok": None, "text": None, "x": None}


def test_columns_that_no_type_declares_are_left_out() -> None:
    """Of whatever type they are."""
    table = _table(2, n=[1, 2], place=[{"lat": 1.0}, None], tags=[["a"], []])
    assert _echoes(table, "n") == [1, 2]


@pytest.mark.parametrize(
    ("name", "column", "reason"),
    [
        ("n", pa.array(["1"]), "it is of type string"),
        ("n", pa.array([True]), "it is of type bool"),
        ("n", pa.array([1.5]), "truncated"),
        ("n", pa.array([2**63], pa.uint64()), "Integer value"),
        ("n", pa.array([Decimal("1.5")]), "Rescaling"),
        ("n", pa.array([[1]]), "Unsupported cast"),
        ("n", pa.array([{"n": 1}]), "Unsupported cast"),
        ("x", pa.array(["1"]), "it is of type string"),
        ("x", pa.array([False]), "it is of type bool"),
        ("x", pa.array(["1"]).dictionary_encode(), "it is of type dictionary"),
        ("ok", pa.array([1]), "it is of type int64"),
        ("ok", pa.array(["true"]), "it is of type string"),
        ("text", pa.array([7]), "it is of type int64"),
        ("text", pa.array([b"a"]), "it is of type binary"),
        ("text", pa.array([True]), "it is of type bool"),
        ("text", pa.array([["a"]]), "it is of type list"),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else str(value),
)
def test_a_column_of_another_kind_is_refused(name: str, column: pa.Array[Any], reason: str) -> None:
    """The error names the column; text is never taken for a number, nor a bool for an int."""
    engine = Engine(RULES)
    before = engine.snapshot()
    with pytest.raises(EventError, match=f"^the column `{name}` can't be read as an? .*{reason}"):
        engine.send_batch(_table(1, **{name: column}))
    assert engine.snapshot() == before


def test_an_int_becomes_the_nearest_float() -> None:
    """As it does where events are objects."""
    assert _echoes(_table(1, x=pa.array([2**53 + 1])), "x") == [2.0**53]


def test_a_string_may_be_a_view() -> None:
    """The third layout of texts in Arrow."""
    assert _echoes(_table(1, text=pa.array(["a"], pa.string_view())), "text") == ["a"]


def test_a_column_that_is_there_twice_is_refused() -> None:
    """Nobody can tell which one is meant."""
    names = ["type", "timestamp", "n", "n"]
    table = pa.Table.from_arrays(
        [pa.array(["Reading"]), pa.array([1]), pa.array([1]), pa.array([2])], names=names
    )
    with pytest.raises(EventError, match="`n`"):
        Engine(RULES).send_batch(table)


# Time, type and id


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1_500], pa.timestamp("ms")),
        pa.array([1_500_000], pa.timestamp("us", "UTC")),
        pa.array([1_500_000_999], pa.timestamp("ns", "Europe/Rome")),
        pa.array([1.5], pa.float64()),
        pa.array([1.5], pa.float32()),
        pa.array([0, 1_500], pa.timestamp("ms")).slice(1),
        _chunked(pa.array([], pa.timestamp("ms")), pa.array([1_500], pa.timestamp("ms"))),
    ],
    ids=lambda column: f"{type(column).__name__} {column.type}",
)
def test_time_is_a_timestamp_of_any_unit_or_a_number_of_seconds(column: Any) -> None:
    """What is finer than a microsecond is cut off; a zone changes nothing about the instant."""
    table = pa.table({"type": ["Reading"], "timestamp": column})
    assert [event.timestamp for event in Engine(RULES).send_batch(table)] == [1_500_000]


@pytest.mark.parametrize("type_", [pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.timestamp("s")], ids=str)
def test_whole_seconds_may_be_any_int(type_: pa.DataType) -> None:
    """Also before the epoch, where the type can tell."""
    seconds = [3, 100] if pa.types.is_unsigned_integer(type_) else [-3, 100]
    table = pa.table({"type": ["Reading"] * 2, "timestamp": pa.array(seconds).cast(type_)})
    assert [event.timestamp for event in Engine(RULES).send_batch(table)] == [s * SECOND for s in seconds]


def test_a_datetime_column_is_a_timestamp() -> None:
    """Python's datetimes arrive as they are."""
    moment = datetime(2026, 7, 14, 12, 2, tzinfo=UTC)
    (event,) = Engine(RULES).send_batch(pa.table({"type": ["Reading"], "timestamp": [moment]}))
    assert event.timestamp == 1_784_030_520 * SECOND


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array(["2026-07-14T12:02:00Z"]), "is of type string: give timestamps, or seconds as numbers"),
        (pa.array([True]), "is of type bool: give timestamps"),
        (pa.array([10], pa.date32()), "is of type date32"),
        (pa.array([None], pa.int64()), "has nulls: every event has a time"),
        (pa.array([float("nan")]), "can't be read"),
        (pa.array([float("inf")]), "can't be read"),
        (pa.array([2**62]), "can't be read"),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else str(value),
)
def test_a_time_that_is_none_is_refused(column: pa.Array[Any], message: str) -> None:
    """The error names the column."""
    with pytest.raises(EventError, match=f"the column `timestamp` {message}"):
        Engine(RULES).send_batch(pa.table({"type": ["Reading"], "timestamp": column}))


@pytest.mark.parametrize("seconds", [1_784_030_520_500, -(10**12)])
def test_times_outside_the_calendar_are_refused(seconds: int) -> None:
    """Which is how milliseconds are found out."""
    with pytest.raises(EventError, match="timestamp"):
        Engine(RULES).send_batch(pa.table({"type": ["Reading"], "timestamp": [seconds]}))


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["Temp", "Reading", "Wind"]),
        pa.array(["Temp", "Reading", "Wind"], pa.large_string()),
        pa.array(["Temp", "Reading", "Wind"], pa.string_view()),
        pa.array(["Temp", "Reading", "Wind"]).dictionary_encode(),
        _chunked(pa.array(["Temp"]).dictionary_encode(), pa.array(["Reading", "Wind"]).dictionary_encode()),
        pa.array(["Wind", "Temp", "Reading", "Wind"]).dictionary_encode().slice(1),
    ],
    ids=lambda column: f"{type(column).__name__} {column.type}",
)
def test_types_may_be_any_text_of_arrow(column: Any) -> None:
    """Each row takes the columns that its type declares; unknown types are counted."""
    engine = Engine(RULES)
    columns = {"type": column, "timestamp": [1, 2, 3], "area": ["A1"] * 3, "value": [50.0] * 3, "n": [7] * 3}
    found = engine.send_batch(pa.table(columns))
    assert [str(event) for event in found] == ['Hot@1(area="A1")', "Echo@2(n=7, ok=null, text=null, x=null)"]
    assert engine.stats().unused == 1


@pytest.mark.parametrize("missing", ["type", "timestamp"])
def test_a_table_without_type_or_time_is_refused(missing: str) -> None:
    """The error says which columns there are."""
    table = _table(1, n=[1]).drop_columns([missing])
    with pytest.raises(EventError, match=f"the table has no column `{missing}`; it has .*, n"):
        Engine(RULES).send_batch(table)


def test_a_row_without_a_type_is_refused() -> None:
    """It could be anything."""
    table = pa.table({"type": ["Reading", None], "timestamp": [1, 2]})
    with pytest.raises(EventError, match="the column `type` has nulls"):
        Engine(RULES).send_batch(table)


@pytest.mark.parametrize(
    "column", [pa.array([1]), pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([None]))]
)
def test_types_that_are_no_texts_are_refused(column: Any) -> None:
    """They would be left out silently."""
    with pytest.raises(EventError, match="the column `type`"):
        Engine(RULES).send_batch(pa.table({"type": column, "timestamp": [1]}))


@pytest.mark.parametrize(
    "type_", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())], ids=str
)
def test_ids_of_the_source_are_taken_from_their_column(type_: pa.DataType) -> None:
    """Where it is null, the id comes from the content, as for objects."""
    ids = pa.array(["a", None, None]).cast(type_)
    table = pa.table({"type": ["Reading"] * 3, "timestamp": [1, 1, 1], "id": ids})
    events = [Event("Reading", SECOND, {}, id_) for id_ in ("a", None, None)]
    wanted = [event.id for event in Engine(RULES).send_batch(events)]
    assert [event.id for event in Engine(RULES).send_batch(table)] == wanted
    assert len(set(wanted)) == 3


def test_ids_of_another_kind_are_refused() -> None:
    """An id is a text."""
    with pytest.raises(EventError, match="the column `id` can't be read as a string: it is of type int64"):
        Engine(RULES).send_batch(_table(1, id=[7]))


# Tables


def test_a_record_batch_is_taken_like_a_table() -> None:
    """With columns in any order."""
    (batch,) = pa.table({"n": [1, 2], "timestamp": [1, 2], "type": ["Reading", "Reading"]}).to_batches()
    assert _echoes(batch, "n") == [1, 2]
    assert _echoes(batch.slice(1), "n") == [2]


def test_a_table_without_rows_gives_nothing() -> None:
    """With chunks or without."""
    some = _table(2, n=[1, 2])
    for table in (some.slice(2), some.schema.empty_table(), pa.Table.from_batches([], some.schema)):
        assert len(Engine(RULES).send_batch(table)) == 0


def test_a_table_gives_what_its_rows_give_as_objects() -> None:
    """Rows of several types, in chunks that end at different places, with nulls; ids and order are the same."""
    events = []
    for n in range(1000):
        values: dict[str, Value]
        if n % 3:
            values = {"n": n % 7, "text": f"t{n % 5}" if n % 2 else None}
        else:
            values = {"area": f"A{n % 4}", "value": 40.0 + n % 11}
        events.append(Event("Reading" if n % 3 else "Temp", n // 4 * SECOND, values))
    names = ("n", "text", "area", "value")
    whole = pa.table(
        {
            "type": [event.type for event in events],
            "timestamp": [event.timestamp // SECOND for event in events],
            **{name: [event.get(name) for event in events] for name in names},
        }
    )
    parts = pa.concat_tables([whole.slice(0, 1), whole.slice(1, 300), whole.slice(301)])
    wanted = [(str(event), event.id) for event in Engine(RULES).send_batch(events)]
    for table in (whole, parts, parts.combine_chunks()):
        assert [(str(event), event.id) for event in Engine(RULES).send_batch(table)] == wanted


def test_the_engine_keeps_nothing_of_a_table() -> None:
    """Its memory may go as soon as the call is over."""
    engine = Engine(
        "event A(t: string) event B() define M(t: string) from B() and last A() within 1 h from B where t = A.t"
    )
    before = pa.total_allocated_bytes()
    table = pa.table({"type": ["A"], "timestamp": [1], "t": ["x" * 1000]})
    engine.send_batch(table)
    del table
    assert pa.total_allocated_bytes() == before
    (event,) = engine.send("B", timestamp=2)
    assert event["t"] == "x" * 1000


def test_columns_that_stand_apart_by_type_are_what_a_table_is() -> None:
    """`send_columns` takes blocks of one type each, and the order in which their events come."""
    rules = (
        "event A(k: int, s: string) event B(k: int) "
        "define C(k: int, s: string) from A() and last B(k = A.k) within 1 min from A where k = B.k, s = A.s"
    )
    blocks = [
        Columns("A", np.array([5, 9]), {"k": pa.chunked_array([[1, 2]]), "s": pa.array(["x", None])}),
        Columns("B", np.array([3, 5]), {"k": pa.array([1, 2])}, pa.array(["b1", None])),
        Columns("Unknown", np.array([4]), {}),
    ]
    engine = Engine(rules)
    found = engine.send_columns(blocks, np.array([1, 2, 0, 1, 0], np.uint32))
    events = [
        Event("B", 3, {"k": 1}, "b1"),
        Event("Unknown", 4),
        Event("A", 5, {"k": 1, "s": "x"}),
        Event("B", 5, {"k": 2}),
        Event("A", 9, {"k": 2}),
    ]
    assert list(map(repr, found)) == list(map(repr, Engine(rules).send_batch(events)))
    assert engine.stats().unused == 1
    columns = found.columns()["C"]
    assert {name: column.to_pylist() for name, column in columns.items()} == {"k": [1, 2], "s": ["x", None]}
