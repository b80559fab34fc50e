"""A network of processors and the links between them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tyrex.tesla.diagnostics import did_you_mean


class TopologyError(ValueError):
    """A network that can't be: the message says what was found, what was expected and what to do."""


@dataclass(frozen=True, slots=True)
class Link:
    """A connection between two processors, the same in both directions."""

    a: str
    b: str
    delay: int
    """For any message: microseconds."""
    bandwidth: float | None = None
    """Bytes in a second; without it only the delay counts."""

    def other(self, name: str) -> str:
        """The processor at the other end."""
        return self.b if name == self.a else self.a


@dataclass(frozen=True)
class Topology:
    """Processors, their links, and where they stand in a picture."""

    processors: tuple[str, ...]
    links: tuple[Link, ...]
    places: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Points in a square with sides of 1; a processor without one is placed by the picture."""

    def __post_init__(self) -> None:
        _check(self)

    @cached_property
    def neighbours(self) -> Mapping[str, Mapping[str, Link]]:
        """For each processor its neighbours, and the link to each."""
        found: dict[str, dict[str, Link]] = {name: {} for name in self.processors}
        for link in self.links:
            found[link.a][link.b] = found[link.b][link.a] = link
        return found

    @property
    def degree(self) -> float:
        """How many neighbours a processor has on average."""
        return 2 * len(self.links) / len(self.processors)

    def distances(self, root: str) -> dict[str, int]:
        """The delay of the shortest way from each processor to this one, in microseconds."""
        found: dict[str, int] = {}
        queue = [(0, root)]
        while queue:
            distance, name = heapq.heappop(queue)
            if name in found:
                continue
            found[name] = distance
            for other, link in self.neighbours[name].items():
                if other not in found:
                    heapq.heappush(queue, (distance + link.delay, other))
        return found

    def nearest(self, name: str, number: int) -> tuple[str, ...]:
        """So many processors that are next to this one, which is the first of them."""
        distances = self.distances(name)
        return tuple(sorted(distances, key=lambda other: (distances[other], other))[:number])


def components(processors: Iterable[str], links: Iterable[Link]) -> list[list[str]]:
    """The parts of a network that are connected within themselves, the largest first."""
    near: dict[str, list[str]] = {name: [] for name in processors}
    for link in links:
        near[link.a].append(link.b)
        near[link.b].append(link.a)
    left = dict.fromkeys(near)
    parts = []
    while left:
        part = [next(iter(left))]
        del left[part[0]]
        for name in part:
            for other in near[name]:
                if other in left:
                    del left[other]
                    part.append(other)
        parts.append(part)
    return sorted(parts, key=len, reverse=True)


def _check(topology: Topology) -> None:
    names = set(topology.processors)
    if not names:
        raise TopologyError("there is no processor: a network needs at least one")
    if len(names) < len(topology.processors):
        twice = next(name for name in topology.processors if topology.processors.count(name) > 1)
        raise TopologyError(f"the processor `{twice}` is there twice: give each its own name")
    seen: set[frozenset[str]] = set()
    for link in topology.links:
        _check_link(link, names)
        ends = frozenset((link.a, link.b))
        if ends in seen:
            raise TopologyError(f"`{link.a}` and `{link.b}` are linked twice: keep one of the links")
        seen.add(ends)
    parts = components(topology.processors, topology.links)
    if len(parts) > 1:
        lone = parts[-1]
        raise TopologyError(
            f"the network has {len(parts)} parts without a link between them: link `{lone[0]}`"
            + (f" and its {len(lone) - 1} neighbours" if len(lone) > 1 else "")
            + f" to `{parts[0][0]}`, or leave it out"
        )


def _check_link(link: Link, names: set[str]) -> None:
    for end in (link.a, link.b):
        if end not in names:
            raise TopologyError(
                f"a link goes to `{end}`, which is no processor: "
                + (did_you_mean(end, names) or "name it among the processors")
            )
    if link.a == link.b:
        raise TopologyError(f"`{link.a}` is linked to itself: leave that link out")
    if link.delay < 0:
        raise TopologyError(
            f"the link from `{link.a}` to `{link.b}` has a delay below 0: give 0 or more milliseconds"
        )
    if link.bandwidth is not None and link.bandwidth <= 0:
        raise TopologyError(
            f"the link from `{link.a}` to `{link.b}` has no bandwidth: give bytes in a second, or leave it out"
        )
