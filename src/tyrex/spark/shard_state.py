"""What Spark's state holds of a shard, and how a worker gets its shard back from it.

The state is a snapshot of the engine at some watermark (in pieces), the chunks of events that have arrived since or
wait, each written once, and a page with a token. A worker keeps its shards in memory; the token says whether what it
has is what the state holds. One that is some micro-batches behind reads only the chunks that it misses.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields, replace
from typing import Any, Protocol

from tyrex.spark.live import Catalogue, Ground
from tyrex.spark.packing import NEVER, UNKNOWN, from_bytes
from tyrex.spark.shard import Shard
from tyrex.spark.worker import Task

PIECE = 1 << 20
"""A snapshot is stored in pieces of this size."""
SMALLEST_LOG = 1 << 20
"""As long as processed chunks take less than this, no new snapshot is written."""
REMEMBERED = 16
"""So many micro-batches may a worker be behind, and still go on with what it has."""
FORGOTTEN_AFTER = 600.0
"""Seconds after which a worker gives up shards of another query."""


@dataclass(frozen=True)
class Page:
    """The page of a shard's state that is written in every micro-batch."""

    made_by: str
    """A hash of the rules and of the layout: the state fits no others."""
    tokens: str = ""
    """The tokens of the last micro-batches, the newest first."""
    watermark: int = NEVER
    snapshot_at: int = NEVER
    """The watermark of the snapshot."""
    pieces: int = 0
    snapshot_bytes: int = 0
    next_chunk: int = 0
    begin: int = UNKNOWN
    """When time began, for shards with calendar timers; unknown as long as nothing has come."""
    greatest: int = NEVER
    """The greatest time of all events, for shards with timers."""
    timer: int = -1
    changes: int = 0
    """How often the rules have been changed."""

    @property
    def token(self) -> str:
        """The token of the last micro-batch."""
        return self.tokens.split(" ", 1)[0]


_SPARK = {"str": "string", "int": "long"}
PAGE = ", ".join(f"{field.name} {_SPARK[str(field.type)]}" for field in fields(Page))
PIECES = "bytes binary"
CHUNKS = "bytes binary"
RULES = "record string"
ABOUT = "record string"
HISTORY = "least long, greatest long, blob binary"
NUMBER = "number int"


class ValueState(Protocol):
    """Spark's state of one value."""

    def get(self) -> tuple[Any, ...] | None: ...
    def update(self, newValue: tuple[Any, ...]) -> None: ...  # noqa: N803


class MapState(Protocol):
    """Spark's state of values by keys."""

    def getValue(self, key: tuple[Any, ...]) -> tuple[Any, ...] | None: ...  # noqa: N802
    def updateValue(self, key: tuple[Any, ...], value: tuple[Any, ...]) -> None: ...  # noqa: N802
    def removeKey(self, key: tuple[Any, ...]) -> None: ...  # noqa: N802
    def iterator(self) -> Iterable[tuple[tuple[Any, ...], tuple[Any, ...]]]: ...


@dataclass(frozen=True)
class History:
    """What the tables of a history have for a shard."""

    least: int
    """The earliest time of all its events, also of those for other shards; unknown if there are none."""
    greatest: int
    blobs: tuple[bytes, ...]


class WrongState(RuntimeError):
    """A checkpoint was made by other rules, sources or options."""


@dataclass(frozen=True)
class Stored:
    """The state of the shard that Spark is at."""

    page: ValueState
    pieces: MapState
    chunks: MapState
    rules: ValueState
    """The rules that run, where they can change; nothing as long as they are the initial ones."""

    about: ValueState
    """What the shard is: its rules and how its events are written."""
    history: MapState
    """The packed rows of a history, until the first micro-batch."""

    def take_history(self) -> History:
        """The rows of the history; they leave the state."""
        held = sorted((key[0], value) for key, value in self.history.iterator())
        for number, _ in held:
            self.history.removeKey((number,))
        return History(
            min((value[0] for _, value in held), default=UNKNOWN),
            max((value[1] for _, value in held), default=NEVER),
            tuple(bytes(value[2]) for _, value in held if value[2] is not None),
        )

    def read_rules(self, ground: Ground) -> Catalogue:
        """The rules that run."""
        found = self.rules.get()
        return Catalogue.read(found[0]) if found else Catalogue.first(ground)

    def read_page(self, made_by: str) -> Page:
        """The page; a new one for a shard that has no state."""
        found = self.page.get()
        return checked(Page(*found), made_by) if found else Page(made_by)

    def snapshot(self, page: Page) -> bytes | None:
        """The snapshot, put together."""
        found = [self.pieces.getValue((number,)) for number in range(page.pieces)]
        return b"".join(bytes(piece[0]) for piece in found if piece) or None

    def write_snapshot(self, page: Page, snapshot: bytes, obsolete: Sequence[int]) -> Page:
        """Put a new snapshot in the place of the old one, and let the chunks go that are in it."""
        count = -(-len(snapshot) // PIECE)
        for number in range(count):
            self.pieces.updateValue((number,), (snapshot[number * PIECE : (number + 1) * PIECE],))
        for number in range(count, page.pieces):
            self.pieces.removeKey((number,))
        for number in obsolete:
            self.chunks.removeKey((number,))
        return replace(page, snapshot_at=page.watermark, pieces=count, snapshot_bytes=len(snapshot))


def checked(page: Page, made_by: str) -> Page:
    """The page, if it was written by the same rules."""
    if page.made_by != made_by:
        raise WrongState(
            "the checkpoint was made with other rules, event types, sources or numbers of shards: "
            "give the same ones, or start with a new checkpoint"
        )
    return page


def rebuild(
    task: Task, number: int, page: Page, snapshot: bytes | None, chunks: Iterable[tuple[int, bytes]]
) -> Shard:
    """A shard from its state alone."""
    shard = Shard.new(task, number, snapshot)
    shard.watermark = page.snapshot_at
    shard.changes = page.changes
    shard.begun = page.begin < page.snapshot_at
    for chunk, data in sorted(chunks):
        shard.hold(chunk, from_bytes(data), len(data))
    shard.next_chunk = page.next_chunk
    shard.release(page.watermark, page.begin)
    return shard


class Cache:
    """The shards that a worker process has, with the token of the state that each belongs to."""

    def __init__(self) -> None:
        self._shards: dict[tuple[str, int], tuple[str, Shard, float]] = {}
        self.rebuilt = self.caught_up = self.hits = 0

    def take(self, run: str, task: Task, number: int, page: Page, stored: Stored) -> Shard:
        """The shard as its state says; it is out of the cache until it is put back."""
        now = time.monotonic()
        token, shard, _ = self._shards.pop((run, number), ("", None, 0.0))
        for key, (_, _, used) in list(self._shards.items()):
            if key[0] != run and now - used > FORGOTTEN_AFTER:
                del self._shards[key]
        if shard is not None and token == page.token:
            self.hits += 1
            return shard
        behind = shard is not None and token in page.tokens.split() and shard.changes == page.changes
        if shard is not None and behind and shard.watermark >= page.snapshot_at:
            self.caught_up += 1
            return _catch_up(shard, page, stored)
        self.rebuilt += 1
        chunks = ((key[0], bytes(value[0])) for key, value in stored.chunks.iterator())
        return rebuild(task, number, page, stored.snapshot(page), chunks)

    def put(self, run: str, number: int, token: str, shard: Shard) -> None:
        """Keep a shard whose state is written."""
        self._shards[run, number] = (token, shard, time.monotonic())


CACHE = Cache()


def _catch_up(shard: Shard, page: Page, stored: Stored) -> Shard:
    """Give a shard what it has missed: all of it lies behind its watermark, so it is still in the state."""
    for number in range(shard.next_chunk, page.next_chunk):
        found = stored.chunks.getValue((number,))
        assert found is not None
        shard.hold(number, from_bytes(bytes(found[0])), len(found[0]))
    shard.release(page.watermark, page.begin)
    shard.chunks = {n: chunk for n, chunk in shard.chunks.items() if chunk[0] >= page.snapshot_at}
    return shard


def turned(page: Page) -> Page:
    """The page with a new token."""
    return replace(page, tokens=" ".join([uuid.uuid4().hex, *page.tokens.split()][:REMEMBERED]))


def row_of(page: Page) -> tuple[Any, ...]:
    """The page as Spark stores it."""
    return astuple(page)
