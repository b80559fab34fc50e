"""How processors divide the work: the strategies of the papers, as data, and the settings of a processor."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

SECOND = 1_000_000


class Trees(StrEnum):
    """Which processors are roots."""

    SINGLE = "single"
    """One tree, whose root is the leader."""
    SINKS = "sinks"
    """A tree for each processor with sinks."""


class Building(StrEnum):
    """How trees of shortest paths come about."""

    ARRIVAL = "arrival"
    """The first request to arrive came the shortest way (deployment paper, section 3.1)."""
    LINK_STATES = "link states"
    """The root computes the tree from the links that all processors have told (RACED, section 4)."""


class Mode(StrEnum):
    """How much partial rules leave out."""

    EXACT = "exact"
    PAPER = "paper"


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way to distribute detection."""

    name: str
    trees: Trees
    building: Building = Building.ARRIVAL
    split: bool = True
    """Whether rules are split; otherwise the root gets all events of the types that they use."""
    pull: bool = False
    """Whether some parts of a rule wait until they are asked for."""
    adaptive: bool = False
    """Whether what is pulled changes with the rates."""


STRATEGIES = {
    strategy.name: strategy
    for strategy in (
        Strategy("Centr", Trees.SINGLE, split=False),
        Strategy("ST", Trees.SINGLE),
        Strategy("MT", Trees.SINKS),
        Strategy("STpp", Trees.SINGLE, pull=True, adaptive=True),
        Strategy("MTpp", Trees.SINKS, pull=True, adaptive=True),
        Strategy("RACED", Trees.SINKS, Building.LINK_STATES, pull=True, adaptive=True),
        Strategy("PADRES", Trees.SINKS, Building.LINK_STATES),
    )
}
"""The strategies of the papers, by name."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be chosen for a processor; all processors of a network have the same but for the weight.

    Times are in microseconds.
    """

    strategy: Strategy = STRATEGIES["ST"]
    mode: Mode = Mode.EXACT
    weight: int = 1
    """The processor with the smallest (weight, name) is the leader."""
    lateness: int | None = 0
    """How late a source's event may be, by the processor's clock. None: sources tell the time themselves, by
    `advance`, as they do when recorded events are published."""
    heartbeat: int = SECOND // 10
    """How often the time is told where no events are sent."""
    settle: int = SECOND // 10
    """How long a root waits for further changes before it begins a new epoch."""
    memory: int = 60 * SECOND
    """How long events of a processor's own sources are kept at least, beyond what windows ask for."""
    replay: int = 4
    """Rules with state that is more than a window see so many windows again when an epoch begins."""
