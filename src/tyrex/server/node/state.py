"""The state of a node: what its log makes of an engine, record by record.

It is a function of the log alone: live and after a crash the same records lead to the same detections with the
same numbers.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tyrex.engine import Detections, DoesNotFit, Engine, RuleInUse, UnknownRule
from tyrex.engine.engine import microseconds
from tyrex.events import Event, EventError
from tyrex.io.layout import Batch
from tyrex.server.node import batches
from tyrex.server.node.detections import Detection
from tyrex.server.node.records import AnyRecord, EventsRecord, RulesRecord, SettingsRecord, TimeRecord
from tyrex.server.node.rulebook import Rulebook, RuleRefused
from tyrex.server.node.seen import Seen
from tyrex.server.node.settings import NodeSettings
from tyrex.tesla import TeslaError

_log = logging.getLogger(__name__)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RECENT = 200


@dataclass
class Counts:
    """What a node has done since it was new."""

    accepted: int = 0
    duplicates: int = 0
    late: int = 0
    rejected: int = 0
    """Events that were accepted and then, as rules had come between, were none of their type."""
    detected: int = 0
    dropped: int = 0
    """Detections beyond what a rule may make at one moment."""


@dataclass
class State:
    """An engine, and all that belongs to it."""

    engine: Engine
    settings: SettingsRecord
    position: int = 1
    """The number of the next record to apply."""
    detection: int = 1
    """The number that the next detection gets."""
    moment: int | None = None
    """Up to when time has passed by the clock."""
    seen: Seen = field(default_factory=lambda: Seen(1))
    rulebook: Rulebook = field(default_factory=Rulebook)
    counts: Counts = field(default_factory=Counts)
    recent: deque[tuple[int, Batch]] = field(default_factory=lambda: deque(maxlen=_RECENT))
    """The latest batches, to look at."""
    late: deque[Event] = field(default_factory=lambda: deque(maxlen=_RECENT))

    @classmethod
    def new(cls, settings: NodeSettings) -> State:
        """Without rules, before any event."""
        engine = Engine("", delay=settings.delay, time_zone=settings.time_zone, threads=settings.threads)
        return cls(engine, wanted(settings), seen=Seen(settings.ids))

    def apply(self, number: int, record: AnyRecord) -> list[Detection]:
        """Let a record have its effect; what was detected."""
        self.position = number + 1
        match record:
            case EventsRecord():
                return self._events(number, record)
            case RulesRecord():
                try:
                    self.rulebook.apply(self.engine, number, record)
                except (TeslaError, RuleRefused, RuleInUse, UnknownRule, DoesNotFit) as error:
                    # It was checked before it was written, so this is a change that only the engine could refuse.
                    _log.warning("record %d changes nothing: %s", number, error)
                    raise
                return []
            case TimeRecord():
                self.moment = record.moment
                moment = _EPOCH + timedelta(microseconds=record.moment)
                return self._found(number, record.moment, self.engine.advance(moment))
            case SettingsRecord():
                self.settings = record
                self.seen = Seen.from_json(record.ids, self.seen.to_json())
                return []

    def replay(self, number: int, record: AnyRecord) -> list[Detection]:
        """The same after a crash: what was refused before is refused again."""
        try:
            return self.apply(number, record)
        except (TeslaError, RuleRefused, RuleInUse, UnknownRule, DoesNotFit):
            return []

    def _events(self, number: int, record: EventsRecord) -> list[Detection]:
        found: list[Detection] = []
        for batch in record.parts:
            ids = batches.ids_of(batch)
            for id_ in ids or ():
                if id_ is not None:
                    self.seen.add(record.source, id_)
            self.recent.append((number, batch))
            try:
                detections = self.engine.send_batch(batch)
            except EventError as error:
                self.counts.rejected += len(batch)
                _log.warning("%d events of record %d were left out: %s", len(batch), number, error)
                continue
            self.counts.late += len(detections.late)
            self.late.extend(detections.late)
            found += self._found(number, record.at, detections)
        self.counts.accepted += record.count
        if record.key is not None:
            self.seen.add(_keys_of(record.source), record.key)
        return found

    def knows_key(self, source: str, key: str) -> bool:
        """Whether a source has sent a batch by this key."""
        return self.seen.has(_keys_of(source), key)

    def _found(self, number: int, at: int, detections: Detections) -> list[Detection]:
        limit, found = self.settings.matches, []
        made: Counter[tuple[str, int]] = Counter()
        exploded: set[str] = set()
        for event in detections:
            rule, time = event.rule or "", event.timestamp
            if len(detections) > limit:
                made[rule, time] += 1
                if made[rule, time] > limit:
                    exploded.add(rule)
                    self.counts.dropped += 1
                    continue
            plain = Event(event.type, time, dict(event.attributes), event.id, rule)
            found.append(Detection.of(self.detection, plain, event.lineage))  # type: ignore[attr-defined]
            self.detection += 1
        self.counts.detected += len(found)
        for rule in sorted(exploded):
            if rule not in self.rulebook.entries:
                continue
            most = max(count for (name, _), count in made.items() if name == rule)
            reason = (
                f"it made {most:,} matches at one moment, and {limit:,} are allowed: give it a narrower window, or "
                "`last` for `each`"
            )
            _log.error("rule %s was stopped: %s", rule, reason)
            self.rulebook.stop(self.engine, rule, number, at, reason)
        return found

    # As data

    def to_json(self) -> dict[str, Any]:
        """All but the engine."""
        return {
            "position": self.position,
            "detection": self.detection,
            "moment": self.moment,
            "counts": vars(self.counts),
            "rulebook": self.rulebook.to_json(),
            "seen": self.seen.to_json(),
            "settings": asdict(self.settings),
        }

    @classmethod
    def from_json(cls, engine: Engine, data: Mapping[str, Any]) -> State:
        """What `to_json` gave, with the engine that belongs to it."""
        settings = SettingsRecord(**data["settings"])
        return cls(
            engine,
            settings,
            data["position"],
            data["detection"],
            data["moment"],
            Seen.from_json(settings.ids, data["seen"]),
            Rulebook.from_json(data["rulebook"]),
            Counts(**data["counts"]),
        )


def wanted(settings: NodeSettings) -> SettingsRecord:
    """The settings that have an effect on what is detected."""
    return SettingsRecord(microseconds(settings.delay), settings.time_zone, settings.matches, settings.ids)


def _keys_of(source: str) -> str:
    """Where the keys of whole batches are kept, apart from the ids of events."""
    return f"{source}\0key"
