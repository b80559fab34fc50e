"""Rules and partial rules in one form: what is split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tyrex.plan.conditions import aggregates_in
from tyrex.plan.model import RulePlan
from tyrex.plan.partition.model import Absence, Part, PartialRule, Site
from tyrex.tesla.checked import CheckedRule
from tyrex.tesla.expressions import (
    CANDIDATE,
    Aggregate,
    Attribute,
    Between,
    Call,
    Compare,
    Expression,
    Literal,
    Precedes,
    Present,
    Within,
    conjuncts,
    rebuild,
)
from tyrex.tesla.syntax import Policy
from tyrex.tesla.types import TIMER


@dataclass(frozen=True)
class Subject:
    """A pattern that is to be split, with all that its matches depend on."""

    parts: tuple[Part, ...]
    absences: tuple[Absence, ...]
    aggregates: tuple[Absence, ...]
    """In the form of absences: type, conditions on the candidate, interval."""
    in_order: bool
    """Whether it must see its events in their order, since it has state that is more than a window."""
    consuming: bool
    """Whether candidates can be gone: then no place but the responsible one knows what is chosen."""

    @property
    def types(self) -> frozenset[str]:
        """The types it looks at; no `Timer`."""
        found = {part.type for part in self.parts}
        found |= {item.type for item in (*self.absences, *self.aggregates)}
        return frozenset(found) - {TIMER.name}

    def ancestors(self, index: int) -> list[int]:
        """The event's anchor, that one's anchor, and so on to the first."""
        found = []
        anchor = self.parts[index].anchor
        while anchor is not None:
            found.append(anchor)
            anchor = self.parts[anchor].anchor
        return found

    def distance(self, earlier: int, later: int) -> int:
        """How much earlier an event can be than one of its ancestors, or than itself."""
        total = 0
        while earlier != later:
            part = self.parts[earlier]
            assert part.anchor is not None
            total += part.window or 0
            earlier = part.anchor
        return total

    def is_single(self, index: int) -> bool:
        """Whether one of the candidates is taken, so that it hides the others."""
        selection = self.parts[index].selection
        return selection is not None and selection.policy is not Policy.EACH


@dataclass(frozen=True)
class Ownership:
    """Which types come from where, seen from one site."""

    site: str
    here: frozenset[str]
    """Types that come from this site."""
    elsewhere: frozenset[str]
    """Types that come from another site, or are made by the group itself."""
    nowhere: frozenset[str]
    """Types that come from no site."""

    def complete(self, type_: str) -> bool:
        """Whether all events of the type, if there are any, come from this site."""
        return type_ not in self.elsewhere and type_ != TIMER.name

    def exclusive(self, type_: str) -> bool:
        """Whether the type comes from this site and from no other."""
        return type_ in self.here and self.complete(type_)


def ownerships(sites: Sequence[Site], subjects: Iterable[Subject], made: frozenset[str]) -> list[Ownership]:
    """What each site has and has not, of the types that matter; not for sites that have none of them."""
    needed = frozenset(name for subject in subjects for name in subject.types)
    having = [(site.name, site.types & needed) for site in sites]
    count = Counter(name for _, types in having for name in types)
    nowhere = needed - count.keys() - made
    return [
        Ownership(name, here, made | {one for one in count if count[one] > (one in here)}, nowhere)
        for name, here in having
        if here
    ]


def subject_of_rule(rule: CheckedRule, in_order: bool) -> Subject:
    """A whole rule."""
    aggregates: dict[Aggregate, None] = {}
    expressions: list[Expression] = [*rule.guards]
    expressions += [condition for negation in rule.negations for condition in negation.conditions]
    expressions += [value for _, value in rule.assignments]
    for expression in expressions:
        aggregates.update(dict.fromkeys(aggregates_in(expression)))
    return Subject(
        parts=tuple(
            Part(event.type, event.selection, event.anchor, event.window, normal(event.conditions))
            for event in rule.events
        ),
        absences=tuple(
            Absence(negation.type, normal(negation.conditions), negation.interval)
            for negation in rule.negations
        ),
        aggregates=tuple(
            Absence(aggregate.type, normal(aggregate.conditions), aggregate.interval)
            for aggregate in aggregates
        ),
        in_order=in_order,
        consuming=bool(rule.consuming),
    )


def subject_of_partial(rule: PartialRule) -> Subject:
    """A partial rule: its parts are the pattern, and it keeps nothing but its window."""
    return Subject(rule.parts, rule.absences, (), in_order=False, consuming=False)


def subjects_of(
    group: Sequence[RulePlan] | Sequence[PartialRule],
) -> tuple[list[Subject], frozenset[str]]:
    """A group of rules, or partial rules, in the form in which they are split; and the types that they make."""
    rules = [item for item in group if isinstance(item, RulePlan)]
    in_order = bool(rules) and has_state([plan.rule for plan in rules])
    subjects = [subject_of_rule(plan.rule, in_order) for plan in rules]
    subjects += [subject_of_partial(item) for item in group if isinstance(item, PartialRule)]
    return subjects, frozenset(plan.defines.name for plan in rules)


def has_state(rules: Sequence[CheckedRule]) -> bool:
    """Whether a group of rules has state that is more than a window."""
    if len(rules) > 1:
        return True
    (rule,) = rules
    looked_at = {event.type for event in rule.events} | {negation.type for negation in rule.negations}
    looked_at |= {aggregate.type for aggregate in subject_of_rule(rule, False).aggregates}
    timed = TIMER.name in looked_at
    return bool(rule.consuming) or timed or rule.defines.name in looked_at


def normal(conditions: Iterable[Expression]) -> tuple[Expression, ...]:
    """Conditions one by one, in a form that text can say.

    `Present` is what is left of a parameter's binding: as text it is `x = x`, which is true unless x is null.
    """
    found: dict[Expression, None] = {}
    for condition in conditions:
        for part in conjuncts(condition):
            if isinstance(part, Present):
                found[Compare("=", part.operand, part.operand)] = None
            elif isinstance(part, Call | Literal):
                found[Compare("=", part, Literal(True))] = None  # in parentheses a value means an equality
            else:
                found[part] = None
    return constraints_last(found)


def constraints_last(conditions: Iterable[Expression]) -> tuple[Expression, ...]:
    """Each condition once, time constraints after the others, as text has them."""
    return tuple(sorted(dict.fromkeys(conditions), key=lambda c: isinstance(c, Precedes)))


def moved(expression: Expression, places: dict[int, int]) -> Expression:
    """The expression with its events at other positions."""

    def change(node: Expression) -> Expression:
        match node:
            case Attribute(event=event, name=name) if event in places:
                return Attribute(places[event], name)
            case Precedes(earlier=earlier, later=later, window=window):
                return Precedes(places.get(earlier, earlier), places.get(later, later), window)
            case Aggregate():
                raise AssertionError("a partial rule has no aggregates")
            case _:
                return node

    return rebuild(expression, change)


def moved_absence(absence: Absence, places: dict[int, int]) -> Absence:
    """The absence with its events at other positions."""
    interval = absence.interval
    if isinstance(interval, Within):
        interval = Within(places[interval.anchor], interval.window)
    else:
        interval = Between(places[interval.earlier], places[interval.later])
    return replace(absence, conditions=tuple(moved(c, places) for c in absence.conditions), interval=interval)


def as_event(conditions: Iterable[Expression], index: int) -> tuple[Expression, ...]:
    """Conditions on a candidate as conditions on an event of the pattern."""
    return tuple(moved(condition, {CANDIDATE: index}) for condition in conditions)
