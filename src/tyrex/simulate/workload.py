"""What happens in a network: sources with their rates, sinks with what they want, rules, and the events themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from tyrex.network.blocks import SEPARATOR, TIME
from tyrex.rules import RuleSet, parse
from tyrex.tesla.durations import SECOND

if TYPE_CHECKING:
    import pyarrow as pa

VALUE = "value"
"""The attribute of all events of a workload."""
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
    """With the event types that sources publish; each has the attribute `value: int` alone."""
    feeds: tuple[Feed, ...]
    sinks: tuple[Sink, ...]
    values: int = 1
    """How many values the attribute may have, all equally likely."""
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
        import numpy as np
        import pyarrow as pa

        found = []
        for number, feed in enumerate(self.feeds):
            parts = [_cut(self._chunk(number, chunk), since, until) for chunk in _chunks(since, until)]
            times = np.concatenate([times for times, _ in parts])
            if len(times):
                values = np.concatenate([values for _, values in parts])
                columns = [pa.array(times), pa.array(values)]
                found.append((feed, pa.Table.from_arrays(columns, [TIME, SEPARATOR + VALUE])))
        return found

    def _chunk(self, feed: int, chunk: int) -> tuple[Any, Any]:
        return _drawn(self.seed, feed, chunk, self.feeds[feed].rate, self.arrivals, self.values)


def spans(since: int, until: int, length: int) -> Iterator[tuple[int, int]]:
    """A span of time in pieces of at most this length."""
    while since < until:
        yield since, min(since + length, until)
        since += length


def _chunks(since: int, until: int) -> range:
    return range(since // _CHUNK, (until - 1) // _CHUNK + 1)


def _cut(chunk: tuple[Any, Any], since: int, until: int) -> tuple[Any, Any]:
    times, values = chunk
    first, last = times.searchsorted((since, until))
    return times[first:last], values[first:last]


@lru_cache(maxsize=4096)
def _drawn(seed: int, feed: int, chunk: int, rate: float, arrivals: Arrivals, values: int) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng((seed, feed, chunk))
    start = chunk * _CHUNK
    if arrivals is Arrivals.POISSON:
        number = rng.poisson(rate * _CHUNK / SECOND)
        times = np.sort(rng.integers(start, start + _CHUNK, number))
    else:
        period = SECOND / rate
        phase = np.random.default_rng((seed, feed)).random() * period
        first = np.ceil((start - phase) / period)
        last = np.ceil((start + _CHUNK - phase) / period)
        times = np.floor(phase + period * np.arange(first, last)).astype(np.int64)
        times = times[(times >= start) & (times < start + _CHUNK)]
    return times, rng.integers(0, values, len(times))
