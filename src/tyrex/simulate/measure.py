"""Runs one strategy on a workload and measures it: traffic, delay, and whether it detects what one engine detects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from tyrex.network.blocks import Block
from tyrex.network.control.filters import let_through, type_wanted
from tyrex.simulate.central import Central
from tyrex.simulate.hosting import Hosting, hosting_of
from tyrex.simulate.scenario import Run
from tyrex.simulate.topology import Topology
from tyrex.simulate.traffic import Count
from tyrex.simulate.waves import WaveNetwork
from tyrex.simulate.workload import Workload, spans
from tyrex.tesla.durations import MINUTE, SECOND

FORWARDED = ("Events", "Composites", "Awaken")
"""The kinds of messages that are there for single events; the others are for trees, rules and time."""

Progress = Callable[[int], None]
"""Called with the microseconds of event time that have been run since the last call."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What sinks got, beside what one engine detects."""

    expected: int
    missing: int
    extra: int
    examples: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether they are the same."""
        return not self.missing and not self.extra

    @property
    def wrong(self) -> float:
        """The part that is missing or should not be there, of what is expected."""
        return (self.missing + self.extra) / max(1, self.expected)


@dataclass(frozen=True)
class Outcome:
    """One run of one strategy."""

    strategy: str
    mode: str
    seconds: float
    """Of event time, in which traffic was counted."""
    published: int
    delivered: int
    """Events that sinks got."""
    traffic: Mapping[str, Count]
    """By kind of message."""
    links: Mapping[tuple[str, str], Count]
    """What was sent because of single events, by link."""
    setup: Mapping[str, Count]
    """What was sent before the first event: trees, rules, subscriptions."""
    delays: tuple[float, ...]
    """Milliseconds, of composites chosen at random, with the order of events made certain."""
    assumed: tuple[float, ...]
    """The same if events come in order by themselves."""
    difference: Difference | None
    hosting: Hosting
    counts: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    @property
    def forwarded(self) -> Count:
        """What was sent because of single events."""
        return sum((self.traffic.get(kind, Count()) for kind in FORWARDED), Count())

    @property
    def events_per_second(self) -> float:
        """Events over links, each link counted, and questions for events, in a second."""
        return self.forwarded.events / self.seconds

    @property
    def bytes_per_second(self) -> float:
        """Of these messages."""
        return self.forwarded.bytes / self.seconds

    def record(self) -> dict[str, Any]:
        """The outcome as plain data."""
        return {
            "strategy": self.strategy,
            "mode": self.mode,
            "seconds": self.seconds,
            "published": self.published,
            "delivered": self.delivered,
            "events_per_second": self.events_per_second,
            "bytes_per_second": self.bytes_per_second,
            "delay_ms": mean(self.delays),
            "delay_assumed_ms": mean(self.assumed),
            "traffic": {kind: count.record() for kind, count in self.traffic.items()},
            "setup": {kind: count.record() for kind, count in self.setup.items()},
            "links": [
                {"between": list(ends), **count.record()} for ends, count in sorted(self.links.items())
            ],
            "difference": None
            if self.difference is None
            else {
                "expected": self.difference.expected,
                "missing": self.difference.missing,
                "extra": self.difference.extra,
            },
            "problems": list(self.problems),
        }


def mean(values: tuple[float, ...]) -> float | None:
    """The mean, or None of nothing."""
    return sum(values) / len(values) if values else None


def measure(
    topology: Topology,
    workload: Workload,
    strategy: str,
    mode: str = "exact",
    run: Run | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Run a strategy on a workload."""
    how = Run() if run is None else run
    network = WaveNetwork(topology, workload, strategy, mode)
    network.start()
    setup = network.wires.traffic.by_kind()
    check = _Check(workload) if how.check else None
    delivered = before = 0
    end = how.warm_up + how.duration
    for first, last in (*spans(0, how.warm_up, how.span), *spans(how.warm_up, end, how.span)):
        if first == how.warm_up:
            network.wires.traffic.clear()
            before, delivered = network.published, 0
        events = workload.events(first, last)
        found = network.wave(events, last - 1)
        delivered += sum(len(one.block) for one in found)
        if check is not None:
            check.delivered([(one.sink, one.wish, one.block) for one in found])
            check.expected(events, last - 1)
        if progress is not None:
            progress(last - first)
    traffic, links = network.wires.traffic.by_kind(), network.wires.traffic.by_link(FORWARDED)
    published = network.published - before
    delays, assumed = _delays(network, workload, end, how) if how.samples else ((), ())
    return Outcome(
        strategy,
        mode,
        how.duration / SECOND,
        published,
        delivered,
        traffic,
        links,
        setup,
        delays,
        assumed,
        None if check is None else check.difference(),
        hosting_of(network),
        dict(network.counts()),
        tuple(network.problems),
    )


# --- Delay ------------------------------------------------------------------------------------------------


def _delays(
    network: WaveNetwork, workload: Workload, begin: int, how: Run
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """How long sinks wait for composites, at moments chosen at random, each as a wave of its own."""
    moments = sample_moments(workload, begin, how.samples, how.duration)
    delays: list[float] = []
    assumed: list[float] = []
    reached = begin
    for moment in moments:
        network.wave(workload.events(reached, moment), moment - 1)
        for one in network.wave(workload.events(moment, moment + 1), moment):
            number = int((one.block.times == moment).sum())
            delays += [one.after / 1000] * number
            assumed += [one.assumed / 1000] * number
        reached = moment + 1
    return tuple(delays), tuple(assumed)


@lru_cache(maxsize=8)
def _sampled(key: _ByIdentity, begin: int, samples: int, longest: int) -> tuple[int, ...]:
    import numpy as np
    import pyarrow as pa

    workload = key.workload
    engine = Central(workload)
    horizon = max(workload.parsed.plan.horizon.values(), default=0)
    start = max(0, begin - min(horizon, 10 * MINUTE))
    engine.take(workload.events(start, begin), begin - 1)
    wishes = Counter(type_wanted(text) for sink in workload.sinks for text in sink.filters)
    times: list[Any] = []
    for first, last in spans(begin, begin + longest, MINUTE):
        for type_, table in engine.take(workload.events(first, last), last - 1).items():
            found = table.column("timestamp").cast(pa.int64()).to_numpy()
            times += [found] * wishes[type_]
        if sum(map(len, times)) >= 20 * samples:
            break
    if not times:
        return ()
    every = np.concatenate(times)
    rng = np.random.default_rng((workload.seed, begin))
    chosen = rng.permutation(every)
    distinct = list(dict.fromkeys(chosen.tolist()))[:samples]
    return tuple(sorted(distinct))


@dataclass(frozen=True)
class _ByIdentity:
    """A workload as a key: strategies that are compared share the object."""

    workload: Workload = field(compare=False)
    identity: int


def sample_moments(workload: Workload, begin: int, samples: int, longest: int) -> tuple[int, ...]:
    """Moments behind `begin` at which something is detected that a sink wants, as one engine finds them."""
    return _sampled(_ByIdentity(workload, id(workload)), begin, samples, longest)


# --- Exactness --------------------------------------------------------------------------------------------


class _Check:
    """Compares what was delivered with what one engine detects, wish by wish."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._engine = Central(workload)
        self._wishes: dict[str, list[tuple[int, int, str]]] = {}
        for number, sink in enumerate(workload.sinks):
            for wish, text in enumerate(sink.filters):
                self._wishes.setdefault(type_wanted(text), []).append((number, wish, text))
        self._expected: Counter[tuple[int, int, str, str]] = Counter()
        self._got: Counter[tuple[int, int, str, str]] = Counter()

    def delivered(self, found: list[tuple[int, int, Block]]) -> None:
        for sink, wish, block in found:
            self._got.update((sink, wish, block.type, id_) for id_ in block.ids())

    def expected(self, events: Any, upto: int) -> None:
        for type_, table in self._engine.take(events, upto).items():
            block = _as_block(type_, table)
            for sink, wish, text in self._wishes.get(type_, ()):
                wanted = let_through(block, (text,))
                if wanted is not None:
                    self._expected.update((sink, wish, type_, id_) for id_ in wanted.ids())

    def difference(self) -> Difference:
        missing, extra = self._expected - self._got, self._got - self._expected
        told = [
            f"{word}: {type_} {id_} for sink {sink}"
            for word, some in (("missing", missing), ("extra", extra))
            for sink, _, type_, id_ in list(some)[:3]
        ]
        return Difference(self._expected.total(), missing.total(), extra.total(), tuple(told))


_OF_TABLES = frozenset(("timestamp", "id", "rule", "type", "origin", "number"))


def _as_block(type_: str, table: Any) -> Block:
    import pyarrow as pa

    from tyrex.network.blocks import ID, NUMBER, ORIGIN, SEPARATOR, TIME

    count = len(table)
    columns: dict[str, Any] = {
        TIME: table.column("timestamp").cast(pa.int64()),
        ORIGIN: pa.array([""] * count).dictionary_encode(),
        NUMBER: pa.array(range(count), pa.int64()),
        ID: table.column("id"),
    }
    for name in table.column_names:
        if name not in _OF_TABLES:
            column = table.column(name)
            if pa.types.is_dictionary(column.type) or pa.types.is_large_string(column.type):
                column = column.cast(pa.string())
            columns[SEPARATOR + name] = column
    return Block(type_, pa.table(columns))
