"""The figures of the T-Rex paper's Section 5: for each what it varies, and what the paper's text says of it.

Where the text gives a number it stands here with its section; nothing is read off the paper's plots. The text does not
say at which rate the processing times of Section 5.2 were taken, nor all the values of what is varied; `EACH_RATE`,
`LAST_RATE` and the values below are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.loads import Load, NegationLoad, SequenceLoad
from benchmarks.sequences import Scenario

EACH_RATE = 200.0
LAST_RATE = 1_000.0
"""Input events in a second while single events are timed."""
RATES: dict[str, tuple[float, ...]] = {
    "each": (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000),
    "last": (1_000, 10_000, 100_000, 300_000, 1_000_000, 3_000_000),
    "first": (1_000, 3_000, 10_000, 30_000),
}
"""Rates that are tried until the engine is at its limit; windows of `first` would be too large beyond."""

POLICIES = {"each": "each-within", "last": "last-within", "first": "first-within"}


@dataclass(frozen=True, slots=True)
class Said:
    """What the paper's text says: a line through these points, (x, y)."""

    label: str
    section: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """One value of what a figure varies."""

    label: str
    load: Load
    rate: float
    """At which single events are timed."""
    rates: tuple[float, ...]
    threads: int = 1
    """Of the engine, each on a core of its own."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A row of a figure: on the left the time for an event, on the right what comes out by the rate."""

    title: str
    variants: tuple[Variant, ...]
    times: tuple[Said, ...] = ()
    """On the left; x is the position of the variant."""
    rates: tuple[Said, ...] = ()
    """On the right; x in events/s, y in composites/s; an x or y of 0 means that the text gives only the other."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """A figure of Section 5.2: processing times and throughput."""

    number: int
    title: str
    varied: str
    panels: tuple[Panel, ...]
    note: str = ""


def _variant(label: str, scenario: Scenario, threads: int = 1) -> Variant:
    rate = EACH_RATE if scenario.policy == "each" else LAST_RATE
    return Variant(label, SequenceLoad(scenario), rate, RATES[scenario.policy], threads)


def _panels(
    policies: tuple[str, ...],
    make: list[tuple[str, dict[str, Any]]],
    said: dict[str, tuple[tuple[Said, ...], tuple[Said, ...]]] | None = None,
) -> tuple[Panel, ...]:
    panels = []
    for letter, policy in zip("abc", policies, strict=False):
        variants = tuple(_variant(label, Scenario(policy, **values)) for label, values in make)
        times, rates = (said or {}).get(policy, ((), ()))
        panels.append(Panel(f"({letter}) {POLICIES[policy]}", variants, times, rates))
    return tuple(panels)


def sweeps(*, quick: bool = False) -> tuple[Sweep, ...]:
    """Figures 8 to 15; quick ones leave values out."""
    counts = (2, 5) if quick else (2, 3, 4, 5)
    last = len(counts) - 1
    both = ("each", "last")
    deployed = (500, 2_000) if quick else (1_000, 2_000, 5_000, 10_000)
    triggered = (1, 5) if quick else (1, 2, 5, 10)
    seconds = (5, 25) if quick else (5, 10, 15, 20, 25)
    rain = (1.0, 20.0) if quick else (1.0, 5.0, 20.0, 50.0)
    return (
        Sweep(
            8,
            "Number of states in sequences",
            "states",
            _panels(
                ("each", "last", "first"),
                [(f"{count} states", {"states": count}) for count in counts],
                {
                    "each": (
                        (Said("paper: about 200 to 800 us", "5.2.1", ((0, 200), (last, 800))),),
                        (Said("paper: up to 600,000 composites/s", "5.2.1", ((0, 600_000),)),),
                    ),
                    "last": (
                        (Said("paper: 70 to less than 90 us", "5.2.1", ((0, 70), (last, 90))),),
                        (Said("paper: linear to at least 12,000 events/s", "5.2.1", ((12_000, 0),)),),
                    ),
                },
            ),
        ),
        Sweep(
            9,
            "Number of sequences in rules",
            "sequences",
            _panels(
                both,
                [(f"{count} sequences", {"sequences": count}) for count in counts],
                {
                    "each": (
                        (),
                        (
                            Said("paper: about 1,000 events/s", "5.2.2", ((1_000, 0),)),
                            Said("paper: about 1 million composites/s", "5.2.2", ((0, 1e6),)),
                        ),
                    ),
                    "last": ((Said("paper: about 70 to 100 us", "5.2.2", ((0, 70), (last, 100))),), ()),
                },
            ),
        ),
        Sweep(
            10,
            "Number of deployed rules, of which an event triggers 10",
            "deployed rules",
            _panels(
                both, [(f"{rules:,} rules", {"rules": rules, "kinds": rules // 10}) for rules in deployed]
            ),
        ),
        Sweep(
            11,
            "Number of triggered rules, of 1000",
            "triggered rules",
            _panels(both, [(f"{percent}%", {"kinds": 100 // percent}) for percent in triggered]),
        ),
        Sweep(
            12,
            "Average size of windows",
            "size of windows",
            _panels(both, [(f"{size} s", {"window": 1_000 * size}) for size in seconds]),
        ),
        Sweep(
            13,
            "Scalability: each-within, an event triggers 100 rules",
            "threads",
            (
                Panel(
                    "each-within",
                    tuple(
                        _variant(f"{count} thread{'s' * (count > 1)}", Scenario("each", kinds=10), count)
                        for count in (1, 2)
                    ),
                ),
            ),
            "the paper's time for an event halves from 1 to 5 cores (Section 5.2.6).",
        ),
        Sweep(
            14,
            "Use of negation: a Temp without Rain in the second before",
            "percentage of Rain",
            (
                Panel(
                    "not within 1 s",
                    tuple(
                        Variant(
                            f"{percent:g}% Rain",
                            NegationLoad(percent),
                            LAST_RATE,
                            (30, 100, 300, 1_000, 3_000, 10_000, 100_000),
                        )
                        for percent in rain
                    ),
                ),
            ),
            "at high rates there is always rain in the last second, and nothing comes out.",
        ),
        Sweep(
            15,
            "Use of the consuming clause",
            "consuming",
            _panels(both, [("no consuming", {"consuming": False}), ("consuming", {"consuming": True})]),
        ),
    )
