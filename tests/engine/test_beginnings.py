"""Beginnings of matches that are kept from one terminator to the next: they change the work, never the answer."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tyrex import Engine, Event, parse
from tyrex.engine.deploy import _RuleWriter
from tyrex.reference import run

TYPES = "event A(k: int, v: int)\nevent B(k: int, v: int)\nevent C(k: int, v: int)\n"


def _rule(pattern: str, given: str = "C(k = $k)") -> str:
    used = [name for name in "abc" if f"{name.upper()}(" in given + pattern]
    declared = ", ".join(f"{name}: int" for name in used)
    values = ", ".join(f"{name} = {name.upper()}.v" for name in used)
    return f"{TYPES}define Found({declared}) from {given} and {pattern} where {values}"


B = "each B(k = $k) within 9 s from C"
KEPT = {
    "last before each": f"{B} and last A(k = $k) within 3 s from B",
    "first before each": f"{B} and first A(k = $k and v > 2) within 3 s from B",
    "each before each": f"{B} and each A(k = $k) within 2 s from B",
    "the second last": f"{B} and 2-last A(k = $k) within 5 s from B",
    "a comparison with the nearer event": f"{B} and last A(k = $k and v > B.v) within 5 s from B",
    "no key": "each B(v > 1) within 4 s from C and last A(v > 3) within 2 s from B",
    "a negation up to the terminator": (
        f"{B} and last A(k = $k) within 3 s from B and not A(k = $k and v > 3) between B and C"
    ),
    "a negation before": f"{B} and last A(k = $k) within 3 s from B and not C() between A and B",
    "an aggregate": f"{B} and last A(k = $k) within 3 s from B and Count(A(k = $k)) within 5 s from C > 2",
}
FOUND_ANEW = {
    "last is not each": "last B(k = $k) within 9 s from C and last A(k = $k) within 3 s from B",
    "one event": "each B(k = $k) within 9 s from C",
    "a comparison with the terminator": "each B(k = $k) within 9 s from C and last A(v > C.v) within 3 s from B",
    "its own comparison with the terminator": "each B(v > C.v) within 9 s from C and last A(k = B.k) within 3 s from B",
    "another key of the terminator": "each B(v = C.v) within 9 s from C and last A(k = C.k) within 3 s from B",
    "both before the terminator": "each B(k = $k) within 9 s from C and last A(k = $k) within 3 s from C",
}


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What was decided about each rule that was deployed."""
    decisions: list[bool] = []
    decide = _RuleWriter._keeps_beginnings

    def record(self: _RuleWriter, given: int) -> bool:
        decisions.append(decide(self, given))
        return decisions[-1]

    monkeypatch.setattr(_RuleWriter, "_keeps_beginnings", record)
    return decisions


@pytest.mark.parametrize("pattern", KEPT.values(), ids=KEPT)
def test_they_are_kept_where_they_are_the_same_for_all_terminators(pattern: str, chosen: list[bool]) -> None:
    """What goes before the event nearest to the terminator depends on that event alone."""
    Engine(_rule(pattern))
    assert chosen == [True]


@pytest.mark.parametrize("pattern", FOUND_ANEW.values(), ids=FOUND_ANEW)
def test_they_are_not_kept_where_the_terminator_decides(pattern: str, chosen: list[bool]) -> None:
    """Or where there is nothing to keep, or where only one event is chosen anyway."""
    Engine(_rule(pattern))
    assert chosen == [False]


def test_they_are_not_kept_by_a_rule_that_consumes(chosen: list[bool]) -> None:
    """What it has found before may be gone."""
    Engine(_rule(KEPT["last before each"]) + " consuming A")
    assert chosen == [False]


def _history(random: Random, length: int) -> Iterator[Event]:
    time = 0
    for _ in range(length):
        time += random.choice((0, 100_000, 300_000, 700_000, 4_000_000 if random.random() < 0.1 else 0))
        kind = random.choices("ABC", (3, 4, 2))[0]
        yield Event(kind, time, {"k": random.choice((0, 1, None)), "v": random.randrange(6)})


@given(st.integers(0, 2**32), st.sampled_from([*KEPT.values(), *FOUND_ANEW.values()]))
@settings(max_examples=150)
def test_the_answer_is_that_of_the_reference(seed: int, pattern: str) -> None:
    """With many terminators over one window, in batches, and with a snapshot in between."""
    random = Random(seed)
    rules = parse(_rule(pattern))
    events = list(_history(random, 80))
    cut, again = sorted(random.randrange(80) for _ in range(2))
    engine = Engine(rules)
    found = [str(event) for event in engine.send_batch(events[:cut])]
    engine = Engine.restore(engine.snapshot())
    found += [str(event) for event in engine.send_batch(events[cut:again])]
    for event in events[again:]:
        found += [str(each) for each in engine.send_batch([event])]
    assert found == [str(event) for event in run(rules.checked, events).composites]


def test_a_rule_that_takes_the_place_of_another_does_not_see_what_that_has_kept() -> None:
    """The beginnings of a rule go with it."""
    engine = Engine(TYPES)
    pattern = "each B(k = $k) within 90 s from C and last A(k = $k) within 30 s from B"
    events = [Event(kind, time * 1_000_000, {"k": 1, "v": time}) for time, kind in enumerate("ABC")]
    for _ in range(3):
        engine.deploy("Rule one " + _rule(pattern).removeprefix(TYPES))
        assert len(engine.send_batch(events)) == 1
        engine.undeploy("one")
        events = [Event(e.type, e.timestamp + 3_000_000, e.attributes) for e in events]
