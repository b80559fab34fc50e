"""A folder of rules that a server takes up when it starts."""

from __future__ import annotations

from pathlib import Path

from tyrex.raced import examine_raced
from tyrex.rules import parse, read_sources
from tyrex.server.node import Action, Node, RulesRecord
from tyrex.server.node.rulebook import without
from tyrex.tesla import EventType, Origin, Severity, TeslaError
from tyrex.tesla.format import format_tree


def take_up_rules(node: Node, folder: Path) -> list[str]:
    """Define the rules of a folder that are new, and replace those that have changed; none is removed.

    What was done, as lines for a person. `TeslaError` if a text is wrong.
    """
    texts = []
    for source in read_sources(folder):
        if source.name.endswith(".raced"):
            tree, diagnostics = examine_raced(source)
            errors = [d for d in diagnostics if d.severity is Severity.ERROR]
            if errors:
                raise TeslaError(errors)
            texts.append(format_tree(tree))
        else:
            texts.append(source.text)
    known = node.ask(lambda state: {n: e.text for n, e in state.rulebook.entries.items()}).result()
    whole = "\n\n".join(texts)
    rules = parse(whole, str(folder), known=without(node.rules, known))
    new = [rule.name for rule in rules if rule.name not in known]
    changed = [rule.name for rule in rules if rule.name in known and rule.canonical_text != known[rule.name]]
    types = [name for name in rules.types if name not in node.rules.types]
    if changed or new or types:
        declared = "\n".join(
            _declaration(rules.types[name]) for name in types if rules.types[name].origin is Origin.DECLARED
        )
        wanted = "\n\n".join(rule.canonical_text for rule in rules if rule.name in (*new, *changed))
        action = Action.REPLACE if changed else Action.DEFINE
        node.change(
            RulesRecord(action, node.now(), "the folder of rules", f"{declared}\n\n{wanted}")
        ).result()
    return [f"new: {name}" for name in new] + [f"changed: {name}" for name in changed]


def _declaration(type_: EventType) -> str:
    return f"event {type_.name}({', '.join(f'{a.name}: {a.type.value}' for a in type_.attributes)})"
