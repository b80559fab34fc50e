"""What the engine still stores, as events: the ground on which explanations stand.

Nothing of it is kept between two explanations: it is read from the kernels of a place when somebody asks. Kernels
that divide the events of a stream give each its place in the one order of all, so they can be put together.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from tyrex.events import FIRST_TIMESTAMP, LAST_TIMESTAMP, Event, Identities, Value, timer_id
from tyrex.tesla.durations import DAY
from tyrex.tesla.types import TIMER

if TYPE_CHECKING:
    from tyrex._kernel import Kernel
    from tyrex.engine.deploy import Deployed, Deployment
    from tyrex.engine.places import Place

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, eq=False)
class Occurrence:
    """An event at its place in the total order; a timer that is not stored may stand between two places."""

    event: Event
    sequence: float

    @property
    def time(self) -> int:
        """Its timestamp."""
        return self.event.timestamp


@dataclass(frozen=True)
class Events:
    """The stored events of one type, in order."""

    all: Sequence[Occurrence]
    since: int | None
    """Every event from this time on is there; None if none was ever forgotten."""
    arrived: int
    """How many came, those among them that no rule asked for."""

    @cached_property
    def sequences(self) -> list[float]:
        """Their places in the total order."""
        return [occurrence.sequence for occurrence in self.all]

    @cached_property
    def times(self) -> list[int]:
        """Their timestamps."""
        return [occurrence.time for occurrence in self.all]

    def at(self, time: int) -> Sequence[Occurrence]:
        """Those of one moment."""
        return self.all[bisect_left(self.times, time) : bisect_right(self.times, time)]

    def between(self, start: int, after: float, before: float, *, ends: bool = False) -> Sequence[Occurrence]:
        """Those not older than `start`, behind one place in the order and before another; or at these, too."""
        low, high = (bisect_left, bisect_right) if ends else (bisect_right, bisect_left)
        begin = max(bisect_left(self.times, start), low(self.sequences, after))
        return self.all[begin : high(self.sequences, before)]


@dataclass
class Stored:
    """All that a place stores, read type by type as it is asked for."""

    place: Place
    time_zone: str
    _events: dict[str, Events] = field(default_factory=dict)

    @property
    def deployment(self) -> Deployment:
        """The rules of the place."""
        return self.place.deployment

    @property
    def kernel(self) -> Kernel:
        """A kernel, for what all of them agree on."""
        return self.place.kernel

    def rule_counts(self, deployed: Deployed) -> tuple[int, int]:
        """How often a rule was evaluated, and how many composite events it made."""
        return self.place.rule_counts(deployed)

    @property
    def now(self) -> int | None:
        """The greatest timestamp seen; None before the first event."""
        return self.kernel.now

    def of(self, type_name: str) -> Events:
        """The stored events of a type."""
        if type_name not in self._events:
            self._events[type_name] = self._read(type_name)
        return self._events[type_name]

    def _read(self, type_name: str) -> Events:
        number = self.deployment.type_number(type_name)
        names = [attribute.name for attribute in self.deployment.types[type_name].attributes]
        kernels = self.place.kernels
        shares = [kernel.stored(number) for kernel in kernels]
        rows = sorted(chain.from_iterable(shares), key=itemgetter(0))
        events = [
            Occurrence(Event(type_name, time, dict(zip(names, values, strict=True))), sequence)
            for sequence, time, values in rows
        ]
        arrived = self.place.arrived(number)
        since: int | None = None
        old = (self.now or 0) - self.horizon(type_name)
        for kernel, share in zip(kernels, shares, strict=True):
            if kernel.type_counts(number)[3]:
                # What left was older than the horizon, and not younger than what is there.
                left = min(old, share[0][1]) if share else old
                since = left if since is None else max(since, left)
        if not rows and (arrived or type_name == TIMER.name):
            since = old
        return Events(events, since, arrived)

    def horizon(self, type_name: str) -> int:
        """How long events of a type are kept."""
        plans = (deployed.plan for deployed in self.deployment.rules.values())
        return max((plan.horizon.get(type_name, 0) for plan in plans), default=0)

    def has_begun(self, instant: int) -> bool:
        """Whether something is stored that came until an instant: time begins with the first event."""
        return any(
            events.times[0] <= instant for name in self.deployment.type_names if (events := self.of(name)).all
        )

    def has_passed(self, instant: int) -> bool:
        """Whether timers of this instant have fired, or would have."""
        if self.now is None:
            return False
        timers = self.of(TIMER.name).all
        return instant < self.now - self.kernel.delay or bool(timers and timers[-1].time >= instant)

    def place_after(self, instant: int) -> float:
        """A place in the order behind everything of an instant."""
        later = [
            events.sequences[at]
            for name in self.deployment.type_names
            if (at := bisect_right((events := self.of(name)).times, instant)) < len(events.all)
        ]
        return min(later, default=max(kernel.sequence for kernel in self.place.kernels)) - 0.5

    def timer(self, instant: int) -> Event:
        """The timer event of an instant."""
        return Event(TIMER.name, instant, _timer_fields(instant, ZoneInfo(self.time_zone)))

    def content_id(self, occurrence: Occurrence) -> str:
        """The id of an event from outside if its source gave none."""
        event = occurrence.event
        if event.type == TIMER.name:
            return timer_id(event.timestamp)
        identities = Identities()
        for other in self.of(event.type).at(event.timestamp):
            if other is occurrence:
                break
            identities(other.event)
        return identities(event)


def _timer_fields(instant: int, zone: ZoneInfo) -> dict[str, Value]:
    """The local time at an instant; null beyond the end of the calendar."""
    names = [attribute.name for attribute in TIMER.attributes]
    if not FIRST_TIMESTAMP + DAY < instant < LAST_TIMESTAMP - DAY:
        return dict.fromkeys(names)
    local = (_EPOCH + timedelta(microseconds=instant)).astimezone(zone)
    values = (
        local.second,
        local.minute,
        local.hour,
        local.isoweekday(),
        local.day,
        local.month,
        local.year,
    )
    return dict(zip(names, values, strict=True))
