"""Values as TESLA writes them: quoted text, numbers, `true`, `false`, `null`."""

from __future__ import annotations

import math
import re

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_NEEDS_ESCAPE = re.compile(r'[\\"\x00-\x1f\x7f\ud800-\udfff]')
_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_LONGEST_SHOWN = 60


def is_well_formed(text: str) -> bool:
    """Whether the text can be encoded: half a surrogate pair, as JSON may escape it, can't."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return False
    return True


def quote(text: str) -> str:
    """The text as a literal in double quotes.

    >>> print(quote('5" pipe'))
    "5\\" pipe"
    """
    return '"' + _NEEDS_ESCAPE.sub(lambda found: _SHORT.get(found[0], f"\\u{ord(found[0]):04x}"), text) + '"'


def unquote(literal: str) -> str:
    """The text that a literal in quotes stands for, with the escapes of TESLA."""

    def one(found: re.Match[str]) -> str:
        code = found[1]
        return chr(int(code[1:], 16)) if len(code) == 5 else _ESCAPES.get(code, code)

    return _ESCAPE.sub(one, literal[1:-1])


def format_value(value: object) -> str:
    """A value as a literal; a NaN is null here as everywhere."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, float):
        if math.isnan(value):
            return "null"
        return float.__repr__(value) if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, int):
        return str(value) if value.bit_length() <= 128 else f"<an integer of {value.bit_length()} bits>"
    if isinstance(value, dict):
        return "<an object>"
    if isinstance(value, (list, tuple)):
        return "<an array>"
    return f"<{type(value).__name__}>"


def describe(value: object) -> str:
    """A value for an error message: its kind and, cut to a readable length, its literal."""
    literal = format_value(value)
    if len(literal) > _LONGEST_SHOWN:
        literal = literal[: _LONGEST_SHOWN - 1] + "…"
    for kind, name in ((bool, "bool"), (str, "string"), (float, "float"), (int, "int")):
        if isinstance(value, kind):
            return f"the {name} {literal}"
    return literal.strip("<>")
