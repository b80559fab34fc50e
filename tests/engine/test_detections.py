"""What a call has found: a sequence of events, tables, and answers that stay the same for good."""

from __future__ import annotations

import copy
import gc
import pickle
from dataclasses import replace

import pyarrow as pa
import pytest

from tyrex import Detections, Engine, Event
from tyrex.engine import Composite

RULES = """
event Temp(area: string, value: float)
event Smoke(area: string, n: int, sure: bool)
Rule fire
define Fire(area: string, value: float, n: int, sure: bool)
from   Smoke(area = $a) and each Temp(area = $a and value > 45) within 5 min from Smoke
where  area = $a, value = Temp.value, n = Smoke.n, sure = Smoke.sure
Rule hot define Hot(area: string) from Temp(value > 60) where area = Temp.area
Rule smoky define Hot(area: string) from Smoke() where area = Smoke.area
"""
SECOND = 1_000_000


def _temp(second: int, area: str, value: float | None, id_: str | None = None) -> Event:
    return Event("Temp", second * SECOND, {"area": area, "value": value}, id_)


def _smoke(second: int, area: str, n: int | None = None, *, sure: bool | None = None) -> Event:
    return Event("Smoke", second * SECOND, {"area": area, "n": n, "sure": sure})


EVENTS = [_temp(1, "A1", 50.0), _temp(2, "A1", 70.0), _smoke(3, "A1", 7, sure=True), _smoke(4, "A1")]
FOUND = [
    'Hot@2(area="A1")',
    'Fire@3(area="A1", value=50.0, n=7, sure=true)',
    'Fire@3(area="A1", value=70.0, n=7, sure=true)',
    'Hot@3(area="A1")',
    'Fire@4(area="A1", value=50.0, n=null, sure=null)',
    'Fire@4(area="A1", value=70.0, n=null, sure=null)',
    'Hot@4(area="A1")',
]


def _all_of(found: Detections) -> list[tuple[str, str | None, str | None, list[str]]]:
    """Everything that can be asked of detections."""
    told: list[tuple[str, str | None, str | None, list[str]]] = []
    for event in found:
        assert isinstance(event, Composite)
        told.append((str(event), event.id, event.rule, [f"{part} {part.id}" for part in event.lineage]))
    return told


# A sequence


def test_detections_are_a_sequence_in_order() -> None:
    """By index from both ends, by slice, with a length and a truth."""
    found = Engine(RULES).send_batch(EVENTS)
    assert [str(event) for event in found] == FOUND
    assert len(found) == 7
    assert str(found[0]) == FOUND[0]
    assert str(found[-1]) == FOUND[-1]
    assert [str(event) for event in found[1:6:2]] == FOUND[1:6:2]
    assert [str(event) for event in reversed(found)] == FOUND[::-1]
    assert found
    assert not Engine(RULES).send_batch([])
    assert repr(found) == "<7 composite events>"


@pytest.mark.parametrize("index", [7, -8, 10**30])
def test_an_index_beyond_the_end_is_an_error(index: int) -> None:
    """As for any sequence."""
    found = Engine(RULES).send_batch(EVENTS)
    with pytest.raises(IndexError):
        found[index]


def test_a_composite_is_an_event_like_others() -> None:
    """It is equal to an event with the same fields, in both directions, and differs where one differs."""
    (event,) = Engine(RULES).send("Temp", timestamp=1, area="A1", value=70.0)
    plain = Event("Hot", SECOND, {"area": "A1"}, event.id, "hot")
    assert event == plain
    assert plain == event
    assert event != replace(plain, id="other")
    assert event != "Hot"
    assert isinstance(event, Event)


def test_a_composite_can_be_pickled_and_copied() -> None:
    """What comes back is a plain event that needs no engine."""
    (event,) = Engine(RULES).send("Temp", timestamp=1, area="A1", value=70.0)
    for twin in (pickle.loads(pickle.dumps(event)), copy.copy(event), copy.deepcopy(event)):
        assert twin == event
        assert type(twin) is Event


def test_a_composite_can_be_changed_as_any_event() -> None:
    """By `dataclasses.replace`, which gives another event."""
    (event,) = Engine(RULES).send("Temp", timestamp=1, area="A1", value=70.0)
    assert replace(event, id="other").id == "other"


def test_the_lineage_of_a_composite_is_in_the_order_of_its_rule() -> None:
    """The terminator first, with the ids that went into its own."""
    found = Engine(RULES).send_batch([_temp(1, "A1", 50.0, "t"), _smoke(2, "A1")])
    fire = found[0]
    assert isinstance(fire, Composite)
    smoke, temp = fire.lineage
    assert (smoke.type, smoke.timestamp, smoke["area"]) == ("Smoke", 2 * SECOND, "A1")
    assert temp == _temp(1, "A1", 50.0, "t")


# Tables


def test_tables_have_the_composites_of_each_type() -> None:
    """In order, with their times, rules and attributes in declared types; nulls are null."""
    tables = Engine(RULES).send_batch(EVENTS).tables()
    assert sorted(tables) == ["Fire", "Hot"]
    fire = tables["Fire"]
    assert fire.num_rows == 4
    assert fire.column("timestamp").cast(pa.int64()).to_pylist() == [
        second * SECOND for second in (3, 3, 4, 4)
    ]
    assert fire.schema.field("timestamp").type == pa.timestamp("us", "UTC")
    assert fire.column("value").to_pylist() == [50.0, 70.0, 50.0, 70.0]
    assert fire.column("n").to_pylist() == [7, 7, None, None]
    assert fire.column("sure").to_pylist() == [True, True, None, None]
    assert fire.column("area").to_pylist() == ["A1"] * 4
    assert tables["Hot"].column("rule").to_pylist() == ["hot", "smoky", "smoky"]


@pytest.mark.parametrize("threads", [1, 2])
def test_tables_have_the_ids_that_the_events_have(threads: int) -> None:
    """Row by row, whichever is asked first."""
    found = Engine(RULES, threads=threads).send_batch(EVENTS)
    columns = {name: table.column("id").to_pylist() for name, table in found.tables().items()}
    for name, ids in columns.items():
        assert ids == [event.id for event in found if event.type == name]


def test_attributes_with_names_that_tables_have_taken_are_told_apart() -> None:
    """As in the files that `tyrex run` writes."""
    engine = Engine('event A(v: int) define M(id: int, rule: string) from A() where id = A.v, rule = "x"')
    table = engine.send_batch([Event("A", SECOND, {"v": 7})]).tables()["M"]
    assert table.column_names == ["timestamp", "id", "rule", "attributes.id", "attributes.rule"]
    assert table.column("attributes.id").to_pylist() == [7]
    assert table.column("rule").to_pylist() == ["M"]


def test_tables_of_nothing_are_none() -> None:
    """A type that did not occur has no table."""
    assert Engine(RULES).send_batch([]).tables() == {}


def test_tables_outlive_detections_and_engine() -> None:
    """They have memory of their own."""
    engine = Engine(RULES)
    tables = engine.send_batch(EVENTS).tables()
    engine.send_batch([_temp(1000, "B2", 99.0)])
    del engine
    gc.collect()
    assert tables["Fire"].column("value").to_pylist() == [50.0, 70.0, 50.0, 70.0]
    tables["Fire"].validate(full=True)


# Detections that are kept


def test_detections_that_are_kept_give_the_same_answers_for_good() -> None:
    """Though windows have passed, rules are gone and new texts stand where old ones stood."""
    engine = Engine(RULES)
    early = engine.send_batch(EVENTS)
    untouched = engine.send_batch([_temp(5, "C3", 80.0), _smoke(6, "C3")])
    wanted = _all_of(early)
    twin = Engine(RULES)
    twin.send_batch(EVENTS)
    wanted_untouched = _all_of(twin.send_batch([_temp(5, "C3", 80.0), _smoke(6, "C3")]))
    for n in range(20):
        engine.send_batch([_temp(1000 * n + i, f"{n}-{i}", 70.0) for i in range(1000, 2000)])
    engine.undeploy("fire")
    engine.undeploy("hot")
    engine.deploy("Rule cold define Cold(area: string) from Temp(value < 0) where area = Temp.area")
    engine.send("Temp", timestamp=100_000, area="new", value=-1.0)
    assert _all_of(early) == wanted
    assert _all_of(untouched) == wanted_untouched


def test_detections_outlive_their_engine() -> None:
    """Whoever has them needs nothing else."""
    engine = Engine(RULES)
    found = engine.send_batch(EVENTS)
    wanted = _all_of(Engine(RULES).send_batch(EVENTS))
    del engine
    gc.collect()
    assert _all_of(found) == wanted


def test_one_event_of_many_detections_keeps_its_answers() -> None:
    """Where the detections themselves were dropped."""
    engine = Engine(RULES)
    event = engine.send_batch(EVENTS)[2]
    wanted = _all_of(Engine(RULES).send_batch(EVENTS))[2]
    for n in range(2000):
        engine.send("Temp", timestamp=1000 + n, area=f"{n}", value=70.0)
    gc.collect()
    assert isinstance(event, Composite)
    assert (str(event), event.id, event.rule, [f"{part} {part.id}" for part in event.lineage]) == wanted


def test_events_that_leave_the_windows_within_a_batch_are_still_known() -> None:
    """One call may span hours; what was detected in its first minutes has its ids and lineage all the same."""
    stream = [
        event for n in range(3000) for event in (_temp(400 * n, f"{n}", 50.0), _smoke(400 * n + 1, f"{n}"))
    ]
    together = Engine(RULES).send_batch(stream)
    engine = Engine(RULES)
    apart = [told for event in stream for told in _all_of(engine.send_batch([event]))]
    assert _all_of(together) == apart
