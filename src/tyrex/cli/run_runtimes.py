"""Where rules run: each takes the batches of the input and hands on what it finds, and says at the end what is left."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol, cast

from tyrex.cli.run_results import Results
from tyrex.events import Event
from tyrex.io import Batch
from tyrex.rules import RuleSet


class Runtime(StrEnum):
    """Where rules can run."""

    PROCESS = "process"
    REFERENCE = "reference"


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


class Detections(Protocol):
    """What an engine found in a batch: composite events in order, each with its `lineage`, and late events."""

    @property
    def late(self) -> Sequence[Event]: ...

    def __iter__(self) -> Iterator[Event]: ...


class Engine(Protocol):
    """An engine that takes events in batches."""

    def send_batch(self, events: Any, /) -> Detections: ...

    def flush(self, until: datetime | None = None) -> Detections: ...

    def stats(self) -> Any: ...


def on_process(
    rules: RuleSet,
    batches: Iterable[Batch],
    setting: Setting,
    results: Results,
    make: Callable[..., Engine] | None = None,
) -> Leftover:
    """Run on the engine in this process: every batch is done with before the next is read."""
    if make is None:
        from tyrex.engine import Engine as NativeEngine

        make = NativeEngine
    delay = timedelta(microseconds=setting.delay or 0)
    engine = make(rules, delay=delay, time_zone=setting.time_zone)

    def take(found: Detections) -> None:
        results.take_late(found.late)
        results.take(found, _own_lineage if setting.lineage else None)

    for batch in batches:
        take(engine.send_batch(batch))
    take(engine.flush(None if setting.until is None else _moment(setting.until)))
    stats = engine.stats()
    return Leftover(stats.unused, stats.open_deadlines, getattr(stats, "overflows", 0))


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


def _own_lineage(event: Event) -> Sequence[Event]:
    """The events that a composite event of the engine says it was made of."""
    lineage: Sequence[Event] = cast(Any, event).lineage
    return lineage


def _moment(microseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
