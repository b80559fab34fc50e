"""A server on a port of its own, in a thread of the test."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import uvicorn
from tests.server.nodes import RULES, change

from tyrex.server.access import Access
from tyrex.server.http import Limits, create_app
from tyrex.server.node import Action, Node, NodeSettings
from tyrex.server.serve import Address, _listen, clock


@dataclass(frozen=True, slots=True)
class Served:
    """A server that runs."""

    url: str
    node: Node
    http: httpx.Client


@contextmanager
def serving(
    folder: Path | None = None,
    settings: NodeSettings | None = None,
    *,
    rules: str | None = RULES,
    access: Access | None = None,
    limits: Limits | None = None,
    port: int = 0,
) -> Iterator[Served]:
    """A server with rules, on loopback."""
    node = Node(folder, settings, clock=clock)
    if rules is not None and not len(node.rules):
        change(node, Action.DEFINE, rules)
    app = create_app(node, access, limits)
    listener = _listen(Address("127.0.0.1", port))
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=5)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 30
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.started
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        with httpx.Client(base_url=url, timeout=20) as client:
            yield Served(url, node, client)
    finally:
        app.state.context.closing.set()  # the waiting ones see it when they are woken
        node.detections.wake()
        server.should_exit = True
        thread.join(20)
        node.close()
        assert not thread.is_alive()
