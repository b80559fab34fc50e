"""Timers: only as the terminator, with at least one field; deadlines after a real event."""

from __future__ import annotations

from tyrex.tesla import syntax as s
from tyrex.tesla.checks.context import Context, RuleDraft
from tyrex.tesla.expressions import Attribute, walk
from tyrex.tesla.source import Span
from tyrex.tesla.types import TIMER, TIMER_FIELDS


def timers(context: Context) -> None:
    """Refuse timers anywhere but at the head of a pattern."""
    for rule in context.sound_rules:
        terminator = rule.syntax.terminator
        if terminator.deadline is not None:
            if terminator.event.type.text == TIMER.name:
                _refuse(
                    context,
                    rule,
                    terminator.event.type.span,
                    "a deadline starts from an event, not from a timer",
                )
            if terminator.deadline.microseconds == 0:
                context.report(
                    "TSL027",
                    "a deadline needs some time",
                    rule.source,
                    terminator.deadline.span,
                    expected="a duration above zero",
                    found="0",
                    suggestion=f"leave it out: `from {terminator.event.type.text}(..)` is evaluated at once",
                )
        for conjunct in rule.syntax.conjuncts:
            if (
                isinstance(conjunct, s.SelectedEvent | s.NegatedEvent)
                and conjunct.event.type.text == TIMER.name
            ):
                _refuse(
                    context, rule, conjunct.event.type.span, "`Timer` can only be the first event of `from`"
                )


def timer_fields(context: Context) -> None:
    """Refuse a calendar timer whose own conditions mention no field: no instant is meant by it."""
    for rule in context.sound_rules:
        terminator = rule.syntax.terminator
        if terminator.event.type.text != TIMER.name or terminator.deadline is not None:
            continue
        mentioned = (node for condition in rule.events[0].conditions for node in walk(condition))
        if not any(isinstance(node, Attribute) and node.name in TIMER_FIELDS for node in mentioned):
            context.report(
                "TSL026",
                "this timer does not say when",
                rule.source,
                terminator.event.span,
                expected=f"at least one of {', '.join(TIMER_FIELDS)}",
                suggestion="write `Timer(M % 5 = 0)` or `Timer(H = 9, M = 0, D = Friday)`",
            )


def _refuse(context: Context, rule: RuleDraft, span: Span, message: str) -> None:
    rule.broken = True
    context.report(
        "TSL025",
        message,
        rule.source,
        span,
        suggestion="begin the pattern with it, or use an event of your own",
    )
