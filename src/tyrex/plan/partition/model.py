"""What a processor asks of the places that its events come from: partial rules, and who gets which."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from tyrex.plan.partition.text import PartialText
from tyrex.tesla.expressions import Between, Expression, Interval
from tyrex.tesla.syntax import Selection


class Mode(StrEnum):
    """How much is left out."""

    EXACT = "exact"
    """What is sent gives the composite events that all events would give, whatever else arrives."""
    PAPER = "paper"
    """The partial rules of the deployment paper (section 3.4), which prune more than that allows."""


@dataclass(frozen=True, slots=True)
class Site:
    """A place that events come from: a child in the tree, or a processor's own clients; and their types."""

    name: str
    types: frozenset[str]


@dataclass(frozen=True, slots=True)
class Part:
    """An event of a pattern: the first has no selection and no anchor, each other one hangs on one before it."""

    type: str
    selection: Selection | None = None
    anchor: int | None = None
    window: int | None = None
    conditions: tuple[Expression, ...] = ()
    """Speak of this event and of those before it, by their position among the parts."""


@dataclass(frozen=True, slots=True)
class Absence:
    """`not D(..)` in an interval; the conditions are on the candidate."""

    type: str
    conditions: tuple[Expression, ...]
    interval: Interval


@dataclass(frozen=True)
class PartialRule(PartialText):
    """A pattern without a composite event: of each match, some events are sent to the parent.

    Two of them are equal if they ask for the same, whatever their events are called in the rules they are of.
    """

    parts: tuple[Part, ...]
    absences: tuple[Absence, ...]
    sent: tuple[int, ...]
    """Positions among the parts, ascending."""

    @cached_property
    def types(self) -> frozenset[str]:
        """The types that it looks at."""
        return frozenset(part.type for part in self.parts) | {absence.type for absence in self.absences}

    @cached_property
    def sent_types(self) -> frozenset[str]:
        """The types of the events that it sends."""
        return frozenset(self.parts[index].type for index in self.sent)

    @cached_property
    def ages(self) -> tuple[int, ...]:
        """For each part, how much older than the first its event can be."""
        found: list[int] = []
        for part in self.parts:
            found.append(0 if part.anchor is None else found[part.anchor] + (part.window or 0))
        return tuple(found)

    @property
    def hold(self) -> int:
        """How long an event may have been there when it is sent; 0 if all are sent when they come."""
        return max((self.ages[index] for index in self.sent if index), default=0)

    @property
    def holds(self) -> bool:
        """Whether some event is sent only when a later one comes."""
        return any(self.sent)

    @cached_property
    def horizon(self) -> dict[str, int]:
        """For each type, how long its events matter here."""
        found: dict[str, int] = {}
        reaches = [(part.type, age) for part, age in zip(self.parts, self.ages, strict=True)]
        for absence in self.absences:
            if isinstance(absence.interval, Between):
                reaches.append((absence.type, self.ages[absence.interval.earlier]))
            else:
                reaches.append((absence.type, self.ages[absence.interval.anchor] + absence.interval.window))
        for name, reach in reaches:
            found[name] = max(reach, found.get(name, 0))
        return dict(sorted(found.items()))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.parts, self.absences, self.sent))


@dataclass(frozen=True, slots=True)
class Share:
    """What one site is asked for: it sends every event that some of these partial rules sends."""

    site: str
    rules: tuple[PartialRule, ...]


@dataclass(frozen=True, slots=True)
class Partition:
    """How a group of rules, or a set of partial rules, is split over the sites.

    Either the whole group is `delegated` to one site, which makes the composites, or each site gets its share
    and the processor itself evaluates what was given.
    """

    mode: Mode
    delegated: str | None
    shares: tuple[Share, ...]
    """Sites that are asked for something, in the order given."""
    in_order: bool
    """Whether the group has state that is more than a window, so that it must see events in their order:
    then, in exact mode, no share holds anything back."""

    @property
    def holds(self) -> bool:
        """Whether some event may be sent later than at its own time."""
        return any(rule.holds for share in self.shares for rule in share.rules)

    @property
    def hold(self) -> int:
        """How long an event may have been at its site when it is sent."""
        return max((rule.hold for share in self.shares for rule in share.rules), default=0)

    def share(self, site: str) -> tuple[PartialRule, ...]:
        """What a site is asked for."""
        return next((share.rules for share in self.shares if share.site == site), ())
