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
    """Groups of rules that feed each other, deadlines, consumption, aggregates of all kinds."""
    random = Random(seed)
    rules = every_construct.random_rules(random)
    if rules is None or any(isinstance(rule.trigger, CalendarTimer) for rule in rules.plan.rules):
        return
    places = trees.random_places(random, every_construct.PRIMITIVE)
    history = trees.place(random, places, every_construct.random_history(random))
    driven = trees.run(random, places, trees.tasks(places, rules), history, END)
    assert trees.known(driven.composites) == trees.known(trees.central(rules, history, END))
    assert set(driven.travelled.values()) <= {1}
