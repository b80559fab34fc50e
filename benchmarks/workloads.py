"""What is measured: for each workload its stream, its TESLA rules, how much of it, and the target.

The rules are those of Section 5 of the T-Rex paper: R1 and R2 for the selection policies, R5 for aggregates.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

from benchmarks.streams import Stream

from benchmarks import streams


@dataclass(frozen=True, slots=True)
class Workload:
    """A stream and rules for it.

    `warm` events after those that fill the windows are for the peers' just-in-time compilers and count for no
    figure; `events` are measured. All engines get all of them, in this order.
    """

    family: str
    """fire, filter, synthetic or keyed."""
    policy: str
    """each, last, first or avg; empty for filter."""
    warm: int
    events: int
    peer: str
    target: float
    """How many times the peer's events per second Tyrex is to reach."""
    window_events: int = 0
    percent_smoke: int = 0
    step: int = 0

    @property
    def name(self) -> str:
        """Tells it from all others: `fire-each-w50-p10`."""
        parts = [self.family, self.policy]
        if self.window_events:
            parts.append(f"w{self.window_events}")
        if self.percent_smoke and self.family == "fire":
            parts.append(f"p{self.percent_smoke}")
        if self.step:
            parts.append(f"{self.step}ms")
        return "-".join(part for part in parts if part)

    def stream(self) -> Stream:
        """Its events: to fill the windows, to warm up, and to measure."""
        events = self.warm + self.events
        if self.family == "fire":
            return streams.fire(self.window_events, self.percent_smoke, events)
        if self.family == "filter":
            return streams.filters(events)
        if self.family == "synthetic":
            return streams.synthetic(self.step, events)
        return streams.keyed(KEYS, self.percent_smoke, events)

    def rules(self) -> str:
        """Its rules in TESLA, with the declarations they need."""
        if self.family == "fire":
            return fire_rules(self.policy)
        if self.family == "filter":
            return filter_rules()
        if self.family == "synthetic":
            return synthetic_rules(self.policy)
        return keyed_rule(self.policy)

    def quick(self) -> Workload:
        """The same with fewer events: for a first look, not for figures."""
        return replace(self, warm=max(self.warm // 8, 500), events=max(self.events // 8, 500))


KEYS = 1_000

FIRE_PAIRS = tuple(itertools.product(range(1, streams.PAIRS + 1), range(1, streams.VALUES + 1)))
"""The number of the types and the threshold of each of the thousand rules about fire."""


def average_threshold(k: int) -> int:
    """A hundred thresholds from 0 down: as in the paper every average is above, so each smoke makes 100 fires."""
    return 1 - k


def fire_rules(policy: str) -> str:
    """A thousand rules: for each pair of types a hundred thresholds."""
    declarations = [
        f"event Temp{pair}(area: string, value: int)\nevent Smoke{pair}(area: string)\n"
        for pair in range(1, streams.PAIRS + 1)
    ]
    return "".join(declarations) + "".join(_fire_rule(policy, pair, k) for pair, k in FIRE_PAIRS)


def _fire_rule(policy: str, pair: int, k: int) -> str:
    if policy == "avg":
        return f"""
Rule fire{pair}_{k}
define Fire{pair}(area: string, measured: float)
from   Smoke{pair}(area = $a) and
       {average_threshold(k)} < $t = Avg(Temp{pair}(area = $a).value) within {streams.WINDOW} ms from Smoke{pair}
where  area = $a, measured = $t
"""
    return f"""
Rule fire{pair}_{k}
define Fire{pair}(area: string, measured: int)
from   Smoke{pair}(area = $a) and
       {policy} Temp{pair}(area = $a and value > {k}) within {streams.WINDOW} ms from Smoke{pair}
where  area = $a, measured = Temp{pair}.value
"""


def filter_rules() -> str:
    """A thousand rules of which each event fulfils one."""
    rules = (
        f"""
Rule filter{i}
define Found(measured: int)
from   Reading(value = {i})
where  measured = Reading.value
"""
        for i in range(1, streams.FILTERS + 1)
    )
    return "event Reading(value: int)\n" + "".join(rules)


def synthetic_parameters() -> list[tuple[int, int]]:
    """The kind of event and the window in milliseconds of each synthetic rule."""
    return [(i % streams.SYNTHETIC_KINDS + 1, window) for i, window in enumerate(streams.synthetic_windows())]


def synthetic_rules(policy: str) -> str:
    """A thousand sequences of two events of one kind: the paper's event id, but `id` has a meaning of its own here."""
    rules = (
        f"""
Rule sequence{i}
define Found(measured: int)
from   Step(kind = {kind} and state = 0) as End and
       {policy} Step(kind = {kind} and state = 1) as Begin within {window} ms from End
where  measured = Begin.kind
"""
        for i, (kind, window) in enumerate(synthetic_parameters())
    )
    return "event Step(kind: int, state: int)\n" + "".join(rules)


def keyed_rule(policy: str) -> str:
    """One rule that Flink can express, too: `benchmarks/flink/match.py` says why it is not quite R1 or R2."""
    negation = " and\n       not Smoke(area = $a) between T and S" if policy == "last" else ""
    consumption = "\nconsuming T" if policy == "each" else ""
    return f"""event Temp(area: string, value: int)
event Smoke(area: string)

Rule fire
define Fire(area: string, measured: int)
from   Smoke(area = $a) as S and
       {policy} Temp(area = $a and value > 45) as T within {streams.WINDOW} ms from S{negation}
where  area = $a, measured = T.value{consumption}
"""


# The numbers of events give a peer some seconds to warm up in, and some to be measured in.
_FIRE_EVENTS = {
    ("each", 50): 20_000,
    ("each", 500): 4_000,
    ("last", 50): 60_000,
    ("last", 500): 60_000,
    ("first", 50): 30_000,
    ("first", 500): 8_000,
    ("avg", 50): 30_000,
    ("avg", 500): 10_000,
}
_FIRE_TARGETS = {"each": 30.0, "last": 200.0, "first": 200.0, "avg": 200.0}

WORKLOADS = (
    *(
        Workload(
            "fire",
            policy,
            warm=events,
            events=events,
            peer="esper",
            target=_FIRE_TARGETS[policy],
            window_events=window_events,
            percent_smoke=percent_smoke,
        )
        for (policy, window_events), events in _FIRE_EVENTS.items()
        for percent_smoke in (10, 50, 90)
    ),
    Workload("filter", "", warm=1_000_000, events=4_000_000, peer="esper", target=10.0),
    *(
        Workload("synthetic", policy, warm=events, events=events, peer="esper", target=30.0, step=step)
        for policy, step, events in (
            ("last", 1, 150_000),
            ("last", 5, 150_000),
            ("each", 1, 30_000),
            ("each", 5, 100_000),
        )
    ),
    *(
        Workload("keyed", policy, warm=300_000, events=1_500_000, peer="flink", target=50.0, percent_smoke=10)
        for policy in ("each", "last")
    ),
)


def chosen(patterns: list[str]) -> list[Workload]:
    """The workloads whose names contain one of these texts; all if there is none."""
    return [
        workload
        for workload in WORKLOADS
        if not patterns or any(pattern in workload.name for pattern in patterns)
    ]
