"""Puts rules into the kernel, and takes them out again: what equal rules have in common is shared.

A *state* is a type with static conditions; the kernel calls it a predicate. The events it admits go on lists,
divided by the attributes that a rule's equalities join on. Rules deployed at the same moment share lists with
equal states and divisions; a rule deployed later has lists of its own, so that it sees nothing older than
itself. A rule that consumes events has its own lists, too: consuming is taking off a list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tyrex._kernel import Kernel
from tyrex.engine.access import Access, choose_access
from tyrex.engine.assemble import TYPE_CODES, Assembler, Program
from tyrex.plan import CalendarTimer, Condition, RulePlan, State
from tyrex.tesla import expressions as e
from tyrex.tesla.checked import CheckedSubscription
from tyrex.tesla.syntax import Policy
from tyrex.tesla.types import TIMER, TIMESTAMP, EventType, Origin, ValueType

MOST_SINGLE_OUTPUTS = 12
AGGREGATIONS = ("Avg", "Sum", "Min", "Max", "Count", "StdDev", "Var", "First", "Last", "CountDistinct")
_SLIDING = frozenset(("Avg", "Sum", "Min", "Max"))
_POLICIES = {Policy.EACH: 0, Policy.FIRST: 1, Policy.LAST: 2}
_COARSENESS = {"S": 0, "M": 1, "H": 2, "D": 3, "Day": 3, "Month": 4, "Year": 5}

UNKNOWN = EventType("?", (), Origin.DECLARED)
"""Stands for every type that no rule knows: such an event moves time on, and nothing else."""

KeyPart: TypeAlias = tuple[int, int, int, int]
"""Event, column, type of that, type of the list's attribute."""


@dataclass
class _Shared:
    """Something in the kernel that several rules may use."""

    number: int
    users: int = 0


@dataclass
class _List:
    """A list in the kernel, and the predicate that fills it."""

    family: int
    slot: int
    predicate: _Key
    key: Hashable
    users: int = 0


_Key: TypeAlias = tuple[str, frozenset[e.Expression]]


@dataclass
class Deployed:
    """A rule in the kernel, and what it uses there."""

    plan: RulePlan
    number: int
    order: int
    moment: int
    lists: list[_List] = field(default_factory=list)
    predicates: list[tuple[_Key, str]] = field(default_factory=list)
    """The predicates that are linked to it, and how."""
    paused: bool = False


class _Needs:
    """How long events of each type are needed, and by how many; and which rules make what is looked at.

    It remembers the types that a change concerns, so that a change costs the same with many rules as with few.
    """

    def __init__(self) -> None:
        self._reaches: dict[str, Counter[int]] = {}
        self._horizons: dict[str, int] = {}
        self._subscribed: Counter[str] = Counter()
        self._makers: dict[str, set[int]] = {}
        self._looked_at: set[str] = set()
        self._changed: set[str] = set()
        self._new: dict[int, str] = {}

    def add(self, deployed: Deployed) -> None:
        """Count a rule in."""
        made = deployed.plan.defines.name
        self._makers.setdefault(made, set()).add(deployed.number)
        self._new[deployed.number] = made
        for name, reach in deployed.plan.horizon.items():
            self._reaches.setdefault(name, Counter())[reach] += 1
            self._changed.add(name)

    def remove(self, deployed: Deployed) -> None:
        """Count a rule out."""
        self._makers[deployed.plan.defines.name].discard(deployed.number)
        for name, reach in deployed.plan.horizon.items():
            self._reaches[name][reach] -= 1
            if not self._reaches[name][reach]:
                del self._reaches[name][reach]
            self._changed.add(name)

    def subscribe(self, type_: str) -> None:
        """Count a subscription in."""
        self._subscribed[type_] += 1
        self._changed.add(type_)

    def unsubscribe(self, type_: str) -> None:
        """Count a subscription out."""
        self._subscribed[type_] -= 1
        self._changed.add(type_)

    def new_horizons(self) -> Iterator[tuple[str, int]]:
        """The types that are needed for longer or shorter than before."""
        for name in sorted(self._changed):
            reach = max(self._reaches.get(name, ()), default=0)
            if self._horizons.get(name, 0) != reach:
                self._horizons[name] = reach
                yield name, reach

    def new_stored(self) -> dict[int, bool]:
        """The rules whose composite events are to be stored, or not any more; after this nothing is new."""
        stored: dict[int, bool] = {}
        for name in self._changed:
            looked_at = bool(self._reaches.get(name)) or self._subscribed[name] > 0
            if looked_at != (name in self._looked_at):
                self._looked_at ^= {name}
                stored |= dict.fromkeys(self._makers.get(name, ()), looked_at)
        stored |= {number: made in self._looked_at for number, made in self._new.items()}
        self._changed.clear()
        self._new.clear()
        return stored


class Deployment:
    """The rules of one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._types: dict[str, EventType] = {}
        self._type_numbers: dict[str, int] = {}
        self._type_names: list[str] = []
        self._predicates: dict[_Key, _Shared] = {}
        self._families: dict[tuple[str, tuple[int, ...], bool], int] = {}
        self._lists: dict[Hashable, _List] = {}
        self._aggregates: dict[tuple[Hashable, ...], int] = {}
        self._sliding: dict[tuple[Hashable, ...], int] = {}
        self._texts: dict[str, int] = {}
        self._needs = _Needs()
        self._subscriptions: dict[int, tuple[_Key, str]] = {}
        self._next_number = 0
        self.rules: dict[str, Deployed] = {}
        self.add_types({TIMER.name: TIMER, UNKNOWN.name: UNKNOWN})
        kernel.set_timer_type(self._type_numbers[TIMER.name])

    # Types

    def add_types(self, types: Mapping[str, EventType]) -> None:
        """Make event types known."""
        for name, type_ in types.items():
            if name not in self._types:
                self._types[name] = type_
                codes = [TYPE_CODES[attribute.type] for attribute in type_.attributes]
                self._type_numbers[name] = self.kernel.add_type(name, codes)
                self._type_names.append(name)

    @property
    def types(self) -> Mapping[str, EventType]:
        """The known event types."""
        return self._types

    def type_number(self, name: str) -> int:
        """The kernel's number of a type."""
        return self._type_numbers[name]

    @property
    def type_names(self) -> Sequence[str]:
        """The names of the types by their numbers."""
        return self._type_names

    # Rules

    def add(self, plans: Sequence[RulePlan], moments: Sequence[int], orders: Sequence[int]) -> None:
        """Deploy rules; the moments tell apart what was deployed before different events.

        The orders are those of all rules of the engine, of which this kernel may have a part.
        """
        for plan, moment, order in zip(plans, moments, orders, strict=True):
            deployed = Deployed(plan, self._next_number, order, moment)
            self._next_number += 1
            _RuleWriter(self, deployed, moment).write()
            self.rules[plan.name] = deployed
            self._needs.add(deployed)
        self._settle()

    def remove(self, name: str) -> None:
        """Take a rule out, and what only it used."""
        deployed = self.rules.pop(name)
        for key, kind in deployed.predicates:
            shared = self._predicates[key]
            self.kernel.link(shared.number, kind, deployed.number, False)
            self._release(key)
        for list_ in deployed.lists:
            list_.users -= 1
            if list_.users == 0:
                shared = self._predicates[list_.predicate]
                self.kernel.disconnect(shared.number, list_.family, list_.slot)
                self.kernel.remove_list(list_.family, list_.slot)
                del self._lists[list_.key]
                self._forget_aggregates(list_)
                self._release(list_.predicate)
        self.kernel.remove_rule(deployed.number)
        self._needs.remove(deployed)
        self._settle()

    def _forget_aggregates(self, list_: _List) -> None:
        """The place of a list may be given to another one."""
        place = (list_.family, list_.slot)
        self._aggregates = {key: n for key, n in self._aggregates.items() if place not in key}
        self._sliding = {key: n for key, n in self._sliding.items() if key[:2] != place}

    def lists_in_order(self) -> list[tuple[int, int]]:
        """The places of all lists, in an order that depends on the rules alone."""
        places = ((list_.family, list_.slot) for d in self.rules.values() for list_ in d.lists)
        return list(dict.fromkeys(places))

    def users_of(self, name: str) -> list[str]:
        """The rules that look at what a rule makes, if no other rule makes it too."""
        made = self.rules[name].plan.defines.name
        if any(d.plan.defines.name == made for n, d in self.rules.items() if n != name):
            return []
        return [n for n, d in self.rules.items() if n != name and made in d.plan.horizon]

    def _settle(self) -> None:
        """Tell the kernel how long events are needed, and which composite events are looked at: what is new of it."""
        for name, reach in self._needs.new_horizons():
            self.kernel.set_horizon(self._type_numbers[name], reach)
        for number, stored in self._needs.new_stored().items():
            self.kernel.set_stored(number, stored)

    # Subscriptions

    def subscribe(self, number: int, subscription: CheckedSubscription) -> None:
        """Let a subscription find its events."""
        conditions = [part for c in subscription.conditions for part in e.conjuncts(_on_candidate(c, 0))]
        assembler = Assembler((subscription.type,), self._types, self.pin, _no_aggregates)
        key = self.predicate(subscription.type, conditions, assembler)
        self.kernel.link(self._predicates[key].number, "subscriptions", number, True)
        self._subscriptions[number] = (key, subscription.type)
        self._needs.subscribe(subscription.type)
        self._settle()

    def unsubscribe(self, number: int) -> None:
        """Forget a subscription."""
        key, type_ = self._subscriptions.pop(number)
        self.kernel.link(self._predicates[key].number, "subscriptions", number, False)
        self._release(key)
        self._needs.unsubscribe(type_)
        self._settle()

    # What is shared

    def predicate(self, type_name: str, conditions: Sequence[e.Expression], assembler: Assembler) -> _Key:
        """The predicate with these static conditions on the candidate; one more user."""
        key = (type_name, frozenset(conditions))
        shared = self._predicates.get(key)
        if shared is None:
            access, rest = choose_access(conditions, type_name, assembler)
            shared = _Shared(self._add_predicate(type_name, access, rest, assembler))
            self._predicates[key] = shared
        shared.users += 1
        return key

    def _add_predicate(
        self, type_name: str, access: Access, rest: Sequence[e.Expression], assembler: Assembler
    ) -> int:
        programs = [assembler.program(condition, type_name) for condition in rest]
        return self.kernel.add_predicate(
            self._type_numbers[type_name], access.kind, access.column, access.bits, access.strict, programs
        )

    def predicate_number(self, key: _Key) -> int:
        """The kernel's number of a predicate."""
        return self._predicates[key].number

    def _release(self, key: _Key) -> None:
        shared = self._predicates[key]
        shared.users -= 1
        if shared.users == 0:
            self.kernel.remove_predicate(self._type_numbers[key[0]], shared.number)
            del self._predicates[key]

    def family(self, type_name: str, columns: tuple[int, ...], latest_only: bool) -> int:
        """The family of lists on a type that are divided by these columns."""
        key = (type_name, columns, latest_only)
        if key not in self._families:
            number = self.kernel.add_family(self._type_numbers[type_name], list(columns), latest_only)
            self._families[key] = number
        return self._families[key]

    def list(
        self,
        type_name: str,
        conditions: Sequence[e.Expression],
        columns: tuple[int, ...],
        scope: Hashable,
        latest_only: bool,
        assembler: Assembler,
    ) -> _List:
        """The list of the events that fulfil static conditions, divided by columns; one more user."""
        key = (type_name, frozenset(conditions), columns, scope, latest_only)
        found = self._lists.get(key)
        if found is None:
            predicate = self.predicate(type_name, conditions, assembler)
            family = self.family(type_name, columns, latest_only)
            found = _List(family, self.kernel.add_list(family), predicate, key)
            self.kernel.connect(self._predicates[predicate].number, family, found.slot)
            self._lists[key] = found
        found.users += 1
        return found

    def pin(self, text: str) -> int:
        """The kernel's number of a text in a rule; it stays for good, as rules share what it stands in."""
        if text not in self._texts:
            self._texts[text] = self.kernel.pin(text)
        return self._texts[text]

    def aggregate(self, key: tuple[Hashable, ...], spec: dict[str, object]) -> int:
        """The kernel's number of an aggregate; equal ones have one."""
        if key not in self._aggregates:
            self._aggregates[key] = self.kernel.add_aggregate(spec)
        return self._aggregates[key]

    def sliding(self, key: tuple[Hashable, ...], family: int) -> int:
        """The number of a running aggregate in its family."""
        if key not in self._sliding:
            self._sliding[key] = self.kernel.add_sliding(family)
        return self._sliding[key]


class _RuleWriter:
    """Writes one rule for the kernel."""

    def __init__(self, deployment: Deployment, deployed: Deployed, moment: int) -> None:
        self._deployment = deployment
        self._deployed = deployed
        self._moment = moment
        self._plan = deployed.plan
        self._events = tuple(state.type for state in self._plan.states)
        self._assembler = Assembler(self._events, deployment.types, deployment.pin, self._aggregate)

    def write(self) -> None:
        plan, deployment = self._plan, self._deployment
        rule = plan.rule
        has_deadline = rule.deadline is not None
        given = 2 if has_deadline else 1
        consumed_types = {self._events[index] for index in rule.consuming}
        spec = {
            "name": plan.name,
            "order": self._deployed.order,
            "defines": deployment.type_number(plan.defines.name),
            "given": given,
            "types": [deployment.type_number(name) for name in self._events],
            "types_repeat": _may_repeat(plan.states),
            "keeps_beginnings": self._keeps_beginnings(given),
            "begins_alone": all(_is_single(state) for state in plan.states[given + 1 :]),
            "stored": False,
            "deadline": rule.deadline if rule.deadline is not None else -1,
            "finest": _COARSENESS[plan.trigger.finest] if isinstance(plan.trigger, CalendarTimer) else -1,
            "given_conditions": self._given_conditions() if has_deadline else [],
            "timer_conditions": self._programs(rule.terminator.conditions) if rule.is_calendar_timer else [],
            "steps": [self._step(state, consumed_types) for state in plan.states[given:]],
            "negations": [self._negation(index) for index in range(len(plan.negations))],
            "guards": self._programs(_without_implied(rule.guards)),
            "outputs": [self._output(output.expression) for output in plan.outputs],
            "consumes": list(rule.consuming),
        }
        number = deployment.kernel.add_rule(spec)
        assert number == self._deployed.number
        if rule.is_calendar_timer:
            return
        state = plan.states[given - 1]
        conditions = [_on_candidate(condition, state.index) for condition in state.static]
        key = deployment.predicate(state.type, conditions, self._assembler)
        kind = "sets" if has_deadline else "terminates"
        deployment.kernel.link(deployment.predicate_number(key), kind, number, True)
        self._deployed.predicates.append((key, kind))

    def _programs(self, conditions: Sequence[e.Expression], candidate: str | None = None) -> list[Program]:
        return [self._assembler.program(condition, candidate) for condition in conditions]

    def _given_conditions(self) -> list[Program]:
        """What a deadline asks of the timer, and of the event that sets it beyond the event alone."""
        timer, first = self._plan.rule.events[:2]
        static = set(self._plan.states[1].static)
        rest = [part for c in first.conditions for part in e.conjuncts(c) if part not in static]
        return self._programs([*timer.conditions, *rest])

    def _step(self, state: State, consumed_types: set[str]) -> dict[str, object]:
        event = self._plan.rule.events[state.index]
        assert event.selection is not None
        own = self._deployed.number if state.type in consumed_types else None
        key, rest = self._conditions(state)
        conditions = [_on_candidate(condition, state.index) for condition in state.static]
        programs = self._programs(rest)
        scope = ("rule", own) if own is not None else None
        latest_only = own is None and not programs and self._asks_for_the_last_only(state)
        return {
            "type": self._deployment.type_number(state.type),
            "list": self._lookup(state.type, conditions, key, scope, latest_only),
            "anchor": event.anchor,
            "window": event.window,
            "policy": _POLICIES[event.selection.policy],
            "k": event.selection.k,
            "conditions": programs,
        }

    def _conditions(self, state: State) -> tuple[dict[int, KeyPart], list[e.Expression]]:
        """The equalities that join an event to those chosen before, and what else is asked of it and them."""
        key, rest = self._join(state.dynamic, state.index, state.type)
        event = self._plan.rule.events[state.index]
        precedes = [part for c in event.conditions for part in e.conjuncts(c) if isinstance(part, e.Precedes)]
        return key, [*rest, *precedes]

    def _keeps_beginnings(self, given: int) -> bool:
        """Whether what goes before the first chosen event is the same for all terminators.

        So it is for `each` event that only equalities join to the terminator, if those before it are joined to it,
        or to the same attributes of the terminator. What is consumed would have to be taken back.
        """
        states = self._plan.states[given:]
        if len(states) < 2 or self._plan.consumed:
            return False
        first, *others = states
        if _is_single(first) or self._plan.rule.events[first.index].anchor != 0:
            return False
        key, rest = self._conditions(first)
        if rest:
            return False
        joined = {part[:2] for part in key.values() if part[2] == part[3]}
        for state in others:
            key, rest = self._conditions(state)
            anchor = self._plan.rule.events[state.index].anchor
            if anchor is None or anchor < first.index:
                return False
            if any(part[0] < first.index and part[:2] not in joined for part in key.values()):
                return False
            if any(
                e.has_aggregate(c) or min(e.events_in(c), default=first.index) < first.index for c in rest
            ):
                return False
        return True

    def _asks_for_the_last_only(self, state: State) -> bool:
        """Whether the rule is of the shape for which the kernel keeps no more than the last event of a state.

        See `Single` in the kernel: one event, the last before the terminator, of another type than that.
        """
        plan = self._plan
        return (
            len(plan.states) == 2
            and plan.trigger is None
            and state.selection is not None
            and state.selection.policy is Policy.LAST
            and state.selection.k == 1
            and state.type != plan.terminator.type
            and not plan.negations
            and not plan.guards
            and not plan.consumed
            and len(plan.outputs) <= MOST_SINGLE_OUTPUTS
            and all(isinstance(output.expression, e.Attribute) for output in plan.outputs)
            and sum(self._key_part(c.expression, state.index, state.type) is not None for c in state.dynamic)
            <= 1
        )

    def _negation(self, index: int) -> dict[str, object]:
        link = self._plan.negations[index]
        key, rest = self._join(link.dynamic, e.CANDIDATE, link.type)
        return {
            "type": self._deployment.type_number(link.type),
            "list": self._lookup(link.type, link.static, key, None),
            "conditions": self._programs(rest, link.type),
            "stretch": _stretch(link.interval),
        }

    def _output(self, expression: e.Expression) -> dict[str, object]:
        if isinstance(expression, e.Attribute):
            column = self._assembler.column(self._events[expression.event], expression.name)
            return {"kind": 0, "event": expression.event, "column": column, "aggregate": 0, "program": []}
        program = self._assembler.program(expression)
        if isinstance(expression, e.Aggregate):
            number = self._aggregate(expression)
            return {"kind": 1, "event": 0, "column": 0, "aggregate": number, "program": program}
        return {"kind": 2, "event": 0, "column": 0, "aggregate": 0, "program": program}

    def _join(
        self, conditions: Sequence[Condition], own: int, type_name: str
    ) -> tuple[dict[int, KeyPart], list[e.Expression]]:
        """The equalities that divide a list, by its column, and the conditions that are left."""
        key: dict[int, KeyPart] = {}
        rest: list[e.Expression] = []
        for condition in conditions:
            part = self._key_part(condition.expression, own, type_name)
            if part is not None and part[0] not in key:
                key[part[0]] = part[1]
            else:
                rest.append(condition.expression)
        return dict(sorted(key.items())), rest

    def _key_part(self, node: e.Expression, own: int, type_name: str) -> tuple[int, KeyPart] | None:
        if not isinstance(node, e.Compare) or node.operator != "=":
            return None
        mine, other = node.left, node.right
        if not isinstance(mine, e.Attribute) or not isinstance(other, e.Attribute):
            return None
        if mine.event != own:
            mine, other = other, mine
        if mine.event != own or other.event == own or TIMESTAMP in (mine.name, other.name):
            return None
        column = self._assembler.column(type_name, mine.name)
        other_type = self._events[other.event]
        kinds = (
            self._deployment.types[other_type].by_name[other.name],
            self._deployment.types[type_name].by_name[mine.name],
        )
        return column, (
            other.event,
            self._assembler.column(other_type, other.name),
            TYPE_CODES[kinds[0]],
            TYPE_CODES[kinds[1]],
        )

    def _lookup(
        self,
        type_name: str,
        conditions: Sequence[e.Expression],
        key: Mapping[int, KeyPart],
        own: Hashable,
        latest_only: bool = False,
    ) -> dict[str, object]:
        scope = own if own is not None else ("moment", self._moment)
        list_ = self._deployment.list(type_name, conditions, tuple(key), scope, latest_only, self._assembler)
        self._deployed.lists.append(list_)
        return {"family": list_.family, "slot": list_.slot, "key": list(key.values())}

    def _aggregate(self, node: e.Aggregate) -> int:
        link = next(link for link in self._plan.aggregates if link.expression == node)
        key, rest = self._join(link.dynamic, e.CANDIDATE, link.type)
        lookup = self._lookup(link.type, link.static, key, None)
        column = -1 if node.attribute is None else self._assembler.column(link.type, node.attribute)
        interval = node.interval
        on_terminator = isinstance(interval, e.Within) and interval.anchor == 0
        shared = (
            on_terminator
            and all(part[0] == 0 for part in key.values())
            and all(e.events_in(c) <= {0} and not e.has_aggregate(c) for c in rest)
        )
        sliding = -1
        kind = ValueType.INT if column < 0 else self._deployment.types[link.type].attributes[column].type
        if on_terminator and not rest and node.function in _SLIDING and kind.numeric:
            assert isinstance(interval, e.Within)
            running = (lookup["family"], lookup["slot"], node.function, column, interval.window)
            sliding = self._deployment.sliding(running, int(str(lookup["family"])))
        spec: dict[str, object] = {
            "function": AGGREGATIONS.index(node.function),
            "type": self._deployment.type_number(link.type),
            "column": column,
            "list": lookup,
            "conditions": self._programs(rest, link.type),
            "stretch": _stretch(interval),
            "shared": shared,
            "sliding": sliding,
        }
        identity: tuple[Hashable, ...] = ("rule", self._deployed.number, node)
        if shared:
            parts = tuple(key.items())
            place = (lookup["family"], lookup["slot"])
            identity = (self._events[0], node.function, column, place, parts, frozenset(rest), interval)
        return self._deployment.aggregate(identity, spec)


def _is_single(state: State) -> bool:
    return state.selection is not None and state.selection.policy is not Policy.EACH


def _on_candidate(expression: e.Expression, event: int) -> e.Expression:
    """A static condition on an event, as one on the candidate: so that equal ones are equal."""

    def change(node: e.Expression) -> e.Expression:
        if isinstance(node, e.Attribute) and node.event == event:
            return e.Attribute(e.CANDIDATE, node.name)
        return node

    return e.rebuild(expression, change)


def _without_implied(guards: Sequence[e.Expression]) -> list[e.Expression]:
    """Guards without those that ask whether a value is there which another compares anyhow."""
    compared = {side for g in guards if isinstance(g, e.Compare) for side in (g.left, g.right)}
    return [g for g in guards if not (isinstance(g, e.Present) and g.operand in compared)]


def _may_repeat(states: Sequence[State]) -> bool:
    """Whether one event could be chosen twice; not on one path of anchors, where each is older than the next."""

    def later(index: int) -> Iterator[int]:
        anchor = states[index].anchor
        while anchor is not None:
            yield anchor
            anchor = states[anchor].anchor

    return any(
        one.type == other.type != TIMER.name and one.index not in later(other.index)
        for other in states
        for one in states[: other.index]
    )


def _stretch(interval: e.Interval) -> dict[str, object]:
    if isinstance(interval, e.Within):
        return {"between": False, "earlier": 0, "later": interval.anchor, "window": interval.window}
    return {"between": True, "earlier": interval.earlier, "later": interval.later, "window": 0}


def _no_aggregates(node: e.Aggregate) -> int:
    raise AssertionError("a subscription has no aggregates")
