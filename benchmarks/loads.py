"""Loads whose events come at a rate that can be chosen, as the T-Rex paper's Section 5.2 varies it.

A load gives the events that fill the windows, and those to measure. Timestamps are those of the arrival, so a higher
rate puts more events into a window; events are at least a microsecond apart.
"""

from __future__ import annotations

import importlib
from array import array
from dataclasses import dataclass
from typing import Any, Protocol

from benchmarks.sequences import Scenario
from benchmarks.streams import AREA, PAIRS, START, VALUES, Numbers

MOST_FILL = 300_000
"""With `last`, more events are not sent to fill a window: they would only be replaced."""


class Load(Protocol):
    """Rules, and events for them at any rate."""

    def text(self) -> str:
        """The rules in TESLA."""
        ...

    def tables(self, rate: float, events: int) -> tuple[Any, Any]:
        """Arrow tables: what fills the windows at so many events/s, and so many events after it."""
        ...

    def expected(self, rate: float) -> float:
        """About how many composites an event makes, so that no batch makes too many."""
        ...


@dataclass(frozen=True, slots=True)
class SequenceLoad:
    """The synthetic sequences."""

    scenario: Scenario

    def text(self) -> str:
        """The rules in TESLA."""
        return self.scenario.text()

    def tables(self, rate: float, events: int) -> tuple[Any, Any]:
        """Windows are filled by events that end nothing, so that filling makes no composites."""
        compute: Any = importlib.import_module("pyarrow.compute")
        step = max(1, round(1e6 / rate))
        longest = self.scenario.window * 1_000 * 16 // 15
        fill = longest * (self.scenario.states - 1) // step
        if self.scenario.policy == "last":
            fill = min(fill, MOST_FILL)
        table = self.scenario.events(step, fill + events).to_arrow()
        before = table.slice(0, fill)
        return before.filter(compute.not_equal(before["state"], 0)), table.slice(fill)

    def expected(self, rate: float) -> float:
        """The mean number of an event's rules, times the chains that a terminator ends."""
        scenario = self.scenario
        ends = scenario.triggered / scenario.all_states
        if scenario.policy != "each":
            return ends
        in_window = rate * scenario.window / 1_000 / scenario.kinds / scenario.all_states
        return float(ends * in_window ** (scenario.all_states - 1))


@dataclass(frozen=True, slots=True)
class NegationLoad:
    """High temperatures without rain in the second before: the rule that Section 2 calls R4, and Section 5.2.7 R3."""

    percent_rain: float
    window: int = 1_000
    """Milliseconds."""
    thresholds: int = VALUES

    def text(self) -> str:
        """Ten pairs of types, and a rule for each threshold: a thousand rules."""
        lines = [
            f"event Temp{pair}(area: string, value: int)\nevent Rain{pair}(area: string)\n"
            for pair in range(1, PAIRS + 1)
        ]
        lines += [
            f"""
Rule fire{pair}_{k}
define Fire{pair}(area: string, measured: int)
from   Temp{pair}(area = $a and value > {k}) and
       not Rain{pair}(area = $a) within {self.window} ms from Temp{pair}
where  area = $a, measured = Temp{pair}.value
"""
            for pair in range(1, PAIRS + 1)
            for k in range(1, self.thresholds + 1)
        ]
        return "".join(lines)

    def tables(self, rate: float, events: int) -> tuple[Any, Any]:
        """A second of the stream fills the windows."""
        pa: Any = importlib.import_module("pyarrow")
        step = max(1, round(1e6 / rate))
        fill = min(self.window * 1_000 // step + 1, MOST_FILL)
        random = Numbers()
        types, values = array("i"), array("q")
        for _ in range(fill + events):
            pair = random(PAIRS)
            rain = random(10_000) < 100 * self.percent_rain
            types.append(pair + PAIRS if rain else pair)
            values.append(random(VALUES) + 1)
        names = [f"{kind}{pair}" for kind in ("Temp", "Rain") for pair in range(1, PAIRS + 1)]
        start = START * 1_000
        table = pa.table(
            {
                "type": pa.DictionaryArray.from_arrays(pa.array(types, pa.int32()), pa.array(names)),
                "timestamp": pa.array(
                    range(start, start + step * len(types), step), pa.timestamp("us", tz="UTC")
                ),
                "area": pa.DictionaryArray.from_arrays(
                    pa.array(bytes(len(types)), pa.int8()), pa.array([AREA])
                ),
                "value": pa.array(
                    [None if type_ >= PAIRS else value for type_, value in zip(types, values, strict=True)],
                    pa.int64(),
                ),
            }
        )
        return table.slice(0, fill), table.slice(fill)

    def expected(self, rate: float) -> float:
        """At most the rules whose threshold a temperature exceeds."""
        return VALUES / 2
