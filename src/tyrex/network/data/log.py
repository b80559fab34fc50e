"""What a tree has received of one type, as far back as it can still matter, and which of it was sent on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tyrex.network.blocks import Block

_MANY = 16
"""So many pieces are made one: looking for a row goes through them, and making one copies them."""


@dataclass(slots=True)
class Piece:
    """Events that came together; they have consecutive rows."""

    first: int
    table: pa.Table
    times: Any
    sent: Any
    """Whether each of them was sent, or None while none was."""

    def __len__(self) -> int:
        return len(self.times)


class Log:
    """Events of one type in the order in which they came, known by rows that count up.

    It is also the history of what was sent: an event is sent once. What windows can't reach leaves in the order
    of arrival, so an event that was late by much may leave later than it could.
    """

    def __init__(self, type_: str) -> None:
        self.type = type_
        self.sent = 0
        self.dropped = 0
        """Events that left without having been sent."""
        self._pieces: list[Piece] = []
        self._end = 0

    def __len__(self) -> int:
        return sum(len(piece) for piece in self._pieces)

    def append(self, block: Block) -> Any:
        """Add events; their rows."""
        first, self._end = self._end, self._end + len(block)
        if len(block):
            if len(self._pieces) >= _MANY:
                self._join()
            self._pieces.append(Piece(first, block.table, block.times, None))
        return np.arange(first, self._end)

    def take(self, rows: Any) -> pa.Table:
        """The events of some rows, which must be there; rows ascend."""
        tables = [self._cut(piece, own - piece.first) for piece, own in self._divided(rows)]
        if len(tables) == 1:
            return tables[0]
        if not tables:
            return pa.table({})
        return pa.concat_tables(tables, promote_options="default")

    def to_send(self, rows: Any) -> Any:
        """Those of some rows that were not sent before; from now on they were. Rows ascend."""
        found = []
        for piece, own in self._divided(rows):
            places = own - piece.first
            if piece.sent is None:
                piece.sent = np.zeros(len(piece), bool)
                new = own
            else:
                new = own[~piece.sent[places]]
            piece.sent[places] = True
            found.append(new)
            self.sent += len(new)
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def times(self, rows: Any) -> Any:
        """When the events of some rows were; rows ascend and must be there."""
        found = [piece.times[own - piece.first] for piece, own in self._divided(rows)]
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def present(self, rows: Any) -> Any:
        """Those of some ascending rows that are still there."""
        first = self._pieces[0].first if self._pieces else self._end
        return rows[np.searchsorted(rows, first) :]

    def between(self, after: int, upto: int) -> tuple[Block, Any]:
        """The events of a stretch of time, in order, and their rows."""
        tables: list[pa.Table] = []
        rows = []
        for piece in self._pieces:
            inside = (piece.times > after) & (piece.times <= upto)
            places = np.flatnonzero(inside)
            if len(places):
                tables.append(self._cut(piece, places))
                rows.append(places + piece.first)
        if not tables:
            return Block(self.type, pa.table({})), np.zeros(0, np.int64)
        table = tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="default")
        found = rows[0] if len(rows) == 1 else np.concatenate(rows)
        block = Block(self.type, table)
        order = block.order()
        return (block, found) if order is None else (block.take(order), found[order])

    def forget(self, before: int) -> None:
        """Let go of what happened before a moment, and came before all that did not."""
        while self._pieces and int(self._pieces[0].times.max()) < before:
            piece = self._pieces.pop(0)
            self._drop(piece, len(piece))
        if self._pieces and len(self._pieces[0]) > 2 * _MANY:
            piece = self._pieces[0]
            old = int(np.argmax(piece.times >= before))
            if 2 * old > len(piece):  # else it is cheaper to wait
                self._drop(piece, old)
                sent = None if piece.sent is None else piece.sent[old:]
                self._pieces[0] = Piece(piece.first + old, piece.table.slice(old), piece.times[old:], sent)

    def _drop(self, piece: Piece, count: int) -> None:
        sent = 0 if piece.sent is None else int(piece.sent[:count].sum())
        self.dropped += count - sent

    def _cut(self, piece: Piece, places: Any) -> pa.Table:
        if len(places) == len(piece):
            return piece.table
        if len(places) and int(places[-1] - places[0]) + 1 == len(places):
            return piece.table.slice(int(places[0]), len(places))
        return piece.table.take(pa.array(places))

    def _divided(self, rows: Any) -> Iterator[tuple[Piece, Any]]:
        start = 0
        for piece in self._pieces:
            if start == len(rows):
                break
            end = int(np.searchsorted(rows, piece.first + len(piece)))
            if end > start:
                yield piece, rows[start:end]
                start = end

    def _join(self) -> None:
        """Make the newest pieces one: each event is copied as often as the log doubles."""
        start = len(self._pieces) - 1
        size = len(self._pieces[start])
        while start > 0 and (len(self._pieces[start - 1]) <= 2 * size or start >= _MANY // 2):
            start -= 1
            size += len(self._pieces[start])
        old = self._pieces[start:]
        if len(old) < 2:
            return
        table = pa.concat_tables([piece.table for piece in old], promote_options="default")
        sent = None
        if any(piece.sent is not None for piece in old):
            sent = np.concatenate([np.zeros(len(p), bool) if p.sent is None else p.sent for p in old])
        self._pieces[start:] = [
            Piece(
                old[0].first,
                table.unify_dictionaries().combine_chunks(),
                np.concatenate([piece.times for piece in old]),
                sent,
            )
        ]
