from collections import Counter
from dataclasses import replace
from random import Random
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plan.random_rules import random_history, random_rules
from tests.plan.support import ITERATION, R1, R6, R7, plan_all

from tyrex.plan import RuleSetPlan, combine, feeds, plan_rule, plan_rules
from tyrex.reference import run
from tyrex.tesla import CheckedRules, check_text


def named(plan: RuleSetPlan, groups: tuple[tuple[int, ...], ...]) -> list[list[str]]:
    return [[plan.rules[number].name for number in group] for group in groups]


def test_rules_that_build_on_others_are_in_a_higher_stratum() -> None:
    """R6b and R6c use what R6a defines: R6b as a negation, R6c as an event."""
    plan = plan_all(R6)
    assert named(plan, plan.strata) == [["R6a"], ["R6b", "R6c"]]
    assert plan.recursive_groups == ()


def test_an_aggregated_type_counts_as_used() -> None:
    """A rule that only counts composite events depends on them."""
    plan = plan_all("""
        define X() from A()
        define Y() from B() and Count(X()) within 1 min from B > 3
    """)
    assert plan.strata == ((0,), (1,))


def test_a_rule_that_uses_its_own_type_is_a_recursive_group() -> None:
    """The iteration of the TESLA paper."""
    plan = plan_all(ITERATION)
    assert named(plan, plan.recursive_groups) == [["RepA_2"]]
    assert named(plan, plan.strata) == [["RepA"], ["RepA_2"], ["B"]]


def test_rules_that_use_each_other_are_one_recursive_group() -> None:
    """X needs an earlier Y and Y an earlier X; both are in one stratum, and Z above them."""
    plan = plan_all("""
        define X() from A() and last Y() within 1 min from A
        define Y() from B() and last X() within 1 min from B
        define Z() from X()
        define W() from C()
    """)
    assert plan.recursive_groups == ((0, 1),)
    assert plan.strata == ((0, 1, 3), (2,))


def test_a_stratum_is_above_everything_that_feeds_it() -> None:
    """Z uses a type of stratum 0 and one of stratum 1."""
    plan = plan_all("""
        define Z() from A() and last X() within 1 s from A and last Y() within 1 s from A
        define Y() from X()
        define X() from A()
    """)
    assert plan.strata == ((2,), (1,), (0,))


def test_rules_that_share_only_primitive_types_are_independent() -> None:
    """R1 and R7 read the same events and make the same type, but do not feed each other."""
    plan = plan_all(R1 + R7)
    assert plan.groups == ((0,), (1,))


def test_rules_that_feed_a_common_rule_are_one_group() -> None:
    """Z needs both X rules; V stands alone."""
    plan = plan_all("""
        define X() from A()
        define V() from A()
        define X() from B()
        define Z() from X()
    """)
    assert plan.groups == ((0, 2, 3), (1,))


def test_types_needed_are_those_that_rules_read() -> None:
    """Timers are not read, and what is only defined is not needed."""
    plan = plan_all(R6 + "define P(v: float) from Timer(H = 9) where v = Avg(Sun().v) within 1 h from Timer")
    assert plan.types_needed == ("NotIncrTemp", "Smoke", "Sun", "Temp")
    assert plan.types_defined == ("Fire", "NotIncrTemp", "P")


def test_feeds_tells_for_each_type_who_makes_and_who_uses_it() -> None:
    """Positions are those of deployment."""
    plan = plan_all(R6)
    assert feeds(plan.rules) == {
        "Fire": ((1, 2), ()),
        "NotIncrTemp": ((0,), (1, 2)),
        "Smoke": ((), (1, 2)),
        "Temp": ((), (0, 1, 2)),
    }


def test_plans_can_be_combined_anew() -> None:
    """A rule that is added or removed needs no new plans of the others."""
    rules = check_text(R6)
    plans = [plan_rule(rule) for rule in rules.rules]
    assert combine(plans) == plan_rules(rules)
    assert combine(plans[:1]).types_needed == ("Temp",)


@settings(max_examples=150)
@given(st.lists(st.tuples(st.integers(0, 5), st.sets(st.integers(0, 5), max_size=2)), max_size=7))
def test_strata_and_groups_are_what_they_promise(shape: list[tuple[int, set[int]]]) -> None:
    """For rules that define one of six types and use some others, compared with every way between them."""
    text = "\n".join(
        f"define X{made}() from P() "
        + " ".join(f"and last X{use} as E{use} within 1 s from P" for use in sorted(uses))
        for made, uses in shape
    )
    declared = "event P() " + " ".join(
        f"event X{i}()" for i in range(6) if all(i != made for made, _ in shape)
    )
    plan = plan_all(declared + "\n" + text)
    rules = range(len(shape))
    fed = {(maker, user) for maker in rules for user in rules if shape[maker][0] in shape[user][1]}
    leads = set(fed)
    for middle in rules:  # ways of any length
        leads |= {(a, b) for a in rules for b in rules if (a, middle) in leads and (middle, b) in leads}

    level = {rule: number for number, stratum in enumerate(plan.strata) for rule in stratum}
    assert sorted(level) == list(rules)
    for rule in rules:
        below = [level[maker] for maker, user in fed if user == rule and (rule, maker) not in leads]
        together = [level[other] for other in rules if (rule, other) in leads and (other, rule) in leads]
        assert all(level[rule] > other for other in below)
        assert all(level[rule] == other for other in together)
    recursive = {rule for rule in rules if (rule, rule) in leads}
    assert {rule for group in plan.recursive_groups for rule in group} == recursive
    for group in plan.recursive_groups:
        assert all((a, b) in leads for a in group for b in group)
    group_of = {rule: number for number, group in enumerate(plan.groups) for rule in group}
    assert all(group_of[maker] == group_of[user] for maker, user in fed)


@settings(max_examples=150)
@given(st.randoms(use_true_random=True))
def test_groups_can_run_apart(random: Random) -> None:
    """The composite events of a rule set are those of its groups, each run by itself, taken together."""
    rules = random_rules(random)
    if rules is None:
        return
    groups = plan_rules(rules).groups
    for _ in range(2):
        events = random_history(random)
        apart: Counter[str | None] = Counter()
        for group in groups:
            alone = replace(rules, rules=tuple(rules.rules[number] for number in group))
            apart += Counter(event.id for event in run(alone, events).composites)
        assert apart == Counter(event.id for event in run(rules, events).composites)


def test_no_rules_make_an_empty_plan() -> None:
    """Everything is empty then."""
    plan = plan_rules(CheckedRules())
    assert (plan.rules, plan.strata, plan.groups, dict(plan.horizon)) == ((), (), (), {})


def test_a_long_chain_of_rules_has_as_many_strata() -> None:
    """Depth is no problem: nothing recurses."""
    text = "define X0() from A()\n" + "\n".join(f"define X{i + 1}() from X{i}()" for i in range(3000))
    plan = plan_all(text)
    assert len(plan.strata) == 3001
    assert len(plan.groups) == 1


@pytest.mark.parametrize("users", [True, False])
def test_many_rules_about_one_type_cost_linear_time(users: bool) -> None:
    """A thousand makers and a thousand users of a type are a million pairs, but not a million steps."""
    text = "\n".join(f"define Fire() from Temp(value > {i})" for i in range(1000))
    if users:
        text += "\n".join(f"\ndefine Alarm{i}() from Fire()" for i in range(1000))
    plans = [plan_rule(rule) for rule in check_text(text).rules]
    start = perf_counter()
    plan = combine(plans)
    assert perf_counter() - start < 1
    assert len(plan.groups) == (1 if users else 1000)
