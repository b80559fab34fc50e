"""What a processor knows of the network: the links that every processor has told, and what follows from them."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from tyrex.network.messages import Links


class Topology:
    """The newest link states of all processors."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._states: dict[str, Links] = {}
        self._found: dict[str, Mapping[str, tuple[int, str]]] = {}
        """Shortest paths that were asked for since something changed: a leader is looked for at each call."""
        self._leader: str | None = None

    @property
    def states(self) -> tuple[Links, ...]:
        """The newest state of each processor, by name."""
        return tuple(self._states[name] for name in sorted(self._states))

    def version(self, name: str) -> int:
        """The newest version that is known of a processor's links; -1 if none is."""
        state = self._states.get(name)
        return -1 if state is None else state.version

    def learn(self, links: Links) -> bool:
        """Take a link state; whether it was new."""
        if links.version <= self.version(links.origin):
            return False
        self._states[links.origin] = links
        self._found.clear()
        self._leader = None
        return True

    def neighbours(self, name: str) -> dict[str, int]:
        """The links that both ends know of, with their delays: those of the greater end count."""
        found: dict[str, int] = {}
        state = self._states.get(name)
        for other, delay in () if state is None else state.delays:
            theirs = self._states.get(other)
            back = None if theirs is None else dict(theirs.delays).get(name)
            if back is not None:
                found[other] = max(delay, back)
        return found

    def reachable(self) -> frozenset[str]:
        """The processors that this one can reach, itself among them."""
        return frozenset(self.distances(self.name))

    def leader(self) -> str:
        """The reachable processor with the smallest weight; among equal ones, with the smallest name."""
        if self._leader is None:
            self._leader = min(self.reachable(), key=self._rank)
        return self._leader

    def _rank(self, name: str) -> tuple[int, str]:
        state = self._states.get(name)
        return (0 if state is None else state.weight, name)

    def distances(self, root: str) -> dict[str, int]:
        """The delay of the shortest path to each processor that the root can reach."""
        return {name: distance for name, (distance, _) in self._paths(root).items()}

    def parents(self, root: str) -> dict[str, str]:
        """The tree of shortest paths: for each processor but the root, its parent; of equal ones the smaller."""
        return {name: parent for name, (_, parent) in self._paths(root).items() if name != root}

    def _paths(self, root: str) -> Mapping[str, tuple[int, str]]:
        """Dijkstra's algorithm."""
        if root in self._found:
            return self._found[root]
        done: dict[str, tuple[int, str]] = {}
        waiting = [(0, "", root)]
        while waiting:
            distance, parent, name = heapq.heappop(waiting)
            if name in done:
                continue
            done[name] = (distance, parent)
            for other, delay in self.neighbours(name).items():
                if other not in done:
                    heapq.heappush(waiting, (distance + delay, name, other))
        self._found[root] = done
        return done
