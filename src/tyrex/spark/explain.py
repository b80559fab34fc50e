"""Why Spark does with a rule set what it does: the planner's choices in words, for a person or a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tyrex.plan.text import Printer
from tyrex.rules import RuleSet
from tyrex.spark.advice import advice
from tyrex.spark.planner import Part, SparkPlan, Split, plan_spark
from tyrex.spark.pushdown import pushed
from tyrex.tesla.durations import format_duration
from tyrex.tesla.expressions import Attribute, Compare, Expression, OneOf, Present, walk
from tyrex.tesla.types import TIMER, EventType


@dataclass(frozen=True)
class Travelling:
    """A type of events that some rule looks at."""

    type: str
    filter: str
    """What an event must fulfil to leave its source, as TESLA; empty if all leave."""
    used: tuple[str, ...]
    """The attributes that travel."""
    behind: tuple[str, ...]
    """The attributes that no rule looks at: they stay behind if the source gives its events ids."""
    made: bool
    """Whether a rule makes such events: these arise in the shards and do not travel."""


@dataclass(frozen=True)
class ExplainedPart:
    """A part of the rules that is split in one way."""

    rules: tuple[str, ...]
    split: Split
    types: tuple[str, ...]
    """What its rules look at."""
    makes: tuple[str, ...]
    """The composite events that it finds."""
    keys: Mapping[str, str] = field(hash=False)
    """For a split by key, the attribute of each type by which it is divided."""
    slice_length: int
    overlap: int
    reason: str
    """What prevents a better split, as a sentence; empty if nothing does."""
    help: tuple[str, ...]
    """What would allow one, as sentences."""

    @property
    def how(self) -> str:
        """The split in one line."""
        match self.split:
            case Split.KEY:
                return "by key: " + ", ".join(f"{name}.{key}" for name, key in self.keys.items())
            case Split.EVENT:
                return "event by event: no rule looks at more than one"
            case Split.TIME:
                return (
                    f"by time: slices of {format_duration(self.slice_length)} "
                    f"that overlap by {format_duration(self.overlap)}"
                )
            case Split.NONE:
                return "not at all: one shard has all the events"


@dataclass(frozen=True)
class Explanation:
    """What Spark does with a rule set, and why."""

    parts: tuple[ExplainedPart, ...]
    types: tuple[Travelling, ...]
    unused_types: tuple[str, ...]
    """Types that are declared and that no rule looks at: their events stay behind."""

    def record(self) -> dict[str, Any]:
        """It as JSON has it; times are in microseconds."""
        return {
            "parts": [
                {
                    "rules": list(part.rules),
                    "split": part.split.value,
                    "types": list(part.types),
                    "makes": list(part.makes),
                    "keys": dict(part.keys) if part.split is Split.KEY else None,
                    "slice": part.slice_length or None,
                    "overlap": part.overlap if part.split is Split.TIME else None,
                    "reason": part.reason or None,
                    "help": list(part.help),
                }
                for part in self.parts
            ],
            "types": [
                {
                    "type": one.type,
                    "filter": one.filter or None,
                    "attributes": list(one.used),
                    "left_behind": list(one.behind),
                    "made_by_rules": one.made,
                }
                for one in self.types
            ],
            "unused_types": list(self.unused_types),
        }


def explain(rules: RuleSet, *, streaming: bool = False) -> Explanation:
    """What Spark would do with rules, and why."""
    plan = plan_spark(rules, streaming=streaming)
    made = set(rules.plan.types_defined)
    return Explanation(
        tuple(_part(rules, part) for part in plan.parts),
        tuple(_travelling(rules.types[name], plan, made=name in made) for name in plan.filters),
        tuple(
            name
            for name in rules.types
            if name not in plan.filters and name not in made and name != TIMER.name
        ),
    )


def _part(rules: RuleSet, part: Part) -> ExplainedPart:
    own = [rules.plan.rules[number] for number in part.unit.rules]
    return ExplainedPart(
        rules=part.rules,
        split=part.split,
        types=part.unit.types,
        makes=tuple(dict.fromkeys(rule.defines.name for rule in own)),
        keys={name: key.name for name, key in (part.unit.key or {}).items()},
        slice_length=part.slice_length,
        overlap=part.overlap,
        reason=part.reason,
        help=advice(own, rules.types, part.split),
    )


def _travelling(type_: EventType, plan: SparkPlan, *, made: bool) -> Travelling:
    names = [attribute.name for attribute in type_.attributes]
    used = plan.used[type_.name]
    return Travelling(
        type_.name,
        _filter_text(pushed(plan.filters[type_.name], type_, names)),
        tuple(name for name in names if name in used),
        tuple(name for name in names if name not in used),
        made,
    )


def _filter_text(alternatives: Sequence[tuple[Expression, ...]]) -> str:
    shown = Printer(("event",), 0)
    texts = dict.fromkeys(shown.show_all(_without_needless(parts)) for parts in alternatives)
    if len(texts) == 1:
        return next(iter(texts))
    return " or ".join(f"({text})" if " and " in text or " or " in text else text for text in texts)


def _without_needless(conditions: Sequence[Expression]) -> list[Expression]:
    """Conditions without those that others imply: what is compared is not null."""
    compared = {
        node.name
        for condition in conditions
        if isinstance(condition, Compare | OneOf)
        for node in walk(condition)
        if isinstance(node, Attribute)
    }
    return [
        condition
        for condition in conditions
        if not (
            isinstance(condition, Present)
            and isinstance(condition.operand, Attribute)
            and condition.operand.name in compared
        )
    ]
