"""Clients of a broker network: sources that publish, sinks that subscribe, managers that define rules."""

from __future__ import annotations

import asyncio
import itertools
import secrets
import threading
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from tyrex.events import Event, EventError, to_microseconds
from tyrex.network.blocks import block_of
from tyrex.network.columns import CodecError, pack_block, unpack_block
from tyrex.network.messages import TypeDeclared
from tyrex.network.sockets.calls import UNASKED, Call, pack_type, read_answer
from tyrex.network.sockets.connection import Address, Connection, Tls, opened
from tyrex.network.sockets.frames import LARGEST, WireError
from tyrex.network.sockets.handshake import Identity, Role, new_run
from tyrex.tesla.types import EventType

T = TypeVar("T")
_BATCH = 10_000
"""Events that go in one frame."""


class BrokerError(Exception):
    """The broker refused a call; the message says why."""


class NotConnected(ConnectionError):
    """There is no broker, or not any more."""


class Found:
    """The events of a subscription, as they come."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.queue: asyncio.Queue[Event | None] = asyncio.Queue()

    def __aiter__(self) -> AsyncIterator[Event]:
        """One event after the other, until the connection ends."""
        return self._events()

    async def _events(self) -> AsyncIterator[Event]:
        while (event := await self.queue.get()) is not None:
            yield event


class AsyncClient:
    """A connection to a broker: `async with AsyncClient("127.0.0.1:7000") as client`."""

    def __init__(
        self,
        address: str | Address,
        *,
        name: str | None = None,
        secret: bytes | None = None,
        tls: Tls | None = None,
    ) -> None:
        self._address = Address.parse(address) if isinstance(address, str) else address
        self._identity = Identity(name or f"client-{secrets.token_hex(4)}", Role.CLIENT, new_run(), secret)
        self._tls = tls
        self._connection: Connection | None = None
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._numbers = itertools.count(UNASKED + 1)
        self._found: dict[int, Found] = {}
        self._types: dict[str, EventType] = {}
        self._hearing: asyncio.Task[None] | None = None
        self.missed = 0
        """Events that did not come since this client was too slow."""
        self.notes: list[str] = []
        """What the broker noticed of what this client did, such as events that were late; the last hundred."""
        self.ended: str | None = None
        """Why the connection ended, once it has."""

    async def __aenter__(self) -> Self:
        """Connect."""
        try:
            self._connection, _ = await opened(
                self._address, self._identity, self._identity.greeting(), tls=self._tls, limit=LARGEST
            )
        except (OSError, TimeoutError) as error:
            raise NotConnected(
                f"no broker answers at {self._address}: {str(error) or 'it took too long'}"
            ) from None
        self._hearing = asyncio.ensure_future(self._hear())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of the broker; it forgets the subscriptions."""
        if self._hearing is not None:
            self._hearing.cancel()
            await asyncio.gather(self._hearing, return_exceptions=True)
        if self._connection is not None:
            await self._connection.close()

    # --- The API of RACED (Table 1) -------------------------------------------------------------------------

    async def advertise(self, *types: EventType) -> None:
        """Say which types of events this client will publish."""
        for type_ in types:
            declared = TypeDeclared(type_.name, tuple((a.name, a.type) for a in type_.attributes))
            await self._call(Call.ADVERTISE, pack_type(declared))
            self._types[type_.name] = type_

    async def publish(self, events: Iterable[Event | Mapping[str, Any]], *, stamp: bool = False) -> int:
        """Publish events of advertised types: how many were accepted, the others were late.

        They are `Event`s, or dicts in the form of JSON lines. Events of one call go in the order of their types.
        With `stamp` they get the time of the broker's clock when they arrive, whatever their own is.
        """
        by_type: dict[str, list[Event]] = {}
        for each in events:
            event = _event(each, stamp=stamp)
            if event.type not in self._types:
                raise BrokerError(f"`{event.type}` was not advertised: call `advertise` first")
            by_type.setdefault(event.type, []).append(event)
        accepted = 0
        for name, every in by_type.items():
            for start in range(0, len(every), _BATCH):
                block = block_of(self._types[name], every[start : start + _BATCH], "", 1)
                taken, _ = await self._call(Call.PUBLISH, pack_block(block), stamp)
                accepted += taken
        return accepted

    async def advance(self, upto: Any) -> None:
        """Tell that nothing more is to come up to this time, where the network goes by the time of its sources."""
        await self._call(Call.ADVANCE, to_microseconds(upto))

    async def subscribe(self, filter: str) -> Found:
        """Ask for events that fit, such as `Fire(area = "A1")`: iterate over what this gives."""
        found = Found(next(self._numbers))
        self._found[found.number] = found
        try:
            await self._call(Call.SUBSCRIBE, found.number, filter)
        except BaseException:
            del self._found[found.number]
            raise
        return found

    async def unsubscribe(self, found: Found) -> None:
        """End a subscription."""
        await self._call(Call.UNSUBSCRIBE, found.number)
        self._found.pop(found.number, None)
        found.queue.put_nowait(None)

    async def define(self, name: str, rules: str, *, raced: bool = False) -> None:
        """Give the network a set of rules, in TESLA or RACED, under a name; a set of the same name is replaced."""
        await self._call(Call.DEFINE, name, rules, raced)

    async def undefine(self, name: str) -> None:
        """Take a set of rules away."""
        await self._call(Call.UNDEFINE, name)

    async def status(self) -> dict[str, Any]:
        """What the broker is, does and holds."""
        status: dict[str, Any] = await self._call(Call.STATUS)
        return status

    # --- The connection -------------------------------------------------------------------------------------

    async def _call(self, what: Call, *given: Any) -> Any:
        if self._connection is None or self.ended is not None:
            raise NotConnected(self.ended or "the client is not connected: use it in `async with`")
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._connection.send([number, str(what), *given])
            await self._connection.drained()
            return await answer
        except OSError as error:
            raise NotConnected(f"the broker at {self._address} is gone: {error}") from None
        finally:
            self._waiting.pop(number, None)

    async def _hear(self) -> None:
        assert self._connection is not None
        reason = f"the broker at {self._address} closed the connection"
        try:
            while (content := await self._connection.receive()) is not None:
                self._take(*read_answer(content))
        except (OSError, WireError, CodecError, TypeError, ValueError) as error:
            reason = f"the connection to {self._address} ended: {error}"
        finally:
            self.ended = reason
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(NotConnected(reason))
            for found in self._found.values():
                found.queue.put_nowait(None)

    def _take(self, number: int, kind: str, values: list[Any]) -> None:
        if number != UNASKED:
            future = self._waiting.get(number)
            if future is not None and not future.done():
                if kind == "ok":
                    future.set_result(values[0])
                else:
                    future.set_exception(BrokerError(values[0]))
        elif kind == "found":
            found = self._found.get(values[0])
            if found is not None:
                for event in unpack_block(values[1]).events():
                    found.queue.put_nowait(event)
        elif kind == "missed":
            self.missed += values[0]
        elif kind == "note":
            self.notes = [*self.notes[-99:], values[1]]


def _event(given: Event | Mapping[str, Any], *, stamp: bool) -> Event:
    if isinstance(given, Event):
        return given
    try:
        type_, timestamp = given["type"], 0 if stamp else given["timestamp"]
    except KeyError as error:
        raise EventError(f"an event has no {error}: it is `type`, `timestamp` and the attributes") from None
    attributes = {name: value for name, value in given.items() if name not in ("type", "timestamp", "id")}
    return Event(type_, to_microseconds(timestamp), attributes, given.get("id"))


class Client:
    """The same without `async`: `with Client("127.0.0.1:7000") as client`. It has a thread of its own."""

    def __init__(self, address: str | Address, **options: Any) -> None:
        self._client = AsyncClient(address, **options)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="tyrex-client")

    def __enter__(self) -> Self:
        """Connect."""
        self._thread.start()
        try:
            self._wait(self._client.__aenter__())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of the broker."""
        self._wait(self._client.__aexit__(kind, error, trace))
        self._end()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    @property
    def missed(self) -> int:
        """Events that did not come since this client was too slow."""
        return self._client.missed

    @property
    def notes(self) -> Sequence[str]:
        """What the broker noticed of what this client did."""
        return self._client.notes

    def advertise(self, *types: EventType) -> None:
        """Say which types of events this client will publish."""
        self._wait(self._client.advertise(*types))

    def publish(self, events: Iterable[Event | Mapping[str, Any]], *, stamp: bool = False) -> int:
        """Publish events of advertised types: how many were accepted, the others were late."""
        return self._wait(self._client.publish(events, stamp=stamp))

    def advance(self, upto: Any) -> None:
        """Tell that nothing more is to come up to this time."""
        self._wait(self._client.advance(upto))

    def subscribe(self, filter: str) -> Iterator[Event]:
        """Ask for events that fit: the iterator waits for the next one, until the connection ends."""
        found = self._wait(self._client.subscribe(filter))
        return iter(lambda: self._wait(found.queue.get()), None)

    def define(self, name: str, rules: str, *, raced: bool = False) -> None:
        """Give the network a set of rules, in TESLA or RACED, under a name; a set of the same name is replaced."""
        self._wait(self._client.define(name, rules, raced=raced))

    def undefine(self, name: str) -> None:
        """Take a set of rules away."""
        self._wait(self._client.undefine(name))

    def status(self) -> dict[str, Any]:
        """What the broker is, does and holds."""
        return self._wait(self._client.status())
