"""Pictures in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from tyrex.plan.graph import feeds
from tyrex.plan.model import RulePlan, RuleSetPlan
from tyrex.plan.pictures.links import LinkKind, Spot, links
from tyrex.plan.pictures.names import short_names
from tyrex.plan.text import show_static, show_step, show_type

_COLOURS = {
    LinkKind.JOIN: "gray50",
    LinkKind.PARAMETER: "blue3",
    LinkKind.CONDITION: "purple3",
    LinkKind.NEGATION: "firebrick",
    LinkKind.AGGREGATE: "darkgreen",
}


def rule_dot(plan: RulePlan) -> str:
    """The automaton and the ordering graph of a rule."""
    return _digraph(_rule(plan, 0))


def rule_set_dot(plan: RuleSetPlan) -> str:
    """All rules, each in its frame, and the hierarchy of their event types."""
    lines: list[str] = []
    if len(plan.rules) > 1:
        lines += _cluster("hierarchy", "Hierarchy of event types", _hierarchy(plan))
    for number in reversed(range(len(plan.rules))):
        lines += _rule(plan.rules[number], number)
    return _digraph(lines)


def automaton_dot(plan: RulePlan) -> str:
    """The automaton of a rule."""
    return _digraph(_automaton(plan, 0))


def ordering_dot(plan: RulePlan) -> str:
    """The ordering graph of a rule."""
    return _digraph(_ordering(plan, 0))


def hierarchy_dot(plan: RuleSetPlan) -> str:
    """How event types are made of others."""
    return _digraph(_hierarchy(plan))


def _digraph(lines: Iterable[str]) -> str:
    settings = [
        "rankdir=LR",
        'graph [fontname="Helvetica", fontsize=13, color=gray75]',
        'node [shape=circle, fontname="Helvetica", fontsize=12]',
        'edge [fontname="Helvetica", fontsize=11]',
    ]
    return "\n".join(["digraph tyrex {", *(f"  {line};" for line in settings), *_indent(lines), "}"]) + "\n"


def _indent(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _cluster(key: str, title: str, lines: Iterable[str]) -> list[str]:
    return [f"subgraph cluster_{key} {{", f"  label={quote(title)};", *_indent(lines), "}"]


def _rule(plan: RulePlan, number: int) -> list[str]:
    """The frames of a rule, the lower one first: Graphviz stacks them upwards."""
    lines: list[str] = []
    if len(plan.states) > 1:
        title = f"Rule {plan.name}: ordering graph"
        lines += _cluster(f"order{number}", title, _ordering(plan, number))
    return lines + _cluster(f"rule{number}", f"Rule {plan.name}: automaton", _automaton(plan, number))


def _automaton(plan: RulePlan, number: int) -> list[str]:
    shorts = short_names(plan.names)
    lines: list[str] = []
    for row, sequence in enumerate(plan.sequences):
        before = f"r{number}m{row}"
        lines.append(f"{before} [label={quote(sequence.name)}, fontsize=10, width=0.35, fixedsize=true];")
        steps = ["", *(show_step(step) for step in sequence.transitions)]
        for step, event in zip(steps, sequence.states, strict=True):
            state = plan.states[event]
            node = _node(number, Spot(row, event))
            shape = ", shape=doublecircle" if event == sequence.accepting else ""
            label = "\n".join([show_type(state), *show_static(plan, state), *([step] if step else [])])
            lines.append(f"{node} [label={quote(shorts[event])}{shape}];")
            lines.append(f"{before} -> {node} [label={quote(label)}];")
            before = node
    for count, link in enumerate(links(plan)):
        nodes = [_node(number, spot) for spot in link.spots]
        label = link.label
        colour = _COLOURS[link.kind]
        if len(nodes) == 1:  # what reaches back from a state hangs on it
            nodes.insert(0, f"r{number}x{count}")
            lines.append(f"{nodes[0]} [shape=plaintext, fontcolor={colour}, label={quote(label)}];")
            label = ""
        style = f"dir=none, style=dashed, constraint=false, color={colour}, fontcolor={colour}"
        for source, target in pairwise(nodes):
            lines.append(f"{source} -> {target} [{style}, label={quote(label)}];")
    return lines


def _ordering(plan: RulePlan, number: int) -> list[str]:
    lines = [f"r{number}o{state.index} [label={quote(state.name)}];" for state in plan.states]
    return lines + [f"r{number}o{arrow.source} -> r{number}o{arrow.target};" for arrow in plan.order]


def _hierarchy(plan: RuleSetPlan) -> list[str]:
    lines = [f"h{number} [shape=box, label={quote(rule.name)}];" for number, rule in enumerate(plan.rules)]
    for count, (name, (makers, users)) in enumerate(feeds(plan.rules).items()):
        lines.append(f"t{count} [shape=ellipse, label={quote(name)}];")
        lines += [f"h{rule} -> t{count};" for rule in makers]
        lines += [f"t{count} -> h{rule};" for rule in users]
    return lines


def _node(number: int, spot: Spot) -> str:
    return f"r{number}m{spot.row}e{spot.event}"


def quote(text: str) -> str:
    """A text in quotes; a backslash is doubled, since in labels it begins an escape sequence."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
