"""How a rule set can be split: which rules can run apart, and which events must meet in one place.

Rules that feed each other (`RuleSetPlan.groups`) stay together. A group has a key if for each of its rules a
covering join key can be chosen so that

- every type that the rules look at is divided by one attribute, the same in all of them, since an event then
  has exactly one place;
- every composite event that the group makes and looks at has in that attribute the value of the key it was
  made by, so it is needed only where it arises.

A rule whose matches have one event puts no demands: it works wherever that event is. Only what it makes must
carry a key on if rules that have one look at it.

Groups whose keys agree become one unit, so that many rules over the same types are split together. Groups
without a key stay apart from each other, each a unit by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tyrex.plan.model import CalendarTimer, Deadline, JoinKey, RulePlan, RuleSetPlan
from tyrex.tesla.expressions import Attribute
from tyrex.tesla.types import EventType, ValueType

_MOST_TRIES = 10_000
"""Beyond this many choices of keys for one group, none is looked for any more."""


@dataclass(frozen=True, slots=True)
class KeyAttribute:
    """The attribute that says where an event of a type belongs.

    `hash_as` is the type to turn its value into before it is hashed: float wherever ints and floats may be
    compared with each other, so that 1 and 1.0 go to one place (and 0.0 and -0.0, which must hash alike).
    Null is a value too: it has a place like any other.
    """

    name: str
    hash_as: ValueType


@dataclass(frozen=True, slots=True)
class Unit:
    """Rules that run together: in one place, or in many that divide the events by a key."""

    rules: tuple[int, ...]
    """Positions in the plan, ascending."""
    types: tuple[str, ...]
    """What the rules look at, in the order of names, their own composite events included; no `Timer`."""
    key: Mapping[str, KeyAttribute] | None = field(hash=False)
    """By what each type is divided; None if all events must be in one place.

    A type that is not in it is looked at by rules of one event only: its events can be anywhere, if those that
    are equal are together, so that their ids can tell them apart.
    """
    stateless: bool
    """Whether no rule looks at the past: then the key is empty, and any division will do."""
    calendar: bool
    """Whether a `Timer` evaluates some rule."""
    deadlines: bool
    """Whether some rule has a deadline."""
    obstacle: str
    """Why there is no key, as a sentence; empty if there is one."""

    @property
    def timers(self) -> bool:
        """Whether the unit does something when time passes."""
        return self.calendar or self.deadlines


@dataclass(frozen=True, slots=True)
class Sharding:
    """The units of a rule set, in the order of their first rules; every rule is in one of them."""

    units: tuple[Unit, ...]

    def unit_of(self, rule: int) -> Unit:
        """The unit of a rule, by its position."""
        return next(unit for unit in self.units if rule in unit.rules)


@dataclass(frozen=True, slots=True)
class GroupKey:
    """The attributes that divide the types of a group of rules; None, and why, if there are none."""

    attributes: Mapping[str, str] | None = field(hash=False)
    obstacle: str


def shard(plan: RuleSetPlan, types: Mapping[str, EventType]) -> Sharding:
    """How the rules of a set can be split; `types` are the event types that they know, by name."""
    support = _support(plan.rules)
    keyed: list[_Open] = []
    loose: list[int] = []
    apart: list[Unit] = []
    for group in plan.groups:
        rules = [plan.rules[number] for number in group]
        if all(rule.stateless for rule in rules):
            loose += group
            continue
        choices = _choices(rules, support)
        for unit in keyed:
            if not unit.may_take(choices):
                continue
            found = _solve(rules, choices, unit.key)
            if found.attributes is not None:
                unit.add(group, found.attributes)
                break
        else:
            found = _solve(rules, choices, {})
            if found.attributes is None:
                apart.append(_unit(plan.rules, group, None, found.obstacle))
            else:
                keyed.append(_Open(list(group), dict(found.attributes)))
    units = [
        _unit(
            plan.rules,
            unit.rules,
            hashed_alike([plan.rules[number] for number in unit.rules], unit.key, types),
            "",
        )
        for unit in keyed
    ]
    if loose:
        units.append(_unit(plan.rules, loose, {}, ""))
    return Sharding(tuple(sorted((*units, *apart), key=lambda unit: unit.rules[0])))


def find_key(rules: Sequence[RulePlan], fixed: Mapping[str, str] | None = None) -> GroupKey:
    """The attributes by which rules can be split together, given those that are fixed for some types.

    Rules that look at what others of them make are checked to agree; what else they share is the caller's.
    """
    return _solve(rules, _choices(rules, _support(rules)), fixed or {})


def rule_types(rule: RulePlan) -> tuple[str, ...]:
    """The types of events that a rule looks at, in any part; no `Timer`."""
    return tuple(rule.horizon)


# --- What a rule can be split by ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Choice:
    """One way to split a rule: an attribute for each type, and the attributes of the composite that keep it."""

    demands: Mapping[str, str]
    carries: frozenset[str]


@dataclass(slots=True)
class _Open:
    """A unit that more groups may join."""

    rules: list[int]
    key: dict[str, str]

    def may_take(self, choices: list[list[_Choice]]) -> bool:
        """Whether each rule has a way to split it that agrees with the key: quick to see, and mostly enough."""
        return all(
            not ways or any(all(self.key.get(n, a) == a for n, a in way.demands.items()) for way in ways)
            for ways in choices
        )

    def add(self, group: Iterable[int], key: Mapping[str, str]) -> None:
        self.rules += group
        self.key.update(key)


def _single_event(rule: RulePlan) -> int | None:
    """The position of the only event of each match, if a match has one; a deadline has its timer besides."""
    if rule.negations or rule.aggregates:
        return None
    if rule.stateless:
        return 0
    return 1 if len(rule.states) == 2 and isinstance(rule.trigger, Deadline) else None


def _demands(rule: RulePlan, key: JoinKey) -> dict[str, set[str]]:
    """For each type, the attributes that the parts of the rule divide it by."""
    found: dict[str, set[str]] = {}
    parts = [
        *(p.type for p in rule.states),
        *(p.type for p in rule.negations),
        *(p.type for p in rule.aggregates),
    ]
    for name, holder in zip(parts, (*key.events, *key.negations, *key.aggregates), strict=True):
        if holder is not None:
            found.setdefault(name, set()).add(holder)
    return found


def _rule_choices(rule: RulePlan) -> list[_Choice]:
    found = []
    for key in rule.keys:
        demands = _demands(rule, key) if key.covers else {}
        if demands and all(len(attributes) == 1 for attributes in demands.values()):
            found.append(
                _Choice({name: next(iter(a)) for name, a in demands.items()}, frozenset(key.outputs))
            )
    return found


def _support(rules: Iterable[RulePlan]) -> Counter[tuple[str, str]]:
    """How many rules can divide a type by an attribute: what most can use is tried first."""
    return Counter(
        pair
        for rule in rules
        if _single_event(rule) is None
        for pair in {pair for choice in _rule_choices(rule) for pair in choice.demands.items()}
    )


def _choices(rules: Sequence[RulePlan], support: Counter[tuple[str, str]]) -> list[list[_Choice]]:
    """For each rule the ways to split it; none for a rule whose matches have one event, which needs none."""
    return [
        sorted(_rule_choices(rule), key=lambda choice: -min(support[pair] for pair in choice.demands.items()))
        if _single_event(rule) is None
        else []
        for rule in rules
    ]


# --- A key for a group --------------------------------------------------------------------------------------


def _solve(rules: Sequence[RulePlan], choices: list[list[_Choice]], fixed: Mapping[str, str]) -> GroupKey:
    """Choose for every rule, so that all agree: the first rule first, then those that share types with it."""
    order = _connected(rules)
    for number in order:
        if not choices[number]:
            return GroupKey(None, _without_key(rules[number]))
    search = _Search(rules, dict(fixed), {}, _makers(rules))
    cursors, added = [0] * len(order), []
    at = deepest = 0
    obstacle = ""
    for _ in range(_MOST_TRIES + len(order)):
        if at == len(order):
            complete, problem = search.carried()
            if not problem:
                return GroupKey({name: complete[name] for name in sorted(complete)}, "")
        elif cursors[at] < len(choices[order[at]]):
            choice = choices[order[at]][cursors[at]]
            cursors[at] += 1
            problem = search.disagreement(order[at], choice)
            if not problem:
                added.append([name for name in choice.demands if name not in search.key])
                search.key.update(choice.demands)
                search.chosen[order[at]] = choice
                at += 1
                continue
        else:
            cursors[at], problem = 0, ""
        if problem and (at > deepest or not obstacle):
            obstacle, deepest = problem, at
        if problem and at < len(order):
            continue
        if at == 0:
            break
        at -= 1
        del search.chosen[order[at]]
        for name in added.pop():
            del search.key[name]
    return GroupKey(None, obstacle or "too many combinations of keys would have to be tried")


def _makers(rules: Sequence[RulePlan]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, rule in enumerate(rules):
        found.setdefault(rule.defines.name, []).append(number)
    return found


def _connected(rules: Sequence[RulePlan]) -> list[int]:
    """The rules that need a key, each after one with which it shares a type, if there is one."""
    waiting = {number: None for number, rule in enumerate(rules) if _single_event(rule) is None}
    by_type: dict[str, list[int]] = {}
    for number in waiting:
        for name in (*rules[number].horizon, rules[number].defines.name):
            by_type.setdefault(name, []).append(number)
    order: list[int] = []
    seen: set[str] = set()
    while waiting:
        order.append(next(iter(waiting)))
        del waiting[order[-1]]
        at = len(order) - 1
        while at < len(order):
            rule = rules[order[at]]
            for name in (*rule.horizon, rule.defines.name):
                if name not in seen:
                    seen.add(name)
                    for number in by_type[name]:
                        if number in waiting:
                            del waiting[number]
                            order.append(number)
            at += 1
    return order


@dataclass(slots=True)
class _Search:
    """The choices made so far, and the key that they add up to."""

    rules: Sequence[RulePlan]
    key: dict[str, str]
    chosen: dict[int, _Choice]
    makers: Mapping[str, list[int]]

    def disagreement(self, number: int, choice: _Choice) -> str:
        """What stands between a choice for a rule and the others, as a sentence; empty if nothing does."""
        rule, key = self.rules[number], self.key
        for name, attribute in choice.demands.items():
            if key.get(name, attribute) != attribute:
                return (
                    f"rule `{rule.name}` joins `{name}` on `{attribute}`, "
                    f"but other rules join it on `{key[name]}`"
                )
        made = rule.defines.name
        needed = key.get(made, choice.demands.get(made))
        if needed is not None and needed not in choice.carries:
            return _does_not_carry(rule, needed)
        for name, attribute in choice.demands.items():
            for maker in self.makers.get(name, ()) if name not in key else ():
                if maker in self.chosen and attribute not in self.chosen[maker].carries:
                    return _does_not_carry(self.rules[maker], attribute)
        return ""

    def carried(self) -> tuple[dict[str, str], str]:
        """The key, with what it demands of rules of one event that feed others; or what is in the way."""
        complete = dict(self.key)
        made_types = list(complete)
        for made in made_types:  # grows as it is gone through
            for number in self.makers.get(made, ()):
                rule, needed = self.rules[number], complete[made]
                if number in self.chosen:
                    if needed not in self.chosen[number].carries:
                        return complete, _does_not_carry(rule, needed)
                    continue
                value = next((o.expression for o in rule.outputs if o.attribute == needed), None)
                if not isinstance(value, Attribute) or value.event != _single_event(rule):
                    return complete, _does_not_carry(rule, needed)
                source = rule.states[value.event].type
                if source not in complete:
                    complete[source] = value.name
                    made_types.append(source)
                if complete[source] != value.name:
                    return complete, _does_not_carry(rule, needed)
        return complete, ""


def _without_key(rule: RulePlan) -> str:
    """Why no key covers a rule, or none with one attribute for each type."""
    if isinstance(rule.trigger, CalendarTimer):
        return f"rule `{rule.name}` is evaluated by a `Timer`, which has no attributes"
    for key in rule.keys:
        if key.covers:
            name, attributes = next(item for item in _demands(rule, key).items() if len(item[1]) > 1)
            both = " and on ".join(f"`{attribute}`" for attribute in sorted(attributes))
            return f"rule `{rule.name}` joins `{name}` on {both}, so an event would have two places"
    if rule.keys:
        return f"in rule `{rule.name}` {rule.keys[0].reason}"
    return f"rule `{rule.name}` does not join its events by `=`"


def _does_not_carry(rule: RulePlan, attribute: str) -> str:
    return (
        f"`{rule.defines.name}` is joined on `{attribute}`, which rule `{rule.name}` does not set to "
        "the value that its own events are joined on"
    )


# --- Units --------------------------------------------------------------------------------------------------


def _unit(
    rules: Sequence[RulePlan],
    numbers: Iterable[int],
    key: Mapping[str, KeyAttribute] | None,
    obstacle: str,
) -> Unit:
    positions = tuple(sorted(numbers))
    own = [rules[number] for number in positions]
    return Unit(
        rules=positions,
        types=tuple(sorted({name for rule in own for name in rule_types(rule)})),
        key=key,
        stateless=all(rule.stateless for rule in own),
        calendar=any(isinstance(rule.trigger, CalendarTimer) for rule in own),
        deadlines=any(isinstance(rule.trigger, Deadline) for rule in own),
        obstacle=obstacle,
    )


def hashed_alike(
    rules: Sequence[RulePlan], key: Mapping[str, str], types: Mapping[str, EventType]
) -> dict[str, KeyAttribute]:
    """The attributes of a key with the type to hash each as, the same wherever their values can meet."""
    parents = {name: name for name in key}

    def find(name: str) -> str:
        while parents[name] != name:
            parents[name] = name = parents[parents[name]]
        return name

    for rule in rules:
        met = [name for name in (*rule_types(rule), rule.defines.name) if name in key]
        for name in met:
            parents[find(name)] = find(met[0])
    kinds = {name: types[name].by_name[attribute] for name, attribute in key.items()}
    floats = {find(name) for name, kind in kinds.items() if kind is ValueType.FLOAT}
    return {
        name: KeyAttribute(key[name], ValueType.FLOAT if find(name) in floats else kinds[name])
        for name in sorted(key)
    }
