"""The terminators of a rule that are still stored, and what the rule has consumed with them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tyrex.engine.deploy import Deployed
from tyrex.engine.matching import Matcher, Tuple
from tyrex.engine.stored import Occurrence, Stored
from tyrex.plan import CalendarTimer, RulePlan
from tyrex.tesla.durations import SECOND
from tyrex.tesla.types import TIMER

_COARSENESS = {"S": 0, "M": 1, "H": 2, "D": 3, "Day": 3, "Month": 4, "Year": 5}
_START = {"S": 0, "M": 0, "H": 0, "Day": 1, "Month": 1}


def given_at(stored: Stored, deployed: Deployed, time: int) -> list[Tuple]:
    """What a rule is given at a moment: the terminator, with a deadline the timer and the event that set it.

    Its own conditions are not tested, but for the calendar's: between its instants there is no timer.
    """
    rule = deployed.plan.rule
    if rule.deadline is not None:
        firsts = stored.of(rule.events[1].type).at(time - rule.deadline)
        timers = _deadline_timers(stored, time) if firsts else {}
        return [
            (timers.get((deployed.number, first.sequence)) or _unplaced(stored, time), first)
            for first in firsts
        ]
    if rule.is_calendar_timer:
        if not fits_calendar(stored, deployed, time):
            return []
        timers_at = stored.of(TIMER.name).at(time)
        return [(timers_at[0] if timers_at else _unplaced(stored, time),)]
    return [(occurrence,) for occurrence in stored.of(rule.terminator.type).at(time)]


def fits_calendar(stored: Stored, deployed: Deployed, time: int) -> bool:
    """Whether a calendar timer of the rule is due at a moment."""
    trigger = deployed.plan.trigger
    assert isinstance(trigger, CalendarTimer)
    timer = stored.timer(time)
    finest = _COARSENESS[trigger.finest]
    finer = all(timer[name] == start for name, start in _START.items() if _COARSENESS[name] < finest)
    given = (Occurrence(timer, 0),)
    return finer and time % SECOND == 0 and Matcher(stored, deployed).failing(given) is None


def is_placed(stored: Stored, given: Tuple) -> bool:
    """Whether the place of a terminator in the order is known: that of a timer may have been forgotten."""
    timer = given[0]
    return timer.event.type != TIMER.name or timer in stored.of(TIMER.name).at(timer.time)


def _unplaced(stored: Stored, time: int) -> Occurrence:
    return Occurrence(stored.timer(time), stored.place_after(time))


def _deadline_timers(stored: Stored, time: int) -> Mapping[tuple[int, float], Occurrence]:
    """The stored timers of a moment by the rule and the event whose deadline they are, if that can be told.

    At one instant the calendar's timer comes first, then deadlines in the order of their events and rules.
    """
    expected: list[tuple[float, int, int]] = []
    calendar = False
    for deployed in stored.deployment.rules.values():
        rule = deployed.plan.rule
        if rule.is_calendar_timer:
            calendar = calendar or fits_calendar(stored, deployed, time)
        elif rule.deadline is not None:
            timer = Occurrence(stored.timer(time), math.inf)
            matcher = Matcher(stored, deployed)
            expected += [
                (first.sequence, deployed.order, deployed.number)
                for first in stored.of(rule.events[1].type).at(time - rule.deadline)
                if first.sequence >= deployed.moment and matcher.failing((timer, first)) is None
            ]
    timers = stored.of(TIMER.name).at(time)[1 if calendar else 0 :]
    if len(timers) != len(expected):
        return {}
    ordered = sorted(expected)
    return {(rule, first): timer for (first, _, rule), timer in zip(ordered, timers, strict=True)}


# --- Consumption ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Consumption:
    """What a rule has consumed before a terminator."""

    by: Mapping[float, Occurrence] = field(default_factory=dict)
    """The terminators that consumed events, by the places of these."""
    doubtful_until: float = -math.inf
    """Events until this place may have been consumed with terminators whose events are no longer stored."""

    def doubts(self, plan: RulePlan, occurrence: Occurrence) -> bool:
        """Whether an event may have been consumed without a trace."""
        types = {plan.states[index].type for index in plan.consumed}
        return occurrence.sequence <= self.doubtful_until and occurrence.event.type in types


def consumption(stored: Stored, deployed: Deployed, before: float) -> Consumption:
    """What a rule has consumed, by evaluating it again for each terminator that is still stored."""
    evaluated, fired = stored.rule_counts(deployed)
    plan = deployed.plan
    if not plan.consumed or not fired:
        return Consumption()
    known: dict[float, Occurrence] = {}
    doubtful = -math.inf
    count = 0
    for given in _all_given(stored, deployed):
        terminator = given[0]
        matcher = Matcher(stored, deployed, known)
        if any(occurrence.sequence in known for occurrence in given[1:]):
            continue  # what set the deadline is consumed
        if matcher.failing(given) is not None:
            continue
        count += 1
        if terminator.sequence < before and not (
            is_reachable(stored, plan, terminator) and is_placed(stored, given)
        ):
            doubtful = max(doubtful, terminator.sequence)
        for match in matcher.matches(given):
            for index in plan.consumed:
                known.setdefault(match[index].sequence, terminator)
    by = {place: terminator for place, terminator in known.items() if terminator.sequence < before}
    if count != evaluated:
        doubtful = max(doubtful, _first_stored(stored, plan) if count < evaluated else math.inf)
    if plan.rule.deadline is not None and stored.of(plan.rule.events[1].type).since is not None:
        doubtful = math.inf  # deadlines of events that are forgotten fall among those of events that are not
    return Consumption(by, doubtful)


def _all_given(stored: Stored, deployed: Deployed) -> Iterator[Tuple]:
    """Everything that a rule has been given since it was deployed, as far as it is stored, in order."""
    rule = deployed.plan.rule
    if rule.deadline is not None:
        dues = {first.time + rule.deadline for first in stored.of(rule.events[1].type).all}
        times: Sequence[int] = sorted(due for due in dues if stored.has_passed(due))
    elif rule.is_calendar_timer:
        times = sorted(set(stored.of(TIMER.name).times))
    else:
        times = list(dict.fromkeys(stored.of(rule.terminator.type).times))
    for time in times:
        for given in given_at(stored, deployed, time):
            if given[-1].sequence >= deployed.moment:
                yield given


def _first_stored(stored: Stored, plan: RulePlan) -> float:
    """The place before which terminators may have been forgotten."""
    if plan.rule.terminator.type == TIMER.name:
        return math.inf
    events = stored.of(plan.rule.terminator.type).all
    return events[0].sequence - 0.5 if events else math.inf


def is_reachable(stored: Stored, plan: RulePlan, terminator: Occurrence) -> bool:
    """Whether everything that a rule looks at for a terminator is still stored."""
    return not missing(stored, plan, terminator)


def missing(stored: Stored, plan: RulePlan, terminator: Occurrence) -> list[str]:
    """The types of which a rule would look at events that are no longer stored."""
    return [
        name
        for name, reach in plan.horizon.items()
        if name != TIMER.name
        and (since := stored.of(name).since) is not None
        and terminator.time - reach < since
    ]
