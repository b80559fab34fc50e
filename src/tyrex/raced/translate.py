"""RACED as TESLA: a conjunction in any order is one rule for each positive filter as the terminator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tyrex.raced.checks import problems
from tyrex.raced.parser import parse_raced
from tyrex.raced.syntax import Advertisement, Definition, Filter
from tyrex.tesla import syntax as s
from tyrex.tesla.diagnostics import Diagnostic, TeslaError
from tyrex.tesla.durations import MINUTE
from tyrex.tesla.source import Source

DEFAULT_WINDOW = 5 * MINUTE


def translate(text: str, *, name: str = "<rules>", default_window: int = DEFAULT_WINDOW) -> s.File:
    """The TESLA rules that a RACED text means; `TeslaError` with every diagnostic if anything is wrong.

    `default_window`, in microseconds, is taken where `WITHIN` is missing.

    >>> [rule.name.text for rule in translate("DefineEvent(Fire, Temp[Value > 30] AND Smoke)").items]
    ['Fire_1', 'Fire_2']
    """
    file, diagnostics = examine_raced(Source(text, name), default_window=default_window)
    if diagnostics:
        raise TeslaError(diagnostics)
    return file


def examine_raced(source: Source, *, default_window: int = DEFAULT_WINDOW) -> tuple[s.File, list[Diagnostic]]:
    """The TESLA rules of what is right, and the diagnostics of the rest; every span is a place in the RACED text."""
    file, diagnostics = parse_raced(source)
    sound = []
    for item in file.items:
        found = problems(item, source)
        diagnostics += found
        if not found:
            sound.append(item)
    names = _rule_names([item for item in sound if isinstance(item, Definition)])
    items: list[s.Item] = []
    for item in sound:
        if isinstance(item, Advertisement):
            items.append(s.EventDeclaration(item.name, item.attributes, item.span))
        else:
            items += _rules(item, names, default_window)
    diagnostics.sort(key=lambda diagnostic: diagnostic.span)
    return s.File(tuple(items), file.comments), diagnostics


def _rule_names(definitions: Sequence[Definition]) -> Iterator[str]:
    """A name of its own for each rule, in order: `Fire`, or `Fire_1`, `Fire_2`.. where an event has several."""
    count: Counter[str] = Counter()
    for definition in definitions:
        count[definition.name.text] += len(definition.pattern.positive)
    taken = {event for event, rules in count.items() if rules == 1}
    number: Counter[str] = Counter()
    for definition in definitions:
        event = definition.name.text
        for _ in definition.pattern.positive:
            name = event
            while count[event] > 1 and (name == event or name in taken):
                number[event] += 1
                name = f"{event}_{number[event]}"
            taken.add(name)
            yield name


def _rules(definition: Definition, names: Iterator[str], default_window: int) -> Iterator[s.Rule]:
    pattern = definition.pattern
    window = pattern.window or s.Duration(default_window, definition.name.span)
    terms = [
        _term(part, alias) for part, alias in zip(pattern.positive, _aliases(pattern.positive), strict=True)
    ]
    for terminator in terms:
        anchor = s.Identifier(terminator.name.text, terminator.type.span)
        within = s.Within(window, anchor, window.span)
        others = [
            s.SelectedEvent(s.Selection(s.Policy.EACH, 1, term.type.span), term, within, term.span)
            for term in terms
            if term is not terminator
        ]
        absent = [s.NegatedEvent(_term(part, None), within, part.span) for part in pattern.negated]
        yield s.Rule(
            s.Identifier(next(names), definition.name.span),
            definition.name,
            tuple(s.AttributeDeclaration(a.name, None, a.name.span) for a in definition.attributes),
            s.Terminator(terminator, None, terminator.span),
            (*others, *absent),
            tuple(s.Assignment(a.name, a.value, a.span) for a in definition.attributes),
            (),
            definition.span,
        )


def _aliases(filters: Sequence[Filter]) -> Iterator[s.Identifier | None]:
    """A name for each filter whose type occurs more than once, the same in every rule of a definition."""
    occurrences = Counter(part.type.text for part in filters)
    number: Counter[str] = Counter()
    taken = set(occurrences)
    for part in filters:
        type_ = part.type.text
        if occurrences[type_] == 1:
            yield None
            continue
        alias = type_
        while alias in taken:
            number[type_] += 1
            alias = f"{type_}_{number[type_]}"
        taken.add(alias)
        yield s.Identifier(alias, part.type.span)


def _term(part: Filter, alias: s.Identifier | None) -> s.EventTerm:
    """The filter as an event: its constraints become one conjunction."""
    arguments: tuple[s.Expression, ...] = ()
    if part.constraints:
        conjunction: s.Expression = part.constraints[0]
        for constraint in part.constraints[1:]:
            conjunction = s.Binary("and", conjunction, constraint, conjunction.span.to(constraint.span))
        arguments = (conjunction,)
    return s.EventTerm(part.type, arguments, alias, part.span)
