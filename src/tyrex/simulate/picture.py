"""A network as a picture: processors, links as wide as their traffic, the tree, and where rules live."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import combinations

from tyrex.plan.pictures.canvas import BORDER, INK, MUTED, Drawing
from tyrex.plan.pictures.measure import text_width
from tyrex.simulate.charts import number
from tyrex.simulate.measure import Outcome
from tyrex.simulate.topology import Topology
from tyrex.simulate.traffic import Count
from tyrex.simulate.workload import Workload

_SIDE = 620.0
_MARGIN = 60.0
_WIDEST = 14.0
_TREE, _QUIET, _BUSY = "#2a9d5c", "#d5dbe2", "#1b6ca8"
_ROOT, _RULES, _PARTIAL, _IDLE = "#d1495b", "#1b6ca8", "#e9a820", "#ffffff"
_SMALL = 11.0


def network_picture(
    topology: Topology, workload: Workload, outcome: Outcome, root: str | None = None
) -> Drawing:
    """The network of a run; with a root, that tree is drawn, otherwise the one with the most rules."""
    chosen = root if root is not None else main_root(outcome)
    places = placed(topology)
    sheet = Drawing()
    sheet.box(0, 0, _SIDE + 2 * _MARGIN, _SIDE + 2 * _MARGIN, fill="#ffffff")
    _links(sheet, topology, places, outcome, chosen)
    _processors(sheet, topology, workload, places, outcome, chosen)
    _legend(sheet, outcome)
    return sheet


def main_root(outcome: Outcome) -> str | None:
    """The root of the tree in which most is detected."""
    rules: dict[str, int] = dict.fromkeys(sorted(outcome.hosting.parents), 0)
    for (root, _), hosted in outcome.hosting.hosted.items():
        rules[root] = rules.get(root, 0) + len(hosted.rules)
    return max(rules, key=lambda name: (rules[name], name), default=None)


def placed(topology: Topology) -> Mapping[str, tuple[float, float]]:
    """Where processors stand: where the network says, otherwise so that short links are short; never on each other."""
    names = topology.processors
    points = [list(topology.places.get(name, _on_circle(i, len(names)))) for i, name in enumerate(names)]
    if not all(name in topology.places for name in names):
        _spring(topology, points)
    _apart(points)
    return {
        name: (_MARGIN + x * _SIDE, _MARGIN + y * _SIDE) for name, (x, y) in zip(names, points, strict=True)
    }


def _on_circle(place: int, count: int) -> tuple[float, float]:
    angle = 2 * math.pi * place / count
    return 0.5 + 0.45 * math.cos(angle), 0.5 + 0.45 * math.sin(angle)


def _spring(topology: Topology, points: list[list[float]]) -> None:
    """Linked processors attract each other, all repel each other: after Fruchterman and Reingold."""
    index = {name: i for i, name in enumerate(topology.processors)}
    best = 0.8 / math.sqrt(len(points))
    for round_ in range(120):
        heat = 0.08 * (1 - round_ / 120) + 0.002
        moves = [[0.0, 0.0] for _ in points]
        for i, j in combinations(range(len(points)), 2):
            _push(points, moves, i, j, lambda d: best * best / d)
        for link in topology.links:
            _push(points, moves, index[link.a], index[link.b], lambda d: -d * d / best)
        for point, (x, y) in zip(points, moves, strict=True):
            length = math.hypot(x, y) or 1.0
            point[0] = min(1.0, max(0.0, point[0] + x / length * min(length, heat)))
            point[1] = min(1.0, max(0.0, point[1] + y / length * min(length, heat)))

    for axis in (0, 1):  # the whole square is used
        low, high = min(point[axis] for point in points), max(point[axis] for point in points)
        for point in points:
            point[axis] = (point[axis] - low) / (high - low) if high > low else 0.5


def _push(
    points: list[list[float]], moves: list[list[float]], i: int, j: int, force: Callable[[float], float]
) -> None:
    x, y = points[i][0] - points[j][0], points[i][1] - points[j][1]
    distance = math.hypot(x, y) or 0.001
    strength = force(distance) / distance
    for which, sign in ((i, 1), (j, -1)):
        moves[which][0] += sign * x * strength
        moves[which][1] += sign * y * strength


def _apart(points: list[list[float]]) -> None:
    """Move those that are too near each other."""
    least = min(0.075, 0.7 / math.sqrt(len(points)))
    for _ in range(60):
        for a, b in combinations(points, 2):
            x, y = a[0] - b[0], a[1] - b[1]
            distance = math.hypot(x, y)
            if distance < least:
                x, y = (x / distance, y / distance) if distance else (1.0, 0.0)
                gap = (least - distance) / 2
                a[0], a[1], b[0], b[1] = a[0] + x * gap, a[1] + y * gap, b[0] - x * gap, b[1] - y * gap
        for point in points:
            point[0], point[1] = min(1.0, max(0.0, point[0])), min(1.0, max(0.0, point[1]))


def _links(
    sheet: Drawing,
    topology: Topology,
    places: Mapping[str, tuple[float, float]],
    outcome: Outcome,
    root: str | None,
) -> None:
    most = max((count.bytes for count in outcome.links.values()), default=0)
    tree = outcome.hosting.parents.get(root or "", {})
    edges = {frozenset(edge) for edge in tree.items()}
    for link in topology.links:
        ends = (link.a, link.b) if link.a < link.b else (link.b, link.a)
        count = outcome.links.get(ends, Count())
        (x1, y1), (x2, y2) = places[link.a], places[link.b]
        line = f"M{x1:.1f} {y1:.1f} L{x2:.1f} {y2:.1f}"
        if count.bytes:
            width = 1.5 + (_WIDEST - 1.5) * math.sqrt(count.bytes / most)
            sheet.path(line, stroke="#9cc4e4", width=width)
        else:
            sheet.path(line, stroke=_QUIET, width=1)
        if frozenset(ends) in edges:
            sheet.path(line, stroke=_TREE, width=2)
    for link in topology.links:  # over all lines
        ends = (link.a, link.b) if link.a < link.b else (link.b, link.a)
        count = outcome.links.get(ends, Count())
        if count.bytes >= 0.35 * most > 0:
            (x1, y1), (x2, y2) = places[link.a], places[link.b]
            text = f"{number(count.events / outcome.seconds)}/s"
            sheet.label((x1 + x2) / 2, (y1 + y2) / 2, [text], size=9.5, fill=_BUSY)


def _processors(
    sheet: Drawing,
    topology: Topology,
    workload: Workload,
    places: Mapping[str, tuple[float, float]],
    outcome: Outcome,
    root: str | None,
) -> None:
    sources = {feed.processor for feed in workload.feeds}
    sinks = {sink.processor for sink in workload.sinks}
    for name in topology.processors:
        x, y = places[name]
        hosted = outcome.hosting.hosted.get((root or "", name))
        rules = len(hosted.rules) if hosted is not None else 0
        partial = hosted.partial if hosted is not None else 0
        fill = _RULES if rules else _PARTIAL if partial else _IDLE
        radius = 9 + min(9.0, 2.2 * math.sqrt(rules or partial))
        if name == root:
            sheet.circle(x, y, radius + 4, fill="#ffffff", stroke=_ROOT)
        sheet.circle(x, y, radius, fill=fill, stroke=_ROOT if name == root else INK)
        if rules or partial:
            sheet.text(
                x, y + 4, str(rules or partial), size=_SMALL, bold=True, fill="#ffffff" if rules else INK
            )
        if name in sources:
            sheet.box(x - radius - 11, y - radius - 3, 8, 8, fill=INK)
        if name in sinks:
            tip = (x + radius + 7, y - radius + 1)
            sheet.path(f"M{tip[0]:.1f} {tip[1] - 5:.1f} l5 5 l-5 5 l-5 -5 z", stroke=_ROOT, width=2)
        below = y + radius + (17 if name == root else 13)
        width = text_width(name, _SMALL)
        sheet.box(x - width / 2 - 2, below - 9, width + 4, 12, fill="#ffffff", radius=2)
        sheet.text(x, below, name, size=_SMALL, bold=name == root)


def _legend(sheet: Drawing, outcome: Outcome) -> None:
    x, y = 20.0, _SIDE + 2 * _MARGIN + 10
    marks = (
        (_ROOT, "root of the tree"),
        (_RULES, "detects so many rules"),
        (_PARTIAL, "hosts so many partial rules"),
        (_TREE, "the tree"),
        ("#9cc4e4", "traffic: the wider, the more bytes"),
        (INK, "■ sources, ◇ sinks"),
    )
    for colour, text in marks:
        width = 34 + text_width(text, _SMALL)
        if x + width > _SIDE + 2 * _MARGIN:
            x, y = 20.0, y + 20
        sheet.box(x, y - 9, 16, 10, fill=colour, stroke=BORDER)
        sheet.text(x + 22, y, text, size=_SMALL, anchor="start", fill=MUTED)
        x += width
    sheet.height += 12
