"""Events as JSON lines: one object on each line of UTF-8 text."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeAlias, cast

from tyrex.events import Event, EventError
from tyrex.io.decoder import SPACE
from tyrex.io.form import PLAIN, Form
from tyrex.io.jsonevent import parse_json_event, read_json_event, write_json_event
from tyrex.io.reader import OnRejected, Rejections
from tyrex.tesla.types import EventType

__all__ = ["JsonLinesReader", "read_json_event", "write_json_event"]

Lines: TypeAlias = Iterable[bytes | str]
"""A stream, binary or of text, or any other source of lines."""

_BYTE_ORDER_MARK = "\ufeff"


class JsonLinesReader(Rejections):
    """Reads the events of a file or of a stream, a line at a time; an `EventReader`.

    A file is opened anew for each iteration (decompressed if its name ends in `.gz`) and closed after it; a
    stream is read once, and closing it is up to who opened it. Blank lines are skipped. `first_line` is the
    number of the first line, where the lines before it were read by another.

    A compressed file that is damaged, or a stream of text that can't be decoded, ends in an EventError: what
    comes after that is lost, and nobody knows how much it was.

    >>> list(map(str, JsonLinesReader(['{"type": "Temp", "timestamp": 10, "value": 24.5}'])))
    ['Temp@10(value=24.5)']
    """

    def __init__(
        self,
        source: str | Path | Lines,
        *,
        types: Mapping[str, EventType] | None = None,
        form: Form = PLAIN,
        first_line: int = 1,
        strict: bool = False,
        on_rejected: OnRejected | None = None,
    ) -> None:
        super().__init__(_name_of(source), strict=strict, on_rejected=on_rejected)
        self._source = source
        self._types = types
        self._form = form
        self._first_line = first_line

    def __iter__(self) -> Iterator[Event]:
        """The events of the lines that are events."""
        self._restart()
        if isinstance(self._source, str | Path):
            with opened(Path(self._source)) as stream:
                yield from self._read(stream)
        else:
            yield from self._read(self._source)

    def _read(self, lines: Lines) -> Iterator[Event]:
        types, form = self._types, self._form
        for number, line in enumerate(self._intact(lines), self._first_line):
            self._line_number = number
            try:
                text = line.decode() if isinstance(line, bytes) else line
                if number == 1:
                    text = text.removeprefix(_BYTE_ORDER_MARK)
                self._text = text = text.rstrip(SPACE)
                if not text:
                    continue
                event = parse_json_event(text, types, form)
            except UnicodeDecodeError as error:
                self._text = error.object.decode(errors="backslashreplace").rstrip(SPACE)
                self.reject("not UTF-8: save the data in this encoding")
            except EventError as error:
                self.reject(str(error))
            else:
                yield event

    def _intact(self, lines: Lines) -> Iterator[bytes | str]:
        """The lines, up to where the source itself fails."""
        try:
            yield from lines
        except DAMAGED as error:
            raise self._broken_off(
                f"is damaged after line {self._line_number}: {error}; get it once more"
            ) from None
        except UnicodeDecodeError:
            raise self._broken_off(
                f"is not UTF-8 after line {self._line_number}: save the data in this encoding, "
                "or open it in binary mode, and only bad lines are rejected"
            ) from None

    def _broken_off(self, how: str) -> EventError:
        return EventError(f"{self._name or 'the data'} {how}")


def _name_of(source: str | Path | Lines) -> str:
    """What an error calls the source: a stream of a file has its name."""
    name = source if isinstance(source, str | Path) else getattr(source, "name", "")
    return str(name) if isinstance(name, str | Path) else ""


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
