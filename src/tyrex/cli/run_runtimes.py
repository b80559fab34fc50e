"""Where rules run: each takes the batches of the input and hands on what it finds, and says at the end what is left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import cast

from tyrex.cli.run_results import Results
from tyrex.events import Event
from tyrex.io import Batch
from tyrex.rules import RuleSet


class Runtime(StrEnum):
    """Where rules can run."""

    PROCESS = "process"
    REFERENCE = "reference"
    SPARK = "spark"


@dataclass(frozen=True)
class Setting:
    """How rules are run."""

    delay: int | None = None
    """How late an event may come, in microseconds; None: not at all, but where all is held anyway it is sorted."""
    until: int | None = None
    """The time to which the end of the input moves, in microseconds; None: the last timestamp."""
    time_zone: str = "UTC"
    lineage: bool = False


@dataclass(frozen=True)
class Leftover:
    """What a runtime tells at the end."""

    unused: int
    open_deadlines: int
    overflows: int = 0
    events: int | None = None
    """How many events there were, if it read them itself."""


def on_process(rules: RuleSet, batches: Iterable[Batch], setting: Setting, results: Results) -> Leftover:
    """Run on the engine in this process: every batch is done with before the next is read."""
    from tyrex.engine import Composite, Detections, Engine

    delay = timedelta(microseconds=setting.delay or 0)
    engine = Engine(rules, delay=delay, time_zone=setting.time_zone)

    def lineage(event: Event) -> Sequence[Event]:
        return event.lineage if isinstance(event, Composite) else ()

    def take(found: Detections) -> None:
        results.take_late(found.late)
        results.take(found, lineage if setting.lineage else None)

    for batch in batches:
        take(engine.send_batch(batch))
    take(engine.flush(None if setting.until is None else _moment(setting.until)))
    stats = engine.stats()
    return Leftover(stats.unused, stats.open_deadlines, stats.overflows)


def on_reference(rules: RuleSet, batches: Iterable[Batch], setting: Setting, results: Results) -> Leftover:
    """Run on the executable semantics, which needs the whole history."""
    from tyrex import reference

    history = [event for batch in batches for event in cast(Sequence[Event], batch)]
    outcome = reference.run(
        rules.checked, history, delay=setting.delay, until=setting.until, time_zone=setting.time_zone
    )
    results.take_late(outcome.late)
    results.take(
        outcome.composites, (lambda event: outcome.lineage[event.id or ""]) if setting.lineage else None
    )
    return Leftover(outcome.unused, outcome.open_deadlines, outcome.overflows)


def _moment(microseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
