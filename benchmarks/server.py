"""A server under load: events by HTTP in batches of 1,000, made safe before each answer; and how soon subscribers know.

    .venv/bin/python -m benchmarks.server [--quick] [--format json]

Server, producers and subscribers are three processes that share the machine. There are 1,000 rules about fires in as
many areas, and 100 subscribers by server-sent events, each to one area. First as many events as go through, with
waiting for the disk and without; then 10,000 events in a second, and from the moment a batch is sent to the one
at which each subscriber has read the detection that it led to. `fsync` is the log alone: batches of 1,000 events of
100 bytes each, with one wait for the disk for each.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import httpx
from benchmarks.report import Machine, Report, Table, Verdict, arguments, publish

from tyrex.server.log import Journal

RULES = 1_000
SUBSCRIBERS = 100
BATCH = 1_000
PRODUCERS = 4
TARGET_RATE = 100_000
TARGET_SECONDS = 0.05
STEADY = 10_000
_MAIN = "from tyrex.cli import main; main()"


@dataclass(frozen=True, slots=True)
class Load:
    """As many events as go through."""

    name: str
    events: int
    seconds: float
    answer_p50: float
    answer_p99: float
    cpu: float
    """Seconds of the server on all processors."""
    memory_half: int
    """Bytes of the server when half of the time was over."""
    memory_end: int

    @property
    def rate(self) -> float:
        """Events in a second."""
        return self.events / self.seconds


@dataclass(frozen=True, slots=True)
class Notices:
    """How soon subscribers know, at a steady rate."""

    rate: float
    count: int
    p50: float
    p99: float
    missed: int
    """Detections that a subscriber should have got and did not."""


@dataclass(frozen=True, slots=True)
class Result:
    """All that was measured."""

    loads: list[Load]
    notices: Notices
    fsyncs: float
    """Events in a second that the log alone makes safe."""


def rules(count: int = RULES) -> str:
    """Rules about fires, each in its area."""
    declared = "event Temp(area: string, value: int)\nevent Smoke(area: string)\n"
    return declared + "".join(
        f"""
Rule fire{n}
define Fire(area: string, value: int)
from   Smoke(area = "A{n}") and last Temp(area = "A{n}" and value > 90) within 5 min from Smoke
where  area = Smoke.area, value = Temp.value
"""
        for n in range(count)
    )


def batch(number: int, size: int, areas: int, *, clock: int) -> bytes:
    """Events as JSON lines: temperatures in all areas, and a smoke for every hundred of them."""
    lines = []
    for place in range(size):
        event = number * size + place
        if place % 100 == 99:
            lines.append(f'{{"type":"Smoke","timestamp":{clock / 1e6:.6f},"area":"A{event // 100 % areas}"}}')
        else:
            area, value = event * 7 % areas, event * 31 % 97
            lines.append(f'{{"type":"Temp","timestamp":{clock / 1e6:.6f},"area":"A{area}","value":{value}}}')
    return "\n".join(lines).encode()


@dataclass
class Server:
    """A server as a process of its own."""

    folder: Path
    sync: bool = True
    url: str = ""
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def __enter__(self) -> Server:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        line = [
            sys.executable,
            "-c",
            _MAIN,
            "serve",
            "--data",
            str(self.folder),
            "--listen",
            f"127.0.0.1:{port}",
        ]
        environment = os.environ | {"TYREX_SYNC": str(self.sync).lower()}
        self._process = subprocess.Popen(line, env=environment, stderr=subprocess.DEVNULL)
        for _ in range(1200):
            try:
                httpx.get(f"{self.url}/ready").raise_for_status()
                return self
            except httpx.HTTPError:
                time.sleep(0.05)
        raise RuntimeError("the server has not started within a minute")

    def __exit__(self, *error: object) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(60)

    def usage(self) -> tuple[float, int]:
        """Seconds on the processor, and bytes in memory."""
        assert self._process is not None
        stat = Path(f"/proc/{self._process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        cpu = (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
        return cpu, int(stat[21]) * os.sysconf("SC_PAGE_SIZE")


def load(name: str, folder: Path, seconds: float, *, sync: bool, count: int = RULES) -> Load:
    """As many batches as the server takes, from some producers at once."""
    with Server(folder, sync) as server:
        httpx.post(f"{server.url}/v1/rules", json={"text": rules(count)}, timeout=120).raise_for_status()
        return asyncio.run(_load(name, server, seconds, count))


async def _load(name: str, server: Server, seconds: float, areas: int) -> Load:
    made = [
        batch(number, BATCH, areas, clock=1_000_000_000) for number in range(50)
    ]  # making them takes no time then
    answers: list[float] = []
    numbers = iter(range(10**9))
    memory_half = 0
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as http:
        headers = {"Content-Type": "application/x-ndjson"}
        for body in made[:3]:  # the first ones load what reads them
            (await http.post("/v1/events", content=body, headers=headers)).raise_for_status()
        cpu_before, _ = server.usage()
        began = time.perf_counter()

        async def produce() -> None:
            nonlocal memory_half
            while (now := time.perf_counter()) - began < seconds:
                body = made[next(numbers) % len(made)]
                answer = await http.post("/v1/events", content=body, headers=headers)
                answer.raise_for_status()
                answers.append(time.perf_counter() - now)
                if not memory_half and now - began > seconds / 2:
                    memory_half = server.usage()[1]

        await asyncio.gather(*(produce() for _ in range(PRODUCERS)))
        await http.get("/v1/status")  # in its turn: all that was accepted has been processed by then
        took = time.perf_counter() - began
        cpu, memory = server.usage()
    p50, p99 = percentiles(answers)
    return Load(name, BATCH * len(answers), took, p50, p99, cpu - cpu_before, memory_half or memory, memory)


def notices(folder: Path, seconds: float, *, count: int = RULES, subscribers: int = SUBSCRIBERS) -> Notices:
    """How soon subscribers know what 10,000 events in a second lead to, in batches of 100."""
    with Server(folder) as server:
        httpx.post(f"{server.url}/v1/rules", json={"text": rules(count)}, timeout=120).raise_for_status()
        return asyncio.run(_notices(server, seconds, count, subscribers))


async def _notices(server: Server, seconds: float, areas: int, subscribers: int) -> Notices:
    size = 100
    every = size / STEADY
    sent: dict[tuple[int, str], float] = {}
    """When each smoke that leads to a detection was sent, by its area and time."""
    got: list[float] = []
    expected: dict[str, int] = {}
    received: dict[str, int] = {}
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=server.url, timeout=120, limits=limits) as http:
        ready = asyncio.Semaphore(0)

        async def subscribe(area: str) -> None:
            params = {"filter": f'Fire(area = "{area}")'}
            async with http.stream("GET", "/v1/detections/stream", params=params) as answer:
                ready.release()
                async for line in answer.aiter_lines():
                    if line.startswith("data: "):
                        now = time.perf_counter()
                        value = json.loads(line[6:])["event"]["value"]
                        if (value, area) not in sent:
                            continue  # of what came before the clock ran
                        got.append(now - sent[value, area])
                        received[area] = received.get(area, 0) + 1

        tasks = [asyncio.create_task(subscribe(f"A{n}")) for n in range(subscribers)]
        for _ in tasks:
            await ready.acquire()
        headers = {"Content-Type": "application/x-ndjson"}
        first = batch(0, size, areas, clock=1_000_000)
        (await http.post("/v1/events", content=first, headers=headers)).raise_for_status()
        began, posts = time.perf_counter(), set[asyncio.Task[httpx.Response]]()
        total = int(seconds / every)
        for number in range(total):
            await asyncio.sleep(max(0.0, began + number * every - time.perf_counter()))
            area, mark = f"A{number % subscribers}", 1_000 + number
            at = 100_000.0  # the same for all: requests may overtake each other, and none is to be late
            lines = [
                f'{{"type":"Temp","timestamp":{at:.6f},"area":"A{(number * size + n) % areas}","value":{n % 90}}}'
                for n in range(size - 2)
            ]
            lines.append(f'{{"type":"Temp","timestamp":{at:.6f},"area":"{area}","value":{mark}}}')
            lines.append(f'{{"type":"Smoke","timestamp":{at:.6f},"area":"{area}"}}')
            sent[mark, area] = time.perf_counter()
            expected[area] = expected.get(area, 0) + 1
            task = asyncio.create_task(http.post("/v1/events", content="\n".join(lines), headers=headers))
            posts.add(task)
            task.add_done_callback(posts.discard)
        while posts:
            await asyncio.wait(posts)
        took = time.perf_counter() - began
        for _ in range(200):
            if sum(received.values()) >= sum(expected.values()):
                break
            await asyncio.sleep(0.05)
        for one in tasks:
            one.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    p50, p99 = percentiles(got)
    return Notices(total * size / took, len(got), p50, p99, sum(expected.values()) - sum(received.values()))


def fsyncs(folder: Path, batches: int) -> float:
    """Events in a second that the log makes safe, in batches of 1,000 with a wait for the disk for each."""
    journal = Journal(folder)
    payload = os.urandom(100 * BATCH)
    began = time.perf_counter()
    for _ in range(batches):
        journal.append(1, payload)
        journal.sync()
    took = time.perf_counter() - began
    journal.close()
    return batches * BATCH / took


def percentiles(values: list[float]) -> tuple[float, float]:
    """The median and the 99th."""
    if not values:
        return float("nan"), float("nan")
    ordered = sorted(values)
    return ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]


def measure(seconds: float, *, count: int = RULES, subscribers: int = SUBSCRIBERS) -> Result:
    """All of it, in about so many seconds."""
    with tempfile.TemporaryDirectory(prefix="tyrex-benchmark-") as name:
        folder = Path(name)
        return Result(
            [
                load("with fsync", folder / "safe", seconds * 0.4, sync=True, count=count),
                load("without", folder / "fast", seconds * 0.2, sync=False, count=count),
            ],
            notices(folder / "notices", seconds * 0.4, count=count, subscribers=subscribers),
            fsyncs(folder / "log", max(10, int(seconds * 10))),
        )


def report(result: Result) -> Report:
    """The report of what was measured."""
    safe, fast = result.loads
    header = (
        "load",
        "events",
        "events/s",
        "answer p50, ms",
        "p99, ms",
        "server's cpu, s",
        "MB at half",
        "MB at end",
    )
    rows = tuple(
        (
            each.name,
            each.events,
            round(each.rate),
            each.answer_p50 * 1e3,
            each.answer_p99 * 1e3,
            each.cpu,
            round(each.memory_half / 1e6),
            round(each.memory_end / 1e6),
        )
        for each in result.loads
    )
    told = result.notices
    notice = Table(
        ("publish to notice", "events/s", "p50, ms", "p99, ms", "missed"),
        ((f"{told.count:,} notices", round(told.rate), told.p50 * 1e3, told.p99 * 1e3, told.missed),),
    )
    return Report(
        "server",
        f"A server with {RULES:,} rules, batches of {BATCH:,} by HTTP",
        (Table(header, rows), notice),
        (
            Verdict("events with fsync", safe.rate, TARGET_RATE, "events/s", at_least=True),
            Verdict("publish to notice, p99", told.p99 * 1e3, TARGET_SECONDS * 1e3, "ms"),
        ),
        (
            f"The same without waiting for the disk: {fast.rate / safe.rate:.2f} x.",
            f"The log alone: {result.fsyncs:,.0f} events/s in batches of {BATCH:,} with a wait for the disk for each.",
        ),
        asdict(result),
    )


def main() -> None:
    """Measure and show."""
    options = arguments(__doc__).parse_args()
    machine = Machine()
    result = measure(20 if options.quick else 300)
    publish(report(result), None, options, machine)


if __name__ == "__main__":
    main()
