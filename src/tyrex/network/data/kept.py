"""A part that the parent pulls: its events are kept until they are asked for (deployment paper, section 3.5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tyrex.network.data.log import Log
from tyrex.network.data.spans import Spans
from tyrex.network.messages import PartMode, Span


class Kept:
    """What a part has matched and not sent, and what is asked for of it.

    It is pushed until the parent says otherwise. The parent may be far behind: so how long events are kept is
    counted from the parent's time, as far as the parent has told it.
    """

    def __init__(self, hold: int) -> None:
        self._hold = hold  # how much later than an event the one can come with which it matches
        self.mode = PartMode.PUSH
        self.keep = 0
        self._released: int | None = None
        self._rows: dict[str, Any] = {}
        self._spans: dict[str, Spans] = defaultdict(Spans)
        self.dropped = 0
        """Events that nobody asked for in time."""

    def __len__(self) -> int:
        return sum(len(rows) for rows in self._rows.values())

    def matched(self, type_: str, rows: Any, log: Log) -> Any:
        """Take rows that the part has matched; those that are to be sent now."""
        if self.mode is PartMode.PUSH:
            return rows
        asked = self._asked(type_, rows, log)
        left = rows[~asked]
        if len(left):
            old = self._rows.get(type_)
            self._rows[type_] = left if old is None else np.union1d(old, left)
        return rows[asked]

    def awaken(self, spans: Iterable[Span], logs: Mapping[str, Log]) -> dict[str, Any]:
        """Open spans; the rows that they ask for among those that are kept."""
        if self.mode is PartMode.PUSH:
            return {}  # asked before it was pushed again: everything was sent
        new: dict[str, list[Span]] = defaultdict(list)
        for span in spans:
            new[span.type].append(span)
        found = {}
        for type_, some in new.items():
            self._spans[type_].add(some)
            rows = self._rows.get(type_)
            if rows is None:
                continue
            asked = self._asked(type_, rows, logs[type_])
            found[type_] = rows[asked]
            self._rows[type_] = rows[~asked]
        return found

    def retune(self, mode: PartMode, keep: int, reached: int) -> dict[str, Any]:
        """Push from now on, or keep; the rows that are to be sent now."""
        self.mode, self.keep = mode, keep
        self.release(reached)
        if mode is PartMode.PULL:
            return {}
        found, self._rows = self._rows, {}
        self._spans.clear()
        return found

    def release(self, reached: int) -> None:
        """The parent's time is this by now."""
        self._released = reached if self._released is None else max(self._released, reached)

    def needs_from(self) -> int | None:
        """The time from which events may still be asked for; None if no event is kept."""
        if self.mode is PartMode.PUSH or self._released is None:
            return None
        return self._released + 1 - self.keep

    def forget(self, time: int, logs: Mapping[str, Log]) -> None:
        """Let go of what can't be asked for any more; `time` is the processor's own."""
        before = self.needs_from()
        if before is None:
            return
        for type_, rows in self._rows.items():
            if len(rows):
                kept = rows[logs[type_].times(rows) >= before]
                self.dropped += len(rows) - len(kept)
                self._rows[type_] = kept
        for spans in self._spans.values():
            spans.close(time + 1 - self._hold)

    def _asked(self, type_: str, rows: Any, log: Log) -> Any:
        spans = self._spans.get(type_)
        if not spans or not len(rows):
            return np.zeros(len(rows), bool)
        return spans.hold(log.times(rows), log.take(rows))
