"""A broker: one processor as a process, with links to neighbours and clients that publish and subscribe."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from tyrex.network.codec import CodecError, decode, encode_all
from tyrex.network.data.tree import LocalTree
from tyrex.network.outputs import Deliver, Kind, Note, Output, Send
from tyrex.network.processor import Processor
from tyrex.network.sockets.connection import Connection, accepted, opened
from tyrex.network.sockets.frames import WireError
from tyrex.network.sockets.guest import Guest
from tyrex.network.sockets.handshake import Greeting, Identity, Role, new_run
from tyrex.network.sockets.link import Frame, Link, read_frame
from tyrex.network.sockets.pressure import Pressure
from tyrex.network.sockets.reliable import Overflow
from tyrex.network.sockets.settings import BrokerSettings

log = logging.getLogger("tyrex.network")
_RETRY = (0.05, 2.0)
"""Seconds until a broker that could not be reached is tried again: at first, and at most."""


class Broker:
    """Runs a processor over sockets. Everything happens in one event loop; `start` returns when it listens."""

    def __init__(self, settings: BrokerSettings, *, clock: Callable[[], int] | None = None) -> None:
        self.settings = settings
        self.identity = Identity(settings.name, Role.BROKER, new_run(), settings.secret)
        self._clock = clock or (lambda: time.time_ns() // 1000)
        self.processor = Processor(
            settings.name, settings.processor(), data=LocalTree, incarnation=time.time_ns() // 1_000_000
        )
        self.links: dict[str, Link] = {
            name: Link(name, settings.queue_limit, address) for name, address in settings.connect.items()
        }
        self.guests: dict[str, Guest] = {}
        self.refused = 0
        """Connections that were closed for what came over them."""
        self._pressure = Pressure(settings.name)
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """Where the broker listens; it differs from the settings if those said 0."""
        assert self._server is not None, "the broker does not listen yet"
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def start(self) -> None:
        """Listen, connect to the neighbours, let time pass."""
        listen, tls = self.settings.listen, self.settings.tls
        self._server = await asyncio.start_server(
            lambda *streams: self._spawn(self._welcome(Connection(*streams))),
            listen.host,
            listen.port,
            ssl=None if tls is None else tls.listening(),
        )
        log.info("%s listens on %s:%s", self.settings.name, listen.host, self.port)
        self._spawn(self._tick_for_ever())
        for link in self.links.values():
            if link.address is not None:
                self._spawn(self._keep_connected(link))

    async def stop(self) -> None:
        """Stop listening and let go of everybody."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def run(self) -> None:
        """Be a broker until somebody cancels this."""
        await self.start()
        try:
            await asyncio.Event().wait()
        finally:
            await self.stop()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("%s: an error of the broker itself", self.settings.name, exc_info=task.exception())

    def now(self) -> int:
        """The time that the processor is told, in microseconds."""
        return self._clock()

    # --- Time -----------------------------------------------------------------------------------------------

    async def _tick_for_ever(self) -> None:
        loop = asyncio.get_running_loop()
        told, last = 0.0, loop.time()
        while True:
            self.carry_out(self.processor.tick(self.now()))
            now = loop.time()
            if now - last > 10 * self.settings.heartbeat:
                # This process stood still, not its neighbours: what they said meanwhile is still to be read.
                for link in self.links.values():
                    link.heard += now - last
            last = now
            if now - told >= min(1.0, self.settings.silence / 4):
                told = now
                for link in self.links.values():
                    link.alive()
            for link in self.links.values():
                if link.is_up and now - link.heard > self.settings.silence:
                    self._gone(link, f"nothing was heard for {self.settings.silence:g} s")
            self._spread_pressure(now)
            await asyncio.sleep(self.settings.heartbeat)

    def _gone(self, link: Link, why: str) -> None:
        lost = link.give_up()
        log.warning(
            "%s: neighbour %s is gone: %s; %d messages waited for it",
            self.settings.name,
            link.name,
            why,
            lost,
        )
        if link.connection is not None:
            link.connection.abort()
            link.connection = None
        self.carry_out(self.processor.disconnected(self.now(), link.name))

    # --- What the processor wants ---------------------------------------------------------------------------

    def carry_out(self, outputs: Iterable[Output]) -> None:
        """Send, deliver and report."""
        for output in outputs:
            if isinstance(output, Send):
                self._send(output)
            elif isinstance(output, Deliver):
                guest = self.guests.get(output.client)
                if guest is not None:
                    guest.deliver(output.subscription, output.block)
            else:
                self._report(output)

    def _send(self, output: Send) -> None:
        link = self.links.get(output.to)
        if link is None or not link.is_up:
            return  # the processor has been told, or will be in a moment
        try:
            for payload in encode_all(output.message, limit=self.settings.frame_limit - 64):
                link.put(payload)
        except Overflow as error:
            asyncio.get_running_loop().call_soon(self._gone, link, f"it is too slow: {error}")
            link.heard = float("-inf")

    def _report(self, note: Note) -> None:
        level = logging.INFO if note.kind is Kind.NOTICED else logging.WARNING
        log.log(level, "%s: %s: %s", self.settings.name, note.kind, note.text)
        guest = self.guests.get(note.client or "")
        if guest is not None:
            guest.note(note)

    # --- Neighbours -----------------------------------------------------------------------------------------

    async def _keep_connected(self, link: Link) -> None:
        assert link.address is not None
        wait = _RETRY[0]
        while True:
            if link.connection is None:
                try:
                    ours = link.greeting(self.identity)
                    connection, theirs = await opened(
                        link.address,
                        self.identity,
                        ours,
                        tls=self.settings.tls,
                        limit=self.settings.frame_limit,
                    )
                except (OSError, WireError, TimeoutError) as error:
                    log.debug("%s: %s at %s: %s", self.settings.name, link.name, link.address, error)
                    await asyncio.sleep(wait)
                    wait = min(2 * wait, _RETRY[1])
                    continue
                if theirs.name != link.name:
                    log.error(
                        "%s: expected %s at %s, found %s",
                        self.settings.name,
                        link.name,
                        link.address,
                        theirs.name,
                    )
                    await connection.close()
                    await asyncio.sleep(_RETRY[1])
                    continue
                wait = _RETRY[0]
                await self._talk_to_neighbour(link, connection, ours, theirs)
            await asyncio.sleep(wait)

    async def _welcome(self, connection: Connection) -> None:
        """Whoever connects: a neighbour, a client, or somebody who is none of our network."""
        try:
            theirs, ours = await accepted(
                connection, self.identity, self._answer, limit=self.settings.frame_limit
            )
        except (WireError, OSError, TimeoutError) as error:
            self.refused += 1
            reason = str(error) or "the greeting took too long"
            log.warning("%s: connection from %s closed: %s", self.settings.name, connection.peer, reason)
            await connection.close()
            return
        if theirs.role is Role.BROKER:
            await self._talk_to_neighbour(self._link(theirs.name), connection, ours, theirs)
        else:
            await self._talk_to_client(theirs.name, connection)

    def _link(self, name: str) -> Link:
        return self.links.setdefault(name, Link(name, self.settings.queue_limit))

    def _answer(self, theirs: Greeting) -> Greeting:
        if theirs.role is Role.CLIENT:
            if theirs.name in self.guests:
                raise WireError(f"a client `{theirs.name}` is connected already: choose another name")
            if len(self.guests) >= self.settings.most_clients:
                raise WireError(f"there are {len(self.guests):,} clients already, which is the limit")
            return self.identity.greeting()
        if theirs.name == self.identity.name:
            raise WireError(f"there are two brokers with the name `{theirs.name}`: give each its own")
        link = self._link(theirs.name)
        both_connect = link.connection is not None and theirs.run == link.run and link.address is not None
        if both_connect and self.identity.name < theirs.name:  # one connection is enough
            raise WireError(f"`{self.identity.name}` has connected to `{theirs.name}` already")
        return link.greeting(self.identity)

    async def _talk_to_neighbour(
        self, link: Link, connection: Connection, ours: Greeting, theirs: Greeting
    ) -> None:
        loop = asyncio.get_running_loop()
        if link.connection is not None:
            link.connection.abort()  # a newer connection of the same neighbour takes the place of the older
        # Another may have come, or the link been given up, since we greeted: both ends must mean the same.
        if ours.known_run != link.run or ours.received != link.inbox.received:
            await connection.close()
            return
        if not link.goes_on(ours, theirs):
            if link.is_up:
                link.connection = None
                self._gone(link, "it has started anew, or had given us up")
            link.begin(theirs)
            link.connected(connection, 0, loop.time())
            log.info("%s: neighbour %s is there", self.settings.name, link.name)
            self.carry_out(self.processor.connected(self.now(), link.name, connection.delay))
        else:
            link.connected(connection, theirs.received, loop.time())
        self._pressure.tell_all(link)
        writing = asyncio.ensure_future(link.write(connection))
        try:
            await self._hear_neighbour(link, connection)
        except (OSError, TimeoutError) as error:
            log.info("%s: the connection to %s broke: %s", self.settings.name, link.name, error)
        except (WireError, CodecError) as error:
            self.refused += 1
            log.warning("%s: connection to %s closed: %s", self.settings.name, link.name, error)
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            if link.connection is connection:
                link.connection = None
            await connection.close()

    async def _hear_neighbour(self, link: Link, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        while (content := await connection.receive()) is not None:
            if link.connection is not connection:
                return
            link.heard = loop.time()
            kind, values = read_frame(content)
            if kind is Frame.MESSAGE:
                number, acknowledged, payload = values
                if link.take(number, acknowledged):
                    link.counts.bytes_in += len(payload)
                    message = decode(payload, limit=self.settings.frame_limit)
                    self.carry_out(self.processor.receive(self.now(), link.name, message))
            elif kind is Frame.ALIVE:
                link.outbox.acknowledged(values[0])
            else:
                origin, version, on = values
                if self._pressure.heard(origin, version, on, link.heard):
                    self._pressure.pass_on(self.links.values(), origin, without=link.name)
            link.acknowledge()

    # --- Clients --------------------------------------------------------------------------------------------

    async def _talk_to_client(self, name: str, connection: Connection) -> None:
        guest = Guest(name, connection, self)
        self.guests[name] = guest
        log.info("%s: client %s is there", self.settings.name, name)
        try:
            await guest.serve()
        except (OSError, TimeoutError) as error:
            log.info("%s: the connection of client %s broke: %s", self.settings.name, name, error)
        except (WireError, CodecError) as error:
            self.refused += 1
            log.warning("%s: connection of client %s closed: %s", self.settings.name, name, error)
        finally:
            del self.guests[name]
            self.carry_out(self.processor.left(self.now(), name))
            await connection.close()

    async def learned(self, type_: str) -> None:
        """Come back when the trees that this broker is part of know of a type, or after a while.

        A source that publishes before might be passed by: its neighbours would think that there is nothing to wait for.
        """
        try:
            async with asyncio.timeout(self.settings.silence):
                while self._unaware(type_):
                    await asyncio.sleep(self.settings.heartbeat)
        except TimeoutError:
            trees = ", ".join(self._unaware(type_))
            log.warning("%s: trees that still do not know of `%s`: %s", self.settings.name, type_, trees)

    def _unaware(self, type_: str) -> list[str]:
        """The trees that this broker is part of and that do not bring events of a type."""
        return [
            f"{branch.tree.root} (epoch {branch.tree.epoch})"
            for branch in self.processor.branches.values()
            if type_ not in branch.announced
        ]

    async def room(self) -> None:
        """Come back when sources may go on: nobody in the network has asked them to wait."""
        await self._pressure.gone()

    def _spread_pressure(self, now: float) -> None:
        waiting = max((link.outbox.size for link in self.links.values()), default=0)
        if self._pressure.feel(waiting, self.settings.queue_limit, now):
            self._pressure.pass_on(self.links.values(), self.settings.name)
        self._pressure.forget_before(now - self.settings.silence)

    def status(self) -> dict[str, Any]:
        """What this broker is, does and holds, for people and programs."""
        return {
            "name": self.settings.name,
            "strategy": self.settings.strategy,
            "mode": self.settings.mode,
            "links": {name: link.status() for name, link in sorted(self.links.items())},
            "clients": {name: {"missed": guest.missed} for name, guest in sorted(self.guests.items())},
            "refused": self.refused,
            "sources_wait": self._pressure.is_on,
            "reachable": len(self.processor.topology.reachable()),
            "delivered": self.processor.delivered,
            "counts": self.processor.counts(),
            "trees": {
                root: {
                    "epoch": branch.tree.epoch,
                    "parent": branch.place.parent,
                    "children": list(branch.place.children),
                }
                for root, branch in sorted(self.processor.branches.items())
            },
        }
