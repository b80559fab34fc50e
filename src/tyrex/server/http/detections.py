"""Detections: as pages, as a stream of server-sent events, by WebSocket, and why they are there or are not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, WebSocket, WebSocketDisconnect
from pydantic import BaseModel
from starlette.responses import Response, StreamingResponse

from tyrex.engine import WhyNot
from tyrex.events import EventError, Value, to_microseconds
from tyrex.io.jsonevent import json_record
from tyrex.server.access import Principal, Right
from tyrex.server.http.context import (
    Context,
    Here,
    Sight,
    Waker,
    allowed,
    refuse_unless_unlimited,
    shown,
    sight_of,
)
from tyrex.server.http.problems import Problem, problem_of
from tyrex.server.node import Detection, State

router = APIRouter(tags=["detections"])
Sink = Annotated[Principal, Depends(allowed(Right.SUBSCRIBE))]
Looker = Annotated[Principal, Depends(allowed(Right.LOOK))]
Filters = Annotated[
    list[str],
    Query(
        default_factory=list,
        description='Such as `Fire(area = "A1")`; one of several has to let an event through.',
    ),
]
_HEARTBEAT = 15.0
_LARGEST = 2**62
_DEPTH = 20


@router.get("/v1/detections", response_class=Response)
async def query(
    here: Here,
    principal: Sink,
    filter: Filters,
    since: Annotated[
        str | None, Query(description="Timestamps from here on, in seconds or as a date.")
    ] = None,
    until: Annotated[str | None, Query(description="Timestamps before this.")] = None,
    start: Annotated[
        int | None, Query(ge=0, le=_LARGEST, description="The number to read from; without it, the oldest.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 100,
) -> Response:
    """Past detections in the order of their numbers, page by page: `next` is where to read on."""
    sight = sight_of(here, principal, filter)
    first, last = _moment(since, "since"), _moment(until, "until")

    def wanted(detection: Detection) -> bool:
        time = detection.event.timestamp
        return (first is None or time >= first) and (last is None or time < last)

    log = here.node.detections
    number = log.first if start is None else start
    found: list[Detection] = []
    missed = 0
    while len(found) < limit:
        page = await asyncio.to_thread(log.read, number, sight, limit - len(found), scan=5_000)
        missed += page.missed
        found += [detection for detection in page.detections if wanted(detection)]
        if page.next == number or page.next > log.last:
            number = page.next
            break
        number = page.next
    more = str(number <= log.last).lower()
    rows = ",".join(map(shown, found))
    return Response(
        f'{{"detections":[{rows}],"next":{number},"more":{more},"missed":{missed}}}',
        media_type="application/json",
    )


def _moment(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    try:
        try:
            return to_microseconds(float(text))
        except ValueError:
            return to_microseconds(text)
    except (EventError, OverflowError, ValueError) as error:
        raise Problem(
            422,
            "REQUEST_WRONG",
            f"{name}: {error}",
            found=text[:100],
            expected="seconds, or a date of ISO 8601",
        ) from None


# Live


@contextmanager
def _subscribed(here: Context) -> Iterator[None]:
    if here.subscriptions >= here.limits.subscriptions:
        raise Problem(
            429,
            "LIMIT",
            f"there are {here.subscriptions:,} subscriptions, as many as are allowed",
            help="end one that is not needed, or raise `subscriptions`",
        )
    here.subscriptions += 1
    try:
        yield
    finally:
        here.subscriptions -= 1


def _begin(here: Context, last_seen: str | None, start: int | None) -> int:
    """The number of the first detection to give."""
    if last_seen is not None:
        if not last_seen.isdecimal() or int(last_seen) > _LARGEST:
            raise Problem(
                422,
                "REQUEST_WRONG",
                "Last-Event-ID is no number",
                found=last_seen[:50],
                expected="the number seen last",
            )
        return int(last_seen) + 1
    return here.node.detections.last + 1 if start is None else start


@router.get("/v1/detections/stream")
async def stream(
    here: Here,
    principal: Sink,
    filter: Filters,
    start: Annotated[
        int | None,
        Query(ge=0, le=_LARGEST, description="The number to begin with; without it, what comes from now on."),
    ] = None,
    last_event_id: Annotated[str | None, Header(description="The number seen last.")] = None,
) -> StreamingResponse:
    """Detections as they come, as server-sent events whose ids are their numbers."""
    sight = sight_of(here, principal, filter)
    number = _begin(here, last_event_id, start)
    subscription = _subscribed(here)
    subscription.__enter__()  # refused before the answer begins

    async def events() -> AsyncIterator[bytes]:
        try:
            yield b"retry: 1000\n\n"
            async for given in _following(here, sight, number):
                yield given.as_event()
        finally:
            subscription.__exit__(None, None, None)

    return StreamingResponse(
        events(),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


@router.websocket("/v1/detections/socket")
async def socket(websocket: WebSocket, filter: Filters, start: int | None = None) -> None:
    """Detections as they come, each a message of JSON, as in the stream."""
    here: Context = websocket.app.state.context
    protocols = [p.strip() for p in websocket.headers.get("sec-websocket-protocol", "").split(",")]
    chosen = "tyrex" if "tyrex" in protocols else None
    await websocket.accept(chosen)
    try:
        headers = dict(websocket.headers.items())
        token = next((p for p in protocols if p not in ("", "tyrex")), None)  # a browser can't set the header
        if token is not None and "authorization" not in headers:
            headers["authorization"] = f"Bearer {token}"
        principal = here.access.principal(headers)
        principal.require(Right.SUBSCRIBE)
        sight = sight_of(here, principal, filter)
        number = _begin(here, None, start)
        with _subscribed(here):
            await _serve(websocket, here, sight, number)
    except WebSocketDisconnect:
        return
    except Exception as error:
        problem = problem_of(error)
        here.metrics.refuse(problem.body["code"])
        with suppress(RuntimeError, WebSocketDisconnect):
            await websocket.send_text(json.dumps({"problem": problem.body}))
            await websocket.close(1008 if problem.status < 500 else 1011)


async def _serve(websocket: WebSocket, here: Context, sight: Sight, number: int) -> None:
    async def send() -> None:
        async for given in _following(here, sight, number):
            if given.data:
                await websocket.send_text(given.data)

    async def receive() -> None:  # only to find out that the other side has gone
        while (await websocket.receive())["type"] != "websocket.disconnect":
            pass

    tasks = {asyncio.create_task(send()), asyncio.create_task(receive())}
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        if here.closing.is_set():
            await websocket.close(1012)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Given(BaseModel):
    """What a subscriber gets: a detection, a gap, or only how far the reading is."""

    number: int
    data: str = ""
    name: str = "detection"

    def as_event(self) -> bytes:
        """It as a server-sent event; one without data only moves the id on."""
        if not self.data:
            return f": \nid: {self.number}\n\n".encode()
        return f"id: {self.number}\nevent: {self.name}\ndata: {self.data}\n\n".encode()


async def _following(here: Context, sight: Sight, number: int) -> AsyncIterator[Given]:
    """Detections from a number on, and whatever comes; it ends when the server does."""
    log = here.node.detections
    waker: Waker | None = here.waker
    assert waker is not None
    while not here.closing.is_set():
        event = waker.event
        if number > log.last:
            try:
                await asyncio.wait_for(event.wait(), _HEARTBEAT)
            except TimeoutError:
                yield Given(number=number - 1)
            continue
        if number >= log.last - 5_000:
            page = log.read(number, sight)  # in memory
        else:
            page = await asyncio.to_thread(log.read, number, sight)
        if page.missed:
            gap = {"missed": page.missed, "from": number, "to": number + page.missed - 1}
            yield Given(number=number + page.missed - 1, data=json.dumps({"gap": gap}), name="gap")
        for detection in page.detections:
            yield Given.model_construct(number=detection.number, data=shown(detection), name="detection")
        number = page.next


# Explanations


@router.get("/v1/detections/{id}/why")
async def why(id: str, here: Here, principal: Sink) -> dict[str, Any]:
    """What a detection was made of, as a tree down to the events from outside; `id` is its id or its number."""
    detection = await asyncio.to_thread(_find, here, id)
    if detection is None or not sight_of(here, principal, [])(detection.event):
        raise Problem(
            404,
            "NOT_FOUND",
            f"there is no detection {id!r:.100}, or it is kept no more",
            help="GET /v1/detections lists those that are kept",
        )
    rules = here.node.rules
    made = {rule.defines.name for rule in rules}
    tree = await asyncio.to_thread(_tree, here, detection, made, 0)
    return {"number": detection.number, **tree}


def _find(here: Context, id_: str) -> Detection | None:
    log = here.node.detections
    if id_.isdecimal() and len(id_) < 19:
        page = log.read(int(id_), limit=1, scan=1) if log.first <= int(id_) <= log.last else None
        return page.detections[0] if page is not None and page.detections else None
    return log.find(id_)


def _tree(here: Context, detection: Detection, made: set[str], depth: int) -> dict[str, Any]:
    rules = here.node.rules
    rule = detection.event.rule or ""
    parts = detection.lineage
    roles = [state.name for state in rules[rule].plan.states] if rule in rules else []
    if len(roles) != len(parts):
        roles = [part.type for part in parts]
    found = []
    for role, part in zip(roles, parts, strict=True):
        below = None
        if part.type in made and part.id is not None and depth < _DEPTH:
            below = here.node.detections.find(part.id)
        tree = {"event": json_record(part)} if below is None else _tree(here, below, made, depth + 1)
        found.append({"role": role, **tree})
    return {"event": json_record(detection.event), "rule": rule, "parts": found}


class WhyNotQuestion(BaseModel):
    """Which event is missing."""

    name: str
    """A rule, or a type that rules define."""
    at: str | float | None = None
    terminator: str | None = None
    attributes: dict[str, str | float | int | bool | None] = {}


@router.post("/v1/why-not")
async def why_not(question: WhyNotQuestion, here: Here, principal: Looker) -> dict[str, Any]:
    """What kept a rule from making an event, as far as its events are still in some window."""
    refuse_unless_unlimited(principal)
    at = None if question.at is None else _moment(str(question.at), "at")
    attributes: dict[str, Value] = dict(question.attributes)

    def look(state: State) -> WhyNot:
        from datetime import UTC, datetime, timedelta

        moment = None if at is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)
        return state.engine.why_not(question.name, moment, question.terminator, **attributes)

    try:
        found = await here.result(here.node.ask(look))
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise Problem(
            422, "REQUEST_WRONG", str(error), help="GET /v1/rules and /v1/types list the names"
        ) from None
    return {**found.to_dict(), "text": str(found)}
