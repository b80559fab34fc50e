"""The clients of a processor that publish events: what they advertised, what they published, up to which time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tyrex.events import Event
from tyrex.network.blocks import ID, NUMBER, ORIGIN, SEPARATOR, TIME, Block, block_of, concatenated, schema_of
from tyrex.network.messages import BEGINNING, END
from tyrex.tesla.types import EventType, ValueType

if TYPE_CHECKING:
    import pyarrow as pa


class RefusedError(ValueError):
    """What a client asked for can't be done; says what was found, what was expected, and what to do."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of published events."""

    block: Block | None
    late: int


class Sources:
    """Keeps the events of a processor's own sources as long as an epoch could need them again."""

    def __init__(self, origin: str, lateness: int | None) -> None:
        self.origin = origin
        self._lateness = lateness
        self._types: dict[str, EventType] = {}
        self._advertised: dict[str, set[str]] = {}
        """The types of each client."""
        self._told: dict[str, int] = {}
        """Up to which time each client has published everything, where clients tell the time."""
        self._log: list[tuple[int, Block]] = []
        """With the time of the processor's clock when they came: sources may tell any time."""
        self._numbers = 0
        self.time = BEGINNING
        """Everything up to here has been published; what comes for an earlier time is late."""
        self.closed = BEGINNING
        """The same for trees: the end of time where there is no source that could publish anything."""

    def __len__(self) -> int:
        return sum(len(block) for _, block in self._log)

    @property
    def types(self) -> Mapping[str, EventType]:
        """The types that some source has advertised."""
        return self._types

    def advertise(self, client: str, type_: EventType) -> bool:
        """A client will publish events of a type; whether the type is new here."""
        known = self._types.get(type_.name)
        if known is not None and known.attributes != type_.attributes:
            raise RefusedError(
                f"expected {known}, as it was advertised before, found {type_}; use one of them"
            )
        self._advertised.setdefault(client, set()).add(type_.name)
        if known is None:
            self._types[type_.name] = type_
        return known is None

    def withdraw(self, client: str, type_: str | None = None) -> bool:
        """A client publishes no more of a type, or of any; whether a type is gone with that."""
        types = self._advertised.get(client, set())
        types -= {type_} if type_ is not None else set(types)
        if not types:
            self._advertised.pop(client, None)
            self._told.pop(client, None)
        left = set[str]().union(*self._advertised.values())
        gone = self._types.keys() - left
        for name in gone:
            del self._types[name]
        return bool(gone)

    def publish(self, now: int, client: str, type_: str, events: Sequence[Event] | pa.Table) -> Accepted:
        """Take events of one type; those that are late are not taken.

        A table has a column `timestamp` of microseconds, one for each attribute, and perhaps one `id`.
        """
        if type_ not in self._advertised.get(client, ()):
            raise RefusedError(f"expected events of an advertised type, found `{type_}`; advertise it first")
        declared = self._types[type_]
        if isinstance(events, Sequence):
            block = self._from_events(declared, events)
        else:
            block = self._from_table(declared, events)
        fresh = block.times > self.time
        late = len(block) - int(fresh.sum())
        if late:
            block = block.take(fresh)
        if not len(block):
            return Accepted(None, late)
        self._numbers += len(block) + late
        self._log.append((now, block))
        return Accepted(block, late)

    def _from_events(self, declared: EventType, events: Sequence[Event]) -> Block:
        import pyarrow as pa

        for event in events:
            unknown = event.attributes.keys() - declared.by_name.keys()
            if unknown:
                raise RefusedError(f"expected attributes of {declared}, found `{min(unknown)}`; leave it out")
        try:
            return block_of(declared, events, self.origin, self._numbers + 1)
        except (pa.ArrowException, TypeError, OverflowError) as error:
            raise RefusedError(f"expected values that fit {declared}, found others: {error}") from None

    def _from_table(self, declared: EventType, events: pa.Table) -> Block:
        import numpy as np
        import pyarrow as pa

        names = set(events.column_names)
        if TIME not in names:
            raise RefusedError(f"expected a column `{TIME}`, found {', '.join(sorted(names))}; add it")
        unknown = names - {TIME, ID} - declared.by_name.keys()
        if unknown:
            raise RefusedError(f"expected columns for {declared}, found `{min(unknown)}`; leave it out")
        count = len(events)
        columns: list[Any] = []
        try:
            schema = schema_of(declared, ids=ID in names and ID not in declared.by_name)
            for field in schema:
                plain = field.name.removeprefix(SEPARATOR)
                if field.name == ORIGIN:
                    columns.append(
                        pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), pa.array([self.origin]))
                    )
                elif field.name == NUMBER:
                    columns.append(pa.array(np.arange(self._numbers + 1, self._numbers + 1 + count)))
                elif plain in names:
                    columns.append(events.column(plain).cast(field.type))
                else:
                    columns.append(pa.nulls(count, field.type))
            block = Block(declared.name, pa.Table.from_arrays(columns, schema=schema))
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise RefusedError(f"expected columns that fit {declared}, found others: {error}") from None
        if block.table.column(TIME).null_count:
            raise RefusedError(f"expected a timestamp for each event, found null; fill the column `{TIME}`")
        return block.in_order()

    def advance(self, client: str, upto: int) -> None:
        """A client tells that it will publish nothing more up to this time."""
        self._told[client] = max(upto, self._told.get(client, BEGINNING))

    def clock(self, now: int) -> int:
        """Move the time: everything up to here has been published."""
        if self._lateness is not None:
            reached = now - self._lateness - 1
        elif self._advertised:
            reached = min(self._told.get(client, BEGINNING) for client in self._advertised)
        else:
            reached = END
        if self._advertised or self._lateness is not None:
            self.time = max(self.time, reached)
        self.closed = max(self.time, reached)
        return self.closed

    def log(self, after: int) -> tuple[Block, ...]:
        """All events behind a moment that were published, by type, each type in order."""
        by_type: dict[str, list[Block]] = {}
        for _, block in self._log:
            times = block.times
            if times[-1] > after:
                by_type.setdefault(block.type, []).append(
                    block if times[0] > after else block.take(times > after)
                )
        return tuple(concatenated(blocks) for blocks in by_type.values())

    def forget(self, upto: int, came: int) -> None:
        """Events up to a moment will not be needed again."""
        self._log = [(at, block) for at, block in self._log if at > came or int(block.times[-1]) > upto]


def check_type(name: str, attributes: Iterable[tuple[str, ValueType]]) -> None:
    """Refuse a type that no rule could speak of."""
    names = [attribute for attribute, _ in attributes]
    for text in (name, *names):
        if not text.isidentifier():
            raise RefusedError(f"expected a name of letters, digits and `_`, found {text!r}; change it")
    doubled = next((attribute for attribute in names if names.count(attribute) > 1), None)
    if doubled is not None:
        raise RefusedError(f"expected each attribute of `{name}` once, found `{doubled}` twice; keep one")
    if name == "Timer" or "timestamp" in names:
        raise RefusedError("expected other names than `Timer` and `timestamp`, which are built in; rename it")
