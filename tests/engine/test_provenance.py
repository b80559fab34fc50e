"""Why a composite event is there: `Engine.why`."""

from __future__ import annotations

import gc
import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.random_rules import random_history, random_rules

from tyrex import Engine, Event
from tyrex.engine import Composite, Provenance, UnknownEvent
from tyrex.reference.semantics import Reference

RULES = """
event Temp(area: string, value: float)
event Smoke(area: string)
event Rain(area: string)

Rule fire
define Fire(area: string, value: float)
from   Smoke(area = $a) as S and last Temp(area = $a and value > 45) within 5 min from S
where  area = $a, value = Temp.value

Rule alarm
define Alarm(area: string)
from   10 min after Fire(area = $a) as F and not Rain(area = $a) between F and Timer
where  area = $a
"""

TREE = """\
Alarm@620(area="A1")  by rule alarm
├─ Timer@620#{timer}(S=20, M=10, H=0, D=4, Day=1, Month=1, Year=1970)
└─ F: Fire@20(area="A1", value=50.0)  by rule fire
   ├─ S: Smoke@20#s(area="A1")
   └─ Temp@10#t(area="A1", value=50.0)"""


def _plain(event: Event) -> Event:
    return Event(event.type, event.timestamp, dict(event.attributes), event.id, event.rule)


def _fire(engine: Engine, *, ids: bool = True) -> Event:
    engine.send("Temp", timestamp=10, area="A1", value=50.0, id="t" if ids else None)
    (fire,) = engine.send("Smoke", timestamp=20, area="A1", id="s" if ids else None)
    return fire


def test_the_parts_of_a_composite_have_their_roles_and_stand_in_the_order_of_the_pattern() -> None:
    """The terminator comes first; an event is called by its name in the rule."""
    fire = _fire(Engine(RULES))
    told = Engine(RULES).why(fire)
    assert told.rule == "fire"
    assert told.event == fire
    assert [(part.role, str(part.event)) for part in told.parts] == [
        ("S", 'Smoke@20#s(area="A1")'),
        ("Temp", 'Temp@10#t(area="A1", value=50.0)'),
    ]
    assert [part.event.id for part in told.parts] == ["s", "t"]


def test_a_composite_part_is_expanded_from_detections_that_are_known() -> None:
    """What an earlier call detected explains itself if it is given along."""
    engine = Engine(RULES)
    engine.send("Temp", timestamp=10, area="A1", value=50.0, id="t")
    fires = engine.send_batch([Event("Smoke", 20_000_000, {"area": "A1"}, "s")])
    alarms = engine.flush(until=620)
    told = engine.why(alarms[0], known=[fires])
    assert str(told) == TREE.format(timer=told.parts[0].event.id)
    assert [node.event.type for node in told.walk()] == ["Alarm", "Timer", "Fire", "Smoke", "Temp"]


def test_a_composite_part_is_expanded_from_the_same_call() -> None:
    """One batch that makes both needs nothing else."""
    engine = Engine(RULES)
    events = [
        Event("Temp", 10_000_000, {"area": "A1", "value": 50.0}, "t"),
        Event("Smoke", 20_000_000, {"area": "A1"}, "s"),
        Event("Rain", 1_000_000_000, {"area": "A1"}),
    ]
    _, alarm = engine.send_batch(events)
    told = engine.why(alarm)
    assert str(told) == TREE.format(timer=told.parts[0].event.id)


def test_a_composite_part_is_found_again_in_what_is_stored() -> None:
    """Without detections the rule is evaluated again, and the id tells that these are the events."""
    engine = Engine(RULES)
    _fire(engine, ids=False)
    gc.collect()
    told = engine.why(engine.flush(until=620)[0])
    assert [str(part.event.type) for part in told.parts[1].parts] == ["Smoke", "Temp"]
    assert told.parts[1].note == ""


def test_a_part_that_can_not_be_expanded_any_more_says_so() -> None:
    """The smoke has left the store, and nobody has kept the detections."""
    engine = Engine(RULES)
    _fire(engine)
    engine.send("Smoke", timestamp=500, area="B2")
    told = engine.why(engine.flush(until=620)[0])
    assert told.parts[1].parts == ()
    assert "not stored any more" in told.parts[1].note
    assert "not stored any more" in str(told)


def test_an_equal_event_or_its_id_does_as_well() -> None:
    """As long as the engine stores what it was made of."""
    engine = Engine(RULES)
    fire = _plain(_fire(engine, ids=False))
    assert fire.id is not None
    wanted = engine.why(fire)
    assert [part.event.type for part in wanted.parts] == ["Smoke", "Temp"]
    assert engine.why(fire.id) == wanted


def test_an_equal_event_is_found_among_known_detections() -> None:
    """By its id, which the detections have."""
    engine = Engine(RULES)
    engine.send("Temp", timestamp=10, area="A1", value=50.0)
    detections = engine.send_batch([{"type": "Smoke", "timestamp": 20, "area": "A1"}])
    plain = _plain(detections[0])
    engine.send("Smoke", timestamp=5_000, area="B2")
    assert engine.why(plain, known=[detections]) == engine.why(detections[0])


def test_where_sources_give_ids_an_equal_event_is_found_without_them() -> None:
    """What is stored can be matched by type, time and values, and the answer says what it does not know."""
    engine = Engine(RULES)
    told = engine.why(_plain(_fire(engine)))
    assert [part.event.id for part in told.parts] == [None, None]
    assert "without the ids" in told.note


def test_an_event_that_is_not_known_any_more_is_an_error_that_says_what_to_do() -> None:
    """The events it was made of have left the store."""
    engine = Engine(RULES)
    fire = _plain(_fire(engine))
    engine.send("Smoke", timestamp=5_000, area="B2")
    with pytest.raises(UnknownEvent, match="`known`"):
        engine.why(fire)
    with pytest.raises(UnknownEvent, match="0123"):
        engine.why("0123")


def test_an_event_from_outside_was_made_by_no_rule() -> None:
    """Its tree is a leaf."""
    told = Engine(RULES).why(Event("Temp", 1, {"area": "A1", "value": 1.0}))
    assert (told.parts, told.note) == ((), "no rule made it")


def test_the_tree_as_json_has_everything() -> None:
    """Types, ISO timestamps, attributes, ids, roles and rules; infinite numbers as texts."""
    engine = Engine(RULES)
    engine.send("Temp", timestamp=10, area="A1", value=float("inf"), id="t")
    (fire,) = engine.send("Smoke", timestamp=20, area="A1", id="s")
    told = json.loads(json.dumps(engine.why(fire).to_dict(), allow_nan=False))
    assert told == {
        "type": "Fire",
        "timestamp": "1970-01-01T00:00:20.000000Z",
        "attributes": {"area": "A1", "value": "Infinity"},
        "id": fire.id,
        "rule": "fire",
        "parts": [
            {
                "type": "Smoke",
                "timestamp": "1970-01-01T00:00:20.000000Z",
                "attributes": {"area": "A1"},
                "id": "s",
                "role": "S",
            },
            {
                "type": "Temp",
                "timestamp": "1970-01-01T00:00:10.000000Z",
                "attributes": {"area": "A1", "value": "Infinity"},
                "id": "t",
                "role": "Temp",
            },
        ],
    }


def test_a_rule_that_was_undeployed_still_explains_what_it_made() -> None:
    """The roles stay known as long as the detections are."""
    engine = Engine(RULES.split("Rule alarm", maxsplit=1)[0])
    fire = _fire(engine)
    engine.undeploy("fire")
    assert [part.role for part in engine.why(fire).parts] == ["S", "Temp"]


def _leaves_are_right(told: Provenance, lineage: dict[str, tuple[Event, ...]]) -> None:
    for node in told.walk():
        if node.parts:
            assert node.event.id is not None
            wanted = [(e.type, e.timestamp, dict(e.attributes)) for e in lineage[node.event.id]]
            found = [(p.event.type, p.event.timestamp, dict(p.event.attributes)) for p in node.parts]
            assert str(found) == str(wanted)


@given(st.integers(0, 2**32))
@settings(max_examples=60)
def test_every_tree_agrees_with_the_lineage_of_the_reference(seed: int) -> None:
    """At every level, from detections and from what is stored, for composites and for their ids."""
    random = Random(seed)
    while (rules := random_rules(random)) is None:
        pass
    engine, reference = Engine(rules), Reference(rules.checked)
    for event in random_history(random):
        found = engine.send_batch([event])
        reference.send(event)
        for composite in found:
            assert isinstance(composite, Composite)
            told = engine.why(composite)
            assert told.event == composite
            assert told.parts
            _leaves_are_right(told, reference.outcome.lineage)
            try:
                again = engine.why(composite.id)
            except UnknownEvent:
                continue  # sources gave ids, which can't be read from the store
            _leaves_are_right(again, reference.outcome.lineage)
