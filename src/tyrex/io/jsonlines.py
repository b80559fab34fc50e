"""Events as JSON lines: one object on each line of UTF-8 text."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeAlias, cast

from tyrex.events import Event, EventError
from tyrex.io.jsonevent import parse_json_event, read_json_event, write_json_event
from tyrex.io.reader import OnRejected, Rejections
from tyrex.tesla.types import EventType

__all__ = ["JsonLinesReader", "read_json_event", "write_json_event"]

Lines: TypeAlias = Iterable[bytes] | Iterable[str]
"""A stream, binary or of text, or any other source of lines."""

_BYTE_ORDER_MARK = "\ufeff"


class JsonLinesReader(Rejections):
    """Reads the events of a file or of a stream, a line at a time; an `EventReader`.

    A file is opened anew for each iteration (decompressed if its name ends in `.gz`) and closed after it; a
    stream is read once, and closing it is up to who opened it. Blank lines are skipped.

    >>> list(map(str, JsonLinesReader(['{"type": "Temp", "timestamp": 10, "value": 24.5}'])))
    ['Temp@10(value=24.5)']
    """

    def __init__(
        self,
        source: str | Path | Lines,
        *,
        types: Mapping[str, EventType] | None = None,
        strict: bool = False,
        on_rejected: OnRejected | None = None,
    ) -> None:
        super().__init__(strict=strict, on_rejected=on_rejected)
        self._source = source
        self._types = types

    def __iter__(self) -> Iterator[Event]:
        """The events of the lines that are events."""
        self._restart()
        if not isinstance(self._source, str | Path):
            yield from self._read(self._source)
            return
        path = Path(self._source)
        try:
            with opened(path) as stream:
                yield from self._read(stream)
        except DAMAGED as error:
            raise EventError(f"{path.name} is damaged after line {self._line_number}: {error}") from None

    def _read(self, lines: Lines) -> Iterator[Event]:
        types = self._types
        for number, line in enumerate(lines, 1):
            self._line_number = number
            try:
                self._text = text = (line.decode() if isinstance(line, bytes) else line).strip()
                if number == 1:
                    self._text = text = text.removeprefix(_BYTE_ORDER_MARK).lstrip()
                if not text:
                    continue
                if not text.isascii():
                    text.encode()  # a stream of text may hold what is no Unicode
                event = parse_json_event(text, types)
            except UnicodeError:
                if isinstance(line, bytes):
                    self._text = line.decode(errors="backslashreplace").strip()
                self.reject("not UTF-8: save the data in this encoding")
            except EventError as error:
                self.reject(str(error))
            else:
                yield event


DAMAGED = (gzip.BadGzipFile, EOFError, zlib.error)
"""What reading a damaged compressed file raises."""


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, decompressed if its name ends in `.gz`."""
    if path.suffix.lower() == ".gz":
        with gzip.open(path) as stream:
            yield cast(IO[bytes], stream)
    else:
        with path.open("rb") as file:
            yield file
