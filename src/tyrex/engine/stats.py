"""Counts of an engine: what its rules have done, and what it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tyrex.engine.places import Places


@dataclass(frozen=True)
class RuleStats:
    """What a rule has done."""

    evaluated: int
    """How often its terminator came."""
    fired: int
    """How many composite events it made."""


@dataclass(frozen=True)
class TypeStats:
    """What is known of a type of events."""

    arrived: int
    stored: int
    """With several threads an event may be stored in more than one place."""


@dataclass(frozen=True)
class Stats:
    """Counts of an engine since it was made."""

    rules: Mapping[str, RuleStats]
    types: Mapping[str, TypeStats]
    stored: int
    """Events that some window may still reach."""
    bytes: int
    """About how much memory they take."""
    late: int
    unused: int
    """Events of types that no rule knows."""
    waiting: int
    """Events that wait for the watermark."""
    open_deadlines: int
    overflows: int
    """Values that became null because they did not fit into 64 bits."""


def stats_of(places: Places) -> Stats:
    """Sums over the kernels; all of them know the same of what is late, waits or is unused."""
    kernels = places.kernels
    types = {name: TypeStats(*places.counts(name)) for name in places.event_types}
    return Stats(
        rules={
            name: RuleStats(*places.place_of(name).rule_counts(deployed))
            for name, deployed in places.rules.items()
        },
        types=types,
        stored=sum(type_.stored for type_ in types.values()),
        bytes=sum(kernel.bytes for kernel in kernels),
        late=kernels[0].late,
        unused=places.unused,
        waiting=kernels[0].waiting,
        open_deadlines=sum(kernel.open_deadlines for kernel in kernels),
        overflows=sum(kernel.overflows for kernel in kernels),
    )
