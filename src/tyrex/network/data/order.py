"""Time in one tree at one processor: the least of what its own sources and its children have reached."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tyrex.events import FIRST_TIMESTAMP
from tyrex.network.blocks import Block

NEVER = FIRST_TIMESTAMP - 2
"""Before all of time: nothing has been heard."""
_OWN = ""


class Clock:
    """Up to when everybody has sent everything."""

    def __init__(self, children: Iterable[str]) -> None:
        self._reached = dict.fromkeys(children, NEVER) | {_OWN: NEVER}

    def local(self, upto: int) -> None:
        """The processor's own sources have reached a moment."""
        self._reached[_OWN] = max(self._reached[_OWN], upto)

    def child(self, name: str, upto: int) -> None:
        """A child has reached a moment."""
        self._reached[name] = max(self._reached[name], upto)

    def reached(self, child: str) -> int:
        """What a child has reached."""
        return self._reached[child]

    @property
    def time(self) -> int:
        """The least of all."""
        return min(self._reached.values())


class Inbox:
    """Events that have come and are ahead of time, or wait for the next move; by type."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[Block]] = {}
        self.events = 0

    def put(self, block: Block) -> None:
        """Take a block, whose events are in the order of time."""
        if len(block):
            self._waiting.setdefault(block.type, []).append(block)
            self.events += len(block)

    def ahead(self, type_: str) -> Sequence[Block]:
        """What waits of a type."""
        return self._waiting.get(type_, ())

    def until(self, upto: int) -> dict[str, list[Block]]:
        """Take out what happened up to a moment."""
        found: dict[str, list[Block]] = {}
        for type_ in list(self._waiting):
            due, ahead = [], []
            for block in self._waiting[type_]:
                times = block.times
                if times[-1] <= upto:
                    due.append(block)
                    continue
                if times[0] > upto:
                    ahead.append(block)
                    continue
                cut = int(np.searchsorted(times, upto, side="right"))
                due.append(Block(type_, block.table.slice(0, cut)))
                ahead.append(Block(type_, block.table.slice(cut)))
            if due:
                found[type_] = due
                self.events -= sum(len(block) for block in due)
            if ahead:
                self._waiting[type_] = ahead
            else:
                del self._waiting[type_]
        return found
