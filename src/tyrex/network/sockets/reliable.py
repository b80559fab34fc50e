"""Messages that survive a connection: numbered, kept until they are acknowledged, sent again after a reconnection."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from tyrex.network.sockets.frames import WireError


class Overflow(Exception):
    """The other end is too slow, or gone: what waits for it has reached the limit."""


@dataclass(slots=True)
class Outbox:
    """What was said to a neighbour and is not acknowledged yet."""

    limit: int
    """Bytes; a message beyond it raises `Overflow`."""
    size: int = 0
    sent: int = 0
    """The number of the last message that was put in."""
    _waiting: deque[tuple[int, bytes]] = field(default_factory=deque)

    def put(self, payload: bytes) -> int:
        """Keep a message, and give its number."""
        if self.size + len(payload) > self.limit and self._waiting:
            raise Overflow(f"{len(self._waiting):,} messages with {self.size:,} bytes wait for an answer")
        self.sent += 1
        self._waiting.append((self.sent, payload))
        self.size += len(payload)
        return self.sent

    def acknowledged(self, number: int) -> None:
        """Everything up to this number has arrived."""
        if number > self.sent:
            raise WireError(f"message {number} was acknowledged, but {self.sent} is the last one sent")
        while self._waiting and self._waiting[0][0] <= number:
            self.size -= len(self._waiting.popleft()[1])

    def after(self, number: int) -> Iterator[tuple[int, bytes]]:
        """The messages behind this number, also those that come while they are gone through."""
        while number < self.sent and self._waiting:
            first = self._waiting[0][0]
            number = max(number + 1, first)
            yield self._waiting[number - first]

    def __len__(self) -> int:
        return len(self._waiting)


@dataclass(slots=True)
class Inbox:
    """Which messages of a neighbour have arrived: each counts once, in order."""

    received: int = 0
    told: int = 0
    """The last number that was acknowledged."""

    def accept(self, number: int) -> bool:
        """Whether a message is new; one that is missing before it is an error."""
        if type(number) is not int or number > self.received + 1:
            raise WireError(f"message {number!r} came, and {self.received + 1} was expected")
        if number <= self.received:
            return False
        self.received = number
        return True

    @property
    def owed(self) -> int:
        """How many messages have not been acknowledged yet."""
        return self.received - self.told
