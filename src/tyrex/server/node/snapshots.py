"""Snapshots of a node's state in a folder: two are kept, and a damaged one is passed over for the one before."""

from __future__ import annotations

import json
import logging
import os
import struct
import zlib
from pathlib import Path

from tyrex.engine import Engine, SnapshotError
from tyrex.server.node.state import State

_MAGIC = b"TYREXSN1"
_HEAD = struct.Struct(">8sIQ")
_KEPT = 2
_log = logging.getLogger(__name__)


class SnapshotDamaged(ValueError):
    """A file is no whole snapshot."""


def take(folder: Path, state: State) -> Path:
    """Write the state to a new file, whole or not at all (`OSError`); of more than two the oldest is deleted."""
    folder.mkdir(parents=True, exist_ok=True)
    meta = json.dumps(state.to_json()).encode()
    body = len(meta).to_bytes(8, "big") + meta + state.engine.snapshot()
    path = folder / f"{state.position:020d}.snapshot"
    new = path.with_suffix(".new")
    try:
        with new.open("wb") as file:
            file.write(_HEAD.pack(_MAGIC, zlib.crc32(body), len(body)))
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        new.rename(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
    for old in paths(folder)[:-_KEPT]:
        old.unlink()
    return path


def paths(folder: Path) -> list[Path]:
    """The snapshots of a folder, the oldest first."""
    return sorted(folder.glob("*.snapshot"))


def position_of(path: Path) -> int:
    """The record that comes after a snapshot."""
    return int(path.stem)


def read(path: Path) -> State:
    """The state in a file; `SnapshotDamaged` if it can't be read."""
    data = path.read_bytes()
    if len(data) < _HEAD.size:
        raise SnapshotDamaged(f"{path} has {len(data)} bytes: it was cut off")
    magic, checksum, length = _HEAD.unpack_from(data)
    body = data[_HEAD.size :]
    if magic != _MAGIC:
        raise SnapshotDamaged(f"{path} is no snapshot of this version: it begins with {magic!r}")
    if len(body) != length or zlib.crc32(body) != checksum:
        raise SnapshotDamaged(f"{path} is damaged: its checksum is wrong")
    end = 8 + int.from_bytes(body[:8], "big")
    try:
        engine = Engine.restore(body[end:])
    except SnapshotError as error:
        raise SnapshotDamaged(f"{path}: {error}") from None
    return State.from_json(engine, json.loads(body[8:end]))


def newest(folder: Path) -> tuple[State | None, list[str]]:
    """The state of the newest snapshot that is whole, if there is one, and why others were passed over."""
    trouble: list[str] = []
    for path in reversed(paths(folder)):
        try:
            return read(path), trouble
        except (SnapshotDamaged, OSError) as error:
            _log.error("a snapshot is passed over for the one before: %s", error)
            trouble.append(str(error))
    return None, trouble
