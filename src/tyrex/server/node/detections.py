"""Detections, numbered: in the log for those who come back, in memory for those who are there."""

from __future__ import annotations

import json
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tyrex.events import Event
from tyrex.io.jsonevent import json_record, read_json_event
from tyrex.server.log import DiskFull, Journal

_KIND = 1
_IN_MEMORY = 20_000
_READ_AT_ONCE = 2_000
_log = logging.getLogger(__name__)
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Detection:
    """A composite event with its number among all that the node has detected."""

    number: int
    event: Event
    data: bytes
    """It as JSON: the number, the event, and in `lineage` the events it was made of."""

    @classmethod
    def of(cls, number: int, event: Event, lineage: tuple[Event, ...]) -> Detection:
        """A detection that was just made."""
        record = {"number": number, "event": json_record(event, lineage=lineage)}
        return cls(number, event, _encode(record).encode())

    @classmethod
    def read(cls, number: int, data: bytes) -> Detection:
        """A detection from the log."""
        return cls(number, _event(json.loads(data)["event"]), data)

    @property
    def lineage(self) -> list[Event]:
        """The events it was made of, in the order in which the rule declares them."""
        return [_event(part) for part in json.loads(self.data)["event"]["lineage"]]


def _event(record: dict[str, Any]) -> Event:
    return read_json_event(record)


@dataclass(frozen=True, slots=True)
class Page:
    """Detections that a filter lets through, and where to read on."""

    detections: list[Detection]
    next: int
    """The number to go on from."""
    missed: int = 0
    """How many were asked for that are kept no more."""


class DetectionLog:
    """All detections that are retained, by number.

    The node's thread adds; any thread reads. A reader that is slow costs nothing: it reads from the disk later on.
    """

    def __init__(self, folder: Path, *, next_number: int, segment_bytes: int) -> None:
        """Open the log of a folder, or begin one at a number."""
        self.journal = Journal(folder, segment_bytes=segment_bytes, first=next_number)
        self._recent: deque[Detection] = deque(maxlen=_IN_MEMORY)
        self._unwritten: list[Detection] = []
        self._is_full = False
        self._lock = threading.Lock()
        self._listeners: list[Callable[[], None]] = []
        self.last = self.journal.next - 1
        """The number of the newest detection that may be read."""

    @property
    def first(self) -> int:
        """The number of the oldest detection that is kept."""
        return self.journal.first

    @property
    def is_behind(self) -> bool:
        """Whether the disk had no room for some that are in memory."""
        return bool(self._unwritten)

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Be called, in the node's thread, whenever there is something new; what is given back ends that."""
        with self._lock:
            self._listeners.append(listener)

        def end() -> None:
            with self._lock:
                self._listeners.remove(listener)

        return end

    def add(self, detections: list[Detection]) -> None:
        """Add what was detected; what the log has already, from before a crash, is not written again."""
        new = [detection for detection in detections if detection.number > self.last]
        with self._lock:
            self._recent.extend(detections)
            self._unwritten += new
        self.write()
        if new:
            self.last = new[-1].number
            self.wake()

    def wake(self) -> None:
        """Call all who listen."""
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener()

    def write(self) -> None:
        """Write what is not written; if the disk has no room it stays in memory, to be tried again."""
        waiting = self._unwritten
        if not waiting:
            return
        for detection in waiting:
            self.journal.append(_KIND, detection.data)
        try:
            self.journal.flush()
        except DiskFull as error:
            if not self._is_full:
                _log.error("detections wait in memory: %s", error)
            self._is_full = True
            return
        self._is_full = False
        with self._lock:
            self._unwritten = []

    def read(
        self,
        start: int,
        filter_: Callable[[Event], bool] | None = None,
        limit: int = 500,
        *,
        scan: int = 10_000,
    ) -> Page:
        """Detections from a number on that a filter lets through.

        It looks at so many at most, and gives up to `limit`; what is given back says where to go on.
        """
        last = self.last
        missed = max(0, min(self.first, last + 1) - start)
        number = start + missed
        end = min(last, number + scan - 1)
        found: list[Detection] = []
        while number <= end:
            try:
                found_here = self._from(number, end)
            except LookupError:
                if number >= self.first:
                    raise
                if found:
                    break  # the gap is told by the next page
                missed += self.first - number  # they were forgotten meanwhile
                number = self.first
                continue
            for detection in found_here:
                number = detection.number + 1
                if filter_ is None or filter_(detection.event):
                    found.append(detection)
                    if len(found) >= limit:
                        return Page(found, number, missed)
        return Page(found, number, missed)

    def all(self, start: int = 0) -> Iterator[Detection]:
        """Every detection that is kept, from a number on."""
        number, last = max(start, self.first), self.last
        while number <= last:
            for detection in self._from(number, last):
                yield detection
                number = detection.number + 1

    def find(self, id_: str) -> Detection | None:
        """The latest detection of an id."""
        with self._lock:
            recent = list(self._recent)
        for detection in reversed(recent):
            if detection.event.id == id_:
                return detection
        wanted, found = json.dumps(id_, ensure_ascii=False).encode(), None
        with suppress(FileNotFoundError):
            for record in self.journal.read(self.first):
                if wanted in record.payload:
                    detection = Detection.read(record.number, record.payload)
                    found = detection if detection.event.id == id_ else found
        return found

    def _from(self, number: int, end: int) -> list[Detection]:
        """Some detections from this number on, at least one."""
        with self._lock:
            oldest = self._recent[0].number if self._recent else None
            if oldest is not None and number >= oldest:
                offset = number - oldest
                stop = min(offset + _READ_AT_ONCE, len(self._recent), end - oldest + 1)
                return [self._recent[place] for place in range(offset, stop)]
            if self._unwritten and number >= self._unwritten[0].number:
                return [d for d in self._unwritten if number <= d.number <= end]
        found: list[Detection] = []
        with suppress(FileNotFoundError):  # a segment that is forgotten while it is looked for
            for record in self.journal.read(number):
                if record.number == number + len(found):
                    found.append(Detection.read(record.number, record.payload))
                if record.number >= end or len(found) >= _READ_AT_ONCE:
                    break
        if not found:
            raise LookupError(f"detection {number} is kept no more")
        return found

    def close(self) -> None:
        """Write all, and let go of the files."""
        self.write()
        self.journal.close()
