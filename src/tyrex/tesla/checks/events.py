"""The events of each pattern: their types, their names, what is consumed."""

from __future__ import annotations

from collections import Counter

from tyrex.tesla import syntax as s
from tyrex.tesla.checks.context import Context, EventDraft, RuleDraft, TypeDraft
from tyrex.tesla.diagnostics import did_you_mean
from tyrex.tesla.types import TIMER, Origin


def events(context: Context) -> None:
    """List the events of every rule in the order of their declaration, and name them."""
    for rule in context.rules:
        if rule.broken:
            continue
        _list(context, rule)
        _name(context, rule)
        rule.consuming = [
            index for name in rule.syntax.consuming if (index := find_event(context, rule, name)) is not None
        ]


def event_type(context: Context, rule: RuleDraft, name: s.Identifier) -> TypeDraft:
    """The type of this name; an unknown one is reported where types are declared, else learned from its use."""
    known = context.types.get(name.text)
    if known is not None:
        return known
    learned = TypeDraft(name.text, Origin.INFERRED, {}, extensible=True, source=rule.source, span=name.span)
    if context.closed:
        context.report(
            "TSL010",
            f"there is no event type `{name.text}`",
            rule.source,
            name.span,
            suggestion=did_you_mean(name.text, context.types) or f"declare it: `event {name.text}(..)`",
        )
    else:
        context.types[name.text] = learned
    return learned


def find_event(context: Context, rule: RuleDraft, name: s.Identifier) -> int | None:
    """The index of the event that a name means; reports and gives None if it means none."""
    index = rule.names.get(name.text)
    if index is not None:
        return index
    if name.text in rule.nameless:
        message = (
            f"`{name.text}` occurs {rule.nameless[name.text]} times in this rule, so it names no single event"
        )
        suggestion = f"give it an alias: `{name.text}(..) as X`"
    else:
        message = f"there is no event `{name.text}` in this rule"
        suggestion = (
            did_you_mean(name.text, rule.names) or "use the alias or the type of an event of the rule"
        )
    expected = ", ".join(f"`{known}`" for known in rule.names)
    context.report(
        "TSL019",
        message,
        rule.source,
        name.span,
        expected=expected or None,
        found=f"`{name.text}`",
        suggestion=suggestion,
    )
    return None


def _list(context: Context, rule: RuleDraft) -> None:
    terminator = rule.syntax.terminator
    drafts = rule.events
    if terminator.deadline is not None:
        drafts.append(EventDraft(0, TIMER.name, context.types[TIMER.name], None))
    first = terminator.event
    drafts.append(EventDraft(len(drafts), first.name.text, event_type(context, rule, first.type), first))
    for conjunct in rule.syntax.conjuncts:
        if isinstance(conjunct, s.SelectedEvent):
            event = conjunct.event
            drafts.append(
                EventDraft(
                    len(drafts),
                    event.name.text,
                    event_type(context, rule, event.type),
                    event,
                    conjunct.selection,
                    conjunct.within,
                )
            )


def _name(context: Context, rule: RuleDraft) -> None:
    occurrences = Counter(event.term.type.text for event in rule.events if event.term is not None)
    for event in rule.events:
        term = event.term
        if term is not None and term.alias is None and occurrences[event.name] > 1:
            rule.nameless[event.name] = occurrences[event.name]
            continue
        if event.name in rule.names:
            assert term is not None
            context.report(
                "TSL020",
                f"two events of this rule are called `{event.name}`",
                rule.source,
                term.name.span,
                suggestion="give them different aliases",
            )
            rule.broken = True
            continue
        rule.names[event.name] = event.index
