"""The invariant of partial rules: what is sent gives the composite events that all events would give."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plan.deployment import Deployed, composites, forwarded, pulled, random_scenario

from tyrex.plan.partition import Mode, parse_partial, partition

seeds = st.integers(0, 2**32)
CASES = settings.default.max_examples if settings.default else 100
DEPLOYMENTS = 3 * CASES if CASES <= 100 else CASES


def with_others(random: Random, found: list[Deployed], every: tuple[Deployed, ...]) -> list[Deployed]:
    """What was sent, and some of the events that were not."""
    rows, share = {e.row for e in found}, random.choice((0.1, 0.5, 0.9))
    return [e for e in every if e.row in rows or random.random() < share]


@given(seeds)
@settings(max_examples=DEPLOYMENTS)
def test_what_is_sent_gives_what_all_events_give(seed: int) -> None:
    """With ids, over two levels of sites, and also if other events come along."""
    random = Random(seed)
    scenario = random_scenario(random)
    if scenario is None:
        return
    wanted = composites(scenario, scenario.history)
    found, _ = forwarded(scenario, Mode.EXACT)
    assert composites(scenario, found) == wanted
    for _ in range(3):
        assert composites(scenario, with_others(random, found, scenario.history)) == wanted


@given(seeds)
@settings(max_examples=DEPLOYMENTS)
def test_pulling_leaves_out_nothing_that_matters(seed: int) -> None:
    """Whichever site is the master, what the windows let through gives what all events give."""
    random = Random(seed)
    scenario = random_scenario(random)
    if scenario is None:
        return
    wanted = composites(scenario, scenario.history)
    found, _ = pulled(scenario, random)
    assert composites(scenario, found) == wanted
    assert composites(scenario, with_others(random, found, scenario.history)) == wanted


@given(seeds)
@settings(max_examples=CASES)
def test_every_partial_rule_can_be_read_again(seed: int) -> None:
    """Whatever conditions it has."""
    scenario = random_scenario(Random(seed))
    if scenario is None:
        return
    for mode in Mode:
        split = partition([rule.plan for rule in scenario.rules], scenario.sites, mode)
        for share in split.shares:
            for rule in share.rules:
                again = parse_partial(rule.text, scenario.rules.types)
                assert again == rule, rule.text
                assert hash(again) == hash(rule)


def test_the_random_deployments_are_worth_testing() -> None:
    """Many detect something, send less than all, and pull; otherwise the tests above say little."""
    fired = dropped = events = pulls = pulled_less = 0
    for seed in range(150):
        random = Random(seed)
        scenario = random_scenario(random)
        if scenario is not None:
            fired += bool(composites(scenario, scenario.history))
            found, _ = forwarded(scenario, Mode.EXACT)
            events += len(scenario.history)
            dropped += len(scenario.history) - len(found)
            asked, some = pulled(scenario, random)
            pulls += some
            pulled_less += some and len(asked) < len(found)
    assert fired > 35
    assert dropped > events / 5
    assert pulls > 20
    assert pulled_less > 10


def test_the_papers_partial_rules_are_not_exact() -> None:
    """They let a choice be revised, which it never is; the exact ones are right each time."""
    wrong = dict.fromkeys(Mode, 0)
    for seed in range(400):
        scenario = random_scenario(Random(seed))
        if scenario is not None:
            wanted = composites(scenario, scenario.history)
            for mode in Mode:
                found, _ = forwarded(scenario, mode)
                wrong[mode] += composites(scenario, found) != wanted
    assert wrong[Mode.EXACT] == 0
    assert wrong[Mode.PAPER] > 0
