"""JSON as events need it: NaN is null, Infinity a number, and no key of an object is lost."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Container
from typing import Any

from tyrex.events import EventError
from tyrex.events.literals import is_well_formed, quote

SPACE = " \t\r\n"
"""What JSON takes for white space, and nothing else that looks like it."""

_CONSTANTS = {"NaN": None, "Infinity": math.inf, "-Infinity": -math.inf}


class RepeatedKey(dict[str, Any]):
    """An object in which a key stands twice: it is read to its end, and refused where it would be used."""

    repeated: tuple[str, ...] = ()
    """The keys that stand more than once, in order."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    counts = Counter(key for key, _ in pairs)
    obj = RepeatedKey(found)
    obj.repeated = tuple(key for key in found if counts[key] > 1)
    return obj


def unrepeated(obj: Any, used: Container[str] | None = None) -> Any:
    """The same value, unless it is an object in which a key stands twice; of interest are those that are used."""
    if isinstance(obj, RepeatedKey):
        for key in obj.repeated:
            if used is None or key in used:
                raise EventError(f"the key {quote(key)} stands twice: send each key once")
        return dict(obj)
    return obj


def trouble(error: json.JSONDecodeError, place: str) -> str:
    """What is wrong with the text, and where."""
    message = error.msg.rstrip(": ").removesuffix(" at")
    return f"{message[:1].lower()}{message[1:]} at {place}"


def well_formed(text: str) -> str:
    """The same text, unless it holds what no Unicode encoding can write."""
    if not is_well_formed(text):
        raise EventError(NOT_UNICODE)
    return text


NOT_UNICODE = "a text holds half a surrogate pair, which is no letter: send well-formed Unicode"
TOO_DEEP = "the values are nested too deeply: an attribute is a text, a number, a bool or null"
TOO_LONG = "a number has thousands of digits: send it as text, in quotes"

decoder = json.JSONDecoder(parse_constant=_CONSTANTS.__getitem__, object_pairs_hook=_object)
"""Reads JSON; besides JSONDecodeError it raises RecursionError (TOO_DEEP) and ValueError (TOO_LONG)."""
