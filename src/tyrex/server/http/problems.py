"""What is wrong with a request, as problem+json: a code, what was found, what was expected, and what to do."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from tyrex.engine import DoesNotFit, RuleInUse, UnknownEvent, UnknownRule
from tyrex.events import EventError
from tyrex.server.access import Forbidden, KeyFileUnusable, Unauthenticated
from tyrex.server.log import DiskFull, LogFailed
from tyrex.server.node import Busy, NodeClosed, RuleRefused
from tyrex.tesla import TeslaError

_log = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"


class Problem(Exception):
    """A request that can't be done."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        found: str | None = None,
        expected: str | None = None,
        help: str | None = None,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = dict(headers or {})
        told = {"found": found, "expected": expected, "help": help, **more}
        self.body: dict[str, Any] = {
            "type": f"urn:tyrex:problem:{code}",
            "title": _TITLES.get(code, code),
            "status": status,
            "code": code,
            "detail": detail,
            **{name: value for name, value in told.items() if value is not None},
        }

    def response(self) -> Response:
        """It as an answer."""
        return JSONResponse(self.body, self.status, self.headers, MEDIA_TYPE)


_TITLES = {
    "EVENTS_REJECTED": "The data holds what is no event",
    "RULES_WRONG": "The rules are wrong",
    "FILTER_WRONG": "The filter is wrong",
    "BUSY": "The queue is full",
    "RATE": "Too many requests",
    "DISK_FULL": "The disk is full",
    "UNAVAILABLE": "The node takes nothing more",
    "UNAUTHENTICATED": "It is not known who asks",
    "FORBIDDEN": "This is not allowed",
    "NOT_FOUND": "There is no such thing",
    "IN_USE": "Others build on it",
    "TOO_LARGE": "The body is too large",
    "MEDIA_TYPE": "The body is of another kind",
    "REQUEST_WRONG": "The request is wrong",
    "LIMIT": "A limit is reached",
    "INTERNAL": "Something went wrong in the server",
}


def problem_of(error: BaseException) -> Problem:
    """What to tell of an error."""
    match error:
        case Problem():
            return error
        case TeslaError():
            records = [diagnostic.record() for diagnostic in error.diagnostics]
            return Problem(422, "RULES_WRONG", str(error), errors=records)
        case EventError():
            return Problem(
                422, "EVENTS_REJECTED", str(error), help="nothing was accepted: correct it, and send again"
            )
        case RuleInUse():
            return Problem(409, "IN_USE", str(error))
        case UnknownRule():
            return Problem(404, "NOT_FOUND", str(error), help="GET /v1/rules lists the rules that there are")
        case RuleRefused() | DoesNotFit():
            return Problem(409, "LIMIT", str(error))
        case UnknownEvent():
            return Problem(404, "NOT_FOUND", str(error))
        case Busy():
            return Problem(429, "BUSY", str(error), headers={"Retry-After": "1"})
        case DiskFull():
            return Problem(
                507,
                "DISK_FULL",
                str(error),
                help="make room on the disk of the server; what is sent again then is accepted",
                headers={"Retry-After": "5"},
            )
        case NodeClosed() | LogFailed() | KeyFileUnusable():
            return Problem(503, "UNAVAILABLE", str(error), headers={"Retry-After": "5"})
        case Unauthenticated():
            return Problem(401, "UNAUTHENTICATED", str(error), headers={"WWW-Authenticate": "Bearer"})
        case Forbidden():
            return Problem(403, "FORBIDDEN", str(error))
        case _:
            _log.error("a request failed: %s", error, exc_info=error)
            return Problem(
                500, "INTERNAL", "the server's log has the details", help="report it, with the log"
            )


def _of_validation(error: RequestValidationError) -> Problem:
    errors = [
        {"where": ".".join(map(str, one["loc"])), "message": str(one["msg"])} for one in error.errors()[:20]
    ]
    first = errors[0] if errors else {"where": "the request", "message": "it can't be read"}
    return Problem(
        422,
        "REQUEST_WRONG",
        f"{first['where']}: {first['message']}",
        help="/openapi.json tells what each request looks like",
        errors=errors,
    )


def _of_http(error: HTTPException) -> Problem:
    code = {404: "NOT_FOUND", 405: "REQUEST_WRONG"}.get(error.status_code, "REQUEST_WRONG")
    return Problem(
        error.status_code,
        code,
        str(error.detail),
        help="/openapi.json lists every path and its methods",
        headers=error.headers,
    )


def install(app: FastAPI) -> None:
    """Have every error of an application answered as a problem."""

    async def answer(request: Request, error: Exception) -> Response:
        if isinstance(error, RequestValidationError):
            problem = _of_validation(error)
        elif isinstance(error, HTTPException):
            problem = _of_http(error)
        else:
            problem = problem_of(error)
        request.app.state.context.metrics.refuse(problem.body["code"])
        return problem.response()

    known: tuple[type[Exception], ...] = (
        Problem,
        TeslaError,
        EventError,
        RuleInUse,
        UnknownRule,
        RuleRefused,
        DoesNotFit,
        UnknownEvent,
        Busy,
        DiskFull,
        NodeClosed,
        LogFailed,
        KeyFileUnusable,
        Unauthenticated,
        Forbidden,
        RequestValidationError,
        HTTPException,
        Exception,
    )
    for kind in known:
        app.add_exception_handler(kind, answer)
