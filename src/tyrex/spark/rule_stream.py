"""Rules that come and go while a stream runs: a directory that Spark reads as a stream of changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tyrex.plan.sharding import KeyAttribute, Unit
from tyrex.rules import RuleSet, load, parse
from tyrex.spark.live import Ground, Room
from tyrex.spark.planner import Part, SparkPlan, Split, plan_spark
from tyrex.spark.sources import Events, SourceError
from tyrex.spark.worker import Rules
from tyrex.tesla.diagnostics import did_you_mean
from tyrex.tesla.types import TIMER, EventType, ValueType

INITIAL = "initial.tesla"
"""The file of a directory of changes that has the rules that a query begins with; it is no change itself."""


@dataclass(frozen=True)
class RuleStream:
    """A directory of rule files, each of which changes the rules of a running query.

    Every file `*.tesla` that appears in `path` is a change. `initial` are the rules that the query begins with, and the
    types of all that its sources bring; if they are not given, the file `initial.tesla` in the directory has them.

    How events are divided is fixed when a query begins, by the initial rules. `keys` prepares for other rules: each is
    an attribute by which they will join events, by its name, or by one name for each type. `anything` prepares one
    shard that gets all events, where every rule has room.
    """

    path: str | Path
    initial: RuleSet | str | None = None
    keys: Sequence[str | Mapping[str, str]] = ()
    anything: bool = False

    def read_initial(self) -> RuleSet:
        """The rules that a query begins with."""
        if isinstance(self.initial, RuleSet):
            return self.initial
        if isinstance(self.initial, str):
            return parse(self.initial)
        file = Path(self.path) / INITIAL
        if not file.is_file():
            raise SourceError(
                f"there is no file {file}: put the event types and the first rules there, or give them as `initial`"
            )
        return load(file)


def plan_live(rules: RuleSet, given: RuleStream, events: Events) -> SparkPlan:
    """How a query is divided whose rules will change: nothing stays behind that a later rule could use."""
    brought = brought_by(events, rules)
    made = {rule.defines.name for rule in rules}
    free = [rules.types[name] for name in sorted(brought - made)]
    first = plan_spark(rules, streaming=True)
    parts = [_widened(part, free) for part in first.parts]
    for key in given.keys:
        parts = _with_key(parts, _attributes(key, free, rules.types))
    if given.anything or not parts:
        parts = _with_anything(parts, brought)
    return SparkPlan(
        tuple(replace(p, unit=replace(p.unit, calendar=True, deadlines=True)) for p in parts),
        dict.fromkeys(sorted(brought), ((),)),
        {name: frozenset(a.name for a in rules.types[name].attributes) for name in sorted(brought)},
    )


def brought_by(events: Events, rules: RuleSet) -> frozenset[str]:
    """The types that sources bring."""
    names = events if isinstance(events, Mapping) else rules.types
    return frozenset(name for name in names if name in rules.types and name != TIMER.name)


def ground_of(rules: RuleSet, plan: SparkPlan) -> Ground:
    """What of a plan later changes must know."""
    home = {name: number for number, part in enumerate(plan.parts) for name in part.rules}
    return Ground(
        Rules(tuple(rules.types.values()), tuple(rule.canonical_text for rule in rules)),
        tuple(home[rule.name] for rule in rules),
        frozenset(plan.filters),
        tuple(
            Room(
                part.split,
                frozenset(name for name in part.unit.types if name in plan.filters),
                {
                    name: (key.name, key.hash_as)
                    for name, key in (part.unit.key or {}).items()
                    if name in plan.filters
                },
            )
            for part in plan.parts
        ),
    )


def _with_anything(parts: list[Part], brought: Iterable[str]) -> list[Part]:
    """The parts, one of them with all events in one shard."""
    for number, part in enumerate(parts):
        if part.split is Split.NONE:
            unit = replace(part.unit, types=tuple(sorted({*part.unit.types, *brought})))
            return [*parts[:number], replace(part, unit=unit), *parts[number + 1 :]]
    return [*parts, Part(_unit(sorted(brought), None), (), Split.NONE)]


def _widened(part: Part, free: Iterable[EventType]) -> Part:
    """A part that also gets the types that no rule of it looks at yet, but that have the attribute of its key."""
    key = part.unit.key
    if part.split is not Split.KEY or not key or len({one.name for one in key.values()}) > 1:
        return part
    (name,) = {one.name for one in key.values()}
    return _taking(part, {type_.name: (name, type_.by_name[name]) for type_ in free if name in type_.by_name})


def _taking(part: Part, more: Mapping[str, tuple[str, ValueType]]) -> Part:
    key = dict(part.unit.key or {})
    hashed = {one.hash_as for one in key.values()}
    for name, (attribute, kind) in more.items():
        fits = kind in hashed or (hashed == {ValueType.FLOAT} and kind.numeric)
        if name not in key and fits:
            as_ = kind if kind in hashed else ValueType.FLOAT
            key[name] = KeyAttribute(attribute, as_)
    types = tuple(sorted({*part.unit.types, *key}))
    return replace(part, unit=replace(part.unit, types=types, key=key))


def _with_key(parts: list[Part], wanted: Mapping[str, tuple[str, ValueType]]) -> list[Part]:
    """The parts with one more key: in a part that it agrees with, or in a new one."""
    for number, part in enumerate(parts):
        key = part.unit.key
        if (
            part.split is Split.KEY
            and key
            and all(key[name].name == attribute for name, (attribute, _) in wanted.items() if name in key)
        ):
            wider = _taking(part, wanted)
            if wider.unit.key is not None and set(wanted) <= set(wider.unit.key):
                return [*parts[:number], wider, *parts[number + 1 :]]
    kinds = {kind for _, kind in wanted.values()}
    as_float = ValueType.FLOAT in kinds
    keys = {
        name: KeyAttribute(attribute, ValueType.FLOAT if as_float and kind.numeric else kind)
        for name, (attribute, kind) in wanted.items()
    }
    return [*parts, Part(_unit(sorted(keys), keys), (), Split.KEY)]


def _unit(types: Sequence[str], key: Mapping[str, KeyAttribute] | None) -> Unit:
    return Unit((), tuple(types), key, stateless=False, calendar=True, deadlines=True, obstacle="")


def _attributes(
    key: str | Mapping[str, str], free: Sequence[EventType], types: Mapping[str, EventType]
) -> dict[str, tuple[str, ValueType]]:
    """The attribute of each type that a key names, with its type."""
    if isinstance(key, str):
        found = {type_.name: (key, type_.by_name[key]) for type_ in free if key in type_.by_name}
        if not found:
            raise SourceError(
                f"no event type of the sources has the attribute `{key}` that is given as a key"
            )
        return found
    by_name = {type_.name: type_ for type_ in free}
    for name, attribute in key.items():
        if name not in by_name:
            near = did_you_mean(name, by_name)
            raise SourceError(f"a key names `{name}`, which no source brings" + (f"; {near}" if near else ""))
        if attribute not in by_name[name].by_name:
            near = did_you_mean(attribute, types[name].by_name)
            raise SourceError(f"{types[name]} has no attribute `{attribute}`" + (f"; {near}" if near else ""))
    return {name: (attribute, by_name[name].by_name[attribute]) for name, attribute in key.items()}
