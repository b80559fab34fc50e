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
from dataclasses import dataclass, field
from pathlib import Path

from tyrex.events import Conformer, Event, EventError, parse_events, to_microseconds
from tyrex.rules import RuleSet, parse
from tyrex.tesla import TeslaError
from tyrex.tesla.durations import NotADuration, parse_duration
from tyrex.testing.assertions import same
from tyrex.testing.runtimes import Result, Runtime, Setting

_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
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
            time_zone=expect.get("zone", "UTC"),
        )

    def rules(self) -> RuleSet:
        """The rules, checked."""
        return parse(self.blocks["tesla"].text, f"{self.path.name}:{self.blocks['tesla'].line}")

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
        wanted = int(self.blocks["expect"].options.get("open", result.open_deadlines))
        if wanted != result.open_deadlines:
            raise FixtureError(f"expected {wanted} open deadlines, found {result.open_deadlines}")

    def _compare(self, block: str, what: str, rules: RuleSet, result: Result) -> None:
        conform = Conformer(rules.types)
        text = self.blocks[block].text
        expected = [conform(event) or event for event in parse_events(text, rules.types)]
        raw = result.composites if block == "expect" else result.late
        found = [conform(event) or event for event in raw]
        if len(found) == len(expected) and all(map(same, found, expected)):
            return
        raise FixtureError(
            f"{what} differ\n  expected:\n{_lines(expected)}\n  found:\n{_lines(found)}"
        )

    def _check_diagnostics(self) -> None:
        expected = self.blocks["diagnostics"].text.split()
        try:
            self.rules()
        except TeslaError as error:
            found = [f"{d.code}@{d.line}" if any("@" in e for e in expected) else d.code for d in error.diagnostics]
            if found != expected:
                raise FixtureError(f"expected {expected}, found {found}\n{error}") from None
            return
        raise FixtureError(f"expected {expected}, but the rules are accepted")


def _lines(events: list[Event]) -> str:
    return "\n".join(f"    {event}" for event in events) or "    nothing"


def read_fixture(path: Path) -> list[Case]:
    """The cases of a fixture file."""
    text = path.read_text("utf-8")
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
    fences = list(_FENCE.finditer(text))
    inside = [(f.start(), f.end()) for f in fences]
    sections = [Case(path.name.removesuffix(".tesla.md"), path, 1)]
    starts = [0]
    offset = 0
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        heading = _HEADING.match(line)
        if heading and not any(start <= offset < end for start, end in inside):
            if heading[1] == "##":
                sections.append(Case(heading[2], path, number))
                starts.append(offset)
            elif len(sections) == 1:
                sections[0] = Case(heading[2], path, number, sections[0].blocks)
        offset += len(line)
    for fence in fences:
        owner = max(i for i, start in enumerate(starts) if start <= fence.start())
        line_number = text.count("\n", 0, fence.start()) + 1
        kind = fence[1]
        if kind not in _KINDS:
            continue  # text for the reader
        if kind in sections[owner].blocks:
            raise FixtureError(f"{path}:{line_number}: a second `{kind}` block in one case")
        sections[owner].blocks[kind] = Block(fence[3], _options(kind, fence[2], path, line_number), line_number)
    return sections


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
