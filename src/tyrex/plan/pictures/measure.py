"""How wide a text will be, about, and where to break it.

The widths are those of DejaVu Sans or Liberation Sans, whichever is wider, so that a text fits its place in
the common sans-serif fonts.
"""

from __future__ import annotations

from unicodedata import combining, east_asian_width

_FIRST = 32
# fmt: off
_WIDTHS = (  # hundredths of the font size, from the space to the tilde
    32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 56, 102, 68, 69, 72, 77, 67, 61, 78, 75, 29, 50, 67, 56, 86, 75, 79,
    67, 79, 72, 67, 61, 73, 68, 99, 69, 67, 69, 39, 34, 39, 84, 56, 50, 61, 63, 55, 63, 62, 35, 63,
    63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84,
)
# fmt: on
_BOLD = 1.13


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a line of text."""
    hundredths = sum(_character_width(character) for character in text)
    return hundredths * size / 100 * (_BOLD if bold else 1.0)


def wrap(text: str, size: float, width: float, *, bold: bool = False) -> list[str]:
    """The lines of a text that is broken at spaces, and inside a word only where that alone is too wide."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        longer = f"{line} {word}" if line else word
        if text_width(longer, size, bold=bold) <= width:
            line = longer
            continue
        if line:
            lines.append(line)
        *whole, line = _break(word, size, width, bold)
        lines += whole
    return [*lines, line] if line else lines


def _break(word: str, size: float, width: float, bold: bool) -> list[str]:
    pieces = [""]
    for character in word:
        if pieces[-1] and text_width(pieces[-1] + character, size, bold=bold) > width:
            pieces.append("")
        pieces[-1] += character
    return pieces


def _character_width(character: str) -> int:
    place = ord(character) - _FIRST
    if 0 <= place < len(_WIDTHS):
        return _WIDTHS[place]
    if combining(character):
        return 0
    return 105 if east_asian_width(character) in "WF" else 85
