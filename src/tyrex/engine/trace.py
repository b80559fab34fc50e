"""How the candidates for each part of a rule became fewer, and what removed the last of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from tyrex.engine.matching import Matcher, Tuple, conditions_of, is_distinct, pick
from tyrex.engine.stored import Occurrence
from tyrex.engine.terminators import Consumption
from tyrex.events.literals import format_value
from tyrex.plan.text import printer
from tyrex.tesla.checked import CheckedRule, PatternEvent
from tyrex.tesla.durations import format_duration
from tyrex.tesla.expressions import Attribute, Binary, Compare, Expression, Present, events_in, walk
from tyrex.tesla.syntax import Selection
from tyrex.tesla.types import TIMER

_SHOWN = 3


class Cause(StrEnum):
    """What decided whether a rule fired."""

    FIRED = "fired"
    NO_TERMINATOR = "no terminator"
    """No such event came at that time, as far as the engine knows."""
    FORGOTTEN = "forgotten"
    """The moment lies before what the engine still stores."""
    NOT_YET = "not yet"
    """Time has not come so far, or events wait for the watermark."""
    PAUSED = "paused"
    NOT_DEPLOYED = "not deployed"
    """The rule was deployed only later."""
    TERMINATOR = "terminator"
    """A condition on the terminator itself."""
    NONE_STORED = "none stored"
    """There is no event of the type."""
    WINDOW = "window"
    CONDITION = "condition"
    CONSUMED = "consumed"
    SELECTION = "selection"
    """Fewer candidates than `3-last` counts."""
    SAME_EVENT = "same event"
    """One event would have played two roles."""
    NEGATION = "negation"
    GUARD = "guard"
    """A condition on the complete tuple, with an aggregate in it."""


@dataclass(frozen=True)
class Narrowing:
    """How many candidates were left by one demand of a part of the rule."""

    demand: str
    left: int
    cause: Cause
    detail: str = ""
    """What the last ones had instead, if none is left."""

    def __str__(self) -> str:
        return f"{self.left} {self.demand}" + (f" ({self.detail})" if self.detail else "")


@dataclass(frozen=True)
class Part:
    """A part of a rule as one terminator met it."""

    text: str
    """As in the rule: `last Temp(area = $a) within 5 min from Smoke`."""
    fulfilled: bool
    narrowings: tuple[Narrowing, ...] = ()
    verdict: str = ""
    """What else there is to say, above all what removed the last match."""

    def __str__(self) -> str:
        told = [", ".join(map(str, self.narrowings)), self.verdict]
        return f"{self.text}: " + "; ".join(text for text in told if text)


@dataclass(frozen=True)
class Trace:
    """The parts of a rule down to the one that decided."""

    cause: Cause
    parts: tuple[Part, ...]
    matches: tuple[Tuple, ...] = ()
    doubts: tuple[str, ...] = ()


_Pair: TypeAlias = tuple[Tuple, Occurrence]
"""The events chosen before, and a candidate."""


@dataclass
class Tracer:
    """Walks the pattern of one rule."""

    matcher: Matcher
    consumption: Consumption
    parts: list[Part] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    def trace(self, given: Tuple) -> Trace:
        """What became of a terminator."""
        failing = self.matcher.failing(given)
        events = self._rule.events[: len(given)]
        if failing is not None:
            event, condition = failing
            detail = self._had([(given, given[event.index])], condition, event.index, one=True)
            shown = self._show(condition, event.index)
            verdict = f"{shown} does not hold" + (f" ({detail})" if detail else "")
            self.parts.append(Part(self._term(event), False, verdict=verdict))
            return Trace(Cause.TERMINATOR, tuple(self.parts))
        self.parts += [
            Part(self._term(event), True, verdict=f"{occurrence.event}")
            for event, occurrence in zip(events, given, strict=True)
            if event.type != TIMER.name or len(given) == 1
        ]
        tuples = [given]
        for event in self._rule.events[len(given) :]:
            tuples, cause = self._choose(event, tuples)
            if cause is not None:
                return Trace(cause, tuple(self.parts), (), tuple(self.doubts))
        return self._complete(tuples)

    @property
    def _rule(self) -> CheckedRule:
        return self.matcher.deployed.plan.rule

    # Choosing

    def _choose(self, event: PatternEvent, tuples: list[Tuple]) -> tuple[list[Tuple], Cause | None]:
        """The longer tuples; or none, and why there are none."""
        stored = self.matcher.stored.of(event.type)
        steps = [Narrowing(f"{event.type} stored", len(stored.all), Cause.NONE_STORED)]
        visible = self.matcher.visible(event.type)
        if len(visible) < len(stored.all):
            steps.append(Narrowing("since the rule was deployed", len(visible), Cause.NOT_DEPLOYED))
        pairs: list[_Pair] = []
        if visible:
            pairs = [(t, o) for t in tuples for o in self.matcher.in_window(event, t)]
            detail = "" if pairs else self._nearest_in_time(event, tuples, visible)
            steps.append(Narrowing("in the window", _count(pairs), Cause.WINDOW, detail))
        elif not stored.all:
            steps[0] = Narrowing(steps[0].demand, 0, Cause.NONE_STORED, self._not_kept(event))
        for condition in conditions_of(event):
            if not pairs:
                break
            left = [(t, o) for t, o in pairs if self.matcher.all_hold((condition,), (*t, o))]
            if not (isinstance(condition, Present) and len(left) == len(pairs)):
                detail = "" if left else self._had(pairs, condition, event.index)
                demand = f"with {self._show(condition, event.index)}"
                steps.append(Narrowing(demand, _count(left), Cause.CONDITION, detail))
            pairs = left
        pairs = self._without_consumed(pairs, steps)
        longer = [
            (*t, o)
            for t in tuples
            for o in pick(_policy(event), [candidate for of, candidate in pairs if of is t])
        ]
        cause = None if longer else (Cause.SELECTION if pairs else steps[-1].cause)
        self.parts.append(Part(self._term(event), bool(longer), tuple(steps), _chosen(event, pairs, longer)))
        return longer, cause

    def _without_consumed(self, pairs: list[_Pair], steps: list[Narrowing]) -> list[_Pair]:
        by = self.consumption.by
        left = [(t, o) for t, o in pairs if o.sequence not in by]
        if len(left) < len(pairs):
            taken = {o.sequence: o for _, o in pairs if o.sequence in by}
            told = [f"{o.event} with {by[place].event}" for place, o in taken.items()]
            detail = "" if left else _listed(told)
            steps.append(Narrowing("not consumed", _count(left), Cause.CONSUMED, detail))
        plan = self.matcher.deployed.plan
        doubtful = {o.sequence: o for _, o in left if self.consumption.doubts(plan, o)}
        if doubtful:
            names = _listed([str(o.event) for o in doubtful.values()])
            kind = plan.states[0].name
            self.doubts.append(
                f"{names} may have been consumed with an earlier {kind} that is not stored any more"
            )
        return left

    def _nearest_in_time(
        self, event: PatternEvent, tuples: Sequence[Tuple], visible: Sequence[Occurrence]
    ) -> str:
        anchor = tuples[-1][event.anchor or 0]
        before = [o for o in visible if o.sequence < anchor.sequence]
        if not before:
            return f"all of them came after {anchor.event}"
        return f"the last one was {format_duration(anchor.time - before[-1].time)} before"

    def _not_kept(self, event: PatternEvent) -> str:
        arrived = self.matcher.stored.of(event.type).arrived
        if not arrived:
            return "none has come"
        return (
            f"of {arrived} that came; those that no rule asks for, or that are too old for all, are not kept"
        )

    # The complete tuple

    def _complete(self, tuples: list[Tuple]) -> Trace:
        plan = self.matcher.deployed.plan
        shown = printer(plan, parameters=True)
        cause = Cause.FIRED
        if not all(is_distinct(t) for t in tuples):
            left = [t for t in tuples if is_distinct(t)]
            verdict = _removed(tuples, left, "as one event would play two roles")
            self.parts.append(Part("distinct events", bool(left), verdict=verdict))
            tuples, cause = left, Cause.SAME_EVENT
        for negation in self._rule.negations:
            if not tuples:
                break
            blocked = [(t, self.matcher.blockers(negation, t)) for t in tuples]
            left = [t for t, found in blocked if not found]
            culprits = {o.sequence: str(o.event) for _, found in blocked for o in found}
            text = f"not {shown.term(negation.type, negation.conditions)} {shown.interval(negation.interval)}"
            verdict = _removed(tuples, left, f"by {_listed(list(culprits.values()))}") if culprits else "none"
            self.parts.append(Part(text, bool(left), verdict=verdict))
            tuples, cause = left, Cause.NEGATION
        for guard in self._rule.guards:
            if not tuples:
                break
            left = [t for t in tuples if self.matcher.all_hold((guard,), t)]
            if isinstance(guard, Present) and len(left) == len(tuples):
                continue
            failed = [t for t in tuples if t not in left]
            had = _listed(list(dict.fromkeys(self._sides(guard, t) for t in failed)))
            verdict = _removed(tuples, left, f"as {had}") if failed else "holds"
            self.parts.append(Part(printer(plan).show(guard), bool(left), verdict=verdict))
            tuples, cause = left, Cause.GUARD
        cause = Cause.FIRED if tuples else cause
        return Trace(cause, tuple(self.parts), tuple(tuples), tuple(self.doubts))

    def _sides(self, guard: Expression, match: Tuple) -> str:
        """The values that a condition on the complete tuple compares."""
        if isinstance(guard, Present):
            return f"{printer(self.matcher.deployed.plan).show(guard.operand)} is null"
        if not isinstance(guard, Compare):
            return "it is false"
        left, right = (format_value(self.matcher.value(side, match)) for side in (guard.left, guard.right))
        return f"{left} {guard.operator} {right} is false"

    # Texts

    def _term(self, event: PatternEvent) -> str:
        """An event as the rule introduces it, with every condition that belongs to it."""
        plan = self.matcher.deployed.plan
        shown = " and ".join(self._show(condition, event.index) for condition in conditions_of(event))
        text = f"{event.type}({shown})" + ("" if event.name == event.type else f" as {event.name}")
        if event.selection is None:
            return text
        anchor = plan.states[event.anchor or 0].name
        return f"{event.selection} {text} within {format_duration(event.window or 0)} from {anchor}"

    def _show(self, condition: Expression, own: int) -> str:
        """A condition as in the rule; what is left of a binding is shown as the binding that it was."""
        plan = self.matcher.deployed.plan
        if isinstance(condition, Present):
            plain = printer(plan, own).show(condition.operand)
            bound = [p.name for p in plan.parameters if p.expression == condition.operand]
            return f"{plain} = ${bound[0]}" if bound else f"{plain} is not null"
        text = printer(plan, own, parameters=True).show(condition)
        return f"({text})" if isinstance(condition, Binary) else text

    def _had(self, pairs: Sequence[_Pair], condition: Expression, own: int, *, one: bool = False) -> str:
        """What the candidates that a condition removed had instead of what it asks for."""
        side = _own_side(condition, own)
        if side is None:
            return ""

        def scope(pair: _Pair) -> Tuple:
            return pair[0] if one else (*pair[0], pair[1])

        values = [self.matcher.value(side, scope(pair)) for pair in pairs]
        if isinstance(condition, Compare) and condition.operator != "!=" and len(set(values)) > 1:
            other = condition.right if side is condition.left else condition.left
            gaps = [
                (abs(float(value) - float(wanted)), value)
                for value, pair in zip(values, pairs, strict=True)
                if isinstance(value, int | float)
                and isinstance(wanted := self.matcher.value(other, scope(pair)), int | float)
            ]
            if gaps:
                return f"the nearest had {format_value(min(gaps)[1])}"
        shown = list(dict.fromkeys(map(format_value, values)))
        return f"{'it' if len(pairs) == 1 else 'they'} had {_listed(shown)}"


def _own_side(condition: Expression, own: int) -> Expression | None:
    """The part of a condition whose value says what its event had."""
    if isinstance(condition, Compare):
        for side in (condition.left, condition.right):
            if own in events_in(side):
                return side
    return next((n for n in walk(condition) if isinstance(n, Attribute) and n.event == own), None)


def _policy(event: PatternEvent) -> Selection:
    assert event.selection is not None
    return event.selection


def _count(pairs: Sequence[_Pair]) -> int:
    """How many different events there are among the candidates for several tuples."""
    return len({occurrence.sequence for _, occurrence in pairs})


def _chosen(event: PatternEvent, pairs: Sequence[_Pair], longer: Sequence[Tuple]) -> str:
    if longer:
        return f"chosen: {_listed(list(dict.fromkeys(str(t[-1].event) for t in longer)))}"
    if pairs:
        return f"too few for {event.selection}"
    return ""


def _removed(before: Sequence[Tuple], left: Sequence[Tuple], why: str) -> str:
    if len(before) == 1:
        return f"removed {why}"
    return f"{len(before) - len(left)} of {len(before)} matches removed {why}"


def _listed(texts: Sequence[str]) -> str:
    """Some texts, and how many there are beyond them."""
    rest = len(texts) - _SHOWN
    return ", ".join(texts[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
