"""The papers' synthetic load, with everything that they vary: sequences of events of one kind.

Every event has a kind and a state, both drawn. A rule waits for events of its own kind: state 0 ends it, the other
states come before. So an event concerns one rule in `kinds`. With its defaults this is the default scenario of
Section 5.2 of the T-Rex paper.
"""

from __future__ import annotations

import importlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.streams import START, SYNTHETIC_KINDS, SYNTHETIC_RULES, Numbers

MILLISECOND = 1_000


@dataclass(frozen=True, slots=True)
class Scenario:
    """Rules that are all alike, and the events for them."""

    policy: str = "last"
    """each, last or first."""
    rules: int = SYNTHETIC_RULES
    kinds: int = SYNTHETIC_KINDS
    states: int = 2
    """Events in a sequence, with the one that ends it."""
    sequences: int = 1
    """Sequences in a rule; they share the event that ends them."""
    window: int = 15_000
    """Milliseconds between neighbours in a sequence, on average: from 14 to 16 fifteenths of it."""
    consuming: bool = False
    """Whether the first event of the sequence is consumed."""
    intervals: bool = False
    """Whether a kind is asked for by two bounds instead of by equality."""

    @property
    def all_states(self) -> int:
        """How many states a rule has, and an event may have."""
        return 1 + self.sequences * (self.states - 1)

    @property
    def triggered(self) -> float:
        """How many rules an event concerns."""
        return self.rules / self.kinds

    def kind(self, rule: int) -> int:
        """The kind of events that a rule waits for."""
        return rule % self.kinds + 1

    def windows(self) -> list[list[int]]:
        """For each rule its windows in milliseconds, nearest to the end first; they are drawn before the events."""
        random = Numbers()
        steps = self.all_states - 1
        low, span = self.window * 14 // 15, max(1, self.window * 2 // 15)
        return [[low + random(span) for _ in range(steps)] for _ in range(self.rules)]

    def text(self) -> str:
        """The rules in TESLA."""
        rules = (self._rule(number, windows) for number, windows in enumerate(self.windows()))
        return "event Step(kind: int, state: int)\n" + "".join(rules)

    def _rule(self, number: int, windows: list[int]) -> str:
        kind = self.kind(number)
        asked = f"kind > {kind - 1} and kind < {kind + 1}" if self.intervals else f"kind = {kind}"
        parts = [f"Step({asked} and state = 0) as S0"]
        for state, window in enumerate(windows, start=1):
            nearest = (state - 1) % (self.states - 1) == 0
            anchor = 0 if nearest else state - 1
            parts.append(
                f"{self.policy} Step({asked} and state = {state}) as S{state} within {window} ms from S{anchor}"
            )
        consuming = f"\nconsuming S{len(windows)}" if self.consuming else ""
        pattern = " and\n       ".join(parts)
        return (
            f"\nRule sequence{number}\ndefine Found(measured: int)\nfrom   {pattern}\n"
            f"where  measured = S{len(windows)}.kind{consuming}\n"
        )

    def events(
        self, step: int, count: int, *, start: int = START * MILLISECOND, kinds: int = 0, seed: int = 0
    ) -> Steps:
        """So many events, so many microseconds apart; of the first `kinds` kinds, if that is given.

        Without a seed the numbers follow those that the windows were drawn with.
        """
        random = Numbers(seed) if seed else Numbers()
        if not seed:
            for _ in range(self.rules * (self.all_states - 1)):
                random(1)
        drawn_kinds, states = array("q"), array("q")
        for _ in range(count):
            drawn_kinds.append(random(kinds or self.kinds) + 1)
            states.append(random(self.all_states))
        return Steps(start, step, drawn_kinds, states)


@dataclass(frozen=True, slots=True)
class Steps:
    """Events of a scenario as columns, at equal distances."""

    start: int
    """Microseconds."""
    step: int
    kinds: array[int]
    states: array[int]

    def __len__(self) -> int:
        """How many events there are."""
        return len(self.kinds)

    @property
    def end(self) -> int:
        """When the next event would come."""
        return self.start + self.step * len(self)

    def times(self) -> range:
        """The timestamps in microseconds."""
        return range(self.start, self.end, self.step)

    def dicts(self) -> Iterator[dict[str, Any]]:
        """The events as dicts; the timestamp is in microseconds."""
        for time, kind, state in zip(self.times(), self.kinds, self.states, strict=True):
            yield {"type": "Step", "timestamp": time, "kind": kind, "state": state}

    def to_arrow(self) -> Any:
        """A table as the engine takes it."""
        pa: Any = importlib.import_module("pyarrow")

        def column(values: array[int], type_: Any) -> Any:
            return pa.Array.from_buffers(type_, len(values), [None, pa.py_buffer(values)])

        types = pa.DictionaryArray.from_arrays(
            pa.Array.from_buffers(pa.int32(), len(self), [None, pa.py_buffer(bytes(4 * len(self)))]),
            pa.array(["Step"]),
        )
        times = column(array("q", self.times()), pa.timestamp("us", tz="UTC"))
        return pa.table(
            {
                "type": types,
                "timestamp": times,
                "kind": column(self.kinds, pa.int64()),
                "state": column(self.states, pa.int64()),
            }
        )
