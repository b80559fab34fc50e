"""What a node keeps in its folder, and how it comes back from it: a snapshot, and the records behind it."""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tyrex.server.log import DiskFull, Journal, LogDamaged
from tyrex.server.node import snapshots
from tyrex.server.node.detections import DetectionLog
from tyrex.server.node.records import decode, encode
from tyrex.server.node.settings import NodeSettings
from tyrex.server.node.state import State, wanted

_log = logging.getLogger(__name__)


class DataUnusable(Exception):
    """The data of a folder can't be gone on with; the message says why, and what to do."""


@dataclass
class Recovered:
    """What was found in the folder of a node."""

    records: int = 0
    """That were replayed."""
    snapshot: int | None = None
    """The record that comes after the snapshot that was taken up."""
    trouble: list[str] = field(default_factory=list)
    """What was damaged, and passed over or cut off."""


class Store:
    """The event log, the detection log and the snapshots of a node."""

    def __init__(self, folder: Path, settings: NodeSettings, *, sync: bool) -> None:
        """Open a folder; `recover` has to come next."""
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(folder)
        try:
            self.journal = Journal(folder / "events", segment_bytes=settings.segment_bytes)
        except BaseException:
            os.close(self._lock)
            raise
        self.recovered = Recovered()
        self._settings = settings
        self._sync = sync
        self._snapshot_at = self.journal.next
        """Where the log was when a snapshot was taken, or put off, last."""
        self._snapshot_size = self.journal.size
        self._snapshot_time = time.monotonic()
        self.detections: DetectionLog

    def append(self, kind: int, payload: bytes) -> int:
        """Put a record behind the others."""
        return self.journal.append(kind, payload)

    def commit(self) -> None:
        """Make all that was appended safe; `DiskFull` takes it back."""
        if self._sync:
            self.journal.sync()
        else:
            self.journal.flush()

    def recover(self, on_progress: Callable[[int, int], None] | None = None) -> State:
        """The state that the log leads to; if there is none, the folder is let go."""
        try:
            return self._recovered(on_progress)
        except BaseException:
            os.close(self._lock)
            raise

    def _recovered(self, on_progress: Callable[[int, int], None] | None) -> State:
        torn = self.journal.recovery
        if torn.cut_off:
            self._note(
                f"{torn.cut_off} bytes at the end of the log were no whole record and were cut off: {torn.reason}"
            )
        state, trouble = snapshots.newest(self.folder / "snapshots")
        self.recovered.trouble += trouble
        if state is None and self.journal.first > 1:
            raise DataUnusable(
                f"{self.folder} has no whole snapshot, and its log begins only with record {self.journal.first}: "
                "restore the folder `snapshots` from a copy"
            )
        if state is not None:
            self.recovered.snapshot = state.position
            if not self.journal.first <= state.position <= self.journal.next:
                raise DataUnusable(
                    f"the snapshot in {self.folder} stands before record {state.position}, and the log has records "
                    f"{self.journal.first} to {self.journal.next - 1}: restore both from the same copy"
                )
        state = state or State.new(self._settings)
        self._open_detections(state)
        start, end = state.position, self.journal.next
        for record in self.journal.read(start):
            self.detections.add(state.replay(record.number, decode(record)))
            self.recovered.records += 1
            if on_progress is not None and record.number % 1000 == 0:
                on_progress(record.number - start, end - start)
        self._apply_settings(state)
        return state

    def _open_detections(self, state: State) -> None:
        self.detections = DetectionLog(
            self.folder / "detections",
            next_number=state.detection,
            segment_bytes=max(1 << 16, self._settings.segment_bytes // 8),
        )
        journal = self.detections.journal
        if journal.recovery.cut_off:
            self._note(f"{journal.recovery.cut_off} bytes at the end of the detection log are written again")
        if journal.next < state.detection:
            raise DataUnusable(
                f"the detection log in {self.folder} ends with {journal.next - 1}, and {state.detection - 1} were "
                "detected before the snapshot: restore it from a copy, or move the folder `detections` away to go on "
                "without the old ones"
            )

    def _apply_settings(self, state: State) -> None:
        new = wanted(self._settings)
        if self.journal.next > 1 and (new.delay, new.time_zone) != (
            state.engine.delay,
            state.engine.time_zone,
        ):
            raise DataUnusable(
                f"{self.folder} was begun with a delay of {state.engine.delay / 1e6:g} s and the time zone "
                f"{state.engine.time_zone}: these can't be changed later; take the same, or another folder"
            )
        if self.journal.next == 1 or new != state.settings:
            number = self.append(*encode(new))
            self.commit()
            state.apply(number, new)

    def _note(self, trouble: str) -> None:
        _log.warning("%s", trouble)
        self.recovered.trouble.append(trouble)

    # Snapshots and retention

    def is_snapshot_due(self, state: State) -> bool:
        """Whether the log has grown enough, or time has passed, since the last one."""
        if state.position == self._snapshot_at:
            return False
        grown = self.journal.size - self._snapshot_size
        waited = time.monotonic() - self._snapshot_time
        return grown >= self._settings.snapshot_bytes or waited >= self._settings.snapshot_seconds

    def snapshot(self, state: State, now: int) -> None:
        """Take a snapshot, and forget what is too old for everything."""
        self.detections.write()
        if self.detections.is_behind:
            raise DiskFull("there is no room for what was detected")
        self.detections.journal.sync()
        snapshots.take(self.folder / "snapshots", state)
        self.put_off_snapshot()
        self._snapshot_at = state.position
        self.retain(now)

    def put_off_snapshot(self) -> None:
        """Count from here to the next one."""
        self._snapshot_size, self._snapshot_time = self.journal.size, time.monotonic()

    def retain(self, now: int) -> None:
        """Forget events and detections that are too old, or too many, but none that recovery needs."""
        taken = snapshots.paths(self.folder / "snapshots")
        needed = snapshots.position_of(taken[0]) if len(taken) > 1 else 1
        size, age = self._settings.keep_bytes, self._settings.keep_seconds
        for journal, limit in ((self.journal, needed), (self.detections.journal, self.detections.last + 1)):
            too_much = journal.starts_after(size)
            too_old = journal.starts_since(now / 1e6 - age)
            dropped = journal.drop_before(min(max(too_much, too_old), limit))
            if dropped:
                _log.info("%d old records were forgotten", dropped)

    def close(self) -> None:
        """Make all safe, and let go of the files."""
        try:
            self.journal.close()
        finally:
            self.detections.close()
            os.close(self._lock)


def _locked(folder: Path) -> int:
    """Keep other processes from the folder, until this one closes it or ends."""
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o640)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise DataUnusable(
            f"{folder} is in use by another server: end that one first, or take another folder"
        ) from None
    return lock


__all__ = ["DataUnusable", "LogDamaged", "Recovered", "Store"]
