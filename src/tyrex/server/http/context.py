"""What every path of the API shares: the node, who asks, and limits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Annotated, TypeVar

from fastapi import Depends
from starlette.requests import HTTPConnection

from tyrex.events import Event
from tyrex.server.access import Access, Forbidden, Principal, Right
from tyrex.server.http.bodies import Layouts
from tyrex.server.http.metrics import Metrics
from tyrex.server.http.problems import Problem
from tyrex.server.node import Detection, DetectionLog, Filter, Node, filter_of
from tyrex.tesla import TeslaError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a client may ask for."""

    body: int = 16 << 20
    """Bytes."""
    rule_text: int = 1 << 20
    subscriptions: int = 1_000
    rate: float = 0.0
    """Requests in a second for each client; 0 is without limit."""


class Waker:
    """Wakes all who wait in an event loop when there is something new to read."""

    def __init__(self, detections: DetectionLog) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        self._is_set = False
        self._end = detections.listen(self._notify)

    def _notify(self) -> None:
        if not self._is_set:  # many may come before the loop gets to it
            self._is_set = True
            try:
                self._loop.call_soon_threadsafe(self.wake)
            except RuntimeError:  # the loop has ended
                return

    def wake(self) -> None:
        """Wake all who wait, whether there is something new or not."""
        self._is_set = False
        self._event.set()
        self._event = asyncio.Event()

    @property
    def event(self) -> asyncio.Event:
        """What is set when something new comes; take it before looking whether there is."""
        return self._event

    def close(self) -> None:
        """Wake nobody any more."""
        self._end()


@dataclass
class Context:
    """The node behind the API."""

    node: Node
    access: Access
    limits: Limits = field(default_factory=Limits)
    metrics: Metrics = field(default_factory=Metrics)
    layouts: Layouts = field(default_factory=Layouts)
    subscriptions: int = 0
    """How many are open."""
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    waker: Waker | None = None

    def enter(self, connection: HTTPConnection) -> Principal:
        """Who asks; counted against what one client may ask."""
        headers = dict(connection.headers.items())
        principal = self.access.principal(headers)
        client = connection.client.host if connection.client else ""
        wait = self.access.rate.wait_for(f"{principal.name} {client}", now=time.monotonic())
        if wait:
            raise Problem(
                429,
                "RATE",
                f"{principal.name} makes more than {self.access.rate.rate:g} requests in a second",
                help="send more events in each request, or wait",
                headers={"Retry-After": str(max(1, round(wait)))},
            )
        return principal

    def shut(self) -> None:
        """End every subscription: the server is shutting down."""
        self.closing.set()
        if self.waker is not None:
            self.waker.wake()

    async def result(self, future: Future[T]) -> T:
        """What the node's thread answers."""
        return await asyncio.wrap_future(future)


def context_of(connection: HTTPConnection) -> Context:
    """The context of the application."""
    context: Context = connection.app.state.context
    return context


def principal_of(connection: HTTPConnection) -> Principal:
    """Who makes the request."""
    return context_of(connection).enter(connection)


Here = Annotated[Context, Depends(context_of)]


def allowed(right: Right) -> Callable[[Principal], Awaitable[Principal]]:
    """Who makes the request, if he has this right."""

    async def check(principal: Annotated[Principal, Depends(principal_of)]) -> Principal:
        principal.require(right)
        return principal

    return check


@dataclass(frozen=True, slots=True)
class Sight:
    """What somebody asks for, of what he may see."""

    wanted: tuple[Filter, ...] | None
    """One of these lets a detection through; None: all."""
    limits: tuple[Filter, ...] | None

    def __call__(self, event: Event) -> bool:
        """Whether an event is asked for and may be seen."""
        return (self.wanted is None or any(f(event) for f in self.wanted)) and (
            self.limits is None or any(f(event) for f in self.limits)
        )


def sight_of(context: Context, principal: Principal, filters: list[str]) -> Sight:
    """The filters of a request, and those that hold for whoever makes it."""
    rules = context.node.rules
    try:
        wanted = tuple(filter_of(text, rules) for text in filters) if filters else None
    except TeslaError as error:
        records = [diagnostic.record() for diagnostic in error.diagnostics]
        raise Problem(
            422,
            "FILTER_WRONG",
            str(error),
            expected='a filter such as `Fire(area = "A1")`',
            errors=records,
        ) from None
    if principal.limits is None:
        return Sight(wanted, None)
    limits = []
    for text in principal.limits:
        try:
            limits.append(filter_of(text, rules))
        except TeslaError:
            continue  # of a type that is not known so far: there is nothing of it to see
    return Sight(wanted, tuple(limits))


def shown(detection: Detection) -> str:
    """A detection as the API gives it."""
    return detection.data.decode()


def refuse_unless_unlimited(principal: Principal) -> None:
    """What would show events of all kinds is not for those who may see only some."""
    if principal.limits is not None:
        raise Forbidden(f"{principal.name} may see only what its filters let through")
