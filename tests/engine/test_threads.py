"""An engine with several threads gives what one with one thread gives: the same events, in the same order."""

from __future__ import annotations

import gc
import pickle
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.random_rules import (
    DECLARATIONS,
    out_of_order,
    random_history,
    random_rules,
    random_text,
)
from tests.engine.twins import Twins, described

from tyrex import Engine, Event, RuleSet, TeslaError, parse
from tyrex.engine import Cause, QueuedEngine, UnknownEvent
from tyrex.engine.engine import RuleInUse, UnknownRule
from tyrex.engine.layout import DoesNotFit
from tyrex.tesla.durations import SECOND

CASES = settings.default.max_examples if settings.default else 100

TYPES = """
event Temp(area: string, value: float)
event Smoke(area: string)
event Rain(area: string)
"""
FIRES = (
    TYPES
    + """
rule fire define Fire(area: string, value: float)
from Smoke(area = $a) and each Temp(area = $a and value > 45) within 5 s from Smoke and
     not Rain(area = $a) between Temp and Smoke
where area = $a, value = Temp.value
rule again define Again(area: string)
from Fire(area = $a) as Now and last Fire(area = $a) as Before within 10 s from Now where area = $a
rule most define Most(n: int) from Smoke() where n = Count(Temp() within 5 s from Smoke)
rule mostly define Mostly(n: int) from Most(n > 2) where n = Most.n
rule hot define Hot(area: string) from Temp(value > 55) where area = Temp.area
rule silence define Silence(area: string)
from 3 s after Temp(area = $a) as T and not Temp(area = $a) between T and Timer where area = $a
rule every define Every(n: int) from Timer(S % 5 == 0) where n = Count(Smoke() within 5 s from Timer)
"""
)
"""Divided by a key, in one kernel, with a hierarchy in each; stateless; a deadline and a timer."""


def fire_events(count: int = 400, areas: int = 6, *, seed: int = 0) -> list[Event]:
    random = Random(seed)
    events = []
    for number in range(count):
        type_ = random.choice(["Temp", "Temp", "Temp", "Smoke", "Rain", "Unknown"])
        attributes: dict[str, str | float | None] = {"area": random.choice([*map(str, range(areas)), None])}
        if type_ == "Temp":
            attributes["value"] = random.choice([40.0, 50.0, 60.0])
        events.append(Event(type_, number * SECOND // 4, attributes))
    return events


def fire_table(events: list[Event]) -> pa.Table:
    return pa.table(
        {
            "type": [event.type for event in events],
            "timestamp": pa.array([event.timestamp for event in events], pa.timestamp("us", "UTC")),
            "area": [event.get("area") for event in events],
            "value": pa.array([event.attributes.get("value") for event in events], pa.float64()),
        }
    )


# --- What is detected ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_all_kinds_of_rules_give_the_same_in_the_same_order(threads: int) -> None:
    """In one batch that is large enough for threads to be used, and in the flush after it."""
    twins = Twins(FIRES, threads)
    assert twins.divided
    found = twins.send_batch(fire_events())
    assert {event.type for event in found} == {"Fire", "Again", "Most", "Mostly", "Hot", "Silence", "Every"}
    twins.flush(200)


@pytest.mark.parametrize("size", [1, 7, 150])
def test_the_size_of_batches_does_not_matter(size: int) -> None:
    """Small ones are worked off without threads."""
    twins = Twins(FIRES, 2)
    events = fire_events()
    for at in range(0, len(events), size):
        twins.send_batch(events[at : at + size])
    twins.flush()


def test_events_one_by_one() -> None:
    """Each goes to the kernels that need it."""
    twins = Twins(FIRES, 2)
    found = [twins.send(event) for event in fire_events(120)]
    assert any(found)


@pytest.mark.parametrize("how", ["texts", "long texts", "dictionary", "chunks", "slice"])
def test_tables_are_divided_whatever_their_layout(how: str) -> None:
    """Texts are hashed by their content."""
    table = fire_table(fire_events())
    at = table.column_names.index("area")
    if how == "long texts":
        table = table.set_column(at, "area", table.column("area").cast(pa.large_string()))
    elif how == "dictionary":
        table = table.set_column(at, "area", table.column("area").dictionary_encode())
    elif how == "chunks":
        table = pa.concat_tables([table.slice(0, 100), table.slice(100)])
    elif how == "slice":
        table = table.slice(3)
    twins = Twins(FIRES, 2)
    assert len(twins.send_batch(table))
    twins.flush()


def test_events_of_the_same_instant_keep_their_order() -> None:
    """What one event sets off in several kernels comes together before what the next one sets off."""
    events = [Event(e.type, SECOND, e.attributes) for e in fire_events(200)]
    twins = Twins(FIRES, 3)
    assert len(twins.send_batch(events)) > 100
    twins.flush(10)


def test_what_events_set_off_is_in_the_order_of_rules_level_by_level() -> None:
    """Rules with and without a key alternate, as do the rules that look at what they make."""
    text = TYPES + "".join(
        f"""
        define K{n}(area: string) from Smoke(area = $a) and last Temp(area = $a) within 9 s from Smoke where area = $a
        define W{n}(area: string) from Smoke() and last Temp(value > {n}) within 9 s from Smoke where area = Smoke.area
        define KK{n}(area: string) from K{n}(area = $a) and last Temp(area = $a) within 9 s from K{n} where area = $a
        define WW{n}(area: string) from W{n}() and last Temp() within 9 s from W{n} where area = W{n}.area
        """
        for n in range(3)
    )
    twins = Twins(text, 2)
    twins.send_batch([Event("Temp", 0, {"area": "x", "value": 50.0})])
    found = twins.send_batch([Event("Smoke", SECOND, {"area": "x"})])
    assert [event.type for event in found] == [
        *("K0", "W0", "K1", "W1", "K2", "W2"),
        *("KK0", "WW0", "KK1", "WW1", "KK2", "WW2"),
    ]


# --- Keys ---------------------------------------------------------------------------------------------------


def test_equal_numbers_meet_whatever_their_types_are() -> None:
    """1 joins 1.0, and 0.0 joins -0.0; a number beyond what a float can hold joins nothing near it."""
    twins = Twins(
        """
        event A(k: int) event B(k: float) event C(k: float)
        define X(k: int) from A() and last B(k = A.k) within 1 h from A where k = A.k
        define Y(k: float) from C() and last B(k = C.k) within 1 h from C where k = C.k
        """,
        8,
    )
    assert twins.divided
    numbers = [0, 1, -1, 7, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]
    events = [Event("B", n, {"k": float(value)}) for n, value in enumerate(numbers)]
    events += [Event("B", 20, {"k": -0.0}), Event("B", 21, {"k": 0.5}), Event("B", 22, {"k": float("inf")})]
    events += [Event("A", 30 + n, {"k": value}) for n, value in enumerate(numbers)]
    events += [
        Event("C", 50 + n, {"k": value}) for n, value in enumerate([0.0, -0.0, 0.5, float("inf"), 3.5])
    ]
    assert [event["k"] for event in twins.send_batch(events)] == [
        *(0, 1, -1, 7, 2**53, -(2**63)),
        *(0.0, -0.0, 0.5, float("inf")),
    ]


def test_null_has_a_place_too() -> None:
    """It joins nothing, and still is a match by itself."""
    twins = Twins(
        "event A(k: string) event B(k: string) define X() from A() and not B(k = A.k) within 1 s from A", 4
    )
    assert twins.divided
    events = [Event("B", 0, {"k": None}), Event("A", 1, {"k": None}), Event("A", 2, {"k": "x"})]
    assert len(twins.send_batch(events)) == 2


def test_a_key_may_be_a_bool_or_the_timestamp() -> None:
    """Simultaneous events join on their time."""
    twins = Twins(
        """
        event A(b: bool) event B(b: bool)
        define X() from A() and last B(b = A.b) within 1 s from A
        define Y() from A() and last B(timestamp = A.timestamp) within 1 s from A
        """,
        3,
    )
    events = [Event("AB"[n % 2], n // 3, {"b": n % 5 > 2}) for n in range(40)]
    assert {event.type for event in twins.send_batch(events)} == {"X", "Y"}


def test_equal_events_are_told_apart_as_ever() -> None:
    """Their ids count them, so they have to be in one place: also where no key says in which."""
    twins = Twins(
        "event A(k: int) event B(k: int) define X() from A() define Y() from B() and last A(k = B.k) within 1 s from B",
        4,
    )
    found = twins.send_batch([Event("A", 5, {"k": 1})] * 3 + [Event("B", 6, {"k": 1})] * 2)
    assert len({event.id for event in found}) == 5


def test_more_composites_than_places_between_two_events() -> None:
    """One event makes 70,000 that others look at: then the places in the order run ahead, and nothing else changes."""
    text = """
        event A(k: int) event B(k: int) event C(k: int)
        define Pair(k: int) from A() and each B(k = A.k) within 1 h from A and each C(k = A.k) within 1 h from A
        where k = A.k
        define Two(k: int) from A() and 2-last Pair(k = A.k) within 1 h from A where k = A.k
    """
    one, many = Engine(text), Engine(text, threads=2)
    events = [Event("B", n, {"k": n % 2}) for n in range(530)] + [
        Event("C", n + 530, {"k": n % 2}) for n in range(530)
    ]
    events += [Event("A", 2000 + n, {"k": n % 2}) for n in range(4)]
    found = [engine.send_batch(events) for engine in (one, many)]
    assert len(found[0]) == len(found[1]) > 4 * 70_000
    assert found[0].tables()["Two"].equals(found[1].tables()["Two"])


# --- Late events, time, state -------------------------------------------------------------------------------


@pytest.mark.parametrize("delay", [0, 2, 30])
def test_late_events_are_the_same(delay: float) -> None:
    """Every kernel knows what time it is, though it sees a part of the events."""
    events = fire_events()
    random = Random(1)
    for _ in range(60):
        i, j = random.randrange(len(events)), random.randrange(len(events))
        events[i], events[j] = events[j], events[i]
    twins = Twins(FIRES, 2, delay=delay)
    for at in range(0, len(events), 90):
        twins.send_batch(events[at : at + 90])
    assert twins.many.stats().late
    twins.advance(80)
    twins.flush(130)


def test_timers_fire_where_no_event_of_theirs_comes() -> None:
    """Time moves on with the events of other kernels."""
    twins = Twins(FIRES, 2)
    twins.send_batch(
        [Event("Temp", 0, {"area": "x", "value": 1.0}), Event("Rain", 60 * SECOND, {"area": "y"})]
    )
    assert twins.many.stats().rules["every"].fired
    assert twins.many.stats().rules["silence"].fired == 1


def test_a_snapshot_remembers_how_events_are_divided() -> None:
    """Also those that wait; the engine that is restored has the same threads."""
    events = out_of_order(Random(2), fire_events())
    twins = Twins(FIRES, 3, delay=5)
    for at in range(0, len(events), 50):
        twins.send_batch(events[at : at + 50])
        twins.restore()
        assert twins.many.threads == 3
    assert twins.many.stats().waiting
    twins.flush(200)


def test_stats_are_sums_and_count_what_all_know_once() -> None:
    """Events, late, unused and waiting ones."""
    twins = Twins(FIRES, 2, delay=1)
    twins.send_batch(fire_events())
    twins.send_batch([Event("Temp", 0, {"area": "x", "value": 1.0})])
    one, many = twins.one.stats(), twins.many.stats()
    assert (many.late, many.waiting, many.unused) == (one.late, one.waiting, one.unused)
    assert 0 not in (many.late, many.waiting, many.unused)
    assert many.bytes > 0
    assert many.stored >= one.stored  # what several places look at is stored in each


# --- Rules that come and go, subscriptions ------------------------------------------------------------------


def test_rules_can_be_added_where_they_fit() -> None:
    """To rules with the same key, behind those they build on, to the timers, or to a kernel of their own."""
    twins = Twins(FIRES, 2)
    events = fire_events(600)
    twins.send_batch(events[:200])
    assert twins.deploy("""
        rule third define Third(area: string)
        from Again(area = $a) and last Fire(area = $a) within 9 s from Again where area = $a
        rule pair define Pair(area: string)
        from Temp() as P and last Temp(value = P.value) as Q within 2 s from P where area = P.area
        rule often define Often(n: int) from Timer(S % 3 == 0) where n = Count(Temp() within 3 s from Timer)
        rule whole define Whole(n: int) from Rain() where n = Count(Smoke() within 5 s from Rain)
    """)
    twins.send_batch(events[200:400])
    twins.restore()
    for name in ("pair", "third", "whole", "silence"):
        twins.do("undeploy", name)
    found = twins.send_batch(events[400:])
    assert "Often" in {event.type for event in found}
    twins.flush()


def test_a_rule_that_does_not_fit_is_refused_and_changes_nothing() -> None:
    """It would have to see fires of all areas, which are in different kernels."""
    twins = Twins(FIRES, 2)
    events = fire_events()
    twins.send_batch(events[:200])
    with pytest.raises(DoesNotFit, match="make the engine with threads=1, or with all the rules at once"):
        twins.many.deploy("define Two() from Fire() as P and last Fire() as Q within 5 s from P")
    assert "Two" not in twins.many.rules.types
    twins.send_batch(events[200:])
    twins.flush()


def test_a_new_rule_sees_the_events_that_wait_for_the_watermark() -> None:
    """They were sent to kernels that it is not in."""
    events = fire_events(100)
    twins = Twins(
        TYPES + "define Hot(area: string) from Temp(value > 55) where area = Temp.area", 2, delay=10
    )
    twins.send_batch(events)
    assert twins.many.stats().waiting > 30
    assert twins.deploy(
        "rule most define Most(n: int) from Smoke() where n = Count(Temp() within 5 s from Smoke)"
    )
    assert twins.deploy(
        "define Wet(area: string) from Rain() and last Temp(area = Rain.area) within 3 s from Rain "
        "where area = Rain.area"
    )
    twins.do("undeploy", "most")
    assert twins.deploy(
        "rule most define Most(n: int) from Smoke() where n = Count(Rain() within 5 s from Smoke)"
    )
    found = twins.flush()
    assert {event.type for event in found} == {"Hot", "Most", "Wet"}


def test_rules_can_be_paused() -> None:
    """In all of their kernels."""
    twins = Twins(FIRES, 2)
    events = fire_events()
    for name, at in (("fire", 0), ("most", 100), ("silence", 200)):
        twins.do("pause", name)
        twins.send_batch(events[at : at + 50])
        twins.do("resume", name)
        twins.send_batch(events[at + 50 : at + 100])
    with pytest.raises(UnknownRule):
        twins.many.pause("nothing")
    with pytest.raises(RuleInUse):
        twins.many.undeploy("fire")


def test_subscribers_hear_the_same_in_the_same_order() -> None:
    """Each event once, though several kernels look at it; events from outside and composite ones."""
    twins = Twins(FIRES, 2)
    for filter_ in (
        "Temp(value > 45)",
        "Smoke()",
        "Fire(area = '1')",
        "Again()",
        "Mostly()",
        "Silence()",
        "Temp()",
    ):
        twins.subscribe(filter_)
    number = twins.subscribe("Hot()")
    events = fire_events()
    twins.send_batch(events[:200])
    twins.do("unsubscribe", number)
    twins.deploy(
        "define Wet(area: string) from Rain() and last Temp(area = Rain.area) within 3 s from Rain "
        "where area = Rain.area"
    )
    twins.subscribe("Wet()")
    twins.do("undeploy", "hot")
    twins.send_batch(events[200:])
    twins.flush()
    assert len({line.split(":")[0] for line in twins.heard[1]}) == 9


def test_a_type_that_rules_of_several_places_make_is_heard_once_each() -> None:
    """And events of it that come from outside, too."""
    twins = Twins(
        TYPES
        + """
        define Out(area: string) from Smoke(area = $a) and last Temp(area = $a) within 9 s from Smoke where area = $a
        define Out(area: string) from Smoke() and last Temp(value > 50) within 9 s from Smoke where area = "w"
        define Out(area: string) from 1 s after Smoke() as S where area = "d"
        """,
        2,
    )
    twins.subscribe("Out()")
    twins.send_batch(fire_events(100))
    twins.send_batch([Event("Out", 100 * SECOND, {"area": "outside"})])
    twins.flush()
    assert sum("outside" in line for line in twins.heard[1]) == 1


# --- Detections and explanations ----------------------------------------------------------------------------


def test_detections_can_be_read_in_every_way() -> None:
    """By number, from the end, in slices, pickled, and after the engine has gone on or is gone."""
    engine = Engine(FIRES, threads=2)
    found = engine.send_batch(fire_events())
    whole = described(list(found))
    assert len(found) == len(whole)
    assert described([found[-1]]) == whole[-1:]
    assert described(found[5:25:3]) == whole[5:25:3]
    with pytest.raises(IndexError):
        found[len(found)]
    assert described(pickle.loads(pickle.dumps(list(found[:9])))) == whole[:9]
    engine.send_batch(fire_events(seed=3))
    del engine
    gc.collect()
    assert described(list(found)) == whole


def test_tables_have_ids_and_attributes_of_the_same_names_do_not_hide_them() -> None:
    """An attribute called `id` or `rule` is in a column that says it is an attribute."""
    text = """
        event A(k: int, id: string)
        define X(id: string, rule: int, k: int) from A() as P and last A(k = P.k) as Q within 1 s from P
        where id = P.id, rule = 1, k = P.k
    """
    for threads in (1, 2):
        found = Engine(text, threads=threads).send_batch(
            [Event("A", n, {"k": n % 3, "id": f"own{n}"}) for n in range(9)]
        )
        table = found.tables()["X"]
        assert table.column_names == ["timestamp", "id", "rule", "attributes.id", "attributes.rule", "k"]
        assert table["id"].to_pylist() == [event.id for event in found]
        assert table["rule"].to_pylist() == ["X"] * len(found)
        assert table["attributes.id"].to_pylist() == [event["id"] for event in found]


def test_why_knows_all_places() -> None:
    """It finds what events were made of in detections, whatever kernel they come from."""
    twins = Twins(FIRES, 2)
    found = twins.send_batch(fire_events(120))
    for event in found[-60:]:
        assert str(twins.many.why(event)) == str(twins.one.why(event))


ALONE = {
    "Fire": ("fire", "again", "hot"),
    "Again": ("fire", "again", "hot"),
    "Most": ("most", "mostly"),
    "Silence": ("silence", "every"),
    "Every": ("silence", "every"),
}
"""The rules of each place."""


def alone(name: str) -> Engine:
    """An engine that has only the rules of one place: it keeps what that place keeps."""
    engine = Engine(FIRES)
    for rule in [*reversed([rule.name for rule in engine.rules])]:
        if rule not in ALONE[name]:
            engine.undeploy(rule)
    return engine


@pytest.mark.parametrize("name", ["Fire", "Most", "Silence"])
def test_an_id_is_enough_for_why_while_its_events_are_stored(name: str) -> None:
    """In the kernels of one place or in the only one."""
    many, one = Engine(FIRES, threads=2), alone(name)
    asked = 0
    for event in fire_events(120):
        one.send_batch([event])
        for made in many.send_batch([event]):
            if made.type == name:
                told = _why(many, made.id)
                assert told == _why(one, made.id)
                asked += told is not None
    assert asked > 3


def _why(engine: Engine, id_: str | None) -> str | None:
    try:
        return str(engine.why(id_ or ""))
    except UnknownEvent:
        return None


@pytest.mark.parametrize("name", list(ALONE))
def test_why_not_unites_what_the_kernels_of_a_rule_hold(name: str) -> None:
    """Terminators and candidates of all areas, in their order."""
    many, one = Engine(FIRES, threads=2), alone(name)
    events = fire_events(200, areas=3)
    for engine in (one, many):
        engine.send_batch(events[:70])
        engine.send_batch(events[70:])
    compared = 0
    for quarter in range(4 * 35, 4 * 50):
        found, wanted = (engine.why_not(name, at=quarter / 4) for engine in (many, one))
        if Cause.FORGOTTEN not in (
            found.cause,
            wanted.cause,
        ):  # how much longer events stay than needed is open
            assert str(found) == str(wanted)
            compared += 1
    assert compared


def test_a_rule_deployed_later_is_explained_from_its_own_time() -> None:
    """Events before it do not count for it, in any of its kernels."""
    twins = Twins(FIRES, 2)
    events = fire_events(200, areas=2)
    twins.send_batch(events[:100])
    twins.deploy(
        "define Wet(area: string) from Rain() and last Temp(area = Rain.area) within 30 s from Rain "
        "where area = Rain.area"
    )
    twins.send_batch(events[100:])
    for moment in range(20, 50):
        one, many = twins.one.why_not("Wet", at=moment), twins.many.why_not("Wet", at=moment)
        assert [[a.cause for a in r.attempts] for r in many.rules] == [
            [a.cause for a in r.attempts] for r in one.rules
        ]


# --- The rest -----------------------------------------------------------------------------------------------


def test_behind_a_queue() -> None:
    """The queue's own thread shares the work with the engine's."""
    wanted = described(list(Engine(FIRES).send_batch(fire_events())))
    found: list[Event] = []
    with QueuedEngine(Engine(FIRES, threads=2), on_detections=found.extend) as queue:
        queue.send_batch(fire_table(fire_events()))
        assert queue.drain()
        assert queue.call(lambda engine: engine.threads) == 2
    assert described(found) == wanted


@pytest.mark.parametrize("threads", [0, -1])
def test_there_is_at_least_one_thread(threads: int) -> None:
    """Otherwise nobody would work."""
    with pytest.raises(ValueError, match=f"threads must be at least 1, found {threads}"):
        Engine("", threads=threads)


def test_functions_that_python_computes_work_in_every_thread() -> None:
    """Changing the case of texts needs Python, which one thread at a time can use."""
    twins = Twins(
        TYPES
        + """
        define X(area: string)
        from Temp(area = $a) and last Smoke(area = $a and lower(area) != "3") within 9 s from Temp
        where area = upper(concat($a, "é"))
        """,
        2,
    )
    assert twins.divided
    assert len(twins.send_batch(fire_events()))


def _rules(random: Random) -> RuleSet:
    while True:
        rules = random_rules(random, most=5, joined=random.random() < 0.8)
        if rules is not None:
            return rules


@given(st.integers(0, 2**32))
@settings(max_examples=4 * CASES)
def test_random_lives_are_the_same(seed: int) -> None:
    """Random rules and events, batches of all kinds, snapshots, rules and subscribers that come and go."""
    random = Random(seed)
    delay = random.choice([0, 0, 2])
    twins = Twins(_rules(random), random.choice([2, 3]), delay=delay)
    events = random_history(random, most=60, until=20)
    if delay:
        events = out_of_order(random, events)
    subscriptions: list[int] = []
    at = 0
    while at < len(events):
        size = random.choice([1, 1, 2, 5, 20])
        if size == 1:
            twins.send(events[at])
        else:
            twins.send_batch(events[at : at + size])
        at += size
        match random.choice(range(12)):
            case 0:
                twins.restore()
                subscriptions.clear()
            case 1:
                twins.advance(events[at - 1].timestamp / SECOND + 1 if at <= len(events) else 20)
            case 2:
                _add_rules(random, twins)
            case 3:
                _remove_a_rule(random, twins)
            case 4 if len(twins.many.rules):
                name = random.choice([rule.name for rule in twins.many.rules])
                twins.do(random.choice(["pause", "resume"]), name)
            case 5:
                types = [name for name in twins.many.rules.types if name != "Timer"]
                subscriptions.append(
                    twins.subscribe(f"{random.choice(types)}({random.choice(['', 'k > 0'])})")
                )
            case 6 if subscriptions:
                twins.do("unsubscribe", subscriptions.pop(random.randrange(len(subscriptions))))
    twins.flush()


def _add_rules(random: Random, twins: Twins) -> None:
    text = random_text(random, most=2, joined=random.random() < 0.7).removeprefix(DECLARATIONS)
    for number in range(1, -1, -1):
        text = text.replace(
            f"X{number}", f"Y{random.randrange(10**6)}" if random.random() < 0.5 else f"X{number}"
        )
    try:
        parse(text, known=twins.one.rules)
    except TeslaError:
        return
    twins.deploy(text)


def _remove_a_rule(random: Random, twins: Twins) -> None:
    names = [rule.name for rule in twins.many.rules]
    if not names:
        return
    name = random.choice(names)
    try:
        twins.one.undeploy(name)
    except RuleInUse:
        with pytest.raises(RuleInUse):
            twins.many.undeploy(name)
        return
    twins.many.undeploy(name)
