"""Settings from TOML, where every mistake is told with its place, what was expected, and a suggestion."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from tyrex.tesla.diagnostics import Diagnostic, TeslaError, did_you_mean, listing
from tyrex.tesla.durations import NotADuration, parse_duration
from tyrex.tesla.source import NOWHERE, Source, Span

T = TypeVar("T")

NOT_TOML, UNKNOWN, MISSING, WRONG_KIND, IMPOSSIBLE, UNREADABLE = (f"SCN00{n}" for n in range(1, 7))


class ScenarioError(TeslaError):
    """A file of settings was rejected; `diagnostics` says why, all at once."""


class Reader:
    """Takes settings out of a text; `finish` raises if any of them was wrong."""

    def __init__(self, text: str, name: str) -> None:
        self.source = Source(text, name)
        self._wrong: list[Diagnostic] = []
        try:
            self.root = Section(self, "", tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            self._wrong.append(self._syntax(error))
            raise ScenarioError(self._wrong) from None

    def finish(self) -> None:
        """Raise `ScenarioError` if anything was wrong."""
        if self._wrong:
            raise ScenarioError(self._wrong)

    def wrong(
        self,
        code: str,
        message: str,
        span: Span,
        *,
        expected: str | None = None,
        found: str | None = None,
        suggestion: str | None = None,
    ) -> None:
        """Note a mistake."""
        self._wrong.append(Diagnostic(code, message, span, self.source, expected, found, suggestion))

    def also(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Note mistakes of rules that belong to it."""
        self._wrong += diagnostics

    def place(self, section: str, key: str | None = None, number: int = 0) -> Span:
        """Where a key stands in the text, or the head of a section; `number` counts sections of that name."""
        heads = list(re.finditer(r"^[ \t]*\[+[ \t]*([\w.-]+)[ \t]*\]+", self.source.text, re.MULTILINE))
        named = [i for i, head in enumerate(heads) if head[1] == section]
        if section and not named:
            return NOWHERE
        start = heads[named[min(number, len(named) - 1)]].start() if section else 0
        later = [head.start() for head in heads if head.start() > start or not section]
        end = min(later, default=len(self.source.text))
        if key is not None:
            found = re.search(
                rf"^[ \t]*({re.escape(key)})[ \t]*=[^\n]*", self.source.text[start:end], re.MULTILINE
            )
            if found:
                return Span(start + found.start(1), start + len(found[0].rstrip()) + found.start())
        line = self.source.text[start:].partition("\n")[0].rstrip()
        return Span(start, start + max(1, len(line)))

    def _syntax(self, error: tomllib.TOMLDecodeError) -> Diagnostic:
        found = re.search(r"at line (\d+), column (\d+)", str(error))
        offset = self.source.offset(int(found[1]), int(found[2])) if found else len(self.source.text)
        message = str(error).partition(" (at")[0].lower()
        return Diagnostic(
            NOT_TOML,
            f"this is not TOML: {message}",
            Span(offset, offset + 1),
            self.source,
            suggestion='write settings as `key = value`, texts in quotes: `span = "1 min"`',
        )


class Section:
    """The settings below one head."""

    def __init__(self, reader: Reader, name: str, values: Mapping[str, Any], number: int = 0) -> None:
        self._reader = reader
        self._name = name
        self._values = values
        self._number = number
        self._known: list[str] = []

    @property
    def keys(self) -> tuple[str, ...]:
        """What stands in it."""
        return tuple(self._values)

    def section(self, key: str) -> Section:
        """A section below this one; an empty one if it is not there."""
        value = self._take(key, dict, "a section `[..]`")
        return Section(self._reader, self._below(key), {} if value is None else value)

    def sections(self, key: str) -> list[Section]:
        """The sections `[[..]]` of this name."""
        value = self._take(key, list, f"sections `[[{key}]]`") or []
        if not all(isinstance(one, dict) for one in value):
            self.wrong(WRONG_KIND, f"`{key}` is no list of sections", key, expected=f"`[[{key}]]`")
            return []
        return [Section(self._reader, self._below(key), one, n) for n, one in enumerate(value)]

    def text(self, key: str, default: str | None = None, *, needed: bool = False) -> str | None:
        """A text."""
        return self._or(key, self._take(key, str, "a text in quotes"), default, needed)

    def choice(self, key: str, words: Iterable[str], default: str) -> str:
        """One of some words."""
        value = self._take(key, str, "a text in quotes")
        if value is None:
            return default
        known = tuple(words)
        if value not in known:
            self.wrong(
                IMPOSSIBLE,
                f"there is no {key} `{value}`",
                key,
                expected=listing(known),
                suggestion=did_you_mean(value, known),
            )
            return default
        return str(value)

    def choices(self, key: str, words: Iterable[str], default: tuple[str, ...]) -> tuple[str, ...]:
        """Some of these words."""
        value = self._take(key, list, "a list of texts")
        known = tuple(words)
        for one in value or ():
            if one not in known:
                self.wrong(
                    IMPOSSIBLE,
                    f"there is no `{one}` among {key}",
                    key,
                    expected=listing(known),
                    suggestion=did_you_mean(str(one), known),
                )
                return default
        if value is not None and not value:
            self.wrong(IMPOSSIBLE, f"`{key}` is empty", key, expected=f"one or more of {listing(known)}")
        return tuple(value) if value else default

    def texts(self, key: str, *, needed: bool = False) -> tuple[str, ...]:
        """A list of texts."""
        value = self._take(key, list, "a list of texts")
        if value is not None and not all(isinstance(one, str) for one in value):
            self.wrong(WRONG_KIND, f"`{key}` holds what is no text", key, expected="a list of texts")
            return ()
        return tuple(self._or(key, value, [], needed) or ())

    def values(self, key: str) -> Any:
        """Whatever stands there."""
        return self._take(key, object, "")

    def whole(self, key: str, default: int, *, least: int = 0, most: int | None = None) -> int:
        """A whole number."""
        value = self._take(key, int, "a whole number")
        return default if value is None else int(self._within(key, value, default, least, most))

    def number(self, key: str, default: float, *, least: float = 0, most: float | None = None) -> float:
        """A number."""
        value = self._take(key, (int, float), "a number")
        return default if value is None else float(self._within(key, value, default, least, most))

    def needed_number(self, key: str, *, least: float = 0) -> float | None:
        """A number that has to be there."""
        value = self._take(key, (int, float), "a number")
        found = self._or(key, value, None, True)
        return None if found is None else float(self._within(key, found, least, least, None))

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._take(key, bool, "`true` or `false`")
        return default if value is None else bool(value)

    def duration(self, key: str, default: int, *, least: int = 0) -> int:
        """A length of time, as microseconds."""
        value = self._take(key, str, 'a length of time in quotes, as `"5 min"`')
        if value is None:
            return default
        try:
            return round(self._within(key, parse_duration(value), default, least, None, shown=value))
        except NotADuration as error:
            self.wrong(WRONG_KIND, str(error), key, expected='a length of time, as `"5 min"`')
            return default

    def close(self) -> None:
        """Tell which keys nobody knows."""
        for key in self._values:
            if key not in self._known:
                head = f"[{self._name}]" if self._name else "the file"
                self._reader.wrong(
                    UNKNOWN,
                    f"there is no setting `{key}` in {head}",
                    self._place(key),
                    expected=listing(sorted(self._known)),
                    suggestion=did_you_mean(key, self._known),
                )

    def wrong(
        self,
        code: str,
        message: str,
        key: str | None = None,
        *,
        expected: str | None = None,
        suggestion: str | None = None,
    ) -> None:
        """Note a mistake in this section."""
        self._reader.wrong(code, message, self._place(key), expected=expected, suggestion=suggestion)

    # --- How --------------------------------------------------------------------------------------------

    def _below(self, key: str) -> str:
        return f"{self._name}.{key}" if self._name else key

    def _place(self, key: str | None) -> Span:
        if key is not None and isinstance(self._values.get(key), dict):
            return self._reader.place(self._below(key))
        return self._reader.place(self._name, key, self._number)

    def _take(self, key: str, kind: Any, expected: str) -> Any:
        self._known.append(key)
        value = self._values.get(key)
        if value is None:
            return None
        if not isinstance(value, kind) or (isinstance(value, bool) and kind not in (bool, object)):
            self._reader.wrong(
                WRONG_KIND,
                f"`{key}` has the wrong kind of value",
                self._place(key),
                expected=expected,
                found=_shown(value),
            )
            return None
        return value

    def _or(self, key: str, value: T | None, default: T | None, needed: bool) -> T | None:
        if value is None and needed and key not in self._values:
            head = f"[{self._name}]" if self._name else "the file"
            self.wrong(MISSING, f"`{key}` is missing in {head}", suggestion=f"add `{key} = ..`")
        return default if value is None else value

    def _within(
        self, key: str, value: float, default: float, least: float, most: float | None, shown: object = None
    ) -> float:
        if value >= least and (most is None or value <= most):
            return value
        expected = f"{least:g} or more" if most is None else f"{least:g} to {most:g}"
        if shown is not None:
            expected = "a longer time"
        self.wrong(IMPOSSIBLE, f"`{key}` can't be {shown or value}", key, expected=expected)
        return default


def _shown(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f"the text {value!r}"
        case dict():
            return "a section"
        case list():
            return "a list"
        case _:
            return str(value)
