"""Whether the server is well, and what it has done."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.responses import JSONResponse, PlainTextResponse, Response

from tyrex import __version__
from tyrex.server.access import Principal
from tyrex.server.http.context import Here, principal_of
from tyrex.server.node import NodeClosed

router = APIRouter(tags=["operations"])
Anyone = Annotated[Principal, Depends(principal_of)]


@router.get("/health")
async def health(here: Here) -> Response:
    """200 while the server works at all; 503 if it has to be started anew."""
    failure = here.node.failure
    return JSONResponse({"ok": not failure, "failure": failure}, 503 if failure else 200)


@router.get("/ready")
async def ready(here: Here) -> Response:
    """200 while events are accepted."""
    node = here.node
    reason = node.failure or ("the disk is full" if node.progress.disk_full else "")
    if here.closing.is_set():
        reason = "the server is shutting down"
    return JSONResponse({"ready": not reason, "reason": reason}, 503 if reason else 200)


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(here: Here, principal: Anyone) -> PlainTextResponse:
    """Counts for Prometheus."""
    try:
        counts, stats = await here.result(here.node.ask(lambda s: (s.counts, s.engine.stats())))
    except NodeClosed:
        return PlainTextResponse("# TYPE tyrex_up gauge\ntyrex_up 0\n")
    text = here.metrics.text(here.node, counts, stats, here.subscriptions)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


@router.get("/v1/status")
async def status(here: Here, principal: Anyone) -> dict[str, Any]:
    """What the server is and how it does, for a person."""
    node = here.node
    counts, stats = await here.result(here.node.ask(lambda s: (vars(s.counts).copy(), s.engine.stats())))
    journal = node.store.journal
    return {
        "version": __version__,
        "durable": node.is_durable,
        "clock": node.settings.clock,
        "who": {"name": principal.name, "roles": sorted(role.value for role in principal.roles)},
        "counts": {**counts, "rejected": counts["rejected"] + here.metrics.rejected, "unused": stats.unused},
        "queue": {
            "waiting": node.progress.waiting,
            "greatest": node.progress.greatest,
            "capacity": node.settings.capacity,
        },
        "log": {"first": journal.first, "next": journal.next, "bytes": journal.size},
        "detections": {"first": node.detections.first, "last": node.detections.last},
        "engine": {
            "stored": stats.stored,
            "bytes": stats.bytes,
            "waiting": stats.waiting,
            "open_deadlines": stats.open_deadlines,
        },
        "rules": len(node.rules),
        "subscriptions": here.subscriptions,
        "recovered": {"records": node.recovered.records, "trouble": node.recovered.trouble},
        "failure": node.failure,
        "disk_full": node.progress.disk_full,
    }
