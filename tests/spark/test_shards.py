"""Shards of a stream: any cut into micro-batches has the answer of the reference, and the state stays small."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engine.random_rules import random_history, random_rules
from tests.spark.frames import expected
from tests.spark.micro_batches import Query, answers

from tyrex import Event, parse
from tyrex.spark.shard_state import CACHE, Page, WrongState
from tyrex.testing import Case, read_fixture

FIXTURES = Path(__file__).parents[1] / "semantics"
CASES = [
    case
    for path in sorted(FIXTURES.rglob("*.tesla.md"))
    for case in read_fixture(path)
    if not case.is_about_diagnostics
]
DAY = 86_400_000_000
SECOND = 1_000_000
PAIRS = parse(
    """
    event A(k: int, v: int)
    event B(k: int, v: int)
    define Pair(k: int, v: int) from B(k = $k) and each A(k = $k and v < B.v) within 20 s from B where k = $k, v = A.v
    """
)
DEADLINES = parse(
    """
    event A(k: int)
    event B(k: int)
    define Quiet(k: int) from 30 s after A(k = $k) as O and not B(k = $k) between O and Timer where k = $k
    """
)


def cut(random: Random, events: Sequence[Event]) -> list[list[tuple[int, Event]]]:
    """Micro-batches of random size, some empty, with each event numbered by its arrival."""
    numbered = list(enumerate(events))
    ends = sorted(random.randrange(len(events) + 1) for _ in range(random.randrange(1, 6)))
    return [numbered[a:b] for a, b in zip([0, *ends], [*ends, len(events)], strict=True)]


def history(count: int, seed: int = 1, spread: int = 0) -> list[Event]:
    """Events of A and B, one a second, each up to `spread` seconds too early or too late."""
    random = Random(seed)
    return [
        Event(
            random.choice("AB"),
            (100 + second + random.randrange(-spread, spread + 1)) * SECOND,
            {"k": random.randrange(4), "v": random.randrange(50)},
        )
        for second in range(count)
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_fixture_has_the_same_answer_in_micro_batches(case: Case) -> None:
    """With a delay that lets nothing be late, however the events are cut."""
    rules = case.rules()
    events = case.events(rules)
    until, zone = case.setting.until, case.setting.time_zone
    for seed in range(3):
        random = Random(seed)
        delay = random.choice([DAY, 3000 * DAY])
        if any(b.timestamp < a.timestamp - delay for n, a in enumerate(events) for b in events[n:]):
            delay = 3000 * DAY
        query = Query(
            rules,
            delay=delay,
            shards=random.choice([1, 2, 5]),
            zone=zone,
            has_ids=any(event.id is not None for event in events),
        )
        query.start(f"{case.name} {seed}", smallest_log=random.choice([0, 1_000]))
        for batch in cut(random, events):
            query.batch(batch)
        in_order = sorted(events, key=lambda event: event.timestamp)
        assert answers(query.finish(until)) == expected(rules, in_order, until=until, time_zone=zone)


@given(st.integers(0, 2**32))
@settings(suppress_health_check=list(HealthCheck), deadline=None)
def test_random_rules_have_the_same_answer_in_micro_batches(seed: int) -> None:
    """Every construct, on random histories, with a small delay, so that events come out long before the end."""
    random = Random(seed)
    while (rules := random_rules(random)) is None:
        pass
    events = sorted(random_history(random, most=40), key=lambda event: event.timestamp)
    delay, shards = random.choice([0, 1, 5]) * SECOND, random.choice([1, 3])
    query = Query(rules, delay=delay, shards=shards, has_ids=any(event.id is not None for event in events))
    query.start(str(seed), smallest_log=random.choice([0, 500, 10_000]))
    for number, batch in enumerate(cut(random, events)):
        if random.random() < 0.3:
            query.start(f"{seed} {number}")
        query.batch(batch, partitions=random.choice([1, 2]))
    assert answers(query.finish()) == expected(rules, events)


def test_an_event_is_late_if_it_is_older_than_the_watermark_of_its_micro_batch() -> None:
    """Within a micro-batch everything is put in order; what is late is told once, with its attributes."""
    query = Query(PAIRS, delay=5 * SECOND)
    first = [Event("B", 30 * SECOND, {"k": 1, "v": 9}), Event("A", 15 * SECOND, {"k": 1, "v": 1})]
    second = [
        Event("A", 25 * SECOND, {"k": 1, "v": 2}),
        Event("A", 25 * SECOND - 1, {"k": 1, "v": 3}),
        Event("B", 31 * SECOND, {"k": 1, "v": 9}),
    ]
    query.batch(list(enumerate(first)))
    query.batch(list(enumerate(second, 2)))
    rows = query.finish()
    late = [(row["type"], row["rejected"]) for row in rows if row["rejected"] is not None]
    assert late == [("A", {"problem": "late", "attributes": [("k", "1"), ("v", "3")]})]
    kept = sorted([*first, second[0], second[2]], key=lambda event: event.timestamp)
    assert answers(rows) == expected(PAIRS, kept)


def test_simultaneous_events_of_different_micro_batches_are_in_the_order_of_their_sequence() -> None:
    """They wait until no other event of their instant can come."""
    rules = parse(
        "event A(v: int) define X(v: int) from A(v = 2) as B and last A(v < 2) as C within 1 s from B where v = C.v"
    )
    events = [Event("A", SECOND, {"v": value}) for value in (0, 1, 2)]
    query = Query(rules, delay=0)
    query.batch([(2, events[2])])
    query.batch([(1, events[1])])
    query.batch([(0, events[0])])
    assert answers(query.finish()) == expected(rules, events)
    assert len(query.rows) == 1


def test_a_shard_without_new_rows_acts_when_the_watermark_passes() -> None:
    """Deadlines and events that wait come out by timers."""
    query = Query(DEADLINES, delay=SECOND, shards=1)
    query.batch([(0, Event("A", 10 * SECOND, {"k": 1}))])
    query.batch([(1, Event("Other", 50 * SECOND, {}))])
    assert answers(query.rows) == []
    (row,) = query.batch([])
    assert (row["type"], row["Quiet"]) == ("Quiet", {"k": 1})
    assert query.state[0]["timers"] == {}


def test_a_failed_micro_batch_leaves_no_trace_in_the_workers() -> None:
    """A second attempt over the old state has the results that the first one had."""
    query = Query(PAIRS, delay=3 * SECOND)
    events = history(60)
    numbered = list(enumerate(events))
    for start in range(0, 60, 10):
        before = query.copy_state()
        query.batch(numbered[start : start + 10])
        first = query.rows[:]
        query.state = before
        again = query.attempt(numbered[start : start + 10])
        del query.rows[len(first) - len(again) :]
        query.rows.extend(again)
        assert sorted(map(str, query.rows)) == sorted(map(str, first))
    in_order = sorted(events, key=lambda event: event.timestamp)
    assert answers(query.finish()) == expected(PAIRS, in_order)


def test_two_queries_do_not_take_each_others_shards() -> None:
    """Even if they have one name: the token in the state tells them apart."""
    one, other = Query(PAIRS, delay=0), Query(PAIRS, delay=0)
    for query in (one, other):
        query.start("the same")
    histories = history(60, seed=1), history(60, seed=2)
    for start in range(0, 60, 20):
        for query, events in zip((one, other), histories, strict=True):
            query.batch(list(enumerate(events))[start : start + 20])
    for query, events in zip((one, other), histories, strict=True):
        assert answers(query.finish()) == expected(PAIRS, events)


def test_a_worker_that_is_behind_reads_only_what_it_misses() -> None:
    """Shards move between workers: one that comes back goes on with what it has."""
    query = Query(PAIRS, delay=2 * SECOND, shards=1)
    events = history(80)
    numbered = list(enumerate(events))
    before = (CACHE.rebuilt, CACHE.caught_up)
    for n, start in enumerate(range(0, 80, 10)):
        query.start(f"worker {n % 2}", smallest_log=10**9)  # a worker of its own for every other micro-batch
        query.batch(numbered[start : start + 10])
    assert (CACHE.rebuilt - before[0], CACHE.caught_up - before[1]) == (2, 6)
    assert answers(query.finish()) == expected(PAIRS, events)


def test_the_state_holds_no_more_than_a_snapshot_and_what_came_since() -> None:
    """Chunks that are processed leave it when they are larger than the last snapshot."""
    query = Query(PAIRS, delay=2 * SECOND, shards=1)
    query.start("bounded", smallest_log=1_000)
    numbered = list(enumerate(history(3_000)))
    sizes = []
    for start in range(0, 3_000, 50):
        query.batch(numbered[start : start + 50])
        state = query.state[0]
        sizes.append(sum(len(value[0]) for name in ("pieces", "chunks") for value in state[name].values()))
    assert Page(*query.state[0]["page"][()]).next_chunk == 60
    assert max(sizes[30:]) <= 1.2 * max(sizes[:30])


def test_results_travel_without_the_columns_of_other_types() -> None:
    """A result has a column for every type of composite event: what a shard hands over does not grow with them."""
    text = """
    event A(k: int, v: int)
    event B(k: int, v: int)
    define Pair(k: int, v: int)
    from B(k = $k) and each A(k = $k and v < B.v) within 20 s from B where k = $k, v = A.v
    """
    others = "".join(
        f'define Other{n}(k: int, name: string) from B(k = $k and v > 99) where k = $k, name = "none"\n'
        for n in range(30)
    )
    queries = [Query(parse(given), delay=2 * SECOND, shards=1) for given in (text, text + others)]
    events = history(400)
    for query in queries:
        query.batch(list(enumerate(events)))
        query.batch([(400, Event("B", 600 * SECOND, {"k": 1, "v": 0}))])
    one, many = queries
    assert answers(one.rows) == answers(many.rows)
    assert len(one.rows) > 200
    assert many.result_bytes == one.result_bytes


def test_state_of_other_rules_is_refused() -> None:
    """Before anything is read as what it is not."""
    query = Query(PAIRS, delay=0, shards=1)
    query.batch(list(enumerate(history(5))))
    state = query.state
    page = Page(*state[0]["page"][()])
    state[0]["page"][()] = ("others", *tuple(state[0]["page"][()])[1:])
    assert page.made_by == "rules"
    with pytest.raises(WrongState, match="made with other rules"):
        query.batch(list(enumerate(history(5))))
