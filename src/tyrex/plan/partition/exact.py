"""Partial rules that leave out nothing that matters.

**The invariant.** Let `all` be the events of all sites, and `sent` those that the sites send. For every `S` with
sent ⊆ S ⊆ all, the rule gives on `S` the composite events that it gives on `all`. (Events reach the parent for
the sake of other rules, too, so this must hold for every such `S`.)

**Why it holds.** Evaluate the rule on `all`: a *prefix* is what has been chosen for the first events of the
pattern, in the order of declaration. On `S` the same prefixes arise, or some that lead to nothing, if

1. of each prefix that can be completed at all, the event chosen next is sent, if it is chosen by `last` or
   `first` (with `k-last` the k last candidates). "Can't be completed at all" must mean: for want of candidates,
   whatever is chosen. That holds in every `S`, since `S` has no more candidates than `all`. It must not mean
   that what *was* chosen leads nowhere, since without it something else would be chosen;
2. all events of each complete tuple that no negation excludes are sent. So the terminator and events chosen by
   `each` need not be sent if they are in no such tuple, for whatever reason;
3. for each complete tuple that a negation excludes, some event that does so is sent: the *witness*;
4. for each complete tuple that no negation excludes, all events in the intervals of aggregates are sent.

A site knows the events of the types that come from it. A type is *complete* there if it comes from no other
site. What a site does not see it must take as possible, hence each partial rule is a pattern of which every
prefix (for 1) or tuple (for 2 to 4) is a match, as far as its events are complete at the site; and what is sent
are the events that the pattern has for one of them.

Groups with state that is more than a window must get what is sent in order. For them no event waits for a later
one, and with consumption no selection is taken as known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from tyrex.plan.partition.model import Absence, Part, PartialRule
from tyrex.plan.partition.pattern import EACH, LAST, Pattern, lightened, merged
from tyrex.plan.partition.subject import Ownership, Subject, as_event, moved
from tyrex.tesla.expressions import (
    CANDIDATE,
    Between,
    Expression,
    Precedes,
    Within,
    events_in,
    has_aggregate,
)
from tyrex.tesla.syntax import Selection


def exact_rules(subject: Subject, ownership: Ownership) -> tuple[PartialRule, ...]:
    """What a site is asked for."""
    if any(part.type in ownership.nowhere for part in subject.parts):
        return ()  # there is never a match
    site = _Site(subject, ownership)
    return tuple(dict.fromkeys(lightened(rule) for rule in merged(site.rules())))


@dataclass(frozen=True)
class _Site:
    """A rule as one site sees it."""

    subject: Subject
    ownership: Ownership

    def rules(self) -> Iterator[PartialRule]:
        """A partial rule for each thing that has to be sent; equal patterns come more than once."""
        subject, here = self.subject, self.ownership.here
        known = self._known(subject)
        for index, part in enumerate(subject.parts):
            if part.type not in here:
                continue
            if subject.is_single(index):
                yield from self._single(index, known)
            else:
                yield from _Target(self, subject, known, index, full=True).rules(self._decidable(subject))
        for absence in subject.absences:
            if absence.type in here:
                yield from self._satellite(absence, known, witness=True)
        for aggregate in subject.aggregates:
            if aggregate.type in here:
                yield from self._satellite(aggregate, known, witness=False)

    def _known(self, subject: Subject) -> frozenset[int]:
        """The events of the pattern whose types are complete here."""
        return frozenset(i for i, part in enumerate(subject.parts) if self.ownership.complete(part.type))

    def _decidable(self, subject: Subject) -> tuple[Absence, ...]:
        """Negations whose events all come from here."""
        return tuple(a for a in subject.absences if self.ownership.exclusive(a.type))

    def _single(self, index: int, known: frozenset[int]) -> Iterator[PartialRule]:
        """An event chosen by `last` or `first`: left out only if nothing it could be chosen for is complete.

        What it leads to is of no matter.
        """
        yield from _Target(self, self.subject, known, index, full=False).rules(())

    def _satellite(self, item: Absence, known: frozenset[int], *, witness: bool) -> Iterator[PartialRule]:
        """The events that a negation or an aggregate needs, of all complete tuples."""
        interval = item.interval
        if isinstance(interval, Within):
            later, earlier = interval.anchor, None
            window = interval.window - 1 if witness else interval.window  # a negation excludes its far end
            if window < 0:
                return  # nothing lies within zero time
        else:
            later, earlier = interval.later, interval.earlier
            window = self.subject.distance(earlier, later)
        conditions = tuple(c for c in item.conditions if not has_aggregate(c))
        decided = witness and len(conditions) == len(item.conditions)
        above = [later, *self.subject.ancestors(later)]
        if not self.subject.in_order and any(index in known for index in above):
            yield from self._before(item.type, conditions, known, (earlier, later, window), decided, witness)
        else:
            yield from self._after(item.type, conditions, known, earlier, window, decided)

    def _before(
        self,
        type_: str,
        conditions: tuple[Expression, ...],
        known: frozenset[int],
        stretch: tuple[int | None, int, int],
        decided: bool,
        witness: bool,
    ) -> Iterator[PartialRule]:
        """Events in a stretch before one that is complete here: as one more event of the pattern.

        One witness is enough, and the last event before the end of the stretch is one if there is any.
        """
        earlier, later, window = stretch
        own = len(self.subject.parts)
        clauses = as_event(conditions, own)
        if earlier is not None and earlier in known:
            clauses += (Precedes(earlier, own, window),)
        part = Part(type_, LAST if decided else EACH, later, window, clauses)
        subject = replace(self.subject, parts=(*self.subject.parts, part))
        target = _Target(self, subject, known, own, full=True)
        yield from target.rules(() if witness else self._decidable(subject))

    def _after(
        self,
        type_: str,
        conditions: tuple[Expression, ...],
        known: frozenset[int],
        earlier: int | None,
        window: int,
        decided: bool,
    ) -> Iterator[PartialRule]:
        """Events in a stretch whose end is not seen here: all that come after a possible beginning.

        One witness is enough, and the first event after the beginning of the stretch is one if there is any.
        """
        own = len(self.subject.parts)
        clauses = as_event(conditions, own)
        subject, places = _turned(self.subject, type_, clauses, earlier, window)
        seen = frozenset(place for index, place in places.items() if index in known)
        rules = list(_Target(self, subject, seen, 0, full=True).rules(()))
        if decided and earlier in known and all(events_in(c) <= {own, earlier} for c in clauses):
            absence = Absence(
                type_,
                tuple(moved(c, {own: CANDIDATE, earlier: 1}) for c in clauses),
                Between(1, 0),
            )
            rules = [replace(rule, absences=(absence,)) for rule in rules]
            if all(events_in(c) == {own} for c in clauses):
                rules = [_of_the_last(rule) for rule in rules]
        yield from rules


def _turned(
    subject: Subject, type_: str, clauses: tuple[Expression, ...], earlier: int | None, window: int
) -> tuple[Subject, dict[int, int]]:
    """The part of a rule that lies before an event in a stretch, as a pattern that ends with that event.

    Also where the events of the rule are in it; the event in the stretch is `len(subject.parts)` there.
    """
    own = len(subject.parts)
    below = [i for i in range(own) if i == earlier or earlier in subject.ancestors(i)]
    places = {own: 0, **{index: place for place, index in enumerate(below, 1)}}
    turned = [Part(type_)]
    for index in below:
        part = subject.parts[index]
        kept = tuple(moved(c, places) for c in part.conditions if events_in(c) <= places.keys())
        if index == earlier:
            turned.append(Part(part.type, EACH, 0, window, kept))
        else:
            assert part.anchor is not None
            selection = part.selection if len(kept) == len(part.conditions) else EACH
            turned.append(Part(part.type, selection, places[part.anchor], part.window, kept))
    for clause in clauses:
        mentioned = events_in(clause)
        if mentioned <= places.keys():
            last = max((places[index] for index in mentioned), default=0)
            part = turned[last]
            # What is compared with the event in the stretch is not chosen by that.
            selection = EACH if last else None
            turned[last] = replace(
                part, selection=selection, conditions=(*part.conditions, moved(clause, places))
            )
    return replace(subject, parts=tuple(turned), absences=(), aggregates=()), places


def _of_the_last(rule: PartialRule) -> PartialRule:
    """The rule that looks for one beginning of a stretch, where each would do: the last one will."""
    if len(rule.parts) != 2:
        return rule
    return replace(rule, parts=(rule.parts[0], replace(rule.parts[1], selection=LAST)))


@dataclass(frozen=True)
class _Target:
    """An event of the pattern that is to be sent, and what is known of the rest.

    `full` is whether it matters only in complete tuples; else whatever it leads to is left out of the pattern,
    and of other events it counts only that there are some.
    """

    site: _Site
    subject: Subject
    known: frozenset[int]
    index: int
    full: bool

    def rules(self, negations: tuple[Absence, ...]) -> Iterator[PartialRule]:
        """The partial rule; several where there are several candidates to send."""
        part = self.subject.parts[self.index]
        selection = part.selection
        if selection is not None and selection.k > 1 and not self.full:
            pattern = Pattern(self.subject, self.chain, self._drops)
            if pattern.decided(self.index):
                yield from self._kth(pattern.parts(lambda i: self._selection(pattern, i)), selection)
                return
        whole = Pattern(self.subject, self._keep(), self._drops)
        absences = whole.moved_absences(a for a in negations if whole.covers(a))
        parts = whole.parts(lambda i: self._selection(whole, i))
        yield PartialRule(parts, absences, (whole.place(self.index),))

    @cached_property
    def chain(self) -> tuple[int, ...]:
        """The events that it leads to and that are known, and itself; where order counts, only itself."""
        if self.subject.in_order:
            return (self.index,)
        return (*sorted(a for a in self.subject.ancestors(self.index) if a in self.known), self.index)

    def _keep(self) -> list[int]:
        """The chain, and what else is known to lead to it."""
        keep = set(self.chain)
        for index in self.known - keep:
            above = self.subject.ancestors(index)
            if self.chain[0] in above and (self.full or self.index not in above):
                keep.add(index)
        return sorted(keep)

    def _drops(self, index: int, condition: Expression) -> bool:
        """Whether a condition on another event would depend on which event is chosen here."""
        return not self.full and index not in self.chain and self.index in events_in(condition)

    def _selection(self, pattern: Pattern, index: int) -> Selection:
        """The selection of the rule, if the site can tell what it chooses."""
        selection = self.subject.parts[index].selection
        if selection is None or self.subject.consuming or not pattern.decided(index):
            return EACH
        if index == self.index and selection.k > 1 and not self.full and len(pattern.keep) > len(self.chain):
            return EACH  # the candidates before the k-th are needed, too
        return selection if self.full or index in self.chain else EACH

    def _kth(self, parts: tuple[Part, ...], selection: Selection) -> Iterator[PartialRule]:
        """All candidates up to the k-th, as any of them missing would make it another."""
        place, last = len(parts) - 1, parts[-1]
        every = [replace(last, selection=Selection(selection.policy, k)) for k in range(1, selection.k + 1)]
        if not self.site.ownership.complete(last.type):
            yield from (PartialRule((*parts[:-1], one), (), (place,)) for one in every)
            return
        apart = tuple(
            replace(
                one,
                conditions=tuple(
                    moved(c, {**{i: i for i in range(place)}, place: place + n}) for c in one.conditions
                ),
            )
            for n, one in enumerate(every)
        )
        yield PartialRule((*parts[:-1], *apart), (), tuple(range(place, place + selection.k)))
