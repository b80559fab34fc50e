"""RACED as TESLA (SEMANTICS section 9): one rule for each positive filter as the terminator."""

from __future__ import annotations

from collections import Counter

from tyrex.raced.parser import parse_raced
from tyrex.raced.syntax import Advertisement, Definition, Filter
from tyrex.tesla import syntax as s
from tyrex.tesla.diagnostics import Diagnostic, TeslaError
from tyrex.tesla.durations import MINUTE
from tyrex.tesla.source import Source

DEFAULT_WINDOW = 5 * MINUTE


def translate(text: str, name: str = "<rules>", *, default_window: int = DEFAULT_WINDOW) -> s.File:
    """The TESLA rules that a RACED text means; `TeslaError` if it can't be read."""
    file, diagnostics = examine_raced(Source(text, name), default_window=default_window)
    if diagnostics:
        raise TeslaError(diagnostics)
    return file


def examine_raced(
    source: Source, *, default_window: int = DEFAULT_WINDOW
) -> tuple[s.File, list[Diagnostic]]:
    """The TESLA rules of what could be read, and the diagnostics of the rest."""
    items, diagnostics = parse_raced(source)
    translated: list[s.Item] = []
    for item in items:
        if isinstance(item, Advertisement):
            translated.append(s.EventDeclaration(item.name, item.attributes, item.span))
            continue
        problems = _problems(item, source)
        diagnostics += problems
        if not problems:
            translated += _rules(item, default_window)
    return s.File(tuple(translated)), diagnostics


def _problems(definition: Definition, source: Source) -> list[Diagnostic]:
    positive = [f for f in definition.pattern.filters if not f.negated]
    if not positive:
        return [
            Diagnostic(
                "RCD003",
                f"`{definition.name.text}` needs at least one message that has to come",
                definition.span,
                source,
                expected="a filter without `NOT`",
                suggestion="a message that does not come can't be the moment of an event",
            )
        ]
    bound = {p for f in positive for c in f.constraints for p in _bound_by(c)}
    return [
        Diagnostic(
            "RCD004",
            f"`${value.name}` is not bound by any message of the pattern",
            value.span,
            source,
            expected=f"one `attribute = ${value.name}` in a filter without `NOT`",
            suggestion=f"add `= ${value.name}` to the attribute that `{attribute.text}` is taken from",
        )
        for attribute, value in definition.attributes
        if isinstance(value, s.Parameter) and value.name not in bound
    ]


def _bound_by(constraint: s.Comparison) -> list[str]:
    return [
        operand.name
        for operator, operand in zip(constraint.operators, constraint.operands[1:], strict=True)
        if operator == "=" and isinstance(operand, s.Parameter)
    ]


def _rules(definition: Definition, default_window: int) -> list[s.Rule]:
    pattern = definition.pattern
    positive = [f for f in pattern.filters if not f.negated]
    negated = [f for f in pattern.filters if f.negated]
    aliases = _aliases(positive)
    microseconds = default_window if pattern.window is None else pattern.window
    window = s.Duration(microseconds, pattern.window_span)
    rules = []
    for number, terminator in enumerate(positive):
        anchor = aliases[number] or terminator.type
        within = s.Within(window, s.Identifier(anchor.text, terminator.span), terminator.span)
        others = [
            s.SelectedEvent(
                s.Selection(s.Policy.EACH, 1, f.span), _term(f, aliases[i]), within, f.span
            )
            for i, f in enumerate(positive)
            if i != number
        ]
        absences = [s.NegatedEvent(_term(f, None), within, f.span) for f in negated]
        name = definition.name.text if len(positive) == 1 else f"{definition.name.text}_{number + 1}"
        rules.append(
            s.Rule(
                s.Identifier(name, definition.name.span),
                definition.name,
                tuple(s.AttributeDeclaration(a, None, a.span) for a, _ in definition.attributes),
                s.Terminator(_term(terminator, aliases[number]), None, terminator.span),
                (*others, *absences),
                tuple(s.Assignment(a, value, a.span.to(value.span)) for a, value in definition.attributes),
                (),
                definition.span,
            )
        )
    return rules


def _aliases(filters: list[Filter]) -> list[s.Identifier | None]:
    """A name for each filter whose type occurs more than once, the same in every rule of a definition."""
    occurrences = Counter(f.type.text for f in filters)
    numbers: Counter[str] = Counter()
    aliases: list[s.Identifier | None] = []
    for f in filters:
        numbers[f.type.text] += 1
        several = occurrences[f.type.text] > 1
        aliases.append(s.Identifier(f"{f.type.text}_{numbers[f.type.text]}", f.type.span) if several else None)
    return aliases


def _term(f: Filter, alias: s.Identifier | None) -> s.EventTerm:
    arguments: tuple[s.Expression, ...] = ()
    if f.constraints:
        conjunction: s.Expression = f.constraints[0]
        for constraint in f.constraints[1:]:
            conjunction = s.Binary("and", conjunction, constraint, f.span)
        arguments = (conjunction,)
    return s.EventTerm(f.type, arguments, alias, f.span)
