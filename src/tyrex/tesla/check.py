"""From texts to checked rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from tyrex.tesla import syntax as s
from tyrex.tesla.checked import CheckedRule, CheckedRules, CheckedSubscription, Negation, PatternEvent
from tyrex.tesla.checks import run_passes
from tyrex.tesla.checks.context import Context, EventDraft, RuleDraft, TypeDraft
from tyrex.tesla.checks.references import Home, arguments
from tyrex.tesla.checks.types import check_conditions
from tyrex.tesla.checks.widening import widen
from tyrex.tesla.diagnostics import Diagnostic, Severity, TeslaError, did_you_mean
from tyrex.tesla.expressions import Aggregate, Expression, Parameter, walk
from tyrex.tesla.parser import collection_paused, parse_file, parse_subscription_text
from tyrex.tesla.source import Source
from tyrex.tesla.types import TIMER, AttributeType, EventType, Origin, ValueType


def check_text(text: str, name: str = "<rules>", *, known: CheckedRules | None = None) -> CheckedRules:
    """The rules of a text, or a `TeslaError` with everything that is wrong with it."""
    return check_sources([Source(text, name)], known=known)


def check_sources(sources: Iterable[Source], *, known: CheckedRules | None = None) -> CheckedRules:
    """The rules of several texts that belong together."""
    rules, diagnostics = examine_sources(sources, known=known)
    if rules is None:
        raise TeslaError(d for d in diagnostics if d.severity is Severity.ERROR)
    return rules


def examine_sources(
    sources: Iterable[Source], *, known: CheckedRules | None = None
) -> tuple[CheckedRules | None, list[Diagnostic]]:
    """The rules if they are right, and every diagnostic in the order of the text."""
    with collection_paused():
        parsed = [(source, *parse_file(source)) for source in sources]
        return examine_files(
            [(source, file) for source, file, _ in parsed],
            known=known,
            diagnostics=[d for *_, found in parsed for d in found],
        )


def examine_files(
    files: list[tuple[Source, s.File]],
    *,
    known: CheckedRules | None = None,
    diagnostics: Iterable[Diagnostic] = (),
) -> tuple[CheckedRules | None, list[Diagnostic]]:
    """The same, for files that are parsed already, or made by another front end."""
    context = Context(list(files))
    if known is not None:
        _remember(context, known)
    context.diagnostics += diagnostics
    run_passes(context)
    found = _in_order(context.diagnostics, [source for source, _ in context.files])
    if any(d.severity is Severity.ERROR for d in found):
        return None, found
    return _freeze(context, known or CheckedRules()), found


def check_subscription(text: str, types: Mapping[str, EventType]) -> CheckedSubscription:
    """A subscription filter against the event types of a rule set."""
    source = Source(text, "<subscription>")
    tree = parse_subscription_text(source)
    if tree.type.text not in types or tree.type.text == TIMER.name:
        suggestion = did_you_mean(tree.type.text, types) or "subscribe to a type of the rule set"
        raise TeslaError(
            [
                Diagnostic(
                    "TSL010",
                    f"there is no event type `{tree.type.text}`",
                    tree.type.span,
                    source,
                    suggestion=suggestion,
                )
            ]
        )
    context = Context([], {name: TypeDraft.of(known) for name, known in types.items()}, closed=True)
    term = s.EventTerm(tree.type, tree.arguments, None, tree.span)
    terminator = s.Terminator(term, None, tree.span)
    rule = RuleDraft(s.Rule(None, tree.type, (), terminator, (), (), (), tree.span), source, 0)
    draft = context.types[tree.type.text]
    rule.events.append(EventDraft(0, tree.type.text, draft, term))
    rule.names[tree.type.text] = 0
    conditions = arguments(context, rule, term, Home(0, draft))
    for condition in conditions:
        for node in walk(condition):
            if isinstance(node, Parameter):
                context.report(
                    "TSL031",
                    "a subscription has no parameters",
                    source,
                    node.span,
                    suggestion="write the value itself",
                )
            if isinstance(node, Aggregate):
                context.report(
                    "TSL031",
                    "a subscription looks at one event, so it has no aggregates",
                    source,
                    node.span,
                    suggestion="define an event with the aggregate in a rule, and subscribe to that",
                )
    if not context.diagnostics:
        conditions = check_conditions(context, rule, conditions)
    if context.diagnostics:
        raise TeslaError(_in_order(context.diagnostics, [source]))
    names = [tree.type.text]
    return CheckedSubscription(tree.type.text, tuple(widen(c, names, types) for c in conditions))


def _remember(context: Context, known: CheckedRules) -> None:
    """Start from what is deployed already."""
    context.types |= {name: TypeDraft.of(known_type) for name, known_type in known.types.items()}
    context.closed = any(t.origin is Origin.DECLARED for t in known.types.values())
    context.known_rules = frozenset(rule.name for rule in known.rules)
    context.instant_edges = [(r.terminator.type, r.defines.name) for r in known.rules if r.deadline is None]


def _in_order(diagnostics: list[Diagnostic], sources: list[Source]) -> list[Diagnostic]:
    place = {id(source): i for i, source in enumerate(sources)}
    return sorted(diagnostics, key=lambda d: (place.get(id(d.source), 0), d.span, d.code))


def _freeze(context: Context, known: CheckedRules) -> CheckedRules:
    types = {name: known.types.get(name) or _freeze_type(draft) for name, draft in context.types.items()}
    types[TIMER.name] = TIMER
    rules = tuple(_freeze_rule(rule, types, len(known.rules)) for rule in context.rules)
    return CheckedRules(known.rules + rules, MappingProxyType(types))


def _freeze_type(draft: TypeDraft) -> EventType:
    attributes = tuple(
        AttributeType(name, next(iter(slot.allowed))) for name, slot in draft.attributes.items()
    )
    return EventType(draft.name, attributes, draft.origin)


def _freeze_rule(rule: RuleDraft, types: Mapping[str, EventType], offset: int) -> CheckedRule:
    names = [event.type.name for event in rule.events]

    def settle(
        expression: Expression, candidate: str | None = None, wanted: ValueType | None = None
    ) -> Expression:
        return widen(expression, names, types, candidate, wanted)

    defines = types[rule.syntax.defines.text]
    values = {assignment.attribute.text: value for assignment, value in rule.assignments}
    return CheckedRule(
        name=rule.name,
        position=offset + rule.position,
        defines=defines,
        events=tuple(
            PatternEvent(
                event.index,
                event.name,
                event.type.name,
                event.selection,
                event.anchor,
                event.window,
                tuple(settle(c) for c in event.conditions),
            )
            for event in rule.events
        ),
        negations=tuple(
            Negation(n.type.name, tuple(settle(c, n.type.name) for c in n.conditions), n.interval)
            for n in rule.negations
        ),
        guards=tuple(settle(c) for c in rule.guards),
        parameters=tuple(rule.parameters),
        assignments=tuple((a.name, settle(values[a.name], wanted=a.type)) for a in defines.attributes),
        consuming=tuple(dict.fromkeys(rule.consuming)),
        deadline=None if rule.deadline is None else rule.deadline.microseconds,
        syntax=rule.syntax,
        source=rule.source,
    )
