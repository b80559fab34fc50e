"""Pictures as SVG, drawn like Fig. 2 of the T-Rex paper and Fig. 4 of the TESLA paper."""

from __future__ import annotations

from dataclasses import dataclass

from tyrex.plan.model import RulePlan, RuleSetPlan
from tyrex.plan.pictures.automaton_drawing import COLOURS, automaton_drawing
from tyrex.plan.pictures.canvas import BORDER, LINE, MUTED, Drawing, stack
from tyrex.plan.pictures.graph_drawing import hierarchy_drawing, ordering_drawing
from tyrex.plan.pictures.links import LinkKind, links
from tyrex.plan.pictures.measure import text_width, wrap
from tyrex.plan.pictures.rows import TEXT
from tyrex.plan.text import printer
from tyrex.tesla.durations import format_duration

_PADDING = 26.0
_LEAST_WIDTH = 420.0


def rule_svg(plan: RulePlan) -> str:
    """The automaton of a rule and its ordering graph."""
    card = _Card(f"Rule {plan.name}", f"defines {plan.defines}", _parts(plan))
    return _framed(card).document(f"Rule {plan.name}")


def rule_set_svg(plan: RuleSetPlan) -> str:
    """The pictures of all rules, one below the other, and the hierarchy of their event types."""
    cards = [_Card(f"Rule {rule.name}", f"defines {rule.defines}", _parts(rule)) for rule in plan.rules]
    if len(plan.rules) > 1:
        cards.append(_Card("Hierarchy of event types", "", [hierarchy_drawing(plan)]))
    width = max((drawing.width for card in cards for drawing in card.drawings), default=0)
    title = "Rules " + ", ".join(rule.name for rule in plan.rules)
    return stack((_framed(card, width) for card in cards), 18).document(title)


def automaton_svg(plan: RulePlan) -> str:
    """The automaton alone."""
    return _framed(_Card("", "", [automaton_drawing(plan)])).document(f"Automaton of rule {plan.name}")


def ordering_svg(plan: RulePlan) -> str:
    """The ordering graph alone."""
    return _framed(_Card("", "", [ordering_drawing(plan)])).document(f"Ordering graph of rule {plan.name}")


def hierarchy_svg(plan: RuleSetPlan) -> str:
    """How event types are made of others."""
    return _framed(_Card("", "", [hierarchy_drawing(plan)])).document("Hierarchy of event types")


# --- Cards --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Card:
    title: str
    subtitle: str
    drawings: list[Drawing]


def _parts(plan: RulePlan) -> list[Drawing]:
    """The automaton of a rule, what is to be said of it, and its ordering graph."""
    automaton = automaton_drawing(plan)
    drawings = [automaton]
    notes = _notes(plan, max(automaton.width, _LEAST_WIDTH))
    if notes.height:
        drawings.append(notes)
    if len(plan.states) > 1:
        drawings.append(_captioned(ordering_drawing(plan)))
    return drawings


def _captioned(graph: Drawing) -> Drawing:
    sheet = Drawing()
    sheet.box(0, 0, 28, 1, fill=BORDER)
    caption = "Ordering graph: no event occurs after one that it points at"
    sheet.text(0, 22, caption, size=11, anchor="start", fill=MUTED)
    sheet.place(graph, 1, 36)
    return sheet


def _notes(plan: RulePlan, width: float) -> Drawing:
    """What has no place on the rows: guards, consumption and the meaning of the colours."""
    sheet = Drawing()
    y = 0.0
    shown = printer(plan, parameters=True)
    notes = [f"if {shown.show(guard.expression)}" for guard in plan.guards]
    notes += [
        f"{plan.names[c.earlier]} also within {format_duration(c.window)} from {plan.names[c.later]}"
        for c in plan.time_constraints
        if not c.orders
    ]
    if plan.consumed:
        notes.append(f"consuming {', '.join(plan.states[event].name for event in plan.consumed)}")
    for note in notes:
        for line in wrap(note, TEXT, width):
            sheet.text(0, y + TEXT, line, size=TEXT, anchor="start")
            y += TEXT * LINE
    present = {link.kind for link in links(plan)}
    kinds = [kind for kind in LinkKind if kind in present]
    if kinds:
        y += 8 if notes else 0
        x = 0.0
        for kind in kinds:
            sheet.polyline([(x, y + 6), (x + 22, y + 6)], stroke=COLOURS[kind], dashed=True)
            sheet.text(x + 28, y + 10, kind.value, size=11, anchor="start", fill=MUTED)
            x += 28 + text_width(kind.value, 11) + 20
    return sheet


def _framed(card: _Card, least_width: float = 0) -> Drawing:
    """Drawings below each other on a white card with a title."""
    least_width = max(least_width, _LEAST_WIDTH if card.title else 0)
    width = max(least_width, *(drawing.width for drawing in card.drawings))
    content = Drawing()
    y = 0.0
    if card.title:
        for line in wrap(card.title, 16, width, bold=True):
            content.text(0, y + 15, line, size=16, anchor="start", bold=True)
            y += 21
        for line in wrap(card.subtitle, TEXT, width):
            content.text(0, y + TEXT, line, size=TEXT, anchor="start", fill=MUTED)
            y += TEXT * LINE
        y += 16
    for number, drawing in enumerate(card.drawings):
        y += 18 if number else 0
        content.place(drawing, 0, y)
        y += drawing.height
    sheet = Drawing()
    outer = (width + 2 * _PADDING, y + 2 * _PADDING)
    sheet.box(0.5, 0.5, outer[0] - 1, outer[1] - 1, fill="#ffffff", stroke=BORDER, radius=10)
    sheet.place(content, _PADDING, _PADDING)
    sheet.width, sheet.height = outer
    return sheet
