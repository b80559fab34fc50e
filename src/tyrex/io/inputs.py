"""Inputs as a command names them: files of every format, directories, standard input, one type or many."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from tyrex.events import EventError
from tyrex.io.csvfile import CsvBatches
from tyrex.io.form import PLAIN, Form
from tyrex.io.formats import STANDARD_INPUT, begins_array
from tyrex.io.jsonarray import JsonArrayReader
from tyrex.io.jsonblocks import JsonLinesBatches
from tyrex.io.layout import Batch, Layout, require_arrow
from tyrex.io.reader import OnRejected
from tyrex.io.reading import BatchReader, FileProgress, Reading

_NAMED = re.compile(r"([^\W\d]\w*)=(.+)", re.DOTALL)
_TEXT = (".jsonl", ".ndjson", ".json", ".csv", ".tsv")
_TABLES = (".parquet", ".arrow", ".feather")
SUPPORTED = (
    "JSON lines (`.jsonl`, `.ndjson`, or `-` for standard input), JSON (`.json`), CSV (`.csv`, `.tsv`), each also "
    "with `.gz`, Parquet (`.parquet`), Arrow (`.arrow`, `.feather`), or a directory of these"
)


@dataclass(frozen=True)
class Input:
    """One input of events: files that follow each other, or standard input."""

    name: str
    """As it was named."""
    paths: tuple[Path, ...]
    """None for standard input."""
    form: Form = PLAIN


def find_input(word: str, layout: Layout, *, timestamp: str = PLAIN.timestamp) -> Input:
    """The input that a word of a command names: `events.jsonl`, `events/`, `-`, or `Temp=temps.parquet`.

    EventError if there is no event file behind it, OSError if there is nothing at all.
    """
    type_, word = split_type(word, layout)
    form = Form(type_, timestamp)
    if word == STANDARD_INPUT:
        return Input("standard input", (), form)
    path = Path(word)
    if path.is_dir():
        files = tuple(sorted(p for p in path.iterdir() if is_event_file(p)))
        if not files:
            raise EventError(f"{path} has no file of events in it: expected {SUPPORTED}")
        return Input(word, files, form)
    if not _format(path):
        raise EventError(f"the format of `{path}` is not known: expected {SUPPORTED}")
    path.stat()
    return Input(word, (path,), form)


def split_type(word: str, layout: Layout) -> tuple[str | None, str]:
    """The type of all events of an input and the rest of the word, which is all of it if it names no type."""
    named = None if Path(word).exists() else _NAMED.fullmatch(word)
    if named is None:
        return None, word
    type_, rest = named.groups()
    if type_ not in layout.types:
        close = get_close_matches(type_, layout.types, 1)
        known = f"did you mean `{close[0]}`?" if close else f"they know {', '.join(layout.types)}"
        raise EventError(f"the rules know no event type `{type_}`: {known}")
    return type_, rest


def open_input(input_: Input, layout: Layout, rejected: Callable[[str], OnRejected]) -> BatchReader:
    """A reader for all the batches of an input; `rejected` gives what takes the bad data of a source."""
    if not input_.paths:
        return JsonLinesBatches(sys.stdin.buffer, Reading(layout, rejected(input_.name), input_.form))
    readers = [_open(path, Reading(layout, rejected(str(path)), input_.form)) for path in input_.paths]
    return readers[0] if len(readers) == 1 else OneAfterAnother(readers)


class OneAfterAnother:
    """Several files as one input, the one after the other; a `BatchReader`."""

    def __init__(self, readers: Sequence[BatchReader]) -> None:
        self._readers = readers

    @property
    def size(self) -> int | None:
        """The bytes of all files."""
        sizes = [reader.size for reader in self._readers]
        return None if None in sizes else sum(size or 0 for size in sizes)

    @property
    def position(self) -> int:
        """How many of them were read."""
        return sum(reader.position for reader in self._readers)

    def __iter__(self) -> Iterator[Batch]:
        """The batches."""
        for reader in self._readers:
            yield from reader


class JsonArrayBatches(FileProgress):
    """Reads a file that is one JSON array, which is held in memory, in batches; a `BatchReader`."""

    def __init__(self, path: Path, reading: Reading) -> None:
        super().__init__(path)
        self._path = path
        self._reading = reading

    def __iter__(self) -> Iterator[Batch]:
        """The batches."""
        reading = self._reading
        reader = JsonArrayReader(
            self._path, types=reading.layout.types, form=reading.form, on_rejected=reading.on_rejected
        )
        for batch in reading.batches(reader):
            self.position = self.size or 0
            yield batch


def _open(path: Path, reading: Reading) -> BatchReader:
    format_ = _format(path)
    if format_ in _TABLES:
        require_arrow(f"`{path}`")
        from tyrex.io.arrowfiles import ArrowBatches, ParquetBatches

        return ParquetBatches(path, reading) if format_ == ".parquet" else ArrowBatches(path, reading)
    if format_ in (".csv", ".tsv"):
        return CsvBatches(path, reading, delimiter="," if format_ == ".csv" else "\t")
    if format_ == ".json" and begins_array(path):
        return JsonArrayBatches(path, reading)
    return JsonLinesBatches(path, reading)


def _format(path: Path) -> str | None:
    """The suffix that tells the format, if it is one that can be read."""
    name = path.name.lower()
    for suffix in (*_TEXT, *_TABLES):
        if name.endswith(suffix) or (suffix in _TEXT and name.endswith(f"{suffix}.gz")):
            return suffix
    return None


def is_event_file(path: Path) -> bool:
    """Whether a directory of events counts this file in: one that is not hidden, with a format that can be read."""
    return path.is_file() and not path.name.startswith((".", "_")) and _format(path) is not None
