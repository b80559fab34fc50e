"""Events go in, composite events come out: `Engine.send` and `Engine.send_batch`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

import tyrex
from tyrex import Engine, Event, EventError
from tyrex.engine import Composite
from tyrex.events import Identities, Value, composite_id
from tyrex.events.conform import INT_MAX, INT_MIN

RULES = """
event Temp(area: string, value: float)
event Reading(n: int, ok: bool, text: string, x: float)
event Order(type: string, count: int)

Rule hot define Hot(area: string, value: float) from Temp(value > 45) where area = Temp.area, value = Temp.value
Rule echo
define Echo(n: int, ok: bool, text: string, x: float)
from   Reading()
where  n = Reading.n, ok = Reading.ok, text = Reading.text, x = Reading.x
Rule express define Express(count: int) from Order(type = "express") where count = Order.count
"""
TEMP: dict[str, Any] = {"area": "A1", "value": 50.0}
HOT = 'Hot@10(area="A1", value=50.0)'


def _texts(events: object) -> list[str]:
    assert hasattr(events, "__iter__")
    return [str(event) for event in events]


def _echo(**values: Any) -> dict[str, Value]:
    (event,) = Engine(RULES).send("Reading", timestamp=1, **values)
    return dict(event.attributes)


# One event


def test_an_event_gives_what_follows_from_it_at_once() -> None:
    """The composite event has a type, a time, attributes, a rule and an id."""
    (event,) = Engine(RULES).send("Temp", timestamp=10, area="A1", value=50.0)
    assert str(event) == HOT
    assert (event.type, event.timestamp, event.rule) == ("Hot", 10_000_000, "hot")
    assert event.attributes == TEMP
    assert event["value"] == 50.0
    assert event.get("nothing") is None


def test_an_event_that_fulfils_no_rule_gives_nothing() -> None:
    """The answer is an empty list."""
    assert Engine(RULES).send("Temp", timestamp=10, area="A1", value=45.0) == []


@pytest.mark.parametrize(
    "timestamp",
    [
        1_784_030_520.25,
        Decimal("1784030520.25"),
        "2026-07-14T12:02:00.25Z",
        "2026-07-14T14:02:00.250000+02:00",
        datetime(2026, 7, 14, 12, 2, 0, 250_000, UTC),
        datetime(2026, 7, 14, 12, 2, 0, 250_000),  # noqa: DTZ001  without a zone it is UTC
        datetime(2026, 7, 14, 14, 2, 0, 250_000, timezone(timedelta(hours=2))),
    ],
)
def test_a_moment_is_written_in_any_usual_way(timestamp: Any) -> None:
    """Seconds, texts of ISO 8601 and datetimes mean the same."""
    (event,) = Engine(RULES).send("Temp", timestamp=timestamp, **TEMP)
    assert event.timestamp == 1_784_030_520_250_000


def test_an_attribute_may_be_called_type() -> None:
    """The type of the event is given by position."""
    assert _texts(Engine(RULES).send("Order", timestamp=1, type="express", count=3)) == ["Express@1(count=3)"]


# Values


@pytest.mark.parametrize(
    "values",
    [
        {"n": INT_MIN, "ok": True, "text": "", "x": math.inf},
        {"n": INT_MAX, "ok": False, "text": "a\0b", "x": -math.inf},
        {"n": 2**53 + 1, "ok": True, "text": "naïve 東京 🦖", "x": 5e-324},
        {"n": -1, "ok": False, "text": "x" * 100_000, "x": 1.7976931348623157e308},
        {"n": None, "ok": None, "text": None, "x": None},
    ],
)
def test_values_pass_through_unchanged(values: dict[str, Value]) -> None:
    """Ints of 64 bits, any float, any text, and nulls."""
    assert _echo(**values) == values


def test_the_sign_of_zero_is_kept() -> None:
    """It is only in comparisons and ids that both zeros are one."""
    found = _echo(x=-0.0)["x"]
    assert isinstance(found, float)
    assert math.copysign(1.0, found) == -1.0


def test_a_missing_attribute_is_null() -> None:
    """So is one that is given as None, and a NaN."""
    assert _echo(ok=None, x=math.nan) == {"n": None, "ok": None, "text": None, "x": None}


def test_an_attribute_that_is_not_declared_is_left_out() -> None:
    """Sources may tell more than the rules ask for."""
    assert "colour" not in _echo(n=1, colour="red")


def test_numbers_take_the_declared_type_where_nothing_is_lost() -> None:
    """An int becomes a float, and a whole float an int."""
    found = _echo(n=3.0, x=3)
    assert (found["n"], found["x"]) == (3, 3.0)
    assert (type(found["n"]), type(found["x"])) == (int, float)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"n": "3"}, 'Reading.n: expected int, found the string "3"; send a whole number, without quotes'),
        ({"n": 3.5}, "Reading.n: expected int, found the float 3.5; send a whole number, or declare"),
        ({"n": True}, "Reading.n: expected int, found the bool true"),
        (
            {"n": INT_MAX + 1},
            "Reading.n: expected int, found the int 9223372036854775808; an int has 64 bits",
        ),
        ({"ok": 1}, "Reading.ok: expected bool, found the int 1; send true or false"),
        ({"text": 7}, "Reading.text: expected string, found the int 7; send it as text"),
        ({"text": "\ud800"}, "Reading.text: expected string"),
        ({"x": "3"}, 'Reading.x: expected float, found the string "3"; send a number'),
        ({"x": 10**400}, "Reading.x: expected float"),
    ],
)
def test_a_value_of_another_type_is_refused(values: dict[str, Any], message: str) -> None:
    """The error names the attribute, what was expected, what was found, and what to do."""
    with pytest.raises(EventError) as caught:
        _echo(**values)
    assert str(caught.value).startswith(message)


def test_a_bad_event_changes_nothing() -> None:
    """Nothing of a batch is taken if one of its events is none, and the engine goes on."""
    engine = Engine(RULES)
    before = engine.snapshot()
    good = Event("Temp", 10_000_000, TEMP)
    with pytest.raises(EventError):
        engine.send_batch([good, Event("Temp", 11_000_000, {"value": "hot"}), good])
    assert engine.snapshot() == before
    assert _texts(engine.send_batch([good])) == [HOT]


@pytest.mark.parametrize("timestamp", [10**13, -(10**12), math.nan, math.inf, "10", "tomorrow", True])
def test_a_moment_that_is_none_is_refused(timestamp: Any) -> None:
    """Among them the milliseconds of today, which would be seconds of a far future."""
    with pytest.raises(EventError, match="timestamp"):
        Engine(RULES).send("Temp", timestamp=timestamp, **TEMP)


# Types


def test_events_of_types_that_no_rule_knows_are_counted() -> None:
    """They are not refused: other consumers of the same stream may want them."""
    engine = Engine(RULES)
    assert engine.send("Wind", timestamp=1, speed=20) == []
    assert list(engine.send_batch([Event("Wind", 2_000_000), Event("Timer", 3_000_000)])) == []
    assert engine.stats().unused == 3
    assert engine.stats().stored == 0


def test_events_of_unknown_types_move_time_on() -> None:
    """Any event shows that time has passed."""
    engine = Engine("event A(v: int) define Over(v: int) from 5 s after A() where v = A.v")
    engine.send("A", timestamp=0, v=1)
    assert _texts(engine.send("Wind", timestamp=5.000001)) == ["Over@5(v=1)"]


def test_a_composite_event_may_come_from_outside() -> None:
    """Rules take it as if one of them had made it."""
    engine = Engine(RULES + "Rule alarm define Alarm(area: string) from Hot() where area = Hot.area")
    assert _texts(engine.send("Hot", timestamp=1, area="A1", value=1.0)) == ['Alarm@1(area="A1")']


# Batches


def test_a_batch_is_the_same_as_its_events_one_by_one() -> None:
    """As objects, as dicts of the JSON form, or mixed; times in dicts are seconds or texts."""
    records: list[Event | dict[str, Any]] = [
        {"type": "Temp", "timestamp": 10, **TEMP},
        Event("Reading", 11_000_000, {"n": 1}),
        {"type": "Temp", "timestamp": "1970-01-01T00:00:12Z", "area": "B2", "value": 60},
    ]
    expected = [
        HOT,
        "Echo@11(n=1, ok=null, text=null, x=null)",
        'Hot@12(area="B2", value=60.0)',
    ]
    assert _texts(Engine(RULES).send_batch(records)) == expected
    engine = Engine(RULES)
    assert [text for record in records for text in _texts(engine.send_batch([record]))] == expected


def test_a_batch_keeps_the_order_of_arrival_among_simultaneous_events() -> None:
    """Events of different types, too."""
    events = [Event("Reading" if n % 3 else "Temp", 10_000_000, {"n": n, **TEMP}) for n in range(7)]
    found = Engine(RULES).send_batch(events)
    assert [event.get("n") for event in found] == [None, 1, 2, None, 4, 5, None]


def test_a_batch_may_come_from_a_generator() -> None:
    """It is read once."""

    def events() -> Iterator[Event]:
        yield Event("Temp", 10_000_000, TEMP)

    assert _texts(Engine(RULES).send_batch(events())) == [HOT]


def test_an_empty_batch_gives_nothing() -> None:
    """And changes nothing."""
    engine = Engine(RULES)
    before = engine.snapshot()
    assert len(engine.send_batch([])) == 0
    assert engine.snapshot() == before


@pytest.mark.parametrize("events", ["Temp", {"type": "Temp", "timestamp": 1}, [{"type": "Temp"}], [{}]])
def test_what_is_no_event_is_refused(events: Any) -> None:
    """Also one dict where several are meant."""
    with pytest.raises(EventError, match="an event is an Event, or a dict with `type` and `timestamp`"):
        Engine(RULES).send_batch(events)


@pytest.mark.parametrize("events", [Event("Temp", 1), [3], [None]])
def test_what_is_no_event_is_refused_whatever_it_is(events: Any) -> None:
    """The same error, which says what an event is."""
    with pytest.raises(EventError):
        Engine(RULES).send_batch(events)


def test_the_attributes_of_a_dict_may_stand_in_an_object_of_their_own() -> None:
    """The JSON form has `attributes` for names that are taken otherwise."""
    record = {"type": "Order", "timestamp": 1, "attributes": {"type": "express", "count": 3}}
    assert _texts(Engine(RULES).send_batch([record])) == ["Express@1(count=3)"]


# Ids


def test_an_id_of_the_source_is_kept() -> None:
    """It goes into the id of what is made of the event."""
    for events in (
        [Event("Temp", 10_000_000, TEMP, "t/1")],
        [{"type": "Temp", "timestamp": 10, "id": "t/1", **TEMP}],
    ):
        (event,) = Engine(RULES).send_batch(events)
        assert isinstance(event, Composite)
        assert [part.id for part in event.lineage] == ["t/1"]
        assert event.id == composite_id("hot", ["t/1"])
    (sent,) = Engine(RULES).send("Temp", timestamp=10, id="t/1", **TEMP)
    assert sent.id == composite_id("hot", ["t/1"])


def test_without_one_an_id_comes_from_the_content() -> None:
    """Equal events of one moment are told apart by how many came before; those with other ids do not count."""
    engine = Engine(RULES)
    given = Event("Temp", 10_000_000, TEMP, "given")
    equal = Event("Temp", 10_000_000, TEMP)
    identities = Identities()
    expected = [composite_id("hot", [id_]) for id_ in ("given", identities(equal), identities(equal))]
    assert [event.id for event in engine.send_batch([given, equal, equal])] == expected


def test_ids_do_not_depend_on_calls() -> None:
    """Equal events in two calls are counted as in one."""
    events = [Event("Temp", 10_000_000, TEMP)] * 3
    together = [event.id for event in Engine(RULES).send_batch(events)]
    engine = Engine(RULES)
    apart = [event.id for one in events for event in engine.send_batch([one])]
    assert apart == together
    assert len(set(together)) == 3


@pytest.mark.parametrize("id_", [7, b"t", "\ud800"])
def test_an_id_that_is_no_text_is_refused(id_: Any) -> None:
    """With an error that says what an id is."""
    with pytest.raises(EventError, match="id"):
        Engine(RULES).send("Temp", timestamp=1, id=id_, **TEMP)


# Rules


def test_rules_are_given_as_text_or_as_a_rule_set() -> None:
    """Engines with the same rule set share nothing."""
    rules = tyrex.parse(RULES)
    one, other = Engine(rules), Engine(rules)
    assert one.rules is rules
    assert _texts(one.send("Temp", timestamp=10, **TEMP)) == [HOT]
    assert other.stats().types["Temp"].arrived == 0


def test_an_engine_may_begin_without_rules() -> None:
    """They may come later."""
    engine = Engine("")
    assert engine.send("A", timestamp=1) == []
    assert engine.deploy("define M(v: int) from A(v > 1) where v = A.v") == ["M"]
    assert _texts(engine.send("A", timestamp=2, v=3)) == ["M@2(v=3)"]
