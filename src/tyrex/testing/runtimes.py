"""The runtimes that a fixture can be run on, by name: all have to give the same answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tyrex import reference
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


RUNTIMES: dict[str, Runtime] = {"reference": on_reference}
