"""The links of a simulated network: what is sent arrives later, in order, and is counted.

A small discrete-event simulator of our own, on a heap of what is under way. With simpy every message would be a process
or a timeout of a general scheduler; here it is one entry of a heap, and what takes the time is what processors do.

Beside the clock there is a second time, which assumes that events come in order by themselves, as the deployment paper
does: a processor's **cause** is the arrival of the last message that brought an event or asked for one. What it sends
goes off at that time, not when the heartbeats have come that make the order certain.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from tyrex.network.messages import Awaken, Composites, Events, Message
from tyrex.simulate.topology import Topology
from tyrex.simulate.traffic import Traffic

_SECOND = 1_000_000


@dataclass(frozen=True, slots=True, order=True)
class Arrival:
    """A message on its way."""

    clock: int
    """When it arrives: microseconds."""
    number: int
    """In the order of sending: who arrives at the same time was sent first."""
    cause: int = field(compare=False)
    """When it would arrive if nobody had to wait for the order of events."""
    sender: str = field(compare=False)
    receiver: str = field(compare=False)
    message: Message = field(compare=False)


@dataclass(slots=True)
class Wires:
    """Messages under way between processors, by the clock of the simulation."""

    topology: Topology
    clock: int = 0
    traffic: Traffic = field(default_factory=Traffic)
    sent: int = 0
    arrived: int = 0
    _queue: list[Arrival] = field(default_factory=list)
    _busy: dict[tuple[str, str], int] = field(default_factory=dict)
    """Until when a direction of a link sends what it was given."""
    _causes: dict[str, int] = field(default_factory=dict)

    def send(self, sender: str, receiver: str, message: Message) -> None:
        """Give a message to a link."""
        self.sent += 1
        link = self.topology.neighbours[sender][receiver]
        size = self.traffic.sent(sender, receiver, message)
        took = 0 if link.bandwidth is None else round(size / link.bandwidth * _SECOND)
        direction = (sender, receiver)
        leaves = max(self.clock, self._busy.get(direction, 0)) + took
        self._busy[direction] = leaves
        cause = self._causes.get(sender, self.clock) + took + link.delay
        heapq.heappush(self._queue, Arrival(leaves + link.delay, self.sent, cause, sender, receiver, message))

    def next(self) -> Arrival | None:
        """The next message that arrives, with the clock moved on to that moment; None if nothing is under way."""
        if not self._queue:
            return None
        arrival = heapq.heappop(self._queue)
        self.clock = arrival.clock
        self.arrived += 1
        if _brings(arrival.message):
            self._causes[arrival.receiver] = max(self._causes.get(arrival.receiver, 0), arrival.cause)
        return arrival

    def begin(self) -> None:
        """Forget causes: what is sent from now on has its own."""
        self._causes.clear()

    def cause(self, name: str) -> int:
        """When what a processor does now would happen if nobody had to wait for the order of events."""
        return self._causes.get(name, self.clock)

    def caused(self, name: str) -> None:
        """An event is handed in here, now."""
        self._causes[name] = max(self._causes.get(name, 0), self.clock)


def _brings(message: Message) -> bool:
    """Whether it is a step on the way of an event, rather than of time or of trees."""
    match message:
        case Events(blocks=blocks, answered=answered):
            return bool(answered) or any(len(block) for _, block in blocks)
        case Composites() | Awaken():
            return True
        case _:
            return False
