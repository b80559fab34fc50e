"""What rules mean, as a program: to be held against SEMANTICS.md sentence by sentence.

It keeps the whole history and looks through all of it, for every terminator, for every event of the pattern.
Every other runtime is tested against it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from tyrex.events import Conformer, Event, Identities, Value, composite_id, timer_id
from tyrex.reference.calendar import finer_fields_are_zero, instants, timer_fields
from tyrex.tesla import CheckedRule, CheckedRules
from tyrex.tesla.aggregates import AGGREGATES
from tyrex.tesla.evaluate import evaluate, holds
from tyrex.tesla.expressions import CANDIDATE, Aggregate, Between, Expression, Interval, Precedes, Within
from tyrex.tesla.syntax import Policy, Selection
from tyrex.tesla.values import Tally


@dataclass(frozen=True, eq=False)
class Occurrence:
    """An event at its place in the history: `position` is its place in the total order."""

    event: Event
    id: str
    position: int

    @property
    def time(self) -> int:
        """Its timestamp."""
        return self.event.timestamp


@dataclass(frozen=True, eq=False)
class Deadline:
    """A timer that an event has set."""

    due: int
    first: Occurrence
    rule: CheckedRule


@dataclass
class Outcome:
    """What came of a history."""

    composites: list[Event] = field(default_factory=list)
    late: list[Event] = field(default_factory=list)
    unused: int = 0
    """Events of types that no rule knows."""
    open_deadlines: int = 0
    overflows: int = 0
    lineage: dict[str, tuple[Event, ...]] = field(default_factory=dict)
    """The events that each composite was made of, by its id, in the order of their declaration."""


def run(
    rules: CheckedRules,
    events: Iterable[Event],
    *,
    delay: int | None = None,
    until: int | None = None,
    time_zone: str = "UTC",
) -> Outcome:
    """Everything that follows from a finite history.

    The order of `events` is that of their arrival. Without `delay` they are put in order of time; with it, what
    comes more than so many microseconds after a later event is late (section 8).
    """
    reference = Reference(rules, time_zone=time_zone)
    outcome = reference.outcome
    in_time: list[Event] = []
    latest: int | None = None
    for event in events:
        if delay is not None and latest is not None and event.timestamp < latest - delay:
            outcome.late.append(event)
            continue
        latest = event.timestamp if latest is None else max(latest, event.timestamp)
        in_time.append(event)
    for event in sorted(in_time, key=lambda event: event.timestamp):  # stable: ties stay in order of arrival
        reference.send(event)
    reference.flush(until)
    return outcome


class Reference:
    """Evaluates rules over a history that grows event by event, in order of time."""

    def __init__(self, rules: CheckedRules, *, time_zone: str = "UTC") -> None:
        self.outcome = Outcome()
        self._zone = ZoneInfo(time_zone)
        self._identities = Identities()
        self._history: list[Occurrence] = []
        self._since: dict[str, int] = {}
        self._seen: list[Occurrence] = []
        self._consumed: set[tuple[str, int]] = set()
        self._deadlines: list[Deadline] = []
        self._now: int | None = None
        self._timers_until = 0
        self._tally = Tally()
        self.deploy(rules)

    def deploy(self, rules: CheckedRules) -> None:
        """From now on these rules hold: a new one sees what comes from now on, one that is gone does no more."""
        self.rules = rules.rules
        self._conform = Conformer({name: t for name, t in rules.types.items() if name != "Timer"})
        self._timer_rules = [rule for rule in self.rules if rule.is_calendar_timer]
        self._since = {rule.name: self._since.get(rule.name, len(self._history)) for rule in self.rules}
        self._deadlines = [d for d in self._deadlines if d.rule.name in self._since]

    # Time (section 7)

    def send(self, event: Event) -> list[Event]:
        """Process an event, after every timer that lies before it; the composite events that follow."""
        before = len(self.outcome.composites)
        conformed = self._conform(event)
        if self._now is None:
            self._timers_until = event.timestamp - 1  # time begins with the first event
        self._now = event.timestamp
        self._pass_time(event.timestamp - 1)  # a timer comes after every event of its instant
        if conformed is None:
            self.outcome.unused += 1
        else:
            self._take(conformed, self._identities(conformed))
        return self.outcome.composites[before:]

    def flush(self, until: int | None = None) -> list[Event]:
        """Fire what is due at the last timestamp seen, or move time on to `until`."""
        before = len(self.outcome.composites)
        if self._now is not None:
            self._now = max(self._now, self._now if until is None else until)
            self._pass_time(self._now)
        self.outcome.open_deadlines = sum(not self._is_consumed(d.rule, d.first) for d in self._deadlines)
        return self.outcome.composites[before:]

    def _pass_time(self, until: int) -> None:
        """Fire all timers up to an instant, in order: the calendar's first, then deadlines."""
        while self._timers_until < until:
            dues = [d.due for d in self._deadlines if d.due <= until]
            end = min(dues, default=until)
            for instant in instants(self._timer_rules, self._timers_until, end):
                self._timers_until = instant - 1
                self._calendar(instant)
                self._timers_until = instant
                if any(d.due <= end for d in self._deadlines):
                    break  # what the timer made may have set a deadline; look again
            else:
                self._timers_until = end
            due = [d for d in self._deadlines if d.due == self._timers_until]
            for deadline in sorted(due, key=lambda d: (d.first.position, d.rule.position)):
                self._deadlines.remove(deadline)
                self._expire(deadline)

    def _calendar(self, instant: int) -> None:
        fields = timer_fields(instant, self._zone)
        if any(finer_fields_are_zero(rule, fields) for rule in self._timer_rules):
            self._take(Event("Timer", instant, fields), timer_id(instant))

    def _expire(self, deadline: Deadline) -> None:
        if self._is_consumed(deadline.rule, deadline.first):
            return
        timer = self._append(
            Event("Timer", deadline.due, timer_fields(deadline.due, self._zone)), timer_id(deadline.due)
        )
        self._drain(deque(self._fire(deadline.rule, [timer, deadline.first])))

    # Composite events, hierarchies (section 6)

    def _take(self, event: Event, id_: str) -> None:
        self._drain(deque([(event, id_)]))

    def _drain(self, queue: deque[tuple[Event, str]]) -> None:
        """Offer an event to the rules in deployment order, then what they produced, before the next from outside."""
        while queue:
            occurrence = self._append(*queue.popleft())
            for rule in self.rules:
                if rule.deadline is not None:
                    self._set_deadline(rule, occurrence)
                elif self._is_terminator(rule, occurrence):
                    queue.extend(self._fire(rule, [occurrence]))

    def _append(self, event: Event, id_: str) -> Occurrence:
        occurrence = Occurrence(event, id_, len(self._history))
        self._history.append(occurrence)
        return occurrence

    def _is_terminator(self, rule: CheckedRule, occurrence: Occurrence) -> bool:
        event = occurrence.event
        if event.type != rule.terminator.type:
            return False
        if event.type == "Timer" and not finer_fields_are_zero(rule, dict(event.attributes)):
            return False
        return self._all_hold(rule.terminator.conditions, [occurrence])

    def _set_deadline(self, rule: CheckedRule, occurrence: Occurrence) -> None:
        first = rule.events[1]
        if occurrence.event.type != first.type:
            return
        assert rule.deadline is not None
        due = occurrence.time + rule.deadline
        timer = Occurrence(
            Event("Timer", due, timer_fields(due, self._zone)), timer_id(due), len(self._history)
        )
        conditions = rule.terminator.conditions + first.conditions
        if self._all_hold(conditions, [timer, occurrence]):
            self._deadlines.append(Deadline(due, occurrence, rule))

    def _fire(self, rule: CheckedRule, chosen: list[Occurrence]) -> list[tuple[Event, str]]:
        """The composite events that a rule makes of a terminator; then what it consumes is consumed (section 5)."""
        self._seen = self._history[self._since[rule.name] :]
        matches = [match for match in self._matches(rule, chosen) if self._is_complete(rule, match)]
        made = [self._compose(rule, match) for match in matches]
        for match in matches:
            for index in rule.consuming:
                self._consumed.add((rule.name, match[index].position))
        return [(event, event.id or "") for event in made]

    def _compose(self, rule: CheckedRule, match: list[Occurrence]) -> Event:
        scope = _Scope(self, match)
        attributes = {name: evaluate(value, scope, self._tally) for name, value in rule.assignments}
        id_ = composite_id(rule.name, [occurrence.id for occurrence in match])
        event = Event(rule.defines.name, match[0].time, attributes, id_, rule.name)
        self.outcome.composites.append(event)
        self.outcome.lineage[id_] = tuple(occurrence.event for occurrence in match)
        self.outcome.overflows = self._tally.overflows
        return event

    # Patterns (section 2)

    def _matches(self, rule: CheckedRule, chosen: list[Occurrence]) -> Iterator[list[Occurrence]]:
        """Every way to choose the events that are still missing, in the order of the chosen events."""
        if len(chosen) == len(rule.events):
            if len({occurrence.position for occurrence in chosen}) == len(chosen):  # distinct events
                yield chosen
            return
        for occurrence in self._select(rule, chosen):
            yield from self._matches(rule, [*chosen, occurrence])

    def _select(self, rule: CheckedRule, chosen: list[Occurrence]) -> list[Occurrence]:
        event = rule.events[len(chosen)]
        assert event.anchor is not None
        assert event.window is not None
        assert event.selection is not None
        anchor = chosen[event.anchor]
        candidates = [
            b
            for b in self._seen
            if b.event.type == event.type
            and b.position < anchor.position
            and anchor.time - b.time <= event.window
            and self._all_hold(event.conditions, [*chosen, b])
            and not self._is_consumed(rule, b)
        ]
        return _pick(event.selection, candidates)

    def _is_consumed(self, rule: CheckedRule, occurrence: Occurrence) -> bool:
        return (rule.name, occurrence.position) in self._consumed

    def _all_hold(
        self, conditions: Iterable[Expression], chosen: list[Occurrence], candidate: Occurrence | None = None
    ) -> bool:
        scope = _Scope(self, chosen, candidate)
        return all(holds(condition, scope, self._tally) for condition in conditions)

    # Negations and aggregates, on the complete tuple (sections 3 and 4)

    def _is_complete(self, rule: CheckedRule, match: list[Occurrence]) -> bool:
        for negation in rule.negations:
            if any(
                c.event.type == negation.type
                and _is_strictly_in(negation.interval, c, match)
                and self._all_hold(negation.conditions, match, c)
                for c in self._seen
            ):
                return False
        return self._all_hold(rule.guards, match)

    def aggregate(self, node: Aggregate, match: list[Occurrence]) -> Value:
        """The value of an aggregate over the history, for the chosen events."""
        events = [
            t.event
            for t in self._seen
            if t.event.type == node.type
            and _is_in(node.interval, t, match)
            and self._all_hold(node.conditions, match, t)
        ]
        if node.attribute is None:
            return len(events)
        values = [event[node.attribute] for event in events]
        return AGGREGATES[node.function].compute([v for v in values if v is not None], self._tally)


def _pick(selection: Selection, candidates: list[Occurrence]) -> list[Occurrence]:
    """The candidates, which are in order, that a policy chooses."""
    if selection.policy is Policy.EACH:
        return candidates
    if len(candidates) < selection.k:
        return []
    return [candidates[selection.k - 1 if selection.policy is Policy.FIRST else -selection.k]]


def _is_strictly_in(interval: Interval, c: Occurrence, match: list[Occurrence]) -> bool:
    """For negations: both ends excluded, and the far end of a window too."""
    if isinstance(interval, Between):
        return match[interval.earlier].position < c.position < match[interval.later].position
    x = match[interval.anchor]
    return c.position < x.position and x.time - c.time < interval.window


def _is_in(interval: Interval, t: Occurrence, match: list[Occurrence]) -> bool:
    """For aggregates: both ends included."""
    if isinstance(interval, Within):
        x = match[interval.anchor]
        return t.position <= x.position and x.time - t.time <= interval.window
    return match[interval.earlier].position <= t.position <= match[interval.later].position


@dataclass(frozen=True)
class _Scope:
    """The events that a condition speaks of."""

    reference: Reference
    chosen: list[Occurrence]
    candidate: Occurrence | None = None

    def attribute(self, event: int, name: str) -> Value:
        occurrence = self.candidate if event == CANDIDATE else self.chosen[event]
        assert occurrence is not None
        return occurrence.event.get(name)

    def precedes(self, node: Precedes) -> bool:
        earlier, later = self.chosen[node.earlier], self.chosen[node.later]
        return earlier.position < later.position and later.time - earlier.time <= node.window

    def aggregate(self, node: Aggregate) -> Value:
        return self.reference.aggregate(node, self.chosen)
