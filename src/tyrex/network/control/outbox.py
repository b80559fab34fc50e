"""What a processor wants done, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tyrex.network.messages import Message
from tyrex.network.outputs import Deliver, Kind, Note, Output, Send


class Outbox:
    """Collects outputs until the transport takes them."""

    def __init__(self) -> None:
        self._outputs: list[Output] = []
        self._told: set[tuple[Kind, str]] = set()
        self.counts: Counter[str] = Counter()
        """What was passed over, refused or dropped."""

    def send(self, to: str, message: Message) -> None:
        """A message for a neighbour."""
        self._outputs.append(Send(to, message))

    def deliver(self, found: Iterable[Deliver]) -> None:
        """Events for clients."""
        self._outputs += found

    def note(self, kind: Kind, text: str, client: str | None = None, events: int = 0) -> None:
        """Something that a person or a log should know."""
        self._outputs.append(Note(kind, text, client, events))

    def note_once(self, kind: Kind, text: str) -> None:
        """The same, but not again each time it is found."""
        if (kind, text) not in self._told:
            self._told.add((kind, text))
            self.note(kind, text)

    def take(self) -> list[Output]:
        """All outputs since the last time."""
        outputs, self._outputs = self._outputs, []
        return outputs
