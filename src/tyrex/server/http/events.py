"""Publishing events, and looking at those that came."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from pydantic import BaseModel, Field

from tyrex.io.form import PLAIN, Form
from tyrex.io.jsonevent import json_record
from tyrex.server.access import Principal, Right
from tyrex.server.http.bodies import MEDIA_TYPES, Events, events_of, read_body
from tyrex.server.http.context import Here, allowed, refuse_unless_unlimited
from tyrex.server.http.problems import Problem
from tyrex.server.node import Publication, State, batches
from tyrex.tesla.types import EventType

router = APIRouter(tags=["events"])
Source = Annotated[Principal, Depends(allowed(Right.PUBLISH))]
Looker = Annotated[Principal, Depends(allowed(Right.LOOK))]
Reader = Annotated[Principal, Depends(allowed(Right.READ_RULES))]


class Accepted(BaseModel):
    """What became of the events of a request; what is accepted is safe."""

    accepted: int
    duplicates: int = Field(description="Events whose id, or whose request, this source has sent before.")
    rejected: int = 0
    record: int = Field(description="The place in the log; 0 if nothing was new.")
    errors: list[dict[str, Any]] = []


class TypeInfo(BaseModel):
    """A type of events."""

    name: str
    attributes: dict[str, str]
    origin: str
    arrived: int = 0
    stored: int = 0
    defined_by: list[str] = []
    used_by: list[str] = []


_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            kind: {
                "schema": {}
                if "json" in kind and "nd" not in kind and "lines" not in kind
                else {"type": "string"}
            }
            for kind in MEDIA_TYPES
        },
    }
}


@router.post("/v1/events", openapi_extra=_BODY)
async def publish(
    request: Request,
    here: Here,
    principal: Source,
    type: Annotated[
        str | None, Query(description="The type of all events, where the data does not say it.")
    ] = None,
    timestamp: Annotated[str, Query(description="The key or column that holds the time.")] = PLAIN.timestamp,
    partial: Annotated[
        bool, Query(description="Accept what is right although something else is wrong.")
    ] = False,
    source: Annotated[str, Query(max_length=200, description="Within which ids count once.")] = "",
    idempotency_key: Annotated[
        str | None, Header(max_length=200, description="By which a request that is sent again is known.")
    ] = None,
) -> Accepted:
    """Publish events: one, or as many as the body holds. They are safe when the answer comes."""
    started = time.perf_counter()
    body = await read_body(request, here.limits.body)
    media_type = request.headers.get("content-type", "")
    events = await events_of(body, media_type, here.node.rules, here.layouts, Form(type, timestamp))
    here.metrics.rejected += events.rejections
    _check(events, partial=partial)
    if principal.types is not None:
        principal.require_types({name for part in events.parts for name in batches.types_of(part)})
    publication = Publication(
        f"{principal.name}/{source}" if source else principal.name,
        events.parts,
        events.types,
        idempotency_key,
    )
    receipt = await here.result(here.node.publish(publication))
    here.metrics.publishing.add(time.perf_counter() - started)
    return Accepted(
        accepted=receipt.accepted,
        duplicates=receipt.duplicates,
        rejected=events.rejections,
        record=receipt.record,
        errors=events.errors,
    )


def _check(events: Events, *, partial: bool) -> None:
    if events.rejections and not partial:
        first = events.rejected[0]
        raise Problem(
            422,
            "EVENTS_REJECTED",
            f"{first}"
            if events.rejections == 1
            else f"{first}, and {events.rejections - 1} more are no events",
            found=first.text[:200],
            help="nothing was accepted: correct it and send again, or send with ?partial=true",
            errors=events.errors,
        )


@router.get("/v1/events")
async def recent(
    here: Here,
    principal: Looker,
    type: Annotated[str | None, Query(description="Only events of this type.")] = None,
    late: Annotated[bool, Query(description="Those that came too late.")] = False,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """The latest events since the start of the server, the newest first."""
    refuse_unless_unlimited(principal)

    def look(state: State) -> list[tuple[int, list[Any]]]:
        if late:
            return [(0, list(state.late))]
        return [(number, batches.events_of(batch, limit)) for number, batch in state.recent]

    found = await here.result(here.node.ask(look))
    events = [
        {"record": number, "event": json_record(event)} if number else {"event": json_record(event)}
        for number, batch in reversed(found)
        for event in reversed(batch)
        if type in (None, event.type)
    ]
    return {"events": events[:limit]}


@router.get("/v1/types")
async def types(here: Here, principal: Reader) -> list[TypeInfo]:
    """The types of events that are known, with the rules that make and use them."""
    stats = await here.result(here.node.ask(lambda state: state.engine.stats().types))
    rules = here.node.rules
    return [
        TypeInfo(
            **_described(type_),
            arrived=stats[name].arrived if name in stats else 0,
            stored=stats[name].stored if name in stats else 0,
            defined_by=[rule.name for rule in rules if rule.defines.name == name],
            used_by=[rule.name for rule in rules if name in rule.plan.horizon],
        )
        for name, type_ in sorted(rules.types.items())
        if name != "Timer"
    ]


def _described(type_: EventType) -> dict[str, Any]:
    return {
        "name": type_.name,
        "attributes": {attribute.name: str(attribute.type.value) for attribute in type_.attributes},
        "origin": str(type_.origin.value),
    }
