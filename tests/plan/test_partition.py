"""How rules are split over sites: the examples of the deployment paper, as text, in both modes."""

from __future__ import annotations

import pytest

from tyrex.plan import plan_rules
from tyrex.plan.partition import Mode, Partition, Site, parse_partial, partition
from tyrex.tesla import check_text

DECLARATIONS = "".join(f"event {name}(v: int)\n" for name in "ABCDE")
R4 = """
define CompEvent()
from A() and last B() within 5 min from A
and last C() within 5 min from B
and last D() within 5 min from C
and last E() within 5 min from D
"""
R5 = """
define CompEvent()
from A(v=$x) and last B(v=$x) within 5 min from A and last C() within 5 min from B
"""
R6 = """
define CompEvent()
from A() and last B() within 5 min from A and last C() within 5 min from B and not D() between C and B
"""
A_B = "A() and last B() within 5 min from A send A, B"
EXAMPLES = {
    "R4 on Fig. 5": (
        R4,
        {"3": "AB", "4": "CE", "5": "D"},
        {"3": [A_B], "4": ["C() and each E() within 10 min from C send C, E"], "5": ["D() send D"]},
        {
            "3": [A_B],
            # A C without an E is still the last C
            "4": ["C() send C", "C() and each E() within 10 min from C send E"],
            "5": ["D() send D"],
        },
    ),
    "R4 on Fig. 6": (
        R4,
        {"2": "ABC", "3": "CDE"},
        {
            "2": [A_B, "C() send C"],
            "3": ["D() and last E() within 5 min from D send D, E", "C() send C"],
        },
        {
            # the last C of all is one of the last of each place
            "2": [A_B, "A() and last B() within 5 min from A and last C() within 5 min from B send C"],
            "3": ["C() send C", "D() send D", "D() and last E() within 5 min from D send E"],
        },
    ),
    "R5 on Fig. 7a": (
        R5,
        {"2": "AB", "3": "C"},
        {"2": ["A() and last B(v = A.v) within 5 min from A send A, B"], "3": ["C() send C"]},
        {"2": ["A() and last B(v = A.v) within 5 min from A send A, B"], "3": ["C() send C"]},
    ),
    "R5 on Fig. 7b": (
        R5,
        {"2": "A", "3": "BC"},
        {"2": ["A(v = v) send A"], "3": ["B() and last C() within 5 min from B send B, C"]},
        {"2": ["A(v = v) send A"], "3": ["B() send B", "B() and last C() within 5 min from B send C"]},
    ),
    "R6 on Fig. 8a": (
        R6,
        {"2": "A", "3": "BCD"},
        {
            "2": ["A() send A"],
            "3": ["B() and last C() within 5 min from B and not D() between C and B send B, C"],
        },
        {
            "2": ["A() send A"],
            "3": [
                "B() send B",
                "B() and last C() within 5 min from B send C",
                # one witness is enough
                (
                    "B() and last C() within 5 min from B and last D() within 5 min from B and "
                    "C within 5 min from D send D"
                ),
            ],
        },
    ),
    "R6 on Fig. 8b": (
        R6,
        {"2": "AB", "3": "CD"},
        {"2": [A_B], "3": ["C() send C", "D() send D"]},
        {
            "2": [A_B],
            # the first D after a C excludes all that the others do
            "3": ["C() send C", "D() and last C() within 5 min from D and not D() between C and D send D"],
        },
    ),
}


def split(rule: str, sites: dict[str, str], mode: Mode) -> Partition:
    """The only rule of a text, split."""
    plan = plan_rules(check_text(DECLARATIONS + rule))
    return partition(plan.rules, [Site(name, frozenset(types)) for name, types in sites.items()], mode)


def texts(found: Partition) -> dict[str, list[str]]:
    """The partial rules, each on one line."""
    return {share.site: [" ".join(rule.text.split()) for rule in share.rules] for share in found.shares}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_papers_examples_give_the_papers_partial_rules(name: str) -> None:
    """Section 3.4, but for its misprints."""
    rule, sites, paper, _ = EXAMPLES[name]
    assert texts(split(rule, sites, Mode.PAPER)) == paper


@pytest.mark.parametrize("name", EXAMPLES)
def test_exact_partial_rules_keep_what_the_papers_lose(name: str) -> None:
    """What hides another event is sent, even where it leads nowhere itself."""
    rule, sites, _, exact = EXAMPLES[name]
    assert texts(split(rule, sites, Mode.EXACT)) == exact


@pytest.mark.parametrize("mode", Mode)
def test_a_site_that_has_everything_gets_the_rule_itself(mode: Mode) -> None:
    """R4 at the root of Fig. 5: all types come from processor 2."""
    found = split(R4, {"2": "ABCDE", "own": ""}, mode)
    assert found.delegated == "2"
    assert found.shares == ()


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("name", EXAMPLES)
def test_partial_rules_can_be_read_again_from_their_text(name: str, mode: Mode) -> None:
    """They travel as messages."""
    rule, sites, _, _ = EXAMPLES[name]
    types = check_text(DECLARATIONS).types
    for share in split(rule, sites, mode).shares:
        for one in share.rules:
            assert parse_partial(one.text, types) == one
