from collections.abc import Iterator
from itertools import product
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plan.support import DAY, DEADLINE, HOUR, JOURNEY, MINUTE, PERIODIC, R1, R6, R7, plan_all, plan_one
from tests.plan.support import R as RULE_R

from tyrex.events import Event
from tyrex.plan import RulePlan, plan_rules
from tyrex.plan.horizon import ages, interval_reach, reaches, type_horizon
from tyrex.reference import run
from tyrex.tesla import CheckedRules, TeslaError, check_text
from tyrex.tesla.expressions import Between, Within


def test_the_terminator_is_not_kept() -> None:
    """R1 needs temperatures for five minutes and smoke only when it comes."""
    assert plan_one(R1).horizon == {"Smoke": 0, "Temp": 5 * MINUTE}


def test_windows_add_up_along_a_chain() -> None:
    """In rule R, E is at most 3 min before a B that is at most 2 min before A."""
    assert plan_one(RULE_R).horizon == {
        "A": 0,
        "B": 2 * MINUTE,
        "C": 4 * MINUTE,
        "D": 6 * MINUTE,
        "E": 5 * MINUTE,
    }


def test_an_extra_constraint_shortens_the_horizon() -> None:
    """`D within 1 min from C` binds D more tightly than its anchor."""
    plan = plan_one("""
        define X() from A() and each B() within 5 min from A and each C() within 2 min from A
        and each D() within 4 min from B and D within 1 min from C
    """)
    assert plan.horizon["D"] == 3 * MINUTE


def test_an_event_cannot_be_older_than_one_that_comes_before_it() -> None:
    """Here C comes before B and is at most 2 min old, so B is too, whatever its own window."""
    plan = plan_one("""
        define X() from A() and each B() within 5 min from A and each C() within 2 min from A
        and C within 9 min from B
    """)
    assert plan.horizon["B"] == 2 * MINUTE
    assert plan.states[1].reach == plan.states[1].age == 2 * MINUTE


def test_a_first_event_is_kept_as_long_as_it_can_be_chosen() -> None:
    """A `first B` that is too old for C is still the first, so there is no match; it must be kept."""
    plan = plan_one("""
        define X() from A() and first B() within 5 min from A and each C() within 2 min from A
        and C within 9 min from B
    """)
    assert (plan.states[1].age, plan.states[1].reach) == (2 * MINUTE, 5 * MINUTE)
    assert plan.horizon["B"] == 5 * MINUTE


def test_a_type_with_several_parts_is_kept_for_the_longest() -> None:
    """In R6a Temp is the terminator, a chosen event and negated."""
    assert plan_all(R6).rules[0].horizon == {"Temp": 5 * MINUTE}


def test_a_negation_reaches_as_far_back_as_its_interval() -> None:
    """`between` to the age of the earlier end, `within` so much further than the age of its event."""
    assert plan_one(R7).negations[0].reach == 5 * MINUTE
    journey = plan_one(JOURNEY)
    assert journey.negations[0].reach == 30 * DAY + 31 * HOUR
    assert journey.negations[1].reach == 14 * HOUR + 2 * DAY


def test_an_aggregate_reaches_as_far_back_as_its_interval() -> None:
    """The average of R6c goes back to N, which can be five minutes old."""
    assert [aggregate.reach for aggregate in plan_all(R6).rules[2].aggregates] == [5 * MINUTE, 5 * MINUTE]
    assert plan_one(PERIODIC).horizon == {"Temp": 5 * MINUTE}


def test_the_event_that_sets_a_deadline_is_kept_until_then() -> None:
    """What is anchored to it is kept so much longer."""
    assert plan_one(DEADLINE).horizon == {"Login": 17 * DAY, "Offer": 14 * DAY, "Reply": 14 * DAY}


def test_the_reach_of_an_interval_starts_from_the_age_of_its_event() -> None:
    """Ages 0, 5 and 8: an interval from event 1, 3 long, reaches 8."""
    assert interval_reach(Within(1, 3), (0, 5, 8)) == 8
    assert interval_reach(Between(2, 1), (0, 5, 8)) == 8


def test_timers_are_not_kept() -> None:
    """They come from time itself."""
    assert type_horizon([("Timer", 0), ("B", 2), ("A", 3), ("B", 1)]) == {"A": 3, "B": 2}


def test_a_rule_set_keeps_a_type_as_long_as_its_most_patient_rule() -> None:
    """The same type can have a short and a long horizon."""
    plan = plan_all("""
        define X() from A() and last B() within 1 min from A
        define Y() from A() and last B() within 3 min from A
    """)
    assert plan.horizon == {"A": 0, "B": 3 * MINUTE}


# --- Against brute force and against the reference --------------------------------------------------------

TYPES = ("A", "B", "C", "D")
Parts = tuple[list[str], list[tuple[int, int, int]]]


@st.composite
def patterns(draw: st.DrawFn) -> Parts:
    """The conjuncts of a random pattern, and its clauses: earlier event, later event, window."""
    count = draw(st.sampled_from([2, 3, 3, 4, 4]))
    conjuncts: list[str] = []
    clauses: list[tuple[int, int, int]] = []
    for index in range(1, count):
        policy = draw(st.sampled_from(["each", "last", "first", "2-first", "2-last"]))
        anchor = draw(st.integers(0, index - 1))
        window = draw(st.integers(1, 5))
        conjuncts.append(f"{policy} {TYPES[index]}() within {window} us from {TYPES[anchor]}")
        clauses.append((index, anchor, window))
    for _ in range(draw(st.integers(0, 2)) if count > 2 else 0):
        earlier, later = draw(st.permutations(range(1, count)))[:2]
        if draw(st.integers(0, 4)) == 0:
            later = 0
        window = draw(st.integers(1, 5))
        conjuncts.append(f"{TYPES[earlier]} within {window} us from {TYPES[later]}")
        clauses.append((earlier, later, window))
    if draw(st.booleans()):
        window, anchor = draw(st.integers(1, 4)), draw(st.integers(0, count - 1))
        conjuncts.append(f"not N() within {window} us from {TYPES[anchor]}")
    if draw(st.booleans()):
        conjuncts.append(f"not M() between {TYPES[draw(st.integers(1, count - 1))]} and A")
    return conjuncts, clauses


def checked(conjuncts: list[str]) -> CheckedRules | None:
    """The rule, which puts out the numbers of its events; None if it contradicts itself."""
    used = [name for name in TYPES if any(f" {name}()" in conjunct for conjunct in conjuncts)]
    declarations = "\n".join(f"event {name}(id: int)" for name in (*TYPES, "N", "M"))
    outputs = ["A", *used]
    try:
        return check_text(f"""
            {declarations}
            define X({", ".join(f"{name.lower()}: int" for name in outputs)})
            from {" and ".join(["A()", *conjuncts])}
            where {" and ".join(f"{name.lower()} = {name}.id" for name in outputs)}
        """)
    except TeslaError:
        return None


def possible_ages(count: int, clauses: list[tuple[int, int, int]]) -> Iterator[tuple[int, ...]]:
    """All ages, up to a limit that no chain of these windows exceeds, that fulfil every clause."""
    for older in product(range(16), repeat=count - 1):
        age = (0, *older)
        if all(0 <= age[earlier] - age[later] <= window for earlier, later, window in clauses):
            yield age


@settings(max_examples=80, deadline=None)
@given(patterns())
def test_the_age_of_an_event_is_the_greatest_that_is_possible(parts: Parts) -> None:
    """Trying all ages one by one gives the same bounds."""
    conjuncts, clauses = parts
    rules = checked(conjuncts)
    if rules is None:
        return
    (rule,) = rules.rules
    every = list(possible_ages(len(rule.events), clauses))
    assert ages(rule) == tuple(max(column) for column in zip(*every, strict=True))


@settings(max_examples=80, deadline=None)
@given(patterns())
def test_an_event_is_never_kept_shorter_than_it_can_be_in_a_match(parts: Parts) -> None:
    """For choosing it may be needed longer, but not longer than its own window allows."""
    rules = checked(parts[0])
    if rules is None:
        return
    (rule,) = rules.rules
    age = ages(rule)
    for event, own, reach in zip(rule.events, age, reaches(rule, age), strict=True):
        assert own <= reach
        if event.anchor is not None:
            assert reach <= age[event.anchor] + (event.window or 0)


@settings(max_examples=120, deadline=None)
@given(patterns(), st.integers(0, 2**32))
def test_forgetting_what_is_older_than_the_horizon_changes_nothing(parts: Parts, seed: int) -> None:
    """Each terminator finds the same matches in the whole history and in what the plan says must be kept."""
    rules = checked(parts[0])
    if rules is None:
        return
    (plan,) = plan_rules(rules).rules
    random = Random(seed)
    for _ in range(30):
        events = [
            Event(random.choice("BBCCDDNM"), time, {"id": number})
            for number, time in enumerate(sorted(random.choices(range(12), k=random.randint(3, 14))))
        ]
        past = [*events, Event("A", 11, {"id": len(events)})]
        assert matches(rules, kept(plan, past)) == matches(rules, past)


def kept(plan: RulePlan, past: list[Event]) -> list[Event]:
    now = past[-1].timestamp
    return [e for e in past if now - e.timestamp <= plan.horizon.get(e.type, -1)]


def matches(rules: CheckedRules, past: list[Event]) -> list[dict[str, object]]:
    """The matches of the last event of a history."""
    number = past[-1].attributes["id"]
    return [dict(c.attributes) for c in run(rules, past).composites if c.attributes["a"] == number]
