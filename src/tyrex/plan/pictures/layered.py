"""A layout for directed graphs: in layers from left to right, long arrows led around the nodes between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

_SWEEPS = 6


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a node."""

    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a graph's nodes are (their middles), and through which points its arrows go."""

    nodes: Mapping[str, tuple[float, float]]
    arrows: Mapping[tuple[str, str], tuple[tuple[float, float], ...]]
    width: float
    height: float


def layered(
    sizes: Mapping[str, Size], arrows: Sequence[tuple[str, str]], *, across: float, down: float
) -> Placed:
    """Place the nodes so that arrows lead to the right; `across` and `down` are the gaps between nodes.

    Where arrows go in a circle, some of them lead back to the left. Parts that no arrow connects stand one below
    the other.
    """
    nodes: dict[str, tuple[float, float]] = {}
    points: dict[tuple[str, str], tuple[tuple[float, float], ...]] = {}
    width = height = 0.0
    for part in _connected(sizes, arrows):
        inner = [arrow for arrow in arrows if arrow[0] in part]
        placed = _layered_part(part, inner, across, down)
        top = height + down if height else 0.0
        nodes |= {node: (x, y + top) for node, (x, y) in placed.nodes.items()}
        points |= {arrow: tuple((x, y + top) for x, y in way) for arrow, way in placed.arrows.items()}
        width, height = max(width, placed.width), top + placed.height
    return Placed({node: nodes[node] for node in sizes}, points, width, height)


def _connected(sizes: Mapping[str, Size], arrows: Sequence[tuple[str, str]]) -> list[dict[str, Size]]:
    """The parts of a graph that no arrow connects, in the order of their first nodes."""
    beside: dict[str, list[str]] = {node: [] for node in sizes}
    for source, target in arrows:
        beside[source].append(target)
        beside[target].append(source)
    found: list[dict[str, Size]] = []
    seen: set[str] = set()
    for start in sizes:
        reached = [] if start in seen else [start]
        seen.update(reached)
        for node in reached:
            fresh = [other for other in dict.fromkeys(beside[node]) if other not in seen]
            seen.update(fresh)
            reached += fresh
        if reached:
            members = set(reached)
            found.append({node: size for node, size in sizes.items() if node in members})
    return found


def _layered_part(
    sizes: Mapping[str, Size], arrows: Sequence[tuple[str, str]], across: float, down: float
) -> Placed:
    """Place a connected graph."""
    forward = _without_circles(sizes, arrows)
    layer = _layers(sizes, forward)
    columns, chains = _columns(sizes, forward, layer)
    _order(columns, chains)
    y = _heights(columns, chains, sizes, down)
    x: list[float] = []
    left = 0.0
    for column in columns:
        widest = max((sizes[node].width for node in column if node in sizes), default=0)
        x.append(left + widest / 2)
        left += widest + across
    top = min((y[node] - _height(node, sizes) / 2 for column in columns for node in column), default=0)
    bottom = max((y[node] + _height(node, sizes) / 2 for column in columns for node in column), default=0)
    place = {node: (x[number], y[node] - top) for number, column in enumerate(columns) for node in column}
    points: dict[tuple[str, str], tuple[tuple[float, float], ...]] = {}
    for (source, target), chain in zip(arrows, chains, strict=True):
        way = chain if chain[0] == source else chain[::-1]
        points[source, target] = tuple(place[node] for node in way)
    nodes = {node: place[node] for node in sizes}
    return Placed(nodes, points, max(left - across, 0), bottom - top)


def _without_circles(sizes: Mapping[str, Size], arrows: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The arrows, those that close a circle turned round."""
    following: dict[str, list[str]] = {node: [] for node in sizes}
    for source, target in arrows:
        following[source].append(target)
    turned: set[tuple[str, str]] = set()
    done: set[str] = set()
    for start in sizes:
        path = [] if start in done else [(start, iter(following[start]))]
        above = {start}
        while path:
            node, rest = path[-1]
            step = next((target for target in rest if target not in done), None)
            if step is None:
                path.pop()
                above.discard(node)
                done.add(node)
            elif step in above:
                turned.add((node, step))
            else:
                above.add(step)
                path.append((step, iter(following[step])))
    return [(t, s) if (s, t) in turned else (s, t) for s, t in arrows]


def _layers(sizes: Mapping[str, Size], arrows: Sequence[tuple[str, str]]) -> dict[str, int]:
    """For each node, the length of the longest way from it to an end; an end stands next to what leads there."""
    before: dict[str, list[str]] = {node: [] for node in sizes}
    waiting = dict.fromkeys(sizes, 0)
    for source, target in arrows:
        before[target].append(source)
        waiting[source] += 1
    layer = dict.fromkeys(sizes, 0)
    ready = [node for node in sizes if waiting[node] == 0]
    while ready:
        node = ready.pop()
        for source in before[node]:
            layer[source] = max(layer[source], layer[node] + 1)
            waiting[source] -= 1
            if waiting[source] == 0:
                ready.append(source)
    leading = {source for source, _ in arrows}
    ends = [node for node in sizes if before[node] and node not in leading]
    return layer | {node: min(layer[source] for source in before[node]) - 1 for node in ends}


Chains = list[list[str]]


def _columns(
    sizes: Mapping[str, Size], arrows: Sequence[tuple[str, str]], layer: Mapping[str, int]
) -> tuple[list[list[str]], Chains]:
    """The nodes of each layer, and each arrow as a chain of nodes with a bend in every layer between."""
    depth = max(layer.values(), default=0)
    columns: list[list[str]] = [[] for _ in range(depth + 1)]
    for node in sizes:
        columns[depth - layer[node]].append(node)
    chains: Chains = []
    for number, (source, target) in enumerate(arrows):
        chain = [source]
        for level in range(layer[source] - 1, layer[target], -1):
            bend = f"\0{number}.{level}"
            columns[depth - level].append(bend)
            chain.append(bend)
        chains.append([*chain, target])
    return columns, chains


def _neighbours(chains: Chains) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    left: dict[str, list[str]] = {}
    right: dict[str, list[str]] = {}
    for chain in chains:
        for source, target in pairwise(chain):
            right.setdefault(source, []).append(target)
            left.setdefault(target, []).append(source)
    return left, right


def _order(columns: list[list[str]], chains: Chains) -> None:
    """Sort each column by where its neighbours are, to have few crossings."""
    left, right = _neighbours(chains)
    for sweep in range(_SWEEPS):
        towards = right if sweep % 2 == 0 else left
        ordered = columns[::-1] if sweep % 2 == 0 else columns
        for fixed, column in pairwise(ordered):
            place = {node: float(number) for number, node in enumerate(fixed)}
            own = {node: float(number) for number, node in enumerate(column)}
            column.sort(key=lambda node: _mean(towards.get(node, ()), place, own[node]))


def _heights(
    columns: list[list[str]], chains: Chains, sizes: Mapping[str, Size], down: float
) -> dict[str, float]:
    """How far down each node is: near its neighbours, without touching the others of its column."""
    left, right = _neighbours(chains)
    y: dict[str, float] = {}
    for column in columns:
        _spread(column, dict.fromkeys(column, 0.0), y, sizes, down)
    for sweep in range(_SWEEPS):
        towards = right if sweep % 2 == 0 else left
        for column in columns[::-1] if sweep % 2 == 0 else columns:
            wanted = {node: _mean(towards.get(node, ()), y, y[node]) for node in column}
            _spread(column, wanted, y, sizes, down)
    return y


def _spread(
    column: Sequence[str],
    wanted: Mapping[str, float],
    y: dict[str, float],
    sizes: Mapping[str, Size],
    down: float,
) -> None:
    """Put the nodes of a column where they want to be, pushed apart as far as needed."""
    if not column:
        return
    bottom = float("-inf")
    for node in column:
        half = _height(node, sizes) / 2
        y[node] = max(wanted[node], bottom + half)
        bottom = y[node] + half + down
    shift = sum(wanted[node] - y[node] for node in column) / len(column)
    for node in column:
        y[node] += shift


def _height(node: str, sizes: Mapping[str, Size]) -> float:
    return sizes[node].height if node in sizes else 0.0


def _mean(nodes: Sequence[str], place: Mapping[str, float], otherwise: float) -> float:
    found = [place[node] for node in nodes if node in place]
    return sum(found) / len(found) if found else otherwise
