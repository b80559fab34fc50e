import gzip
from pathlib import Path

import pytest
from tests.io.support import TEMP_LINE, TEMP_SHOWN, reader_of, reasons, shown

from tyrex.events import EventError
from tyrex.io import JsonArrayReader


@pytest.mark.parametrize(
    "data",
    [
        f"[{TEMP_LINE},{TEMP_LINE}]",
        f"\n[\n  {TEMP_LINE},\n\n  {TEMP_LINE}\n]\n",
        f"\ufeff[{TEMP_LINE} ,\r\n{TEMP_LINE}\r\n]\r\n",
    ],
    ids=["compact", "indented", "byte order mark"],
)
def test_each_element_is_an_event(tmp_path: Path, data: str) -> None:
    """White space between elements and a byte order mark make no difference."""
    assert shown(reader_of(tmp_path, "events.json", data, strict=True)) == [TEMP_SHOWN, TEMP_SHOWN]


@pytest.mark.parametrize("data", ["[]", " [ ] "])
def test_an_empty_array_has_no_events(tmp_path: Path, data: str) -> None:
    """No element is no event and no error."""
    assert shown(reader_of(tmp_path, "events.json", data, strict=True)) == []


def test_an_element_may_take_many_lines(tmp_path: Path) -> None:
    """Other than in JSON lines, an object may be laid out at will."""
    data = '[\n{\n"type": "A",\n"timestamp": 1\n},\n{"type": "B", "timestamp": 2}\n]'
    assert shown(reader_of(tmp_path, "events.json", data, strict=True)) == ["A@1()", "B@2()"]


def test_a_compressed_array_is_read_like_any_other(tmp_path: Path) -> None:
    """A name that ends in `.json.gz` means a compressed JSON file."""
    data = gzip.compress(f"[{TEMP_LINE}]".encode())
    assert shown(reader_of(tmp_path, "events.json.gz", data, strict=True)) == [TEMP_SHOWN]


def test_an_element_that_is_no_event_is_rejected_with_the_line_it_begins_on(tmp_path: Path) -> None:
    """The other elements are read."""
    twice = '{"type": "Temp", "timestamp": 1, "area": 1, "area": 2}'
    data = f'[\n{TEMP_LINE},\n{{\n"type": "A"\n}}, 5,\n{twice},\n{TEMP_LINE}]'
    reader = reader_of(tmp_path, "events.json", data)
    assert shown(reader) == [TEMP_SHOWN, TEMP_SHOWN]
    assert [(one.line_number, one.text[:8]) for one in reader.rejected] == [
        (3, '{\n"type"'),
        (5, "5"),
        (6, '{"type":'),
    ]
    assert "needs `timestamp`" in reader.rejected[0].reason
    assert "found the int 5" in reader.rejected[1].reason
    assert 'the key "area" stands twice' in reader.rejected[2].reason


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        ("oops]", "line 3: not a JSON array from here on: expecting value at line 3, column 1"),
        ("", "line 3: not a JSON array from here on: expecting value at line 3, column 1"),
        ('{"type": "A",', "line 3: not a JSON array from here on: expecting property name"),
        ("]", "line 3: not a JSON array from here on: expected another event after `,`"),
        ("5 6]", "line 3: not a JSON array from here on: expected `,` or `]` after an event"),
        ("5", "line 3: not a JSON array from here on: expected `,` or `]` after an event"),
        ("5] 6", "line 3: not a JSON array from here on: expected nothing after the end of the array"),
        pytest.param(
            "[" * 100_000, "line 3: not a JSON array from here on: the values are nested", id="deep"
        ),
        pytest.param(
            "9" * 5000, "line 3: not a JSON array from here on: a number has thousands", id="digits"
        ),
    ],
)
def test_what_is_no_array_is_rejected_from_there_on(tmp_path: Path, rest: str, reason: str) -> None:
    """Events before it are read; after it nothing can be told apart, and the rest is rejected as one."""
    reader = reader_of(tmp_path, "events.json", f"[\n{TEMP_LINE},\n{rest}")
    assert shown(reader) == [TEMP_SHOWN]
    assert reasons(reader)[-1].startswith(reason)
    assert rest.endswith(reader.rejected[-1].text)


def test_a_strict_reader_stops_with_file_and_line(tmp_path: Path) -> None:
    """The error names both."""
    reader = reader_of(tmp_path, "events.json", f"[\n{TEMP_LINE},\n5]", strict=True)
    with pytest.raises(EventError) as caught:
        list(reader)
    assert str(caught.value).startswith(f"{tmp_path / 'events.json'}: line 3: an event must be a JSON object")


def test_a_file_that_is_no_array_at_all_is_rejected_as_one(tmp_path: Path) -> None:
    """A reader of arrays wants an array."""
    path = tmp_path / "events.json"
    path.write_text(TEMP_LINE)
    reader = JsonArrayReader(path)
    assert list(reader) == []
    assert reasons(reader) == [
        "line 1: not a JSON array from here on: expected `[`, the beginning of an array of events"
    ]


def test_an_array_that_is_not_utf_8_is_an_error_with_its_line(tmp_path: Path) -> None:
    """An array is read as a whole, so that bad bytes are an error for all of it."""
    reader = reader_of(tmp_path, "events.json", b"[\n\n\xff]")
    with pytest.raises(EventError, match=r"events\.json: line 3: not UTF-8: save the data in this encoding"):
        list(reader)


@pytest.mark.parametrize("cut", [1, 8, 12])
def test_a_damaged_compressed_array_is_an_error_with_its_file(tmp_path: Path, cut: int) -> None:
    """Nothing of a damaged array is given, as it is read as a whole."""
    data = gzip.compress(f"[{', '.join([TEMP_LINE] * 1000)}]".encode())
    with pytest.raises(EventError, match=r"events\.json\.gz is damaged: "):
        list(reader_of(tmp_path, "events.json.gz", data[:-cut]))


def test_the_user_of_an_event_can_reject_it_after_all(tmp_path: Path) -> None:
    """`reject` takes the line and the text of the event given last."""
    reader = reader_of(tmp_path, "events.json", f"[\n{TEMP_LINE},\n{TEMP_LINE}]")
    for event in reader:
        reader.reject(f"{event.type} is too hot")
    assert [(one.line_number, one.text, one.reason) for one in reader.rejected] == [
        (2, TEMP_LINE, "Temp is too hot"),
        (3, TEMP_LINE, "Temp is too hot"),
    ]
