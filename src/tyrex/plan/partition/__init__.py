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

from tyrex.plan.model import RulePlan
from tyrex.plan.partition.compile import ROW, Column, Compiled, compile_rules
from tyrex.plan.partition.exact import exact_rules
from tyrex.plan.partition.model import Absence, Mode, Part, PartialRule, Partition, Share, Site
from tyrex.plan.partition.paper import paper_rules
from tyrex.plan.partition.pattern import merged
from tyrex.plan.partition.reading import parse_partial
from tyrex.plan.partition.subject import (
    Ownership,
    Subject,
    has_state,
    ownerships,
    subject_of_partial,
    subject_of_rule,
)

__all__ = [
    "ROW",
    "Absence",
    "Column",
    "Compiled",
    "Mode",
    "Part",
    "PartialRule",
    "Partition",
    "Share",
    "Site",
    "compile_rules",
    "parse_partial",
    "partition",
]


def partition(
    group: Sequence[RulePlan] | Sequence[PartialRule], sites: Sequence[Site], mode: Mode = Mode.EXACT
) -> Partition:
    """How rules that are evaluated together, or partial rules that one place got, are split over sites.

    Rules are a group of `RuleSetPlan.groups`: rules that feed each other are not split by themselves. `sites`
    are all places that events come from, so a type that no site has does not occur. Partial rules are split
    one by one; one that a single site has everything for goes there as it is.
    """
    rules = [item for item in group if isinstance(item, RulePlan)]
    partials = [item for item in group if isinstance(item, PartialRule)]
    in_order = bool(rules) and has_state([plan.rule for plan in rules])
    made = frozenset(plan.defines.name for plan in rules)
    subjects = [subject_of_rule(plan.rule, in_order) for plan in rules]
    subjects += [subject_of_partial(rule) for rule in partials]
    owners = ownerships(sites, subjects, made)
    if rules:
        needed = frozenset(name for subject in subjects for name in subject.types)
        alone = _alone(needed, sites)
        if alone is not None:
            return Partition(mode, alone, (), in_order)
    asked: dict[str, list[PartialRule]] = {site.name: [] for site in sites}
    for subject, whole in zip(subjects, [*(None for _ in rules), *partials], strict=True):
        alone = None if whole is None else _alone(whole.types, sites)
        if alone is not None and whole is not None:
            asked[alone].append(whole)
            continue
        for owner in owners:
            asked[owner.site] += _rules(subject, owner, mode)
    shares = (Share(site, merged(found)) for site, found in asked.items() if found)
    return Partition(mode, None, tuple(shares), in_order)


def _alone(needed: frozenset[str], sites: Sequence[Site]) -> str | None:
    """The only site that any of these types come from."""
    having = [site.name for site in sites if site.types & needed]
    return having[0] if len(having) == 1 else None


def _rules(subject: Subject, owner: Ownership, mode: Mode) -> Sequence[PartialRule]:
    if mode is Mode.PAPER:
        return paper_rules(subject, owner)
    return exact_rules(subject, owner)
