"""Brokers over real sockets find what one engine finds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.network.brokers import Network, Plan, detected, network

from tyrex import Engine, Event, parse
from tyrex.events import Value
from tyrex.network.control.settings import STRATEGIES
from tyrex.network.sockets.client import AsyncClient, BrokerError, NotConnected
from tyrex.network.sockets.frames import WireError
from tyrex.rules import RuleSet
from tyrex.testing import Case, read_fixture

FIXTURES = Path(__file__).parents[1] / "semantics"
CASES = [
    case
    for path in sorted(FIXTURES.rglob("*.tesla.md"))
    for case in read_fixture(path)
    if not case.is_about_diagnostics and case.setting.delay is None and case.setting.time_zone == "UTC"
]
RULES = (Path(__file__).parents[2] / "examples" / "fire" / "rules.tesla").read_text()
MINUTE = 60_000_000


def fire_events(count: int) -> list[Event]:
    """Temperatures, smoke and rain in three areas."""
    events = []
    for number in range(count):
        area = f"a{number % 3}"
        attributes: dict[str, Value] = (
            {"area": area, "value": 40.0 + number % 13} if number % 4 else {"area": area}
        )
        type_ = "Temp" if number % 4 else "Rain" if number % 32 == 0 else "Smoke"
        events.append(Event(type_, number * 7_000_000, attributes, f"e{number}"))
    return events


def central(rules: RuleSet, events: Sequence[Event], end: int) -> set[tuple[str, int, str | None]]:
    """What one engine finds that gets everything."""
    engine = Engine(rules)
    found = [*engine.send_batch(list(events)), *engine.flush(end / 1_000_000)]
    return {(event.type, event.timestamp, event.id) for event in found}


def as_set(events: Sequence[Event]) -> set[tuple[str, int, str | None]]:
    """Composite events, each known by its id; none may come twice."""
    found = {(event.type, event.timestamp, event.id) for event in events}
    assert len(found) == len(events)
    return found


def places_for(events: Sequence[Event], brokers: Sequence[str]) -> dict[str, str]:
    """A broker for each type; types that have simultaneous events share one, since a place orders its own events."""
    groups: list[set[str]] = [{event.type} for event in events]
    for time in {event.timestamp for event in events}:
        together = {event.type for event in events if event.timestamp == time}
        touching = [group for group in groups if group & together]
        groups = [group for group in groups if not group & together] + [set().union(*touching)]
    unique = sorted({tuple(sorted(group)) for group in groups})
    return {type_: brokers[n % len(brokers)] for n, group in enumerate(unique) for type_ in group}


async def square(net: Network) -> None:
    """Four brokers in a ring."""
    await net.add("b1")
    await net.add("b2", "b1")
    await net.add("b3", "b2")
    await net.add("b4", "b3", "b1")
    await net.connected()


def run_case(case: Case, strategy: str) -> None:
    """A fixture over sockets: its composite events, with the ids that an engine gives them."""
    rules = case.rules()
    events = sorted(case.events(rules), key=lambda event: event.timestamp)
    events = [event if event.id else replace(event, id=f"e{n}") for n, event in enumerate(events)]
    known = [event for event in events if event.type in rules.types]
    defined = {rule.defines.name for rule in rules}
    if not known or any(event.type in defined for event in known):
        pytest.skip("composite events can't be published")
    end = case.setting.until if case.setting.until is not None else events[-1].timestamp
    places = places_for(known, ["b1", "b3", "b4"])

    async def run() -> list[Event]:
        async with network(strategy=strategy, lateness=None) as net:
            await square(net)
            return await detected(net, Plan(rules, case.blocks["tesla"].text, places, "b2"), known, end)

    assert as_set(asyncio.run(run())) == central(rules, known, end)


@pytest.mark.parametrize("case", CASES[:: max(1, len(CASES) // 8)], ids=lambda case: case.name)
def test_fixtures_have_the_same_answer_over_sockets(case: Case) -> None:
    """Every eighth or so; all of them under --nightly."""
    run_case(case, "ST")


@pytest.mark.nightly
@pytest.mark.parametrize("strategy", list(STRATEGIES))
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_all_fixtures_have_the_same_answer_over_sockets_by_every_strategy(case: Case, strategy: str) -> None:
    """Centralized, on one tree, on a tree for each sink, with and without pull."""
    run_case(case, strategy)


@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_every_strategy_detects_what_one_engine_detects(strategy: str) -> None:
    """Sources at three brokers of four, a sink at the fourth, rules that feed each other."""
    rules = parse(RULES)
    events = fire_events(60)
    end = events[-1].timestamp + 20 * MINUTE

    async def run() -> list[Event]:
        async with network(strategy=strategy, lateness=None) as net:
            await square(net)
            places = {"Temp": "b1", "Smoke": "b3", "Rain": "b4"}
            return await detected(net, Plan(rules, RULES, places, "b2"), events, end)

    found = as_set(asyncio.run(run()))
    assert found == central(rules, events, end)
    assert {type_ for type_, _, _ in found} == {rule.defines.name for rule in rules}


def test_what_a_client_must_not_do_is_refused_with_the_reason() -> None:
    """A type that was not advertised, another type of that name, a rule that is wrong; the connection lives on."""

    async def run() -> None:
        async with network(lateness=None) as net:
            await net.add("b1")
            async with AsyncClient(net.address("b1"), name="one") as client:
                with pytest.raises(BrokerError, match="was not advertised"):
                    await client.publish([Event("Temp", 1, {})])
                await client.advertise(parse(RULES).types["Temp"])
                other = parse("event Temp(x: int)\ndefine A() from Temp()").types["Temp"]
                with pytest.raises(BrokerError, match="use one of them"):
                    await client.advertise(other)
                with pytest.raises(BrokerError, match="TSL"):
                    await client.define("wrong", "define Fire( from")
                with pytest.raises(WireError, match="a client `one` is connected already"):
                    async with AsyncClient(net.address("b1"), name="one"):
                        pass
                assert (await client.status())["name"] == "b1"

    asyncio.run(run())


@pytest.mark.parametrize(
    "said",
    [b"\xff" * 20, b"\x00\x00\x00\x01\xc1", b"\x00\x00\x00\x02\x92\x01", b"\x00\x00\x00\x03\x93\x01\xa1"],
)
def test_nonsense_on_the_wire_closes_that_connection_and_no_other(said: bytes) -> None:
    """Also of a client that has greeted well."""

    async def run() -> None:
        async with network(lateness=None) as net:
            broker = await net.add("b1")
            async with AsyncClient(net.address("b1")) as good, AsyncClient(net.address("b1")) as bad:
                assert bad._connection is not None
                bad._connection._writer.write(said)
                await bad._connection.drained()
                if len(said) < 20:
                    bad._connection._writer.write_eof()
                await net.wait(
                    "the connection is closed", lambda: broker.refused == 1 and len(broker.guests) == 1
                )
                assert (await good.status())["refused"] == 1
                with pytest.raises(NotConnected):
                    await bad.status()

    asyncio.run(run())
