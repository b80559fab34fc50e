"""The scenarios of the deployment paper: its default one, and what its figures change in it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tyrex.simulate.contents import Between
from tyrex.simulate.topologies import MILLISECOND, barabasi_albert, waxman
from tyrex.simulate.topology import Topology
from tyrex.simulate.workload import VALUE, Arrivals, Feed, Sink, Workload
from tyrex.tesla.durations import SECOND, format_duration


class Rates(StrEnum):
    """How the rates of the types are spread between the slowest and the fastest."""

    LOG_UNIFORM = "log-uniform"
    """Every order of magnitude is equally likely: the exponent of the rate is uniform."""
    EXPONENTIAL = "exponential"
    """The density of the exponential distribution, cut off at both ends: few types are rare."""


class Model(StrEnum):
    """How the network is made."""

    WAXMAN = "waxman"
    BARABASI_ALBERT = "barabasi-albert"


@dataclass(frozen=True, slots=True)
class Deployment:
    """The parameters of a scenario; the defaults are those of the paper's default scenario (section 4).

    What its text leaves open is read as docs/guide/network-simulation.md says.
    """

    processors: int = 20
    degree: float = 5
    """Neighbours of a processor, on average."""
    model: Model = Model.WAXMAN
    delay: float = 5
    """Of a link, on average: milliseconds."""
    types: int = 120
    """Of primitive events."""
    sources: int = 1
    """Processors at which each type is published; its rate is divided among them."""
    slowest: float = 0.001
    """The rate of the rarest types: events in a second."""
    fastest: float = 10
    rates: Rates = Rates.LOG_UNIFORM
    arrivals: Arrivals = Arrivals.POISSON
    rules: int = 100
    length: int = 3
    """Events in the sequence of a rule."""
    window: float = 60
    """From each event of a sequence to the next, on average: seconds."""
    window_spread: float = 0.5
    """Windows are uniform between the average less and plus this part of it."""
    each: float = 0
    """The part of the operators that are `each .. within`; the others are `last .. within`."""
    values: int = 1
    """How many values the attribute of an event has; a rule takes events with one of them only."""
    subscriptions: int = 10
    """Composite types that the sinks of a processor want."""
    classes: int = 0
    """Rules that share a set of types, which no other rules use; with 0, every rule draws from all types."""
    neighbourhood: int = 0
    """With classes: their types are published at so many processors that are next to each other; 0 is anywhere."""
    distinct: bool = False
    """Whether each type is used by one rule only; there are then as many types as the rules need."""
    seed: int = 0

    def topology(self) -> Topology:
        """The network."""
        make: Callable[..., Topology] = waxman if self.model is Model.WAXMAN else barabasi_albert
        return make(self.processors, degree=self.degree, seed=self.seed, delay=self.delay * MILLISECOND)

    def workload(self, topology: Topology) -> Workload:
        """Rules, sources and sinks on such a network."""
        import numpy as np

        # Every choice has a generator of its own, so that a change of one parameter leaves the others as they are.
        draws = {
            name: np.random.default_rng((self.seed, number))
            for number, name in enumerate(("types", "windows", "each", "values", "places", "rates", "sinks"))
        }
        types = self.rules * self.length if self.distinct else self.types
        patterns = self._patterns(types, draws["types"])
        rules = [self._rule(number, pattern, draws) for number, pattern in enumerate(patterns)]
        declared = [f"event T{number}({VALUE}: int)" for number in range(types)]
        return Workload(
            rules="\n".join([*declared, *rules]),
            feeds=self._feeds(types, topology, draws),
            sinks=self._sinks(topology, draws["sinks"]),
            draws={f"T{n}": {VALUE: Between(0, self.values - 1)} for n in range(types)},
            arrivals=self.arrivals,
            seed=self.seed,
        )

    # --- Rules --------------------------------------------------------------------------------------------

    def _patterns(self, types: int, rng: Any) -> list[list[int]]:
        """The types of each rule, different from each other, its terminator first."""
        if self.distinct:
            return [list(range(n * self.length, (n + 1) * self.length)) for n in range(self.rules)]
        pools = self._pools(types)
        return [
            [int(type_) for type_ in rng.choice(pools[self._class(rule)], self.length, replace=False)]
            for rule in range(self.rules)
        ]

    def _class(self, rule: int) -> int:
        return rule // self.classes if self.classes else 0

    def _pools(self, types: int) -> list[range]:
        """The types of each class."""
        number = math.ceil(self.rules / self.classes) if self.classes else 1
        return [range(types * n // number, types * (n + 1) // number) for n in range(number)]

    def _rule(self, number: int, pattern: list[int], draws: dict[str, Any]) -> str:
        filters = [
            f"({VALUE} = {draws['values'].integers(self.values)})" if self.values > 1 else "()"
            for _ in pattern
        ]
        words = [f"T{type_}{filter_}" for type_, filter_ in zip(pattern, filters, strict=True)]
        steps = []
        for step in range(1, len(pattern)):
            part = draws["windows"].uniform(1 - self.window_spread, 1 + self.window_spread)
            window = max(MILLISECOND, round(self.window * part * SECOND / MILLISECOND) * MILLISECOND)
            selection = "each" if draws["each"].random() < self.each else "last"
            steps.append(
                f" and {selection} {words[step]} within {format_duration(window)} from T{pattern[step - 1]}"
            )
        return f"Rule r{number}\ndefine C{number}()\nfrom {words[0]}{''.join(steps)}"

    # --- Sources and sinks --------------------------------------------------------------------------------

    def _feeds(self, types: int, topology: Topology, draws: dict[str, Any]) -> tuple[Feed, ...]:
        rates = draw_rates(self.rates, self.slowest, self.fastest, types, draws["rates"])
        places = draws["places"]
        pools = self._pools(types)
        near = {
            pool: self._neighbourhood(topology, places) if self.neighbourhood else topology.processors
            for pool in pools
        }
        feeds: list[Feed] = []
        for type_ in range(types):
            pool = next(pool for pool in pools if type_ in pool)
            number = min(self.sources, len(near[pool]))
            chosen = places.choice(len(near[pool]), number, replace=False)
            feeds += (Feed(near[pool][place], f"T{type_}", float(rates[type_]) / number) for place in chosen)
        return tuple(feeds)

    def _neighbourhood(self, topology: Topology, rng: Any) -> tuple[str, ...]:
        centre = topology.processors[rng.integers(len(topology.processors))]
        return topology.nearest(centre, self.neighbourhood)

    def _sinks(self, topology: Topology, rng: Any) -> tuple[Sink, ...]:
        wanted = min(self.subscriptions, self.rules)
        return tuple(
            Sink(name, tuple(f"C{rule}()" for rule in sorted(rng.choice(self.rules, wanted, replace=False))))
            for name in topology.processors
            if wanted
        )


def draw_rates(kind: Rates, slowest: float, fastest: float, number: int, rng: Any) -> Any:
    """So many rates, each drawn by itself."""
    import numpy as np

    chances = rng.random(number)
    if kind is Rates.LOG_UNIFORM:
        return slowest * (fastest / slowest) ** chances
    # The mean of the uncut distribution is a fifth of the fastest: less than 1% of it is cut off above.
    mean = fastest / 5
    low, high = np.exp(-slowest / mean), np.exp(-fastest / mean)
    return -mean * np.log(low - chances * (low - high))
