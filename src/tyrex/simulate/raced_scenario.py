"""The scenario of the RACED paper (section 5), and what its figures change in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tyrex.simulate.contents import Between
from tyrex.simulate.topologies import MILLISECOND, waxman
from tyrex.simulate.topology import Topology
from tyrex.simulate.workload import VALUE, Arrivals, Feed, Sink, Workload
from tyrex.tesla.durations import SECOND, format_duration


@dataclass(frozen=True, slots=True)
class Raced:
    """The parameters of a scenario: 120 brokers, 600 clients, 100 types, 1000 messages of each client.

    The paper says no more than that; how the rest is read stands in docs/guide/network-simulation.md.
    """

    brokers: int = 120
    degree: float = 4
    delay: float = 5
    """Of a link, on average: milliseconds."""
    clients: int = 600
    """Each publishes one type, at one broker."""
    types: int = 100
    publications: int = 1000
    """Of a client, on average."""
    rate: float = 0.05
    """Of a client, on average: messages in a second."""
    variance: float = 1
    """Of the clients' rates, in squares of the average; they have a gamma distribution, with 0 they are equal."""
    arrivals: Arrivals = Arrivals.POISSON
    definitions: int = 10
    """Complex events."""
    filters: int = 3
    """Of a definition: those without `NOT`."""
    negated: int = 0
    """Filters with `NOT`."""
    window: float = 5
    """Seconds."""
    values: int = 2
    """How many values the content of a message has; a filter takes one of them."""
    subscribers: int = 10
    """Brokers with a subscriber, who wants one of the complex events."""
    seed: int = 0

    @property
    def duration(self) -> float:
        """How long the clients publish: seconds."""
        return self.publications / self.rate

    def topology(self) -> Topology:
        """The network."""
        return waxman(self.brokers, degree=self.degree, seed=self.seed, delay=self.delay * MILLISECOND)

    def workload(self, topology: Topology) -> Workload:
        """Definitions, clients and subscribers on such a network."""
        import numpy as np

        draws = [np.random.default_rng((self.seed, number)) for number in range(3)]
        declared = [f"Advertise(T{number}[{VALUE}: int])" for number in range(self.types)]
        definitions = [self._definition(number, draws[0]) for number in range(self.definitions)]
        return Workload(
            rules="\n".join([*declared, *definitions]),
            feeds=self._feeds(topology, draws[1]),
            sinks=self._sinks(topology, draws[2]),
            draws={f"T{n}": {VALUE: Between(0, self.values - 1)} for n in range(self.types)},
            arrivals=self.arrivals,
            seed=self.seed,
            raced=True,
        )

    def _definition(self, number: int, rng: Any) -> str:
        types = rng.choice(self.types, self.filters + self.negated, replace=False)
        filters = [f"T{type_}[{VALUE} = {rng.integers(self.values)}]" for type_ in types]
        words = filters[: self.filters] + [f"NOT {word}" for word in filters[self.filters :]]
        window = format_duration(round(self.window * SECOND / MILLISECOND) * MILLISECOND)
        return f"DefineEvent(C{number}, {' AND '.join(words)} WITHIN {window})"

    def _feeds(self, topology: Topology, rng: Any) -> tuple[Feed, ...]:
        places = rng.integers(len(topology.processors), size=self.clients)
        types = rng.integers(self.types, size=self.clients)
        if self.variance:
            rates = rng.gamma(1 / self.variance, self.rate * self.variance, self.clients)
        else:
            rates = [self.rate] * self.clients
        return tuple(
            Feed(topology.processors[place], f"T{type_}", float(max(rate, self.rate / 1e6)))
            for place, type_, rate in zip(places, types, rates, strict=True)
        )

    def _sinks(self, topology: Topology, rng: Any) -> tuple[Sink, ...]:
        places = rng.choice(
            len(topology.processors), min(self.subscribers, len(topology.processors)), replace=False
        )
        return tuple(
            Sink(topology.processors[place], (f"C{number % self.definitions}()",))
            for number, place in enumerate(places)
        )
