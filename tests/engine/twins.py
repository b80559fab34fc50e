"""Two engines with the same rules, one with one thread and one with several: whatever is done to both, they agree."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tyrex import Detections, Engine, Event, RuleSet
from tyrex.engine import Composite
from tyrex.engine.layout import DoesNotFit

if TYPE_CHECKING:
    import pyarrow as pa


def described(events: Sequence[Event]) -> list[tuple[str, str | None, str | None]]:
    """Everything that tells events apart."""
    return [(str(event), event.id, event.rule) for event in events]


class Twins:
    """An engine with one thread, and one with several that must not differ from it."""

    def __init__(self, rules: RuleSet | str, threads: int, *, delay: float = 0) -> None:
        self.one = Engine(rules, delay=delay)
        self.many = Engine(rules, delay=delay, threads=threads)
        self.heard: tuple[list[str], list[str]] = ([], [])

    @property
    def divided(self) -> bool:
        """Whether some rules are divided by a key."""
        return any(place.key is not None and place.rules for place in self.many._places.layout.places)

    # What is done to both

    def send(self, event: Event) -> list[Event]:
        """One event."""
        time = Decimal(event.timestamp) / 1_000_000
        found = [
            engine.send(event.type, time, id=event.id, **event.attributes) for engine in (self.one, self.many)
        ]
        assert described(found[0]) == described(found[1])
        return found[1]

    def send_batch(self, events: pa.Table | Sequence[Event]) -> Detections:
        """Many events."""
        return self._same(self.one.send_batch(events), self.many.send_batch(events))

    def advance(self, time: float) -> Detections:
        """Time that passes."""
        return self._same(self.one.advance(time), self.many.advance(time))

    def flush(self, until: float | None = None) -> Detections:
        """The end."""
        return self._same(self.one.flush(until), self.many.flush(until))

    def restore(self) -> None:
        """Go on from snapshots."""
        self.one = Engine.restore(self.one.snapshot())
        self.many = Engine.restore(self.many.snapshot())

    def deploy(self, text: str) -> bool:
        """New rules; False if they do not fit, and then nothing has changed."""
        before = described_layout(self.many)
        try:
            names = self.many.deploy(text)
        except DoesNotFit:
            assert described_layout(self.many) == before
            return False
        assert self.one.deploy(text) == names
        return True

    def do(self, method: str, *arguments: Any) -> None:
        """Anything else."""
        for engine in (self.one, self.many):
            getattr(engine, method)(*arguments)

    def subscribe(self, filter: str) -> int:
        """A subscription whose events are compared by `check`."""
        numbers = {
            engine.subscribe(filter, lambda event, heard=heard: heard.append(f"{filter}: {event} {event.id}"))  # type: ignore[misc]
            for engine, heard in zip((self.one, self.many), self.heard, strict=True)
        }
        (number,) = numbers
        return number

    # Whether they agree

    def _same(self, one: Detections, many: Detections) -> Detections:
        assert described(many) == described(one)
        assert described(many.late) == described(one.late)
        for alone, together in zip(one, many, strict=True):
            assert isinstance(alone, Composite)
            assert isinstance(together, Composite)
            assert described(together.lineage) == described(alone.lineage)
        tables, expected = many.tables(), one.tables()
        assert list(tables) == list(expected)
        assert all(tables[name].equals(expected[name]) for name in tables)
        self.check()
        return many

    def check(self) -> None:
        """Compare what subscribers heard, and all counts but those of what is stored."""
        assert self.heard[1] == self.heard[0]
        one, many = self.one.stats(), self.many.stats()
        assert many.rules == one.rules
        assert {n: t.arrived for n, t in many.types.items()} == {n: t.arrived for n, t in one.types.items()}
        counts = ("late", "unused", "waiting", "open_deadlines")
        assert [getattr(many, name) for name in counts] == [getattr(one, name) for name in counts]


def described_layout(engine: Engine) -> object:
    """What a refused rule must not change."""
    return engine._places.layout, [rule.name for rule in engine.rules], sorted(engine.rules.types)
