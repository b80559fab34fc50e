"""Engines of one tree: fed in the order of time, and made anew where an event came that time has passed.

An engine takes events in order only, while an event that a child held back comes when the parent's time has passed
it. Such an event can matter only for terminators that are still to come (see `tyrex.plan.partition`). So an engine
lives on as long as its events come in order; when one is late, a new engine gets what the log holds up to the time
that was reached, with its rules paused so that nothing is detected again, and takes the place of the old one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tyrex.engine import Detections, Engine
from tyrex.engine.encode import Columns
from tyrex.events import LAST_TIMESTAMP
from tyrex.network.blocks import ID, NUMBER, ORIGIN, SEPARATOR, Block, merged
from tyrex.network.data.log import Log
from tyrex.rules import RuleSet

_SECOND = 1_000_000
_FEW = 32


@dataclass(frozen=True, slots=True)
class Fresh:
    """Events of one type that came in time, in their order, and their rows in the log."""

    block: Block
    rows: Any

    def cut(self, after: int, upto: int) -> Fresh:
        """Those of a stretch of time."""
        times = self.block.times
        start, end = np.searchsorted(times, (after, upto), side="right")
        if start == 0 and end == len(times):
            return self
        return Fresh(Block(self.block.type, self.block.table.slice(start, end - start)), self.rows[start:end])


@dataclass(frozen=True, slots=True)
class Move:
    """A move of time: what happened behind `after` up to `upto`, and of which types events came too late."""

    after: int
    upto: int
    fresh: Mapping[str, Fresh]
    behind: frozenset[str]
    logs: Mapping[str, Log]


@dataclass(frozen=True, slots=True)
class Stage:
    """Rules that look at the events behind a moment."""

    since: int
    rules: RuleSet


@dataclass(frozen=True, slots=True)
class Hosting:
    """Rules that share an engine, and what they need."""

    stages: tuple[Stage, ...]
    """In the order of `since`."""
    horizon: Mapping[str, int]
    """The types that they look at, and for how long."""
    terminators: frozenset[str]
    """The types of the events that they are evaluated on."""
    in_order: bool
    """Whether they have state that is more than a window: then no event that matters for them is ever late."""
    timed: bool
    """Whether they have timers or deadlines."""
    row: str | None = None
    """The attribute that is the row of an event, of partial rules."""


@dataclass(slots=True)
class Work:
    """What hosting has cost."""

    fed: int = 0
    replays: int = 0
    replayed: int = 0


class Host:
    """An engine that moves on with the time of a tree."""

    def __init__(self, hosting: Hosting, work: Work) -> None:
        self.hosting = hosting
        self._work = work
        self._living = _Living(hosting)

    def move(self, move: Move) -> Iterator[Detections]:
        """What the rules find in a move."""
        hosting = self.hosting
        own = {type_: fresh for type_, fresh in move.fresh.items() if type_ in hosting.horizon}
        if not hosting.in_order and not move.behind.isdisjoint(hosting.horizon):
            self._living.stale = True
        if self._living.stale:
            if hosting.terminators.isdisjoint(own):
                return  # it is made anew when there is something to find, from what the log has then
            self._replay(move)
        if not own and not hosting.timed:
            return
        self._work.fed += sum(len(fresh.rows) for fresh in own.values())
        yield from self._living.feed(own, move.after, move.upto)

    def _replay(self, move: Move) -> None:
        """Bring a new engine to where the old one was, knowing also what has come late."""
        self._living = _Living(self.hosting)
        self._living.pause()
        past = {}
        for type_, reach in self.hosting.horizon.items():
            if reach and type_ in move.logs:
                block, rows = move.logs[type_].between(move.after - reach, move.after)
                if len(rows):
                    past[type_] = Fresh(block, rows)
        for _ in self._living.feed(past, move.after - max(self.hosting.horizon.values()), move.after):
            pass  # nothing: the rules are paused
        self._living.resume()
        self._work.replays += 1
        self._work.replayed += sum(len(fresh.rows) for fresh in past.values())


@dataclass(slots=True)
class _Living:
    """An engine, and which of the stages it has reached."""

    hosting: Hosting
    engine: Engine | None = None
    stage: int = 0
    paused: list[str] | None = None
    stale: bool = False
    _names: list[str] = field(default_factory=list)

    def pause(self) -> None:
        self.paused = []

    def resume(self) -> None:
        for name in self.paused or ():
            assert self.engine is not None
            self.engine.resume(name)
        self.paused = None

    def feed(self, fresh: Mapping[str, Fresh], after: int, upto: int) -> Iterator[Detections]:
        stages = self.hosting.stages
        while self.stage < len(stages) and stages[self.stage].since < upto:
            since = stages[self.stage].since
            if self.engine is not None and since > after:
                yield from self._send({t: f.cut(after, since) for t, f in fresh.items()}, since)
                after = since
            self._deploy(stages[self.stage].rules)
            self.stage += 1
        if self.engine is None:
            return
        first = stages[0].since
        if first > after:
            fresh = {t: f.cut(first, upto) for t, f in fresh.items()}
        elif self.stage > 1 and stages[self.stage - 1].since >= after:
            fresh = {t: f.cut(after, upto) for t, f in fresh.items()}
        yield from self._send(fresh, upto)

    def _deploy(self, rules: RuleSet) -> None:
        if self.engine is None:
            self.engine = Engine(rules)
            names = [rule.name for rule in rules]
        else:
            names = self.engine.deploy("\n".join(rule.canonical_text for rule in rules))
        if self.paused is not None:
            for name in names:
                self.engine.pause(name)
            self.paused += names

    def _send(self, fresh: Mapping[str, Fresh], upto: int) -> Iterator[Detections]:
        assert self.engine is not None
        given = [one for one in fresh.values() if len(one.rows)]
        if given:
            columns = [self._columns(one) for one in given]
            found = self.engine.send_columns(columns, merged([one.block for one in given]))
            if len(found):
                yield found
        if self.hosting.timed and upto < LAST_TIMESTAMP:
            found = self.engine.advance(Decimal(upto + 1) / _SECOND)
            if len(found):
                yield found

    def _columns(self, fresh: Fresh) -> Columns:
        table = fresh.block.table
        values: dict[str, Any] = {
            name[1:]: table.column(name) for name in table.column_names if name.startswith(SEPARATOR)
        }
        ids = None
        if self.hosting.row is not None:
            values[self.hosting.row] = pa.array(fresh.rows, pa.int64())
        else:
            ids = ids_of(table)
        return Columns(fresh.block.type, np.ascontiguousarray(fresh.block.times), values, ids)


def ids_of(table: pa.Table) -> Any:
    """The ids of events as a column: those that sources gave, else `origin/number`."""
    if len(table) <= _FEW:
        return pa.array(Block("", table).ids(), pa.string())  # quicker than kernels for columns
    given: Any = table.column(ID) if ID in table.column_names else None
    if given is not None and not given.null_count:
        return given
    origins: Any = table.column(ORIGIN).cast(pa.string())
    numbers: Any = table.column(NUMBER).cast(pa.string())
    made: Any = pc.binary_join_element_wise(origins, numbers, "/")
    return made if given is None else pc.coalesce(given, made)
