"""Parameters: the first `attribute = $p` in declaration order binds it, each other use stands for that value.

Then every condition goes to the last-declared event it mentions; with an aggregate in it, to the complete tuple.
"""

from __future__ import annotations

from collections.abc import Iterator

from tyrex.tesla.checked import BoundParameter
from tyrex.tesla.checks.context import Context, RuleDraft
from tyrex.tesla.diagnostics import did_you_mean
from tyrex.tesla.expressions import (
    Attribute,
    Compare,
    Expression,
    Parameter,
    Present,
    events_in,
    has_aggregate,
    rebuild,
    walk,
)

Bindings = dict[str, tuple[Expression, int]]


def parameters(context: Context) -> None:
    """Bind every parameter, replace its uses, and give every condition to its event."""
    for rule in context.sound_rules:
        bound, binding_conditions = _bind(rule)
        _report_unbound(context, rule, bound)
        users: dict[str, set[int]] = {name: set() for name in bound}
        for position, condition in enumerate(rule.conditions):
            if position in binding_conditions:
                expression, owner = bound[binding_conditions[position]]
                _assign(rule, Present(expression, condition.span), owner)
                continue
            names = _parameters_of(condition)
            if names - bound.keys():
                continue  # reported
            resolved = _replace(condition, bound) if names else condition
            mentioned = events_in(resolved)
            for name in names:
                users[name] |= mentioned
            _assign(rule, resolved, _owner(rule, resolved))
        for negation in rule.negations:
            negation.conditions = [_replace(c, bound) for c in negation.conditions if _known(c, bound)]
        rule.assignments = [(a, _replace(v, bound)) for a, v in rule.assignments if _known(v, bound)]
        whole = len(rule.events)
        rule.parameters = [
            BoundParameter(
                name, expression, None if owner == whole else owner, tuple(sorted(users[name] - {owner}))
            )
            for name, (expression, owner) in bound.items()
        ]


def _bind(rule: RuleDraft) -> tuple[Bindings, dict[int, str]]:
    """What each parameter stands for and where it is bound; and which conditions did that."""
    candidates = [(i, name, value) for i, c in enumerate(rule.conditions) for name, value in _equalities(c)]
    bound: Bindings = {}
    used: dict[int, str] = {}
    while True:
        best: tuple[tuple[int, bool, int], str, Expression] | None = None
        for position, name, value in candidates:
            if name in bound or position in used or not _known(value, bound):
                continue
            resolved = _replace(value, bound)
            key = (_owner(rule, resolved), not isinstance(value, Attribute), position)
            if best is None or key < best[0]:
                best = (key, name, resolved)
        if best is None:
            return bound, used
        (owner, _, position), name, value = best
        bound[name] = (value, owner)
        used[position] = name


def _equalities(condition: Expression) -> Iterator[tuple[str, Expression]]:
    """The parameter and the value in `$p = value` or `value = $p`."""
    if isinstance(condition, Compare) and condition.operator == "=":
        if isinstance(condition.left, Parameter):
            yield condition.left.name, condition.right
        if isinstance(condition.right, Parameter):
            yield condition.right.name, condition.left


def _owner(rule: RuleDraft, condition: Expression) -> int:
    """The last-declared event a condition mentions; behind all of them if it needs the complete tuple."""
    if has_aggregate(condition):
        return len(rule.events)
    return max(events_in(condition), default=0)


def _assign(rule: RuleDraft, condition: Expression, owner: int) -> None:
    if owner == len(rule.events):
        rule.guards.append(condition)
    else:
        rule.events[owner].conditions.append(condition)


def _parameters_of(expression: Expression) -> set[str]:
    return {node.name for node in walk(expression) if isinstance(node, Parameter)}


def _known(expression: Expression, bound: Bindings) -> bool:
    return _parameters_of(expression) <= bound.keys()


def _replace(expression: Expression, bound: Bindings) -> Expression:
    if not bound or not _parameters_of(expression):
        return expression
    return rebuild(expression, lambda node: bound[node.name][0] if isinstance(node, Parameter) else node)


def _report_unbound(context: Context, rule: RuleDraft, bound: Bindings) -> None:
    reported: set[str] = set()
    everything = [
        *rule.conditions,
        *(c for negation in rule.negations for c in negation.conditions),
        *(value for _, value in rule.assignments),
    ]
    for expression in everything:
        for node in walk(expression):
            if isinstance(node, Parameter) and node.name not in bound and node.name not in reported:
                reported.add(node.name)
                near = did_you_mean(node.name, bound)
                context.report(
                    "TSL030",
                    f"`${node.name}` is never bound to a value",
                    rule.source,
                    node.span,
                    expected=f"one `attribute = ${node.name}` in an event that is chosen, "
                    "not in a negation or an aggregate",
                    suggestion=near.replace("`", "`$", 1)
                    if near
                    else f"bind it, as in `{rule.events[0].name}(attribute = ${node.name})`",
                )
