"""What an engine knows of itself, and that it holds no more than its windows reach: `Engine.stats`."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pyarrow as pa
import pytest

from tyrex import Engine, Event
from tyrex.engine.stats import RuleStats, TypeStats

RULES = """
event A(k: string, v: int)
event B(k: string)
Rule pair
define Pair(k: string, v: int)
from   B(k = $k) and each A(k = $k and v > 0) within 10 s from B
where  k = $k, v = A.v
Rule big define Big(v: int) from Pair(v > 5) where v = Pair.v
"""
SECOND = 1_000_000


def _a(second: float, k: str, v: int = 1) -> Event:
    return Event("A", round(second * SECOND), {"k": k, "v": v})


def _texts(engine: Engine) -> int:
    """How many different texts the engine holds."""
    return sum(kernel.texts for kernel in engine._places.kernels)


def _b(second: float, k: str) -> Event:
    return Event("B", round(second * SECOND), {"k": k})


# Counts


def test_a_new_engine_has_counted_nothing() -> None:
    """Every rule and every type is there from the beginning; built-in types are not."""
    stats = Engine(RULES).stats()
    assert stats.rules == {"pair": RuleStats(0, 0), "big": RuleStats(0, 0)}
    assert stats.types == {name: TypeStats(0, 0) for name in ("A", "B", "Pair", "Big")}
    assert (stats.stored, stats.late, stats.unused, stats.waiting, stats.open_deadlines, stats.overflows) == (
        0,
    ) * 6


def test_a_rule_is_evaluated_when_its_terminator_comes_and_fires_for_each_match() -> None:
    """A terminator that does not fulfil its own conditions evaluates nothing."""
    engine = Engine(RULES)
    engine.send_batch([_a(1, "x", 3), _a(2, "x", 6), _b(3, "x"), _b(4, "y")])
    assert engine.stats().rules == {"pair": RuleStats(2, 2), "big": RuleStats(1, 1)}


def test_types_count_what_arrived_and_what_is_stored() -> None:
    """Among it composites that a rule or a subscription looks at; what no rule asks for is not stored."""
    engine = Engine(RULES)
    engine.send_batch([_a(1, "x", 6), _a(2, "x", 0), _b(3, "x")])
    types = engine.stats().types
    assert types["A"] == TypeStats(2, 1)
    assert types["B"] == TypeStats(1, 1)
    assert types["Pair"] == TypeStats(1, 1)
    assert types["Big"] == TypeStats(0, 0)
    assert engine.stats().stored == 3


def test_overflows_are_counted() -> None:
    """Values that did not fit into 64 bits, and became null."""
    engine = Engine(
        "event A(v: int) define M(v: int, s: int) from A() where v = A.v * 2, s = Sum(A().v within 1 h from A)"
    )
    (first,) = engine.send("A", timestamp=1, v=2**62)
    (second,) = engine.send("A", timestamp=2, v=2**62)
    assert dict(first.attributes) == {"v": None, "s": 2**62}
    assert dict(second.attributes) == {"v": None, "s": None}
    assert engine.stats().overflows == 3


def test_open_deadlines_are_counted_until_they_fire() -> None:
    """Or are consumed."""
    engine = Engine(
        "event A(v: int) event B() Rule r define M(v: int) from 5 s after A() as X and not B() between X and Timer "
        "where v = X.v"
    )
    engine.send_batch([Event("A", n * SECOND, {"v": n}) for n in range(3)])
    assert engine.stats().open_deadlines == 3
    engine.advance(5.5)
    assert engine.stats().open_deadlines == 2


# Memory


SHAPES = {
    "each": "define M(k: string) from B(k = $k) and each A(k = $k) within 2 s from B where k = $k",
    "last": "define M(k: string) from B(k = $k) and last A(k = $k) within 2 s from B where k = $k",
    "consuming": "define M(k: string) from B(k = $k) and each A(k = $k) within 2 s from B where k = $k consuming A",
    "negation": "define M(k: string) from B(k = $k) and not A(k = $k) within 2 s from B where k = $k",
    "sum": "define M(k: string, s: int) from B(k = $k) where k = $k, s = Sum(A(k = $k).v within 2 s from B)",
    "max of texts": "define M(k: string) from B() where k = Max(A().k within 100 ms from B)",
    "new texts": "define M(k: string) from B() where k = concat(lower(B.k), '-new')",
    "hierarchy": (
        "define N(k: string) from A() where k = A.k "
        "define M(k: string) from B(k = $k) and each N(k = $k) within 2 s from B where k = $k"
    ),
    "deadline": "define M(k: string) from 2 s after A() as X and not B(k = X.k) between X and Timer where k = X.k",
    "consumed deadline": (
        "define M(k: string) from 2 s after A() as X and last A() as Y within 1 s from X where k = X.k consuming Y"
    ),
    "timer": "define M(n: int) from Timer(S % 1 == 0) where n = Count(A() within 2 s from Timer)",
}


def _flow(number: int, pairs: int) -> Iterator[Event]:
    """Two seconds of a stream; every pair of events has a key that never came before."""
    for step in range(pairs):
        second = 2 * number + 2 * step / pairs
        key = f"the key of pair {number}-{step}, which is long enough to need memory of its own"
        yield _a(second, key, step % 7)
        yield _b(second, key)


@pytest.mark.parametrize(
    ("shape", "pairs", "threads"),
    [
        ("each", 1000, 1),
        *((shape, 200, 1) for shape in SHAPES if shape != "each"),
        *((shape, 200, 2) for shape in ("each", "sum", "new texts", "deadline")),
    ],
)
def test_memory_is_bounded_by_the_windows(shape: str, pairs: int, threads: int) -> None:
    """Though a hundred batches bring ever new texts, 200,000 events in the longest stream."""
    engine = Engine("event A(k: string, v: int) event B(k: string) " + SHAPES[shape], threads=threads)
    stored, held, texts = [], [], []
    for number in range(100):
        for event in engine.send_batch(_flow(number, pairs))[::100]:
            assert event.id
        stats = engine.stats()
        stored.append(stats.stored)
        held.append(stats.bytes)
        texts.append(_texts(engine))
    assert sum(type_.arrived for type_ in engine.stats().types.values()) >= 200 * pairs
    assert max(stored[50:]) <= 1.05 * max(stored[10:50])
    assert max(held[50:]) <= 1.25 * max(held[10:50])
    assert max(texts[50:]) <= 1.05 * max(texts[10:50])
    assert max(texts) < 20 * pairs


def test_ids_of_sources_are_let_go_with_their_events() -> None:
    """They are texts like others."""
    engine = Engine(RULES)
    held = []
    for number in range(100):
        engine.send_batch(
            [Event("A", (5 * number + n) * SECOND, {"k": "x", "v": 1}, f"{number}/{n}") for n in range(5)]
        )
        held.append(_texts(engine))
    assert max(held[50:]) <= max(held[10:50]) < 50


def test_events_that_wait_are_let_go_when_they_have_been_processed() -> None:
    """With their texts."""
    engine = Engine(RULES, delay=3)
    held, waiting = [], []
    for number in range(100):
        events = [_a(2 * number + 1, f"{number}-{n}") for n in range(100)]
        engine.send_batch([*events, *(_a(2 * number, f"{number}-{n} again") for n in range(100))])
        held.append(_texts(engine))
        waiting.append(engine.stats().waiting)
    assert set(waiting[10:]) == {300}
    assert max(held[50:]) <= max(held[10:50])


def test_events_that_nobody_asks_for_take_no_memory() -> None:
    """Neither those of unknown types nor those that fulfil no condition."""
    engine = Engine("event A(k: string, v: int) define M(k: string) from A(v > 5) where k = A.k")
    for number in range(20):
        engine.send_batch([_a(number, f"{number}-{n}", n % 5) for n in range(1000)])
        engine.send_batch([Event("Wind", number * SECOND, {"k": f"{number}-{n}"}) for n in range(1000)])
    stats = engine.stats()
    assert (stats.types["A"].arrived, stats.unused, stats.stored) == (20_000, 20_000, 0)
    assert _texts(engine) < 3000


def test_windows_without_events_let_go_when_others_come() -> None:
    """Time passes for all types alike."""
    engine = Engine(RULES + "event C()")
    engine.send_batch([_a(1, f"{n}") for n in range(1000)])
    assert engine.stats().stored == 1000
    engine.send_batch([Event("C", 60 * SECOND)] * 10_000)
    assert engine.stats().stored == 0


def test_a_sweep_of_tables_is_bounded_too() -> None:
    """Columns of Arrow, with a dictionary or without."""
    engine = Engine(RULES)
    held = []
    for number in range(60):
        keys = pa.array([f"{number}-{n} and so on and so forth" for n in range(1000)])
        for column in (keys, keys.dictionary_encode()):
            times = pa.array([number * 5_000_000] * 1000, pa.timestamp("us"))
            engine.send_batch(
                pa.table({"type": ["A"] * 1000, "timestamp": times, "k": column, "v": [1] * 1000})
            )
        held.append(_texts(engine))
    assert max(held[30:]) <= max(held[10:30]) < 6000


def test_detections_that_are_kept_do_not_keep_the_texts_of_others() -> None:
    """Whoever remembers the first alarm does not remember all that came after it."""
    engine = Engine(RULES)
    kept = engine.send_batch([_a(0, "first"), _b(0, "first")])
    for number in range(1, 50):
        engine.send_batch([_a(20 * number, f"{number}-{n}") for n in range(1000)])
    gc.collect()
    assert _texts(engine) < 5000
    assert [(event.type, event.attributes) for event in kept] == [("Pair", {"k": "first", "v": 1})]


def test_detections_that_are_kept_for_long_still_tell_their_events_and_ids() -> None:
    """Also if both are asked for only after the events have left the store, and their texts would have."""
    engine = Engine(RULES)
    kept = [engine.send_batch([_a(number, f"k{number}"), _b(number, f"k{number}")]) for number in range(30)]
    for number in range(20):
        engine.send_batch([_a(1000 + 20 * number, f"{number}-{n}") for n in range(100)])
    for number, found in enumerate(kept):
        (event,) = found
        again = Engine(RULES).send_batch([_a(number, f"k{number}"), _b(number, f"k{number}")])
        assert (event.attributes["k"], event.id) == (f"k{number}", next(iter(again)).id)
        assert [part.attributes["k"] for part in found.lineage(0)] == [f"k{number}"] * 2


def test_the_texts_of_detections_go_when_the_detections_go() -> None:
    """However long they were kept."""
    engine = Engine(RULES)
    kept = [engine.send_batch([_a(number, f"k{number}"), _b(number, f"k{number}")]) for number in range(500)]
    held = _texts(engine)
    del kept
    gc.collect()
    for number in range(20):
        engine.send_batch([_a(1000 + 20 * number, "other"), _b(1000 + 20 * number, "other")])
    assert held >= 500
    assert _texts(engine) < 50
