"""What all readers of events have in common: they give events, and account for what is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from tyrex.events import Event, EventError


@dataclass(frozen=True, slots=True)
class Rejected:
    """Data that is no event: where it stood, what it was, and why it was rejected."""

    line_number: int
    """Counted from 1, blank lines included."""
    text: str
    reason: str
    unit: str = "line"
    """What is counted: a table has no lines, but each `row`."""

    def __str__(self) -> str:
        return f"{self.unit} {self.line_number}: {self.reason}"


OnRejected: TypeAlias = Callable[[Rejected], None]


class EventReader(Protocol):
    """A source of events: iterate it for the events in the order of the data.

    Bad data does not end the reading. It goes to `rejected`, or to the function that the reader was made with
    (an endless input should have one, as a list only grows). A strict reader raises EventError instead. So
    does any reader where the data itself breaks off, as in a damaged archive.
    """

    rejected: list[Rejected]

    def __iter__(self) -> Iterator[Event]:
        """The events, without what was rejected."""

    def reject(self, reason: str) -> None:
        """Reject the event that was given last, for a reason that the reader could not know."""


class Rejections:
    """Keeps account of what a reader rejects: the data at `_line_number`, which is `_text`."""

    def __init__(self, name: str, *, strict: bool, on_rejected: OnRejected | None) -> None:
        self.rejected: list[Rejected] = []
        self._name = name
        self._strict = strict
        self._on_rejected = on_rejected if on_rejected is not None else self.rejected.append
        self._line_number = 0
        self._text = ""

    def reject(self, reason: str) -> None:
        """Reject the event that was given last, for a reason that the reader could not know."""
        text = self._text.encode(errors="backslashreplace").decode()  # so that it can be printed, always
        rejected = Rejected(self._line_number, text, reason)
        if self._strict:
            raise EventError(f"{self._name}: {rejected}" if self._name else str(rejected))
        self._on_rejected(rejected)

    def _restart(self) -> None:
        self.rejected.clear()
        self._line_number, self._text = 0, ""
