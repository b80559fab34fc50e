"""The papers' notation for events, for tests, fixtures and documents: `Temp@10(area="A1", value=24.5)`.

Events are separated by white space, line breaks or `;`. `--` and `//` start a comment. After `@` stands one
of

    Temp@10  Temp@-0.5                   seconds
    Temp@5min  Temp@1.5h                 a duration since the epoch
    Temp@09:00  Temp@09:00:30            a time of day on 1970-01-01
    Temp@2013-01-01T09:00:00Z            a date and time, also in quotes

and then, if the source gave one, an id: `Temp@10#s17(..)`, or in quotes `Temp@10#"s 17"(..)`. Values without
a name (`Temp@10("A1", 24.5)`) need the declared types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import NoReturn

from tyrex.events.errors import EventError
from tyrex.events.event import PLAIN_ID, Event, Value
from tyrex.events.literals import unquote
from tyrex.events.time import in_range, to_microseconds
from tyrex.tesla.durations import NotADuration, parse_duration
from tyrex.tesla.types import TIMESTAMP, EventType

_SKIP = re.compile(r"(?:\s|--[^\n]*|//[^\n]*)*+")
_BETWEEN = re.compile(r"(?:[\s;]|--[^\n]*|//[^\n]*)*+")
_NAME = re.compile(r"[^\W\d]\w*")
_NAMED = re.compile(r"([^\W\d]\w*)\s*=(?!=)")
_STRING = re.compile(r"""(["'])(?:(?!\1)[^\\\n]|\\.)*\1""")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?(?![\w.])")
_WORD = re.compile(r"-?[^\W\d]\w*")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.,]+(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?", re.IGNORECASE)
_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}(?:\.[0-9]+)?))?")
_SECONDS = re.compile(r"(-?)([0-9]+(?:\.[0-9]+)?)([^\W\d_]*)")
_MOST_DIGITS = 1000
_WORDS: dict[str, Value] = {
    "true": True,
    "false": False,
    "null": None,
    "infinity": float("inf"),
    "-infinity": float("-inf"),
}


def parse_event(text: str, types: Mapping[str, EventType] | None = None) -> Event:
    """The one event that the text holds.

    >>> parse_event('Temp@10(area="A1", value=24.5)')["area"]
    'A1'
    """
    events = parse_events(text, types)
    if len(events) != 1:
        raise EventError(f"expected one event, found {len(events)}; `parse_events` reads several")
    return events[0]


def parse_events(text: str, types: Mapping[str, EventType] | None = None) -> list[Event]:
    """The events that the text holds, in its order.

    With `types`, values may stand without a name, and a name that its type doesn't declare is an error. The
    values themselves are checked by `Conformer`.
    """
    return list(_Reader(text, types or {}).events())


class _Reader:
    """Reads events from left to right; `at` is the offset reached."""

    def __init__(self, text: str, types: Mapping[str, EventType]) -> None:
        self.text = text
        self.types = types
        self.at = 0

    def events(self) -> Iterator[Event]:
        self.take(_BETWEEN)
        while self.at < len(self.text):
            yield self.event()
            self.take(_BETWEEN)

    def event(self) -> Event:
        name = self.take(_NAME) or self.fail("an event, as in `Temp@10(value=24.5)`")
        if not self.symbol("@"):
            self.fail(f"`@` and a time after `{name}`")
        timestamp = self.time()
        id_ = None
        if self.symbol("#"):
            id_ = self.take(PLAIN_ID) or unquote(self.take(_STRING) or self.fail("an id after `#`"))
        attributes: dict[str, Value] = {}
        start = self.at
        self.take(_SKIP)
        if self.symbol("("):
            self.arguments(name, attributes)
        else:
            self.at = start
        return Event(name, timestamp, attributes, id_)

    # Times

    def time(self) -> int:
        start = self.at
        try:
            return self.microseconds()
        except (EventError, NotADuration) as error:
            self.at = start
            raise EventError(f"{self.place()}: {error}\n  {self.line()}") from None

    def microseconds(self) -> int:
        if quoted := self.take(_STRING):
            return to_microseconds(unquote(quoted))
        if date := self.take(_DATE):
            return to_microseconds(date)
        if clock := _CLOCK.match(self.text, self.at):
            self.at = clock.end()
            hours, minutes, seconds = int(clock[1]), int(clock[2]), Decimal(clock[3] or 0)
            if hours > 23 or minutes > 59 or seconds >= 60:
                raise EventError(f"expected a time of day before 24:00, found `{clock[0]}`")
            return to_microseconds(hours * 3600 + minutes * 60 + seconds)
        if number := _SECONDS.match(self.text, self.at):
            self.at = number.end()
            sign, digits, unit = number.groups()
            if unit:
                if len(digits) > _MOST_DIGITS:
                    raise EventError(f"expected a time of at most {_MOST_DIGITS} digits, found {len(digits)}")
                length = parse_duration(digits + unit)
                return in_range(-length if sign else length)
            return to_microseconds(Decimal(sign + digits))
        raise EventError(f"expected a time after `@`, as in `@10`, `@5min` or `@09:00`, found {self.found()}")

    # Attributes

    def arguments(self, event: str, attributes: dict[str, Value]) -> None:
        declared = self.types.get(event)
        self.take(_SKIP)
        if self.symbol(")"):
            return
        position = 0
        while True:
            start = self.at
            if named := _NAMED.match(self.text, self.at):
                self.at = named.end()
                name = named[1]
                self.take(_SKIP)
            else:
                name = self.positional(event, declared, position)
            value = self.value()
            after, self.at = self.at, start
            if name == TIMESTAMP:
                self.fail("the timestamp only after `@`")
            if name in attributes:
                self.fail(f"each attribute once, but `{name}` has a value already")
            if declared is not None and name not in declared.by_name:
                self.fail(f"an attribute of {declared}")
            self.at = after
            attributes[name] = value
            position += 1
            self.take(_SKIP)
            if self.symbol(")"):
                return
            if not self.symbol(","):
                self.fail("`,` or `)`")
            self.take(_SKIP)

    def positional(self, event: str, declared: EventType | None, position: int) -> str:
        if declared is None:
            self.fail(f"`name=value`, as the attributes of `{event}` are not declared here")
        if position >= len(declared.attributes):
            self.fail(f"at most {len(declared.attributes)} values for {declared}")
        return declared.attributes[position].name

    def value(self) -> Value:
        if quoted := self.take(_STRING):
            return unquote(quoted)
        if number := _NUMBER.match(self.text, self.at):
            if number[1] or number[2]:
                self.at = number.end()
                return float(number[0])
            if len(number[0]) > _MOST_DIGITS:
                self.fail(f"a number of at most {_MOST_DIGITS} digits")
            self.at = number.end()
            return int(number[0])
        word = _WORD.match(self.text, self.at)
        if word is None or word[0].lower() not in _WORDS:
            self.fail("a value: a number, a text in quotes, true, false or null")
        self.at = word.end()
        return _WORDS[word[0].lower()]

    # Reading and failing

    def take(self, pattern: re.Pattern[str]) -> str:
        """What the pattern matches here, or the empty text."""
        found = pattern.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found[0]

    def symbol(self, symbol: str) -> bool:
        if not self.text.startswith(symbol, self.at):
            return False
        self.at += len(symbol)
        return True

    def found(self) -> str:
        rest = self.text[self.at : self.at + 20].split("\n", 1)[0].strip()
        if rest:
            return f"`{rest}`"
        return "the end of the line" if self.at < len(self.text) else "the end of the text"

    def place(self) -> str:
        number = self.text.count("\n", 0, self.at) + 1
        return f"line {number}"

    def line(self) -> str:
        start = self.text.rfind("\n", 0, self.at) + 1
        return self.text[start:].split("\n", 1)[0].strip()

    def fail(self, expected: str) -> NoReturn:
        raise EventError(f"{self.place()}: expected {expected}, found {self.found()}\n  {self.line()}")
