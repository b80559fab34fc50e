"""A data plane that prunes by type alone: every event of a type that is asked for goes up.

It holds what `interface.TreeData` promises, so it shows that the control plane needs nothing more of the real one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tyrex.engine import Engine
from tyrex.events import Event
from tyrex.network.blocks import Block, block_of
from tyrex.network.control.division import read_partial
from tyrex.network.control.rulebook import key_of, read_group
from tyrex.network.data.interface import Step, Task
from tyrex.network.messages import BEGINNING, Awaken, Retune


class PlainData:
    """All events of the types of a part are sent; each group has an engine that gets its events in order."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._own = BEGINNING
        self._children = dict.fromkeys(task.children, BEGINNING)
        self._waiting: list[Block] = []
        self._time = BEGINNING
        key = key_of(task.types)
        self._engines = [Engine(read_group(group.rules, key)) for group in task.groups]
        partial = [rule for part in task.parts for rule in read_partial(part.partial_rules, key)]
        self._sent = task.everything.union(*(rule.sent_types for rule in partial))
        self._static = {rule.parts[0].type: rule for rule in partial if len(rule.parts) == 1}
        self._made = 0

    def local(self, blocks: Sequence[Block], upto: int) -> None:
        """Take events of own sources."""
        self._waiting += blocks
        self._own = max(upto, self._own)

    def received(self, child: str, blocks: Sequence[Block], upto: int | None, answered: int | None) -> None:
        """Take events of a child."""
        self._waiting += blocks
        if upto is not None:
            assert upto >= self._children[child]
            self._children[child] = upto

    def awakened(self, awaken: Awaken) -> None:
        """There is no pull here."""
        raise AssertionError

    def retuned(self, retune: Retune) -> None:
        """There is no pull here."""
        raise AssertionError

    def step(self) -> Step:
        """All that is not ahead of the time is sent and evaluated."""
        upto = min(self._own, *self._children.values()) if self._children else self._own
        if upto <= self._time:
            return Step((), self._time, None, (), self._time, ())
        ready, rest = [], []
        for block in self._waiting:
            due = block.times <= upto
            assert (block.times > self._time).all(), "an event came behind the time of its link"
            if due.any():
                ready.append(block.take(due))
            if not due.all():
                rest.append(block.take(~due))
        self._waiting = rest
        self._time = upto
        up = tuple(block for block in ready if block.type in self._sent)
        return Step(up, upto, None, tuple(self._detect(ready, upto)), upto, ())

    def _detect(self, ready: Sequence[Block], upto: int) -> list[Block]:
        events = []
        for block in ready:
            places = zip(
                block.table.column("origin").to_pylist(),
                block.table.column("number").to_pylist(),
                strict=True,
            )
            for event, place in zip(block.events(), places, strict=True):
                events.append((event.timestamp, *place, event))
        events.sort(key=lambda item: item[:3])
        found: list[Event] = []
        for engine in self._engines:
            needed = set(engine.rules.plan.types_needed)
            for *_, event in events:
                if event.type in needed:
                    found += engine.send_batch([event])
            found += engine.advance(upto / 1e6)
        blocks = []
        for event in found:
            if event.timestamp > self.task.start:
                self._made += 1
                blocks.append(block_of(self.task.types[event.type], [event], self.task.name, self._made))
        return blocks

    def counts(self) -> Mapping[str, int]:
        """Nothing is counted here."""
        return {}
