"""Fixture files: rules, events and the composite events that follow, as a readable Markdown page.

A `*.tesla.md` file has a title, text, and fenced blocks: `tesla` (rules), `events` (in the papers' notation) and
`expect` (the composite events, in order). Each `##` heading begins a case of its own; blocks before the first one
serve all cases that have none of their kind. Further blocks: `late` (the events that come too late), `diagnostics`
(the codes that the rules are rejected with). Options stand behind the block's name:

    ```events delay=5s          how late an event may come; without it they are put in order first
    ```expect until=1h open=1   where the end of the input moves time to; how many deadlines stay open
    ```expect zone=Europe/Rome  the time zone of timers
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tyrex.events import Conformer, Event, EventError, parse_events, to_microseconds
from tyrex.rules import RuleSet, parse
from tyrex.tesla import TeslaError
from tyrex.tesla.durations import NotADuration, parse_duration
from tyrex.testing.assertions import same
from tyrex.testing.runtimes import Result, Runtime, Setting

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,}) *(\w*)(.*)")
_HEADING = re.compile(r"^(#{1,2}) +(.+?)\s*$")
_KINDS = {"tesla", "events", "expect", "late", "diagnostics"}
_OPTIONS = {"events": {"delay"}, "expect": {"until", "open", "zone"}}


class FixtureError(ValueError):
    """A fixture file can't be read, or what it says is not what happened."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its text, its options, and the line it begins on."""

    text: str
    options: dict[str, str]
    line: int


@dataclass(frozen=True)
class Case:
    """One case of a fixture file."""

    name: str
    path: Path
    line: int
    blocks: dict[str, Block] = field(default_factory=dict)

    @property
    def is_about_diagnostics(self) -> bool:
        """Whether it says how rules are rejected, rather than what they detect."""
        return "diagnostics" in self.blocks

    @property
    def setting(self) -> Setting:
        """How the history is to be run."""
        events, expect = self.blocks["events"].options, self.blocks["expect"].options
        return Setting(
            delay=_duration(events["delay"]) if "delay" in events else None,
            until=_time(expect["until"]) if "until" in expect else None,
            time_zone=_zone(expect.get("zone", "UTC")),
        )

    def rules(self) -> RuleSet:
        """The rules, checked."""
        block = self.blocks["tesla"]
        return parse("\n" * block.line + block.text, self.path.name)  # so that a place is one of this file

    def events(self, rules: RuleSet) -> list[Event]:
        """The events, in order of arrival."""
        return parse_events(self.blocks["events"].text, rules.types)

    def check(self, runtime: Runtime) -> None:
        """Run the case on a runtime; `FixtureError` says what is not as expected."""
        if self.is_about_diagnostics:
            self._check_diagnostics()
            return
        rules = self.rules()
        result = runtime(rules, self.events(rules), self.setting)
        self._compare("expect", "composite events", rules, result)
        if "late" in self.blocks:
            self._compare("late", "late events", rules, result)
        elif result.late:
            raise FixtureError(f"unexpected late events: {', '.join(map(str, result.late))}")
        wanted = self.blocks["expect"].options.get("open", str(result.open_deadlines))
        if not wanted.isdecimal():
            raise FixtureError(f"`open` is a number of deadlines, not `{wanted}`")
        if int(wanted) != result.open_deadlines:
            raise FixtureError(f"expected {wanted} open deadlines, found {result.open_deadlines}")

    def _compare(self, block: str, what: str, rules: RuleSet, result: Result) -> None:
        conform = Conformer(rules.types)
        text = self.blocks[block].text
        expected = [conform(event) or event for event in parse_events(text, rules.types)]
        raw = result.composites if block == "expect" else result.late
        found = [conform(event) or event for event in raw]
        if len(found) == len(expected) and all(map(same, found, expected)):
            return
        raise FixtureError(f"{what} differ\n  expected:\n{_lines(expected)}\n  found:\n{_lines(found)}")

    def _check_diagnostics(self) -> None:
        expected = self.blocks["diagnostics"].text.split()
        before = self.blocks["tesla"].line
        try:
            self.rules()
        except TeslaError as error:
            with_lines = any("@" in code for code in expected)
            found = [f"{d.code}@{d.line - before}" if with_lines else d.code for d in error.diagnostics]
            if found != expected:
                raise FixtureError(
                    f"expected {' '.join(expected) or 'no code'}, found {' '.join(found)}\n{error}"
                ) from None
            return
        raise FixtureError(f"expected {' '.join(expected) or 'a code'}, but the rules are accepted")


def _lines(events: list[Event]) -> str:
    return "\n".join(f"    {event}" for event in events) or "    nothing"


def read_fixture(path: Path) -> list[Case]:
    """The cases of a fixture file."""
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FixtureError(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    sections = _sections(text, path)
    shared, *cases = sections
    if not cases:
        cases = [shared]
    made = []
    for case in cases:
        blocks = {**shared.blocks, **case.blocks}
        needed = {"tesla", "diagnostics"} if "diagnostics" in blocks else {"tesla", "events", "expect"}
        missing = sorted(needed - blocks.keys())
        if missing:
            raise FixtureError(f"{path}:{case.line}: `{case.name}` has no block {', '.join(missing)}")
        made.append(Case(case.name, path, case.line, blocks))
    return made


def _sections(text: str, path: Path) -> list[Case]:
    """The text before the first `##` heading, and then one for each."""
    sections = [Case(path.name.removesuffix(".tesla.md"), path, 1)]
    lines = enumerate(text.split("\n"), 1)
    for number, line in lines:
        if heading := _HEADING.fullmatch(line):
            if heading[1] == "##":
                sections.append(Case(heading[2], path, number))
            elif len(sections) == 1:
                sections[0] = Case(heading[2], path, number, sections[0].blocks)
        elif fence := _FENCE.fullmatch(line):
            mark, kind, options = fence.groups()
            body = _body(lines, mark)
            if body is None:
                raise FixtureError(f"{path}:{number}: this block is not closed: write {mark} behind it")
            if kind not in _KINDS:
                continue  # text for the reader
            if kind in sections[-1].blocks:
                raise FixtureError(f"{path}:{number}: a second `{kind}` block in one case")
            sections[-1].blocks[kind] = Block(body, _options(kind, options, path, number), number)
    return sections


def _body(lines: Iterator[tuple[int, str]], mark: str) -> str | None:
    """The lines up to the fence that closes a block; None if there is none."""
    body = ""
    for _, line in lines:
        closing = line.strip()
        if len(closing) >= len(mark) and not closing.strip(mark[0]):
            return body
        body += f"{line}\n"
    return None


def _options(kind: str, text: str, path: Path, line: int) -> dict[str, str]:
    options = {}
    for word in text.split():
        name, equals, value = word.partition("=")
        if not equals or name not in _OPTIONS.get(kind, set()):
            known = ", ".join(sorted(_OPTIONS.get(kind, set()))) or "none"
            raise FixtureError(f"{path}:{line}: unknown option `{word}` of `{kind}`; known: {known}")
        options[name] = value
    return options


def _duration(text: str) -> int:
    try:
        return parse_duration(text)
    except NotADuration as error:
        raise FixtureError(str(error)) from None


def _zone(name: str) -> str:
    try:
        return ZoneInfo(name).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise FixtureError(f"there is no time zone `{name}`: write it as `Europe/Rome` or `UTC`") from None


def _time(text: str) -> int:
    try:
        return parse_duration(text)
    except NotADuration:
        pass
    try:
        return to_microseconds(float(text))
    except ValueError:
        pass
    try:
        return to_microseconds(text)
    except EventError as error:
        raise FixtureError(str(error)) from None
