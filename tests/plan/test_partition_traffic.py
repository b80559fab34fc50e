"""How many events the small examples send: counted by hand."""

from __future__ import annotations

import pytest
from tests.plan.deployment import Deployed, sent
from tests.plan.test_partition import DECLARATIONS, R4, R6

from tyrex import Engine, Event, parse
from tyrex.plan.partition import Mode, Site, partition


def deployed(history: str, sites: dict[str, str]) -> list[Deployed]:
    """Events such as `A@10`, each from the only site of its type."""
    found = []
    for row, word in enumerate(history.split()):
        name, time = word.split("@")
        site = next(site for site, types in sites.items() if name in types)
        event = Event(name, int(time) * 1_000_000, {"v": row}, id=word)
        found.append(Deployed(row, event, site))
    return found


def arrivals(rule: str, sites: dict[str, str], history: str, mode: Mode) -> str:
    """What the sites send, in the order of time."""
    rules = parse(DECLARATIONS + rule)
    split = partition(rules.plan.rules, [Site(name, frozenset(types)) for name, types in sites.items()], mode)
    events = deployed(history, sites)
    found = [
        e
        for share in split.shares
        for e in sent(share.rules, [e for e in events if e.leaf == share.site], rules.types)
    ]
    return " ".join(e.event.id or "" for e in sorted(found, key=lambda e: e.row))


def matches(rule: str, arrived: str) -> int:
    """How many composites follow from events."""
    engine = Engine(DECLARATIONS + rule)
    return len(engine.send_batch([e.event for e in deployed(arrived, {"all": "ABCDE"})]))


K_LAST = """
define X() from A() and 2-last B() within 5 min from A and last C() within 5 min from A
"""
COUNT = """
define X(n: int) from A() and last C() within 5 min from A where n = Count(B()) within 1 min from A
"""
COUNT_BETWEEN = """
define X(n: int) from A() and each C() within 5 min from A and each D() within 1 min from A
where n = Count(B()) between C and A
"""
NOT_WITHIN = """
define X() from A() and last C() within 5 min from A and not B() within 1 min from A
"""
EACH = """
define X() from A() and each B() within 5 min from A and each C() within 5 min from B
"""
FIG_5 = {"3": "AB", "4": "CE", "5": "D"}
COUNTED = {
    # an A without B is left out, and a B that is not the last before an A; the C without an E hides others
    "R4 on Fig. 5": (
        R4,
        FIG_5,
        "E@0 C@60 D@90 C@100 B@120 B@150 A@180 B@200 A@1000 C@2000 E@3000 D@3001",
        "E@0 C@60 D@90 C@100 B@150 A@180 D@3001",
        "E@0 C@60 D@90 C@100 B@150 A@180 C@2000 D@3001",
    ),
    # the B that a D excludes hides the one before it; one D is enough
    "R6 on Fig. 8a": (
        R6,
        {"2": "A", "3": "BCD"},
        "C@0 B@5 D@8 D@10 B@20 A@30",
        "C@0 B@5 A@30",
        "C@0 B@5 D@10 B@20 A@30",
    ),
    # only the first D after a C, if it is near enough
    "R6 on Fig. 8b": (
        R6,
        {"2": "AB", "3": "CD"},
        "D@0 C@1 D@10 D@15 C@20 D@400",
        "D@0 C@1 D@10 D@15 C@20 D@400",
        "C@1 D@10 C@20",
    ),
    # the two last, and none where there are not two
    "two last": (
        K_LAST,
        {"2": "AB", "3": "C"},
        "B@0 B@1 B@2 A@3 B@1000 A@1001",
        "B@1 A@3",
        "B@1 B@2 A@3",
    ),
    "a count before a known event": (
        COUNT,
        {"2": "AB", "3": "C"},
        "B@0 B@100 C@101 A@130 B@131",
        "B@0 B@100 C@101 A@130 B@131",
        "B@100 C@101 A@130",
    ),
    # those after a C that can still be its beginning; the end of the stretch is not known there
    "a count after a known event": (
        COUNT_BETWEEN,
        {"2": "AD", "3": "BC"},
        "B@0 C@1 B@2 B@301 B@302 D@303 A@304",
        "B@0 C@1 B@2 B@301 B@302 D@303 A@304",
        "C@1 B@2 B@301 D@303 A@304",
    ),
    # the end of the window is excluded: B@70 is a minute before A@130. A@220 is excluded, and B@210 says so
    # to a parent that has A@220 for the sake of another rule
    "a negation within": (
        NOT_WITHIN,
        {"2": "AB", "3": "C"},
        "B@70 A@130 B@200 B@210 A@220",
        "A@130",
        "A@130 B@210",
    ),
    # what is chosen by `each` is left out if it leads nowhere
    "each": (
        EACH,
        {"2": "BC", "3": "A"},
        "B@0 C@10 B@20 B@400 A@401",
        "C@10 B@20 A@401",
        "C@10 B@20 A@401",
    ),
    "a type that comes from nowhere": (EACH, {"2": "B", "3": "A"}, "B@0 A@1", "B@0 A@1", ""),
}


@pytest.mark.parametrize("name", COUNTED)
def test_no_more_is_sent_than_the_mode_needs(name: str) -> None:
    """In `paper` what its partial rules say, in `exact` nothing that exactness does not need."""
    rule, sites, history, paper, exact = COUNTED[name]
    assert arrivals(rule, sites, history, Mode.PAPER) == paper
    assert arrivals(rule, sites, history, Mode.EXACT) == exact


WRONG = {
    "a C that leads nowhere": (R4, FIG_5, "E@0 D@50 C@310 C@605 B@608 A@610"),
    "a B that a D excludes": (R6, {"2": "A", "3": "BCD"}, "C@0 B@5 D@10 B@20 A@30"),
}


@pytest.mark.parametrize("name", WRONG)
def test_leaving_out_what_hides_another_event_makes_composites_that_are_not(name: str) -> None:
    """The parent would take an older event for the last one."""
    rule, sites, history = WRONG[name]
    assert matches(rule, history) == 0
    assert matches(rule, arrivals(rule, sites, history, Mode.PAPER)) == 1
    assert matches(rule, arrivals(rule, sites, history, Mode.EXACT)) == 0


IN_ORDER = {
    "consuming": "define X() from A() and each B() within 5 min from A and last C() within 5 min from B consuming B",
    "deadline": "define X() from 5 min after A() and each B() within 5 min from A and not C() between A and Timer",
    "recursion": """
        define X(v: int) from A() and each B() within 5 min from A and last X() within 5 min from A and
        last C() within 5 min from A where v = A.v""",
}


@pytest.mark.parametrize("name", IN_ORDER)
def test_where_order_counts_nothing_is_held_back(name: str) -> None:
    """What is sent is sent when it comes, and the terminator without a B is still left out."""
    rules = parse(DECLARATIONS + IN_ORDER[name])
    split = partition(rules.plan.rules, [Site("2", frozenset("AB")), Site("3", frozenset("C"))])
    assert split.in_order
    assert not split.holds
    assert split.hold == 0
    texts = [" ".join(rule.text.split()) for rule in split.share("2")]
    assert "A() and last B() within 5 min from A send A" in texts
    assert "B() send B" in texts


def test_with_consumption_no_selection_is_known() -> None:
    """The last C may be gone, so any C with an E counts for the terminator."""
    rules = parse(
        DECLARATIONS
        + "define X() from A() and last C() within 5 min from A and each E() within 5 min from C "
        + "and last B() within 5 min from A consuming C"
    )
    split = partition(rules.plan.rules, [Site("2", frozenset("ACE")), Site("3", frozenset("B"))])
    assert [" ".join(rule.text.split()) for rule in split.share("2")] == [
        "A() and each C() within 5 min from A and last E() within 5 min from C send A",
        "C() send C",
        "E() send E",
    ]


def test_a_last_event_is_sent_though_another_does_not_fit_it() -> None:
    """That no C fits the last B does not make an older B the last one; that there is no C at all ends it."""
    rules = parse(
        DECLARATIONS
        + "define X() from A() and last B() within 5 min from A and last C(v = B.v) within 5 min from A "
        + "and last D() within 5 min from A"
    )
    split = partition(rules.plan.rules, [Site("2", frozenset("ABC")), Site("3", frozenset("D"))])
    texts = [" ".join(rule.text.split()) for rule in split.share("2")]
    assert "A() and last B() within 5 min from A and last C() within 5 min from A send B" in texts
    fitting = "last B() within 5 min from A and last C(v = B.v) within 5 min from A"
    assert f"A() and {fitting} send A" in texts


def test_rules_that_feed_each_other_stay_together() -> None:
    """What the group makes comes from nowhere else, so nobody else combines it."""
    rules = parse(
        DECLARATIONS
        + "define X(v: int) from A() and last B() within 5 min from A where v = A.v "
        + "define Y() from X() and each C() within 5 min from X"
    )
    here, there = Site("2", frozenset("AB")), Site("3", frozenset("C"))
    split = partition(rules.plan.rules, [here, there])
    assert split.delegated is None
    assert split.in_order
    assert [str(rule) for rule in split.share("3")] == ["C()\nsend C"]
    assert (
        partition(rules.plan.rules, [Site("2", frozenset("ABC")), Site("own", frozenset("E"))]).delegated
        == "2"
    )


def test_a_held_event_is_sent_with_the_one_it_waits_for() -> None:
    """How long that may be is the sum of the windows between."""
    rules = parse(DECLARATIONS + R4)
    sites = [Site("4", frozenset("CE")), Site("5", frozenset("ABD"))]
    split = partition(rules.plan.rules, sites)
    assert split.holds
    assert [rule.hold for rule in split.share("4")] == [0, 600_000_000]
    assert split.share("4")[1].horizon == {"C": 0, "E": 600_000_000}
