"""A server that is killed again and again under load, and a checker of what came of it."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.server.nodes import RULES

from tyrex.client import Client, Detected
from tyrex.events import Event, Value
from tyrex.reference import run
from tyrex.rules import parse
from tyrex.server.log import Journal
from tyrex.server.node.batches import events_of
from tyrex.server.node.records import EventsRecord, decode

_MAIN = "from tyrex.cli import main; main()"


@dataclass
class Story:
    """What everybody was told."""

    told: list[str] = field(default_factory=list)
    """The ids of events that a producer was told are safe, in the order in which it was told."""
    seen: list[Detected] = field(default_factory=list)
    """What the subscriber got."""
    kills: int = 0


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def start(data: Path, port: int, *options: str) -> subprocess.Popen[bytes]:
    """A server as a process of its own."""
    return subprocess.Popen(
        [
            sys.executable,
            "-c",
            _MAIN,
            "serve",
            "--data",
            str(data),
            "--listen",
            f"127.0.0.1:{port}",
            *options,
        ],
        stderr=subprocess.DEVNULL,
    )


def produce(url: str, number: int, stop: threading.Event, story: Story, errors: list[BaseException]) -> None:
    """Publish batches, each until it is accepted; every producer has areas of its own, and time goes on for all."""
    chance = random.Random(number)
    count = 0
    try:
        with Client(url, patience=60) as client:
            while not stop.is_set():
                batch = []
                for _ in range(chance.randrange(1, 12)):
                    count += 1
                    now = time.time_ns() // 1000
                    area = f"{number}.{chance.randrange(3)}"
                    if chance.random() < 0.5:
                        values: dict[str, Value] = {"area": area, "value": chance.choice([40.0, 50.0, 60.0])}
                        batch.append(Event("Temp", now, values, f"{number}-{count}"))
                    else:
                        batch.append(Event("Smoke", now, {"area": area}, f"{number}-{count}"))
                assert client.publish(batch).accepted in (0, len(batch))  # 0: it was, before the server died
                story.told += [str(event.id) for event in batch]
                time.sleep(chance.random() * 0.03)
    except BaseException as error:
        errors.append(error)


def follow(url: str, enough: threading.Event, story: Story, errors: list[BaseException]) -> None:
    """Subscribe to everything from the first detection on."""
    try:
        with Client(url, patience=60) as client:
            for found in client.subscribe(start=1):
                story.seen.append(found)
                if enough.is_set():
                    return
    except BaseException as error:
        if not enough.is_set():
            errors.append(error)


def tell(data: Path, kills: int, seed: int = 1) -> Story:
    """Run producers and a subscriber against a server that is killed so many times."""
    chance = random.Random(seed)
    port, story = free_port(), Story()
    url = f"http://127.0.0.1:{port}"
    options = ["--delay", "10 s", "--config", str(_config(data))]
    server = start(data / "node", port, *options)
    stop, enough, errors = threading.Event(), threading.Event(), list[BaseException]()
    with Client(url, patience=60) as client:
        client.define(RULES, replace=True)
        threads = [
            *(
                threading.Thread(target=produce, args=(url, n, stop, story, errors), daemon=True)
                for n in range(2)
            ),
            threading.Thread(target=follow, args=(url, enough, story, errors), daemon=True),
        ]
        for thread in threads:
            thread.start()
        try:
            for _ in range(kills):
                time.sleep(chance.uniform(0.1, 1.2))
                server.kill()
                server.wait()
                story.kills += 1
                server = start(data / "node", port, *options)
                client.status()  # it is back
            time.sleep(1)
            stop.set()
            for thread in threads[:2]:
                thread.join(90)
            # Time moves on, so that all that waits is processed, and there is a detection to wait for.
            later = time.time_ns() // 1000 + 60_000_000
            client.publish(
                [
                    Event("Temp", later, {"area": "end", "value": 99.0}, "end-1"),
                    Event("Smoke", later + 1, {"area": "end"}, "end-2"),
                    Event("Temp", later + 30_000_000, {"area": "end", "value": 1.0}, "end-3"),
                ]
            )
            story.told += ["end-1", "end-2", "end-3"]
            _until(lambda: bool(errors) or any(d.event["area"] == "end" for d in story.seen))
            enough.set()
        finally:
            server.terminate()
            server.wait(60)
    assert not errors, errors
    assert server.returncode == 0
    return story


def check(story: Story, data: Path) -> None:
    """Nothing lost, nothing twice, the order kept, and detected what the reference says."""
    journal = Journal(data / "node" / "events")
    accepted: list[Event] = []
    for record in journal.read():
        found = decode(record)
        if isinstance(found, EventsRecord):
            accepted += [event for batch in found.parts for event in events_of(batch)]
    journal.close()
    ids = [str(event.id) for event in accepted]
    assert len(set(ids)) == len(ids), "an event counts twice"
    assert set(story.told) <= set(ids), "an event was lost"
    for number in ("0-", "1-"):
        mine = [int(id_[2:]) for id_ in ids if id_.startswith(number)]
        assert mine == sorted(mine), "the order of a producer was not kept"
    numbers = [found.number for found in story.seen]
    assert numbers == list(range(1, len(numbers) + 1)), "a detection was lost, or came twice"
    expected = run(parse(RULES).checked, accepted, delay=10_000_000, until=None)
    assert [(d.event.id, str(d.event)) for d in story.seen] == [
        (event.id, str(event)) for event in expected.composites[: len(story.seen)]
    ]
    assert len(story.seen) == len(expected.composites)


def _config(data: Path) -> Path:
    """Snapshots often, so that most lives begin with one."""
    data.mkdir(parents=True, exist_ok=True)
    path = data / "tyrex.toml"
    path.write_text("snapshot_seconds = 0.3\n")
    return path


def _until(holds: Callable[[], bool]) -> None:
    for _ in range(6000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen within a minute")
