"""The clients: what is published counts once, subscriptions go on through whatever happens to the connection."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import pyarrow as pa
import pytest
from tests.server.nodes import ALARM, RULES, smoke, temp
from tests.server.served import serving

import tyrex
from tyrex.client import Missed, ServerError
from tyrex.client.wire import Reader


def test_a_client_publishes_subscribes_and_changes_rules() -> None:
    """All that a client can do, once."""
    with serving(rules=None) as server, tyrex.Client(server.url) as client:
        assert client.define(RULES) == ["fire"]
        events = [e for i in range(25) for e in (temp(i), smoke(i))]
        assert client.publish(events, batch=7).accepted == 50
        found = list(itertools.islice(client.subscribe('Fire(area = "A1")', start=1), 25))
        assert [d.number for d in found] == list(range(1, 26))
        assert [part.type for part in found[0].lineage] == ["Smoke", "Temp"]
        assert list(client.detections()) == found
        assert client.define(ALARM, replace=True) == ["alarm"]
        client.pause("alarm")
        assert [rule["state"] for rule in client.rules()] == ["active", "paused"]
        client.resume("alarm")
        assert not client.why_not("fire", 24, terminator='Smoke(area = "B")')["fired"]
        assert client.why(1)["parts"][1]["event"]["type"] == "Temp"
        client.remove("alarm")
        assert client.status()["rules"] == 1
        with pytest.raises(ServerError, match="there is no rule `alarm`") as refused:
            client.remove("alarm")
        assert (refused.value.status, refused.value.code) == (404, "NOT_FOUND")
        table = pa.table({"type": ["Smoke"], "timestamp": pa.array([30], pa.int64()), "area": ["A1"]})
        assert client.publish(table).accepted == 1
        assert client.publish({"type": "Smoke", "timestamp": 31, "area": "A1"}).accepted == 1


def test_an_asynchronous_client_does_the_same() -> None:
    """Publishing and following at the same time in one event loop."""

    async def work(url: str) -> list[int]:
        async with tyrex.AsyncClient(url) as client:
            await client.define(RULES)
            numbers = []

            async def follow() -> None:
                async for found in client.subscribe("Fire()", start=1):
                    numbers.append(found.number)
                    if found.number == 10:
                        return

            following = asyncio.create_task(follow())
            for i in range(10):
                await client.publish([temp(i), smoke(i)])
            await asyncio.wait_for(following, 20)
            assert [found.number async for found in client.detections()] == numbers
            return numbers

    with serving(rules=None) as server:
        assert asyncio.run(work(server.url)) == list(range(1, 11))


def test_a_subscription_goes_on_after_a_restart(tmp_path: Path) -> None:
    """A client that loses its server waits for it and misses nothing."""
    with serving(tmp_path) as server:
        client = tyrex.Client(server.url)
        client.publish([temp(1), smoke(2), smoke(3)])
        subscription = client.subscribe(start=1)
        assert [next(subscription).number, next(subscription).number] == [1, 2]
        port = int(server.url.rsplit(":", 1)[1])
    with client, serving(tmp_path, port=port):
        client.publish([smoke(4)])
        found = next(subscription)
        assert (found.number, found.event.timestamp) == (3, 4_000_000)


def test_a_gap_is_told_and_half_an_event_counts_for_nothing() -> None:
    """What the reader of a stream makes of lines: numbers, gaps, and connections that break off."""
    reader = Reader()
    assert reader.line("id: 7") is None
    assert reader.line('data: {"number": 7, "ev') is None
    reader.restart()
    assert reader.last is None
    for line in ("id: 9", "event: gap", 'data: {"gap": {"missed": 9}}'):
        assert reader.line(line) is None
    gap = reader.line("")
    assert isinstance(gap, Missed)
    assert (gap.count, gap.next) == (9, 10)
