"""Why a composite event is there: the events it was made of, and what those were made of in turn.

An engine remembers nothing for this. What an event was made of stands with the detections that hold it; where
those are gone, the rule is evaluated once more over what is still stored, and as the id of a composite event is
a hash of the ids of its events, the engine can tell whether it has found the right ones.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tyrex.engine.detections import Composite, Detections
from tyrex.engine.matching import Matcher, Tuple
from tyrex.engine.stored import Occurrence, Stored
from tyrex.engine.terminators import consumption, given_at
from tyrex.events import Event, Value, composite_id, format_timestamp

if TYPE_CHECKING:
    from tyrex.engine.deploy import Deployed
    from tyrex.engine.engine import Engine
    from tyrex.engine.places import Places

_MADE_BY_A_RULE = 2  # the kernel's Origin::Rule
_DEEPEST = 100


class UnknownEvent(KeyError):
    """The engine does not know this event, or not any more."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class Provenance:
    """An event, and the events that it was made of.

    Printed, it is a tree; `to_dict` is the same for JSON.
    """

    event: Event
    role: str | None = None
    """What it is called in the rule that used it; None at the root."""
    parts: tuple[Provenance, ...] = ()
    """In the order of the pattern, the terminator first; empty for an event from outside."""
    note: str = ""
    """Why there are no parts though a rule made it, or how they were found."""

    @property
    def rule(self) -> str | None:
        """The rule that made the event."""
        return self.event.rule

    def walk(self) -> Iterator[Provenance]:
        """This event and all that it was made of, from the top."""
        yield self
        for part in self.parts:
            yield from part.walk()

    def __str__(self) -> str:
        return "\n".join(draw_tree(self.branch()))

    def branch(self) -> Branch:
        """It as a part of a drawn tree."""
        # A name that is the type says nothing new.
        role = "" if self.role in (None, self.event.type) else f"{self.role}: "
        made = "" if self.rule is None else f"  by rule {self.rule}"
        note = f"  ({self.note})" if self.note else ""
        return Branch(f"{role}{self.event}{made}{note}", tuple(part.branch() for part in self.parts))

    def to_dict(self) -> dict[str, Any]:
        """The tree as JSON has it."""
        event = self.event
        record: dict[str, Any] = {
            "type": event.type,
            "timestamp": format_timestamp(event.timestamp),
            "attributes": {name: as_json(value) for name, value in event.attributes.items()},
            "id": event.id,
        }
        if self.role is not None:
            record["role"] = self.role
        if self.rule is not None:
            record["rule"] = self.rule
            record["parts"] = [part.to_dict() for part in self.parts]
        if self.note:
            record["note"] = self.note
        return record


@dataclass(frozen=True)
class Branch:
    """A line of a drawn tree, and what hangs below it."""

    text: str
    below: Sequence[Branch] = ()


def draw_tree(branch: Branch) -> list[str]:
    """The lines of a tree."""
    lines = [branch.text]
    for number, child in enumerate(branch.below):
        last = number == len(branch.below) - 1
        first, *rest = draw_tree(child)
        lines.append(("└─ " if last else "├─ ") + first)
        lines += [("   " if last else "│  ") + line for line in rest]
    return lines


def as_json(value: Value) -> Value:
    """A value as JSON has it: infinite numbers are texts."""
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


# --- Finding it -------------------------------------------------------------------------------------------------


def why(engine: Engine, event: Event | str, known: Iterable[Detections] = ()) -> Provenance:
    """What a composite event, or the one of an id, was made of."""
    finder = Finder.over(engine, known)
    if isinstance(event, Composite):
        return finder.of_detection(event._detections, event._number)
    if isinstance(event, Event) and event.rule is None:
        found = None if event.id is None else finder.find(event.id, event.type, event.timestamp)
        return found or Provenance(event, note="no rule made it")
    id_ = event if isinstance(event, str) else event.id
    found = None
    if id_ is not None:
        type_, time = (None, None) if isinstance(event, str) else (event.type, event.timestamp)
        found = finder.find(id_, type_, time)
    if found is None and isinstance(event, Event):
        found = finder.look_alike(event)
    if found is None:
        raise UnknownEvent(
            f"the engine does not know how {event} was made: what it was made of is not stored any more; "
            "keep the detections that hold it, and give them as `known`"
        )
    return found


@dataclass
class Finder:
    """Looks for what events were made of: in detections, then in what is stored."""

    places: Places
    stores: Sequence[Stored]
    """What each place stores."""
    known: list[Detections]
    _rebuilt: dict[int, list[Provenance]] = field(default_factory=dict)

    @staticmethod
    def over(engine: Engine, known: Iterable[Detections] = ()) -> Finder:
        """A finder for all that an engine stores."""
        places = engine._places
        return Finder(places, [Stored(place, engine.time_zone) for place in places.all], list(known))

    def store_of(self, deployed: Deployed) -> Stored:
        """What is stored where a rule is."""
        return self.stores[self.places.layout.homes[deployed.plan.name]]

    def find(self, id_: str, type_: str | None, time: int | None, depth: int = 0) -> Provenance | None:
        """The composite event of an id."""
        for detections in self.known:
            number = _number_of(detections, id_, type_, time)
            if number is not None:
                return self.of_detection(detections, number, depth)
        times = self._moments() if time is None else [time]
        for moment in times:
            for made in self.made_at(moment):
                if made.event.id == id_ and type_ in (None, made.event.type):
                    return made
        return None

    def look_alike(self, event: Event) -> Provenance | None:
        """A composite event that is equal but for its id, which the ids of its events would have to be known for."""
        found = [
            made
            for made in self.made_at(event.timestamp)
            if (made.event.type, made.rule, made.event.attributes)
            == (event.type, event.rule, dict(event.attributes))
        ]
        if not found:
            return None
        several = f", one of {len(found)} equal ones" if len(found) > 1 else ""
        note = f"found again in what is stored, without the ids{several}"
        parts = tuple(without_ids(part) for part in found[0].parts)
        return replace(found[0], event=event, parts=parts, note=note)

    # In detections

    def of_detection(self, detections: Detections, number: int, depth: int = 0) -> Provenance:
        """A composite event of a call, with its parts."""
        if not any(detections is other for other in self.known):
            self.known.insert(0, detections)
        composite = detections[number]
        event = Event(composite.type, composite.timestamp, composite.attributes, composite.id, composite.rule)
        _, rule, _ = detections.result.head(number)
        roles = [state.name for state in self.places.by_order[rule].plan.states]
        origins = [origin for *_, origin in detections.result.lineage(number)]
        parts = [
            self._part(part, role, origin == _MADE_BY_A_RULE, depth + 1)
            for part, role, origin in zip(detections.lineage(number), roles, origins, strict=True)
        ]
        return Provenance(event, parts=tuple(parts))

    def _part(self, event: Event, role: str, made_by_a_rule: bool, depth: int) -> Provenance:
        if not made_by_a_rule:
            return Provenance(event, role)
        if depth >= _DEEPEST:
            return Provenance(event, role, note="not followed any further")
        assert event.id is not None
        found = self.find(event.id, event.type, event.timestamp, depth)
        if found is None:
            return Provenance(event, role, note="made by a rule; what it was made of is not stored any more")
        return replace(found, role=role)

    # In what is stored

    def made_at(self, time: int) -> list[Provenance]:
        """The composite events that the rules make of the stored events of a moment."""
        if time not in self._rebuilt:
            self._rebuilt[time] = []  # an event of this moment may be made of another one of it
            for deployed in self.places.rules.values():
                stored = self.store_of(deployed)
                for given in given_at(stored, deployed, time):
                    taken = consumption(stored, deployed, given[0].sequence)
                    matcher = Matcher(stored, deployed, taken.by)
                    if given[-1].sequence < deployed.moment or matcher.failing(given) is not None:
                        continue
                    consumed = any(occurrence.sequence in taken.by for occurrence in given[1:])
                    matches = [] if consumed else matcher.matches(given)
                    self._rebuilt[time] += [self.rebuild(matcher, match) for match in matches]
        return self._rebuilt[time]

    def rebuild(self, matcher: Matcher, match: Tuple) -> Provenance:
        """The composite event of a match, as far as it can be known from what is stored."""
        event = matcher.compose(match)
        names = matcher.deployed.plan.names
        parts = tuple(
            self._stored_part(matcher.stored, occurrence, name)
            for occurrence, name in zip(match, names, strict=True)
        )
        ids = [part.event.id for part in parts]
        known = [id_ for id_ in ids if id_ is not None]
        id_ = composite_id(matcher.deployed.plan.name, known) if len(known) == len(ids) else None
        return Provenance(replace(event, id=id_), parts=parts)

    def _stored_part(self, stored: Stored, occurrence: Occurrence, role: str) -> Provenance:
        event = occurrence.event
        if not any(d.plan.defines.name == event.type for d in self.places.rules.values()):
            return Provenance(replace(event, id=stored.content_id(occurrence)), role)
        alike = [o for o in stored.of(event.type).at(event.timestamp) if o.event == event]
        made = [
            m
            for m in self.made_at(event.timestamp)
            if m.event.type == event.type and m.event.attributes == event.attributes
        ]
        if len(made) == len(alike):
            return replace(made[alike.index(occurrence)], role=role)
        return Provenance(event, role, note="made by a rule; what it was made of is not stored any more")

    def _moments(self) -> list[int]:
        """Every moment of which something is stored."""
        return sorted(
            {
                time
                for stored in self.stores
                for name in stored.deployment.type_names
                for time in stored.of(name).times
            }
        )


def _number_of(detections: Detections, id_: str, type_: str | None, time: int | None) -> int | None:
    """The number of a composite event among detections; its type and time spare most of the comparisons."""
    result = detections.result
    numbers = range(len(detections))
    if time is not None:  # they are in order of time
        start = bisect_left(numbers, time, key=lambda number: result.head(number)[2])
        numbers = numbers[start : bisect_right(numbers, time, key=lambda number: result.head(number)[2])]
    for number in numbers:
        made = detections.names.types[result.head(number)[0]].name
        if type_ in (None, made) and result.id(number) == id_:
            return number
    return None


def without_ids(provenance: Provenance) -> Provenance:
    """The same where it is not known whether the sources gave ids."""
    parts = tuple(map(without_ids, provenance.parts))
    return replace(provenance, event=replace(provenance.event, id=None), parts=parts)
