"""A link to a neighbour: lives through broken connections, until the neighbour has been silent for too long."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from typing import Any

from tyrex.network.sockets.connection import Address, Connection
from tyrex.network.sockets.frames import WireError
from tyrex.network.sockets.handshake import Greeting, Identity
from tyrex.network.sockets.reliable import Inbox, Outbox

_ACKNOWLEDGE_AFTER = 64
"""Messages; fewer are acknowledged with the next message, or the next sign of life."""


class Frame(IntEnum):
    """What brokers say to each other once they have greeted."""

    MESSAGE = 0
    """[kind, number, acknowledged, payload]"""
    ALIVE = 1
    """[kind, acknowledged]"""
    PRESSURE = 2
    """[kind, origin, version, on]: somebody can't keep up, so sources are to wait."""


@dataclass(slots=True)
class LinkCounts:
    """What has gone over a link."""

    messages_in: int = 0
    messages_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    connections: int = 0
    resent: int = 0
    lost: int = 0
    """Messages that waited for a neighbour who did not come back."""


@dataclass(slots=True)
class Link:
    """What one broker knows of a neighbour."""

    name: str
    limit: int
    """Bytes that may wait for the neighbour."""
    address: Address | None = None
    """Where to connect; None if the neighbour connects to us."""
    run: str = ""
    """The run of the neighbour's process that this link is with."""
    connection: Connection | None = None
    heard: float = 0.0
    """When something came last, by the clock of the event loop."""
    counts: LinkCounts = field(default_factory=LinkCounts)
    inbox: Inbox = field(default_factory=Inbox)
    outbox: Outbox = field(init=False)
    _written: int = 0
    """The number of the last message that was given to the present connection."""
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.outbox = Outbox(self.limit)

    @property
    def is_up(self) -> bool:
        """Whether the neighbour counts as there, perhaps with a connection that is just broken."""
        return bool(self.run)

    def greeting(self, identity: Identity) -> Greeting:
        """How we greet this neighbour."""
        return identity.greeting(received=self.inbox.received, known_run=self.run)

    def goes_on(self, ours: Greeting, theirs: Greeting) -> bool:
        """Whether a new connection continues what was there, or begins anew; both ends find the same."""
        return ours.known_run == theirs.run and theirs.known_run == ours.run

    def begin(self, theirs: Greeting) -> None:
        """Nothing of what was said before counts any more."""
        self.counts.lost += len(self.outbox)
        self.run = theirs.run
        self.inbox, self.outbox = Inbox(), Outbox(self.limit)

    def connected(self, connection: Connection, have: int, now: float) -> None:
        """Go on over this connection, behind the last message that the neighbour has."""
        self.connection = connection
        self.heard = now
        self.counts.connections += 1
        self.outbox.acknowledged(have)
        self._written = have
        self.counts.resent += len(self.outbox)
        self._news.set()

    def give_up(self) -> int:
        """The neighbour is gone: how many messages were waiting for it."""
        lost = len(self.outbox)
        self.counts.lost += lost
        self.run = ""
        self.inbox, self.outbox = Inbox(), Outbox(self.limit)
        return lost

    def put(self, payload: bytes) -> None:
        """Send a message, now or when there is a connection again."""
        self.outbox.put(payload)
        self.counts.messages_out += 1
        self._news.set()

    def take(self, number: int, acknowledged: int) -> bool:
        """Whether a message that came is new."""
        self.outbox.acknowledged(acknowledged)
        new = self.inbox.accept(number)
        self.counts.messages_in += new
        return new

    def say(self, content: list[Any]) -> None:
        """Send what need not survive the connection."""
        if self.connection is not None:
            self.connection.send(content)

    def acknowledge(self) -> None:
        """Say what we have got, if it has become much."""
        if self.inbox.owed >= _ACKNOWLEDGE_AFTER:
            self.alive()

    def alive(self) -> None:
        """Say that we are here, and what we have got."""
        self.say([Frame.ALIVE, self.inbox.received])
        self.inbox.told = self.inbox.received

    def status(self) -> dict[str, Any]:
        """What there is to know of the link."""
        return {
            "up": self.is_up,
            "connected": self.connection is not None,
            "waiting_messages": len(self.outbox),
            "waiting_bytes": self.outbox.size,
            **asdict(self.counts),
        }

    async def write(self, connection: Connection) -> None:
        """Give the connection whatever is put in, as fast as it takes it; ends only with an error."""
        while True:
            self._news.clear()
            for number, payload in self.outbox.after(self._written):
                self.counts.bytes_out += len(payload)
                connection.send([Frame.MESSAGE, number, self.inbox.received, payload])
                self.inbox.told = self.inbox.received
                self._written = number
                await connection.drained()
            await self._news.wait()


_TYPES: dict[Frame, tuple[type, ...]] = {
    Frame.MESSAGE: (int, int, bytes),
    Frame.ALIVE: (int,),
    Frame.PRESSURE: (str, int, bool),
}


def read_frame(content: Any) -> tuple[Frame, list[Any]]:
    """The kind of a frame from a broker, and what is in it."""
    if not isinstance(content, list) or not content or type(content[0]) is not int:
        raise WireError("a frame of a broker was expected, and something else came")
    try:
        kind = Frame(content[0])
    except ValueError:
        raise WireError(f"a frame of the unknown kind {content[0]} came") from None
    values = content[1:]
    if tuple(map(type, values)) != _TYPES[kind]:
        raise WireError(f"a frame of the kind `{kind.name.lower()}` is not as it should be")
    return kind, values
