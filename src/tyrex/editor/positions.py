"""Between offsets in a text and the positions of the Language Server Protocol.

A position is a line and a count of code units in it, of UTF-16 unless client and server agree on another
encoding; a character outside the basic plane counts two of them. Lines end with a line feed, a carriage
return, or both.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

_LINE_END = re.compile(r"\r\n|\n|\r")


def _utf16(char: str) -> int:
    return 2 if ord(char) > 0xFFFF else 1


def _utf8(char: str) -> int:
    code = ord(char)
    return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4


def _utf32(_: str) -> int:
    return 1


_UNITS = {"utf-8": _utf8, "utf-16": _utf16, "utf-32": _utf32}


class Positions:
    """The positions of one text.

    >>> Positions("a\\n🔥b").position(3)
    (1, 2)
    """

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self.text = text
        self._units = _UNITS.get(encoding, _utf16)

    @cached_property
    def _lines(self) -> tuple[list[int], list[int]]:
        """Where each line begins, and where it ends without its line end."""
        ends = list(_LINE_END.finditer(self.text))
        return [0, *(e.end() for e in ends)], [*(e.start() for e in ends), len(self.text)]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and code units, both counted from 0, of an offset."""
        offset = max(0, min(offset, len(self.text)))
        starts, ends = self._lines
        line = bisect_right(starts, offset) - 1
        return line, sum(map(self._units, self.text[starts[line] : min(offset, ends[line])]))

    def offset(self, line: int, units: int) -> int:
        """The offset of a position, cut to its line; in the middle of a character, its start."""
        starts, ends = self._lines
        if line >= len(starts):
            return len(self.text)
        line = max(line, 0)
        count = 0
        for i in range(starts[line], ends[line]):
            count += self._units(self.text[i])
            if count > units:
                return i
        return ends[line]
