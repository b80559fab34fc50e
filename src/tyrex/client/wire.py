"""What the clients say and hear, without any connection: bodies, server-sent events, problems, how long to wait."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from tyrex.events import Event
from tyrex.io.jsonevent import read_json_event, write_json_event

if TYPE_CHECKING:
    import pyarrow as pa

Events: TypeAlias = (
    "pa.Table | pa.RecordBatch | Event | Mapping[str, Any] | Iterable[Event | Mapping[str, Any]]"
)
"""A table of Arrow, or events and dicts as in JSON lines."""
LINES = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"
AGAIN = frozenset((429, 502, 503, 504, 507))
"""Answers after which the same may be sent again."""
_LONGEST_WAIT = 5.0


class ServerError(RuntimeError):
    """The server has refused; `code` says why, and `problem` all that it told."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.problem = dict(problem)
        self.code = str(problem.get("code", ""))
        help_ = problem.get("help")
        detail = problem.get("detail") or f"the server answered {status}"
        super().__init__(f"{detail}" + (f" ({help_})" if help_ else ""))


class Missed(RuntimeError):
    """Detections that were asked for are kept no more; the subscription can go on behind them."""

    def __init__(self, count: int, next_number: int) -> None:
        self.count = count
        self.next = next_number
        super().__init__(
            f"{count:,} detections are kept no more: iterate again to go on with number {next_number}, or take "
            "`on_gap` to be told"
        )


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of published events; what was accepted is safe."""

    accepted: int
    duplicates: int


@dataclass(frozen=True, slots=True)
class Detected:
    """A composite event with its number, and the events it was made of."""

    number: int
    event: Event
    lineage: tuple[Event, ...]


def error_of(status: int, body: bytes) -> ServerError:
    """What the server has refused with."""
    try:
        problem = json.loads(body)
    except ValueError:
        problem = {}
    return ServerError(status, problem if isinstance(problem, dict) else {})


def bodies(events: Events, size: int) -> Iterator[tuple[str, bytes]]:
    """The events as bodies of requests of up to so many, each with its media type."""
    if hasattr(events, "schema"):
        yield from _tables(events, size)
        return
    source = iter([events] if isinstance(events, Event | Mapping) else events)
    while batch := list(islice(source, size)):
        yield LINES, "\n".join(map(_line, batch)).encode()


def _line(event: Event | Mapping[str, Any]) -> str:
    return (
        write_json_event(event) if isinstance(event, Event) else json.dumps(dict(event), ensure_ascii=False)
    )


def _tables(events: Any, size: int) -> Iterator[tuple[str, bytes]]:
    import pyarrow as pa

    table = pa.Table.from_batches([events]) if isinstance(events, pa.RecordBatch) else events
    for start in range(0, len(table), size):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table.slice(start, size))
        yield ARROW, sink.getvalue().to_pybytes()


def wait_before(attempt: int, retry_after: str | None = None) -> float:
    """Seconds to wait before the next attempt: ever longer, and not the same for all clients."""
    if retry_after is not None and retry_after.isdecimal():
        return min(float(retry_after), _LONGEST_WAIT)
    return min(_LONGEST_WAIT, 0.05 * 2.0 ** min(attempt, 10)) * (0.5 + random.random() / 2)


def detected(data: Mapping[str, Any]) -> Detected:
    """A detection as the server tells it."""
    record = data["event"]
    lineage = tuple(read_json_event(part) for part in record.get("lineage", ()))
    return Detected(data["number"], read_json_event(record), lineage)


@dataclass
class Reader:
    """Puts the lines of a stream of server-sent events together; it remembers the number seen last."""

    last: int | None = None
    """The number seen last."""
    _name: str = ""
    _data: str = ""
    _id: int | None = None

    def line(self, line: str) -> Detected | Missed | None:
        """Take a line; what it has completed."""
        if line.startswith("data:"):
            self._data += line[5:].removeprefix(" ")
        elif line.startswith("event:"):
            self._name = line[6:].strip()
        elif line.startswith("id:"):
            self._id = int(line[3:])
        elif not line:
            name, data, id_ = self._name, self._data, self._id
            self._name, self._data, self._id = "", "", None
            if id_ is not None:
                self.last = id_
            if data and name == "gap":
                return Missed(json.loads(data)["gap"]["missed"], (self.last or 0) + 1)
            if data:
                return detected(json.loads(data))
        return None

    def restart(self) -> None:
        """A new connection has begun: half an event of the old one counts for nothing."""
        self._name, self._data, self._id = "", "", None
