"""The clients of a processor that receive events: what they want, and what they have got."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tyrex.events import FIRST_TIMESTAMP
from tyrex.network.blocks import Block
from tyrex.network.control.filters import let_through, type_wanted
from tyrex.network.messages import BEGINNING
from tyrex.network.outputs import Deliver


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a client wants, under a number that it chose."""

    client: str
    number: int
    filter: str


class Sinks:
    """Delivers each event once, whatever happens to the trees that bring it."""

    def __init__(self) -> None:
        self._subscriptions: dict[tuple[str, int], Subscription] = {}
        self.delivered: int | None = None
        """Up to which time everything has been delivered; None before the first tree said so."""
        self.awaited: int | None = None
        """Until then: the time when somebody began to want something."""
        self._recent: list[Block] = []
        self._seen: frozenset[str] = frozenset()
        self.doubles = 0
        """Events that a new epoch found again."""

    def __bool__(self) -> bool:
        return bool(self._subscriptions)

    @property
    def filters(self) -> tuple[str, ...]:
        """What is wanted, each once."""
        return tuple(sorted({s.filter for s in self._subscriptions.values()}))

    @property
    def types(self) -> frozenset[str]:
        """The event types that are wanted."""
        return frozenset(type_wanted(s.filter) for s in self._subscriptions.values())

    def add(self, subscription: Subscription, present: int) -> bool:
        """A client wants something from now on; whether its number was free."""
        key = (subscription.client, subscription.number)
        if key in self._subscriptions:
            return False
        if self.delivered is None and self.awaited is None:
            self.awaited = max(present, FIRST_TIMESTAMP - 1)
        self._subscriptions[key] = subscription
        return True

    def remove(self, client: str, number: int | None = None) -> bool:
        """A client no longer wants something, or anything; whether it had wanted it."""
        gone = [key for key in self._subscriptions if key[0] == client and number in (None, key[1])]
        for key in gone:
            del self._subscriptions[key]
        if not self._subscriptions:
            self.delivered, self.awaited, self._recent, self._seen = None, None, [], frozenset()
        return bool(gone)

    def begin_epoch(self) -> None:
        """From now on events may come again that came before."""
        self._forget()
        self._seen = frozenset[str]().union(*(block.ids() for block in self._recent))

    def deliver(self, blocks: Iterable[Block]) -> list[Deliver]:
        """What clients get of these events."""
        found: list[Deliver] = []
        if not self._subscriptions:
            return found
        types = self.types
        for given in blocks:
            block = self._new(given) if given.type in types else None
            if block is None:
                continue
            self._recent.append(block)
            for one in self._subscriptions.values():
                wanted = let_through(block, (one.filter,))
                if wanted is not None:
                    found.append(Deliver(one.client, one.number, wanted))
        return found

    def _new(self, block: Block) -> Block | None:
        """The events that were not delivered yet."""
        import numpy as np

        begin = self.awaited if self.delivered is None else self.delivered
        fresh = block.times > (BEGINNING if begin is None else begin)
        if self._seen:
            fresh = fresh & np.array([id_ not in self._seen for id_ in block.ids()], bool)
        if fresh.all():
            return block
        self.doubles += int((~fresh).sum())
        return block.take(fresh) if fresh.any() else None

    def passed(self, upto: int) -> None:
        """Everything up to this time has come."""
        if self and (self.delivered is None or upto > self.delivered):
            self.delivered, self.awaited = upto, None
            if len(self._recent) > 64:
                self._forget()

    def _forget(self) -> None:
        """What is not behind the time that is complete can't be delivered again anyway."""
        done = self.delivered
        if done is not None:
            self._recent = [block for block in self._recent if int(block.times.max()) > done]
