"""Which strategy suits a network: each is run on it, and the one with the least traffic that is quick enough wins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tyrex.simulate.charts import number
from tyrex.simulate.measure import Outcome, mean


@dataclass(frozen=True, slots=True)
class Advice:
    """A strategy, and why."""

    strategy: str
    why: str


def advise(outcomes: Sequence[Outcome], *, longest: float | None = None) -> Advice:
    """The strategy with the fewest bytes among those whose delay is not above `longest` milliseconds.

    If none is quick enough it is the quickest. Of strategies whose traffic differs by less than 2%, the one with the
    smaller delay is taken.
    """
    quick = [one for one in outcomes if longest is None or _delay(one) <= longest]
    if not quick:
        best = min(outcomes, key=_delay)
        return Advice(
            best.strategy,
            f"none stays below {longest:g} ms; it is the quickest, with {_delay(best):.1f} ms on average",
        )
    least = min(one.bytes_per_second for one in quick)
    best = min((one for one in quick if one.bytes_per_second <= 1.02 * least), key=_delay)
    others = sorted((o for o in outcomes if o is not best), key=lambda one: one.bytes_per_second)
    why = f"{number(best.bytes_per_second)} bytes/s over links, {_delay(best):.1f} ms on average"
    if others:
        second = others[0]
        ratio = second.bytes_per_second / max(1e-9, best.bytes_per_second) - 1
        why += f"; next is {second.strategy} with {ratio:+.0%} traffic and {_delay(second):.1f} ms"
    return Advice(best.strategy, why)


def _delay(outcome: Outcome) -> float:
    """With the order of events made certain: what sinks really wait."""
    found = mean(outcome.delays)
    return 0.0 if found is None else found
