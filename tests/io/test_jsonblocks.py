"""JSON lines in batches: a block read at once gives what its lines give one by one."""

from __future__ import annotations

import gzip
import io
import json
import os
import threading
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.io.support import TEMP, TEMP_LINE, TEMP_SHOWN, TYPES, Outcome, layout_of, read_all

from tyrex.events import EventError
from tyrex.io import Form, Layout
from tyrex.io.form import PLAIN
from tyrex.io.jsonblocks import JsonLinesBatches
from tyrex.io.reading import Reading
from tyrex.tesla.types import AttributeType, EventType, ValueType

COUNTED = EventType(
    "Counted",
    (
        AttributeType("n", ValueType.INT),
        AttributeType("ok", ValueType.BOOL),
        AttributeType("area", ValueType.STRING),
    ),
)
COLUMNS = layout_of(TEMP, COUNTED)
ROWS = layout_of(TEMP, COUNTED, columns=False)


def read(data: bytes, layout: Layout = COLUMNS, form: Form = PLAIN, block_bytes: int = 1 << 22) -> Outcome:
    stream = io.BytesIO(data)
    return read_all(
        lambda taker: JsonLinesBatches(stream, Reading(layout, taker, form), block_bytes=block_bytes), layout
    )


def test_good_lines_are_read_at_once() -> None:
    """They become one batch of columns with the schema of the layout."""
    outcome = read(f"{TEMP_LINE}\n{TEMP_LINE}\n".encode())
    assert outcome.events == [TEMP_SHOWN, TEMP_SHOWN]
    assert [len(batch) for batch in outcome.batches] == [2]
    assert not isinstance(outcome.batches[0], list)


TIMES = st.sampled_from(
    [
        10,
        10.25,
        0.1,
        1784030520.123457,
        1e10,
        1e300,
        -5,
        True,
        None,
        "2026-07-14T12:02:00Z",
        "2026-07-14",
        "10",
        "",
        "2026-07-14T12:02:00.25+02:00",
        "2026-07-14T12:02:00.1234567Z",
        "0000-01-01T00:00:00Z",
        2**70,
    ]
)
VALUES = (
    st.sampled_from(
        [None, True, "A1", "", 5, 5.0, 5.5, -0.0, 2**63, 2**53 + 1, "Infinity", float("nan"), "größe", "\0"]
    )
    | st.sampled_from([float("inf"), {}, [], {"n": 1}, "😀", "\ud800", 1e-300])
    | st.text(max_size=3)
    | st.integers()
    | st.floats()
)
KEYS = [
    "area",
    "value",
    "n",
    "ok",
    "x",
    "id",
    "rule",
    "lineage",
    "attributes",
    "specversion",
    "source",
    "time",
]
RECORDS = st.builds(
    lambda type_, time, rest: {"type": type_, "timestamp": time} | rest,
    st.sampled_from(["Temp", "Temp", "Counted", "Other", "", None, 5]),
    TIMES,
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4),
)
GOOD = st.builds(
    lambda time, area, value: {"type": "Temp", "timestamp": time, "area": area, "value": value},
    st.integers(0, 10**6) | st.floats(0, 1e6),
    st.text(max_size=3) | st.none(),
    st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**9), 10**9) | st.none(),
)


def lines_of(records: st.SearchStrategy[object]) -> st.SearchStrategy[bytes]:
    return st.builds(
        lambda record, escaped: json.dumps(record, ensure_ascii=escaped).encode(errors="surrogatepass"),
        records,
        st.booleans(),
    )


ODD_LINES = st.sampled_from(
    [
        b"",
        b" ",
        b"null",
        b"{}",
        b"[]",
        b'{"type": "Temp", "timestamp": 1}{"type": "Temp", "timestamp": 2}',
        b'{"type": "Temp", "timestamp": 1}null{"type": "Temp", "timestamp": 2}',
        b'{"type": "Temp",',
        b'"timestamp": 1}',
        b'{"type": "Temp", "timestamp": 1, "value": 1, "value": 2}',
        b'{"type": "Temp", "timestamp": 1, "x": 1, "x": 2}',
        b'{"type": "Temp", "timestamp": 1, "value": Infinity}',
        b'{"type": "Temp", "timestamp": 1, "value": NaN}',
        b'{"type": "Temp", "timestamp": 1, "value": Inf}',
        b'{"type": "Temp", "timestamp": 1, "value": 1e999}',
        b'{"type": "Counted", "timestamp": 1, "n": 007}',
        b'{"type": "Counted", "timestamp": 1, "n": 1e3}',
        b'{"type": "Temp", "timestamp": 1, "are\\u0061": "A1"}',
        b'{"type": "Temp", "timestamp": 1, "area": "\xff"}',
        b'{"type": "Temp", "timestamp": 1, "area": "a\x00b"}',
        b'{"type": "Temp", "timestamp": 1, "area": "a\tb"}',
        b'  {"type": "Temp", "timestamp": 1}  ',
        b'{"type": "Temp", "timestamp": 1}\r',
        b'{"type": "Temp", "timestamp": 1, "id": 17}',
        b'{"type": "Temp", "timestamp": 1, "specversion": null}',
    ]
)
BLOCKS = (
    st.lists(lines_of(GOOD))
    | st.lists(lines_of(RECORDS), max_size=4)
    | st.lists(lines_of(GOOD) | lines_of(RECORDS) | ODD_LINES, max_size=6)
)
DATA = st.builds(
    lambda lines, end, last: end.join(lines) + last,
    BLOCKS,
    st.sampled_from([b"\n", b"\r\n"]),
    st.sampled_from([b"", b"\n"]),
)


@given(DATA)
@example(b'{"type": "Temp", "timestamp": 1}{"type": "Temp", "timestamp": 2}\n\n')
@example(b'{"type": "Temp", "timestamp": 1}null{"type": "Temp", "timestamp": 2}\n{"x":\n{}}')
@example(b'{"type": "Temp", "timestamp": 1, "area": "\xff"}')
@example(b"null")
@settings(max_examples=250)
def test_a_block_gives_the_events_of_its_lines(data: bytes) -> None:
    """Whatever the lines are, at once or one by one, the events and what is rejected are the same."""
    at_once, one_by_one = read(data), read(data, ROWS)
    assert at_once.events == one_by_one.events
    assert at_once.rejected == one_by_one.rejected


@given(DATA, st.integers(1, 200))
def test_it_does_not_matter_where_blocks_end(data: bytes, size: int) -> None:
    """Small blocks give the same events as large ones, with the same line numbers."""
    large, small = read(data), read(data, block_bytes=size)
    assert small.events == large.events
    assert small.rejected == large.rejected


def test_a_bad_line_is_rejected_with_its_number_in_the_whole_file() -> None:
    """In a later block, too; blank lines count."""
    lines = [TEMP_LINE] * 50 + ["", "nonsense"] + [TEMP_LINE] * 50
    outcome = read("\n".join(lines).encode(), block_bytes=300)
    assert len(outcome.events) == 100
    assert len(outcome.batches) > 10
    assert [reason.split(":")[0] for reason in outcome.rejected] == ["line 52"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            '{"type": "Temp", "timestamp": 1, "value": "hot"}',
            "line 2: Temp.value: expected float, found the string",
        ),
        ('{"type": "Temp", "value": 1}', "line 2: an event needs `timestamp`"),
        ('{"timestamp": 1, "value": 1}', "line 2: an event needs `type`"),
        (
            '{"type": "Temp", "timestamp": 1e15}',
            "line 2: the timestamp 1.000000e+15 s since the epoch is outside",
        ),
        ('{"type": "Temp", "timestamp": 1, "rule": 5}', "line 2: the `rule` of an event must be a text"),
        ('{"type": "Temp", "timestamp": 1} 5', "line 2: more text after the event"),
    ],
)
def test_a_value_that_does_not_fit_is_found_among_good_ones(line: str, reason: str) -> None:
    """Its line is rejected with the reason, the lines around it are read."""
    outcome = read(f"{TEMP_LINE}\n{line}\n{TEMP_LINE}\n".encode())
    assert outcome.events == [TEMP_SHOWN, TEMP_SHOWN]
    assert len(outcome.rejected) == 1
    assert outcome.rejected[0].startswith(reason)


def test_ids_are_texts_and_a_whole_number_counts_as_one() -> None:
    """As in single events."""
    line = '{"type": "Temp", "timestamp": 1, "id": %s}\n'
    assert read((line % 17 + line % 18).encode()).events == [
        "Temp@1#17(area=null, value=null)",
        "Temp@1#18(area=null, value=null)",
    ]
    assert read((line % '"a b"').encode()).events == ['Temp@1#"a b"(area=null, value=null)']


def test_an_attribute_of_another_type_is_left_out() -> None:
    """`value` is no attribute of Counted: its column is null there."""
    lines = b'{"type": "Counted", "timestamp": 1, "value": 5, "n": 1}\n{"type": "Temp", "timestamp": 2, "value": 5}\n'
    assert read(lines).events == ["Counted@1(n=1, ok=null, area=null)", "Temp@2(area=null, value=5.0)"]


def test_the_name_of_the_input_may_give_the_type_and_another_key_the_time() -> None:
    """Then a key `type` means nothing, and a key that is declared stays an attribute."""
    data = b'{"type": "x", "n": 5, "timestamp": "left out"}\n' * 2
    form = Form("Counted", "n")
    assert read(data, form=form).events == ["Counted@5(n=5, ok=null, area=null)"] * 2
    assert read(data, ROWS, form).events == read(data, form=form).events
    assert read(b'{"at": "1970-01-01T00:00:05Z"}\n', form=Form("Temp", "at")).events == [
        "Temp@5(area=null, value=null)"
    ]


def test_types_that_disagree_about_an_attribute_are_read_one_by_one() -> None:
    """No column can hold them both: the batch is a list of events, and nothing is lost."""
    layout = layout_of(TEMP, TYPES["Order"])
    assert layout.ambiguous == "id"
    outcome = read(b'{"type": "Order", "timestamp": 1, "id": 7}\n', layout)
    assert outcome.events == ["Order@1(id=7, rule=null, lineage=null)"]
    assert isinstance(outcome.batches[0], list)


def test_a_compressed_file_is_read_to_its_end(tmp_path: Path) -> None:
    """By its name, with the line numbers of the text in it."""
    path = tmp_path / "events.jsonl.gz"
    path.write_bytes(gzip.compress(f"{TEMP_LINE}\nbad\n{TEMP_LINE}".encode()))
    outcome = read_all(lambda taker: JsonLinesBatches(path, Reading(COLUMNS, taker)), COLUMNS)
    assert outcome.events == [TEMP_SHOWN, TEMP_SHOWN]
    assert [reason.split(":")[0] for reason in outcome.rejected] == ["line 2"]


def test_a_damaged_file_is_an_error_after_what_could_be_read(tmp_path: Path) -> None:
    """The whole lines before the damage are events; the error says after which line it is."""
    path = tmp_path / "events.jsonl.gz"
    path.write_bytes(gzip.compress((TEMP_LINE + "\n").encode() * 1000)[:-1])
    batches = iter(JsonLinesBatches(path, Reading(COLUMNS, lambda _: None)))
    assert len(next(batches)) == 1000
    with pytest.raises(EventError, match=f"{path} is damaged after line 1000: "):
        next(batches)


def test_a_file_is_read_in_pieces(tmp_path: Path) -> None:
    """No batch holds more than a block; how far the reading is can be seen in between."""
    path = tmp_path / "events.jsonl"
    path.write_text(f"{TEMP_LINE}\n" * 10_000, "utf-8")
    reader = JsonLinesBatches(path, Reading(COLUMNS, lambda _: None), block_bytes=10_000)
    sizes = []
    for batch in reader:
        sizes.append(len(batch))
        assert 0 < reader.position <= path.stat().st_size
    assert sum(sizes) == 10_000
    assert max(sizes) <= 10_000 / len(TEMP_LINE)
    assert reader.position == reader.size == path.stat().st_size


def test_a_live_stream_is_not_kept_waiting() -> None:
    """A line that has come through a pipe is an event before the next one is sent."""
    receiving, sending = os.pipe()
    with os.fdopen(receiving, "rb") as stream, os.fdopen(sending, "wb", buffering=0) as sender:
        batches = iter(JsonLinesBatches(stream, Reading(COLUMNS, lambda _: None)))
        for _ in range(3):
            sender.write(f"{TEMP_LINE}\n".encode())
            got: list[int] = []
            waiter = threading.Thread(target=lambda got=got: got.append(len(next(batches))))
            waiter.start()
            waiter.join(10)
            assert got == [1]


def test_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    """As some editors put it there."""
    assert read(b"\xef\xbb\xbf" + TEMP_LINE.encode()).events == [TEMP_SHOWN]
