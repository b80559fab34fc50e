"""Processors in one process, on links that take time: a discrete-event simulation of the network.

Time is simulated, in microseconds. Whatever happens does so at a moment, and at one moment in the order in which it
was planned, so a run can be repeated exactly.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tyrex.events import Event
from tyrex.network.blocks import Block
from tyrex.network.messages import Message
from tyrex.network.outputs import Deliver, Note, Output, Send
from tyrex.network.processor import Processor
from tyrex.tesla import EventType

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class Link:
    """A link between two processors: in order, and once, as long as it lives."""

    delay: int
    life: int
    """Counts up when it is cut: what was on its way then is lost."""
    arrived: dict[str, int] = field(default_factory=dict)
    """For each end, when the last message will have arrived there."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a client got, and when."""

    at: int
    processor: str
    client: str
    subscription: int
    block: Block


class SimulatedNetwork:
    """Processors and links, and the time.

    `watch` is called with each message that is sent: its time, its sender, its receiver, and the message.
    """

    def __init__(
        self, *, heartbeat: int, watch: Callable[[int, str, str, Message], None] | None = None
    ) -> None:
        self.now = 0
        self.processors: dict[str, Processor] = {}
        self.links: dict[frozenset[str], Link] = {}
        self.deliveries: list[Delivery] = []
        self.notes: list[tuple[int, str, Note]] = []
        self.sent: Counter[str] = Counter()
        """How many messages of each kind have been sent."""
        self._heartbeat = heartbeat
        self._watch = watch
        self._plan: list[tuple[int, int, Callable[[], None]]] = []
        self._planned = 0
        self._lives: Counter[str] = Counter()
        self._link_lives = 0

    # --- The network --------------------------------------------------------------------------------------

    def add(self, processor: Processor) -> None:
        """A processor starts."""
        self.processors[processor.name] = processor
        self._lives[processor.name] += 1
        self._tick(processor.name, self._lives[processor.name])

    def connect(self, one: str, other: str, delay: int) -> None:
        """There is a link between two processors; `delay` is in microseconds."""
        self._link_lives += 1
        self.links[frozenset((one, other))] = Link(delay, self._link_lives)
        self._do(one, self.processors[one].connected(self.now, other, delay))
        self._do(other, self.processors[other].connected(self.now, one, delay))

    def cut(self, one: str, other: str) -> None:
        """A link dies, with what is on its way; both ends notice."""
        del self.links[frozenset((one, other))]
        for end, far in ((one, other), (other, one)):
            if end in self.processors:
                self._do(end, self.processors[end].disconnected(self.now, far))

    def kill(self, name: str) -> None:
        """A processor dies, with its links and all it knew."""
        del self.processors[name]
        self._lives[name] += 1
        for ends in list(self.links):
            if name in ends:
                (other,) = ends - {name}
                self.cut(name, other)

    # --- Clients ------------------------------------------------------------------------------------------

    def advertise(self, at: str, client: str, type_: EventType) -> None:
        """See `Processor.advertise`; so are the others."""
        self._do(at, self.processors[at].advertise(self.now, client, type_))

    def withdraw(self, at: str, client: str, type_: str | None = None) -> None:
        """A client publishes no more."""
        self._do(at, self.processors[at].withdraw(self.now, client, type_))

    def publish(self, at: str, client: str, type_: str, events: Sequence[Event] | pa.Table) -> None:
        """A client publishes events."""
        self._do(at, self.processors[at].publish(self.now, client, type_, events))

    def advance(self, at: str, client: str, upto: int) -> None:
        """A client tells the time of its events."""
        self._do(at, self.processors[at].advance(self.now, client, upto))

    def subscribe(self, at: str, client: str, number: int, filter: str) -> None:
        """A client wants events."""
        self._do(at, self.processors[at].subscribe(self.now, client, number, filter))

    def unsubscribe(self, at: str, client: str, number: int | None = None) -> None:
        """A client no longer wants them."""
        self._do(at, self.processors[at].unsubscribe(self.now, client, number))

    def define(self, at: str, client: str, name: str, text: str, *, raced: bool = False) -> None:
        """A client defines rules."""
        self._do(at, self.processors[at].define(self.now, client, name, text, raced=raced))

    def undefine(self, at: str, client: str, name: str) -> None:
        """A client takes rules away."""
        self._do(at, self.processors[at].undefine(self.now, client, name))

    # --- Time ---------------------------------------------------------------------------------------------

    def at(self, moment: int, action: Callable[[], None]) -> None:
        """Do something at a moment."""
        self._planned += 1
        heapq.heappush(self._plan, (max(moment, self.now), self._planned, action))

    def run(self, until: int) -> None:
        """Let time pass, up to a moment."""
        while self._plan and self._plan[0][0] <= until:
            self.now, _, action = heapq.heappop(self._plan)
            action()
        self.now = until

    def _tick(self, name: str, life: int) -> None:
        if self._lives[name] == life:
            self._do(name, self.processors[name].tick(self.now))
            self.at(self.now + self._heartbeat, lambda: self._tick(name, life))

    def _do(self, name: str, outputs: Sequence[Output]) -> None:
        for output in outputs:
            match output:
                case Send(to=to, message=message):
                    self._send(name, to, message)
                case Deliver(client=client, subscription=number, block=block):
                    self.deliveries.append(Delivery(self.now, name, client, number, block))
                case Note():
                    self.notes.append((self.now, name, output))

    def _send(self, sender: str, to: str, message: Message) -> None:
        ends = frozenset((sender, to))
        link = self.links.get(ends)
        if link is None:
            return  # the other end has not noticed yet that it is gone
        self.sent[type(message).__name__] += 1
        if self._watch is not None:
            self._watch(self.now, sender, to, message)
        moment = max(self.now + link.delay, link.arrived.get(to, 0))
        link.arrived[to] = moment
        life = link.life

        def arrive() -> None:
            current = self.links.get(ends)
            if current is not None and current.life == life:
                self._do(to, self.processors[to].receive(self.now, sender, message))

        self.at(moment, arrive)
