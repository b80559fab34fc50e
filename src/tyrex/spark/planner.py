"""What Spark is to do with a rule set: which events travel, and how the work is divided.

Nothing of Spark is in here. The planner reads the plan of the rules and says, for each unit of rules, how it can be
split: by a key, by time, or not at all, and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tyrex.plan import AggregateLink, NegationLink, RulePlan, RuleSetPlan, State
from tyrex.plan.sharding import Unit, shard
from tyrex.rules import RuleSet
from tyrex.tesla.expressions import Attribute, Expression, rebuild, walk
from tyrex.tesla.types import TIMER, TIMESTAMP, EventType

SHORTEST_SLICE = 60_000_000
"""A minute: slices of time are not shorter, however short the windows are."""
OVERLAP = 16
"""A slice is so many times as long as what it must know from before it: the share that is computed twice is small."""


class Split(StrEnum):
    """How the events of a unit are divided among shards."""

    KEY = "key"
    """by the value of an attribute"""
    EVENT = "event"
    """one by one: no rule looks at more than one"""
    TIME = "time"
    """into slices that overlap by what the windows reach"""
    NONE = "none"
    """not at all: one shard has them all"""


@dataclass(frozen=True)
class Part:
    """A unit of rules, and how it is split."""

    unit: Unit
    rules: tuple[str, ...]
    """The names of its rules, in order of deployment."""
    split: Split
    slice_length: int = 0
    """Of a slice of time, in microseconds."""
    overlap: int = 0
    """How much of the time before it a slice must know, in microseconds."""
    reason: str = ""
    """What prevents a better split, as a sentence."""


@dataclass(frozen=True)
class SparkPlan:
    """How a rule set runs on Spark."""

    parts: tuple[Part, ...]
    filters: Mapping[str, tuple[tuple[Expression, ...], ...]] = field(hash=False)
    """For each type that travels, the static conditions of each of its states: one state's must all hold.

    An empty alternative lets all events through. In the expressions the event is number 0.
    """
    used: Mapping[str, frozenset[str]] = field(hash=False)
    """For each type that travels, the attributes that some rule looks at."""

    @property
    def timers(self) -> bool:
        """Whether something happens when time passes, so that every shard must know how far it has come."""
        return any(part.unit.timers for part in self.parts)


def plan_spark(rules: RuleSet, *, streaming: bool = False, skewed: bool = False) -> SparkPlan:
    """Plan a rule set; streams are not cut into slices of time, tables with a hot key rather than by key."""
    plan = rules.plan
    parts = tuple(
        _part(plan, unit, streaming=streaming, skewed=skewed) for unit in shard(plan, rules.types).units
    )
    filters: dict[str, dict[tuple[Expression, ...], None]] = {}
    for rule in plan.rules:
        for name, conditions in _states(rule):
            filters.setdefault(name, {})[conditions] = None
    return SparkPlan(
        parts,
        {name: tuple(alternatives) for name, alternatives in sorted(filters.items())},
        {name: _used(plan.rules, name, rules.types[name]) for name in sorted(filters)},
    )


# --- How a unit is split ------------------------------------------------------------------------------------


def _part(plan: RuleSetPlan, unit: Unit, *, streaming: bool, skewed: bool) -> Part:
    names = tuple(plan.rules[number].name for number in unit.rules)
    if unit.stateless:
        return Part(unit, names, Split.EVENT)
    obstacle = _against_slices(plan, unit, streaming=streaming)
    if unit.key is not None and (obstacle or not skewed):
        return Part(unit, names, Split.KEY)
    if obstacle:
        return Part(unit, names, Split.NONE, reason=f"{unit.obstacle}; {obstacle}")
    overlap = _reach(plan, unit)
    reason = unit.obstacle or "a key would let one shard have most of the events"
    return Part(unit, names, Split.TIME, max(SHORTEST_SLICE, OVERLAP * overlap), overlap, reason=reason)


def _against_slices(plan: RuleSetPlan, unit: Unit, *, streaming: bool) -> str:
    """Why time can't be cut into slices, as the end of a sentence; empty if it can."""
    if streaming:
        return "and a stream is not cut into slices of time"
    if unit.timers:
        return "and timers need the time that passes in one piece"
    for number in unit.rules:
        if plan.rules[number].consumed:
            return f"and what rule `{plan.rules[number].name}` consumes depends on all that came before"
    if any(set(group) & set(unit.rules) for group in plan.recursive_groups):
        return "and rules that use what they make depend on all that came before"
    return ""


def _reach(plan: RuleSetPlan, unit: Unit) -> int:
    """How far back events can matter for a composite event, through all levels of the hierarchy."""
    makers: dict[str, list[int]] = {}
    for number in unit.rules:
        makers.setdefault(plan.rules[number].defines.name, []).append(number)
    known: dict[int, int] = {}
    for level in plan.strata:  # lower levels first
        for number in level:
            if number in unit.rules:
                known[number] = max(
                    (
                        reach + max((known[maker] for maker in makers.get(name, ())), default=0)
                        for name, reach in plan.rules[number].horizon.items()
                    ),
                    default=0,
                )
    return max(known.values())


# --- What travels -------------------------------------------------------------------------------------------


def _states(rule: RulePlan) -> Iterable[tuple[str, tuple[Expression, ...]]]:
    """The types that a rule looks at, each with the static conditions of that part; the event is number 0."""
    for state in rule.states:
        if state.type != TIMER.name:
            yield state.type, tuple(_on_event(condition) for condition in state.static)
    parts: tuple[NegationLink | AggregateLink, ...] = (*rule.negations, *rule.aggregates)
    for part in parts:
        yield part.type, tuple(_on_event(condition) for condition in part.static)


def _on_event(condition: Expression) -> Expression:
    def change(node: Expression) -> Expression:
        return Attribute(0, node.name) if isinstance(node, Attribute) else node

    return rebuild(condition, change)


def _used(rules: Iterable[RulePlan], name: str, type_: EventType) -> frozenset[str]:
    """The attributes of a type that occur in some rule that looks at it, whatever event they are meant of."""
    mentioned = {
        node.name
        for rule in rules
        if name in rule.horizon
        for expression in _expressions(rule)
        for node in walk(expression)
        if isinstance(node, Attribute)
    }
    mentioned |= {
        part.attribute for rule in rules for part in rule.aggregates if part.type == name and part.attribute
    }
    return frozenset(mentioned & {a.name for a in type_.attributes}) - {TIMESTAMP}


def _expressions(rule: RulePlan) -> Iterable[Expression]:
    parts: tuple[State | NegationLink | AggregateLink, ...] = (
        *rule.states,
        *rule.negations,
        *rule.aggregates,
    )
    for part in parts:
        yield from part.static
        yield from (condition.expression for condition in part.dynamic)
    yield from (guard.expression for guard in rule.guards)
    yield from (output.expression for output in rule.outputs)
