"""The horizon, held against the reference: what is older than it can be forgotten while the rules run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plan.random_rules import random_history, random_rules
from tests.plan.support import plan_all

from tyrex.events import Event
from tyrex.plan import plan_rules
from tyrex.reference import Reference
from tyrex.reference.semantics import Occurrence
from tyrex.rules import RuleSet
from tyrex.tesla import CheckedRules, check_text
from tyrex.tesla.durations import SECOND
from tyrex.testing import Case, Result, Setting, history, read_fixture

FIXTURES = sorted((Path(__file__).parents[1] / "semantics").glob("*.tesla.md"))
CASES = [case for path in FIXTURES for case in read_fixture(path) if not case.is_about_diagnostics]


class Forgetful(Reference):
    """The reference, but at every event it forgets what is older than its type's horizon.

    A forgotten event leaves an empty place in the history, so that positions stay as they are.
    """

    def __init__(self, rules: CheckedRules, horizon: Mapping[str, int], time_zone: str = "UTC") -> None:
        super().__init__(rules, time_zone=time_zone)
        self.horizon = horizon
        self.kept: list[Occurrence] = []
        self.forgotten = 0

    def _append(self, event: Event, id_: str) -> Occurrence:
        occurrence = super()._append(event, id_)
        before, self.kept = [*self.kept, occurrence], []
        for known in before:
            if event.timestamp - known.time <= self.horizon.get(known.event.type, -1):
                self.kept.append(known)
            else:
                self._history[known.position] = Occurrence(Event("", known.time), "", known.position)
                self.forgotten += 1
        return occurrence


def detect(reference: Reference, events: Sequence[Event], until: int | None = None) -> list[Event]:
    """The composite events, in order."""
    for event in sorted(events, key=lambda event: event.timestamp):
        reference.send(event)
    reference.flush(until)
    return reference.outcome.composites


def forgetful(rules: RuleSet, events: Sequence[Event], setting: Setting) -> Result:
    """A runtime that keeps events only as long as the plan says."""
    reference = Forgetful(rules.checked, rules.plan.horizon, setting.time_zone)
    composites = detect(reference, events, setting.until)
    return Result(composites, (), reference.outcome.open_deadlines)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.path.name}: {case.name}")
def test_every_fixture_passes_on_a_runtime_that_forgets(case: Case) -> None:
    """The semantics need nothing that is older than the horizon; lateness is not a matter of the plan."""
    if case.setting.delay is None:
        case.check(forgetful)


@settings(max_examples=250)
@given(st.randoms(use_true_random=True))
def test_forgetting_changes_nothing_for_any_rule_set(random: Random) -> None:
    """Also with hierarchies, recursion, timers, deadlines, consumption, negations and aggregates."""
    rules = random_rules(random)
    if rules is None:
        return
    horizon = plan_rules(rules).horizon
    for _ in range(4):
        events = random_history(random)
        assert detect(Forgetful(rules, horizon), events) == detect(Reference(rules), events)


TIGHT = {
    "a chosen event": ("define X() from A() and last B() within 3 s from A", "B@1 A@4", "B"),
    "a chain": (
        "define X() from A() and last B() within 3 s from A and last C() within 2 s from B",
        "C@1 B@3 A@6",
        "C",
    ),
    "a negation within": ("define X() from A() and not B() within 3000001 us from A", "B@1 A@4", "B"),
    "a negation between": (
        "define X() from A() and each C() within 3 s from A and not B() between C and A",
        "C@1 B@1 A@4",
        "B",
    ),
    "an aggregate within": ("define X() from A() and Count(B()) within 3 s from A = 1", "B@1 A@4", "B"),
    "an aggregate between": (
        "define X() from A() and last C() within 3 s from A and Count(B()) between C and A = 1",
        "C@1 B@1 A@4",
        "B",
    ),
    "an aggregate of an earlier event": (
        "define X() from A() and last C() within 3 s from A and Count(B()) within 2 s from C = 1",
        "B@1 C@3 A@6",
        "B",
    ),
    "a deadline": ("define X() from 3 s after O() as O and last B() within 2 s from O", "B@1 O@3 A@9", "B"),
    "a negation before a deadline": (
        "define X() from 3 s after O() as O and not B() between O and Timer",
        "O@1 B@1 A@9",
        "B",
    ),
    "a timer": ("define X() from Timer(S % 5 = 0) and Count(B()) within 3 s from Timer = 1", "B@2 A@6", "B"),
    "a first event that spoils the match": (
        """define X() from A() and first B() within 3 s from A and each C() within 1 s from A
           and C within 9 s from B""",
        "B@1 C@3 B@3.5 A@4",
        "B",
    ),
}


@pytest.mark.parametrize("name", TIGHT)
def test_a_shorter_horizon_would_be_too_short(name: str) -> None:
    """For each construct there is a history in which an event as old as the horizon decides."""
    rule, text, type_ = TIGHT[name]
    rules = check_text("event A() event B() event C() event O() " + rule)
    events = history(text.replace(" ", "() ") + "()")
    horizon = plan_all("event A() event B() event C() event O() " + rule).horizon
    whole = detect(Reference(rules), events)
    assert detect(Forgetful(rules, horizon), events) == whole
    shorter = {**horizon, type_: horizon[type_] - (SECOND if "us" not in rule else 2)}
    assert detect(Forgetful(rules, shorter), events) != whole


def test_the_random_rule_sets_are_worth_testing() -> None:
    """Most are accepted and many detect something and forget something; otherwise the tests above say little."""
    accepted = fired = forgot = 0
    for seed in range(100):
        random = Random(seed)
        rules = random_rules(random)
        if rules is not None:
            accepted += 1
            reference = Forgetful(rules, plan_rules(rules).horizon)
            fired += bool(detect(reference, random_history(random)))
            forgot += reference.forgotten > 3
    assert accepted > 50
    assert fired > 25
    assert forgot > 25
