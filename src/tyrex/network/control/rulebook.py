"""The rules of the network: who defined which, what they are together, and what a root needs of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from types import MappingProxyType

from tyrex.network.messages import BEGINNING, Group, Rules
from tyrex.plan import RulePlan, RuleSetPlan
from tyrex.rules import RuleSet, parse
from tyrex.tesla import CheckedRules, EventType, TeslaError
from tyrex.tesla.types import AttributeType, Origin

TypeKey = tuple[tuple[str, tuple[AttributeType, ...]], ...]


@dataclass(frozen=True)
class Agreed:
    """All rules of the network that fit together, each with the moment behind which it sees events."""

    rules: RuleSet
    since: Mapping[str, int]
    """For each rule, by name."""
    refused: tuple[tuple[str, str], ...]
    """Definitions that don't fit those before them: who defined what, and what is wrong."""

    @cached_property
    def plan(self) -> RuleSetPlan:
        """The plan of the rules."""
        return self.rules.plan

    @cached_property
    def defines(self) -> frozenset[str]:
        """The types that rules make."""
        return frozenset(self.plan.types_defined)

    def wanted(self, types: Iterable[str]) -> frozenset[str]:
        """The names of the rules that make events of these types, and of those that they build on."""
        found: set[str] = set()
        open_types = set(types)
        seen: set[str] = set()
        while open_types:
            name = open_types.pop()
            seen.add(name)
            for rule in self.plan.rules:
                if rule.defines.name == name and rule.name not in found:
                    found.add(rule.name)
                    open_types |= rule.horizon.keys() - seen
        return frozenset(found)

    def groups(self, names: frozenset[str] | None) -> tuple[Group, ...]:
        """The rules of these names, or all, in groups that don't feed each other."""
        if names is None:
            chosen, plan = self.rules, self.plan
        else:
            chosen = _chosen(self, names)
            plan = chosen.plan
        rules = chosen.rules
        return tuple(
            Group(
                tuple(rules[position].canonical_text for position in group),
                tuple(self.since[rules[position].name] for position in group),
            )
            for group in plan.groups
        )


def _chosen(agreed: Agreed, names: frozenset[str]) -> RuleSet:
    kept = (rule for rule in agreed.rules.checked.rules if rule.name in names)
    numbered = tuple(replace(rule, position=position) for position, rule in enumerate(kept))
    return RuleSet(CheckedRules(numbered, agreed.rules.types))


class Rulebook:
    """The newest version of every set of rules, from wherever it was defined."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Rules] = {}

    @property
    def entries(self) -> tuple[Rules, ...]:
        """All of them, also those that were taken away: a neighbour has to learn that, too."""
        return tuple(self._known[key] for key in sorted(self._known))

    def version(self, origin: str, name: str) -> int:
        """The newest version of a set; -1 if there is none."""
        known = self._known.get((origin, name))
        return -1 if known is None else known.version

    def text(self, origin: str, name: str) -> str:
        """The text of a set; empty if there is none."""
        known = self._known.get((origin, name))
        return "" if known is None else known.text

    def learn(self, rules: Rules) -> bool:
        """Take a set of rules; whether it was new."""
        if rules.version <= self.version(rules.origin, rules.name):
            return False
        self._known[rules.origin, rules.name] = rules
        return True

    def agreed(self, types: Mapping[str, EventType], extra: Rules | None = None) -> Agreed:
        """The rules as they are together, given the types that sources advertise; perhaps with one set more."""
        entries = dict(self._known)
        if extra is not None:
            entries[extra.origin, extra.name] = extra
        written = [entry for entry in entries.values() if entry.text]
        written.sort(key=lambda entry: (entry.since, entry.origin, entry.name))
        return _agree(tuple(written), key_of(types))


def key_of(types: Mapping[str, EventType]) -> TypeKey:
    """Types as something to remember results by."""
    return tuple((name, types[name].attributes) for name in sorted(types))


@lru_cache(maxsize=512)
def _agree(written: tuple[Rules, ...], types: TypeKey) -> Agreed:
    """One set after the other: processors of one process share the work, as it depends on nothing else."""
    together = known_types(types)
    since: dict[str, int] = {}
    refused: list[tuple[str, str]] = []
    for entry in written:
        try:
            added = parse(entry.text, f"{entry.origin}/{entry.name}", known=together)
        except TeslaError as error:
            refused.append((f"{entry.origin}/{entry.name}", str(error)))
            continue
        first = len(together)
        numbered = (replace(rule, position=first + n) for n, rule in enumerate(added.checked.rules))
        together = RuleSet(CheckedRules((*together.checked.rules, *numbered), added.types))
        since |= dict.fromkeys((rule.name for rule in added), entry.since)
    return Agreed(together, MappingProxyType(since), tuple(refused))


def known_types(types: TypeKey) -> RuleSet:
    """No rules, but the types that they may speak of."""
    known = {name: EventType(name, attributes, Origin.DECLARED) for name, attributes in types}
    return RuleSet(CheckedRules((), MappingProxyType(known)))


@lru_cache(maxsize=1024)
def read_group(rules: tuple[str, ...], types: TypeKey) -> RuleSet:
    """A group of rules from its texts."""
    return parse("\n".join(rules), "<group>", known=known_types(types))


def reach(group: RuleSet, replay: int) -> int:
    """How far before its first terminator a group must see events to be as if it had seen all.

    A rule on what other rules make needs their windows, too. State that is more than a window depends on all
    of the past, in principle: then it is `replay` windows.
    """
    plan = group.plan
    total = sum(max((_longest(plan.rules[rule]) for rule in level), default=0) for level in plan.strata)
    return total * replay if remembers(group) else total


def remembers(group: RuleSet) -> bool:
    """Whether a group has state that is more than a window."""
    return bool(group.plan.recursive_groups) or any(rule.rule.consuming for rule in group.plan.rules)


def _longest(rule: RulePlan) -> int:
    return max(rule.horizon.values(), default=0)


def needs(group: RuleSet) -> frozenset[str]:
    """The types that a group looks at."""
    return frozenset(group.plan.types_needed)


def shifted(group: Group, start: int, distance: int) -> Group:
    """The group, without moments so early that they no longer matter: nothing from before them is fed again."""
    return Group(group.rules, tuple(BEGINNING if s <= start - distance else s for s in group.since))
