"""One connection: frames over a socket, after both ends have greeted each other."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from tyrex.network.sockets.frames import GREETING, LARGEST, FrameReader, WireError, frame
from tyrex.network.sockets.handshake import Greeting, Identity, read_greeting

Answer: TypeAlias = Callable[[Greeting], Greeting]
PATIENCE = 10.0
"""Seconds that a stranger has for the greeting."""
_CHUNK = 1 << 18


@dataclass(frozen=True, slots=True)
class Address:
    """Where somebody listens."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """From `host:port`, `[::1]:port` or `:port`."""
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdigit() or int(port) > 65535:
            raise ValueError(f"`{text}` is no address: write it as HOST:PORT, for instance 127.0.0.1:7000")
        return cls(host.strip("[]") or "127.0.0.1", int(port))

    @property
    def is_local(self) -> bool:
        """Whether only programs on this machine can reach it."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")

    def __str__(self) -> str:
        """As it is written."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Tls:
    """Certificates: one's own, and the one that signs those of the others.

    A listener needs a certificate; with `authority` it also asks for that of whoever connects (mutual TLS).
    """

    certificate: Path | None = None
    key: Path | None = None
    authority: Path | None = None

    def listening(self) -> ssl.SSLContext:
        """For who accepts connections."""
        if self.certificate is None:
            raise ValueError("who listens with TLS needs a certificate")
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=self.authority)
        context.load_cert_chain(self.certificate, self.key)
        if self.authority is not None:
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def connecting(self) -> ssl.SSLContext:
        """For who opens connections."""
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=self.authority)
        if self.certificate is not None:
            context.load_cert_chain(self.certificate, self.key)
        return context


class Connection:
    """Frames to and from another process."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._frames = FrameReader(GREETING)
        self._ready: deque[Any] = deque()
        self.bytes_in = 0
        self.bytes_out = 0
        self.delay = 0
        """Microseconds for one way, as measured when both greeted."""

    @property
    def peer(self) -> str:
        """The other end's address, for logs."""
        name = self._writer.get_extra_info("peername")
        return f"{name[0]}:{name[1]}" if isinstance(name, tuple) else "somebody"

    def trusted(self, limit: int) -> None:
        """From now on frames may be as long as the settings allow."""
        self._frames.limit = limit

    async def receive(self) -> Any:
        """The next frame's content; None at the end of the stream."""
        while not self._ready:
            data = await self._reader.read(_CHUNK)
            if not data:
                if self._frames.waiting:
                    raise WireError("the connection ended within a frame")
                return None
            self.bytes_in += len(data)
            self._ready.extend(self._frames.feed(data))
        return self._ready.popleft()

    @property
    def more_is_here(self) -> bool:
        """Whether another frame has come already."""
        return bool(self._ready)

    def send(self, content: Any) -> None:
        """Hand a frame to the operating system, which may take its time: see `drained`."""
        data = frame(content)
        self.bytes_out += len(data)
        self._writer.write(data)

    @property
    def waiting(self) -> int:
        """Bytes that were sent here and not yet taken by the operating system."""
        return self._writer.transport.get_write_buffer_size()

    def abort(self) -> None:
        """End the connection at once."""
        self._writer.transport.abort()

    async def drained(self) -> None:
        """Wait until the other end keeps up."""
        await self._writer.drain()

    async def close(self) -> None:
        """End the connection; whatever went wrong with it does not matter any more."""
        self._writer.close()
        try:
            await asyncio.wait_for(self._writer.wait_closed(), 1.0)
        except (OSError, TimeoutError, ssl.SSLError):
            self._writer.transport.abort()


async def opened(
    address: Address, identity: Identity, ours: Greeting, *, tls: Tls | None = None, limit: int = LARGEST
) -> tuple[Connection, Greeting]:
    """Connect and greet: the connection, and who is at the other end."""
    context = None if tls is None else tls.connecting()
    async with asyncio.timeout(PATIENCE):
        connection = Connection(
            *await asyncio.open_connection(address.host, address.port, ssl=context, limit=_CHUNK)
        )
        try:
            with _measured(connection):
                connection.send(ours.content())
                theirs = read_greeting(await _said(connection))
            identity.check(await _said(connection), "accept", ours, theirs)
            connection.send(identity.proof("open", ours, theirs))
            await connection.drained()
        except BaseException:
            await connection.close()
            raise
    connection.trusted(limit)
    return connection, theirs


async def accepted(
    connection: Connection, identity: Identity, answer: Answer, *, limit: int = LARGEST
) -> tuple[Greeting, Greeting]:
    """Greet whoever has connected: what they said, and what we said. `answer` may refuse them with `WireError`."""
    async with asyncio.timeout(PATIENCE):
        theirs = read_greeting(await _said(connection))
        try:
            ours = answer(theirs)
        except WireError as error:
            connection.send({"refused": str(error)})
            await connection.drained()
            raise
        with _measured(connection):
            connection.send(ours.content())
            connection.send(identity.proof("accept", theirs, ours))
            identity.check(await _said(connection), "open", theirs, ours)
    connection.trusted(limit)
    return theirs, ours


@contextmanager
def _measured(connection: Connection) -> Iterator[None]:
    """What happens meanwhile is one way there and one way back."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    yield
    connection.delay = max(1, int((loop.time() - began) * 500_000))


async def _said(connection: Connection) -> Any:
    content = await connection.receive()
    if content is None:
        raise WireError("the connection ended before the greeting was complete")
    return content
