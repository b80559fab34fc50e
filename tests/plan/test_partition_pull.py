"""Push and pull: who can wait for whom, and what an event of the master opens."""

from __future__ import annotations

import pytest

from tyrex.plan import plan_rules
from tyrex.plan.partition import (
    Equality,
    Mode,
    Opening,
    PartialRule,
    PullPlan,
    Site,
    parse_partial,
    partition,
    pull_plan,
)
from tyrex.tesla import check_text

MINUTE = 60_000_000
DECLARATIONS = """
event Smoke(area: string) event Temp(area: string, value: float) event Rain(area: string, zone: string)
event A(v: int) event B(v: int) event C(v: int)
"""
FIRE = """
define Fire(area: string, measuredTemp: float)
from Smoke(area=$a) and each Temp(area=$a and value>45) within 5 min from Smoke
where area=Smoke.area and measuredTemp=Temp.value
"""
LAST = FIRE.replace("each", "last")
CHAIN = "define X() from A() and last B() within 5 min from A and last C() within 3 min from B"
EACH_CHAIN = CHAIN.replace("last", "each")
FIG_9 = {"2": {"Smoke"}, "3": {"Temp"}}
APART = {"1": {"A"}, "2": {"B"}, "3": {"C"}}
AREA = (Equality("area", "area"),)


def pull(rule: str, sites: dict[str, set[str]], mode: Mode = Mode.EXACT, **rates: float) -> PullPlan:
    """The plan for the only rule of a text, with rates by type."""
    plan = plan_rules(check_text(DECLARATIONS + rule))
    every = [Site(name, frozenset(types)) for name, types in sites.items()]
    split = partition(plan.rules, every, mode)
    by_site = {(site.name, name): rates.get(name, 1.0) for site in every for name in site.types}
    return pull_plan(plan.rules, every, split, by_site)


def test_the_rarer_event_is_the_master_and_opens_the_past() -> None:
    """The paper's example: Smoke asks for the high temperatures of its area in the five minutes before."""
    plan = pull(FIRE, FIG_9, Smoke=0.001, Temp=10)
    assert plan.master == "2"
    (slave,) = plan.slaves
    assert slave.site == "3"
    assert slave.openings == (Opening("Smoke", "Temp", 5 * MINUTE, 0, AREA),)
    assert slave.keep == 5 * MINUTE


def test_a_master_that_comes_first_opens_the_future() -> None:
    """If temperatures are rarer, each lets Smoke through for the next five minutes, and Smoke need not be kept."""
    plan = pull(FIRE, FIG_9, Smoke=10, Temp=0.001)
    assert plan.master == "3"
    (slave,) = plan.slaves
    assert slave.openings == (Opening("Temp", "Smoke", 0, 5 * MINUTE, AREA),)
    assert slave.keep == 0


def test_the_traffic_is_that_of_the_master_and_what_its_windows_let_through() -> None:
    """Windows that overlap are counted once."""
    plan = pull(FIRE, FIG_9, Smoke=0.001, Temp=10)
    assert plan.traffic == pytest.approx(0.001 + 10 * (1 - 2.718281828**-0.3))


def test_what_is_pushed_anyway_costs_nothing() -> None:
    """Then it may be the master although it comes more often."""
    plan = plan_rules(check_text(DECLARATIONS + FIRE))
    sites = [Site(name, frozenset(types)) for name, types in FIG_9.items()]
    split = partition(plan.rules, sites)
    rates = {("2", "Smoke"): 0.0005, ("3", "Temp"): 0.001}
    assert pull_plan(plan.rules, sites, split, rates).master == "2"
    found = pull_plan(plan.rules, sites, split, rates, frozenset({("3", "Temp")}))
    assert found.master == "3"
    assert found.traffic < 0.0005


def test_the_last_event_can_wait_for_a_later_one_only() -> None:
    """If C is the master, A may wait for it, but a B without a C still hides the B before it."""
    plan = pull(CHAIN, APART, C=0.0001)
    assert plan.master == "3"
    assert plan.pushed == ("2",)
    assert [(s.site, s.openings) for s in plan.slaves] == [("1", (Opening("C", "A", 0, 8 * MINUTE, ()),))]


def test_in_the_paper_any_event_waits() -> None:
    """Its rules for windows look at the order only."""
    plan = pull(CHAIN, APART, Mode.PAPER, C=0.0001)
    assert plan.pushed == ()
    assert [opening for slave in plan.slaves for opening in slave.openings] == [
        Opening("C", "A", 0, 8 * MINUTE, ()),
        Opening("C", "B", 0, 3 * MINUTE, ()),
    ]


def test_a_master_in_the_middle_opens_both_ways() -> None:
    """What is chosen by `each` comes before it, the terminator after it."""
    plan = pull(EACH_CHAIN, APART, B=0.0001)
    assert plan.master == "2"
    assert [opening for slave in plan.slaves for opening in slave.openings] == [
        Opening("B", "A", 0, 5 * MINUTE, ()),
        Opening("B", "C", 3 * MINUTE, 0, ()),
    ]


def test_branches_open_the_past_and_the_future_at_once() -> None:
    """Of two events before one and the same, either may be the first."""
    rule = "define X() from A() and each B() within 5 min from A and each C() within 3 min from A"
    plan = pull(rule, {"1": {"A"}, "2": {"B"}, "3": {"C"}}, B=0.0001)
    assert plan.slaves[1].openings == (Opening("B", "C", 3 * MINUTE, 5 * MINUTE, ()),)


def test_a_master_must_have_all_events_of_its_type() -> None:
    """An A may come from elsewhere, and need the B, too."""
    plan = pull(CHAIN, {"1": {"A"}, "2": {"B"}, "3": {"C", "A"}}, A=0.0001)
    assert plan.master == "2"
    assert [slave.site for slave in plan.slaves] == ["1", "3"]
    pair = "define X() from A() and last B() within 5 min from A"
    assert pull(pair, {"1": {"A"}, "2": {"B", "A"}}, A=0.0001).master == "2"


def test_events_of_negations_alone_are_pushed() -> None:
    """As in RACED; an event that is also needed for itself can wait with them."""
    rule = FIRE.replace("where", "and not Rain(area=$a) between Temp and Smoke where")
    apart = pull(rule, {**FIG_9, "4": {"Rain"}}, Smoke=0.001, Temp=10)
    assert apart.pushed == ("4",)
    together = pull(rule, {"2": {"Smoke"}, "3": {"Temp", "Rain"}}, Smoke=0.001, Temp=10)
    assert together.pushed == ()
    assert together.slaves[0].openings == (
        Opening("Smoke", "Temp", 5 * MINUTE, 0, AREA),
        Opening("Smoke", "Rain", 5 * MINUTE, 0, AREA),
    )


def test_values_are_passed_on_through_others() -> None:
    """B.v = A.v and C.v = A.v make C.v = B.v, if that is known when C is chosen."""
    rule = "define X() from A(v=$v) and last B(v=$v) within 5 min from A and last C(v=$v) within 3 min from B"
    plan = pull(rule, APART, B=0.0001)
    assert plan.slaves[1].openings == (Opening("B", "C", 3 * MINUTE, 0, (Equality("v", "v"),)),)
    early = (
        "define X() from A() and last B() within 5 min from A and last C() within 3 min from B and C.v = B.v"
    )
    assert pull(early, APART, A=0.0001).slaves[1].openings[0].values == ()


def test_groups_that_must_see_events_in_order_do_not_wait() -> None:
    """With consumption, what was found before decides what is found later."""
    plan = pull(LAST + "consuming Temp", FIG_9, Smoke=0.001, Temp=10)
    assert plan.master is None
    assert plan.slaves == ()
    assert plan.pushed == ("2", "3")


def test_partial_rules_can_be_pulled_below() -> None:
    """A place between may ask in the same way."""
    types = check_text(DECLARATIONS).types
    one: PartialRule = parse_partial("A() and\neach B() within 5 min from A\nsend A, B", types)
    sites = [Site("x", frozenset("A")), Site("y", frozenset("B"))]
    plan = pull_plan([one], sites, partition([one], sites), {("x", "A"): 0.001, ("y", "B"): 1.0})
    assert plan.master == "x"
    assert plan.slaves[0].openings == (Opening("A", "B", 5 * MINUTE, 0, ()),)
