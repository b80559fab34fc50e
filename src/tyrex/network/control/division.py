"""How a processor divides what it has to detect: what stays here, and what each child is sent. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import tyrex.plan.partition as p
from tyrex.network.control.rulebook import TypeKey, key_of, needs, read_group
from tyrex.network.control.settings import Mode, Strategy
from tyrex.network.data.interface import Split, Task
from tyrex.network.messages import Deploy, Group, Part, PartMode, Tree, TypeDeclared
from tyrex.tesla.types import AttributeType, EventType


@dataclass(frozen=True, slots=True)
class Job:
    """What a processor was asked for in an epoch of a tree: by its parent, or by itself at the root."""

    tree: Tree
    start: int
    horizon: int
    types: Mapping[str, EventType]
    groups: tuple[Group, ...]
    parts: tuple[Part, ...]
    everything: frozenset[str]


@dataclass(frozen=True, slots=True)
class Division:
    """What a processor does itself, and what it asks its children for."""

    task: Task
    deploys: Mapping[str, Deploy]


@dataclass
class _Asked:
    """What a child will be sent."""

    groups: list[Group] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    everything: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    """Those that the texts speak of."""


def declared_of(type_: EventType) -> TypeDeclared:
    """A type as it travels."""
    return TypeDeclared(type_.name, tuple((a.name, a.type) for a in type_.attributes))


def type_of(declared: TypeDeclared) -> EventType:
    """A type as it is used."""
    return EventType(declared.name, tuple(AttributeType(name, type_) for name, type_ in declared.attributes))


def job_of(deploy: Deploy) -> Job:
    """What a parent asks for."""
    return Job(
        deploy.tree,
        deploy.start,
        deploy.horizon,
        {declared.name: type_of(declared) for declared in deploy.types},
        deploy.groups,
        deploy.parts,
        frozenset(deploy.everything),
    )


def divide(
    job: Job,
    name: str,
    parent: str | None,
    own: frozenset[str],
    table: Mapping[str, frozenset[str]],
    strategy: Strategy,
    mode: Mode,
) -> Division:
    """Divide a job by the advertisement table: `own` are the types of the processor's own sources."""
    key = key_of(job.types)
    sites = (p.Site(name, own), *(p.Site(child, types) for child, types in table.items()))
    asked: dict[str, _Asked] = {child: _Asked() for child in table}
    here: list[Group] = []
    splits: list[Split] = []
    for group in job.groups:
        if not strategy.split or len(set(group.since)) > 1:
            here.append(group)
            _ask_for_all(needs(read_group(group.rules, key)), table, asked)
            continue
        result = split_group(group.rules, key, sites, mode)
        if result.delegated is not None and result.delegated != name:
            asked[result.delegated].groups.append(group)
            asked[result.delegated].types |= needs(read_group(group.rules, key))
            continue
        here.append(group)
        given = _hand_out(result, name, asked, group.since[0])
        splits.append(Split(group, None, given, sites, p.Mode(mode.value)))
    for part in job.parts:
        result = split_parts(part.partial_rules, key, sites, mode)
        given = _hand_out(result, name, asked, part.since)
        splits.append(Split(None, part.number, given, sites, p.Mode(mode.value)))
    _ask_for_all(job.everything, table, asked)
    deploys = {
        child: _deploy(job, table[child], found) for child, found in asked.items() if _something(found)
    }
    task = Task(
        tree=job.tree,
        name=name,
        parent=parent,
        children=tuple(deploys),
        start=job.start,
        horizon=job.horizon,
        types=_with_composites(job.types, here, key),
        groups=tuple(here),
        parts=job.parts,
        everything=job.everything,
        given={child: deploy.parts for child, deploy in deploys.items()},
        splits=tuple(splits),
        adaptive=strategy.adaptive,
    )
    return Division(task, deploys)


def _with_composites(
    types: Mapping[str, EventType], groups: list[Group], key: TypeKey
) -> dict[str, EventType]:
    every = dict(types)
    for group in groups:
        every |= {rule.defines.name: rule.defines for rule in read_group(group.rules, key)}
    return every


def _ask_for_all(
    types: frozenset[str], table: Mapping[str, frozenset[str]], asked: Mapping[str, _Asked]
) -> None:
    for child, having in table.items():
        asked[child].everything |= having & types


def _hand_out(
    result: p.Partition, name: str, asked: Mapping[str, _Asked], since: int
) -> dict[str, tuple[int, ...]]:
    """Give the shares of a partition to the children; the numbers of the new parts."""
    numbers: dict[str, tuple[int, ...]] = {}
    for share in result.shares:
        if share.site != name:
            parts = asked[share.site].parts
            asked[share.site].types.update(*(rule.types for rule in share.rules))
            number = len(parts) + 1
            keep = max((max(rule.ages, default=0) for rule in share.rules), default=0)
            parts.append(Part(number, PartMode.PUSH, tuple(rule.text for rule in share.rules), keep, since))
            numbers[share.site] = (number,)
    return numbers


def _something(asked: _Asked) -> bool:
    return bool(asked.groups or asked.parts or asked.everything)


def _deploy(job: Job, having: frozenset[str], asked: _Asked) -> Deploy:
    told = {name for name in having | asked.types if name in job.types}
    return Deploy(
        tree=job.tree,
        start=job.start,
        horizon=job.horizon,
        types=tuple(declared_of(job.types[name]) for name in sorted(told)),
        groups=tuple(asked.groups),
        parts=tuple(asked.parts),
        everything=tuple(sorted(asked.everything)),
    )


@lru_cache(maxsize=4096)
def split_group(rules: tuple[str, ...], types: TypeKey, sites: tuple[p.Site, ...], mode: Mode) -> p.Partition:
    """How a group of rules is split over sites. Processors of one process share what was found out."""
    return p.partition(read_group(rules, types).plan.rules, sites, p.Mode(mode.value))


@lru_cache(maxsize=4096)
def split_parts(
    partial_rules: tuple[str, ...], types: TypeKey, sites: tuple[p.Site, ...], mode: Mode
) -> p.Partition:
    """How partial rules are split over sites."""
    return p.partition(read_partial(partial_rules, types), sites, p.Mode(mode.value))


@lru_cache(maxsize=4096)
def read_partial(texts: tuple[str, ...], types: TypeKey) -> tuple[p.PartialRule, ...]:
    """Partial rules from their texts."""
    known = {name: EventType(name, attributes) for name, attributes in types}
    return tuple(p.parse_partial(text, known) for text in texts)
