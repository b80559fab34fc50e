"""Callbacks for the events that a filter lets through: `Engine.subscribe` and `unsubscribe`."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from tyrex import Engine, Event, TeslaError
from tyrex.engine import Composite
from tyrex.engine.engine import UnknownSubscription
from tyrex.events import Identities

RULES = """
event A(k: string, v: int)
event B(k: string, v: int)
Rule echo define Echo(v: int) from A() where v = A.v
Rule big define Big(v: int) from Echo(v > 9) where v = Echo.v
Rule over define Over(v: int) from 5 s after A(v < 0) where v = A.v
"""
SECOND = 1_000_000


class _Log(list[str]):
    """Notes the events that it is called with."""

    def __call__(self, event: Event) -> None:
        self.append(f"{event.type}@{event.timestamp // SECOND}({event['v']})")

    def named(self, name: str) -> Callable[[Event], None]:
        """A callback that notes its own name, too."""
        return lambda event: self.append(f"{name} {event.type}({event['v']})")


def _a(second: int, v: int | None, k: str | None = None) -> Event:
    return Event("A", second * SECOND, {"k": k, "v": v})


# Filters


@pytest.mark.parametrize(
    ("filter_", "expected"),
    [
        ("A()", ["A@1(1)", "A@2(2)", "A@3(12)"]),
        ("A", ["A@1(1)", "A@2(2)", "A@3(12)"]),
        ("A(v = 2)", ["A@2(2)"]),
        ("A(v > 1 and v < 12)", ["A@2(2)"]),
        ("A(v >= 2 or k = 'x')", ["A@1(1)", "A@2(2)", "A@3(12)"]),
        ("A(v % 2 = 0)", ["A@2(2)", "A@3(12)"]),
        ("A(k = 'x')", ["A@1(1)"]),
        ("A(timestamp > 2500000)", ["A@3(12)"]),
        ("A(v in (1, 12))", ["A@1(1)", "A@3(12)"]),
        ("Subscribe(Echo, v > 1)", ["Echo@2(2)", "Echo@3(12)"]),
        ("Echo(v > 1)", ["Echo@2(2)", "Echo@3(12)"]),
        ("Big()", ["Big@3(12)"]),
        ("B()", []),
    ],
)
def test_a_filter_lets_through_what_fulfils_it(filter_: str, expected: list[str]) -> None:
    """Events from outside and composite ones, one by one, in batches or as a table."""
    events = [_a(1, 1, "x"), _a(2, 2), _a(3, 12)]
    table = pa.table({"type": ["A"] * 3, "timestamp": [1, 2, 3], "v": [1, 2, 12], "k": ["x", None, None]})
    for calls in ([events], [[event] for event in events], [table]):
        log, engine = _Log(), Engine(RULES)
        engine.subscribe(filter_, log)
        for call in calls:
            engine.send_batch(call)
        assert log == expected


@pytest.mark.parametrize(
    "filter_",
    [
        "",
        "Nothing()",
        "Echo(w = 1)",
        "Echo(v = $v)",
        "Echo(v = 'x')",
        "Echo(v >",
        "Timer()",
        "Echo(v > Max(A().v))",
    ],
)
def test_a_filter_that_is_none_is_refused(filter_: str) -> None:
    """With a diagnostic; and nothing changes."""
    engine, log = Engine(RULES), _Log()
    engine.subscribe("Echo()", log)
    with pytest.raises(TeslaError):
        engine.subscribe(filter_, log)
    engine.send("A", timestamp=1, v=1)
    assert log == ["Echo@1(1)"]


def test_a_filter_may_ask_for_what_no_rule_needs() -> None:
    """The rules do not look at B, nor at Big."""
    engine, log = Engine(RULES), _Log()
    engine.subscribe("B(v > 1)", log)
    engine.send_batch([Event("B", SECOND, {"v": 1}), Event("B", SECOND, {"v": 2})])
    assert log == ["B@1(2)"]


# What a callback gets


def test_a_composite_comes_with_its_rule_id_and_lineage() -> None:
    """It is the one that the call gives back."""
    engine, got = Engine(RULES), list[Event]()
    engine.subscribe("Echo()", got.append)
    found = engine.send_batch([_a(1, 1)])
    assert got == list(found)
    (event,) = got
    assert isinstance(event, Composite)
    assert event.rule == "echo"
    assert [part["v"] for part in event.lineage] == [1]


def test_an_event_from_outside_comes_as_it_is_declared() -> None:
    """With every declared attribute, and the id that it has in the lineage of composites."""
    engine, got = Engine(RULES), list[Event]()
    engine.subscribe("A()", got.append)
    engine.send("A", timestamp=1, v=1.0, id="x", colour="red")
    engine.send("A", timestamp=2, k="k")
    assert got[0] == Event("A", SECOND, {"k": None, "v": 1}, "x")
    plain = Event("A", 2 * SECOND, {"k": "k", "v": None})
    assert got[1] == Event("A", 2 * SECOND, {"k": "k", "v": None}, Identities()(plain))


def test_events_that_a_callback_keeps_stay_as_they_are() -> None:
    """Long after they have left the engine."""
    engine, got = Engine(RULES), list[Event]()
    engine.subscribe("A()", got.append)
    engine.subscribe("Echo()", got.append)
    engine.send("A", timestamp=1, k="first", v=1)
    shown = [str(event) for event in got]
    for n in range(100):
        engine.send_batch([_a(n + 2, 2, f"{n}-{i}") for i in range(50)])
    assert [str(event) for event in got[:2]] == shown


def test_callbacks_come_for_what_time_brings() -> None:
    """In `advance` and in `flush`, too."""
    engine, log = Engine(RULES), _Log()
    engine.subscribe("Over()", log)
    engine.send("A", timestamp=1, v=-1)
    engine.send("A", timestamp=2, v=-2)
    engine.advance(6.5)
    assert log == ["Over@6(-1)"]
    engine.flush(until=7)
    assert log == ["Over@6(-1)", "Over@7(-2)"]


def test_late_events_and_those_that_wait_do_not_come() -> None:
    """They come when they are processed, if they ever are."""
    engine, log = Engine(RULES, delay=5), _Log()
    engine.subscribe("A()", log)
    engine.send("A", timestamp=10, v=1)
    engine.send("A", timestamp=1, v=2)
    assert log == []
    engine.flush()
    assert log == ["A@10(1)"]


# Order


def test_callbacks_come_in_the_order_of_the_events() -> None:
    """An event, then what it makes, then the next one; whatever the order of the subscriptions."""
    engine, log = Engine(RULES), _Log()
    for filter_ in ("Big()", "Echo()", "A()"):
        engine.subscribe(filter_, log)
    engine.send_batch([_a(1, 10), _a(1, 1), _a(2, 11)])
    assert log == [
        "A@1(10)",
        "Echo@1(10)",
        "Big@1(10)",
        "A@1(1)",
        "Echo@1(1)",
        "A@2(11)",
        "Echo@2(11)",
        "Big@2(11)",
    ]


def test_equal_filters_are_called_in_the_order_of_their_subscription() -> None:
    """Each for itself."""
    engine, log = Engine(RULES), _Log()
    for name in ("first", "second"):
        engine.subscribe("A(v > 0)", log.named(name))
    engine.send_batch([_a(1, 1), _a(2, 2)])
    assert log == ["first A(1)", "second A(1)", "first A(2)", "second A(2)"]


def test_different_filters_are_called_in_the_order_of_their_subscription() -> None:
    """As far as one event is concerned."""
    engine, log = Engine(RULES), _Log()
    for name, filter_ in (
        ("range", "A(v > 0)"),
        ("all", "A()"),
        ("equal", "A(v = 1)"),
        ("again", "A(v > 0)"),
    ):
        engine.subscribe(filter_, log.named(name))
    engine.send("A", timestamp=1, v=1)
    assert log == ["range A(1)", "all A(1)", "equal A(1)", "again A(1)"]


def test_callbacks_come_before_the_call_returns() -> None:
    """After everything in it has been processed: the engine has moved on already."""
    engine, seen = Engine(RULES), list[int]()
    engine.subscribe("A(v = 1)", lambda _: seen.append(engine.stats().types["A"].arrived))
    engine.send_batch([_a(1, 1), _a(2, 2), _a(3, 3)])
    assert seen == [3]


# What a callback does


def test_a_callback_may_send_events() -> None:
    """They are processed at once, as a call of their own, with callbacks of their own."""
    engine, log = Engine(RULES), _Log()

    def count_down(event: Event) -> None:
        log(event)
        left = event["v"]
        assert isinstance(left, int)
        if left > 0:
            assert [str(e) for e in engine.send("A", timestamp=event.timestamp // SECOND, v=left - 1)] == [
                f"Echo@1(v={left - 1})"
            ]

    engine.subscribe("A()", count_down)
    engine.subscribe("Echo()", log)
    assert [str(event) for event in engine.send("A", timestamp=1, v=2)] == ["Echo@1(v=2)"]
    assert log == ["A@1(2)", "A@1(1)", "A@1(0)", "Echo@1(0)", "Echo@1(1)", "Echo@1(2)"]


def test_a_callback_may_send_only_what_is_not_late() -> None:
    """The whole batch has been processed when it is called."""
    engine = Engine(RULES)
    engine.subscribe("A(v = 1)", lambda event: engine.send("A", timestamp=event.timestamp // SECOND, v=7))
    engine.send_batch([_a(1, 1), _a(2, 2)])
    assert engine.stats().late == 1


def test_a_callback_may_subscribe() -> None:
    """The new subscription counts from the next call on."""
    engine, log = Engine(RULES), _Log()
    engine.subscribe("A(v = 1)", lambda _: engine.subscribe("A()", log))
    engine.send_batch([_a(1, 1), _a(2, 2)])
    assert log == []
    engine.send("A", timestamp=3, v=3)
    assert log == ["A@3(3)"]


def test_a_callback_may_end_its_own_subscription() -> None:
    """From then on it is not called, not even for the rest of the batch."""
    engine, log = Engine(RULES), _Log()

    def once(event: Event) -> None:
        log(event)
        engine.unsubscribe(number)

    number = engine.subscribe("A()", once)
    engine.send_batch([_a(1, 1), _a(2, 2)])
    engine.send("A", timestamp=3, v=3)
    assert log == ["A@1(1)"]


def test_a_callback_may_end_the_subscription_of_another() -> None:
    """Which is not called any more for the event at hand, if it would have come later."""
    engine, log = Engine(RULES), _Log()
    other = 0
    engine.subscribe("A(v = 2)", lambda _: engine.unsubscribe(other))
    other = engine.subscribe("A(v = 2)", log)
    engine.send("A", timestamp=1, v=2)
    assert log == []


def test_a_callback_may_change_the_rules() -> None:
    """The events of its call stay what they were."""
    engine, log = Engine(RULES), _Log()

    def change(event: Event) -> None:
        engine.undeploy("over")
        engine.deploy("Rule new define New(v: int) from A() where v = A.v + 100")
        engine.subscribe("New()", log)
        log(event)

    engine.subscribe("Echo(v = 1)", change)
    engine.subscribe("Big()", log)
    found = engine.send_batch([_a(1, 1), _a(1, 10)])
    assert log == ["Echo@1(1)", "Big@1(10)"]
    assert [event.rule for event in found] == ["echo", "echo", "big"]
    engine.send("A", timestamp=2, v=2)
    assert log[2:] == ["New@2(102)"]


def test_a_callback_may_ask_why() -> None:
    """The engine explains the event, and takes a snapshot, in the middle of its callbacks."""
    engine, told = Engine(RULES), list[str]()
    engine.subscribe("Big()", lambda event: told.append(str(engine.why(event))))
    engine.subscribe("Big()", lambda _: told.append(str(len(Engine.restore(engine.snapshot()).rules))))
    engine.send("A", timestamp=1, v=10, id="a")
    assert told[0].splitlines()[-1].strip() == "└─ A@1#a(k=null, v=10)"
    assert told[1] == "3"


def test_an_exception_of_a_callback_reaches_the_sender() -> None:
    """The remaining callbacks of that call do not come; the event was processed, and the engine goes on."""
    engine, log = Engine(RULES), _Log()
    number = engine.subscribe("A()", lambda _: 1 // 0)
    engine.subscribe("A()", log)
    with pytest.raises(ZeroDivisionError):
        engine.send_batch([_a(1, 1), _a(2, 2)])
    assert log == []
    assert engine.stats().rules["echo"].fired == 2
    engine.unsubscribe(number)
    assert len(engine.send("A", timestamp=3, v=3)) == 1
    assert log == ["A@3(3)"]


# Ending


def test_after_unsubscribe_no_callback_comes() -> None:
    """Others with an equal filter are still called; numbers are not used again."""
    engine, log = Engine(RULES), _Log()
    first = engine.subscribe("Echo()", log.named("first"))
    engine.subscribe("Echo()", log.named("second"))
    engine.unsubscribe(first)
    assert engine.subscribe("Echo(v = 7)", log) not in (first, first + 1)
    engine.send("A", timestamp=1, v=1)
    assert log == ["second Echo(1)"]


def test_an_unknown_subscription_is_an_error() -> None:
    """Also one that has ended."""
    engine = Engine(RULES)
    number = engine.subscribe("A()", print)
    engine.unsubscribe(number)
    with pytest.raises(UnknownSubscription) as caught:
        engine.unsubscribe(number)
    assert str(caught.value) == f"there is no subscription {number}"


def test_subscribing_changes_no_result_and_keeps_no_events() -> None:
    """What only a subscription asks for is let go of when it has been delivered."""
    engine, log = Engine(RULES), _Log()
    engine.subscribe("B()", log)
    for second in range(50):
        engine.send_batch([Event("B", second * SECOND, {"k": f"{second}-{i}", "v": i}) for i in range(100)])
    assert len(log) == 5000
    assert engine.stats().types["B"].stored <= 100
