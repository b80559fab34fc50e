"""One file of a log: records one after the other, each with its number and a checksum."""

from __future__ import annotations

import errno
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"TYREXLG1"
HEADER = struct.Struct(">IIQB")
"""The payload's length, the checksum, the record's number and its kind."""
_CHECKED = struct.Struct(">QB")
LARGEST = 1 << 30
"""A record has no more bytes than that; a length beyond it is damage."""
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class LogDamaged(Exception):
    """A log holds what was never written to it; the message names the file and the place."""


class LogFailed(Exception):
    """The disk failed to keep what was written: nothing more is written until the log is opened again."""


class DiskFull(Exception):
    """There is no room for a record. Nothing of it stands in the log, which can be used on."""


@dataclass(frozen=True, slots=True)
class Record:
    """What was written, and where it stands among all records."""

    number: int
    kind: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class Torn:
    """The end of a segment that is no whole record."""

    offset: int
    """Where the last whole record ends."""
    reason: str


def checksum(number: int, kind: int, payload: bytes) -> int:
    """Of all that a record holds."""
    return zlib.crc32(payload, zlib.crc32(_CHECKED.pack(number, kind)))


class SegmentWriter:
    """Appends records to a segment."""

    def __init__(self, path: Path, size: int) -> None:
        """Append behind the first `size` bytes; what stands behind them is cut off."""
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o640)
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._written = size
        os.ftruncate(self._file, size)
        os.lseek(self._file, size, os.SEEK_SET)
        if size == 0:
            self._waiting = [MAGIC]
            self._waiting_bytes = len(MAGIC)

    @property
    def size(self) -> int:
        """Bytes of the segment, with what is still to be written."""
        return self._written + self._waiting_bytes

    def append(self, record: Record) -> None:
        """Put a record behind the others; it is safe after `sync`."""
        self._waiting.append(
            HEADER.pack(
                len(record.payload),
                checksum(record.number, record.kind, record.payload),
                record.number,
                record.kind,
            )
        )
        self._waiting.append(record.payload)
        self._waiting_bytes += HEADER.size + len(record.payload)

    def write(self) -> None:
        """Hand all that was appended to the operating system; `DiskFull` leaves none of it there."""
        if not self._waiting:
            return
        data = memoryview(b"".join(self._waiting))
        self._waiting, self._waiting_bytes = [], 0
        done = 0
        try:
            while done < len(data):
                done += os.write(self._file, data[done:])
        except OSError as error:
            self._take_back(error)
        self._written += len(data)

    def _take_back(self, error: OSError) -> None:
        """Cut off what was written in part."""
        try:
            os.ftruncate(self._file, self._written)
            os.lseek(self._file, self._written, os.SEEK_SET)
        except OSError as second:
            raise LogFailed(f"{self.path} can't be written, nor cut back: {second}") from error
        if error.errno in _NO_ROOM:
            if self._written == 0:
                self._waiting, self._waiting_bytes = [MAGIC], len(MAGIC)
            raise DiskFull(f"there is no room for {self.path}: {error.strerror}") from None
        raise LogFailed(f"{self.path} can't be written: {error}") from error

    def sync(self) -> None:
        """Write, and wait until the disk has it."""
        self.write()
        try:
            os.fdatasync(self._file)
        except OSError as error:
            # What the system could not write it may have forgotten: trying again would seem to succeed.
            raise LogFailed(f"{self.path} could not be brought to the disk: {error}") from error

    def close(self) -> None:
        """Let go of the file; what was not written is dropped."""
        os.close(self._file)


def read_segment(path: Path, first: int) -> Iterator[Record | Torn]:
    """The records of a segment, numbered from `first` on; at the end a `Torn` if something else stands there.

    A wrong checksum with whole records behind it is damage, not a torn end: `LogDamaged`.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        magic = file.read(len(MAGIC))
        if magic != MAGIC:
            if MAGIC.startswith(magic):
                yield Torn(0, "its beginning was not written whole")
                return
            raise LogDamaged(f"{path} is no log of this version: it begins with {magic!r}")
        offset, number = len(MAGIC), first
        while offset < size:
            header = file.read(HEADER.size)
            if len(header) < HEADER.size:
                yield Torn(offset, f"{len(header)} bytes are no whole header")
                return
            length, expected, found, kind = HEADER.unpack(header)
            if length > LARGEST or offset + HEADER.size + length > size:
                yield from _torn(path, offset, size, f"a record of {length:,} bytes is not whole")
                return
            payload = file.read(length)
            if found != number or checksum(found, kind, payload) != expected:
                yield from _torn(path, offset, size, "a record has the wrong checksum", length)
                return
            yield Record(number, kind, payload)
            offset += HEADER.size + length
            number += 1


def _torn(path: Path, offset: int, size: int, reason: str, length: int | None = None) -> Iterator[Torn]:
    """The end is torn if nothing whole stands behind it."""
    behind = None if length is None else offset + HEADER.size + length
    if behind is not None and behind < size and _is_record(path, behind, size):
        raise LogDamaged(
            f"{path} is damaged at byte {offset}: {reason}, and whole records stand behind it. Restore the file "
            "from a copy, or move it away with those after it to go on with what is before"
        )
    yield Torn(offset, reason)


def _is_record(path: Path, offset: int, size: int) -> bool:
    with path.open("rb") as file:
        file.seek(offset)
        header = file.read(HEADER.size)
        if len(header) < HEADER.size:
            return False
        length, expected, number, kind = HEADER.unpack(header)
        if offset + HEADER.size + length > size:
            return False
        return bool(checksum(number, kind, file.read(length)) == expected)
