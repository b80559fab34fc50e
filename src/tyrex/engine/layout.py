"""Which rules of an engine run where: places with one kernel, and places whose kernels divide the events.

A place without a key has one kernel, which sees all events that its rules look at. A place with a key has a
kernel for each thread; they have the same rules, and each sees its share of the events. Everything that time
sets off, timers and deadlines, is in one place: what happens at one instant has an order among all rules.

A layout is data: the engine builds its kernels by it, and a snapshot remembers it, since events that are stored
stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tyrex.plan import RulePlan, combine, shard
from tyrex.plan.sharding import find_key
from tyrex.tesla.diagnostics import listing
from tyrex.tesla.types import EventType


class DoesNotFit(ValueError):
    """A rule can't be added to an engine with several threads, as its events are divided in another way."""


@dataclass(frozen=True)
class PlaceLayout:
    """Rules that run together."""

    rules: tuple[str, ...]
    """Their names, in the order of deployment."""
    key: Mapping[str, str] | None = field(hash=False)
    """The attribute that divides the events of each type among the kernels; None if there is one kernel."""
    kernels: int
    timers: bool
    """Whether all that has timers or deadlines is here."""


@dataclass(frozen=True)
class Layout:
    """The places of an engine; a place that has lost all its rules stays for others to come."""

    threads: int
    places: tuple[PlaceLayout, ...]

    @staticmethod
    def empty(threads: int) -> Layout:
        """The layout of no rules: one place."""
        return Layout(threads, (PlaceLayout((), None, 1, timers=True),))

    @property
    def kernels(self) -> int:
        """How many kernels there are in all places."""
        return sum(place.kernels for place in self.places)

    @cached_property
    def homes(self) -> Mapping[str, int]:
        """The number of the place of each rule."""
        return {name: number for number, place in enumerate(self.places) for name in place.rules}

    def with_rules(self, plans: Sequence[RulePlan], types: Mapping[str, EventType]) -> Layout:
        """The layout with those rules that are not in it yet; `plans` are all, in the order of deployment.

        Raises `DoesNotFit` if a new rule would need events in another place than where they are.
        """
        arranger = _Arranger(self, plans, types)
        arranger.arrange()
        return Layout(self.threads, arranger.places())

    def without(self, name: str, plans: Iterable[RulePlan]) -> Layout:
        """The layout without a rule; `plans` are those of the rules that are left."""
        number = self.homes[name]
        place = self.places[number]
        rules = tuple(rule for rule in place.rules if rule != name)
        key = place.key
        if key is not None:
            used = {type_ for plan in plans if plan.name in rules for type_ in plan.horizon}
            key = {type_: attribute for type_, attribute in key.items() if type_ in used}
        return replace(self, places=_put(self.places, number, replace(place, rules=rules, key=key)))


def _put(places: Sequence[PlaceLayout], number: int, place: PlaceLayout) -> tuple[PlaceLayout, ...]:
    return (*places[:number], place, *places[number + 1 :])


@dataclass
class _Open:
    """A place that rules are being added to."""

    rules: list[str]
    key: dict[str, str] | None
    kernels: int
    timers: bool


class _Arranger:
    """Finds a place for each rule that has none."""

    def __init__(self, layout: Layout, plans: Sequence[RulePlan], types: Mapping[str, EventType]) -> None:
        self._threads = layout.threads
        self._plans = plans
        self._types = types
        self._homes = layout.homes
        self._places = [
            _Open(
                list(place.rules), None if place.key is None else dict(place.key), place.kernels, place.timers
            )
            for place in layout.places
        ]

    def places(self) -> tuple[PlaceLayout, ...]:
        """The places as they are by now."""
        order = {plan.name: position for position, plan in enumerate(self._plans)}
        return tuple(
            PlaceLayout(
                tuple(sorted(place.rules, key=order.__getitem__)), place.key, place.kernels, place.timers
            )
            for place in self._places
        )

    def arrange(self) -> None:
        """Put every rule somewhere."""
        if self._threads == 1:
            self._places[0].rules += [plan.name for plan in self._plans if plan.name not in self._homes]
            return
        free: list[RulePlan] = []
        for numbers in combine(self._plans).groups:
            group = [self._plans[number] for number in numbers]
            new = [rule for rule in group if rule.name not in self._homes]
            if new and len(new) < len(group):
                self._join(group, new)
            elif new and not self._settle(group):
                free += group
        self._divide(free)

    # Rules that use what others make, or make what others use

    def _join(self, group: Sequence[RulePlan], new: Sequence[RulePlan]) -> None:
        """Let rules go to the place of those that they pass events to or get them from."""
        homes = {self._homes[rule.name] for rule in group if rule.name in self._homes}
        if len(homes) > 1:
            raise self._misfit(new, "the rules that would pass events to each other run apart")
        place = self._places[homes.pop()]
        timed = any(rule.trigger is not None for rule in new)
        if place.key is None:
            if timed and not place.timers:
                raise self._misfit(new, "timers and deadlines run apart from the rules that it builds on")
        elif timed:
            raise self._misfit(new, "the events of the rules that it builds on are divided by a key")
        else:
            found = find_key(group, place.key)
            if found.attributes is None:
                raise self._misfit(new, found.obstacle)
            place.key.update(found.attributes)
        place.rules += [rule.name for rule in new]

    def _misfit(self, new: Sequence[RulePlan], reason: str) -> DoesNotFit:
        names = listing([rule.name for rule in new])
        return DoesNotFit(
            f"{names} can't be added to an engine that runs with threads={self._threads}: {reason}; "
            "make the engine with threads=1, or with all the rules at once"
        )

    # Rules that have nothing to do with those that are there

    def _settle(self, group: Sequence[RulePlan]) -> bool:
        """Put rules where their kind is; False if there is no such place."""
        names = [rule.name for rule in group]
        if any(rule.trigger is not None for rule in group):
            next(place for place in self._places if place.timers).rules += names
            return True
        for place in self._places:
            if place.key is not None:
                found = find_key(group, place.key)
                if found.attributes is not None:
                    place.rules += names
                    place.key.update(found.attributes)
                    return True
        return False

    def _divide(self, free: Sequence[RulePlan]) -> None:
        """Make places for rules: one for each key, the others as even as may be."""
        units = shard(combine(free), self._types).units
        for unit in sorted(units, key=lambda unit: unit.stateless):
            names = [free[number].name for number in unit.rules]
            divided = [place for place in self._places if place.key is not None]
            if unit.stateless and divided:
                divided[0].rules += names
            elif unit.key is not None:
                key = {type_: attribute.name for type_, attribute in unit.key.items()}
                self._places.append(_Open(names, key, self._threads, timers=False))
        undivided = [place for place in self._places if place.key is None]
        for unit in sorted(units, key=lambda unit: -len(unit.rules)):
            if unit.key is None:
                least = min(undivided, key=lambda place: len(place.rules))
                if least.rules and len(undivided) < self._threads:
                    least = _Open([], None, 1, timers=False)
                    undivided.append(least)
                    self._places.append(least)
                least.rules += [free[number].name for number in unit.rules]
