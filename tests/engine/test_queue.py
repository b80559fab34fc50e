"""The queue before an engine: `QueuedEngine`, with real threads and without sleeping."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

from tyrex import Engine, Event, EventError
from tyrex.engine import ConsumerError, QueueClosed, QueuedEngine, QueueFull
from tyrex.engine.queue import WhenFull

RULES = """
event A(who: int, n: int)
event B(n: int)
Rule echo define Echo(who: int, n: int) from A() where who = A.who, n = A.n
Rule pair define Pair(n: int) from B() as X and last B() as Y within 1 h from X where n = X.n - Y.n
Rule due define Due(n: int) from 5 s after B() as X where n = X.n
"""
LONG = 30.0  # seconds after which a test has failed


def _run(*tasks: Callable[[], object]) -> None:
    """Do things at the same time, and wait for all."""
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
        assert not thread.is_alive()


class _Gate:
    """Holds the consumer where it is, until it is opened."""

    def __init__(self, queued: QueuedEngine) -> None:
        self.reached = threading.Event()
        self._open = threading.Event()
        self._thread = threading.Thread(target=lambda: queued.call(self._wait))
        self._thread.start()
        assert self.reached.wait(LONG)

    def _wait(self, _: Engine) -> None:
        self.reached.set()
        assert self._open.wait(LONG)

    def open(self) -> None:
        self._open.set()
        self._thread.join(LONG)
        assert not self._thread.is_alive()


@contextmanager
def _held(queued: QueuedEngine) -> Iterator[_Gate]:
    gate = _Gate(queued)
    try:
        yield gate
    finally:
        gate.open()


def _waits(thread: threading.Thread, queued: QueuedEngine) -> None:
    """Wait until a sender waits for room: that is when the queue has one waiter."""
    while not queued._not_full._waiters:  # type: ignore[attr-defined]  # there is no public way to see it
        assert thread.is_alive()
        with queued._progress:
            queued._progress.wait(0.001)


# --- Order and results ------------------------------------------------------------------------------------------


def test_each_producer_keeps_its_order() -> None:
    """Events of one thread are processed in the order in which it sent them."""
    found: list[Event] = []
    with QueuedEngine(Engine(RULES), capacity=7, on_detections=found.extend) as queued:

        def produce(who: int) -> None:
            for n in range(300):
                assert queued.send("A", timestamp=1, who=who, n=n)

        _run(*(lambda who=who: produce(who) for who in range(5)))
    assert len(found) == 1500
    for who in range(5):
        assert [event["n"] for event in found if event["who"] == who] == list(range(300))
    assert queued.stats().greatest <= 7


def test_results_are_those_of_the_engine_without_a_queue() -> None:
    """In the same order, with the same ids, however the events are cut into batches."""
    events = [Event("B", n * 1_000_000, {"n": n}) for n in range(500)]
    alone = Engine(RULES)
    wanted = [*alone.send_batch(events), *alone.flush(until=1000)]
    found: list[Event] = []
    with QueuedEngine(Engine(RULES), capacity=50, on_detections=found.extend) as queued:
        for start in range(0, 500, 9):
            queued.send_batch(events[start : start + 9])
        queued.flush(until=1000)
    assert found == wanted


def test_whatever_waits_is_one_batch() -> None:
    """What was sent while the consumer was busy is processed at once."""
    with QueuedEngine(Engine(RULES)) as queued:
        with _held(queued):
            for n in range(20):
                queued.send("A", timestamp=1, who=0, n=n)
            assert queued.stats().length == 20
        assert queued.drain(LONG)
        stats = queued.stats()
    assert (stats.batches, stats.processed, stats.length, stats.greatest) == (1, 20, 0, 20)


def test_subscriptions_call_back_in_order() -> None:
    """As those of the engine, until they are ended."""
    found: list[int] = []
    with QueuedEngine(Engine(RULES)) as queued:
        number = queued.subscribe("Echo(who = 1)", lambda event: found.append(int(str(event["n"]))))
        queued.send_batch([Event("A", 1, {"who": n % 2, "n": n}) for n in range(6)])
        queued.unsubscribe(number)
        queued.send("A", timestamp=1, who=1, n=99)
    assert found == [1, 3, 5]


def test_arrow_tables_and_dicts_are_sent_as_to_the_engine() -> None:
    """A table that is larger than the queue goes through it in pieces."""
    found: list[Event] = []
    columns: dict[str, list[Any]] = {
        "type": ["A"] * 10,
        "timestamp": list(range(10)),
        "who": [0] * 10,
        "n": list(range(10)),
    }
    with QueuedEngine(Engine(RULES), capacity=3, on_detections=found.extend) as queued:
        assert queued.send_batch(pa.table(columns)) == 10
        assert queued.send_batch([{"type": "A", "timestamp": 10, "who": 0, "n": 10}]) == 1
    assert [event["n"] for event in found] == list(range(11))


def test_a_call_has_the_engine_in_its_turn() -> None:
    """It sees everything that was sent before, and its result and its errors come back."""
    with QueuedEngine(Engine(RULES)) as queued:
        queued.send_batch([Event("A", 1, {"who": 0, "n": n}) for n in range(10)])
        assert queued.call(lambda engine: engine.stats().rules["echo"].fired) == 10
        assert queued.call(lambda engine: engine.deploy("Rule more define More() from A()")) == ["more"]
        with pytest.raises(KeyError, match="nothing"):
            queued.call(lambda engine: engine.undeploy("nothing"))
        assert queued.stats().errors == 0


def test_time_advances_through_the_queue() -> None:
    """Deadlines fire by `advance` and by `flush`, and come to the callbacks."""
    found: list[Event] = []
    with QueuedEngine(Engine(RULES), on_detections=found.extend) as queued:
        queued.send("B", timestamp=1, n=1)
        queued.advance(7)
        assert [str(event) for event in found] == ["Due@6(n=1)"]
        queued.send("B", timestamp=8, n=2)
        queued.flush(until=20)
    assert [event.type for event in found] == ["Due", "Pair", "Due"]


def test_late_events_reach_the_callback() -> None:
    """Even where nothing was detected."""
    late: list[Event] = []
    with QueuedEngine(Engine(RULES), on_detections=lambda found: late.extend(found.late)) as queued:
        queued.send("B", timestamp=10, n=1)
        queued.send("B", timestamp=1, n=2)
    assert [event["n"] for event in late] == [2]


# --- A full queue -----------------------------------------------------------------------------------------------


def test_a_full_queue_blocks_until_there_is_room() -> None:
    """The sender goes on as soon as the consumer has taken what waited."""
    with QueuedEngine(Engine(RULES), capacity=2) as queued:
        gate = _Gate(queued)
        queued.send_batch([Event("A", 1, {"n": 1}), Event("A", 1, {"n": 2})])
        sent: list[bool] = []
        sender = threading.Thread(target=lambda: sent.append(queued.send("A", timestamp=1, n=3)))
        sender.start()
        _waits(sender, queued)
        assert sent == []
        gate.open()
        sender.join(LONG)
        assert sent == [True]
    assert queued.stats().processed == 3


def test_a_full_queue_drops_and_counts() -> None:
    """What has room is taken, the rest is not waited for."""
    found: list[Event] = []
    with QueuedEngine(Engine(RULES), capacity=3, when_full="drop", on_detections=found.extend) as queued:
        with _held(queued):
            assert queued.send_batch([Event("A", 1, {"n": n}) for n in range(5)]) == 3
            assert not queued.send("A", timestamp=1, n=9)
            table = pa.table({"type": ["A"], "timestamp": [1], "n": [10]})
            assert queued.send_batch(table) == 0
        queued.drain()
        assert queued.send("A", timestamp=1, n=7)
    assert [event["n"] for event in found] == [0, 1, 2, 7]
    stats = queued.stats()
    assert (stats.accepted, stats.processed, stats.dropped) == (4, 4, 4)


def test_a_full_queue_raises_and_takes_nothing() -> None:
    """A batch goes in as a whole or not at all."""
    with QueuedEngine(Engine(RULES), capacity=3, when_full="error") as queued:
        with _held(queued):
            queued.send("A", timestamp=1, n=1)
            with pytest.raises(QueueFull, match="3 events found room for 2 in a queue of 3"):
                queued.send_batch([Event("A", 1, {"n": n}) for n in range(3)])
            assert queued.send_batch([Event("A", 1, {"n": n}) for n in range(2)]) == 2
        queued.drain()
        assert queued.stats().processed == 3


@pytest.mark.parametrize("when_full", ["block", "error"])
def test_a_callback_that_sends_into_a_full_queue_gets_an_error(when_full: WhenFull) -> None:
    """It would wait for itself."""
    caught: list[Exception] = []

    def again(_: object) -> None:
        try:
            queued.send_batch([Event("A", 1, {"n": n}) for n in range(3)])
        except QueueFull as error:
            caught.append(error)

    with QueuedEngine(Engine(RULES), capacity=2, when_full=when_full, on_detections=again) as queued:
        queued.send("A", timestamp=1, n=1)
        queued.drain()
    assert len(caught) == 1


def test_a_callback_may_send_where_there_is_room() -> None:
    """What it sends is processed after what waits."""
    found: list[object] = []

    def again(detections: object) -> None:
        assert isinstance(detections, tuple | list) or detections is not None
        found.append(detections)
        if len(found) < 4:
            queued.send("A", timestamp=1, n=len(found))

    with QueuedEngine(Engine(RULES), on_detections=again) as queued:
        queued.send("A", timestamp=1, n=0)
        while queued.stats().processed < 4:
            assert queued.drain(LONG)
    assert len(found) == 4


# --- What goes wrong --------------------------------------------------------------------------------------------


def test_bad_events_are_rejected_to_their_sender() -> None:
    """Before they enter the queue, and the whole batch with them."""
    found: list[Event] = []
    with QueuedEngine(Engine(RULES), on_detections=found.extend) as queued:
        with pytest.raises(EventError, match=r"A\.n: expected int"):
            queued.send("A", timestamp=1, n="one")
        with pytest.raises(EventError, match="expected int"):
            queued.send_batch([Event("A", 1, {"n": 1}), Event("A", 1, {"n": True})])
        with pytest.raises(EventError, match="`type` and `timestamp`"):
            queued.send_batch([{"n": 1}])
        with pytest.raises(EventError, match="no column `timestamp`"):
            queued.send_batch(pa.table({"type": ["A"]}))
        assert queued.stats().rejected == 4
    assert found == []
    assert queued.stats().accepted == 0


def test_an_error_in_a_callback_is_raised_at_the_next_call(caplog: pytest.LogCaptureFixture) -> None:
    """Once, with its cause; it is in the log, and the engine goes on."""
    found: list[Event] = []

    def fragile(detections: object) -> None:
        if not found:
            found.append(Event("first", 0))
            raise ZeroDivisionError("no")

    with QueuedEngine(Engine(RULES), on_detections=fragile) as queued, caplog.at_level(logging.ERROR):
        queued.send("A", timestamp=1, n=1)
        with pytest.raises(ConsumerError, match="ZeroDivisionError: no") as raised:
            queued.drain()
        assert isinstance(raised.value.__cause__, ZeroDivisionError)
        assert queued.send("A", timestamp=1, n=2)
        assert queued.drain()
        assert (queued.stats().errors, queued.stats().processed) == (1, 2)
    assert "behind the queue: no" in caplog.text


def test_an_error_in_a_subscription_does_not_keep_results_from_the_others() -> None:
    """The other callbacks are called; the error comes at the end."""
    found: list[Event] = []

    def broken(event: Event) -> None:
        raise ValueError(str(event))

    with (  # noqa: PT012
        pytest.raises(ConsumerError, match="ValueError"),
        QueuedEngine(Engine(RULES), on_detections=found.extend) as queued,
    ):
        queued.subscribe("Echo()", broken)
        queued.send_batch([Event("A", 1, {"n": n}) for n in range(3)])
    assert len(found) == 3
    assert queued.stats().errors == 3


def test_an_event_that_was_not_accepted_because_of_an_error_can_be_sent_again() -> None:
    """The error stands for the call, not for the event."""
    with QueuedEngine(Engine(RULES), on_detections=lambda _: 1 / 0) as queued:
        queued.send("A", timestamp=1, n=1)
        queued.call(lambda engine: None)  # by then the first is processed
        with pytest.raises(ConsumerError):
            queued.send("A", timestamp=1, n=2)
        assert queued.stats().accepted == 1
        assert queued.send("B", timestamp=1, n=2)


def test_what_went_wrong_last_is_raised_by_close() -> None:
    """So that it is not lost; a second close is quiet."""
    queued = QueuedEngine(Engine(RULES), on_detections=lambda _: 1 / 0)
    queued.send("A", timestamp=1, n=1)
    with pytest.raises(ConsumerError, match="ZeroDivisionError"):
        queued.close()
    queued.close()


def test_an_error_of_the_block_comes_before_those_behind_the_queue() -> None:
    """Leaving the block does not hide why it was left."""
    with (  # noqa: PT012
        pytest.raises(KeyError, match="mine"),
        QueuedEngine(Engine(RULES), on_detections=lambda _: 1 / 0) as queued,
    ):
        queued.send("A", timestamp=1, n=1)
        raise KeyError("mine")


def test_events_that_a_new_rule_made_wrong_do_not_take_others_with_them() -> None:
    """A type was unknown when they were checked, and is declared when they are processed."""
    found: list[Event] = []
    with QueuedEngine(Engine(RULES), on_detections=found.extend) as queued:
        gate = _Gate(queued)
        deployer = threading.Thread(
            target=lambda: queued.call(lambda engine: engine.deploy("event New(n: int)"))
        )
        deployer.start()
        while not any(not isinstance(item, Event) for item in list(queued._items)):
            assert deployer.is_alive()
        queued.send_batch([Event("A", 1, {"n": 1}), Event("New", 1, {"n": "x"}), Event("A", 1, {"n": 2})])
        gate.open()
        deployer.join(LONG)
        with pytest.raises(ConsumerError, match=r"New\.n"):
            queued.drain()
    assert [event["n"] for event in found] == [1, 2]


# --- Ending -----------------------------------------------------------------------------------------------------


def test_close_lets_waiting_senders_go_and_processes_what_was_accepted() -> None:
    """They get an error, and their events were not accepted."""
    queued = QueuedEngine(Engine(RULES), capacity=1)
    gate = _Gate(queued)
    queued.send("A", timestamp=1, n=1)
    errors: list[Exception] = []

    def produce() -> None:
        try:
            queued.send("A", timestamp=1, n=2)
        except QueueClosed as error:
            errors.append(error)

    sender = threading.Thread(target=produce)
    sender.start()
    _waits(sender, queued)
    closer = threading.Thread(target=queued.close)
    closer.start()
    sender.join(LONG)
    assert len(errors) == 1
    gate.open()
    closer.join(LONG)
    assert not closer.is_alive()
    assert (queued.stats().accepted, queued.stats().processed) == (1, 1)


def test_a_closed_queue_takes_nothing() -> None:
    """Neither events nor calls; closing it again does nothing."""
    queued = QueuedEngine(Engine(RULES))
    queued.close()
    queued.close()
    with pytest.raises(QueueClosed):
        queued.send("A", timestamp=1, n=1)
    with pytest.raises(QueueClosed):
        queued.call(lambda engine: None)
    assert queued.drain()


def test_after_close_the_engine_is_free() -> None:
    """It goes on where the queue has left it."""
    engine = Engine(RULES)
    with QueuedEngine(engine) as queued:
        queued.send("B", timestamp=1, n=1)
    assert [str(event) for event in engine.send("B", timestamp=2, n=4)] == ["Pair@2(n=3)"]


def test_drain_gives_up_after_its_time() -> None:
    """While the consumer is held it can't be done."""
    with QueuedEngine(Engine(RULES)) as queued:
        with _held(queued):
            queued.send("A", timestamp=1, n=1)
            assert not queued.drain(timeout=0)
        assert queued.drain(LONG)


def test_a_callback_can_not_drain() -> None:
    """It would wait for itself."""
    with QueuedEngine(Engine(RULES), on_detections=lambda _: queued.drain()) as queued:
        queued.send("A", timestamp=1, n=1)
        with pytest.raises(ConsumerError, match="can't wait"):
            queued.drain()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_when_the_consumer_ends_nobody_waits_for_it() -> None:
    """An exception that ends a thread, such as SystemExit, ends the queue, and everybody hears of it."""

    def leave(_: object) -> None:
        raise SystemExit(3)

    queued = QueuedEngine(Engine(RULES), capacity=1, on_detections=leave)
    queued.send("A", timestamp=1, n=1)
    with pytest.raises(ConsumerError, match="SystemExit"):
        queued.drain(LONG)
    with pytest.raises(QueueClosed):
        queued.send("A", timestamp=1, n=2)
    assert not queued.drain()
    queued.close()


@pytest.mark.parametrize(("capacity", "when_full"), [(0, "block"), (1, "wait")])
def test_what_a_queue_can_not_be_is_an_error(capacity: int, when_full: WhenFull) -> None:
    """A capacity below one, and a policy that there is none of."""
    with pytest.raises(ValueError, match="must be"):
        QueuedEngine(Engine(RULES), capacity=capacity, when_full=when_full)
