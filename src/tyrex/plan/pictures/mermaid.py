"""Pictures as Mermaid flowcharts, which many web pages and editors draw."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from tyrex.plan.graph import feeds
from tyrex.plan.model import RulePlan, RuleSetPlan
from tyrex.plan.pictures.links import Spot, links
from tyrex.plan.pictures.names import short_names
from tyrex.plan.text import show_static, show_step, show_type

_ENTITIES = {
    '"': "#quot;",
    "#": "#35;",
    "&": "#amp;",
    "<": "#lt;",
    ">": "#gt;",
    "\\": "#92;",
    "`": "#96;",
    "*": "#42;",
    "_": "#95;",
}


def rule_mermaid(plan: RulePlan) -> str:
    """The automaton and the ordering graph of a rule."""
    return _flowchart(_rule(plan, 0))


def rule_set_mermaid(plan: RuleSetPlan) -> str:
    """All rules, each in its frame, and the hierarchy of their event types."""
    lines: list[str] = []
    if len(plan.rules) > 1:
        lines += _frame("hierarchy", "Hierarchy of event types", _hierarchy(plan))
    for number in reversed(range(len(plan.rules))):
        lines += _rule(plan.rules[number], number)
    return _flowchart(lines)


def automaton_mermaid(plan: RulePlan) -> str:
    """The automaton of a rule."""
    return _flowchart(_automaton(plan, 0))


def ordering_mermaid(plan: RulePlan) -> str:
    """The ordering graph of a rule."""
    return _flowchart(_ordering(plan, 0))


def hierarchy_mermaid(plan: RuleSetPlan) -> str:
    """How event types are made of others."""
    return _flowchart(_hierarchy(plan))


def _flowchart(lines: Iterable[str]) -> str:
    return "\n".join(["flowchart LR", *(f"  {line}" for line in lines)]) + "\n"


def _frame(key: str, title: str, lines: list[str]) -> list[str]:
    inner = ["direction LR", *lines]  # a frame does not take over the direction of the chart
    return [f'subgraph {key}["{escape(title)}"]', *(f"  {line}" for line in inner), "end"]


def _rule(plan: RulePlan, number: int) -> list[str]:
    """The frames of a rule, the lower one first: Mermaid stacks them upwards."""
    lines: list[str] = []
    if len(plan.states) > 1:
        title = f"Rule {plan.name}: ordering graph"
        lines += _frame(f"rule{number}order", title, _ordering(plan, number))
    return lines + _frame(f"rule{number}", f"Rule {plan.name}: automaton", _automaton(plan, number))


def _automaton(plan: RulePlan, number: int) -> list[str]:
    shorts = short_names(plan.names)
    lines: list[str] = []
    for row, sequence in enumerate(plan.sequences):
        before = f"r{number}m{row}"
        lines.append(f'{before}(("{sequence.name}"))')
        steps = ["", *(show_step(step) for step in sequence.transitions)]
        for step, event in zip(steps, sequence.states, strict=True):
            state = plan.states[event]
            node = _node(number, Spot(row, event))
            marks = ("(((", ")))") if event == sequence.accepting else ("((", "))")
            words = [show_type(state), *show_static(plan, state), *([step] if step else [])]
            lines.append(f'{node}{marks[0]}"{escape(shorts[event])}"{marks[1]}')
            lines.append(f'{before} -->|"{"<br/>".join(map(escape, words))}"| {node}')
            before = node
    for count, link in enumerate(links(plan)):
        label = f'|"{escape(link.label)}"|' if link.label else ""
        nodes = [_node(number, spot) for spot in link.spots]
        if len(nodes) == 1:  # what reaches back from a state hangs on it
            nodes.insert(0, f"r{number}x{count}")
            lines.append(f'{nodes[0]}["{escape(link.label)}"]')
            label = ""
        for source, target in pairwise(nodes):
            lines.append(f"{source} -.-{label} {target}")
    return lines


def _ordering(plan: RulePlan, number: int) -> list[str]:
    lines = [f'r{number}o{state.index}(["{escape(state.name)}"])' for state in plan.states]
    return lines + [f"r{number}o{arrow.source} --> r{number}o{arrow.target}" for arrow in plan.order]


def _hierarchy(plan: RuleSetPlan) -> list[str]:
    lines = [f'h{number}["{escape(rule.name)}"]' for number, rule in enumerate(plan.rules)]
    for count, (name, (makers, users)) in enumerate(feeds(plan.rules).items()):
        lines.append(f't{count}(["{escape(name)}"])')
        lines += [f"h{rule} --> t{count}" for rule in makers]
        lines += [f"t{count} --> h{rule}" for rule in users]
    return lines


def _node(number: int, spot: Spot) -> str:
    return f"r{number}m{spot.row}e{spot.event}"


def escape(text: str) -> str:
    """A text for a label: nothing in it is taken for Mermaid's own."""
    return "".join(_ENTITIES.get(character, character) for character in text)
