"""Random networks with random rules and sources, and what one engine detects that gets all events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.engine.random_rules import ATTRIBUTES, DECLARATIONS, PRIMITIVE, random_history, random_rules
from tests.network.networks import MS, Watched, type_of

from tyrex.engine import Engine
from tyrex.events import Event
from tyrex.network.control.settings import Mode
from tyrex.network.data.interface import Task
from tyrex.rules import RuleSet
from tyrex.tesla.durations import SECOND

TYPES = {name: type_of(name, k="int", v="float", s="string", b="bool") for name in PRIMITIVE}
assert ATTRIBUTES == "(k: int, v: float, s: string, b: bool)"


def some_rules(random: Random) -> RuleSet:
    """Rules without calendar timers: those begin with the first event, which each place would see for itself."""
    while True:
        rules = random_rules(random)
        if rules is not None and not any(rule.checked.is_calendar_timer for rule in rules):
            return rules


@dataclass
class Scenario:
    """Processors, links, who has which sources and sinks, rules, and events."""

    random: Random
    rules: RuleSet
    names: list[str] = field(default_factory=list)
    edges: dict[tuple[str, str], int] = field(default_factory=dict)
    owners: dict[str, list[str]] = field(default_factory=dict)
    sinks: list[str] = field(default_factory=list)
    events: list[tuple[str, Event]] = field(default_factory=list)
    """Where each is published, at its own time after the beginning."""

    @classmethod
    def of(cls, seed: int) -> Scenario:
        """The scenario of a seed."""
        random = Random(seed)
        made = cls(random, some_rules(random))
        made.names = [f"p{number}" for number in range(random.randint(2, 6))]
        for child in range(1, len(made.names)):
            made.link(made.names[random.randrange(child)], made.names[child])
        for _ in range(random.randint(0, 4)):
            made.link(*random.sample(made.names, 2))
        made.owners = {
            name: random.sample(made.names, min(len(made.names), random.choice((1, 1, 2, 3))))
            for name in PRIMITIVE
        }
        made.sinks = random.sample(made.names, min(len(made.names), random.randint(1, 3)))
        for event in random_history(random):
            if event.type in made.owners:
                made.events.append((random.choice(made.owners[event.type]), event))
        return made

    def link(self, one: str, other: str) -> None:
        """A link of some delay, if there is none."""
        self.edges.setdefault((min(one, other), max(one, other)), self.random.randint(1, 300) * MS)

    @property
    def text(self) -> str:
        """The rules with the declarations of their events."""
        return DECLARATIONS + "\n".join(rule.canonical_text for rule in self.rules)

    def start(
        self, data: Callable[[Task], Any], strategy: str, mode: Mode = Mode.EXACT
    ) -> tuple[Watched, int]:
        """The network at rest, with sources, rules and sinks; and the moment when the events begin."""
        network = Watched(self.edges, data, strategy, mode=mode, heartbeat=500 * MS)
        for name, owners in self.owners.items():
            for owner in owners:
                network.advertise(owner, "source", TYPES[name])
        network.define(self.names[-1], "admin", "rules", self.text)
        for sink in self.sinks:
            for number, type_ in enumerate(sorted({rule.defines.name for rule in self.rules})):
                network.subscribe(sink, "sink", number, f"{type_}()")
        network.settle(10 * SECOND)
        begin = -(-network.now // SECOND) * SECOND
        for owner, event in self.events:
            network.at(begin + event.timestamp, lambda o=owner, e=event: self._publish(network, begin, o, e))  # type: ignore[misc]
        return network, begin

    def _publish(self, network: Watched, begin: int, owner: str, event: Event) -> None:
        if owner in network.processors:
            moved = Event(event.type, begin + event.timestamp, event.attributes, event.id)
            network.publish(owner, "source", event.type, [moved])

    def expected(self, begin: int, until: int) -> list[str]:
        """The ids of what one engine detects that gets all events in the order that processors agree on."""
        numbers: dict[str, int] = {}
        placed = []
        for owner, event in self.events:
            numbers[owner] = numbers.get(owner, 0) + 1
            id_ = event.id if event.id is not None else f"{owner}/{numbers[owner]}"
            moved = Event(event.type, begin + event.timestamp, event.attributes, id_)
            placed.append((moved.timestamp, owner, numbers[owner], moved))
        engine = Engine(self.rules)
        found = [engine.send_batch([event]) for *_, event in sorted(placed, key=lambda item: item[:3])]
        found.append(engine.advance(until / SECOND))
        return sorted(identities(event for detections in found for event in detections))


def identities(events: Iterable[Event]) -> list[str]:
    """Events by time, type and id, in order."""
    return sorted(f"{event.timestamp} {event.type} {event.id}" for event in events)
