"""The engine and the reference give the same answers, to the event: on random rules and random histories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.random_rules import DECLARATIONS, out_of_order, random_history, random_rules, random_text

from tyrex import Engine, Event, RuleSet, TeslaError, parse
from tyrex.engine.layout import DoesNotFit
from tyrex.reference.semantics import Reference
from tyrex.testing.runtimes import Setting, on_process, on_reference

seeds = st.integers(0, 2**32)
CASES = settings.default.max_examples if settings.default else 100


def _described(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(str(event), event.id, event.rule) for event in events]


def _some_rules(random: Random) -> RuleSet:
    while (rules := random_rules(random, joined=random.random() < 0.4)) is None:
        pass
    return rules


def _threads(random: Random) -> int:
    """How many threads the engine has: whatever it is, the answer is the same."""
    return random.choice([1, 1, 2, 3])


@given(seeds)
@settings(max_examples=6 * CASES)
def test_one_batch_gives_what_the_reference_gives(seed: int) -> None:
    """Composites with ids and lineage, late events and open deadlines, with and without a delay."""
    random = Random(seed)
    rules = _some_rules(random)
    events = random_history(random)
    delay = random.choice([None, None, 2_000_000, 0])
    if delay is not None:
        events = out_of_order(random, events)
    zone = random.choice(["UTC", "Asia/Kathmandu"])
    setting = Setting(delay, random.choice([None, 20_000_000]), zone)
    wanted = on_reference(rules, events, setting)
    found = on_process(rules, events, setting, threads=_threads(random))
    assert _described(list(found.composites)) == _described(list(wanted.composites))
    assert list(found.late) == list(wanted.late)
    assert found.open_deadlines == wanted.open_deadlines
    for id_, parts in wanted.lineage.items():
        assert [(p.type, p.timestamp) for p in found.lineage[id_]] == [(p.type, p.timestamp) for p in parts]


@given(seeds)
@settings(max_examples=3 * CASES)
def test_batches_of_every_size_give_the_same(seed: int) -> None:
    """One by one, in batches of any size, through a snapshot at any point: what comes out does not change."""
    random = Random(seed)
    rules = _some_rules(random)
    delay = random.choice([0, 2])
    events = out_of_order(random, random_history(random)) if delay else random_history(random)
    whole = Engine(rules, delay=delay)
    sent = whole.send_batch(events)
    wanted = _described([*sent, *whole.flush()])

    engine = Engine(rules, delay=delay, threads=_threads(random))
    found: list[Event] = []
    late: list[Event] = []
    at = 0
    while at < len(events):
        size = random.choice([1, 1, 2, 3, 7])
        part = events[at : at + size]
        if size == 1 and part[0].id is None and random.random() < 0.5:
            one = part[0]
            seconds = one.timestamp / 1_000_000
            found += engine.send(one.type, timestamp=seconds, id=None, **one.attributes)
        else:
            detections = engine.send_batch(part)
            found += detections
            late += detections.late
        at += size
        if random.random() < 0.3:
            engine = Engine.restore(engine.snapshot())
    found += engine.flush()
    assert _described(found) == wanted
    assert engine.stats().late == len(sent.late)


@given(seeds)
@settings(max_examples=3 * CASES)
def test_rules_that_come_and_go_see_what_the_reference_says(seed: int) -> None:
    """A rule deployed on the way sees what comes after it; the others go on as if nothing had happened."""
    random = Random(seed)
    first = _some_rules(random)
    second = random_text(random, most=2).removeprefix(DECLARATIONS)
    for number in range(3, -1, -1):
        second = second.replace(f"X{number}", f"X{number + 4}")
    events = _told_apart(random_history(random, most=40, until=16))
    cuts = sorted(random.choices(range(len(events) + 1), k=2))

    engine, reference = Engine(first, threads=_threads(random)), Reference(first.checked)
    parts = (events[: cuts[0]], events[cuts[0] : cuts[1]], events[cuts[1] :])
    found: list[Event] = []
    names: list[str] = []
    for number, part in enumerate(parts):
        found += engine.send_batch(part)
        for event in part:
            reference.send(event)
        if number == 0:
            try:
                names = engine.deploy(second)
            except (TeslaError, DoesNotFit):
                return
            reference.deploy(engine.rules.checked)
        if number == 1:
            name = random.choice([*names, *(rule.name for rule in first)])
            try:
                engine.undeploy(name)
            except ValueError:
                continue  # others build on it
            reference.deploy(engine.rules.checked)
    found += engine.flush()
    reference.flush()
    assert _described(found) == _described(reference.outcome.composites)


def _told_apart(events: Sequence[Event]) -> list[Event]:
    """Events with ids where several are equal: those that came before any rule looked at them are not counted."""
    seen: Counter[str] = Counter()
    found = []
    for event in events:
        seen[str(event)] += 1
        copy = seen[str(event)]
        found.append(event if copy == 1 or event.id is not None else replace(event, id=f"{event}#{copy}"))
    return found


def test_the_random_rules_use_every_construct() -> None:
    """What is never generated is never compared."""
    text = " ".join(random_text(Random(seed)) for seed in range(300))
    words = (
        "each last first 2-last 2-first not between consuming after Timer( Avg( Sum( Min( Max( Count( StdDev( Var( "
        "First( Last( CountDistinct( sqrt( pow( least( greatest( coalesce( if( lower( upper( concat( round("
    ).split()
    assert [word for word in words if word not in text] == []


def test_a_rule_that_cannot_be_deployed_changes_nothing() -> None:
    """Bad text is refused as a whole."""
    engine = Engine(
        parse(DECLARATIONS + "define X(k: int) from A() where k = A.k"), delay=timedelta(seconds=1)
    )
    with pytest.raises(TeslaError):
        engine.deploy("define Y(k: int) from Nothing() where k = 1")
    assert [rule.name for rule in engine.rules] == ["X"]
