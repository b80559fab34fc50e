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
from tyrex.network.data.deployed import RowsHosting, deployed, partials_of
from tyrex.network.data.hosts import Fresh, Host, Move, Work
from tyrex.network.data.interface import Step, Task
from tyrex.network.data.kept import Kept
from tyrex.network.data.log import Log
from tyrex.network.data.masters import masters_of
from tyrex.network.data.order import NEVER, Clock, Inbox
from tyrex.network.messages import Awaken, Retune, Span


class LocalTree:
    """The data plane of one epoch of one tree at one processor; see `interface.TreeData`."""

    def __init__(self, task: Task, *, period: int | None = None) -> None:
        """For a task; rates are looked at every `period` microseconds of event time."""
        self.task = task
        self._clock = Clock(task.children)
        self._inbox = Inbox()
        self._time = NEVER
        self._work = Work()
        plan = deployed(task)
        self._rows = [(one, Host(one.hosting, self._work)) for one in plan.rows]
        self._groups = [Host(hosting, self._work) for hosting in plan.groups]
        self._masters = masters_of(task, period)
        self._keep = dict(plan.keep)
        for type_, reach in ({} if self._masters is None else self._masters.keep).items():
            self._keep[type_] = max(self._keep.get(type_, 0), reach)
        self._logs = {type_: Log(type_) for type_ in self._keep}
        self._parts = {
            part.number: Kept(max((rule.hold for rule in partials_of(part, task.types)), default=0))
            for part in task.parts
        }
        self._asked: dict[str, list[Any]] = defaultdict(list)
        self._answer: int | None = None
        self._made = 0
        self._counts: dict[str, int] = defaultdict(int)

    # What comes in

    def local(self, blocks: Sequence[Block], upto: int) -> None:
        """Take events of the processor's own sources; there will be no others up to this time."""
        for block in blocks:
            self._inbox.put(block)
        if self._masters is not None:
            self._masters.came(self.task.name, blocks, self._time)
        self._clock.local(min(upto, LAST_TIMESTAMP))

    def received(self, child: str, blocks: Sequence[Block], upto: int | None, answered: int | None) -> None:
        """Take what a child sent for this tree; without `upto` its time has not moved."""
        for block in blocks:
            self._inbox.put(block)
        if self._masters is not None:
            self._masters.came(child, blocks, self._time)
            if answered is not None:
                self._masters.answered(child, answered)
        if upto is not None:
            self._clock.child(child, upto)

    def awakened(self, awaken: Awaken) -> None:
        """Take a question of the parent."""
        spans: dict[int, list[Span]] = defaultdict(list)
        for span in awaken.spans:
            spans[span.part].append(span)
        for number, some in spans.items():
            self._want(self._parts[number].awaken(some, self._logs))
        for kept in self._parts.values():
            kept.release(awaken.reached)
        self._answer = awaken.number

    def retuned(self, retune: Retune) -> None:
        """Take from the parent which parts are pushed and which are kept from now on."""
        for mode in retune.modes:
            self._want(self._parts[mode.part].retune(mode.mode, mode.keep, retune.reached))

    def _want(self, rows: Mapping[str, Any]) -> None:
        for type_, found in rows.items():
            if len(found):
                self._asked[type_].append(found)
                self._counts["pulled"] += len(found)

    # What goes out

    def step(self) -> Step:
        """Do what can be done with all that has come."""
        upto = self._clock.time
        if self._masters is not None:
            upto = min(upto, self._masters.limit())
        up: list[Block] = []
        composites: list[Block] = []
        if upto > self._time:
            up, composites = self._move(upto)
            self._time = upto
        rows, self._asked = self._asked, defaultdict(list)
        up += self._sent(rows)
        if self._masters is not None:
            self._masters.moved(self._time, self._logs, self._inbox)
        self._forget()
        self._counts["sent"] += sum(len(block) for block in up)
        answer, self._answer = self._answer, None
        down = () if self._masters is None else self._masters.down()
        return Step(tuple(up), self._time, answer, tuple(composites), self._time, down)

    def _move(self, upto: int) -> tuple[list[Block], list[Block]]:
        move, passed = self._fresh(self._inbox.until(upto), upto)
        for rows_hosting, host in self._rows:
            for found in host.move(move):
                self._collect(rows_hosting, found)
        made: dict[str, list[pa.Table]] = defaultdict(list)
        for host in self._groups:
            for found in host.move(move):
                for type_, table in found.tables().items():
                    made[type_].append(table)
        return passed, [block for type_, tables in made.items() for block in self._composites(type_, tables)]

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

    def _collect(self, hosting: RowsHosting, found: Detections) -> None:
        """Take the rows that partial rules have found: those to be sent now, and those to be kept."""
        for made, columns in found.columns().items():
            for column in hosting.columns[made]:
                if column.type in self.task.everything:
                    continue
                rows = _ascending([columns[column.attribute].to_numpy()])
                for part in hosting.parts[made]:
                    wanted = self._parts[part].matched(column.type, rows, self._logs[column.type])
                    if len(wanted):
                        self._asked[column.type].append(wanted)

    def _sent(self, rows: Mapping[str, list[Any]]) -> Iterable[Block]:
        for type_, found in rows.items():
            log = self._logs[type_]
            new = log.to_send(_ascending(found))
            if len(new):
                yield Block(type_, log.take(new)).in_order()

    def _composites(self, type_: str, tables: Sequence[pa.Table]) -> Iterable[Block]:
        table = tables[0] if len(tables) == 1 else pa.concat_tables(tables)
        moments: Any = table.column(TIME)
        times = np.concatenate([np.asarray(chunk.view(pa.int64())) for chunk in moments.chunks])
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
        """Let go of what no window reaches any more."""
        asked = []
        for part in self._parts.values():
            part.forget(self._time, self._logs)
            before = part.needs_from()
            if before is not None and len(part):
                asked.append(before)
        least = min(asked, default=LAST_TIMESTAMP)
        for type_, log in self._logs.items():
            log.forget(min(self._time + 1 - self._keep[type_], least))

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
            "kept": sum(len(part) for part in self._parts.values()),
            "pulled": self._counts["pulled"],
            "unasked": sum(part.dropped for part in self._parts.values()),
            "awakenings": 0 if self._masters is None else self._masters.awakenings,
            "switches": 0 if self._masters is None else self._masters.switches,
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
