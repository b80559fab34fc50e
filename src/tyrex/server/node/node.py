"""A node: one thread that owns the log and the engine, behind a bounded queue that any thread may use."""

from __future__ import annotations

import logging
import tempfile
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from tyrex.engine import DoesNotFit, RuleInUse, UnknownRule
from tyrex.events import Conformer, EventError
from tyrex.io.layout import Batch
from tyrex.rules import RuleSet
from tyrex.server.log import DiskFull, LogFailed
from tyrex.server.node import batches
from tyrex.server.node.records import AnyRecord, EventsRecord, RulesRecord, TimeRecord, encode
from tyrex.server.node.recovery import Recovered, Store
from tyrex.server.node.rulebook import RuleRefused
from tyrex.server.node.settings import NodeSettings
from tyrex.server.node.state import State
from tyrex.tesla import TeslaError

T = TypeVar("T")
_log = logging.getLogger(__name__)
_GROUP = 256
"""How many batches are made safe at once, at most: more would let those who wait for the first wait too long."""
_GROUP_EVENTS = 50_000
_RETRY_DISK = 1.0


class Busy(RuntimeError):
    """There is no room in the queue: send again a little later."""


class NodeClosed(RuntimeError):
    """The node takes nothing more: it is shutting down, or its disk has failed."""


@dataclass(frozen=True, slots=True)
class Publication:
    """Events that a source sends together: all of them are accepted, or none."""

    source: str
    parts: list[Batch]
    types: int
    """How many event types were known when they were read."""
    key: str | None = None

    @property
    def count(self) -> int:
        """How many events it has."""
        return sum(map(len, self.parts))


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a publication. It is safe by then."""

    accepted: int
    duplicates: int
    record: int
    """Its place in the log; 0 if nothing was new."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What a change of the rules did."""

    record: int
    names: tuple[str, ...]


@dataclass
class _Item:
    """Something that waits for the node's thread."""

    work: Publication | RulesRecord | Callable[[State], Any]
    answer: Future[Any] = field(default_factory=Future)


@dataclass
class Progress:
    """How the node's thread is doing."""

    waiting: int = 0
    """Events in the queue."""
    greatest: int = 0
    busy: int = 0
    """Publications that were refused as there was no room."""
    full: int = 0
    """Publications that were refused as the disk was full."""
    syncs: int = 0
    records: int = 0
    snapshots: int = 0
    failed: str = ""
    """Why the node takes nothing more."""
    disk_full: bool = False


class Node:
    """An engine that is kept through crashes, numbers what it detects, and changes its rules while events flow."""

    def __init__(
        self,
        data: Path | None,
        settings: NodeSettings | None = None,
        *,
        clock: Callable[[], int],
        on_recovery: Callable[[int, int], None] | None = None,
    ) -> None:
        """Open the data of a folder, and go on where it ended; without one, nothing is kept.

        `clock` gives the time in microseconds since the epoch; `on_recovery` is told how far the replay is.
        """
        self.settings = settings or NodeSettings()
        self._clock = clock
        self._temporary = None if data is not None else tempfile.TemporaryDirectory(prefix="tyrex-")
        self.folder = Path(self._temporary.name) if self._temporary is not None else Path(str(data))
        self.is_durable = data is not None and self.settings.sync
        self._store = Store(self.folder, self.settings, sync=self.is_durable)
        self._state = self._store.recover(on_recovery)
        self.detections = self._store.detections
        self.recovered: Recovered = self._store.recovered
        self.progress = Progress()
        self.rules: RuleSet = self._state.engine.rules
        """The deployed rules, and the types that are known."""
        self._items: deque[_Item] = deque()
        self._lock = threading.Lock()
        self._wake = threading.Condition(self._lock)
        self._closing = False
        self._next_tick = monotonic()
        self._thread = threading.Thread(target=self._run, name="tyrex node", daemon=True)
        self._thread.start()

    # For any thread

    def publish(self, publication: Publication) -> Future[Receipt]:
        """Hand over events; the answer comes when they are safe. `Busy` if there is no room in the queue."""
        count = publication.count
        with self._lock:
            self._check_open()
            progress = self.progress
            if progress.waiting and progress.waiting + count > self.settings.capacity:
                progress.busy += 1
                raise Busy(
                    f"{progress.waiting:,} events wait, and {self.settings.capacity:,} are allowed: "
                    "send again a little later"
                )
            progress.waiting += count
            progress.greatest = max(progress.greatest, progress.waiting)
            return self._put(publication)

    def change(self, record: RulesRecord) -> Future[Changed]:
        """Change the rules: from the same event on after every restart."""
        with self._lock:
            self._check_open()
            return self._put(record)

    def ask(self, function: Callable[[State], T]) -> Future[T]:
        """Have something looked up in the state, in its turn; what is asked must not change it."""
        with self._lock:
            self._check_open()
            return self._put(function)

    def now(self) -> int:
        """The time by the node's clock, in microseconds since the epoch."""
        return self._clock()

    @property
    def failure(self) -> str:
        """Why the node takes nothing more; empty if all is well."""
        return self.progress.failed

    @property
    def store(self) -> Store:
        """The logs and snapshots."""
        return self._store

    def close(self, *, snapshot: bool = True) -> None:
        """Take nothing more, finish what waits, take a snapshot, and let go of the files."""
        with self._lock:
            self._closing = True
            self._wake.notify_all()
        self._thread.join()
        try:
            if snapshot and not self.failure and self._temporary is None:
                self._store.snapshot(self._state, self._clock())
        finally:
            self._store.close()
            if self._temporary is not None:
                self._temporary.cleanup()

    def _check_open(self) -> None:
        if self.progress.failed:
            raise NodeClosed(self.progress.failed)
        if self._closing:
            raise NodeClosed("the node is shutting down: send again when it is back")

    def _put(self, work: Publication | RulesRecord | Callable[[State], Any]) -> Future[Any]:
        item = _Item(work)
        self._items.append(item)
        self._wake.notify()
        return item.answer

    # The node's thread

    def _run(self) -> None:
        try:
            while True:
                items = self._take()
                if items is None:
                    return
                try:
                    self._work(items)
                finally:
                    for item in items:  # all have their answers, unless the node has failed
                        _refuse(item, NodeClosed("the node has stopped"))
                self._let_time_pass()
                if self._store.is_snapshot_due(self._state):
                    self._snapshot()
        except BaseException as error:
            self._fail(f"the node has stopped: {error}")
            _log.critical("the node has stopped: %s", error, exc_info=error)

    def _fail(self, reason: str) -> None:
        with self._lock:
            self.progress.failed = reason
            items, self._items = self._items, deque()
        for item in items:
            _refuse(item, NodeClosed(reason))

    def _take(self) -> list[_Item] | None:
        """Some of what waits, as soon as something does; nothing if it is time for something else, None at the end."""
        with self._lock:
            self._wake.wait_for(lambda: self._items or self._closing, self._pause())
            if not self._items and self._closing:
                return None
            taken: list[_Item] = []
            events = 0
            while self._items and len(taken) < _GROUP and events < _GROUP_EVENTS:
                item = self._items.popleft()
                if isinstance(item.work, Publication):
                    events += item.work.count
                if item.answer.set_running_or_notify_cancel():  # else nobody waits for it any more
                    taken.append(item)
            self.progress.waiting -= events
            return taken

    def _pause(self) -> float:
        if self.detections.is_behind:
            return _RETRY_DISK
        return self.settings.tick if self.settings.clock == "wall" else 5.0

    def _work(self, items: list[_Item]) -> None:
        """Work off what was taken: publications that stand together become safe together."""
        group: list[_Item] = []
        if self.detections.is_behind:
            self.detections.write()
        for item in items:
            if isinstance(item.work, Publication):
                group.append(item)
                continue
            self._commit(group)
            group = []
            if isinstance(item.work, RulesRecord):
                self._change(item, item.work)
            else:
                _answer(item, item.work, self._state)
        self._commit(group)

    def _commit(self, group: list[_Item]) -> None:
        if not group:
            return
        receipts: list[tuple[_Item, Receipt]] = []
        records: list[tuple[int, EventsRecord]] = []
        pending: set[tuple[str, str]] = set()
        try:
            if self.detections.is_behind:
                raise DiskFull("there is no room for what was detected")
            for item in group:
                assert isinstance(item.work, Publication)
                try:
                    record, duplicates = self._record(item.work, pending)
                except Exception as error:  # nothing has changed so far: it is the publication that is wrong
                    if not isinstance(error, EventError):
                        _log.exception("a publication could not be read")
                    _refuse(item, error)
                    continue
                number = 0
                if record.count:
                    number = self._store.append(*encode(record))
                    records.append((number, record))
                receipts.append((item, Receipt(record.count, duplicates, number)))
            if records:
                self._store.commit()
                self.progress.syncs += 1
            self.progress.disk_full = False
        except DiskFull as error:
            self._is_full(error)
            for item, _ in receipts:
                _refuse(item, error)
            for item in group:
                _refuse(item, error)
            return
        except LogFailed as error:
            for item in group:
                _refuse(item, NodeClosed(str(error)))
            raise
        for item, receipt in receipts:
            self._state.counts.duplicates += receipt.duplicates
            item.answer.set_result(receipt)
        for number, record in records:
            self._apply(number, record)

    def _is_full(self, error: DiskFull) -> None:
        self.progress.full += 1
        if not self.progress.disk_full:
            _log.error("new events are refused: %s", error)
        self.progress.disk_full = True

    def _record(self, publication: Publication, pending: set[tuple[str, str]]) -> tuple[EventsRecord, int]:
        """What of a publication is new, and how much is not; `pending` is what stands before it in this group."""
        source, state = publication.source, self._state
        parts: list[Batch] = []
        duplicates = 0
        if publication.key is not None:
            key = (f"{source}\0key", publication.key)
            if key in pending or state.knows_key(source, publication.key):
                return EventsRecord(source, None, 0, 0, (0, 0), ()), publication.count
            pending.add(key)
        given = publication.parts
        if publication.types != len(state.engine.rules.types):  # types were added since they were read
            conform = Conformer({n: t for n, t in state.engine.rules.types.items() if n != "Timer"})
            given = [batches.conformed(batch, conform) for batch in given]
        for batch in given:
            ids = batches.ids_of(batch)
            part = batch
            if ids is not None:
                kept = []
                for place, id_ in enumerate(ids):
                    if id_ is not None:
                        if (source, id_) in pending or state.seen.has(source, id_):
                            continue
                        pending.add((source, id_))
                    kept.append(place)
                duplicates += len(ids) - len(kept)
                if len(kept) < len(ids):
                    part = batches.only(batch, kept)
            if len(part):
                parts.append(part)
        spans = [batches.span_of(part) for part in parts]
        span = (min(s[0] for s in spans), max(s[1] for s in spans)) if spans else (0, 0)
        count = sum(map(len, parts))
        return EventsRecord(source, publication.key, self._clock(), count, span, parts), duplicates

    def _change(self, item: _Item, record: RulesRecord) -> None:
        try:
            self._state.rulebook.check(self._state.engine, record, limit=self.settings.rules)
            number = self._store.append(*encode(record))
            self._store.commit()
            self._state.apply(number, record)
        except (TeslaError, RuleRefused, RuleInUse, UnknownRule, DoesNotFit) as error:
            self.rules = self._state.engine.rules
            _refuse(item, error)
            return
        except DiskFull as error:
            self._is_full(error)
            _refuse(item, error)
            return
        except LogFailed as error:
            _refuse(item, NodeClosed(str(error)))
            raise
        self.progress.records += 1
        self.rules = self._state.engine.rules
        item.answer.set_result(Changed(number, self._state.rulebook.history[-1].names))

    def _apply(self, number: int, record: AnyRecord) -> None:
        self.detections.add(self._state.apply(number, record))
        self.progress.records += 1

    def _let_time_pass(self) -> None:
        """With the clock on the wall: let time pass, if something waits for it."""
        if self.settings.clock != "wall" or monotonic() < self._next_tick:
            return
        self._next_tick = monotonic() + self.settings.tick
        moment = self._clock() - self._state.engine.delay
        if self._state.moment is not None and moment <= self._state.moment:
            return  # the clock was set back: time stands until it has caught up
        stats = self._state.engine.stats()
        has_timers = any("Timer" in (s.type for s in rule.plan.states) for rule in self.rules)
        if not (stats.open_deadlines or stats.waiting or has_timers):
            return
        record = TimeRecord(moment)
        try:
            number = self._store.append(*encode(record))
            self._store.commit()
        except DiskFull as error:
            self._is_full(error)
            return
        self._apply(number, record)

    def _snapshot(self) -> None:
        try:
            self._store.snapshot(self._state, self._clock())
            self.progress.snapshots += 1
        except (OSError, DiskFull) as error:
            _log.error("no snapshot was taken, so a restart takes longer: %s", error)
            self._store.put_off_snapshot()


def _answer(item: _Item, function: Callable[[State], Any], state: State) -> None:
    try:
        item.answer.set_result(function(state))
    except Exception as error:
        item.answer.set_exception(error)


def _refuse(item: _Item, error: Exception) -> None:
    if not item.answer.done():
        item.answer.set_exception(error)
