"""Anchors: every event but the terminator hangs on one that is declared before it."""

from __future__ import annotations

from tyrex.tesla import syntax as s
from tyrex.tesla.checks.context import Context, RuleDraft
from tyrex.tesla.checks.events import find_event
from tyrex.tesla.expressions import Between, Interval, Within


def tree(context: Context) -> None:
    """Resolve the anchor of every event."""
    for rule in context.sound_rules:
        if rule.deadline is not None:
            rule.events[1].anchor, rule.events[1].window = 0, rule.deadline.microseconds
        for event in rule.events:
            if event.within is None:
                continue
            anchor = find_event(context, rule, event.within.anchor)
            if anchor is None:
                rule.broken = True
            elif anchor >= event.index:
                itself = anchor == event.index
                context.report(
                    "TSL021",
                    "an event can't be its own anchor"
                    if itself
                    else f"`{event.within.anchor.text}` is declared after `{event.name}`, so it can't be its anchor",
                    rule.source,
                    event.within.anchor.span,
                    expected=", ".join(f"`{e.name}`" for e in rule.events[: event.index]),
                    found=f"`{event.within.anchor.text}`",
                    suggestion="anchor it to an event declared before it"
                    if itself
                    else f"write `{event.within.anchor.text}` first, or anchor it to another event",
                )
                rule.broken = True
            else:
                event.anchor, event.window = anchor, event.within.window.microseconds


def path_to_root(rule: RuleDraft, index: int) -> list[int]:
    """The event, its anchor, that one's anchor, and so on to the terminator."""
    path = [index]
    while (anchor := rule.events[path[-1]].anchor) is not None:
        path.append(anchor)
    return path


def resolve_interval(context: Context, rule: RuleDraft, interval: s.Interval) -> Interval | None:
    """The interval of a negation or an aggregate; its two events have to lie on one path of the tree."""
    if isinstance(interval, s.Within):
        anchor = find_event(context, rule, interval.anchor)
        return None if anchor is None else Within(anchor, interval.window.microseconds)
    first = find_event(context, rule, interval.first)
    second = find_event(context, rule, interval.second)
    if first is None or second is None:
        return None
    if first == second:
        context.report(
            "TSL072",
            "nothing lies between an event and itself",
            rule.source,
            interval.span,
            suggestion="name two different events, or use `within 5 min from ..`",
        )
        return None
    if second in path_to_root(rule, first):
        return Between(first, second)
    if first in path_to_root(rule, second):
        return Between(second, first)
    context.report(
        "TSL022",
        f"the order of `{interval.first.text}` and `{interval.second.text}` is not known: "
        "neither leads to the other through its anchors",
        rule.source,
        interval.span,
        expected="two events on one path to the terminator",
        found=" and ".join(
            " < ".join(rule.events[i].name for i in path_to_root(rule, index)) for index in (first, second)
        ),
        suggestion=f"anchor one to the other, or use `between {rule.events[first].name} and {rule.events[0].name}`",
    )
    return None
