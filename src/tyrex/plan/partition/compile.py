"""Partial rules as rules that an engine runs, and how to read what it finds.

Each event type gets one more attribute, in which a host puts the number of the row where it has the event. Each
partial rule becomes a rule whose composite has the rows of the events to be sent. Rules, composites and that
attribute have names that no text can hold, so they meet no names of users.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from tyrex.plan.partition.model import PartialRule
from tyrex.plan.partition.text import syntax_of
from tyrex.tesla.checked import CheckedRule, CheckedRules, Negation, PatternEvent
from tyrex.tesla.expressions import Attribute
from tyrex.tesla.source import Source
from tyrex.tesla.types import TIMER, AttributeType, EventType, Origin, ValueType

ROW = "#row"
"""The attribute in which a host gives an event the number of its row."""

_NOWHERE = Source("", "<partial rule>")


@dataclass(frozen=True, slots=True)
class Column:
    """An attribute of a composite that holds the rows of events of one type."""

    attribute: str
    type: str


@dataclass(frozen=True)
class Compiled:
    """Rules for an engine: `Engine(RuleSet(compiled.checked))`."""

    checked: CheckedRules
    columns: Mapping[str, tuple[Column, ...]] = field(hash=False)
    """For each type of composite that a partial rule makes, its columns of rows. All other composites are those
    of whole rules."""
    rules: Mapping[str, PartialRule] = field(hash=False)
    """The partial rule behind each of these types."""


def compile_rules(
    partial_rules: Iterable[PartialRule],
    types: Mapping[str, EventType],
    whole: CheckedRules | None = None,
) -> Compiled:
    """The partial rules, each once, and perhaps whole rules beside them, as one rule set.

    `types` are the event types by name. Those that partial rules look at have the attribute `ROW`.
    """
    known = dict(types)
    if whole is not None:
        known |= whole.types
    defined = set() if whole is None else {rule.defines.name for rule in whole.rules}
    checked = [] if whole is None else list(whole.rules)
    columns: dict[str, tuple[Column, ...]] = {}
    behind: dict[str, PartialRule] = {}
    for number, partial in enumerate(dict.fromkeys(partial_rules)):
        for name in sorted(partial.types & defined):
            raise ValueError(
                f"expected partial rules that look at events from outside, found one that looks at `{name}`, "
                "which a whole rule makes here; run them in two engines"
            )
        for name in partial.types:
            known[name] = with_row(known[name])
        made = f"#{number}"
        columns[made] = tuple(Column(f"r{index}", partial.parts[index].type) for index in partial.sent)
        behind[made] = partial
        rule = _rule(partial, made, len(checked), columns[made])
        known[made] = rule.defines
        checked.append(rule)
    known[TIMER.name] = TIMER
    return Compiled(
        CheckedRules(tuple(checked), MappingProxyType(known)),
        MappingProxyType(columns),
        MappingProxyType(behind),
    )


def with_row(type_: EventType) -> EventType:
    """The type with the attribute for rows."""
    if type_.attributes and type_.attributes[-1].name == ROW:
        return type_
    return replace(type_, attributes=(*type_.attributes, AttributeType(ROW, ValueType.INT)))


def _rule(partial: PartialRule, made: str, position: int, columns: tuple[Column, ...]) -> CheckedRule:
    names = partial.names
    return CheckedRule(
        name=made,
        position=position,
        defines=EventType(
            made, tuple(AttributeType(c.attribute, ValueType.INT) for c in columns), Origin.DEFINED
        ),
        events=tuple(
            PatternEvent(index, name, part.type, part.selection, part.anchor, part.window, part.conditions)
            for index, (name, part) in enumerate(zip(names, partial.parts, strict=True))
        ),
        negations=tuple(Negation(a.type, a.conditions, a.interval) for a in partial.absences),
        guards=(),
        parameters=(),
        assignments=tuple(
            (column.attribute, Attribute(index, ROW))
            for column, index in zip(columns, partial.sent, strict=True)
        ),
        consuming=(),
        deadline=None,
        syntax=syntax_of(partial.parts, partial.absences, names),
        source=_NOWHERE,
    )
