"""Events as the elements of one JSON array, as a batch of CloudEvents or a saved answer of a service is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tyrex.events import Event, EventError
from tyrex.io.jsonevent import decoder, event_of
from tyrex.io.jsonlines import DAMAGED, opened
from tyrex.io.reader import OnRejected, Rejections
from tyrex.tesla.types import EventType

_SPACE = re.compile(r"[ \t\r\n]*")


class JsonArrayReader(Rejections):
    """Reads the events of a file that is one JSON array; an `EventReader`.

    The file is held in memory as a whole. A rejected element is reported with the line on which it begins. Where
    the text stops being JSON nothing after it can be told apart, so the rest of it is rejected as one.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        types: Mapping[str, EventType] | None = None,
        strict: bool = False,
        on_rejected: OnRejected | None = None,
    ) -> None:
        super().__init__(strict=strict, on_rejected=on_rejected)
        self._path = Path(path)
        self._types = types

    def __iter__(self) -> Iterator[Event]:
        """The events of the elements that are events."""
        self._restart()
        try:
            with opened(self._path) as stream:
                text = stream.read().decode("utf-8-sig")
        except DAMAGED as error:
            raise EventError(f"{self._path.name} is damaged: {error}") from None
        except UnicodeDecodeError:
            raise EventError(f"{self._path.name} is not UTF-8: save it in this encoding") from None
        yield from self._read(text)

    def _read(self, text: str) -> Iterator[Event]:
        at = self._after_space(text, 0)
        counted = 0
        self._line_number = 1
        end = self._after_space(text, at + 1)
        closed = text[at : at + 1] == "[" and text[end : end + 1] == "]"
        at = end if text[at : at + 1] == "[" else at
        while not closed:
            self._line_number += text.count("\n", counted, at)
            counted = at
            self._text = text[at:]
            try:
                element, end = decoder.raw_decode(text, at)
            except json.JSONDecodeError as error:
                self.reject(f"not JSON from here on: {error.msg} at line {error.lineno}, column {error.colno}")
                return
            except (ValueError, RecursionError) as error:
                self.reject(f"not readable from here on: {error}")
                return
            self._text = text[at:end]
            try:
                event = event_of(element, self._types)
            except EventError as error:
                self.reject(str(error))
            else:
                yield event
            at = self._after_space(text, end)
            closed = text[at : at + 1] == "]"
            if not closed and text[at : at + 1] != ",":
                self._text = text[at:]
                self.reject("not JSON from here on: expected `,` or `]` after an element of the array")
                return
            if not closed:
                at = self._after_space(text, at + 1)
        rest = self._after_space(text, (end if at < end else at) + 1)
        if rest < len(text):
            self._text = text[rest:]
            self.reject("not JSON: nothing may follow the end of the array")

    @staticmethod
    def _after_space(text: str, at: int) -> int:
        found = _SPACE.match(text, at)
        return found.end() if found else at
