"""How many partial matches an incremental engine would hold for a load of sequences.

The automata of the TESLA paper (Section 5, "Detecting sequences") make an instance for every event that lets one go
on: an instance in a state stays for as long as the next event may still come, and each event that fits makes a copy
of it in the next state. So an instance is a chain of events, each within the window of its neighbour. Tyrex stores the
events once and looks for the chains when the last event comes; this module counts the chains, without keeping them.

For an event of a state, the number of chains that end in it is the sum of that of the events of the state before
which lie in the window. At a moment, those are alive whose last event is not older than the window of the next step.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.sequences import Scenario, Steps


@dataclass(frozen=True, slots=True)
class Chains:
    """The chains that end in events of one state: when, and how many up to there."""

    times: list[int] = field(default_factory=list)
    sums: list[int] = field(default_factory=lambda: [0])

    def add(self, time: int, count: int) -> None:
        """An event, and the chains that end in it."""
        self.times.append(time)
        self.sums.append(self.sums[-1] + count)

    def between(self, first: int, before: int) -> int:
        """How many chains end in events from a time up to, but without, another."""
        return self.sums[bisect_left(self.times, before)] - self.sums[bisect_left(self.times, first)]


@dataclass(frozen=True, slots=True)
class Count:
    """What an incremental engine would have held and made."""

    moments: list[int]
    """Microseconds."""
    partial: list[int]
    """Partial matches at each moment."""
    composites: int
    """From the first moment on."""


def count(scenario: Scenario, steps: Steps, moments: Sequence[int]) -> Count:
    """Count for a scenario of single sequences with `each`."""
    if scenario.policy != "each" or scenario.sequences != 1 or scenario.consuming:
        raise ValueError("only sequences with `each` are counted, one in a rule, and nothing consumed")
    by_kind: dict[int, list[tuple[int, int]]] = {}
    for time, kind, state in zip(steps.times(), steps.kinds, steps.states, strict=True):
        by_kind.setdefault(kind, []).append((time, state))
    partial = [0] * len(moments)
    composites = 0
    for rule, windows in enumerate(scenario.windows()):
        microseconds = [1000 * window for window in windows]
        states = [Chains() for _ in range(scenario.all_states)]
        first = scenario.all_states - 1
        for time, state in by_kind.get(scenario.kind(rule), ()):
            if state == first:
                states[state].add(time, 1)
            else:
                states[state].add(time, states[state + 1].between(time - microseconds[state], time))
        composites += states[0].between(moments[0], steps.end)
        for number, moment in enumerate(moments):
            partial[number] += sum(
                states[state].between(moment - microseconds[state - 1], moment)
                for state in range(1, scenario.all_states)
            )
    return Count(list(moments), partial, composites)
