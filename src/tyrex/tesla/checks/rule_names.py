"""Rule names: unique, and made from the defined event where none is given."""

from __future__ import annotations

from tyrex.tesla.checks.context import Context


def rule_names(context: Context) -> None:
    """Give every rule a name of its own."""
    taken = set(context.known_rules)
    for rule in context.rules:
        given = rule.syntax.name
        if given is None:
            continue
        if given.text in taken:
            context.report(
                "TSL018",
                f"there is already a rule `{given.text}`",
                rule.source,
                given.span,
                suggestion="give each rule a name of its own",
            )
        taken.add(given.text)
        rule.name = given.text
    count: dict[str, int] = {}
    for rule in context.rules:
        if rule.syntax.name is not None:
            continue
        base = rule.syntax.defines.text
        number = count.get(base, 0) + 1
        while (name := base if number == 1 else f"{base}_{number}") in taken:
            number += 1
        count[base] = number
        taken.add(name)
        rule.name = name
