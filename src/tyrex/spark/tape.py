"""Events of files in the order of a replay: a tape that is read on as far as its time has come.

Nothing here knows Spark or looks at a clock: `due` says which time of the events has come at a moment that the caller
names, and a `Position` says how far a tape was read, so that another one over the same files goes on from there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from tyrex.events import EventError
from tyrex.io import Input, Layout, OnRejected, Rejected, merged, open_input
from tyrex.io.layout import ID, TYPE
from tyrex.tesla.types import TIMESTAMP

if TYPE_CHECKING:
    import pyarrow as pa

SEQUENCE, REJECTED = "sequence", "rejected"
OWN = (TYPE, TIMESTAMP, ID, SEQUENCE, REJECTED)
"""The columns of a replay besides the attributes."""


@dataclass(frozen=True)
class Position:
    """How far a tape was read."""

    events: int = 0
    rejected: int = 0
    at: int | None = None
    """The time of the replay in microseconds; None before the first event."""

    def record(self) -> dict[str, int]:
        """The position as Spark keeps it in a checkpoint."""
        found = {"events": self.events, "rejected": self.rejected}
        return found if self.at is None else {**found, "at": self.at}

    @classmethod
    def of(cls, record: Mapping[str, int]) -> Position:
        """The position that a checkpoint holds."""
        return cls(record["events"], record["rejected"], record.get("at"))


@dataclass(frozen=True)
class Pace:
    """How the time of the events goes by: at `speed`, from the time `at` on, which was at the moment `began`."""

    speed: float
    began: int
    at: int

    def due(self, now: int) -> int:
        """The time that has come at a moment; both in microseconds."""
        return self.at + int((now - self.began) * self.speed)


@dataclass(frozen=True)
class _Piece:
    """Events that follow each other."""

    first: int
    batch: pa.RecordBatch
    turns: Sequence[int]
    """The latest timestamp so far: an event that is out of order comes right after the one before it."""

    @property
    def end(self) -> int:
        return self.first + len(self.turns)


@dataclass(frozen=True)
class _Bad:
    """Data that is no event."""

    source: str
    data: Rejected


class Tape:
    """The events of inputs, merged by time, and with them the data that is no event, each as a row.

    What was read stays in memory until `forget`, so that rows can be given again.
    """

    def __init__(self, inputs: Sequence[Input], layout: Layout, only: frozenset[str] | None = None) -> None:
        if layout.ambiguous is not None:
            raise EventError(
                f"there is no one column for the attribute `{layout.ambiguous}`: its types differ, or it is called "
                "like a column that every event has. Replay each type for itself, with the option `types`"
            )
        if taken := [name for name in layout.attributes if name in OWN]:
            raise EventError(f"the attribute `{taken[0]}` is called like a column of the replay: rename it")
        self._inputs, self._layout, self._only = inputs, layout, only
        self.schema = schema_of(layout)
        """The columns of its rows."""
        self._rewind()

    def first(self) -> int | None:
        """The time of the first event, or None if there is none."""
        self._seek(Position())
        while not self._pieces and self._read_on():
            pass
        return self._pieces[0].turns[0] if self._pieces else None

    def reach(self, start: Position, due: int | None, most: int | None) -> Position:
        """Where the rows end that are due, up to so many of them; None stands for all."""
        self._seek(start)
        limit = None if most is None else start.events + most
        while (limit is None or self._read < limit) and (
            due is None or self._turn is None or self._turn <= due
        ):
            if not self._read_on():
                break
        end, at = start.events, start.at
        for piece in self._pieces:
            if piece.end > end:
                stop = len(piece.turns) if due is None else bisect_right(piece.turns, due)
                if limit is not None:
                    stop = min(stop, limit - piece.first)
                if stop > end - piece.first:
                    end, at = piece.first + stop, piece.turns[stop - 1]
                if end < piece.end:
                    break
        bad = self._bad_seen
        if (end, bad) == (start.events, start.rejected):
            if self._trouble is not None and end == self._read:
                raise self._trouble
            return start
        return Position(end, bad, at if due is None or at is None else max(at, due))

    def rows(self, start: Position, end: Position) -> Iterator[pa.RecordBatch]:
        """The rows between two positions, which were reached by this tape or by one like it."""
        self._seek(start)
        self._need(end)
        for piece in self._pieces:
            first, last = max(piece.first, start.events), min(piece.end, end.events)
            if first < last:
                yield from self._events(piece, first, last)
        bad = [self._bad[n - self._bad_begin] for n in range(start.rejected, end.rejected)]
        if bad:
            yield _bad_rows(bad, self.schema)

    def all_rows(self) -> Iterator[pa.RecordBatch]:
        """All rows there are, none of which is kept."""
        position = Position()
        while (end := self.reach(position, None, 1)) != position:
            # What was read for one event is a whole batch.
            end = Position(self._read, self._bad_seen, self._turn)
            yield from self.rows(position, end)
            self.forget(end)
            position = end

    def forget(self, position: Position) -> None:
        """The rows before this will not be asked for again."""
        while self._pieces and self._pieces[0].end <= position.events:
            self._begin = self._pieces.popleft().end
        while self._bad and self._bad_begin < position.rejected:
            self._bad.popleft()
            self._bad_begin += 1

    # --- Reading --------------------------------------------------------------------------------------------

    def _rewind(self) -> None:
        self._pieces: deque[_Piece] = deque()
        self._bad: deque[_Bad] = deque()
        self._begin = self._bad_begin = self._read = 0
        self._turn: int | None = None
        self._trouble: Exception | None = None
        self._batches = merged([open_input(one, self._layout, self._taker) for one in self._inputs])

    def _seek(self, position: Position) -> None:
        """Have all rows from a position on; those before it are read once more if need be, and let go."""
        if position.events < self._begin or position.rejected < self._bad_begin:
            self._rewind()
        self._need(position, keep=False)

    def _need(self, position: Position, *, keep: bool = True) -> None:
        """Read up to a position."""
        while self._read < position.events or self._bad_seen < position.rejected:
            if not self._read_on():
                raise self._trouble or EventError(
                    f"the replay was at event {position.events}, but its files have only {self._read}: they are not "
                    "those that it began with. Start with a new checkpoint"
                )
            if not keep:
                self.forget(position)

    @property
    def _bad_seen(self) -> int:
        return self._bad_begin + len(self._bad)

    def _read_on(self) -> bool:
        """Read one batch more; whether there was one. What ends the reading early is told when it is reached."""
        import pyarrow as pa

        before = self._bad_seen
        try:
            batch: Any = next(self._batches, None)
        except (EventError, OSError) as error:
            self._trouble, batch = error, None
        if batch is None:
            return self._bad_seen > before
        times: list[int] = batch.column(1).cast(pa.int64()).to_pylist()
        turns = list(accumulate(times, max))
        if self._turn is not None and turns[0] < self._turn:
            turns = [max(turn, self._turn) for turn in turns]
        self._pieces.append(_Piece(self._read, batch, turns))
        self._read += len(turns)
        self._turn = turns[-1]
        return True

    def _taker(self, source: str) -> OnRejected:
        return lambda data: self._bad.append(_Bad(source, data))

    # --- Rows -----------------------------------------------------------------------------------------------

    def _events(self, piece: _Piece, first: int, last: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.compute as pc

        batch = piece.batch.slice(first - piece.first, last - first)
        types = batch.column(0).cast(pa.string())
        columns = [
            types,
            *batch.columns[1:3],
            pa.array(range(first, last), pa.int64()),
            *batch.columns[3:],
            pa.nulls(len(batch), self.schema.field(REJECTED).type),
        ]
        rows = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        if self._only is not None:
            rows = rows.filter(pc.is_in(types, pa.array(sorted(self._only), pa.string())))
        if len(rows):
            yield rows


def schema_of(layout: Layout) -> pa.Schema:
    """The columns of the rows of a replay; those of the attributes are between the others."""
    import pyarrow as pa

    text = pa.string()
    rejected = pa.struct([("source", text), ("line", pa.int64()), ("reason", text), ("text", text)])
    _, at, id_, *attributes = layout.schema
    fields: list[Any] = [(TYPE, text), at, id_, (SEQUENCE, pa.int64()), *attributes, (REJECTED, rejected)]
    return pa.schema(fields)


def _bad_rows(bad: Sequence[_Bad], schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    told = [
        {"source": b.source, "line": b.data.line_number, "reason": b.data.reason, "text": b.data.text}
        for b in bad
    ]
    columns: list[Any] = [pa.nulls(len(bad), field.type) for field in list(schema)[:-1]]
    columns.append(pa.array(told, schema.field(REJECTED).type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)
