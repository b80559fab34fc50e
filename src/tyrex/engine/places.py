"""The kernels of an engine, and who gets which event.

With one thread there is one kernel, and everything goes straight to it. With several, each place of the layout
has its kernels, and a team sends every event to those that need it and puts what they find in order again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tyrex import _kernel
from tyrex.engine.deploy import UNKNOWN, Deployed, Deployment
from tyrex.engine.layout import Layout, PlaceLayout
from tyrex.engine.zones import offsets
from tyrex.plan import RulePlan
from tyrex.tesla.checked import CheckedSubscription
from tyrex.tesla.types import TIMER, TIMESTAMP, EventType

_NOBODY, _FIRST, _BY_TIME, _BY_VALUE = range(4)  # the kernel's Route::By
_SPACING = 16  # the kernel's Engine::spacing


@dataclass(frozen=True)
class Place:
    """Rules that run together, and their kernels, each with all of these rules."""

    deployments: Sequence[Deployment]

    @property
    def deployment(self) -> Deployment:
        """The rules, as each of the kernels has them."""
        return self.deployments[0]

    @property
    def kernels(self) -> list[_kernel.Kernel]:
        """The kernels, which divide the events."""
        return [deployment.kernel for deployment in self.deployments]

    @property
    def kernel(self) -> _kernel.Kernel:
        """One of them, for what is the same in all: time, and what waits or is late."""
        return self.deployment.kernel

    def rule_counts(self, deployed: Deployed) -> tuple[int, int]:
        """How often a rule was evaluated, and how many composite events it made."""
        counts = [kernel.rule_counts(deployed.number) for kernel in self.kernels]
        return sum(evaluated for evaluated, _ in counts), sum(fired for _, fired in counts)

    def arrived(self, type_number: int) -> int:
        """How many events of a type came, from outside and from rules of this place."""
        counts = [kernel.type_counts(type_number) for kernel in self.kernels]
        return counts[0][0] + sum(made for _, made, _, _ in counts)


class Places:
    """The places of an engine."""

    send_one: Callable[[int, int, Sequence[Any], str | None], _kernel.Result]
    send_input: Callable[..., _kernel.Result]
    advance: Callable[[int], _kernel.Result]
    flush: Callable[[int | None], _kernel.Result]

    def __init__(self, layout: Layout, *, delay: int, time_zone: str) -> None:
        self._delay = delay
        self._offsets = offsets(time_zone)
        self._types: dict[str, EventType] = {}
        self._subscriptions: dict[int, CheckedSubscription] = {}
        self._seats: dict[int, set[int]] = {}
        self._team: _kernel.Team | None = None
        self._homes: dict[str, int] = {}  # the first place that looks at a type
        self.layout = Layout(layout.threads, ())
        self.all: list[Place] = []
        self.by_order: list[Deployed] = []
        """Every rule that was ever deployed, by the number that results name it with."""
        self.rules: dict[str, Deployed] = {}
        """The deployed rules by name, in order."""
        self._build(layout)

    @property
    def kernels(self) -> list[_kernel.Kernel]:
        """The kernels of all places, in order."""
        return [kernel for place in self.all for kernel in place.kernels]

    @property
    def types(self) -> Mapping[str, EventType]:
        """The known types, by their numbers in order."""
        return self.all[0].deployment.types

    def place_of(self, rule: str) -> Place:
        """The place of a rule."""
        return self.all[self.layout.homes[rule]]

    def type_number(self, name: str) -> int:
        """The number of a type, which all kernels agree on."""
        return self.all[0].deployment.type_number(name)

    # Rules

    def add_types(self, types: Mapping[str, EventType]) -> None:
        """Make event types known."""
        self._types |= {name: type_ for name, type_ in types.items() if name not in self._types}
        for place in self.all:
            for deployment in place.deployments:
                deployment.add_types(types)

    def deploy(self, layout: Layout, plans: Sequence[RulePlan], moments: Sequence[int] | None = None) -> None:
        """Deploy rules where a layout has them; the moments are those of an earlier deployment."""
        self._build(layout)
        if plans and moments is None:
            moments = [self._moment()] * len(plans)
        start = len(self.by_order)
        for number, place in enumerate(self.all):
            own = [n for n, plan in enumerate(plans) if layout.homes[plan.name] == number]
            for deployment in place.deployments:
                deployment.add(
                    [plans[n] for n in own], [(moments or ())[n] for n in own], [start + n for n in own]
                )
        for plan in plans:
            deployed = self.place_of(plan.name).deployment.rules[plan.name]
            self.rules[plan.name] = deployed
            self.by_order.append(deployed)
        self._direct()

    def undeploy(self, name: str) -> None:
        """Take a rule out."""
        for deployment in self.place_of(name).deployments:
            deployment.remove(name)
        del self.rules[name]
        self.layout = self.layout.without(name, (deployed.plan for deployed in self.rules.values()))
        self._direct()

    def set_paused(self, name: str, paused: bool) -> None:
        """Let a rule pause, or go on."""
        for deployment in self.place_of(name).deployments:
            deployment.kernel.set_paused(self.rules[name].number, paused)
            deployment.rules[name].paused = paused
        self.rules[name].paused = paused

    def _moment(self) -> int:
        """The place in the order at which rules are deployed, from now on the same in all kernels."""
        kernels = self.kernels
        moment = max(kernel.sequence for kernel in kernels)
        if self._team is not None:
            moment = -(-moment >> _SPACING) << _SPACING
            for kernel in kernels:
                kernel.mark(moment)
        return moment

    # Subscriptions

    def subscribe(self, number: int, subscription: CheckedSubscription) -> None:
        """Let a subscription find its events."""
        self._subscriptions[number] = subscription
        self._seats[number] = set()
        self._seat(number)

    def unsubscribe(self, number: int) -> None:
        """Forget a subscription."""
        for place in self._seats.pop(number):
            for deployment in self.all[place].deployments:
                deployment.unsubscribe(number)
        del self._subscriptions[number]

    def _seat(self, number: int) -> None:
        """Let a subscription look where its events come in once, and where rules make them."""
        subscription = self._subscriptions[number]
        type_ = subscription.type
        wanted = {self._homes.get(type_, 0)}
        if self._team is not None:
            wanted |= {self.layout.homes[n] for n, d in self.rules.items() if d.plan.defines.name == type_}
        for place in self._seats[number] ^ wanted:
            for deployment in self.all[place].deployments:
                if place in wanted:
                    deployment.subscribe(number, subscription)
                else:
                    deployment.unsubscribe(number)
        self._seats[number] = wanted

    # Who gets what

    def _looked_at(self, place: PlaceLayout) -> set[str]:
        return {type_ for name in place.rules for type_ in self.rules[name].plan.horizon}

    def _build(self, layout: Layout) -> None:
        """Make the kernels that a layout has beyond those that are there."""
        new = layout.places[len(self.layout.places) :]
        self.layout = layout
        if not new:
            return
        self.all += [Place([self._create() for _ in range(place.kernels)]) for place in new]
        kernels = self.kernels
        if layout.threads == 1:
            (kernel,) = kernels
            self.send_one = partial(_kernel.send_one, kernel)
            self.send_input = partial(_kernel.send_input, kernel)
            self.advance = partial(_kernel.advance, kernel)
            self.flush = partial(_kernel.flush, kernel)
            return
        self._team = team = _kernel.Team.create(kernels, layout.threads)
        self.send_one, self.send_input = team.send_one, team.send_input
        self.advance, self.flush = team.advance, team.flush

    def _create(self) -> Deployment:
        kernel = _kernel.Kernel.create()
        kernel.set_casing(_change_case)
        kernel.set_zone(*self._offsets)
        kernel.delay = self._delay
        deployment = Deployment(kernel)
        deployment.add_types(self._types)
        if self.layout.threads > 1:
            kernel.join()
            if self.all:
                kernel.follow(self.all[0].kernel)
        return deployment

    def _direct(self) -> None:
        """Tell the team who gets what, as it is by now."""
        if self._team is None:
            return
        looked_at = [self._looked_at(place) for place in self.layout.places]
        self._homes = {type_: n for n in reversed(range(len(looked_at))) for type_ in looked_at[n]}
        routes: list[tuple[int, int, list[tuple[int, int]]]] = []
        first = 0
        for number, place in enumerate(self.layout.places):
            own = [
                self._route(
                    place, name, name in looked_at[number], leftover=number == 0 and name not in self._homes
                )
                for name in self.all[0].deployment.type_names
            ]
            routes.append((first, place.kernels, own))
            first += place.kernels
        self._team.set_places(routes)
        for subscription in self._subscriptions:
            self._seat(subscription)

    def _route(self, place: PlaceLayout, name: str, looked_at: bool, *, leftover: bool) -> tuple[int, int]:
        if not looked_at:
            return (_FIRST if leftover else _NOBODY), 0
        if place.key is None:
            return _FIRST, 0
        attribute = place.key.get(name)
        if attribute is None or attribute == TIMESTAMP:
            return _BY_TIME, 0
        names = [a.name for a in self.types[name].attributes]
        return _BY_VALUE, names.index(attribute)

    # State

    def save(self) -> list[bytes]:
        """The state of each kernel."""
        return [
            _kernel.save(d.kernel, [rule.number for rule in d.rules.values()], d.lists_in_order())
            for place in self.all
            for d in place.deployments
        ]

    def load(self, states: Iterable[bytes]) -> None:
        """Take over the states of kernels that had the same rules; `ValueError` if they are none."""
        deployments = [deployment for place in self.all for deployment in place.deployments]
        for deployment, state in zip(deployments, states, strict=True):
            numbers = [rule.number for rule in deployment.rules.values()]
            _kernel.load(deployment.kernel, state, numbers, deployment.lists_in_order())

    def counts(self, type_name: str) -> tuple[int, int]:
        """How many events of a type came, from outside and from rules, and how many are stored."""
        number = self.type_number(type_name)
        counts = [kernel.type_counts(number) for kernel in self.kernels]
        return counts[0][0] + sum(made for _, made, _, _ in counts), sum(stored for _, _, stored, _ in counts)

    @property
    def unused(self) -> int:
        """Events of types that no rule knows."""
        return self.counts(UNKNOWN.name)[0]

    @property
    def event_types(self) -> list[str]:
        """The names of the types of which there can be events."""
        return [name for name in self.types if name not in (TIMER.name, UNKNOWN.name)]


def _change_case(text: str, upper: bool) -> str:
    return text.upper() if upper else text.lower()
