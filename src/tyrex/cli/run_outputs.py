"""Where the composite events of a stream go: the screen, a folder, or a topic of Kafka."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tyrex.cli.run_folders import BatchFolder
from tyrex.io import Found, open_writer, write_json_event
from tyrex.tesla.types import EventType

if TYPE_CHECKING:
    from tyrex.spark.kafka import Topic
    from tyrex.spark.runs import Starting


class Output(Protocol):
    """Takes composite events."""

    told_again: str
    """What becomes of the rest of a stream, told at the end of a run, when the next run goes on."""

    def claim(self, query: str) -> None:
        """Begin, as the output of a query."""

    def write(self, batch: int | None, found: Sequence[Found]) -> None:
        """Write what a micro-batch brought, which may run again, or the rest."""


class Screen:
    """Standard output, as JSON lines."""

    told_again = "a run that goes on tells them again, with the same ids"

    def __init__(self, types: Iterable[EventType], *, lineage: bool) -> None:
        self._writer = open_writer("-", types, lineage=lineage, standard_output=sys.stdout.buffer)

    def claim(self, query: str) -> None:
        """Nothing is to be done."""

    def write(self, batch: int | None, found: Sequence[Found]) -> None:
        """Write what a micro-batch brought."""
        self._writer.write(found)


class Folder:
    """A folder of files, each from one micro-batch."""

    told_again = "a run that goes on puts what it finds itself in their place"

    def __init__(self, path: Path, types: Iterable[EventType], *, lineage: bool) -> None:
        self._folder = BatchFolder(path)
        self._types = list(types)
        self._lineage = lineage

    def claim(self, query: str) -> None:
        """Make it the folder of a query."""
        self._folder.claim(query)

    def write(self, batch: int | None, found: Sequence[Found]) -> None:
        """Write what a micro-batch brought."""
        self._folder.write_events(batch, found, self._types, lineage=self._lineage)


class TopicOutput:
    """A topic of Kafka: the key of a message is the id of the composite event."""

    told_again = "a run that goes on sends them again, with the same ids"

    def __init__(self, starting: Starting, topic: Topic, notes: Path) -> None:
        from tyrex.spark.kafka import TopicWriter

        self._writer = TopicWriter(starting.session(), topic, notes)

    def claim(self, query: str) -> None:
        """Nothing is to be done."""

    def write(self, batch: int | None, found: Sequence[Found]) -> None:
        """Send what a micro-batch brought."""
        messages = [(one.event.id or "", write_json_event(one.event, lineage=one.lineage)) for one in found]
        self._writer.write(batch, messages)
