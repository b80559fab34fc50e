"""The HTTP API of a node, as an application of ASGI."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from tyrex import __version__
from tyrex.server.access import Access
from tyrex.server.http import backtests, detections, events, operations, problems, rules
from tyrex.server.http.context import Context, Limits, Waker
from tyrex.server.node import Node


def create_app(node: Node, access: Access | None = None, limits: Limits | None = None) -> FastAPI:
    """The application; the node is opened before it, and closed after it, by whoever runs it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        context: Context = app.state.context
        context.waker = Waker(node.detections)
        yield
        context.shut()
        await app.state.backtests.close()
        context.waker.close()

    app = FastAPI(
        title="Tyrex",
        version=__version__,
        description="Events in, composite events out: publish, define rules, subscribe.",
        lifespan=lifespan,
        docs_url=None,  # their pages load scripts from elsewhere
        redoc_url=None,
    )
    app.state.context = Context(node, access or Access(), limits or Limits())
    app.state.backtests = backtests.Backtests()
    problems.install(app)
    for part in (events, rules, detections, backtests, operations):
        app.include_router(part.router)
    return app
