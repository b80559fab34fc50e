"""A scenario: a network, what happens in it, and how it is to be run."""

from __future__ import annotations

from dataclasses import dataclass

from tyrex.simulate.topology import Topology
from tyrex.simulate.workload import Workload
from tyrex.tesla.durations import MINUTE, SECOND

STRATEGIES = ("Centr", "ST", "MT", "STpp", "MTpp", "RACED", "PADRES")
MODES = ("exact", "paper")


@dataclass(frozen=True, slots=True)
class Run:
    """How long and how finely a scenario is run. Times are in microseconds."""

    duration: int = 10 * MINUTE
    """How long traffic is counted, after the warm-up."""
    warm_up: int = 30 * SECOND
    """Events come, but nothing is counted yet."""
    span: int = MINUTE
    """Sources hand in the events of so much time at once. What is detected does not depend on it."""
    samples: int = 100
    """Of so many moments at which something is detected the delay is measured, each by itself."""
    check: bool = False
    """Whether one engine gets all events, too, and what was delivered is compared with what it detects."""


@dataclass(frozen=True)
class Scenario:
    """What a scenario file says."""

    name: str
    topology: Topology
    workload: Workload
    run: Run = Run()
    strategies: tuple[str, ...] = STRATEGIES[:5]
    mode: str = "exact"
