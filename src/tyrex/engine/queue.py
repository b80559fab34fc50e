"""A bounded queue before an engine: many threads send, one thread works.

Whatever waits is processed as one batch: an idle engine answers at once, a busy one takes ever larger batches.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, cast

from tyrex.engine.detections import Detections
from tyrex.engine.encode import as_table, events_in
from tyrex.engine.engine import Engine, Moment
from tyrex.events import Event, EventError, Value, to_microseconds

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
WhenFull: TypeAlias = Literal["block", "drop", "error"]

_log = logging.getLogger(__name__)


class QueueFull(RuntimeError):
    """There is no room for the events, and the queue is not to wait; none of them was accepted."""


class QueueClosed(RuntimeError):
    """The queue takes no more events."""


class ConsumerError(RuntimeError):
    """Something went wrong behind the queue, in the engine or in a callback; the cause is the first error."""


@dataclass(frozen=True)
class QueueStats:
    """Counts of a queue since it was made."""

    length: int
    """Events that wait."""
    greatest: int
    """The greatest length so far."""
    capacity: int
    accepted: int
    processed: int
    dropped: int
    """Events that found no room."""
    rejected: int
    """Events that were none of their type."""
    batches: int
    errors: int
    """Exceptions of callbacks and of the engine."""


@dataclass(frozen=True)
class _Call:
    """Something that is to be done with the engine, in its turn."""

    function: Callable[[Engine], Any]
    answer: Future[Any]


_Item: TypeAlias = "Event | pa.Table | _Call"


class QueuedEngine:
    """An engine behind a queue: any thread may send, callbacks bring the results.

    Callbacks run in the thread that owns the engine, in the order of the events. Until `close`, use the engine
    only through `call`.

    >>> found = []
    >>> engine = Engine("event A(v: int) define Big(v: int) from A(v > 9) where v = A.v")
    >>> with QueuedEngine(engine, on_detections=found.extend) as queued:
    ...     queued.send("A", timestamp=1, v=10)
    True
    >>> [str(event) for event in found]
    ['Big@1(v=10)']
    """

    def __init__(
        self,
        engine: Engine,
        *,
        capacity: int = 10_000,
        when_full: WhenFull = "block",
        on_detections: Callable[[Detections], object] | None = None,
    ) -> None:
        """A queue of so many events at most.

        When it is full, `block` lets the sender wait, `drop` counts and forgets the event, `error` raises
        `QueueFull`. `on_detections` is called with what came of each batch, if there is anything.
        """
        if capacity < 1:
            raise ValueError(f"the capacity must be at least 1, found {capacity}")
        if when_full not in ("block", "drop", "error"):
            raise ValueError(f"when_full must be block, drop or error, found {when_full!r}")
        self.capacity = capacity
        self.when_full = when_full
        self._engine = engine
        self._on_detections = on_detections
        self._items: deque[_Item] = deque()
        self._length = self._greatest = self._accepted = self._processed = 0
        self._dropped = self._rejected = self._batches = self._errors = 0
        self._error: BaseException | None = None
        self._closing = False
        self._ended = False
        self._lock = threading.Lock()
        self._not_empty = threading.Condition(self._lock)
        self._not_full = threading.Condition(self._lock)
        self._progress = threading.Condition(self._lock)
        self._thread = threading.Thread(target=self._consume, name="tyrex engine", daemon=True)
        self._thread.start()

    # Producers

    def send(self, type: str, /, timestamp: Moment, *, id: str | None = None, **attributes: Value) -> bool:
        """Put an event into the queue; False if it was dropped.

        Raises `EventError` if it is no event of its type, and `ConsumerError` if something went wrong behind the
        queue since the last call; in both cases it was not accepted.
        """
        return self.send_batch((Event(type, to_microseconds(timestamp), attributes, id),)) == 1

    def send_batch(self, events: pa.Table | pa.RecordBatch | Iterable[Event | Mapping[str, Any]]) -> int:
        """Put events into the queue, as `Engine.send_batch` takes them; how many were not dropped.

        All of them are checked first, and if one is wrong, none is accepted.
        """
        table = as_table(events)
        try:
            if table is not None:
                self._engine._encoder.arrow(table)
                return self._put(len(table), lambda start, end: [table.slice(start, end - start)])
            given = cast("Iterable[Event | Mapping[str, Any]]", events)
            objects = events_in(given, self._engine.rules.types)
            for event in objects:
                self._engine._encoder.one(event)
        except EventError:
            with self._lock:
                self._rejected += 1
            raise
        return self._put(len(objects), lambda start, end: objects[start:end])

    def _put(self, count: int, part: Callable[[int, int], Iterable[_Item]]) -> int:
        done = 0
        with self._lock:
            self._check()
            while done < count:
                room = self.capacity - self._length
                if room < count - done and self._must_not_wait():
                    raise QueueFull(f"{count} events found room for {room} in a queue of {self.capacity}")
                if room == 0 and self.when_full == "block":
                    self._not_full.wait()
                    self._check()
                    continue
                taken = min(room, count - done)
                if taken:
                    self._items.extend(part(done, done + taken))
                    self._length += taken
                    self._accepted += taken
                    self._greatest = max(self._greatest, self._length)
                    self._not_empty.notify()
                done += taken
                if done < count and self.when_full == "drop":
                    self._dropped += count - done
                    break
        return done

    def _must_not_wait(self) -> bool:
        """Whether no room is an error; for a callback, which the queue would wait for, it always is."""
        inside = threading.current_thread() is self._thread
        return self.when_full == "error" or (inside and self.when_full == "block")

    def _check(self) -> None:
        """Raise what stands against going on; the lock is held."""
        self._raise_error()
        if self._closing or self._ended:
            raise QueueClosed("the queue is closed, and takes no more events")

    def _raise_error(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise ConsumerError(f"behind the queue: {error.__class__.__name__}: {error}") from error

    # The engine's turn

    def call(self, function: Callable[[Engine], T]) -> T:
        """Do something with the engine after everything sent before, and give its result: `call(Engine.snapshot)`."""
        if threading.current_thread() is self._thread:
            return function(self._engine)
        answer: Future[T] = Future()
        with self._lock:
            self._check()
            self._items.append(_Call(function, answer))
            self._not_empty.notify()
        return answer.result()

    def subscribe(self, filter: str, callback: Callable[[Event], object]) -> int:
        """Call back with each event that a TESLA filter lets through, as `Engine.subscribe` does."""
        return self.call(lambda engine: engine.subscribe(filter, self._guarded(callback)))

    def unsubscribe(self, number: int) -> None:
        """End a subscription."""
        self.call(lambda engine: engine.unsubscribe(number))

    def advance(self, time: Moment) -> None:
        """Let time pass, after everything sent before; results come by the callbacks."""
        self.call(lambda engine: self._deliver(engine.advance(time)))

    def flush(self, until: Moment | None = None) -> None:
        """Fire what is due, as `Engine.flush` does, after everything sent before; results come by the callbacks."""
        self.call(lambda engine: self._deliver(engine.flush(until)))

    def drain(self, timeout: float | None = None) -> bool:
        """Wait until everything accepted so far is processed; False if that takes longer than so many seconds."""
        if threading.current_thread() is self._thread:
            raise RuntimeError("a callback can't wait for the queue: it is waited for itself")
        with self._lock:
            target = self._accepted
            self._progress.wait_for(lambda: self._processed >= target or self._ended, timeout)
            self._raise_error()
            return self._processed >= target

    # Ending

    def close(self) -> None:
        """Take no more events, process what was accepted, and end; the engine is then free for other use.

        Senders that wait for room get `QueueClosed`. What went wrong and was not yet raised is raised here.
        """
        with self._lock:
            self._closing = True
            self._not_empty.notify_all()
            self._not_full.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join()
            with self._lock:
                self._raise_error()

    def __enter__(self) -> QueuedEngine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except ConsumerError:  # it is in the log; what went wrong in the block comes first
            if error is None:
                raise

    def stats(self) -> QueueStats:
        """Counts of events, batches and errors."""
        with self._lock:
            return QueueStats(
                length=self._length,
                greatest=self._greatest,
                capacity=self.capacity,
                accepted=self._accepted,
                processed=self._processed,
                dropped=self._dropped,
                rejected=self._rejected,
                batches=self._batches,
                errors=self._errors,
            )

    # The consumer

    def _consume(self) -> None:
        items: deque[_Item] | None = deque()
        try:
            while (items := self._take()) is not None:
                self._work_off(items)
        except BaseException as error:
            self._note(error)
            raise
        finally:
            with self._lock:
                self._ended = True
                left = [*(items or ()), *self._items]
                self._not_full.notify_all()
                self._progress.notify_all()
            for item in left:
                if isinstance(item, _Call):
                    item.answer.set_exception(QueueClosed("the queue has ended"))

    def _take(self) -> deque[_Item] | None:
        """Everything that waits, as soon as something does; None at the end."""
        with self._lock:
            self._not_empty.wait_for(lambda: self._items or self._closing)
            if not self._items:
                return None
            items, self._items = self._items, deque()
            self._length = 0
            self._not_full.notify_all()
            return items

    def _work_off(self, items: deque[_Item]) -> None:
        batch: list[Event] = []
        while items:
            item = items.popleft()
            if isinstance(item, Event):
                batch.append(item)
                continue
            self._process(batch)
            batch = []
            if isinstance(item, _Call):
                self._answer(item)
            else:
                self._process(item)
        self._process(batch)

    def _process(self, batch: list[Event] | pa.Table) -> None:
        if not len(batch):
            return
        try:
            self._deliver(self._engine.send_batch(batch))
        except EventError as error:
            # Rules were deployed since the events were checked; the engine has taken none of the batch.
            if len(batch) > 1 and isinstance(batch, list):
                for event in batch:
                    self._process([event])
                return
            self._note(error)
        except Exception as error:
            self._note(error)
        self._count(len(batch))

    def _count(self, processed: int) -> None:
        with self._lock:
            self._processed += processed
            self._batches += 1
            self._progress.notify_all()

    def _answer(self, call: _Call) -> None:
        try:
            call.answer.set_result(call.function(self._engine))
        except BaseException as error:
            call.answer.set_exception(error)
            if not isinstance(error, Exception):
                raise

    def _deliver(self, detections: Detections) -> None:
        if self._on_detections is not None and (len(detections) or detections.late):
            self._guarded(self._on_detections)(detections)

    def _guarded(self, callback: Callable[[T], object]) -> Callable[[T], None]:
        """A callback whose errors are noted, so that they don't keep the engine from going on."""

        def guarded(given: T) -> None:
            try:
                callback(given)
            except Exception as error:
                self._note(error)

        return guarded

    def _note(self, error: BaseException) -> None:
        _log.error("behind the queue: %s", error, exc_info=error)
        with self._lock:
            self._errors += 1
            self._error = self._error or error
