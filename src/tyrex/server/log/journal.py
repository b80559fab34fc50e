"""A log in a folder: segments of records, the newest of which grows."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tyrex.server.log.segment import (
    DiskFull,
    LogDamaged,
    LogFailed,
    Record,
    SegmentWriter,
    Torn,
    read_segment,
)

SEGMENT_BYTES = 64 << 20
_ENDING = ".log"


@dataclass(frozen=True, slots=True)
class Recovery:
    """What was found when a log was opened."""

    records: int
    cut_off: int
    """Bytes at the end that were no whole record."""
    reason: str
    """Why they were cut off; empty if nothing was."""


class Journal:
    """An append-only log. One thread writes; others may read what is written.

    `append` gives a record its number, `sync` makes all that was appended safe: one wait for the disk for all of it.
    """

    def __init__(self, folder: Path, *, segment_bytes: int = SEGMENT_BYTES, first: int = 1) -> None:
        """Open the log of a folder, or begin one whose first record has the number `first`."""
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._failed: str | None = None
        folder.mkdir(parents=True, exist_ok=True)
        self._starts = sorted(int(path.stem) for path in folder.glob(f"*{_ENDING}"))
        self.recovery = Recovery(0, 0, "")
        if self._starts:
            self._open_last()
        else:
            self._next = first
            self._begin_segment()
        self._synced = self._next

    @property
    def first(self) -> int:
        """The number of the oldest record that is kept."""
        return self._starts[0]

    @property
    def next(self) -> int:
        """The number that the next record gets."""
        return self._next

    @property
    def size(self) -> int:
        """Bytes of all segments."""
        older = sum(self._path(start).stat().st_size for start in self._starts[:-1])
        return older + self._writer.size

    def append(self, kind: int, payload: bytes) -> int:
        """Add a record behind the others, and give its number. It is safe when `sync` has come back."""
        if self._failed is not None:
            raise LogFailed(self._failed)
        number = self._next
        self._writer.append(Record(number, kind, payload))
        self._next += 1
        return number

    def sync(self) -> None:
        """Make everything that was appended safe.

        `DiskFull` takes back what was appended since the last `sync`: the log stands as if it had not been tried.
        """
        self._write(sync=True)

    def flush(self) -> None:
        """Hand everything that was appended to the operating system, without waiting for the disk."""
        self._write(sync=False)

    def _write(self, *, sync: bool) -> None:
        if self._failed is not None:
            raise LogFailed(self._failed)
        try:
            if sync:
                self._writer.sync()
            else:
                self._writer.write()
            self._synced = self._next
            if self._writer.size >= self._segment_bytes:
                self._writer.sync()
                self._begin_segment()
        except LogFailed as error:
            self._failed = str(error)
            raise
        finally:
            # After `DiskFull` what was appended is not there, so its numbers are free again.
            self._next = self._synced

    def read(self, start: int = 0) -> Iterator[Record]:
        """The records from number `start` on, as far as they are written."""
        starts, end = list(self._starts), self._synced
        place = max(0, bisect_right(starts, start) - 1)
        for first, following in zip(starts[place:], [*starts[place + 1 :], None], strict=True):
            number = first
            for record in read_segment(self._path(first), first):
                if isinstance(record, Torn):
                    if following is None:  # the writer is in the middle of it
                        return
                    raise LogDamaged(
                        f"{self._path(first)} is damaged at byte {record.offset}: {record.reason}. "
                        "Restore it from a copy"
                    )
                if record.number >= end:
                    return
                number += 1
                if record.number >= start:
                    yield record
            if following is not None and number != following:
                raise LogDamaged(
                    f"records {number} to {following - 1} are missing before {self._path(following)}"
                )

    def drop_before(self, number: int) -> int:
        """Forget the oldest segments all of whose records come before this one: how many records that were."""
        dropped = 0
        while len(self._starts) > 1 and self._starts[1] <= number:
            dropped += self._starts[1] - self._starts[0]
            self._path(self._starts[0]).unlink()
            self._starts = self._starts[1:]
        return dropped

    def starts_after(self, size: int) -> int:
        """The number to drop before, so that at most about `size` bytes are left."""
        left = self.size
        place = 0
        while left > size and place < len(self._starts) - 1:
            left -= self._path(self._starts[place]).stat().st_size
            place += 1
        return self._starts[place]

    def starts_since(self, moment: float) -> int:
        """The number to drop before, to forget what was written before a moment, in seconds since the epoch."""
        place = 0
        while place < len(self._starts) - 1 and self._path(self._starts[place]).stat().st_mtime < moment:
            place += 1
        return self._starts[place]

    def close(self) -> None:
        """Make everything safe and let go of the files."""
        try:
            if self._failed is None:
                self.sync()
        finally:
            self._writer.close()

    def _path(self, start: int) -> Path:
        return self._folder / f"{start:020d}{_ENDING}"

    def _open_last(self) -> None:
        last = self._starts[-1]
        number = last
        end: int | None = None
        reason = ""
        path = self._path(last)
        for found in read_segment(path, last):
            if isinstance(found, Torn):
                end, reason = found.offset, found.reason
            else:
                number = found.number + 1
        size = path.stat().st_size
        end = size if end is None else end
        self._next = number
        if end < size:
            self._keep_torn(path, end)
        self.recovery = Recovery(number - self._starts[0], size - end, reason)
        self._writer = SegmentWriter(path, end)

    def _keep_torn(self, path: Path, end: int) -> None:
        """What is cut off is put beside the log, for whoever wants to look at it."""
        with path.open("rb") as file:
            file.seek(end)
            path.with_suffix(f".torn-{end}").write_bytes(file.read())

    def _begin_segment(self) -> None:
        path = self._path(self._next)
        writer = SegmentWriter(path, 0)
        try:
            writer.sync()
        except DiskFull:
            writer.close()
            path.unlink()
            if not self._starts:
                raise
            return  # the present segment grows on
        if self._starts:
            self._writer.close()
        self._writer = writer
        self._starts = [*self._starts, self._next]
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)  # the name of the new file
        finally:
            os.close(folder)
