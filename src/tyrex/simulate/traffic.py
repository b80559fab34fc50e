"""What went over the links of a network: messages, bytes and events, by kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tyrex.network.codec import encode_all
from tyrex.network.messages import Awaken, Composites, Events, Message

TIME_ONLY = "Time"
"""Messages of events without an event, which tell how far time has come."""


@dataclass(frozen=True, slots=True)
class Count:
    """How much it was."""

    messages: int = 0
    bytes: int = 0
    events: int = 0
    """Events, primitive and composite, and in questions for events the spans that are asked for."""

    def __add__(self, other: Count) -> Count:
        return Count(self.messages + other.messages, self.bytes + other.bytes, self.events + other.events)

    def record(self) -> dict[str, int]:
        """The count as plain data."""
        return {"messages": self.messages, "bytes": self.bytes, "events": self.events}


@dataclass(slots=True)
class Traffic:
    """Counts for each direction of each link, and each kind of message."""

    counts: dict[tuple[str, str, str], Count] = field(default_factory=dict)
    _last: tuple[Message, int] | None = None
    """What was sent last, and its size: a message that is flooded goes over many links."""

    def sent(self, sender: str, receiver: str, message: Message) -> int:
        """Count a message; gives its size in bytes, as it would be on the wire."""
        if self._last is None or self._last[0] is not message:
            self._last = (message, sum(len(data) for data in encode_all(message)))
        size = self._last[1]
        key = (sender, receiver, kind_of(message))
        self.counts[key] = self.counts.get(key, Count()) + Count(1, size, events_of(message))
        return size

    def clear(self) -> None:
        """Begin to count anew."""
        self.counts.clear()

    def total(self, kinds: Iterable[str] | None = None) -> Count:
        """Over all links: all of it, or some kinds."""
        wanted = None if kinds is None else set(kinds)
        return sum((c for key, c in self.counts.items() if wanted is None or key[2] in wanted), Count())

    def by_kind(self) -> Mapping[str, Count]:
        """Over all links, for each kind of message."""
        return {kind: self.total([kind]) for kind in sorted({kind for _, _, kind in self.counts})}

    def by_link(self, kinds: Iterable[str]) -> Mapping[tuple[str, str], Count]:
        """For each link some kinds of messages, both directions together; its ends in the order of their names."""
        wanted = set(kinds)
        found: dict[tuple[str, str], Count] = {}
        for (a, b, kind), count in self.counts.items():
            if kind not in wanted:
                continue
            ends = (a, b) if a < b else (b, a)
            found[ends] = found.get(ends, Count()) + count
        return found


def kind_of(message: Message) -> str:
    """How messages are told apart in counts."""
    if isinstance(message, Events) and not any(len(block) for _, block in message.blocks):
        return TIME_ONLY
    return type(message).__name__


def events_of(message: Message) -> int:
    """How many events it carries, or how many spans of them it asks for."""
    match message:
        case Events(blocks=labelled):
            return sum(len(block) for _, block in labelled)
        case Composites(blocks=blocks):
            return sum(len(block) for block in blocks)
        case Awaken(spans=spans):
            return len(spans)
        case _:
            return 0
