"""A processor as the root of its own tree: when an epoch begins, and what is deployed in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tyrex.network.control.division import Job, type_of
from tyrex.network.control.filters import read_filter, type_wanted
from tyrex.network.control.outbox import Outbox
from tyrex.network.control.rulebook import Agreed, key_of, reach, read_group, remembers, shifted
from tyrex.network.control.settings import Settings, Trees
from tyrex.network.control.sinks import Sinks
from tyrex.network.control.tree import combined
from tyrex.network.messages import BEGINNING, Advertise, Group, Part, PartMode, Tree, TypeDeclared
from tyrex.network.outputs import Kind
from tyrex.plan.partition import Part as Pattern
from tyrex.plan.partition import PartialRule
from tyrex.tesla import EventType, TeslaError
from tyrex.tesla.types import Origin


@dataclass
class Due:
    """When the next epoch begins: when changes have settled, but not put off for ever."""

    settle: int
    first: int | None = None
    last: int | None = None

    def mark(self, now: int) -> None:
        """Something has changed."""
        self.first = now if self.first is None else self.first
        self.last = now

    @property
    def marked(self) -> bool:
        """Whether one is to begin."""
        return self.first is not None

    def clear(self) -> None:
        """The epoch has begun."""
        self.first = self.last = None

    def is_due(self, now: int) -> bool:
        """Whether it begins now."""
        if self.first is None or self.last is None:
            return False
        return now >= min(self.last + self.settle, self.first + 10 * self.settle)


def agreed_types(
    own: Mapping[str, EventType], tables: Iterable[tuple[str, tuple[TypeDeclared, ...]]], outbox: Outbox
) -> dict[str, EventType]:
    """The types that come from anywhere; of two that disagree the first counts, and the other is refused."""
    mine = tuple(
        TypeDeclared(name, tuple((a.name, a.type) for a in own[name].attributes)) for name in sorted(own)
    )
    types, others = combined((mine, *(table for _, table in tables)))
    for other in others:
        outbox.note_once(
            Kind.REFUSED,
            f"expected one meaning of the event type `{other.name}`, found two; advertise it with the same "
            "attributes everywhere",
        )
    return {type_.name: type_of(type_) for type_ in types}


def start_of(table: Iterable[Advertise], sinks: Sinks, reached: int) -> int:
    """The moment behind which an epoch detects: what all sinks have got, or since when they want something.

    Without sinks it is the present.
    """
    messages = tuple(table)
    told = [sinks.delivered, sinks.awaited]
    told += [time for message in messages for time in (message.delivered, message.awaited)]
    known = [time for time in told if time is not None]
    if known:
        return min(known)
    return max((m.reached for m in messages if m.reached is not None), default=reached)


def job_of_root(
    tree: Tree,
    start: int,
    types: Mapping[str, EventType],
    agreed: Agreed,
    filters: Iterable[str],
    settings: Settings,
    outbox: Outbox,
    *,
    again: bool,
) -> Job:
    """What a root has to detect: the rules that are wanted, and the primitive events that sinks want.

    `again` says whether sinks have got something in an earlier epoch, so that state may be lost.
    """
    wanted = tuple(filters)
    for who, problem in agreed.refused:
        outbox.note_once(Kind.REFUSED, f"the rules {who} do not fit the others: {problem}")
    every = dict(types)
    for name, type_ in agreed.rules.types.items():
        if type_.origin in (Origin.DECLARED, Origin.INFERRED) and name not in agreed.defines:
            every.setdefault(name, type_)
    key = key_of(every)
    groups: list[Group] = []
    horizon = 0
    for group in groups_wanted(agreed, wanted, settings):
        rules = read_group(group.rules, key)
        distance = reach(rules, settings.replay)
        horizon = max(horizon, distance)
        if again and remembers(rules) and min(group.since) <= start - distance:
            names = ", ".join(rule.name for rule in rules)
            text = f"of the state of {names}, what is older than {settings.replay} windows counts no longer"
            outbox.note(Kind.LOST, text)
        groups.append(shifted(group, start, distance))
    patterns: dict[PartialRule, None] = {}
    for text in wanted:
        name = type_wanted(text)
        if name in types:
            try:
                conditions = read_filter(text, types[name]).conditions
            except TeslaError as error:
                outbox.note_once(Kind.REFUSED, f"the subscription {text} does not fit its events: {error}")
                continue
            patterns[PartialRule((Pattern(name, conditions=conditions),), (), (0,))] = None
    parts = (Part(1, PartMode.PUSH, tuple(p.text for p in patterns), 0),) if patterns else ()
    return Job(tree, max(start, BEGINNING), horizon, every, tuple(groups), parts, frozenset())


def groups_wanted(agreed: Agreed, filters: Iterable[str], settings: Settings) -> tuple[Group, ...]:
    """The groups of rules that a root deploys: all of them in a single tree, or those that its sinks want."""
    if settings.strategy.trees is Trees.SINGLE:
        return agreed.groups(None)
    return agreed.groups(agreed.wanted(map(type_wanted, filters)))
