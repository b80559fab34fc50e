"""Push and pull between a parent and its children, message by message."""

from __future__ import annotations

import numpy as np
from tests.network import trees

from tyrex import Event, parse
from tyrex.network.blocks import Block, block_of
from tyrex.network.data.spans import Spans, around, inside, union
from tyrex.network.data.tree import LocalTree
from tyrex.network.messages import Awaken, Mode, PartMode, Retune, Span
from tyrex.tesla.durations import MINUTE, SECOND

RULES = """
event Temp(area: string, value: float)
event Smoke(area: string)
Rule fire
define Fire(area: string, value: float)
from   Smoke(area = $a) and each Temp(area = $a and value > 45) within 5 min from Smoke
where  area = $a, value = Temp.value
"""
PLACES = trees.Places(
    {"root": None, "root.2": "root", "root.3": "root"},
    {"root": frozenset(), "root.2": frozenset({"Smoke"}), "root.3": frozenset({"Temp"})},
)


class _Fire:
    """Figure 9 of the deployment paper: 1 is the root, 2 has the smoke, 3 the temperatures."""

    def __init__(self) -> None:
        self.rules = parse(RULES)
        made = trees.tasks(PLACES, self.rules, adaptive=True)
        self.trees = {name: LocalTree(task, period=MINUTE) for name, task in made.items()}
        self.trees["root"].local((), 10**15)
        self.numbers = dict.fromkeys(PLACES.parents, 0)
        self.down: list[tuple[str, Awaken | Retune]] = []
        self.found: list[str] = []

    def publish(self, name: str, upto: int, *events: Event) -> int:
        """Let a child's sources publish, and its parent know; how many events travel."""
        for event in events:
            self.numbers[name] += 1
            block = block_of(self.rules.types[event.type], [event], name, self.numbers[name])
            self.trees[name].local((block,), event.timestamp)
        self.trees[name].local((), upto)
        return self.deliver(name)

    def deliver(self, name: str) -> int:
        """Let the parent know what a child has to say."""
        step = self.trees[name].step()
        self.trees["root"].received(name, step.up, step.upto, step.answered)
        root = self.trees["root"].step()
        self.down += root.down
        self.found += [str(event) for block in root.composites for event in _events(block)]
        return sum(len(block) for block in step.up)

    def ask(self) -> list[Awaken | Retune]:
        """Bring the root's questions to the children."""
        asked, self.down = self.down, []
        for child, message in asked:
            if isinstance(message, Awaken):
                self.trees[child].awakened(message)
            else:
                self.trees[child].retuned(message)
        return [message for _, message in asked]


def _events(block: Block) -> list[Event]:
    return [Event(e.type, e.timestamp, e.attributes) for e in block.events()]


def _temp(time: int, area: str, value: float = 50.0) -> Event:
    return Event("Temp", time, {"area": area, "value": value})


def test_slaves_keep_their_events_until_a_master_opens_a_window() -> None:
    """Where smoke is rare, temperatures soon travel only if there is smoke in their area."""
    fire = _Fire()
    travelled = 0
    for minute in range(1, 5):
        temps = [_temp(minute * MINUTE - second * SECOND, "a") for second in range(30, 0, -1)]
        travelled += fire.publish("root.3", minute * MINUTE, *temps)
        fire.publish("root.2", minute * MINUTE)
        fire.ask()
        fire.deliver("root.3")
    retuned = fire.trees["root"].counts()["switches"]
    assert retuned == 1
    assert travelled == 3 * 30  # rates were looked at twice before the fourth minute

    start = 10 * MINUTE
    assert (
        fire.publish("root.3", start, _temp(start - 2, "a"), _temp(start - 1, "b"), _temp(start, "a", 20.0))
        == 0
    )
    assert fire.publish("root.2", start, Event("Smoke", start, {"area": "a"})) == 1
    assert fire.found == []  # the root's time waits for the answer
    (asked,) = [m for m in fire.ask() if isinstance(m, Awaken) and m.spans]
    (span,) = asked.spans
    assert (span.type, span.since, span.until) == ("Temp", start - 5 * MINUTE, start)
    assert dict(span.values) == {"area": "a"}
    assert fire.deliver("root.3") == 1
    assert fire.found == ['Fire@600(area="a", value=50.0)']


def test_a_slave_that_is_pushed_again_sends_first_what_it_has_kept() -> None:
    """Nothing is lost, and nothing comes twice, when modes change."""
    fire = _Fire()
    child = fire.trees["root.3"]
    part = child.task.parts[0].number
    fire.publish("root.3", SECOND, _temp(SECOND, "a"))
    child.retuned(Retune(trees.TREE, 0, (Mode(part, PartMode.PULL, 10 * MINUTE),)))
    assert fire.publish("root.3", 2 * SECOND, _temp(2 * SECOND, "a"), _temp(2 * SECOND, "b")) == 0
    assert child.counts()["kept"] == 2
    child.awakened(Awaken(trees.TREE, 1, 0, (Span(part, "Temp", 0, 2 * SECOND, {"area": "b"}),)))
    assert fire.deliver("root.3") == 1
    child.retuned(Retune(trees.TREE, 0, (Mode(part, PartMode.PUSH, 0),)))
    assert fire.deliver("root.3") == 1
    assert child.counts()["sent"] == 3


def test_what_nobody_asks_for_in_time_goes_and_is_counted() -> None:
    """A child lets go of what it keeps by the time of its parent."""
    fire = _Fire()
    child = fire.trees["root.3"]
    part = child.task.parts[0].number
    child.retuned(Retune(trees.TREE, 0, (Mode(part, PartMode.PULL, MINUTE),)))
    fire.publish("root.3", 30 * MINUTE, _temp(SECOND, "a"), _temp(20 * MINUTE, "a"))
    assert child.counts()["kept"] == 2  # the parent may still be far behind
    child.awakened(Awaken(trees.TREE, 1, 19 * MINUTE, ()))
    fire.deliver("root.3")
    assert child.counts()["kept"] == 1
    assert child.counts()["unasked"] == 1


def test_spans_are_joined_and_compared_by_value() -> None:
    """Stretches that overlap are one; 1 and 1.0 are one value, and null is none."""
    assert union([(5, 9), (1, 3), (4, 4), (20, 30)]) == [(1, 9), (20, 30)]
    assert inside(np.array([0, 1, 9, 10, 25]), [(1, 9), (20, 30)]).tolist() == [
        False,
        True,
        True,
        False,
        True,
    ]
    assert list(around(np.array([10, 13, 40]), 2, 1)) == [(8, 14), (38, 41)]
    types = parse("event T(x: float)").types
    block = block_of(types["T"], [Event("T", n, {"x": x}) for n, x in enumerate((1.0, None, 2.0))], "o", 1)
    spans = Spans([Span(1, "T", 0, 9, {"x": 1})])
    assert spans.hold(block.times, block.table).tolist() == [True, False, False]
    spans.close(10)
    assert not spans
