"""Folders that a stream writes: a file for each micro-batch, in place all at once, so that none is there twice."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tyrex.events import Event
from tyrex.io import Found, open_writer, write_json_event
from tyrex.tesla.types import EventType

_OWNER = "_tyrex"
_REST = "rest"
_SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".parquet", ".arrow", ".feather")


class Taken(Exception):
    """A folder can't be written to: the message says what else is in it."""


class BatchFolder:
    """A folder of which each file is what one micro-batch brought.

    A micro-batch that runs again replaces its file. What a stream brings at its end is a file `rest`, which the next
    run takes away, as it will tell these events itself.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        name = path.name.lower()
        plain = name.removesuffix(".gz")
        kind = next((suffix for suffix in _SUFFIXES if plain.endswith(suffix)), None)
        self._suffix = ".jsonl" if kind is None else kind + name[len(plain) :]

    def claim(self, query: str) -> None:
        """Make it the folder of a query, whose checkpoint numbers the micro-batches."""
        path, owner = self._path, self._path / _OWNER
        if path.exists() and not path.is_dir():
            raise Taken(f"{path} is a file, and a stream writes a folder: give another name")
        path.mkdir(parents=True, exist_ok=True)
        if owner.exists():
            if owner.read_text("utf-8") != query:
                raise Taken(f"{path} is from another stream: give its `--checkpoint`, or another folder")
        elif any(path.iterdir()):
            raise Taken(f"{path} has other files in it: give another folder, which may be new")
        owner.write_text(query, "utf-8")
        for old in [path / self._name(None), *path.glob(".draft-*")]:
            old.unlink(missing_ok=True)

    @contextmanager
    def _file(self, batch: int | None) -> Iterator[Path]:
        """Where to write the file of a micro-batch, or of the rest; afterwards it has its name."""
        name = self._name(batch)
        draft = self._path / f".draft-{name}"
        yield draft
        draft.replace(self._path / name)

    def _nothing(self, batch: int | None) -> None:
        """A micro-batch that runs again, with another filter, may bring nothing where it brought something."""
        (self._path / self._name(batch)).unlink(missing_ok=True)

    def _name(self, batch: int | None) -> str:
        return f"{_REST if batch is None else f'{batch:09}'}{self._suffix}"

    def write_events(
        self, batch: int | None, found: Sequence[Found], types: Iterable[EventType], *, lineage: bool
    ) -> None:
        """Write composite events in the format of the folder."""
        if not found:
            self._nothing(batch)
        else:
            with (
                self._file(batch) as path,
                open_writer(str(path), types, lineage=lineage, standard_output=sys.stdout.buffer) as w,
            ):
                w.write(found)

    def write_lines(self, batch: int | None, records: Sequence[Event | dict[str, Any]]) -> None:
        """Write events or other records as JSON lines."""
        if not records:
            self._nothing(batch)
        else:
            with self._file(batch) as path, path.open("w", encoding="utf-8") as file:
                for record in records:
                    text = (
                        write_json_event(record)
                        if isinstance(record, Event)
                        else json.dumps(record, ensure_ascii=False)
                    )
                    file.write(f"{text}\n")
