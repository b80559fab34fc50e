"""From a task to engines: which partial rules and groups share one, and how long events are kept for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tyrex.network.data.hosts import Hosting, Stage
from tyrex.network.data.interface import Task
from tyrex.network.messages import Group, Part
from tyrex.plan.partition import ROW, Column, PartialRule, compile_rules, parse_partial
from tyrex.plan.partition.subject import has_state
from tyrex.rules import RuleSet, parse
from tyrex.tesla.checked import CheckedRules
from tyrex.tesla.types import EventType


@dataclass(frozen=True, slots=True)
class RowsHosting:
    """Partial rules that share an engine, and where to find the rows of what is to be sent."""

    hosting: Hosting
    columns: Mapping[str, tuple[Column, ...]]
    """For each type of composite."""
    parts: Mapping[str, tuple[int, ...]]
    """For each type of composite the parts that the partial rule is in."""


@dataclass(frozen=True, slots=True)
class Deployed:
    """All that a tree hosts at one processor."""

    rows: tuple[RowsHosting, ...]
    groups: tuple[Hosting, ...]
    keep: Mapping[str, int]
    """For each type that some host looks at, how long its events are kept in the log."""


def deployed(task: Task) -> Deployed:
    """What a task means for engines."""
    types = dict(task.types)
    known = {part.number: partials_of(part, types) for part in task.parts}
    late = _late_types(task)
    keep: dict[str, int] = defaultdict(int)
    rows = []
    for rules in _shared(task, known, late):
        rows.append(_rows(rules, types))
        hosting = rows[-1].hosting
        for type_, reach in hosting.horizon.items():
            keep[type_] = max(keep[type_], reach if late & hosting.horizon.keys() else 0)
    for part in task.parts:
        for rule in known[part.number]:
            for index in rule.sent:
                type_ = rule.parts[index].type
                keep[type_] = max(keep[type_], rule.ages[index])
    groups = []
    for hosting in _groups(task.groups, types, late):
        groups.append(hosting)
        replays = not hosting.in_order and late & hosting.horizon.keys()
        for type_, reach in hosting.horizon.items():
            keep[type_] = max(keep[type_], reach if replays else 0)
    return Deployed(tuple(rows), tuple(groups), dict(keep))


def _late_types(task: Task) -> frozenset[str]:
    """The types of which children may send events when time has passed them."""
    late: set[str] = set()
    for parts in task.given.values():
        for part in parts:
            for rule in partials_of(part, task.types):
                late |= {rule.parts[index].type for index in rule.sent if index or task.adaptive}
    return frozenset(late)


def _shared(
    task: Task, known: Mapping[int, tuple[PartialRule, ...]], late: frozenset[str]
) -> Iterable[Mapping[tuple[int, PartialRule], tuple[int, ...]]]:
    """Partial rules that share an engine: those whose events come in time do, each other one is alone.

    So what comes late makes few engines anew.
    """
    parts: dict[tuple[int, PartialRule], list[int]] = defaultdict(list)
    for part in task.parts:
        for rule in known[part.number]:
            parts[part.since, rule].append(part.number)
    together: dict[int, dict[tuple[int, PartialRule], tuple[int, ...]]] = defaultdict(dict)
    for (since, rule), numbers in parts.items():
        if rule.types & late:
            yield {(since, rule): tuple(numbers)}
        else:
            together[since][since, rule] = tuple(numbers)
    yield from together.values()


def _rows(
    rules: Mapping[tuple[int, PartialRule], tuple[int, ...]], types: Mapping[str, EventType]
) -> RowsHosting:
    ((since, _), *_) = rules
    compiled = compile_rules([rule for _, rule in rules], types)
    rule_set = RuleSet(compiled.checked)
    terminators = frozenset(rule.parts[0].type for _, rule in rules)
    hosting = Hosting(
        (Stage(since, rule_set),), rule_set.plan.horizon, terminators, in_order=False, timed=False, row=ROW
    )
    parts = {made: rules[since, rule] for made, rule in compiled.rules.items()}
    return RowsHosting(hosting, compiled.columns, parts)


def _groups(
    groups: Iterable[Group], types: Mapping[str, EventType], late: frozenset[str]
) -> Iterable[Hosting]:
    together: dict[int, list[tuple[str, RuleSet]]] = defaultdict(list)
    for group in groups:
        texts: dict[int, list[str]] = defaultdict(list)
        for since, text in zip(group.since, group.rules, strict=True):
            texts[since].append(text)
        stages = []
        rules = group_of(group, types)
        for since, some in sorted(texts.items()):
            stages.append(Stage(since, _parsed("\n".join(some), tuple(sorted(types.items())))))
        plan = rules.plan
        hosting = Hosting(
            tuple(stages),
            plan.horizon,
            frozenset(rule.terminator.type for rule in plan.rules),
            in_order=has_state(rules.checked.rules),
            timed=any(rule.trigger is not None for rule in plan.rules),
        )
        if len(stages) == 1 and not late & hosting.horizon.keys() and not hosting.timed:
            together[stages[0].since].append(("\n".join(group.rules), rules))
        else:
            yield hosting
    for since, every in together.items():
        rules = _parsed("\n".join(text for text, _ in every), tuple(sorted(types.items())))
        plan = rules.plan
        yield Hosting(
            (Stage(since, rules),),
            plan.horizon,
            frozenset(rule.terminator.type for rule in plan.rules),
            in_order=True,
            timed=False,
        )


def group_of(group: Group, types: Mapping[str, EventType]) -> RuleSet:
    """The rules of a group."""
    return _parsed("\n".join(group.rules), tuple(sorted(types.items())))


def partials_of(part: Part, types: Mapping[str, EventType]) -> tuple[PartialRule, ...]:
    """The partial rules of a part."""
    known = tuple(sorted(types.items()))
    return tuple(_partial(text, known) for text in part.partial_rules)


@lru_cache(maxsize=4096)
def _partial(text: str, types: tuple[tuple[str, EventType], ...]) -> PartialRule:
    return parse_partial(text, dict(types))


@lru_cache(maxsize=1024)
def _parsed(text: str, types: tuple[tuple[str, EventType], ...]) -> RuleSet:
    """Rules of a text; a processor meets the same ones in tree after tree."""
    return parse(text, known=RuleSet(CheckedRules((), dict(types))))
