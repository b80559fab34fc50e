"""Changes of the rules of a running stream: what a file asks for, whether it fits, and what engines are to do.

All of it is pure: every shard decides by itself, from the same rules and the same files, and so all decide alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

from tyrex.plan import RulePlan
from tyrex.plan.sharding import find_key, hashed_alike
from tyrex.rules import RuleSet, parse
from tyrex.spark.planner import Split
from tyrex.spark.worker import Rules, read_rules
from tyrex.tesla import TeslaError
from tyrex.tesla.diagnostics import did_you_mean, listing
from tyrex.tesla.types import TIMER, AttributeType, EventType, Origin, ValueType

_DIRECTIVE = re.compile(r"^\s*--!(.*)$", re.MULTILINE)
_ACTIONS = ("remove", "replace", "pause", "resume")


@dataclass(frozen=True, order=True)
class Change:
    """A file of changes, as it came."""

    modified: int
    """When it was written, in microseconds."""
    file: str
    text: str

    @classmethod
    def read(cls, record: str) -> Change:
        """A change as it travelled."""
        return cls(**json.loads(record))


@dataclass(frozen=True)
class Room:
    """A part of the work as it is divided since the query began: which rules have room in it."""

    split: Split
    types: frozenset[str]
    """What its shards are sent."""
    key: Mapping[str, tuple[str, ValueType]] = field(hash=False)
    """For types that are divided by an attribute, that attribute and the type that its values are hashed as."""


@dataclass(frozen=True)
class Ground:
    """What can't change while a query runs."""

    rules: Rules
    """The initial rules, in order of deployment."""
    parts: tuple[int, ...]
    """The part that each of them belongs to."""
    brought: frozenset[str]
    """The types that sources bring."""
    rooms: tuple[Room, ...]


@dataclass(frozen=True)
class Deployed:
    """A rule that runs."""

    name: str
    text: str
    part: int
    paused: bool = False


@dataclass(frozen=True)
class Catalogue:
    """All rules that run, in the order of their deployment, and the types that they know."""

    types: tuple[EventType, ...]
    rules: tuple[Deployed, ...]

    @classmethod
    def first(cls, ground: Ground) -> Catalogue:
        """The rules that a query begins with."""
        rules = read_rules(ground.rules)
        deployed = zip(rules, ground.rules.texts, ground.parts, strict=True)
        return cls(ground.rules.types, tuple(Deployed(r.name, text, part) for r, text, part in deployed))

    @property
    def rule_set(self) -> RuleSet:
        """The rules, checked and planned."""
        return read_rules(Rules(self.types, tuple(rule.text for rule in self.rules)))

    def record(self) -> str:
        """All of it as JSON."""
        return json.dumps({"types": write_types(self.types), "rules": [asdict(rule) for rule in self.rules]})

    @classmethod
    def read(cls, record: str) -> Catalogue:
        """What `record` wrote."""
        held = json.loads(record)
        return cls(read_types(held["types"]), tuple(Deployed(**rule) for rule in held["rules"]))


def write_types(types: Iterable[EventType]) -> list[Any]:
    """Event types as JSON has them."""
    return [
        [type_.name, type_.origin.value, [[a.name, a.type.value] for a in type_.attributes]]
        for type_ in types
    ]


def read_types(records: Iterable[Any]) -> tuple[EventType, ...]:
    """What `write_types` wrote."""
    return tuple(
        EventType(name, tuple(AttributeType(a, ValueType(kind)) for a, kind in attributes), Origin(origin))
        for name, origin, attributes in records
    )


@dataclass(frozen=True)
class Step:
    """One thing that the engines of a part do."""

    part: int
    action: str
    """`deploy`, `undeploy`, `pause` or `resume`."""
    what: str
    """The name of a rule; of `deploy` a text."""


@dataclass(frozen=True)
class Outcome:
    """What became of a change."""

    file: str
    accepted: bool
    problem: str | None = None
    """Why it was rejected: then nothing of it was done."""
    added: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    paused: tuple[str, ...] = ()
    resumed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Applied:
    """The rules after a change, what became of it, and what is to be done."""

    catalogue: Catalogue
    outcome: Outcome
    steps: tuple[Step, ...] = ()


class _Refused(ValueError):
    """A change is not possible."""


@lru_cache(maxsize=64)
def apply(catalogue: Catalogue, change: Change, ground: Ground) -> Applied:
    """Do a change as a whole, or reject it as a whole."""
    try:
        return _apply(catalogue, change, ground)
    except (_Refused, TeslaError) as error:
        return Applied(catalogue, Outcome(change.file, accepted=False, problem=str(error)))


def _apply(catalogue: Catalogue, change: Change, ground: Ground) -> Applied:
    asked = _directives(change.text)
    by_name = {rule.name: rule for rule in catalogue.rules}
    for names in asked.values():
        for name in names:
            if name not in by_name:
                near = did_you_mean(name, by_name)
                raise _Refused(f"there is no rule `{name}`" + (f"; {near}" if near else ""))
    gone = [*asked["remove"], *asked["replace"]]
    leaving = [name for name in (*asked["pause"], *asked["resume"]) if name in gone]
    if leaving:
        raise _Refused(f"rule {listing(leaving)} can't be paused or resumed by a change that takes it away")
    rules = catalogue.rule_set
    steps = [Step(by_name[name].part, "undeploy", name) for name in _order_of_leaving(rules, gone)]
    kept = rules
    for name in gone:
        kept = kept.without(name)
    steps += [Step(by_name[name].part, "pause", name) for name in asked["pause"]]
    steps += [Step(by_name[name].part, "resume", name) for name in asked["resume"]]
    new = parse(change.text, change.file, known=kept)
    added = [rule.name for rule in new if rule.name not in kept]
    for name in asked["replace"]:
        if name not in added:
            raise _Refused(f"rule `{name}` is to be replaced, but the file has no rule of that name")
    homes = {name: rule.part for name, rule in by_name.items() if name not in gone}
    _place(new, added, homes, ground)
    by_part: dict[int, list[str]] = {}
    for name in added:
        by_part.setdefault(homes[name], []).append(name)
    for part, names in sorted(by_part.items()):
        steps.append(Step(part, "deploy", _self_contained(new, names)))
    paused = {rule.name for rule in catalogue.rules if rule.paused} - set(gone) - set(asked["resume"])
    paused |= set(asked["pause"])
    deployed = tuple(
        Deployed(rule.name, rule.canonical_text, homes[rule.name], rule.name in paused) for rule in new
    )
    outcome = Outcome(
        change.file,
        accepted=True,
        added=tuple(name for name in added if name not in asked["replace"]),
        replaced=tuple(asked["replace"]),
        removed=tuple(asked["remove"]),
        paused=tuple(asked["pause"]),
        resumed=tuple(asked["resume"]),
    )
    return Applied(Catalogue(tuple(new.types.values()), deployed), outcome, tuple(steps))


def _directives(text: str) -> dict[str, list[str]]:
    """The names that each kind of directive has."""
    asked: dict[str, list[str]] = {action: [] for action in _ACTIONS}
    for line in _DIRECTIVE.findall(text):
        words = line.replace(",", " ").split()
        if not words or words[0] not in asked or len(words) == 1:
            raise _Refused(
                f"`--!{line.rstrip()}` is no directive: write `--! remove RULE`, and likewise `replace`, `pause` "
                "or `resume`; several names are separated by commas"
            )
        asked[words[0]] += [name for name in words[1:] if name not in asked[words[0]]]
    both = set(asked["pause"]) & set(asked["resume"]) | set(asked["remove"]) & set(asked["replace"])
    if both:
        raise _Refused(f"two directives about {listing(sorted(both))} contradict each other: keep one")
    return asked


def _order_of_leaving(rules: RuleSet, gone: Sequence[str]) -> list[str]:
    """The rules that go, each before those whose events it looks at."""
    left = {rule.name: rule.plan for rule in rules}
    waiting = list(gone)
    order: list[str] = []
    while waiting:
        for name in waiting:
            if not _users(left, name):
                break
        else:
            name = waiting[0]
            users = [user for user in _users(left, name) if user not in gone]
            if not users:
                raise _Refused(f"the rules {listing(waiting)} use each other: they can't be taken away")
            raise _Refused(
                f"rule `{name}` defines `{left[name].defines.name}`, which {listing(users)} "
                f"look{'s' if len(users) == 1 else ''} at: remove or replace them in the same file"
            )
        waiting.remove(name)
        order.append(name)
        del left[name]
    return order


def _users(plans: Mapping[str, RulePlan], name: str) -> list[str]:
    """The rules that look at what a rule makes, if no other makes it: an engine does not let it go."""
    made = plans[name].defines.name
    if any(plan.defines.name == made for other, plan in plans.items() if other != name):
        return []
    return [other for other, plan in plans.items() if other != name and made in plan.horizon]


# --- Where new rules have room ------------------------------------------------------------------------------


def _place(rules: RuleSet, added: Sequence[str], homes: dict[str, int], ground: Ground) -> None:
    """Find a part for each new rule: rules that feed each other are in one."""
    plans = {rule.name: rule.plan for rule in rules}
    makers: dict[str, list[str]] = {}
    for name, plan in plans.items():
        makers.setdefault(plan.defines.name, []).append(name)
    for name in added:
        for type_ in plans[name].horizon:
            if type_ not in ground.brought and type_ not in makers and type_ != TIMER.name:
                raise _Refused(
                    f"rule `{name}` looks at `{type_}`, which no source of this query brings and no rule makes: "
                    "restart the query with a source for it and a new checkpoint"
                )
    waiting = list(added)
    while waiting:
        group = _fed_by(waiting[0], plans, makers, set(waiting))
        near = {
            homes[other]
            for name in group
            for other in plans
            if other in homes and (_feeds(plans[name], plans[other]) or _feeds(plans[other], plans[name]))
        }
        if len(near) > 1:
            raise _Refused(
                f"{_rules(group)} would bring together rules that run in different shards: {_RESTART}"
            )
        own = [plans[name] for name in group]
        candidates = sorted(near) or _by_preference(ground.rooms, own)
        obstacles: dict[int, str] = {}
        for part in candidates:
            others = [plan for name, plan in plans.items() if homes.get(name) == part]
            problem = _obstacle(ground, part, others, own, rules.types)
            if not problem:
                homes.update(dict.fromkeys(group, part))
                break
            obstacles[part] = problem
        else:
            reasons = "; ".join(f"part {part + 1}: {why}" for part, why in sorted(obstacles.items()))
            raise _Refused(
                f"{_rules(group)} does not fit how this query divides its events ({reasons}): {_RESTART}"
            )
        waiting = [name for name in waiting if name not in group]


_RESTART = "restart the query with it among the initial rules, and a new checkpoint"


def _rules(names: Iterable[str]) -> str:
    found = list(names)
    return f"rule {listing(found)}" if len(found) == 1 else "rules " + ", ".join(f"`{n}`" for n in found)


def _feeds(one: RulePlan, other: RulePlan) -> bool:
    return one.defines.name in other.horizon


def _fed_by(
    first: str, plans: Mapping[str, RulePlan], makers: Mapping[str, list[str]], among: set[str]
) -> list[str]:
    """The new rules that feed each other with a rule, also by way of others."""
    group, open_ = {first}, [first]
    while open_:
        plan = plans[open_.pop()]
        near = {maker for type_ in plan.horizon for maker in makers.get(type_, ())}
        near |= {other for other in among if _feeds(plan, plans[other])}
        for other in (near & among) - group:
            group.add(other)
            open_.append(other)
    return [name for name in plans if name in group]


def _by_preference(rooms: Sequence[Room], rules: Sequence[RulePlan]) -> list[int]:
    """All parts: what can be divided is not put into one shard."""
    stateless = all(rule.stateless for rule in rules)
    order = [Split.EVENT, Split.KEY, Split.NONE] if stateless else [Split.KEY, Split.NONE, Split.EVENT]
    return sorted(range(len(rooms)), key=lambda part: (order.index(rooms[part].split), part))


def _obstacle(
    ground: Ground,
    part: int,
    others: Sequence[RulePlan],
    new: Sequence[RulePlan],
    types: Mapping[str, EventType],
) -> str:
    """Why new rules have no room in a part, as the end of a sentence; empty if they have."""
    room = ground.rooms[part]
    missing = sorted({t for rule in new for t in rule.horizon if t in ground.brought} - room.types)
    if missing:
        return f"it is not sent {listing(missing)}"
    if room.split is Split.NONE:
        return ""
    if room.split is Split.EVENT:
        if all(rule.stateless for rule in new):
            return ""
        return "it has rules of one event only, without timers"
    every = [*others, *new]
    found = find_key(every, {name: attribute for name, (attribute, _) in room.key.items()})
    if found.attributes is None:
        return found.obstacle
    for name in sorted(found.attributes):
        if name in ground.brought and name not in room.key:
            return f"it does not divide `{name}` by `{found.attributes[name]}`"
    for name, key in hashed_alike(every, found.attributes, types).items():
        if name in room.key and room.key[name] != (key.name, key.hash_as):
            return f"it can't compare ints with floats in `{name}.{key.name}`"
    return ""


def _self_contained(rules: RuleSet, names: Sequence[str]) -> str:
    """Rules as a text that an engine can take that has not seen all of their types yet."""
    needed: dict[str, None] = {}
    made = {rules[name].defines.name for name in names}
    for name in names:
        for type_ in rules[name].plan.horizon:
            if type_ != TIMER.name and type_ not in made:
                needed[type_] = None
    return "\n".join(
        [*(f"event {rules.types[name]}" for name in needed), *(rules[name].canonical_text for name in names)]
    )
