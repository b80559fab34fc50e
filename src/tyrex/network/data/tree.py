"""One tree at one processor: events come in, time moves, and out come events for the parent and composites."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tyrex.engine import Detections
from tyrex.events import LAST_TIMESTAMP
from tyrex.network.blocks import ID, NUMBER, ORIGIN, SEPARATOR, TIME, Block, concatenated
from tyrex.network.data.deployed import RowsHosting, deployed
from tyrex.network.data.hosts import Fresh, Host, Move, Work
from tyrex.network.data.interface import Step, Task
from tyrex.network.data.log import Log
from tyrex.network.data.order import NEVER, Clock, Inbox


class LocalTree:
    """The data plane of one epoch of one tree at one processor, where everything is pushed."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._clock = Clock(task.children)
        self._inbox = Inbox()
        self._time = NEVER
        self._work = Work()
        plan = deployed(task)
        self._rows = [(one, Host(one.hosting, self._work)) for one in plan.rows]
        self._groups = [Host(hosting, self._work) for hosting in plan.groups]
        self._keep = dict(plan.keep)
        self._logs = {type_: Log(type_) for type_ in plan.keep}
        self._made = 0
        self._counts: dict[str, int] = defaultdict(int)

    # What comes in

    def local(self, blocks: Sequence[Block], upto: int) -> None:
        """Take events of the processor's own sources; there will be no others up to this time."""
        for block in blocks:
            self._inbox.put(block)
        self._clock.local(min(upto, LAST_TIMESTAMP))

    def received(self, child: str, blocks: Sequence[Block], upto: int | None, answered: int | None) -> None:
        """Take what a child sent for this tree; without `upto` its time has not moved."""
        for block in blocks:
            self._inbox.put(block)
        if upto is not None:
            self._clock.child(child, upto)

    # What goes out

    def step(self) -> Step:
        """Do what can be done with all that has come."""
        upto = self._clock.time
        up: list[Block] = []
        composites: list[Block] = []
        if upto > self._time:
            up, composites = self._move(upto)
            self._time = upto
            self._forget()
        self._counts["sent"] += sum(len(block) for block in up)
        return Step(tuple(up), self._time, None, tuple(composites), self._time, ())

    def _move(self, upto: int) -> tuple[list[Block], list[Block]]:
        move, passed = self._fresh(self._inbox.until(upto), upto)
        rows: dict[str, list[Any]] = defaultdict(list)
        for rows_hosting, host in self._rows:
            for found in host.move(move):
                self._collect(rows_hosting, found, rows)
        sent = [*passed, *self._sent(rows)]
        made: dict[str, list[pa.Table]] = defaultdict(list)
        for host in self._groups:
            for found in host.move(move):
                for type_, table in found.tables().items():
                    made[type_].append(table)
        return sent, [block for type_, tables in made.items() for block in self._composites(type_, tables)]

    def _fresh(self, due: Mapping[str, list[Block]], upto: int) -> tuple[Move, list[Block]]:
        """The events of a move in order, in the logs of those that look at them; and those that are passed on."""
        fresh: dict[str, Fresh] = {}
        behind: set[str] = set()
        passed = []
        for type_, blocks in due.items():
            block = concatenated(blocks)
            self._counts["received"] += len(block)
            if type_ in self.task.everything:
                passed.append(block)
            if type_ not in self._logs:
                if type_ not in self.task.everything:
                    self._counts["unused"] += len(block)
                continue
            rows = self._logs[type_].append(block)
            late = int(np.searchsorted(block.times, self._time, side="right"))
            if late:
                behind.add(type_)
                self._counts["behind"] += late
                block = Block(type_, block.table.slice(late))
            if len(block):
                fresh[type_] = Fresh(block, rows[late:])
        return Move(self._time, upto, fresh, frozenset(behind), self._logs), passed

    def _collect(self, hosting: RowsHosting, found: Detections, rows: dict[str, list[Any]]) -> None:
        for made, columns in found.columns().items():
            for column in hosting.columns[made]:
                if column.type not in self.task.everything:
                    rows[column.type].append(columns[column.attribute].to_numpy())

    def _sent(self, rows: Mapping[str, list[Any]]) -> Iterable[Block]:
        for type_, found in rows.items():
            log = self._logs[type_]
            new = log.to_send(_ascending(found))
            if len(new):
                yield Block(type_, log.take(new)).in_order()

    def _composites(self, type_: str, tables: Sequence[pa.Table]) -> Iterable[Block]:
        table = tables[0] if len(tables) == 1 else pa.concat_tables(tables)
        times = np.asarray(table.column(TIME).cast(pa.int64()))
        late = times <= self.task.start
        if late.any():
            table = table.filter(pa.array(~late))
            times = times[~late]
        count = len(table)
        if not count:
            return
        columns: dict[str, Any] = {
            TIME: pa.array(times),
            ORIGIN: pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), pa.array([self.task.name])),
            NUMBER: pa.array(np.arange(self._made, self._made + count)),
            ID: table.column(ID).cast(pa.string()),
        }
        for attribute in self.task.types[type_].attributes:
            name = attribute.name if attribute.name not in _RESERVED else f"attributes.{attribute.name}"
            column: Any = table.column(name)
            if pa.types.is_large_string(column.type):
                column = column.cast(pa.string())
            columns[SEPARATOR + attribute.name] = column
        self._made += count
        self._counts["composites"] += count
        yield Block(type_, pa.table(columns)).in_order()

    def _forget(self) -> None:
        for type_, log in self._logs.items():
            log.forget(self._time + 1 - self._keep[type_])

    # What it knows of itself

    @property
    def time(self) -> int:
        """Up to when everything is done."""
        return self._time

    def counts(self) -> Mapping[str, int]:
        """What was dropped, kept, sent, detected, and what is held in histories and logs."""
        held = sum(len(log) for log in self._logs.values())
        return {
            "received": self._counts["received"],
            "sent": self._counts["sent"],
            "composites": self._counts["composites"],
            "dropped": sum(log.dropped for log in self._logs.values()),
            "unused": self._counts["unused"],
            "behind": self._counts["behind"],
            "held": held,
            "waiting": self._inbox.events,
            "fed": self._work.fed,
            "replays": self._work.replays,
            "replayed": self._work.replayed,
        }


_RESERVED = frozenset({"timestamp", "id", "rule"})


def _ascending(found: Sequence[Any]) -> Any:
    """Rows, each once."""
    rows = found[0] if len(found) == 1 else np.concatenate(found)
    if len(rows) > 1 and not (rows[1:] > rows[:-1]).all():
        rows = np.unique(rows)
    return rows
