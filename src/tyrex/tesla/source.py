"""Source texts and the places in them that everything else points at."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of source text, as offsets in characters: `start` included, `end` excluded."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The smallest span that covers both."""
        return Span(min(self.start, other.start), max(self.end, other.end))


NOWHERE = Span(0, 0)


@dataclass(frozen=True)
class Source:
    """A rule text with a name, usually its file's."""

    text: str
    name: str = "<rules>"
    _line_starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = [0]
        starts += [i + 1 for i, char in enumerate(self.text) if char == "\n"]
        object.__setattr__(self, "_line_starts", tuple(starts))

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column counted from 1, cut to the text."""
        if line > len(self._line_starts):
            return len(self.text)
        start = self._line_starts[max(line, 1) - 1]
        return min(start + max(column, 1) - 1, start + len(self.line(line)))

    def line(self, number: int) -> str:
        """The text of a line, without its line break."""
        start = self._line_starts[number - 1]
        end = self._line_starts[number] - 1 if number < len(self._line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r")

    @cached_property
    def end(self) -> Span:
        """The place just behind the last visible character."""
        length = len(self.text.rstrip())
        return Span(max(length - 1, 0), length)
