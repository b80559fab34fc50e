"""Brokers as processes, started by the command: they are killed, they come back, and what is found stays exact."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.network.test_brokers import RULES, as_set, central, fire_events

from tyrex import parse
from tyrex.network.sockets.client import AsyncClient
from tyrex.network.sockets.frames import WireError

SECRET = b"a secret of the network of these tests"
CHORDS = {"b1": ("b4",), "b3": ("b8",), "b6": ("b10",)}


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@dataclass
class Processes:
    """Brokers in a ring with some chords, each a process; each knows all its neighbours' addresses."""

    folder: Path
    count: int
    strategy: str = "ST"
    ports: dict[str, int] = field(default_factory=dict)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def address(self, name: str) -> str:
        """Where a broker listens."""
        return f"127.0.0.1:{self.ports[name]}"

    def start_all(self) -> None:
        """Start every broker."""
        names = [f"b{number}" for number in range(1, self.count + 1)]
        self.ports = dict(zip(names, free_ports(self.count), strict=True))
        (self.folder / "secret").write_bytes(SECRET)
        for name in names:
            self.start(name)

    def start(self, name: str) -> None:
        """Start a broker, or start it again."""
        number = int(name[1:])
        ring = {f"b{number % self.count + 1}"} - {name}
        neighbours = sorted(ring | {each for each in CHORDS.get(name, ()) if each in self.ports})
        tyrex = Path(sys.executable).with_name("tyrex")
        command = [str(tyrex), "broker", "--name", name, "--listen", self.address(name)]
        command += ["--strategy", self.strategy, "--source-time", "--silence", "8"]
        command += ["--secret-file", str(self.folder / "secret")]
        for each in neighbours:
            command += ["--connect", f"{each}={self.address(each)}"]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                command, stdout=log, stderr=log, env={**os.environ, "LC_ALL": "C"}
            )

    def kill(self, name: str) -> None:
        """SIGKILL: the broker has no time to say goodbye."""
        process = self.running.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        """End all of them."""
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            process.wait(20)


@contextmanager
def processes(folder: Path, count: int, strategy: str = "ST") -> Iterator[Processes]:
    """Brokers that run while this lasts."""
    net = Processes(folder, count, strategy)
    try:
        net.start_all()
        yield net
    finally:
        net.stop()


async def client(stack: AsyncExitStack, net: Processes, name: str) -> AsyncClient:
    """A client of a broker that may still be starting."""
    for _ in range(600):
        try:
            return await stack.enter_async_context(AsyncClient(net.address(name), secret=SECRET))
        except ConnectionError:
            assert net.running[name].poll() is None, (net.folder / f"{name}.log").read_text()
            await asyncio.sleep(0.1)
    raise TimeoutError(f"{name} does not answer")


async def everybody(sink: AsyncClient, count: int) -> None:
    """Wait until a broker knows of so many others."""
    for _ in range(600):
        if (await sink.status())["reachable"] == count:
            return
        await asyncio.sleep(0.1)
    raise TimeoutError(f"not all {count} brokers found each other")


async def delivered(sink: AsyncClient, time: int) -> None:
    """Wait until a broker's sinks have everything up to a time."""
    for _ in range(900):
        if ((await sink.status())["delivered"] or 0) >= time:
            return
        await asyncio.sleep(0.1)
    raise TimeoutError("the sinks never got everything")


def run_with_deaths(folder: Path, count: int, strategy: str, deaths: list[str]) -> None:
    """Publish at three brokers, subscribe at a fourth, and kill others meanwhile; one of them comes back."""
    rules = parse(RULES)
    events = fire_events(120)
    end = events[-1].timestamp + 20 * 60_000_000
    places = {"Temp": "b2", "Smoke": f"b{count - 1}", "Rain": "b4"}

    async def run(net: Processes) -> list[object]:
        async with AsyncExitStack() as stack:
            sink = await client(stack, net, "b3")
            sources = {name: await client(stack, net, name) for name in set(places.values())}
            await everybody(sink, count)
            for type_, place in places.items():
                await sources[place].advertise(rules.types[type_])
            await sink.define("fire", RULES)
            found = [await sink.subscribe(name) for name in sorted({rule.defines.name for rule in rules})]
            step = len(events) // (len(deaths) + 1)
            for number, event in enumerate(events):
                if number and number % step == 0 and number // step <= len(deaths):
                    for each in sources.values():
                        await each.advance(event.timestamp / 1e6 - 1)
                    net.kill(deaths[number // step - 1])
                    if number // step == 2:
                        net.start(deaths[0])
                await sources[places[event.type]].publish([event])
            for each in sources.values():
                await each.advance((end + 1) / 1e6)
            await delivered(sink, end)
            return [one.queue.get_nowait() for one in found for _ in range(one.queue.qsize())]

    with processes(folder, count, strategy) as net:
        got = asyncio.run(run(net))
    assert as_set([event for event in got if event is not None]) == central(rules, events, end)  # type: ignore[misc]


def test_a_broker_that_dies_is_routed_around(tmp_path: Path) -> None:
    """Five brokers in a ring with a chord; one that only passes events on is killed."""
    run_with_deaths(tmp_path, 5, "ST", ["b5"])


@pytest.mark.nightly
@pytest.mark.parametrize("strategy", ["Centr", "ST", "MT", "STpp", "MTpp", "RACED", "PADRES"])
def test_ten_brokers_find_what_one_engine_finds_while_some_die(tmp_path: Path, strategy: str) -> None:
    """Two are killed, the leader among them, and one of them comes back."""
    run_with_deaths(tmp_path, 10, strategy, ["b1", "b7"])


def test_without_the_secret_nobody_gets_in(tmp_path: Path) -> None:
    """Neither a client nor, so, a broker; whoever has it goes on."""

    async def run(net: Processes) -> None:
        async with AsyncExitStack() as stack:
            good = await client(stack, net, "b1")
            for secret in (None, b"another secret of sixteen bytes"):
                with pytest.raises(WireError, match="does not know the secret"):
                    async with AsyncClient(net.address("b1"), secret=secret):
                        pass
            assert (await good.status())["refused"] >= 1

    with processes(tmp_path, 1) as net:
        asyncio.run(run(net))
