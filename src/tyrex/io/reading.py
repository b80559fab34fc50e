"""What readers of batches have in common: where they read, what they make of it, and where bad data goes."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Protocol, TypeVar

from tyrex.events import Event, EventError
from tyrex.io.form import PLAIN, Form
from tyrex.io.layout import BATCH_ROWS, Batch, Layout
from tyrex.io.reader import EventReader, OnRejected

READ_AHEAD = min(os.cpu_count() or 1, 4)
"""How many blocks of a file are worked on at once: more would take memory, and no engine could keep up."""

Item = TypeVar("Item")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Reading:
    """How an input is read: the layout of its batches, the form of its events, who gets what is rejected."""

    layout: Layout
    on_rejected: OnRejected
    form: Form = field(default=PLAIN)

    def accepted(self, reader: EventReader) -> Iterator[Event]:
        """The events in declared form; those that don't fit are rejected. An unknown type is let through."""
        conform = self.layout.conform
        for event in reader:
            try:
                conformed = conform(event)
            except EventError as error:
                reader.reject(str(error))
            else:
                yield event if conformed is None else conformed

    def batches(self, reader: EventReader, rows: int = BATCH_ROWS) -> Iterator[Batch]:
        """The events of a reader in batches of up to so many."""
        accepted = self.accepted(reader)
        while events := list(islice(accepted, rows)):
            yield self.layout.batch(events)


class BatchReader(Protocol):
    """An input: iterate it, once, for its events in batches of bounded size, in the order of the data.

    Bad data goes to the `on_rejected` that it was made with, and does not end the reading.
    """

    @property
    def size(self) -> int | None:
        """How many bytes there are to read, if that is known."""

    @property
    def position(self) -> int:
        """How many of them were read."""

    def __iter__(self) -> Iterator[Batch]:
        """The batches, none of them empty."""


def ahead(work: Callable[[Item], Made], items: Iterable[Item], depth: int) -> Iterator[tuple[Item, Made]]:
    """Each item and what the work makes of it, in order; up to so many items are worked on ahead, at once."""
    if depth < 2:
        for item in items:
            yield item, work(item)
        return
    waiting: deque[tuple[Item, Future[Made]]] = deque()
    pool = ThreadPoolExecutor(depth, "tyrex-read")
    source = iter(items)
    trouble: EventError | None = None
    is_more = True
    try:
        while is_more or waiting:
            while is_more and len(waiting) <= depth:
                try:
                    item = next(source)
                    waiting.append((item, pool.submit(work, item)))
                except StopIteration:
                    is_more = False
                except EventError as error:  # first comes what was read before it
                    is_more, trouble = False, error
            if waiting:
                first, future = waiting.popleft()
                yield first, future.result()
        if trouble is not None:
            raise trouble
    finally:
        pool.shutdown(cancel_futures=True)


class FileProgress:
    """How far a file has been read; an input without a path has no end that is known."""

    def __init__(self, path: Path | None) -> None:
        self.size = None if path is None else path.stat().st_size
        self.position = 0
