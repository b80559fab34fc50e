"""The log of a tree: what came, as far back as it matters, and what was sent."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tyrex import Event
from tyrex.network.blocks import Block, block_of, concatenated, merged
from tyrex.network.data.hosts import ids_of
from tyrex.network.data.log import Log
from tyrex.network.data.order import Inbox
from tyrex.tesla.types import AttributeType, EventType, Origin, ValueType

A = EventType("A", (AttributeType("k", ValueType.INT),), Origin.DECLARED)
B = EventType("B", (AttributeType("k", ValueType.INT),), Origin.DECLARED)


def _block(times: list[int], first: int = 1, origin: str = "here", type_: EventType = A) -> Block:
    return block_of(type_, [Event(type_.name, time, {"k": time}) for time in times], origin, first)


@given(st.integers(min_value=0, max_value=2**32))
def test_a_log_holds_what_came_and_sends_it_once(seed: int) -> None:
    """Against plain lists: rows, stretches of time, what was sent, what was forgotten and is counted."""
    random = Random(seed)
    log = Log("A")
    came: list[int] = []
    sent: set[int] = set()
    for _ in range(random.randint(1, 60)):
        first = len(came)
        start = len(came) // 3
        times = sorted(random.randint(max(0, start - 9), start + 9) for _ in range(random.randint(0, 5)))
        rows = log.append(_block(times, first + 1))
        assert rows.tolist() == list(range(first, first + len(times)))
        came += times
        asked = np.array(sorted(random.sample(range(len(came)), random.randint(0, len(came)))), np.int64)
        asked = log.present(asked)
        assert [came[row] for row in asked] == log.times(asked).tolist()
        new = log.to_send(asked)
        assert set(new.tolist()) == set(asked.tolist()) - sent
        sent |= set(new.tolist())
        if len(new):
            assert log.take(new).column("@k").to_pylist() == [came[row] for row in new]
        limit = start - 12
        log.forget(limit)
        after, upto = start - 11, start + 3
        block, rows = log.between(after, upto)
        expected = sorted((time, row) for row, time in enumerate(came) if after < time <= upto)
        assert [(came[row], row) for row in rows.tolist()] == expected
        assert len(block) == len(expected)
    kept = len(log)
    assert log.sent == len(sent)
    assert log.dropped <= sum(time < len(came) // 3 - 12 for time in came)
    log.forget(10**9)
    assert len(log) == 0
    assert log.dropped + len(sent) == len(came)
    assert kept <= len(came)


def test_a_log_does_not_grow_with_the_stream() -> None:
    """What windows can't reach leaves, also where pieces are small."""
    log = Log("A")
    for time in range(3000):
        log.append(_block([time], time + 1))
        log.forget(time - 50)
    assert len(log) < 4 * 50
    assert log.dropped > 2700


def test_the_order_of_all_is_that_of_time_origin_and_number() -> None:
    """Blocks of several types are put in one order, simultaneous events by the names of their origins."""
    left = concatenated([_block([5, 7], origin="b"), _block([5, 5], origin="a")])
    right = concatenated([_block([5, 6], origin="aa", type_=B), _block([5], origin="c", type_=B)])
    assert left.ids() == ["a/1", "a/2", "b/1", "b/2"]
    assert right.ids() == ["aa/1", "c/1", "aa/2"]
    assert merged([left, right]).tolist() == [0, 0, 1, 0, 1, 1, 0]


def test_what_is_ahead_of_time_waits() -> None:
    """A block is cut where time has come to."""
    inbox = Inbox()
    inbox.put(_block([1, 5, 5, 9]))
    assert [b.times.tolist() for b in inbox.until(0).get("A", [])] == []
    assert [b.times.tolist() for b in inbox.until(5)["A"]] == [[1, 5, 5]]
    assert inbox.events == 1
    assert [b.times.tolist() for b in inbox.until(20)["A"]] == [[9]]
    assert inbox.events == 0


def test_ids_of_few_and_of_many_events_are_made_alike() -> None:
    """Those that sources gave, else the origin and the number; in columns as event by event."""
    events = [Event("A", n, {"k": n}, f"own {n}" if n % 3 == 0 else None) for n in range(100)]
    many = block_of(A, events, "here", 1)
    assert ids_of(many.table).to_pylist() == many.ids()
    few = many.take(np.arange(5))
    assert ids_of(few.table).to_pylist() == ["own 0", "here/2", "here/3", "own 3", "here/5"]
    without = _block(list(range(100)))
    assert ids_of(without.table).to_pylist() == without.ids()
