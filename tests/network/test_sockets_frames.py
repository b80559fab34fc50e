"""What comes over a socket: frames, greetings, numbered messages."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tyrex.network.sockets.connection import Address, Connection, accepted, opened
from tyrex.network.sockets.frames import VERSION, FrameReader, WireError, frame
from tyrex.network.sockets.handshake import Greeting, Identity, Role, new_run, read_greeting
from tyrex.network.sockets.reliable import Inbox, Outbox, Overflow

contents = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(st.lists(contents, max_size=6), st.lists(st.integers(1, 40), min_size=1))
def test_frames_come_out_as_they_went_in_however_the_bytes_are_cut(
    said: list[object], cuts: list[int]
) -> None:
    """TCP gives bytes in pieces of any size."""
    data = b"".join(frame(content) for content in said)
    reader, place = FrameReader(), 0
    heard: list[object] = []
    while place < len(data):
        step = cuts[place % len(cuts)]
        heard += reader.feed(data[place : place + step])
        place += step
    assert heard == said
    assert reader.waiting == 0


@given(st.binary(max_size=200))
def test_random_bytes_are_frames_or_one_error(data: bytes) -> None:
    """Whatever comes, the reader waits for more, gives contents, or says what is wrong."""
    with suppress(WireError):
        list(FrameReader(limit=150).feed(data))


def test_an_announced_frame_that_is_too_long_is_refused_before_it_comes() -> None:
    """Its bytes are never kept."""
    reader = FrameReader(limit=1000)
    with pytest.raises(WireError, match="a frame of 4,294,967,295 bytes was announced; 1,000 are allowed"):
        list(reader.feed(b"\xff\xff\xff\xff"))


@given(contents)
def test_whatever_is_no_greeting_is_refused_with_a_reason(content: object) -> None:
    """Also a greeting that lacks something, or has it of another type."""
    with pytest.raises(WireError):
        read_greeting(content)


@given(st.sampled_from(["tyrex", "name", "role", "run", "received", "known_run", "nonce"]), contents)
def test_a_greeting_with_one_wrong_value_is_refused(field: str, value: object) -> None:
    """Each value is looked at."""
    right = Identity("b1", Role.BROKER, new_run()).greeting().content()
    if type(value) is type(right[field]):
        return
    with pytest.raises(WireError):
        read_greeting(right | {field: value})


def test_another_version_is_told_apart() -> None:
    """The message says what to do."""
    content = Identity("b1", Role.BROKER, new_run()).greeting().content() | {"tyrex": VERSION + 1}
    with pytest.raises(WireError, match="run the same version of tyrex on both"):
        read_greeting(content)


def test_a_proof_is_worth_nothing_in_another_conversation() -> None:
    """Each end brings a fresh nonce, and the sides differ."""
    opener = Identity("a", Role.BROKER, new_run(), b"secret")
    accepter = Identity("b", Role.BROKER, new_run(), b"secret")
    first, second = opener.greeting(), opener.greeting()
    answer = accepter.greeting()
    proof = opener.proof("open", first, answer)
    accepter.check(proof, "open", first, answer)
    for side, opened_with in (("open", second), ("accept", first)):
        with pytest.raises(WireError, match="does not know the secret"):
            accepter.check(proof, side, opened_with, answer)


# --- Numbered messages -------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from(["say", "hear", "break"]), max_size=60))
def test_messages_arrive_once_and_in_order_through_broken_connections(steps: list[str]) -> None:
    """What was under way when a connection broke is sent again, what had arrived is not taken twice."""
    outbox, inbox = Outbox(limit=10**6), Inbox()
    wire: list[tuple[int, bytes]] = []
    said: list[bytes] = []
    heard: list[bytes] = []
    for number, step in enumerate(steps):
        if step == "say":
            said.append(str(number).encode())
            wire.append((outbox.put(said[-1]), said[-1]))
        elif step == "hear" and wire:
            count, payload = wire.pop(0)
            if inbox.accept(count):
                heard.append(payload)
        elif step == "break":
            wire = list(outbox.after(inbox.received))
            outbox.acknowledged(inbox.received)
    for count, payload in outbox.after(inbox.received):
        assert inbox.accept(count)
        heard.append(payload)
    assert heard == said
    outbox.acknowledged(inbox.received)
    assert (len(outbox), outbox.size) == (0, 0)


def test_a_slow_neighbour_fills_the_outbox_and_no_more() -> None:
    """The limit is one of bytes; what was acknowledged makes room."""
    outbox = Outbox(limit=100)
    for _ in range(10):
        outbox.put(b"x" * 10)
    with pytest.raises(Overflow, match="10 messages with 100 bytes"):
        outbox.put(b"x")
    outbox.acknowledged(4)
    assert outbox.put(b"x" * 40) == 11
    with pytest.raises(WireError, match="message 12 was acknowledged, but 11 is the last one sent"):
        outbox.acknowledged(12)


def test_a_gap_in_the_numbers_is_an_error() -> None:
    """A message that is missing would be missing for good."""
    inbox = Inbox()
    assert inbox.accept(1)
    assert not inbox.accept(1)
    with pytest.raises(WireError, match="message 3 came, and 2 was expected"):
        inbox.accept(3)


# --- Over a real socket ------------------------------------------------------------------------------------

Talk = Callable[[int], Awaitable[None]]


def _listening(secret: bytes | None, talk: Talk) -> list[str]:
    """What a listener says of those who connect, while `talk` talks to its port."""
    reasons: list[str] = []
    identity = Identity("b1", Role.BROKER, new_run(), secret)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(reader, writer)
        try:
            theirs, _ = await accepted(connection, identity, lambda _: identity.greeting())
            while (content := await connection.receive()) is not None:
                connection.send([theirs.name, content])
                await connection.drained()
            reasons.append("goodbye")
        except WireError as error:
            reasons.append(str(error))
        finally:
            await connection.close()

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            await talk(server.sockets[0].getsockname()[1])
            for _ in range(200):
                if reasons:
                    return
                await asyncio.sleep(0.01)

    asyncio.run(run())
    return reasons


def test_two_that_know_the_secret_talk() -> None:
    """Each knows who the other is; then frames go both ways."""

    async def talk(port: int) -> None:
        me = Identity("c1", Role.CLIENT, new_run(), b"secret")
        connection, theirs = await opened(Address("127.0.0.1", port), me, me.greeting())
        assert theirs.name == "b1"
        connection.send({"x": 1})
        assert await connection.receive() == ["c1", {"x": 1}]
        await connection.close()

    assert _listening(b"secret", talk) == ["goodbye"]


@pytest.mark.parametrize("secret", [None, b"other"])
def test_who_does_not_know_the_secret_is_refused(secret: bytes | None) -> None:
    """The listener proves itself first, so the one who opens notices at once."""

    async def talk(port: int) -> None:
        me = Identity("c1", Role.CLIENT, new_run(), secret)
        with pytest.raises(WireError, match="does not know the secret"):
            await opened(Address("127.0.0.1", port), me, me.greeting())

    (reason,) = _listening(b"secret", talk)
    assert reason == "the connection ended before the greeting was complete"


def test_a_stranger_who_lies_about_the_proof_is_refused() -> None:
    """Without the secret nothing that follows is heard."""

    async def talk(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        greeting: Greeting = Identity("c1", Role.CLIENT, new_run()).greeting()
        writer.write(frame(greeting.content()) + frame(b"x" * 32) + frame({"x": 1}))
        await writer.drain()
        heard = await reader.read()
        assert msgpack.packb("c1") not in heard[-40:]
        writer.close()

    (reason,) = _listening(b"secret", talk)
    assert reason == "the other end does not know the secret of this network"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "a frame of 1,195,725,856 bytes was announced; 4,096 are allowed"),
        (frame("hello"), "a greeting was expected, and something else came: is it a broker's port?"),
        (b"\x00\x00\x00\x05abc", "the connection ended within a frame"),
    ],
)
def test_strangers_are_told_apart(data: bytes, reason: str) -> None:
    """A browser, a program that speaks something else, one that stops in the middle."""

    async def talk(port: int) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(data)
        writer.write_eof()
        await writer.drain()

    assert _listening(None, talk) == [reason]
