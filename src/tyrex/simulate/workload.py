"""What happens in a network: sources with their rates, sinks with what they want, rules, and the events themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tyrex.network.blocks import TIME
from tyrex.rules import RuleSet, parse
from tyrex.simulate.contents import Contents, Draw
from tyrex.tesla.durations import SECOND

if TYPE_CHECKING:
    import pyarrow as pa

VALUE = "value"
"""The attribute of all events of the papers' workloads."""
_CHUNK = 600 * SECOND
"""Events are drawn for so long at a time, so that they don't depend on how they are handed in."""


class Arrivals(StrEnum):
    """When the events of a source come."""

    POISSON = "poisson"
    """Independent of each other."""
    PERIODIC = "periodic"
    """At equal distances, from a random beginning."""


@dataclass(frozen=True, slots=True)
class Feed:
    """A source: it publishes events of one type at one processor."""

    processor: str
    type: str
    rate: float
    """Events in a second, on average."""


@dataclass(frozen=True, slots=True)
class Sink:
    """A client that wants events, at one processor."""

    processor: str
    filters: tuple[str, ...]
    """Subscriptions of TESLA, such as `Fire(area = "A1")`."""


@dataclass(frozen=True)
class Workload:
    """Rules, sources and sinks, and a seed for the events."""

    rules: str
    """With the event types that sources publish."""
    feeds: tuple[Feed, ...]
    sinks: tuple[Sink, ...]
    draws: Mapping[str, Mapping[str, Draw]] = field(default_factory=dict)
    """For types, and their attributes: which values they have."""
    rows: Mapping[str, pa.Table] = field(default_factory=dict)
    """For types: real events, which are drawn again."""
    arrivals: Arrivals = Arrivals.POISSON
    seed: int = 0
    raced: bool = field(default=False)
    """Whether the rules are written in RACED."""

    @cached_property
    def parsed(self) -> RuleSet:
        """The rules, checked."""
        return parse(self.rules, "workload.raced" if self.raced else "workload.tesla")

    @property
    def rate(self) -> float:
        """Events in a second, of all sources."""
        return sum(feed.rate for feed in self.feeds)

    def events(self, since: int, until: int) -> list[tuple[Feed, pa.Table]]:
        """The events from one moment on and before another: for each source the columns of time and value."""
        import pyarrow as pa

        found = []
        for number, feed in enumerate(self.feeds):
            parts = [self._cut(number, chunk, since, until) for chunk in _chunks(since, until)]
            filled = [part for part in parts if len(part)]
            if filled:
                found.append((feed, filled[0] if len(filled) == 1 else pa.concat_tables(filled)))
        return found

    @cached_property
    def contents(self) -> Mapping[str, Contents]:
        """What stands in the events of each type."""
        types = {feed.type for feed in self.feeds}
        return {
            name: Contents(self.parsed.types[name], self.draws.get(name, {}), self.rows.get(name))
            for name in types
        }

    @cached_property
    def _drawn(self) -> dict[int, tuple[int, pa.Table]]:
        return {}

    def _cut(self, feed: int, chunk: int, since: int, until: int) -> pa.Table:
        """What a source publishes in a span of a chunk; the last chunk of each source is kept."""
        kept = self._drawn.get(feed)
        if kept is None or kept[0] != chunk:
            kept = self._drawn[feed] = (chunk, self._chunk(feed, chunk))
        table = kept[1]
        first, last = table.column(TIME).to_numpy().searchsorted((since, until))
        return table.slice(first, last - first)

    def _chunk(self, feed: int, chunk: int) -> pa.Table:
        import numpy as np
        import pyarrow as pa

        rng = np.random.default_rng((self.seed, feed, chunk))
        times = self._times(feed, chunk, rng)
        columns = {TIME: pa.array(times), **self.contents[self.feeds[feed].type].columns(rng, len(times))}
        return pa.Table.from_arrays(list(columns.values()), list(columns))

    def _times(self, feed: int, chunk: int, rng: Any) -> Any:
        import numpy as np

        rate = self.feeds[feed].rate
        start = chunk * _CHUNK
        if self.arrivals is Arrivals.POISSON:
            return np.sort(rng.integers(start, start + _CHUNK, rng.poisson(rate * _CHUNK / SECOND)))
        period = SECOND / rate
        phase = np.random.default_rng((self.seed, feed)).random() * period
        first = np.ceil((start - phase) / period)
        last = np.ceil((start + _CHUNK - phase) / period)
        times = np.floor(phase + period * np.arange(first, last)).astype(np.int64)
        return times[(times >= start) & (times < start + _CHUNK)]


def spans(since: int, until: int, length: int) -> Iterator[tuple[int, int]]:
    """A span of time in pieces of at most this length."""
    while since < until:
        yield since, min(since + length, until)
        since += length


def _chunks(since: int, until: int) -> range:
    return range(since // _CHUNK, (until - 1) // _CHUNK + 1)
