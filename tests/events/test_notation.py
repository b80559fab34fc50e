from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.events.strategies import events, texts

from tyrex.events import Event, EventError, Value, parse_event, parse_events
from tyrex.events.literals import quote, unquote
from tyrex.tesla.builder import unescape
from tyrex.tesla.types import AttributeType, EventType, ValueType

TEMP = EventType("Temp", (AttributeType("area", ValueType.STRING), AttributeType("value", ValueType.FLOAT)))
TYPES = {"Temp": TEMP}
HOUR = 3_600_000_000


@pytest.mark.parametrize(
    ("time", "microseconds"),
    [
        ("10", 10_000_000),
        ("-0.5", -500_000),
        ("0.1", 100_000),
        ("5min", HOUR // 12),
        ("1.5h", HOUR * 3 // 2),
        ("-2days", -48 * HOUR),
        ("250ms", 250_000),
        ("09:00", 9 * HOUR),
        ("9:00", 9 * HOUR),
        ("09:00:30.5", 9 * HOUR + 30_500_000),
        ("2013-01-01", 1_356_998_400_000_000),
        ("2013-01-01T09:00:00Z", 1_357_030_800_000_000),
        ("2013-01-01T10:00:00.5+01:00", 1_357_030_800_500_000),
        ('"2013-01-01 09:00"', 1_357_030_800_000_000),
        ("'2013-01-01T09:00'", 1_357_030_800_000_000),
    ],
)
@pytest.mark.parametrize("rest", ["", "()", "#id(x=1)", " (x=1)", " -- at last"])
def test_a_time_can_be_written_in_many_ways(time: str, microseconds: int, rest: str) -> None:
    """After `@` stand seconds, a duration, a time of day, or a date and time."""
    assert parse_event(f"A@{time}{rest}").timestamp == microseconds


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("24.5", 24.5),
        ("-3", -3),
        ("1e5", 1e5),
        ("null", None),
        ("TRUE", True),
        ("false", False),
        ("Infinity", float("inf")),
        ("-Infinity", float("-inf")),
        ('"A1"', "A1"),
        ("'it\\'s'", "it's"),
        (r'"a\tb\n\u00e9\\"', "a\tb\né\\"),
        ('"-- no // comment; (no, end)"', "-- no // comment; (no, end)"),
    ],
)
def test_a_value_is_a_literal_of_tesla(text: str, value: Value) -> None:
    """Numbers, texts in either quotes, true, false and null stand for themselves."""
    found = parse_event(f"A@1(x={text})")["x"]
    assert found == value
    assert type(found) is type(value)


def test_several_events_stand_on_lines_or_beside_each_other() -> None:
    """White space, line breaks and semicolons separate events; comments are ignored."""
    text = """
        -- morning
        A@1 B@2(x=1); C@3
        // noon
        D@4( x = 1,   -- of two
             y = 2 ); E@5
    """
    assert [str(event) for event in parse_events(text)] == [
        "A@1()",
        "B@2(x=1)",
        "C@3()",
        "D@4(x=1, y=2)",
        "E@5()",
    ]


def test_no_text_is_no_events() -> None:
    """Blank text and comments hold no events."""
    assert parse_events("") == parse_events(" \n-- nothing\n;") == []


@pytest.mark.parametrize(
    ("text", "id_"), [("A@1#s17", "s17"), ("A@1#a/b-1.c(x=1)", "a/b-1.c"), ('A@1#"a b"(x=1)', "a b")]
)
def test_an_id_stands_after_the_time(text: str, id_: str) -> None:
    """`#` and an id, in quotes where it needs them, give the event its id."""
    assert parse_event(text).id == id_


def test_values_without_a_name_take_it_from_the_declared_type() -> None:
    """A value at a position is that of the attribute declared at that position."""
    assert parse_event('Temp@10("A1", 24.5)', TYPES) == Event(
        "Temp", 10_000_000, {"area": "A1", "value": 24.5}
    )
    assert parse_event('Temp@10("A1", value=3)', TYPES).attributes == {"area": "A1", "value": 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("?", "line 1: expected an event, as in `Temp@10(value=24.5)`, found `?`"),
        ("A@1\n\n  B", "line 3: expected `@` and a time after `B`, found the end of the text\n  B"),
        ("A@(x=1)", "line 1: expected a time after `@`, as in `@10`, `@5min` or `@09:00`, found `(x=1)`"),
        ("A@5parsecs", "line 1: `5parsecs` is not a duration"),
        ("A@0.1us", "line 1: `0.1us` is not a whole number of microseconds"),
        ("A@24:00", "line 1: expected a time of day before 24:00, found `24:00`"),
        ("A@'noon'", "line 1: a timestamp as text must be a date and time"),
        ("A@2013-02-30", "line 1: a timestamp as text must be a date and time"),
        ("A@99999999999999", "outside the years 1 to 9999"),
        ("A@600000weeks", "outside the years 1 to 9999"),
        ("A@1#(x=1)", "line 1: expected an id after `#`, found `(x=1)`"),
        (
            "A@1\nB@2(x=)",
            "line 2: expected a value: a number, a text in quotes, true, false or null, found `)`\n  B@2(x=)",
        ),
        ("A@1(x=1", "expected `,` or `)`, found the end of the text"),
        ("A@1(x=1\nB@2", "line 2: expected `,` or `)`, found `B@2`"),
        ("A@1(x=5min)", "expected a value: a number, a text in quotes, true, false or null, found `5min)`"),
        ("A@1(x=1, x=2)", "expected each attribute once, but `x` has a value already, found `x=2)`"),
        ("A@1(timestamp=2)", "expected the timestamp only after `@`, found `timestamp=2)`"),
        ("A@1(24.5)", "expected `name=value`, as the attributes of `A` are not declared here, found `24.5)`"),
        ('Temp@1("A1", 2, 3)', "expected at most 2 values for Temp(area: string, value: float), found `3)`"),
        ("Temp@1(vaule=3)", "expected an attribute of Temp(area: string, value: float), found `vaule=3)`"),
        pytest.param(
            f"A@1(x={'9' * 5000})", "line 1: expected a number of at most 1000 digits", id="long number"
        ),
        pytest.param(
            f"A@{'9' * 5000}min", "line 1: expected a time of at most 1000 digits, found 5000", id="long time"
        ),
        pytest.param(f"A@{'9' * 5000}", "outside the years 1 to 9999", id="long seconds"),
    ],
)
def test_what_is_no_event_is_an_error_with_its_line(text: str, message: str) -> None:
    """The error has the line number, what was expected, what was found, and the line."""
    with pytest.raises(EventError) as caught:
        parse_events(text, TYPES)
    assert message in str(caught.value)


@pytest.mark.parametrize("text", ["", "A@1 B@2"])
def test_one_event_is_one(text: str) -> None:
    """`parse_event` wants exactly one event."""
    with pytest.raises(EventError, match="expected one event, found"):
        parse_event(text)


@given(st.lists(events), st.sampled_from([" ", "\n", ";", " ; -- and\n"]))
def test_what_an_event_shows_is_read_back(history: list[Event], separator: str) -> None:
    """The text of events, joined by any separator, stands for the same events."""
    assert parse_events(separator.join(map(str, history))) == history


@given(st.text())
def test_a_quoted_text_is_read_back(text: str) -> None:
    """Quoting and reading are inverse for any text, on one line."""
    assert unquote(quote(text)) == text
    assert "\n" not in quote(text)


@given(texts | st.from_regex(r"(\\.|\\u[0-9a-fA-F]{2,5}|[a-z\"'\\])*", fullmatch=True))
def test_texts_have_the_escapes_of_rules(text: str) -> None:
    """A literal means the same in the notation of events and in a rule."""
    assert unquote(f'"{text}"') == unescape(f'"{text}"')


PIECES = st.lists(
    st.sampled_from(
        ["A", "@", "1", "-", "#", "(", ")", "=", ",", '"', "'", "\\", "\n", ";", " ", "min", ":", "T", "."]
    )
)


@given(st.text() | PIECES.map("".join) | PIECES.map(lambda pieces: "A@1(" + "".join(pieces)))
def test_any_text_is_events_or_an_event_error(text: str) -> None:
    """Reading events raises nothing but EventError."""
    with suppress(EventError):
        parse_events(text, TYPES)
