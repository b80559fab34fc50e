"""A client for programs with asyncio: the same as `Client`, to await."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

import httpx

from tyrex.client.wire import (
    AGAIN,
    Detected,
    Events,
    Missed,
    Reader,
    Receipt,
    bodies,
    detected,
    error_of,
    wait_before,
)


class AsyncClient:
    """Talks to a server as `Client` does, without holding up an event loop.

    What has no answer is sent again, under the same key, so that it counts once: until the server has answered, or
    `patience` seconds have passed.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8642",
        *,
        key: str | None = None,
        patience: float = 30.0,
        timeout: float = 30.0,
        verify: bool | str = True,
    ) -> None:
        """A client of the server at an address; `key` says who asks."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout, verify=verify)
        self._patience = patience

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # Events

    async def publish(self, events: Events, *, batch: int = 1000, source: str = "") -> Receipt:
        """Publish events in batches, in their order; when it comes back all of them are safe.

        `ServerError` if the server refuses a batch: those before it are accepted.
        """
        accepted = duplicates = 0
        for media_type, body in bodies(events, batch):
            headers = {"Content-Type": media_type, "Idempotency-Key": uuid.uuid4().hex}
            query = {"source": source} if source else {}
            sent = await self._ask("POST", "/v1/events", content=body, headers=headers, params=query)
            answer = sent.json()
            accepted += answer["accepted"]
            duplicates += answer["duplicates"]
        return Receipt(accepted, duplicates)

    # Detections

    async def subscribe(
        self,
        *filters: str,
        start: int | None = None,
        on_gap: Callable[[Missed], object] | None = None,
    ) -> AsyncIterator[Detected]:
        """Detections as they come, without end; where the connection breaks it goes on behind the last one.

        `start` is the number to begin with; without it, what comes from now on. If some are kept no more `on_gap` is
        told, or `Missed` raised.
        """
        reader = Reader(None if start is None else start - 1)
        attempt, since = 0, time.monotonic()
        while True:
            query: dict[str, Any] = {"filter": list(filters)}
            headers = {} if reader.last is None else {"Last-Event-ID": str(reader.last)}
            reader.restart()
            retry_after = None
            try:
                timeout = httpx.Timeout(30.0, read=45.0)  # the server says something every 15 seconds
                async with self._http.stream(
                    "GET", "/v1/detections/stream", params=query, headers=headers, timeout=timeout
                ) as answer:
                    if answer.status_code != 200:
                        error = error_of(answer.status_code, await answer.aread())
                        retry_after = answer.headers.get("retry-after")
                        if answer.status_code not in AGAIN or time.monotonic() - since > self._patience:
                            raise error
                    else:
                        async for line in answer.aiter_lines():
                            attempt, since = 0, time.monotonic()
                            found = reader.line(line)
                            if isinstance(found, Missed):
                                if on_gap is None:
                                    raise found
                                on_gap(found)
                            elif found is not None:
                                yield found
            except httpx.TransportError:
                if time.monotonic() - since > self._patience:
                    raise
            await asyncio.sleep(wait_before(attempt, retry_after))
            attempt += 1

    async def detections(
        self,
        *filters: str,
        since: str | float | None = None,
        until: str | float | None = None,
        start: int | None = None,
    ) -> AsyncIterator[Detected]:
        """Past detections in the order of their numbers, up to those that are there now."""
        query: dict[str, Any] = {"filter": list(filters), "since": since, "until": until, "limit": 1000}
        number = start
        while True:
            asked = {name: value for name, value in {**query, "start": number}.items() if value is not None}
            page = (await self._ask("GET", "/v1/detections", params=asked)).json()
            for record in page["detections"]:
                yield detected(record)
            number = page["next"]
            if not page["more"]:
                return

    async def why(self, detection: str | int) -> dict[str, Any]:
        """What a detection was made of, by its id or number."""
        tree: dict[str, Any] = (await self._ask("GET", f"/v1/detections/{detection}/why")).json()
        return tree

    async def why_not(self, name: str, at: str | float | None = None, **more: Any) -> dict[str, Any]:
        """What kept a rule from firing."""
        answer = await self._ask("POST", "/v1/why-not", json={"name": name, "at": at, **more})
        told: dict[str, Any] = answer.json()
        return told

    # Rules

    async def define(self, text: str, *, replace: bool = False, language: str = "tesla") -> Sequence[str]:
        """Deploy rules; their names. With `replace` they take the place of those of the same names."""
        answer = await self._ask(
            "POST",
            "/v1/rules",
            json={"text": text, "language": language},
            params={"replace": str(replace).lower()},
            again=replace,
        )
        names: list[str] = answer.json()["names"]
        return names

    async def rules(self) -> Sequence[Mapping[str, Any]]:
        """The deployed rules."""
        found: list[dict[str, Any]] = (await self._ask("GET", "/v1/rules")).json()
        return found

    async def pause(self, name: str) -> None:
        """Let a rule make nothing until it is resumed."""
        await self._ask("POST", f"/v1/rules/{name}/pause")

    async def resume(self, name: str) -> None:
        """Let a rule go on."""
        await self._ask("POST", f"/v1/rules/{name}/resume")

    async def remove(self, name: str) -> None:
        """Take a rule away."""
        await self._ask("DELETE", f"/v1/rules/{name}", again=False)

    async def status(self) -> Mapping[str, Any]:
        """What the server is and how it does."""
        found: dict[str, Any] = (await self._ask("GET", "/v1/status")).json()
        return found

    async def _ask(self, method: str, path: str, *, again: bool = True, **options: Any) -> httpx.Response:
        """An answer that is none of an error. What would not count once is not sent again after it may have arrived."""
        attempt, since = 0, time.monotonic()
        while True:
            retry_after = None
            try:
                answer = await self._http.request(method, path, **options)
                if answer.status_code < 400:
                    return answer
                retry_after = answer.headers.get("retry-after")
                if answer.status_code not in AGAIN or time.monotonic() - since > self._patience:
                    raise error_of(answer.status_code, answer.content)
            except httpx.ConnectError:
                if time.monotonic() - since > self._patience:
                    raise
            except httpx.TransportError:
                if not again or time.monotonic() - since > self._patience:
                    raise
            await asyncio.sleep(wait_before(attempt, retry_after))
            attempt += 1
