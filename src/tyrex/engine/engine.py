"""The engine in the process: rules in, events in, composite events out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from tyrex import _kernel
from tyrex.engine.deploy import UNKNOWN, Deployment
from tyrex.engine.detections import Composite, Detections, Names
from tyrex.engine.encode import Encoded, Encoder, as_table, event_of, events_of
from tyrex.engine.provenance import Provenance, why
from tyrex.engine.snapshot import RuleRecord, Snapshot, SnapshotError
from tyrex.engine.why_not import WhyNot, why_not
from tyrex.engine.zones import offsets
from tyrex.events import Event, Value, to_microseconds
from tyrex.rules import RuleSet, parse
from tyrex.tesla.checked import CheckedRules
from tyrex.tesla.diagnostics import did_you_mean, listing
from tyrex.tesla.durations import parse_duration
from tyrex.tesla.types import TIMER

if TYPE_CHECKING:
    import pyarrow as pa

Moment: TypeAlias = int | float | str | datetime | Decimal
"""A point in time: seconds since the epoch, ISO 8601 text, or a datetime."""
Span: TypeAlias = int | float | str | timedelta
"""A length of time: seconds, text such as "5 min", or a timedelta."""


@dataclass(frozen=True)
class RuleStats:
    """What a rule has done."""

    evaluated: int
    """How often its terminator came."""
    fired: int
    """How many composite events it made."""


@dataclass(frozen=True)
class TypeStats:
    """What is known of a type of events."""

    arrived: int
    stored: int


@dataclass(frozen=True)
class Stats:
    """Counts of an engine since it was made."""

    rules: Mapping[str, RuleStats]
    types: Mapping[str, TypeStats]
    stored: int
    """Events that some window may still reach."""
    bytes: int
    """About how much memory they take."""
    late: int
    unused: int
    """Events of types that no rule knows."""
    waiting: int
    """Events that wait for the watermark."""
    open_deadlines: int
    overflows: int
    """Values that became null because they did not fit into 64 bits."""


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


def _change_case(text: str, upper: bool) -> str:
    return text.upper() if upper else text.lower()


class Engine:
    """Detects the composite events of rules in a stream of events.

    >>> engine = Engine('''
    ... event Temp(area: string, value: float)
    ... define Hot(area: string) from Temp(value > 45) where area = Temp.area
    ... ''')
    >>> [str(event) for event in engine.send("Temp", timestamp=10, area="A1", value=50.5)]
    ['Hot@10(area="A1")']
    """

    def __init__(self, rules: RuleSet | str, *, delay: Span = 0, time_zone: str = "UTC") -> None:
        self._kernel = _kernel.Kernel.create()
        self._kernel.set_casing(_change_case)
        self._kernel.set_zone(*offsets(time_zone))
        self._kernel.delay = microseconds(delay)
        self.time_zone = time_zone
        self._deployment = Deployment(self._kernel)
        self._callbacks: dict[int, Callable[[Event], object]] = {}
        self._next_subscription = 1
        self._deploy(parse(rules) if isinstance(rules, str) else rules)

    # Rules

    @property
    def rules(self) -> RuleSet:
        """The deployed rules."""
        return self._rules

    def deploy(self, text: str) -> list[str]:
        """Add the rules of a text; their names. They see what comes from now on; the others go on as before."""
        before = {rule.name for rule in self._rules}
        self._deploy(parse(text, known=self._rules))
        return [rule.name for rule in self._rules if rule.name not in before]

    def _deploy(self, rules: RuleSet, moments: Sequence[int] | None = None) -> None:
        self._rules = rules
        deployment = self._deployment
        deployment.add_types(rules.types)
        plans = [rule.plan for rule in rules if rule.name not in deployment.rules]
        deployment.add(plans, moments or [self._kernel.sequence] * len(plans))
        numbers = {name: deployment.type_number(name) for name in rules.types}
        self._encoder = Encoder(rules.types, numbers, deployment.type_number(UNKNOWN.name))
        self._names = Names(
            [deployment.types[name] for name in deployment.type_names],
            [deployed.plan.name for deployed in deployment.by_number],
        )

    def undeploy(self, name: str) -> None:
        """Take a rule away; refused while other rules use what it makes."""
        self._known(name)
        users = self._deployment.users_of(name)
        if users:
            made = self._deployment.rules[name].plan.defines.name
            raise RuleInUse(
                f"rule `{name}` defines `{made}`, which {listing(users)} look{'s' if len(users) == 1 else ''} at; "
                "undeploy that first"
            )
        self._deployment.remove(name)
        self._rules = self._rules.without(name)

    def pause(self, name: str) -> None:
        """Let a rule make nothing until it is resumed; its windows go on filling."""
        self._known(name)
        self._kernel.set_paused(self._deployment.rules[name].number, True)

    def resume(self, name: str) -> None:
        """Let a paused rule go on."""
        self._known(name)
        self._kernel.set_paused(self._deployment.rules[name].number, False)

    def _known(self, name: str) -> None:
        if name not in self._deployment.rules:
            near = did_you_mean(name, self._deployment.rules)
            raise UnknownRule(f"there is no rule `{name}`" + (f"; {near}" if near else ""))

    # Subscriptions

    def subscribe(self, filter: str, callback: Callable[[Event], object]) -> int:
        """Call back with each event that a TESLA filter lets through, after the call that brought it.

        The filter is written `Fire(area = "A1")` or `Subscribe(Fire, area = "A1")`; the number that is given
        back ends the subscription.
        """
        checked = self._rules.subscription(filter)
        number = self._next_subscription
        self._next_subscription += 1
        self._deployment.subscribe(number, checked)
        self._callbacks[number] = callback
        return number

    def unsubscribe(self, number: int) -> None:
        """End a subscription."""
        if number not in self._callbacks:
            raise UnknownSubscription(f"there is no subscription {number}")
        self._deployment.unsubscribe(number)
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
        number, values = self._encoder.one(event)
        result = _kernel.send_one(self._kernel, number, event.timestamp, values, id)
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
        if (
            isinstance(events, Iterable)
            and not hasattr(events, "column_names")
            and not hasattr(events, "schema")
        ):
            objects = [e if isinstance(e, Event) else event_of(e) for e in events]
            encoded = self._encoder.events(objects)
            result = self._send(encoded)
            return self._detected(result, [objects[number] for number in result.late()])
        table = as_table(events)
        if table is not None:
            result = self._send(self._encoder.arrow(table, places))
            late = result.late()
            return self._detected(result, events_of(table.take(late)) if late else ())
        objects = [
            e if isinstance(e, Event) else event_of(e)
            for e in cast(Iterable[Event | Mapping[str, Any]], events)
        ]
        result = self._send(self._encoder.events(objects))
        return self._detected(result, [objects[number] for number in result.late()])

    def _send(self, encoded: Encoded) -> _kernel.Result:
        return _kernel.send_input(
            self._kernel,
            encoded.columns,
            encoded.times,
            encoded.ids,
            encoded.blocks,
            *encoded.order,
            encoded.table,
        )

    def _detected(self, result: _kernel.Result, late: Iterable[Event] = ()) -> Detections:
        detections = Detections(result, self._names, tuple(late))
        if self._callbacks:
            self._call_back(detections)
        return detections

    # Time

    def advance(self, time: Moment) -> Detections:
        """Let time pass: no event before this moment is to come."""
        return self._detected(_kernel.advance(self._kernel, to_microseconds(time)))

    def flush(self, until: Moment | None = None) -> Detections:
        """Process what waits, and fire what is due at the last timestamp seen, or until a later moment."""
        moment = None if until is None else to_microseconds(until)
        return self._detected(_kernel.flush(self._kernel, moment))

    # State

    def snapshot(self) -> bytes:
        """The whole state: an engine restored from it goes on as this one would, to the event.

        Subscriptions are not in it, as their callbacks are not data.
        """
        deployment = self._deployment
        numbers = [deployed.number for deployed in deployment.rules.values()]
        return Snapshot(
            self.time_zone,
            self._kernel.delay,
            [deployment.types[name] for name in deployment.type_names],
            [
                RuleRecord(name, self._rules[name].canonical_text, deployed.moment)
                for name, deployed in deployment.rules.items()
            ],
            _kernel.save(self._kernel, numbers, deployment.lists_in_order()),
        ).to_bytes()

    @classmethod
    def restore(cls, data: bytes) -> Engine:
        """The engine that a snapshot was taken of; `SnapshotError` if it can't be read."""
        snapshot = Snapshot.from_bytes(data)
        engine = cls("", delay=timedelta(microseconds=snapshot.delay), time_zone=snapshot.time_zone)
        types = {type_.name: type_ for type_ in snapshot.types}
        known = RuleSet(CheckedRules((), {n: t for n, t in types.items() if n != UNKNOWN.name}))
        engine._deployment.add_types(types)
        rules = parse("\n".join(record.text for record in snapshot.rules), known=known)
        engine._deploy(rules, [record.moment for record in snapshot.rules])
        deployment = engine._deployment
        numbers = [deployed.number for deployed in deployment.rules.values()]
        try:
            _kernel.load(engine._kernel, snapshot.state, numbers, deployment.lists_in_order())
        except ValueError as error:
            raise SnapshotError(f"{error}: take an earlier snapshot") from None
        return engine

    # Explanations

    def why(self, event: Event | str, *, known: Iterable[Detections] = ()) -> Provenance:
        """What a composite event, or the one of an id, was made of, as a tree.

        Parts that are composite themselves are looked for in the detections of the same call, in `known`, and in
        what is stored.
        """
        return why(self, event, known)

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

    def stats(self) -> Stats:
        """Counts per rule and per type, and what the engine holds."""
        kernel, deployment = self._kernel, self._deployment
        types = {
            name: TypeStats(*kernel.type_counts(deployment.type_number(name)))
            for name in deployment.type_names
            if name in self._rules.types and name != TIMER.name
        }
        return Stats(
            rules={
                name: RuleStats(*kernel.rule_counts(rule.number)) for name, rule in deployment.rules.items()
            },
            types=types,
            stored=sum(type_.stored for type_ in types.values()),
            bytes=kernel.bytes,
            late=kernel.late,
            unused=kernel.type_counts(deployment.type_number(UNKNOWN.name))[0],
            waiting=kernel.waiting,
            open_deadlines=kernel.open_deadlines,
            overflows=kernel.overflows,
        )


def microseconds(span: Span) -> int:
    """The microseconds in a length of time."""
    if isinstance(span, timedelta):
        return span // timedelta(microseconds=1)
    if isinstance(span, str):
        return parse_duration(span)
    return to_microseconds(span)
