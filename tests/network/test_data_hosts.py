"""What one processor hosts: rules that come later, and what counts of an epoch."""

from __future__ import annotations

from dataclasses import replace

from tests.network import trees

from tyrex import Event, parse
from tyrex.network.blocks import block_of
from tyrex.network.data.tree import LocalTree
from tyrex.network.messages import BEGINNING, Group
from tyrex.tesla.durations import SECOND

RULES = parse("""
event A(k: int)
event B(k: int)
Rule pairs define P(k: int) from A() and last B() within 1 min from A where k = B.k
Rule later define L(k: int) from A() and each P() within 1 min from A where k = P.k
""")
ALONE = trees.Places({"root": None}, {"root": frozenset("AB")})


def _run(tree: LocalTree, *events: Event) -> list[str]:
    found = []
    for number, event in enumerate(events, 1):
        tree.local((block_of(RULES.types[event.type], [event], "root", number),), event.timestamp)
        for block in tree.step().composites:
            found += [str(replace(e, id=None)) for e in block.events()]
    return found


EVENTS = (
    Event("B", 1 * SECOND, {"k": 1}),
    Event("A", 2 * SECOND, {"k": 0}),
    Event("A", 12 * SECOND, {"k": 0}),
    Event("A", 13 * SECOND, {"k": 0}),
)


def test_a_rule_that_comes_later_looks_at_nothing_before() -> None:
    """As if it had been deployed then: composites of other rules from before are none of its own."""
    task = trees.tasks(ALONE, RULES)["root"]
    texts = tuple(rule.canonical_text for rule in RULES)
    first = LocalTree(replace(task, groups=(Group(texts, (BEGINNING, BEGINNING)),)))
    second = LocalTree(replace(task, groups=(Group(texts, (BEGINNING, 10 * SECOND)),)))
    pairs = ["P@2(k=1)", "P@12(k=1)", "P@13(k=1)"]
    assert sorted(_run(first, *EVENTS)) == sorted([*pairs, "L@12(k=1)", "L@13(k=1)", "L@13(k=1)"])
    assert sorted(_run(second, *EVENTS)) == sorted([*pairs, "L@13(k=1)"])


def test_composites_up_to_the_start_of_an_epoch_are_the_previous_ones() -> None:
    """Events from before fill the windows, and detect nothing."""
    task = trees.tasks(ALONE, RULES)["root"]
    found = _run(LocalTree(replace(task, start=12 * SECOND)), *EVENTS)
    assert sorted(found) == ["L@13(k=1)", "L@13(k=1)", "P@13(k=1)"]


def test_nothing_of_what_comes_is_uncounted() -> None:
    """What came is held, was dropped, or was of no use."""
    tree = LocalTree(trees.tasks(ALONE, RULES)["root"])
    _run(tree, *EVENTS)
    counts = tree.counts()
    assert counts["received"] == 4
    assert counts["held"] + counts["dropped"] + counts["sent"] + counts["unused"] == 4
    assert counts["composites"] == 6
