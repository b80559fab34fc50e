"""Graphs of events and of event types, drawn in layers like Fig. 4 of the TESLA paper."""

from __future__ import annotations

from tyrex.plan.model import RulePlan, RuleSetPlan
from tyrex.plan.pictures.canvas import BORDER, INK, MUTED, PALE, Drawing, Point, smooth
from tyrex.plan.pictures.layered import Size, layered
from tyrex.plan.pictures.measure import text_width
from tyrex.plan.pictures.rows import TEXT


def ordering_drawing(plan: RulePlan) -> Drawing:
    """The events of a rule, an arrow from each to those it cannot occur after."""
    names = {str(state.index): state.name for state in plan.states}
    arrows = [(str(arrow.source), str(arrow.target)) for arrow in plan.order]
    return _graph(names, arrows, {"0": "#ffffff"})


def hierarchy_drawing(plan: RuleSetPlan) -> Drawing:
    """Event types and the rules that make one from others."""
    recursive = {rule for group in plan.recursive_groups for rule in group}
    names: dict[str, str] = {}
    fills: dict[str, str] = {}
    arrows: list[tuple[str, str]] = []
    for number, rule in enumerate(plan.rules):
        for name in (*rule.horizon, rule.defines.name):
            names.setdefault(f"type {name}", name)
        names[f"rule {number}"] = f"{rule.name} ↻" if number in recursive else rule.name
        fills[f"rule {number}"] = "rule"
        arrows += [(f"type {name}", f"rule {number}") for name in rule.horizon]
        arrows.append((f"rule {number}", f"type {rule.defines.name}"))
    for name in plan.types_defined:
        fills[f"type {name}"] = "#e4eefb"
    return _graph(names, list(dict.fromkeys(arrows)), fills)


def _graph(names: dict[str, str], arrows: list[tuple[str, str]], fills: dict[str, str]) -> Drawing:
    """A graph in layers; nodes filled with `rule` are plain text in a box, the others are pills."""
    sizes = {node: Size(text_width(name, TEXT) + 22, 26) for node, name in names.items()}
    placed = layered(sizes, arrows, across=46, down=14)
    sheet = Drawing(placed.width, placed.height)
    for (source, target), points in placed.arrows.items():
        ends = list(points)
        direction = 1 if points[-1][0] >= points[0][0] else -1
        ends[0] = (points[0][0] + direction * sizes[source].width / 2, points[0][1])
        ends[-1] = (points[-1][0] - direction * (sizes[target].width / 2 + 1), points[-1][1])
        if direction < 0:  # back around: below the arrow that leads there
            middle = ((ends[0][0] + ends[-1][0]) / 2, (ends[0][1] + ends[-1][1]) / 2 + 18)
            start, end = (ends[0][0], ends[0][1] + 7), (ends[-1][0], ends[-1][1] + 7)
            ends = [start, *(ends[1:-1] or [middle]), end]
        line: list[Point] = [*ends[:-1], (ends[-1][0] - direction * 5, ends[-1][1])]
        sheet.path(smooth(line), stroke=MUTED, dashed=direction < 0)
        sheet.arrow_head(ends[-1], (ends[-1][0] - direction, ends[-1][1]), fill=MUTED)
    for node, (x, y) in placed.nodes.items():
        size = sizes[node]
        fill = fills.get(node, PALE)
        is_rule = fill == "rule"
        sheet.box(
            x - size.width / 2,
            y - size.height / 2,
            size.width,
            size.height,
            fill="#ffffff" if is_rule else fill,
            stroke=BORDER if is_rule else INK,
            radius=3 if is_rule else size.height / 2,
        )
        sheet.text(x, y + 4, names[node], size=TEXT, italic=is_rule, fill=MUTED if is_rule else INK)
    return sheet
