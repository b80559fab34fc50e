"""Splitting rules over places: what each of them has to send, so that little has to travel.

>>> from tyrex.plan import plan_rules
>>> from tyrex.tesla import check_text
>>> plan = plan_rules(check_text('''
... event Smoke() event Temp() event Wind()
... define Fire() from Smoke() and last Temp() within 5 min from Smoke and last Wind() within 5 min from Temp
... '''))
>>> here = Site("here", frozenset({"Smoke", "Temp"}))
>>> there = Site("there", frozenset({"Wind"}))
>>> for share in partition(plan.rules, [here, there]).shares:
...     for rule in share.rules:
...         print(f"-- {share.site}", rule, sep="\\n")
-- here
Smoke() and
last Temp() within 5 min from Smoke
send Smoke, Temp
-- there
Wind()
send Wind
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tyrex.plan.model import RulePlan
from tyrex.plan.partition.compile import ROW, Column, Compiled, compile_rules
from tyrex.plan.partition.exact import exact_rules
from tyrex.plan.partition.model import Absence, Mode, Part, PartialRule, Partition, Share, Site
from tyrex.plan.partition.paper import paper_rules
from tyrex.plan.partition.pattern import merged
from tyrex.plan.partition.pull import Equality, Opening, PullPlan, Slave, pull_plan
from tyrex.plan.partition.reading import parse_partial
from tyrex.plan.partition.subject import (
    Ownership,
    Subject,
    moved,
    ownerships,
    subjects_of,
)
from tyrex.tesla.syntax import Policy

__all__ = [
    "ROW",
    "Absence",
    "Column",
    "Compiled",
    "Equality",
    "Mode",
    "Opening",
    "Part",
    "PartialRule",
    "Partition",
    "PullPlan",
    "Share",
    "Site",
    "Slave",
    "compile_rules",
    "parse_partial",
    "partition",
    "pull_plan",
]


def partition(
    group: Sequence[RulePlan] | Sequence[PartialRule], sites: Sequence[Site], mode: Mode = Mode.EXACT
) -> Partition:
    """How rules that are evaluated together, or partial rules that one place got, are split over sites.

    Rules are a group of `RuleSetPlan.groups`: rules that feed each other are not split by themselves. `sites`
    are all places that events come from, so a type that no site has does not occur. Partial rules are split
    one by one. One that a single site has everything for goes there as it is, but all events of its matches are
    sent, since the place between evaluates it again.
    """
    subjects, made = subjects_of(group)
    in_order = any(subject.in_order for subject in subjects)
    owners = ownerships(sites, subjects, made)
    if made:
        needed = frozenset(name for subject in subjects for name in subject.types)
        alone = _alone(needed, sites)
        if alone is not None:
            return Partition(mode, alone, (), in_order)
    asked: dict[str, list[PartialRule]] = {site.name: [] for site in sites}
    for subject, item in zip(subjects, group, strict=True):
        if isinstance(item, PartialRule) and _can_be_repeated(item):
            alone = _alone(item.types, sites)
            if alone is not None:
                asked[alone].append(replace(item, sent=tuple(range(len(item.parts)))))
                continue
        for owner in owners:
            asked[owner.site] += _rules(subject, owner, mode)
    shares = (Share(site, merged(found)) for site, found in asked.items() if found)
    return Partition(mode, None, tuple(shares), in_order)


def _alone(needed: frozenset[str], sites: Sequence[Site]) -> str | None:
    """The only site that any of these types come from."""
    having = [site.name for site in sites if site.types & needed]
    return having[0] if len(having) == 1 else None


def _can_be_repeated(rule: PartialRule) -> bool:
    """Whether the events of a match match again where only they are: not if one is chosen by counting others."""
    counted: dict[object, list[int]] = {}
    for index, part in enumerate(rule.parts):
        if part.selection is not None and part.selection.policy is not Policy.EACH:
            conditions = tuple(moved(condition, {index: -2}) for condition in part.conditions)
            key = (part.type, part.anchor, part.window, part.selection.policy, conditions)
            counted.setdefault(key, []).append(part.selection.k)
    return all(set(found) == set(range(1, max(found) + 1)) for found in counted.values())


def _rules(subject: Subject, owner: Ownership, mode: Mode) -> Sequence[PartialRule]:
    if mode is Mode.PAPER:
        return paper_rules(subject, owner)
    return exact_rules(subject, owner)
