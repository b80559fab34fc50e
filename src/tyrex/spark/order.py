"""The place of each composite event among all: what one engine, given all events in order, would have printed when.

A shard knows only its own events, so it says of each composite event what caused it. By (timestamp, phase, arrival,
depth, root, emitted) the composites of all shards are in the order of one engine: first those that events caused,
in order of arrival, then those of calendar timers, then those of deadlines, in order of the events that set them.
What one event causes comes level by level, on each level in the order of the rules that looked at the event itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from tyrex.engine import Detections
from tyrex.events import Event, Identities
from tyrex.plan import CalendarTimer, Deadline, RulePlan
from tyrex.spark.wire import ID, SEQUENCE, TIME, TYPE, Wire

if TYPE_CHECKING:
    import pyarrow as pa

COLUMN = "order"
FIELDS = ("phase", "arrival", "depth", "root", "emitted")
_MADE_BY_A_RULE = 2  # the kernel's Origin::Rule


class Phase(IntEnum):
    """What comes first at an instant."""

    EVENT = 0
    CALENDAR = 1
    DEADLINE = 2


@dataclass(frozen=True)
class _Cause:
    """What an event from outside, or a timer, is to those that it causes."""

    phase: Phase
    arrival: int
    depth: int
    root: int
    """The position of the rule that looked at it."""


class Places:
    """Gives the composite events of one shard their places."""

    def __init__(self, wire: Wire, rules: Iterable[RulePlan], positions: Mapping[str, int]) -> None:
        self._wire = wire
        self._rules = {rule.name: rule for rule in rules}
        self._positions = positions
        self._emitted = 0
        made = {rule.defines.name for rule in self._rules.values()}
        self._looked_at = {rule.terminator.type for rule in self._rules.values()} & made

    def of(self, found: Detections, rows: pa.RecordBatch | None) -> list[dict[str, int]]:
        """The places of the composite events that these rows, or the end of the input, have caused."""
        arrivals = None if rows is None else _Arrivals(self._wire, rows)
        causes: dict[str, _Cause] = {}
        places = []
        for number, event in enumerate(found):
            rule = self._rules[event.rule or ""]
            cause = self._cause(found, number, rule, event.timestamp, causes, arrivals)
            if event.type in self._looked_at and event.id is not None:
                causes[event.id] = cause
            self._emitted += 1
            places.append(
                {
                    "phase": int(cause.phase),
                    "arrival": cause.arrival,
                    "depth": cause.depth,
                    "root": cause.root,
                    "emitted": self._emitted,
                }
            )
        return places

    def _cause(
        self,
        found: Detections,
        number: int,
        rule: RulePlan,
        time: int,
        causes: Mapping[str, _Cause],
        arrivals: _Arrivals | None,
    ) -> _Cause:
        root = self._positions[rule.name]
        if isinstance(rule.trigger, CalendarTimer):
            return _Cause(Phase.CALENDAR, 0, 0, root)
        if isinstance(rule.trigger, Deadline):
            return _Cause(Phase.DEADLINE, time - rule.trigger.after, 0, root)
        if rule.terminator.type in self._looked_at:
            *_, id_, origin = found.result.lineage(number)[0]
            if origin == _MADE_BY_A_RULE and id_ in causes:
                cause = causes[id_]
                return _Cause(cause.phase, cause.arrival, cause.depth + 1, cause.root)
        arrival = 0
        if arrivals is not None:
            arrival = arrivals.of(time, rule.terminator.type, lambda: found.result.lineage(number)[0])
        return _Cause(Phase.EVENT, arrival, 0, root)


class _Arrivals:
    """When the events of some rows arrived: the sequence that their source gave them."""

    def __init__(self, wire: Wire, rows: pa.RecordBatch) -> None:
        self._wire = wire
        self._rows = rows
        self._times: Any = rows.column(TIME).to_numpy()
        self._known: dict[tuple[int, str], dict[str, int]] = {}

    def of(self, time: int, type_: str, terminator: Callable[[], tuple[Any, ...]]) -> int:
        """The sequence of the event of a type at an instant; `terminator` gives it if there are several."""
        here = self._at(time, self._wire.number(type_))
        if len(here) == 1:
            return int(self._rows.column(SEQUENCE)[here[0]].as_py())
        if not here:  # it came with the rows before
            return 0
        if (time, type_) not in self._known:
            self._known[time, type_] = self._by_id(here, time, type_)
        *_, id_, _ = terminator()
        return self._known[time, type_].get(id_, 0)

    def _at(self, time: int, type_: int) -> Sequence[int]:
        """The rows of a type at an instant; rows come in order of time."""
        first, last = (int(self._times.searchsorted(time, side)) for side in ("left", "right"))
        types: Any = self._rows.column(TYPE).slice(first, last - first)
        return [first + at for at, found in enumerate(types.to_pylist()) if found == type_]

    def _by_id(self, here: Sequence[int], time: int, type_: str) -> dict[str, int]:
        """The sequences of simultaneous events, by the ids that the engine gives them."""
        declared = next(one for one in self._wire.types if one.name == type_)
        slots = self._wire.places[type_]
        identify = Identities()
        known = {}
        for number in here:
            values = {
                a.name: self._rows.column(slots[a.name])[number].as_py() if a.name in slots else None
                for a in declared.attributes
            }
            given = self._rows.column(ID)[number].as_py() if self._wire.has_ids else None
            known[identify(Event(type_, time, values, given))] = int(
                self._rows.column(SEQUENCE)[number].as_py()
            )
        return known
