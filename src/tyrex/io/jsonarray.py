"""Events as the elements of one JSON array, as a batch of CloudEvents or a saved answer of a service is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tyrex.events import Event, EventError
from tyrex.io.decoder import SPACE, TOO_DEEP, TOO_LONG, decoder, trouble
from tyrex.io.form import PLAIN, Form
from tyrex.io.jsonevent import event_of
from tyrex.io.jsonlines import DAMAGED, opened
from tyrex.io.reader import OnRejected, Rejections
from tyrex.tesla.types import EventType

_SPACE = re.compile(f"[{SPACE}]*")


class JsonArrayReader(Rejections):
    """Reads the events of a file that is one JSON array; an `EventReader`.

    The file is held in memory as a whole. A rejected element is reported with the line on which it begins.
    Where the text stops being JSON nothing after it can be told apart, so the rest of it is rejected as one.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        types: Mapping[str, EventType] | None = None,
        form: Form = PLAIN,
        strict: bool = False,
        on_rejected: OnRejected | None = None,
    ) -> None:
        super().__init__(str(path), strict=strict, on_rejected=on_rejected)
        self._path = Path(path)
        self._types = types
        self._form = form

    def __iter__(self) -> Iterator[Event]:
        """The events of the elements that are events."""
        self._restart()
        try:
            with opened(self._path) as stream:
                text = stream.read().decode("utf-8-sig")
        except DAMAGED as error:
            raise EventError(f"{self._path} is damaged: {error}; get it once more") from None
        except UnicodeDecodeError as error:
            line_number = bytes(error.object).count(b"\n", 0, error.start) + 1
            raise EventError(
                f"{self._path}: line {line_number}: not UTF-8: save the data in this encoding"
            ) from None
        yield from self._read(text)

    def read(self, text: str) -> Iterator[Event]:
        """The events of a text that is held already, in place of a file."""
        self._restart()
        yield from self._read(text)

    def _read(self, text: str) -> Iterator[Event]:
        at = _after_space(text, 0)
        if not text.startswith("[", at):
            self._give_up(text, at, "expected `[`, the beginning of an array of events")
            return
        at = _after_space(text, at + 1)
        counted, line_number = 0, 1
        while not text.startswith("]", at):
            line_number += text.count("\n", counted, at)
            counted = at
            try:
                element, end = decoder.raw_decode(text, at)
            except json.JSONDecodeError as error:
                self._give_up(text, at, trouble(error, f"line {error.lineno}, column {error.colno}"))
                return
            except RecursionError:
                self._give_up(text, at, TOO_DEEP)
                return
            except ValueError:
                self._give_up(text, at, TOO_LONG)
                return
            self._line_number, self._text = line_number, text[at:end]
            try:
                event = event_of(element, self._types, self._form)
            except EventError as error:
                self.reject(str(error))
            else:
                yield event
            at = _after_space(text, end)
            if text.startswith(",", at):
                at = _after_space(text, at + 1)
                if text.startswith("]", at):
                    self._give_up(text, at, "expected another event after `,`")
                    return
            elif not text.startswith("]", at):
                self._give_up(text, at, "expected `,` or `]` after an event")
                return
        at = _after_space(text, at + 1)
        if at < len(text):
            self._give_up(text, at, "expected nothing after the end of the array")

    def _give_up(self, text: str, at: int, reason: str) -> None:
        self._line_number, self._text = text.count("\n", 0, at) + 1, text[at:]
        self.reject(f"not a JSON array from here on: {reason}")


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
