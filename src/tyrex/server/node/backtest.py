"""Backtests: what rules would have detected in the events of a time, beside what the deployed ones did detect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tyrex.engine import Engine
from tyrex.events import Event, EventError
from tyrex.io.jsonevent import json_record
from tyrex.rules import RuleSet, parse
from tyrex.server.node import batches
from tyrex.server.node.detections import DetectionLog
from tyrex.server.node.records import EventsRecord, Kind, TimeRecord, decode, span_of
from tyrex.server.node.recovery import Store
from tyrex.tesla import CheckedRules

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHOWN = 1_000


class Cancelled(Exception):
    """Somebody has ended the backtest."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be tried."""

    text: str
    start: int | None = None
    """Timestamps from here on count, in microseconds; None: from the first that is kept."""
    end: int | None = None


@dataclass
class Comparison:
    """What a rule text detects in recorded events, beside what the deployed rules of the same names did detect."""

    rules: tuple[str, ...]
    events: int = 0
    """That counted; those before `start` that a window reaches are not among them."""
    skipped: int = 0
    """Events that were none of the types as the text declares them."""
    found: int = 0
    deployed: int = 0
    same: int = 0
    appeared: int = 0
    gone: int = 0
    appearing: list[Event] = field(default_factory=list)
    """The first of those that only the text detects."""
    going: list[Event] = field(default_factory=list)
    """The first of those that only the deployed rules detected."""

    def to_json(self) -> dict[str, Any]:
        """It as JSON has it."""
        return {
            "rules": list(self.rules),
            "events": self.events,
            "skipped": self.skipped,
            "found": self.found,
            "deployed": self.deployed,
            "same": self.same,
            "appeared": self.appeared,
            "gone": self.gone,
            "appearing": [json_record(event) for event in self.appearing],
            "going": [json_record(event) for event in self.going],
        }


def plan(text: str, deployed: RuleSet) -> tuple[RuleSet, tuple[str, ...]]:
    """The rules to run for a text, those that it builds on among them, and the names of its own; `TeslaError`.

    A type that only the rules make whose place it takes may have other attributes in it.
    """
    everything = {rule.name for rule in deployed}
    own = [rule.name for rule in parse(text, known=_types_of(deployed, everything))]
    kept = [rule for rule in deployed if rule.name not in own]
    known = _types_of(deployed, {rule.name for rule in deployed if rule.name in own})
    needed = "\n\n".join(rule.canonical_text for rule in kept)
    rules = parse(f"{needed}\n\n{text}", known=known)
    wanted, reached = set(own), False
    while not reached:
        looked_at = {name for rule in rules if rule.name in wanted for name in rule.plan.horizon}
        more = {rule.name for rule in rules if rule.defines.name in looked_at} - wanted
        wanted |= more
        reached = not more
    chosen = tuple(rule for rule in rules.checked.rules if rule.name in wanted)
    return RuleSet(CheckedRules(chosen, rules.types)), tuple(own)


def _types_of(rules: RuleSet, replaced: set[str]) -> RuleSet:
    """The types that are known without some rules."""
    made = {rule.defines.name for rule in rules if rule.name in replaced}
    made -= {rule.defines.name for rule in rules if rule.name not in replaced}
    return RuleSet(CheckedRules((), {n: t for n, t in rules.types.items() if n not in made}))


def reach(rules: RuleSet) -> int:
    """How far before an event the events may lie that a rule needs, along every chain of rules."""
    return sum(max(rule.plan.horizon.values(), default=0) for rule in rules)


def run(
    question: Question,
    *,
    deployed: RuleSet,
    store: Store,
    delay: int,
    time_zone: str,
    progress: Callable[[int, int], None],
) -> Comparison:
    """Run a rule text over the recorded events; `progress` is told how many records of how many are done.

    It may raise `Cancelled` from there. What windows reach before the start is looked at, too, but not counted.
    """
    rules, own = plan(question.text, deployed)
    engine = Engine(rules, delay=timedelta(microseconds=delay), time_zone=time_zone)
    comparison = Comparison(own)
    first = None if question.start is None else question.start - reach(rules)
    found: dict[str, Event] = {}

    def note(events: Iterable[Event]) -> None:
        for event in events:
            if event.rule in own and _is_between(event.timestamp, question.start, question.end):
                id_ = event.id or ""
                found[id_] = Event(event.type, event.timestamp, dict(event.attributes), id_, event.rule)

    journal = store.journal
    start, end = journal.first, journal.next
    for record in journal.read(start):
        if record.number % 64 == 0:
            progress(record.number - start, end - start)
        if record.number >= end:
            break
        if record.kind == Kind.EVENTS:
            earliest, latest = span_of(record)
            if (first is not None and latest < first) or (
                question.end is not None and earliest >= question.end
            ):
                continue
            events = decode(record)
            assert isinstance(events, EventsRecord)
            for batch in events.parts:
                part = batches.between(batch, first, question.end)
                try:
                    note(engine.send_batch(part))
                except EventError:
                    comparison.skipped += len(part)
                    continue
                comparison.events += len(batches.between(part, question.start, None))
        elif record.kind == Kind.TIME:
            moved = decode(record)
            assert isinstance(moved, TimeRecord)
            if _is_between(moved.moment, first, question.end):
                note(engine.advance(_EPOCH + timedelta(microseconds=moved.moment)))
    progress(end - start, end - start)
    _compare(comparison, found, _deployed(store.detections, own, question))
    return comparison


def _deployed(detections: DetectionLog, names: tuple[str, ...], question: Question) -> dict[str, Event]:
    return {
        detection.event.id or "": detection.event
        for detection in detections.all()
        if detection.event.rule in names
        and _is_between(detection.event.timestamp, question.start, question.end)
    }


def _compare(comparison: Comparison, found: Mapping[str, Event], deployed: Mapping[str, Event]) -> None:
    """A composite event is the same if its id is, which its rule and its events make, and its values are."""
    comparison.found, comparison.deployed = len(found), len(deployed)
    for id_, event in found.items():
        if id_ in deployed and _values(deployed[id_]) == _values(event):
            comparison.same += 1
            continue
        comparison.appeared += 1
        if len(comparison.appearing) < _SHOWN:
            comparison.appearing.append(event)
    for id_, event in deployed.items():
        if id_ not in found or _values(found[id_]) != _values(event):
            comparison.gone += 1
            if len(comparison.going) < _SHOWN:
                comparison.going.append(event)


def _values(event: Event) -> dict[str, Any]:
    """The values of an event as JSON has them, in which the deployed ones are kept."""
    record = json_record(event)
    return {name: value for name, value in record.items() if name not in ("id", "rule")}


def _is_between(time: int, start: int | None, end: int | None) -> bool:
    return (start is None or time >= start) and (end is None or time < end)
