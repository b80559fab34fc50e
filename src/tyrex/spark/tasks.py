"""What a job of rules is told, and what its results look like, for tables and streams alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tyrex.rules import RuleSet
from tyrex.spark import wire as w
from tyrex.spark.planner import SparkPlan
from tyrex.spark.rows import Layout
from tyrex.spark.worker import Rules, Task, results_schema
from tyrex.tesla.types import EventType


@dataclass(frozen=True)
class Options:
    """How rules are run."""

    shards: int
    time_zone: str = "UTC"
    until: int | None = None
    lineage: bool = False
    ordered: bool = False
    """Whether the result says where each composite event belongs among all."""
    live: bool = False
    """Whether rules come and go."""
    since: int | None = None
    """When time begins, if that is before the first event that some rule knows."""


def task_of(rules: RuleSet, plan: SparkPlan, layout: Layout, wire: w.Wire, options: Options) -> Task:
    """What the executors need."""
    types = tuple(rules.types.values())
    return Task(
        wire=wire,
        parts=tuple(
            Rules(types, tuple(rules[name].canonical_text for name in part.rules)) for part in plan.parts
        ),
        part_of_shard=layout.part_of_shard,
        slice_lengths=tuple(part.slice_length for part in plan.parts),
        composites=defined(rules),
        time_zone=options.time_zone,
        lineage=options.lineage,
        positions={rule.name: n for n, rule in enumerate(rules.plan.rules)} if options.ordered else None,
        live=options.live,
    )


def defined(rules: RuleSet) -> tuple[EventType, ...]:
    """The types that the rules make, in the order of the rules."""
    return tuple({rule.defines.name: rule.defines for rule in rules}.values())


def schema_of(composites: Iterable[EventType], *, lineage: bool, ordered: bool = False) -> str:
    """The columns of a result, as Spark writes them."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return (
        from_arrow_schema(results_schema(composites, lineage=lineage, ordered=ordered))
        .simpleString()
        .removeprefix("struct")[1:-1]
    )
