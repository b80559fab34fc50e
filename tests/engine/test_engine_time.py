"""Time in an engine: delay, lateness, `advance` and `flush`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from tyrex import Engine, Event
from tyrex.tesla.durations import NotADuration

RULES = """
event A(v: int)
event B(v: int)
Rule echo define Echo(v: int) from A() where v = A.v
Rule over define Over(v: int) from 5 s after B() where v = B.v
"""
SECOND = 1_000_000


def _a(*seconds: int) -> list[Event]:
    """Events with their arrival as their value."""
    return [Event("A", second * SECOND, {"v": number}) for number, second in enumerate(seconds)]


def _texts(events: Any) -> list[str]:
    return [str(event) for event in events]


# Late events


def test_without_a_delay_an_event_before_the_last_one_is_late() -> None:
    """It is not processed, but given back and counted; one of the same moment is in time."""
    engine = Engine(RULES)
    found = engine.send_batch(_a(5, 3, 5))
    assert _texts(found) == ["Echo@5(v=0)", "Echo@5(v=2)"]
    assert found.late == (Event("A", 3 * SECOND, {"v": 1}),)
    assert engine.stats().late == 1
    assert engine.stats().types["A"].arrived == 2


def test_a_late_event_that_is_sent_alone_is_counted() -> None:
    """Nothing follows from it."""
    engine = Engine(RULES)
    engine.send("A", timestamp=5, v=1)
    assert engine.send("A", timestamp=4, v=2) == []
    assert engine.stats().late == 1


def test_late_rows_of_a_table_come_back_as_events() -> None:
    """With their ids, and without the nulls that a table has for other types."""
    table = pa.table(
        {
            "type": ["A", "A", "B"],
            "timestamp": pa.array([5, 3, 4], pa.timestamp("s", "UTC")),
            "id": [None, "x", None],
            "v": [0, 1, None],
        }
    )
    found = Engine(RULES).send_batch(table)
    assert list(found.late) == [Event("A", 3 * SECOND, {"v": 1}, "x"), Event("B", 4 * SECOND)]


def test_late_events_of_unknown_types_are_late_too() -> None:
    """They are counted once."""
    engine = Engine(RULES)
    found = engine.send_batch([*_a(5), Event("Wind", 4 * SECOND)])
    assert _texts(found.late) == ["Wind@4()"]
    assert (engine.stats().late, engine.stats().unused) == (1, 0)


# Delay


def test_with_a_delay_events_are_processed_in_order_of_time() -> None:
    """Simultaneous ones in the order of their arrival."""
    engine = Engine(RULES, delay=3)
    found = [*engine.send_batch(_a(5, 3, 4, 3, 8)), *engine.flush()]
    assert _texts(found) == ["Echo@3(v=1)", "Echo@3(v=3)", "Echo@4(v=2)", "Echo@5(v=0)", "Echo@8(v=4)"]
    assert engine.stats().late == 0


def test_events_wait_until_the_watermark_has_reached_them() -> None:
    """The watermark is the greatest timestamp less the delay; it never goes back."""
    engine = Engine(RULES, delay=3)
    assert engine.send("A", timestamp=10, v=0) == []
    assert engine.send("A", timestamp=8, v=1) == []
    assert engine.stats().waiting == 2
    assert _texts(engine.send("A", timestamp=12, v=2)) == ["Echo@8(v=1)"]
    assert engine.stats().waiting == 2
    assert _texts(engine.send("A", timestamp=13, v=3)) == ["Echo@10(v=0)"]


def test_an_event_may_come_exactly_as_late_as_the_delay() -> None:
    """A microsecond later it is late."""
    engine = Engine(RULES, delay=3)
    engine.send("A", timestamp=10, v=0)
    assert _texts(engine.send("A", timestamp=7, v=1)) == ["Echo@7(v=1)"]
    assert engine.stats().late == 0
    assert engine.send("A", timestamp=6.999999, v=2) == []
    assert engine.stats().late == 1


@pytest.mark.parametrize("delay", [3, 3.0, "3 s", "3000ms", timedelta(seconds=3)])
def test_a_delay_is_seconds_a_duration_or_a_timedelta(delay: Any) -> None:
    """All of them mean the same."""
    engine = Engine(RULES, delay=delay)
    found = engine.send_batch(_a(10, 7, 6, 13))
    assert _texts(found) == ["Echo@7(v=1)", "Echo@10(v=0)"]
    assert len(found.late) == 1


def test_a_delay_that_is_none_is_refused() -> None:
    """With what was expected."""
    with pytest.raises(NotADuration, match="write a number and a unit"):
        Engine(RULES, delay="soon")


@pytest.mark.parametrize("delay", [-1, timedelta(seconds=-1)])
def test_a_negative_delay_is_refused(delay: Any) -> None:
    """No event can be expected before it happens."""
    with pytest.raises(ValueError, match="delay"):
        Engine(RULES, delay=delay)


def test_a_delay_beyond_all_time_is_refused_or_endless() -> None:
    """It is no error of types."""
    try:
        engine = Engine(RULES, delay=timedelta.max)
    except ValueError:
        return
    assert _texts([*engine.send_batch(_a(2, 1)), *engine.flush()]) == ["Echo@1(v=1)", "Echo@2(v=0)"]


# Deadlines and time that passes


def test_a_deadline_fires_when_time_has_passed_it() -> None:
    """An event of that very moment comes first."""
    engine = Engine(RULES)
    engine.send("B", timestamp=0, v=7)
    assert _texts(engine.send("A", timestamp=5, v=1)) == ["Echo@5(v=1)"]
    assert _texts(engine.send("A", timestamp=5.000001, v=2)) == ["Over@5(v=7)", "Echo@5.000001(v=2)"]


def test_advance_lets_time_pass_without_events() -> None:
    """Deadlines before that moment fire; those at it do not, as events of that moment may come."""
    engine = Engine(RULES)
    engine.send("B", timestamp=0, v=7)
    assert list(engine.advance(5)) == []
    assert _texts(engine.advance(5.000001)) == ["Over@5(v=7)"]
    assert list(engine.advance(100)) == []


def test_after_advance_what_is_earlier_is_late() -> None:
    """What is of that moment is not; and time does not go back."""
    engine = Engine(RULES, delay=60)
    engine.send("A", timestamp=1, v=0)
    assert _texts(engine.advance(10)) == ["Echo@1(v=0)"]
    engine.advance(2)
    assert _texts(engine.send_batch(_a(9)).late) == ["A@9(v=0)"]
    assert _texts(engine.send("A", timestamp=10, v=1)) == ["Echo@10(v=1)"]


def test_time_begins_with_the_first_event() -> None:
    """Before it nothing fires, but what is before a moment that was announced is late already."""
    engine = Engine(RULES + "Rule every define Tick(m: int) from Timer(M % 1 == 0) where m = Timer.M")
    assert list(engine.advance("1970-01-01T01:00:00Z")) == []
    assert list(engine.flush(until="1970-01-01T02:00:00Z")) == []
    assert len(engine.send_batch(_a(3599)).late) == 1
    engine.send("A", timestamp=3600, v=1)
    assert _texts(engine.advance(3661)) == ["Tick@3600(m=0)", "Tick@3660(m=1)"]


@pytest.mark.parametrize("moment", [10, "1970-01-01T00:00:10Z", datetime(1970, 1, 1, 0, 0, 10, tzinfo=UTC)])
def test_moments_are_written_as_elsewhere(moment: Any) -> None:
    """In `advance` and in `flush`."""
    for call in (Engine.advance, Engine.flush):
        engine = Engine(RULES)
        engine.send("B", timestamp=0, v=7)
        assert _texts(call(engine, moment)) == ["Over@5(v=7)"]


# The end of the input


def test_flush_processes_what_waits_and_fires_what_is_due() -> None:
    """What is due at the last timestamp seen, and not what is due later."""
    engine = Engine(RULES, delay=60)
    engine.send_batch([Event("B", 0, {"v": 1}), Event("B", SECOND, {"v": 2}), *_a(5)])
    assert _texts(engine.flush()) == ["Echo@5(v=0)", "Over@5(v=1)"]
    assert engine.stats().open_deadlines == 1
    assert engine.stats().waiting == 0


def test_flush_moves_time_on_to_a_later_moment() -> None:
    """What is due at that moment fires, too."""
    engine = Engine(RULES)
    engine.send("B", timestamp=0, v=1)
    engine.send("B", timestamp=1, v=2)
    assert _texts(engine.flush(until=5)) == ["Over@5(v=1)"]
    assert _texts(engine.flush(until=6)) == ["Over@6(v=2)"]
    assert engine.stats().open_deadlines == 0


def test_flush_does_not_go_back() -> None:
    """A moment that has passed is none to move on to."""
    engine = Engine(RULES)
    engine.send("B", timestamp=0, v=1)
    engine.send("A", timestamp=4, v=1)
    assert list(engine.flush(until=1)) == []
    assert _texts(engine.send("A", timestamp=4, v=2)) == ["Echo@4(v=2)"]


def test_after_flush_the_stream_may_go_on() -> None:
    """What is earlier than the flush is late, also within the delay."""
    engine = Engine(RULES, delay=60)
    engine.send("A", timestamp=10, v=0)
    engine.flush()
    found = engine.send_batch(_a(9, 10, 11))
    assert _texts(found.late) == ["A@9(v=0)"]
    assert _texts([*found, *engine.flush()]) == ["Echo@10(v=1)", "Echo@11(v=2)"]


def test_times_before_the_epoch_are_times_like_others() -> None:
    """Windows, deadlines and timers reach across it."""
    engine = Engine(RULES + "Rule min define Tick(m: int) from Timer(M % 1 == 0) where m = Timer.M")
    engine.send("B", timestamp=-63, v=7)
    found = engine.flush(until=0)
    assert _texts(found) == ["Tick@-60(m=59)", "Over@-58(v=7)", "Tick@0(m=0)"]
