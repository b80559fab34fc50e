"""The engine in the process: rules in, events in, composite events out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import wraps
from threading import RLock
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeAlias, TypeVar, cast

from tyrex.engine.deploy import UNKNOWN
from tyrex.engine.detections import Composite, Detections, Names
from tyrex.engine.encode import Columns, Encoded, Encoder, as_table, events_in, events_of
from tyrex.engine.layout import Layout
from tyrex.engine.places import Places
from tyrex.engine.provenance import Provenance, why
from tyrex.engine.snapshot import RuleRecord, Snapshot, SnapshotError
from tyrex.engine.stats import Stats, stats_of
from tyrex.engine.why_not import WhyNot, why_not
from tyrex.events import FIRST_TIMESTAMP, LAST_TIMESTAMP, Event, Value, to_microseconds
from tyrex.rules import RuleSet, parse
from tyrex.tesla.checked import CheckedRules
from tyrex.tesla.diagnostics import did_you_mean, listing
from tyrex.tesla.durations import parse_duration
from tyrex.tesla.types import EventType

if TYPE_CHECKING:
    import pyarrow as pa

    from tyrex._kernel import Result

Moment: TypeAlias = int | float | str | datetime | Decimal
"""A point in time: seconds since the epoch, ISO 8601 text, or a datetime."""
Span: TypeAlias = int | float | str | timedelta
"""A length of time: seconds, text such as "5 min", or a timedelta."""


class RuleInUse(ValueError):
    """A rule can't be taken away, as others build on it."""


class UnknownRule(KeyError):
    """There is no rule of this name."""

    def __str__(self) -> str:
        return str(self.args[0])


class UnknownSubscription(KeyError):
    """There is no subscription of this number."""

    def __str__(self) -> str:
        return str(self.args[0])


P = ParamSpec("P")
T = TypeVar("T")


def _alone(method: Callable[Concatenate[Engine, P], T]) -> Callable[Concatenate[Engine, P], T]:
    """A method of an engine that waits until no other thread is in it."""

    @wraps(method)
    def alone(self: Engine, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._lock:
            return method(self, *args, **kwargs)

    return alone


class Engine:
    """Detects the composite events of rules in a stream of events.

    >>> engine = Engine('''
    ... event Temp(area: string, value: float)
    ... define Hot(area: string) from Temp(value > 45) where area = Temp.area
    ... ''')
    >>> [str(event) for event in engine.send("Temp", timestamp=10, area="A1", value=50.5)]
    ['Hot@10(area="A1")']
    """

    def __init__(
        self, rules: RuleSet | str, *, delay: Span = 0, time_zone: str = "UTC", threads: int = 1
    ) -> None:
        """An engine for these rules.

        Events may come so much late as `delay` says. With several `threads`, rules and events are divided among
        them as far as the rules allow; what is detected, and its order, does not change.
        """
        if threads < 1:
            raise ValueError(f"threads must be at least 1, found {threads}")
        held = min(microseconds(delay), LAST_TIMESTAMP - FIRST_TIMESTAMP)  # all of time
        if held < 0:
            raise ValueError(f"the delay must not be negative, found {delay}")
        given = parse(rules) if isinstance(rules, str) else rules
        layout = Layout.empty(threads).with_rules([rule.plan for rule in given], given.types)
        self._set_up(layout, given, held, time_zone)

    def _set_up(
        self,
        layout: Layout,
        rules: RuleSet,
        delay: int,
        time_zone: str,
        *,
        types: Mapping[str, EventType] | None = None,
        moments: Sequence[int] | None = None,
    ) -> None:
        self.delay = delay
        self.time_zone = time_zone
        self.threads = layout.threads
        self._lock = RLock()  # one call after the other, from whichever thread; callbacks run outside of it
        self._places = Places(layout, delay=delay, time_zone=time_zone)
        self._places.add_types(types or {})
        self._callbacks: dict[int, Callable[[Event], object]] = {}
        self._next_subscription = 1
        self._deploy(layout, rules, moments)

    # Rules

    @property
    def rules(self) -> RuleSet:
        """The deployed rules."""
        return self._rules

    @_alone
    def deploy(self, text: str) -> list[str]:
        """Add the rules of a text; their names. They see what comes from now on; the others go on as before."""
        rules = parse(text, known=self._rules)
        known = self._places.rules
        plans = [known[rule.name].plan if rule.name in known else rule.plan for rule in rules]
        new = [plan.name for plan in plans if plan.name not in known]
        self._deploy(self._places.layout.with_rules(plans, rules.types), rules)
        return new

    def _deploy(self, layout: Layout, rules: RuleSet, moments: Sequence[int] | None = None) -> None:
        self._rules = rules
        places = self._places
        places.add_types(rules.types)
        places.deploy(layout, [rule.plan for rule in rules if rule.name not in places.rules], moments)
        numbers = {name: places.type_number(name) for name in rules.types}
        self._encoder = Encoder(rules.types, numbers, places.type_number(UNKNOWN.name))
        self._names = Names(list(places.types.values()), [deployed.plan.name for deployed in places.by_order])

    @_alone
    def undeploy(self, name: str) -> None:
        """Take a rule away; refused while other rules use what it makes."""
        self._known(name)
        deployment = self._places.place_of(name).deployment
        users = deployment.users_of(name)
        if users:
            made = deployment.rules[name].plan.defines.name
            one = len(users) == 1
            raise RuleInUse(
                f"rule `{name}` defines `{made}`, which {'rule' if one else 'rules'} {listing(users)} "
                f"look{'s' if one else ''} at; undeploy {'it' if one else 'them'} first"
            )
        self._places.undeploy(name)
        self._rules = self._rules.without(name)

    @_alone
    def pause(self, name: str) -> None:
        """Let a rule make nothing until it is resumed; its windows go on filling."""
        self._known(name)
        self._places.set_paused(name, True)

    @_alone
    def resume(self, name: str) -> None:
        """Let a paused rule go on."""
        self._known(name)
        self._places.set_paused(name, False)

    def _known(self, name: str) -> None:
        if name not in self._places.rules:
            near = did_you_mean(name, self._places.rules)
            raise UnknownRule(f"there is no rule `{name}`" + (f"; {near}" if near else ""))

    # Subscriptions

    @_alone
    def subscribe(self, filter: str, callback: Callable[[Event], object]) -> int:
        """Call back with each event that a TESLA filter lets through, after the call that brought it.

        The filter is written `Fire(area = "A1")` or `Subscribe(Fire, area = "A1")`; the number that is given
        back ends the subscription.
        """
        checked = self._rules.subscription(filter)
        number = self._next_subscription
        self._next_subscription += 1
        self._places.subscribe(number, checked)
        self._callbacks[number] = callback
        return number

    @_alone
    def unsubscribe(self, number: int) -> None:
        """End a subscription."""
        if number not in self._callbacks:
            raise UnknownSubscription(f"there is no subscription {number}")
        self._places.unsubscribe(number)
        del self._callbacks[number]

    def _call_back(self, detections: Detections) -> None:
        for number, composite, type_, time, values, id_ in detections.result.hits():
            if composite >= 0:
                event: Event = Composite(detections, composite)
            else:
                declared = self._names.types[type_]
                named = {a.name: v for a, v in zip(declared.attributes, values, strict=True)}
                event = Event(declared.name, time, named, id_)
            callback = self._callbacks.get(number)  # one callback may end the subscription of another
            if callback is not None:
                callback(event)

    # Events

    def send(
        self, type: str, /, timestamp: Moment, *, id: str | None = None, **attributes: Value
    ) -> list[Event]:
        """Send one event; the composite events that follow from it."""
        event = Event(type, to_microseconds(timestamp), attributes, id)
        with self._lock:
            number, values = self._encoder.one(event)
            result = self._places.send_one(number, event.timestamp, values, id)
        late = (event,) if result.late() else ()
        return list(self._detected(result, late))

    def send_batch(
        self,
        events: pa.Table | pa.RecordBatch | Iterable[Event | Mapping[str, Any]],
        *,
        places: Mapping[str, Mapping[str, str]] | None = None,
    ) -> Detections:
        """Send many events; the composite events that follow from them.

        A table or record batch of Arrow has the columns `type`, `timestamp` and the attributes, null where a
        type has none of that name, and perhaps `id`; if attributes are in columns of other names, `places` says
        for each type in which. Other events are `Event`s or dicts as in JSON lines.
        """
        table = as_table(events)
        if table is not None:
            with self._lock:
                result = self._send(self._encoder.arrow(table, places))
            late = result.late()
            return self._detected(result, events_of(table.take(late)) if late else ())
        objects = events_in(cast(Iterable[Event | Mapping[str, Any]], events), self._rules.types)
        with self._lock:
            result = self._send(self._encoder.events(objects))
        return self._detected(result, [objects[number] for number in result.late()])

    def send_columns(self, blocks: Sequence[Columns], order: Any) -> Detections:
        """Send many events that stand apart by type; the composite events that follow from them.

        `order` is an array of NumPy, `uint32`: for each event in turn the number of its block. Late events are
        counted, and not given back.
        """
        with self._lock:
            result = self._send(self._encoder.columns(blocks, order))
        return self._detected(result)

    def _send(self, encoded: Encoded) -> Result:
        return self._places.send_input(
            encoded.columns, encoded.times, encoded.ids, encoded.blocks, *encoded.order, encoded.table
        )

    def _detected(self, result: Result, late: Iterable[Event] = ()) -> Detections:
        detections = Detections(result, self._names, tuple(late))
        if self._callbacks:
            self._call_back(detections)
        return detections

    # Time

    def advance(self, time: Moment) -> Detections:
        """Let time pass: no event before this moment is to come."""
        moment = to_microseconds(time)
        with self._lock:
            result = self._places.advance(moment)
        return self._detected(result)

    def flush(self, until: Moment | None = None) -> Detections:
        """Process what waits, and fire what is due at the last timestamp seen, or until a later moment."""
        moment = None if until is None else to_microseconds(until)
        with self._lock:
            result = self._places.flush(moment)
        return self._detected(result)

    # State

    @_alone
    def snapshot(self) -> bytes:
        """The whole state: an engine restored from it goes on as this one would, to the event.

        Subscriptions are not in it, as their callbacks are not data.
        """
        places = self._places
        return Snapshot(
            self.time_zone,
            self.delay,
            list(places.types.values()),
            [
                RuleRecord(name, self._rules[name].canonical_text, deployed.moment, deployed.paused)
                for name, deployed in places.rules.items()
            ],
            places.layout,
            places.save(),
        ).to_bytes()

    @classmethod
    def restore(cls, data: bytes) -> Engine:
        """The engine that a snapshot was taken of; `SnapshotError` if it can't be read."""
        snapshot = Snapshot.from_bytes(data)
        types = {type_.name: type_ for type_ in snapshot.types}
        known = RuleSet(CheckedRules((), {n: t for n, t in types.items() if n != UNKNOWN.name}))
        engine = cls.__new__(cls)
        try:
            rules = parse("\n".join(record.text for record in snapshot.rules), known=known)
            engine._set_up(
                snapshot.layout,
                rules,
                snapshot.delay,
                snapshot.time_zone,
                types=types,
                moments=[record.moment for record in snapshot.rules],
            )
            engine._places.load(snapshot.states)
            for record in snapshot.rules:
                engine._places.set_paused(record.name, record.paused)
        except (ValueError, LookupError, TypeError, OSError) as error:
            raise SnapshotError(f"the snapshot can't be read: {error}; take an earlier one") from None
        return engine

    # Explanations

    @_alone
    def why(self, event: Event | str, *, known: Iterable[Detections] = ()) -> Provenance:
        """What a composite event, or the one of an id, was made of, as a tree.

        Parts that are composite themselves are looked for in the detections of the same call, in `known`, and in
        what is stored.
        """
        return why(self, event, known)

    @_alone
    def why_not(
        self, name: str, /, at: Moment | None = None, terminator: str | None = None, **attributes: Value
    ) -> WhyNot:
        """Why a rule, or the rules that define a type, made nothing at a moment; without one, the last moment seen.

        Of several terminators at that time `terminator`, a filter such as `Smoke(area = "A1")`, or the values of
        attributes say which are meant.
        """
        moment = None if at is None else to_microseconds(at)
        return why_not(self, name, moment, terminator, attributes)

    # What it knows of itself

    @_alone
    def stats(self) -> Stats:
        """Counts per rule and per type, and what the engine holds."""
        return stats_of(self._places)


def microseconds(span: Span) -> int:
    """The microseconds in a length of time."""
    if isinstance(span, timedelta):
        return span // timedelta(microseconds=1)
    if isinstance(span, str):
        return parse_duration(span)
    return to_microseconds(span)
