"""Patterns made of some of the events of a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tyrex.plan.partition.model import Absence, Part, PartialRule
from tyrex.plan.partition.subject import Subject, as_event, constraints_last, moved, moved_absence
from tyrex.tesla.expressions import CANDIDATE, Between, Compare, Expression, events_in, has_aggregate
from tyrex.tesla.syntax import Policy, Selection

EACH = Selection(Policy.EACH)
LAST = Selection(Policy.LAST)


class Pattern:
    """Some events of a rule, among them one that all others lead to.

    Where the anchor of an event is missing, the event hangs on the next of its ancestors that is there, and
    the windows between are summed. Of conditions those stay that speak only of events that are there.
    """

    def __init__(
        self,
        subject: Subject,
        keep: Sequence[int],
        drops: Callable[[int, Expression], bool] = lambda index, condition: False,
    ) -> None:
        """The events `keep`, ascending; `drops` says which conditions on an event are left out besides."""
        self.subject = subject
        self.keep = tuple(keep)
        self._places = {index: place for place, index in enumerate(keep)}
        self._conditions = {
            index: tuple(
                c
                for c in subject.parts[index].conditions
                if events_in(c) <= self._places.keys() and not drops(index, c)
            )
            for index in keep
        }

    def decided(self, index: int) -> bool:
        """Whether everything is here that takes part in choosing an event, given the others."""
        part = self.subject.parts[index]
        return part.anchor in self._places and len(self._conditions[index]) == len(part.conditions)

    def covers(self, absence: Absence) -> bool:
        """Whether a negation speaks only of events that are here."""
        return covered(absence, self._places.keys())

    def parts(self, selection_of: Callable[[int], Selection]) -> tuple[Part, ...]:
        """The events as parts of a pattern by itself."""
        return tuple(self._part(index, selection_of) for index in self.keep)

    def moved_absences(self, absences: Iterable[Absence]) -> tuple[Absence, ...]:
        """Negations that are covered, as those of the pattern."""
        return tuple(moved_absence(absence, self._places) for absence in absences)

    def place(self, index: int) -> int:
        """Where an event of the rule is among the parts."""
        return self._places[index]

    def _is_implied(self, condition: Expression) -> bool:
        """Whether a condition asks only whether a value is there, which another condition compares anyhow."""
        if not isinstance(condition, Compare) or condition.left != condition.right:
            return False
        return any(
            isinstance(other, Compare)
            and other.left != other.right
            and condition.left in (other.left, other.right)
            for conditions in self._conditions.values()
            for other in conditions
        )

    def _part(self, index: int, selection_of: Callable[[int], Selection]) -> Part:
        part = self.subject.parts[index]
        conditions = constraints_last(
            moved(c, self._places) for c in self._conditions[index] if not self._is_implied(c)
        )
        if index == self.keep[0]:
            return Part(part.type, conditions=conditions)
        window, anchor = part.window or 0, part.anchor
        while anchor not in self._places:
            assert anchor is not None
            window += self.subject.parts[anchor].window or 0
            anchor = self.subject.parts[anchor].anchor
        return Part(part.type, selection_of(index), self._places[anchor], window, conditions)


def covered(absence: Absence, here: Iterable[int]) -> bool:
    """Whether a negation speaks only of these events."""
    interval = absence.interval
    ends = {interval.earlier, interval.later} if isinstance(interval, Between) else {interval.anchor}
    mentioned = ends.union(*(events_in(c) for c in absence.conditions))
    return mentioned <= set(here) and not any(map(has_aggregate, absence.conditions))


def standing_alone(type_: str, conditions: Iterable[Expression], own: int = CANDIDATE) -> PartialRule:
    """The partial rule that sends every event of a type that fulfils the static conditions among these."""
    static = [c for c in conditions if events_in(c) <= {own} and not has_aggregate(c)]
    if own == CANDIDATE:
        return PartialRule((Part(type_, conditions=as_event(static, 0)),), (), (0,))
    return PartialRule((Part(type_, conditions=tuple(moved(c, {own: 0}) for c in static)),), (), (0,))


def merged(rules: Iterable[PartialRule]) -> tuple[PartialRule, ...]:
    """The rules with equal patterns as one that sends what each of them sends."""
    sent: dict[tuple[tuple[Part, ...], tuple[Absence, ...]], set[int]] = {}
    for rule in rules:
        sent.setdefault((rule.parts, rule.absences), set()).update(rule.sent)
    return tuple(
        PartialRule(parts, absences, tuple(sorted(places))) for (parts, absences), places in sent.items()
    )


def lightened(rule: PartialRule) -> PartialRule:
    """The rule with one candidate, the last, where it matters only whether there is one.

    That is so for an event that is not sent, that nothing else speaks of, and that can't coincide with another.
    """
    spoken_of: set[int] = set(rule.sent)
    for index, part in enumerate(rule.parts):
        if part.anchor is not None:
            spoken_of.add(part.anchor)
        for condition in part.conditions:
            spoken_of |= events_in(condition) - {index}
    for absence in rule.absences:
        interval = absence.interval
        spoken_of |= (
            {interval.earlier, interval.later} if isinstance(interval, Between) else {interval.anchor}
        )
        spoken_of = spoken_of.union(*(events_in(c) for c in absence.conditions))
    types = [part.type for part in rule.parts]
    parts = tuple(
        replace(part, selection=LAST)
        if index and index not in spoken_of and part.selection == EACH and types.count(part.type) == 1
        else part
        for index, part in enumerate(rule.parts)
    )
    return rule if parts == rule.parts else replace(rule, parts=parts)
