"""Windows that can never be satisfied, and events that could only be one and the same."""

from __future__ import annotations

from tyrex.tesla import syntax as s
from tyrex.tesla.checks.context import Context, EventDraft, RuleDraft
from tyrex.tesla.expressions import Attribute, Expression, Precedes, Within, rebuild
from tyrex.tesla.syntax import Policy


def windows(context: Context) -> None:
    """Report time constraints that contradict the tree, empty negations, and twins."""
    for rule in context.sound_rules:
        _contradicting_orders(context, rule)
        for negation in rule.negations:
            if isinstance(negation.interval, Within) and negation.interval.window == 0:
                context.report(
                    "TSL071",
                    "nothing lies within zero time before an event: this negation always holds",
                    rule.source,
                    negation.syntax.interval.span,
                    suggestion="give it a window above zero, or remove it",
                )
        if len(rule.events) > 2:
            _twins(context, rule)


def _contradicting_orders(context: Context, rule: RuleDraft) -> None:
    """`X within w from Y` says that X comes first; the anchors may say the opposite."""
    constraints = [c for event in rule.events for c in event.conditions if isinstance(c, Precedes)]
    if not constraints:
        return
    later: dict[int, set[int]] = {event.index: set() for event in rule.events}
    for event in rule.events:
        if event.anchor is not None:
            later[event.index].add(event.anchor)
    for constraint in constraints:
        if constraint.earlier in _reachable(later, constraint.later):
            first, second = rule.events[constraint.earlier].name, rule.events[constraint.later].name
            context.report(
                "TSL070",
                f"this can never be: `{first}` would have to come before `{second}`, "
                + (
                    "and it is the same event"
                    if first == second
                    else "and the pattern says that it comes after"
                ),
                rule.source,
                constraint.span,
                suggestion=f"write `{second} within .. from {first}`" if first != second else "remove it",
            )
        else:
            later[constraint.earlier].add(constraint.later)


def _reachable(later: dict[int, set[int]], start: int) -> set[int]:
    seen = {start}
    stack = [start]
    while stack:
        for target in later[stack.pop()] - seen:
            seen.add(target)
            stack.append(target)
    return seen


def _twins(context: Context, rule: RuleDraft) -> None:
    """Two single selections of the same thing always choose the same event, and a match has distinct events."""
    seen: dict[object, EventDraft] = {}
    for event in rule.events:
        if event.selection is None or event.selection.policy is Policy.EACH:
            continue
        key = (
            event.type.name,
            event.selection,
            event.anchor,
            event.window,
            frozenset(_impersonal(condition, event.index) for condition in event.conditions),
        )
        twin = seen.setdefault(key, event)
        if twin is not event:
            assert isinstance(event.term, s.EventTerm)
            context.report(
                "TSL073",
                f"`{event.name}` is always the same event as `{twin.name}`, so there is never a match",
                rule.source,
                event.term.span,
                suggestion=f"anchor it to `{twin.name}`, "
                f"or choose `{event.selection.k + 1}-{event.selection.policy.value}`",
            )


def _impersonal(condition: Expression, index: int) -> Expression:
    """The condition with the event's own place taken out, so that two events' conditions can be compared."""

    def change(node: Expression) -> Expression:
        if isinstance(node, Attribute) and node.event == index:
            return Attribute(-2, node.name)
        if isinstance(node, Precedes):
            return Precedes(
                -2 if node.earlier == index else node.earlier,
                -2 if node.later == index else node.later,
                node.window,
            )
        return node

    return rebuild(condition, change)
