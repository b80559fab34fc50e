"""Brokers in the loop of a test: real sockets on loopback, one process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tyrex.events import Event
from tyrex.network.sockets.broker import Broker
from tyrex.network.sockets.client import AsyncClient
from tyrex.network.sockets.connection import Address
from tyrex.network.sockets.settings import BrokerSettings
from tyrex.rules import RuleSet

HERE = Address("127.0.0.1", 0)
PATIENCE = 60.0
"""Seconds; a test machine may be busy."""


@dataclass
class Network:
    """Brokers by name, and how they are connected."""

    options: Mapping[str, Any]
    brokers: dict[str, Broker] = field(default_factory=dict)

    async def add(self, name: str, *neighbours: str, **options: Any) -> Broker:
        """Start a broker that connects to these."""
        connect = {each: self.address(each) for each in neighbours}
        broker = Broker(BrokerSettings(name, HERE, connect, **{"silence": 20.0, **self.options, **options}))
        await broker.start()
        self.brokers[name] = broker
        return broker

    def address(self, name: str) -> Address:
        """Where a broker listens."""
        return Address("127.0.0.1", self.brokers[name].port)

    async def wait(self, what: str, until: Any) -> None:
        """Wait for something that will be so."""
        end = asyncio.get_running_loop().time() + PATIENCE
        while not until():
            if asyncio.get_running_loop().time() > end:
                raise TimeoutError(f"waited in vain until {what}")
            await asyncio.sleep(0.01)

    async def connected(self) -> None:
        """Wait until every broker knows all the others."""
        count = len(self.brokers)
        await self.wait(
            "all brokers know each other",
            lambda: all(len(b.processor.topology.reachable()) == count for b in self.brokers.values()),
        )

    async def passed(self, time: int, *names: str) -> None:
        """Wait until the sinks of these brokers have got everything up to a time."""
        await self.wait(
            f"the sinks have everything up to {time}",
            lambda: all((self.brokers[name].processor.delivered or 0) >= time for name in names),
        )


@asynccontextmanager
async def network(**options: Any) -> AsyncIterator[Network]:
    """An empty network; its brokers stop with it."""
    net = Network(options)
    try:
        yield net
    finally:
        for broker in net.brokers.values():
            await broker.stop()


@dataclass(frozen=True)
class Plan:
    """Who publishes what, and where it is wanted."""

    rules: RuleSet
    text: str
    places: Mapping[str, str]
    """For each type the broker where it is published."""
    sink: str


async def detected(net: Network, plan: Plan, events: Sequence[Event], end: int) -> list[Event]:
    """What a sink gets, if sources publish these events, in their order, and time goes on to `end`."""
    async with AsyncExitStack() as stack:
        names = sorted({*plan.places.values(), plan.sink})
        clients = {
            name: await stack.enter_async_context(AsyncClient(net.address(name), name=f"of-{name}"))
            for name in names
        }
        for type_, place in plan.places.items():
            await clients[place].advertise(plan.rules.types[type_])
        sink = clients[plan.sink]
        await sink.define("rules", plan.text)
        found = [await sink.subscribe(name) for name in sorted({rule.defines.name for rule in plan.rules})]
        for event in events:
            await clients[plan.places[event.type]].publish([event])
        for client in clients.values():
            await client.advance((end + 1) / 1_000_000)
        await net.passed(end, plan.sink)
        await sink.status()  # whatever was delivered before has come when this is answered
        events_found = [one.queue.get_nowait() for one in found for _ in range(one.queue.qsize())]
        return [event for event in events_found if event is not None]
