"""A tree of processors detects what one engine detects, whatever the delays of its links."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from tests.engine import random_rules as every_construct
from tests.network import trees
from tests.plan import deployment

from tyrex import TeslaError, parse
from tyrex.plan import CalendarTimer
from tyrex.plan.partition import Mode

END = 40_000_000


@given(st.integers(min_value=0, max_value=2**32))
def test_a_tree_finds_what_one_engine_finds(seed: int) -> None:
    """Composites and their ids are those of an engine that gets all events, and no event is sent twice."""
    random = Random(seed)
    try:
        rules = parse(deployment.sequence_text(random))
    except TeslaError:
        return
    places = trees.random_places(random, deployment.TYPES)
    history = trees.place(random, places, deployment.plain_history(random, rules.plan.types_needed))
    driven = trees.run(random, places, trees.tasks(places, rules), history, END)
    assert trees.known(driven.composites) == trees.known(trees.central(rules, history, END))
    assert set(driven.travelled.values()) <= {1}


@given(st.integers(min_value=0, max_value=2**32))
def test_every_construct_of_the_language_is_found_by_a_tree(seed: int) -> None:
    """Groups of rules that feed each other, deadlines, timers, consumption, aggregates of all kinds."""
    random = Random(seed)
    rules = every_construct.random_rules(random)
    if rules is None:
        return
    places = trees.random_places(random, every_construct.PRIMITIVE)
    history = trees.place(random, places, every_construct.random_history(random))
    made = trees.tasks(places, rules, adaptive=random.random() < 0.3)
    driven = trees.run(random, places, made, history, END, period=500_000, slowly=random.random() < 0.3)
    timers = any(isinstance(rule.trigger, CalendarTimer) for rule in rules.plan.rules)
    expected = (trees.central_by_group if timers else trees.central)(rules, history, END)
    assert trees.known(driven.composites) == trees.known(expected)
    assert set(driven.travelled.values()) <= {1}


@given(st.integers(min_value=0, max_value=2**32))
def test_a_tree_that_pulls_finds_the_same(seed: int) -> None:
    """Masters that change while events flow, slaves that keep: composites are those of one engine, no event twice."""
    random = Random(seed)
    try:
        rules = parse(deployment.sequence_text(random))
    except TeslaError:
        return
    places = trees.random_places(random, deployment.TYPES)
    events = trees.busy_history(random, rules.plan.types_needed, random.randint(10, 35))
    history = trees.place(random, places, events)
    made = trees.tasks(places, rules, adaptive=True)
    period = random.choice((1, 500_000, 2_000_000))
    driven = trees.run(random, places, made, history, END, period=period, slowly=random.random() < 0.8)
    assert trees.known(driven.composites) == trees.known(trees.central(rules, history, END))
    assert set(driven.travelled.values()) <= {1}


@given(st.integers(min_value=0, max_value=2**32))
def test_the_papers_partial_rules_run_on_the_same_machinery(seed: int) -> None:
    """They may lose composites, but no event comes twice and none stays behind."""
    random = Random(seed)
    try:
        rules = parse(deployment.sequence_text(random))
    except TeslaError:
        return
    places = trees.random_places(random, deployment.TYPES)
    events = deployment.plain_history(random, rules.plan.types_needed)
    history = trees.place(random, places, events)
    driven = trees.run(random, places, trees.tasks(places, rules, Mode.PAPER), history, END)
    assert set(driven.travelled.values()) <= {1}
    assert {event.type for event in driven.composites} <= {"X"}
    assert all(tree.time == END and tree.counts()["waiting"] == 0 for tree in driven.trees.values())


@given(st.integers(min_value=0, max_value=2**32))
def test_a_centralized_deployment_finds_what_one_engine_finds(seed: int) -> None:
    """Everything goes to the root in order, and nothing is ever made anew."""
    random = Random(seed)
    rules = every_construct.random_rules(random)
    if rules is None or any(isinstance(rule.trigger, CalendarTimer) for rule in rules.plan.rules):
        return
    places = trees.random_places(random, every_construct.PRIMITIVE)
    history = trees.place(random, places, every_construct.random_history(random))
    driven = trees.run(random, places, trees.centralized(places, rules), history, END)
    assert trees.known(driven.composites) == trees.known(trees.central(rules, history, END))
    assert set(driven.travelled.values()) <= {1}
    assert all(tree.counts()["behind"] == 0 for tree in driven.trees.values())
