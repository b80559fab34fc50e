"""Networks that are made: as BRITE makes them (Waxman, Barabási and Albert), grids and trees; all from a seed.

BRITE (Medina, Lakhina, Matta, Byers, MASCOTS 2001) puts routers at random on a plane and adds them one by one; each
new one is linked to `m` of those that are there. Its Waxman model chooses those with the probability
`alpha * exp(-d / (beta * L))`, where `d` is the distance and `L` the greatest distance of the plane; the model of
Barabási and Albert chooses them by their number of links. The delay of a link is its length over the speed of light.

Here the number of links is given, by the average number of neighbours, so `m` is spread over the new processors and
`alpha` has no effect; and all delays are scaled to the average that is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tyrex.simulate.topology import Link, Topology, TopologyError

MILLISECOND = 1000
DELAY = 5 * MILLISECOND
"""The papers' average delay of a link."""
BETA = 0.2
"""BRITE's default: how much near processors are preferred."""


def waxman(
    processors: int,
    *,
    degree: float = 5,
    seed: int = 0,
    delay: float = DELAY,
    beta: float = BETA,
    bandwidth: float | None = None,
) -> Topology:
    """Processors at random places; the nearer two of them are, the more likely they are linked.

    >>> waxman(20, degree=5).degree
    5.0
    """
    longest = math.sqrt(2)

    def likely(distances: Any, degrees: Any) -> Any:
        import numpy as np

        return np.exp(-distances / (beta * longest))

    return _grown(processors, degree, seed, delay, bandwidth, likely)


def barabasi_albert(
    processors: int,
    *,
    degree: float = 4,
    seed: int = 0,
    delay: float = DELAY,
    bandwidth: float | None = None,
) -> Topology:
    """Processors at random places; those with many links get more."""

    def likely(distances: Any, degrees: Any) -> Any:
        return degrees

    return _grown(processors, degree, seed, delay, bandwidth, likely)


def grid(columns: int, rows: int, *, delay: float = DELAY, bandwidth: float | None = None) -> Topology:
    """Processors in rows and columns, each linked to those beside it."""
    if columns < 1 or rows < 1:
        raise TopologyError(f"a grid of {columns} by {rows} has no processor: give at least 1 by 1")
    names = _names(columns * rows)
    links = [
        _link(names, row * columns + column, (row + down) * columns + column + right, delay, bandwidth)
        for row in range(rows)
        for column in range(columns)
        for down, right in ((0, 1), (1, 0))
        if row + down < rows and column + right < columns
    ]
    places = {
        names[row * columns + column]: ((column + 0.5) / columns, (row + 0.5) / rows)
        for row in range(rows)
        for column in range(columns)
    }
    return Topology(names, tuple(links), places)


def tree(
    processors: int, *, children: int = 2, delay: float = DELAY, bandwidth: float | None = None
) -> Topology:
    """A tree in which every processor has so many below it, until none are left."""
    if children < 1:
        raise TopologyError(f"a tree with {children} children has no branches: give at least 1")
    names = _names(processors)
    links = [_link(names, (i - 1) // children, i, delay, bandwidth) for i in range(1, processors)]
    depths = [0]
    for i in range(1, processors):
        depths.append(depths[(i - 1) // children] + 1)
    places = {}
    for depth in range(max(depths) + 1):
        level = [i for i in range(processors) if depths[i] == depth]
        for position, i in enumerate(level):
            places[names[i]] = ((position + 0.5) / len(level), (depth + 0.5) / (max(depths) + 1))
    return Topology(names, tuple(links), places)


# --- As BRITE does it -------------------------------------------------------------------------------------


def _grown(
    processors: int,
    degree: float,
    seed: int,
    delay: float,
    bandwidth: float | None,
    likely: Callable[[Any, Any], Any],
) -> Topology:
    import numpy as np

    quotas = _quotas(processors, degree)
    names = _names(processors)
    rng = np.random.default_rng(seed)
    points = rng.random((processors, 2))
    degrees = np.zeros(processors)
    chosen: list[tuple[int, int, float]] = []
    for new in range(1, processors):
        distances = np.hypot(*(points[:new] - points[new]).T)
        # Weights are tiny where a network is wide: the least number keeps every processor possible.
        weights = np.maximum(likely(distances, degrees[:new]), 1e-12)
        for other in rng.choice(new, size=quotas[new], replace=False, p=weights / weights.sum()):
            chosen.append((int(other), new, float(distances[other])))
            degrees[other] += 1
        degrees[new] += quotas[new]
    average = sum(length for _, _, length in chosen) / len(chosen) if chosen else 1.0
    links = [
        _link(names, a, b, max(1.0, delay * length / average) if delay else 0, bandwidth)
        for a, b, length in chosen
    ]
    places = {name: (float(x), float(y)) for name, (x, y) in zip(names, points, strict=True)}
    return Topology(names, tuple(links), places)


def _quotas(processors: int, degree: float) -> list[int]:
    """To how many earlier processors each is linked, so that the average is met and all are connected."""
    if processors < 1:
        raise TopologyError(f"a network of {processors} processors is empty: give at least 1")
    links = round(processors * degree / 2)
    least, most = processors - 1, processors * (processors - 1) // 2
    if links < least and processors > 1:
        raise TopologyError(
            f"{processors} processors with {degree:g} neighbours on average can't all be connected: "
            f"give at least {2 * least / processors:.2f}"
        )
    if links > most:
        raise TopologyError(
            f"{processors} processors can't have {degree:g} neighbours on average: give at most {processors - 1}"
        )
    quotas = [0] + [1] * (processors - 1)
    left = links - least
    while left:
        for new in range(1, processors):
            if left and quotas[new] < new:
                quotas[new] += 1
                left -= 1
    return quotas


def _names(number: int) -> tuple[str, ...]:
    if number < 1:
        raise TopologyError(f"a network of {number} processors is empty: give at least 1")
    width = len(str(number))
    return tuple(f"p{i:0{width}}" for i in range(1, number + 1))


def _link(names: Sequence[str], a: int, b: int, delay: float, bandwidth: float | None) -> Link:
    return Link(names[a], names[b], round(delay), bandwidth)
