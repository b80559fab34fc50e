"""The runtimes that a fixture can be run on, by name: all have to give the same answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import TypeAlias

from tyrex import reference
from tyrex.engine import Composite, Engine
from tyrex.events import Event
from tyrex.rules import RuleSet


@dataclass(frozen=True)
class Setting:
    """How a history is run."""

    delay: int | None = None
    """How late an event may come, in microseconds; None: the events are put in order first."""
    until: int | None = None
    """The time to which the end of the input moves; None: the last timestamp."""
    time_zone: str = "UTC"


@dataclass(frozen=True)
class Result:
    """What came of it."""

    composites: Sequence[Event]
    late: Sequence[Event] = ()
    open_deadlines: int = 0
    lineage: dict[str, tuple[Event, ...]] = field(default_factory=dict)


Runtime: TypeAlias = Callable[[RuleSet, Sequence[Event], Setting], Result]


def on_reference(rules: RuleSet, events: Sequence[Event], setting: Setting) -> Result:
    """Run on the executable semantics."""
    outcome = reference.run(
        rules.checked, events, delay=setting.delay, until=setting.until, time_zone=setting.time_zone
    )
    return Result(outcome.composites, outcome.late, outcome.open_deadlines, outcome.lineage)


def on_process(rules: RuleSet, events: Sequence[Event], setting: Setting, *, threads: int = 1) -> Result:
    """Run on the engine in the process."""
    ordered = setting.delay is not None
    delay = timedelta(microseconds=setting.delay or 0)
    engine = Engine(rules, delay=delay, time_zone=setting.time_zone, threads=threads)
    given = events if ordered else sorted(events, key=lambda event: event.timestamp)
    sent = engine.send_batch(given)
    until = None if setting.until is None else Decimal(setting.until).scaleb(-6)
    flushed = engine.flush(until)
    composites = [*sent, *flushed]
    lineage = {event.id: event.lineage for event in composites if isinstance(event, Composite)}
    return Result(composites, sent.late, engine.stats().open_deadlines, lineage)


def on_threads(rules: RuleSet, events: Sequence[Event], setting: Setting) -> Result:
    """Run on the engine with two threads."""
    return on_process(rules, events, setting, threads=2)


RUNTIMES: dict[str, Runtime] = {"reference": on_reference, "process": on_process, "threads": on_threads}
