"""Backtests: a rule text over recorded events, with its progress, beside what the deployed rules detected."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.requests import HTTPConnection
from starlette.responses import StreamingResponse

from tyrex.server.access import Principal, Right
from tyrex.server.http.context import Context, Here, allowed
from tyrex.server.http.detections import _moment
from tyrex.server.http.problems import Problem, problem_of
from tyrex.server.http.rules import RuleText, _limit, _translated
from tyrex.server.node.backtest import Cancelled, Question, plan, run

router = APIRouter(tags=["backtests"])
Manager = Annotated[Principal, Depends(allowed(Right.BACKTEST))]
_KEPT = 20
_RUNNING = 2


class BacktestQuestion(RuleText):
    """A rule text, and the time of the events to run it over."""

    since: str | float | None = None
    until: str | float | None = None


@dataclass
class Backtest:
    """A backtest that runs, or has run."""

    number: int
    by: str
    state: str = "running"
    """`running`, `done`, `failed` or `cancelled`."""
    done: int = 0
    of: int = 0
    result: dict[str, Any] | None = None
    problem: dict[str, Any] | None = None
    cancelled: bool = False
    task: asyncio.Task[None] | None = field(default=None, repr=False)

    def record(self) -> dict[str, Any]:
        """It as the API shows it."""
        return {
            "id": self.number,
            "by": self.by,
            "state": self.state,
            "records": {"done": self.done, "of": self.of},
            "result": self.result,
            "problem": self.problem,
        }


class Backtests:
    """The latest backtests; two may run at a time."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._kept: dict[int, Backtest] = {}

    def start(self, here: Context, question: Question, by: str) -> Backtest:
        """Begin one."""
        running = sum(test.state == "running" for test in self._kept.values())
        if running >= _RUNNING:
            raise Problem(
                429,
                "LIMIT",
                f"{running} backtests are running, as many as are allowed",
                help="wait until one is done, or end it with DELETE",
            )
        test = Backtest(next(self._numbers), by)
        self._kept[test.number] = test
        for number in [n for n, t in self._kept.items() if t.state != "running"][:-_KEPT]:
            del self._kept[number]
        test.task = asyncio.create_task(_run(here, test, question))
        return test

    def get(self, number: int) -> Backtest:
        """One by its number."""
        if number not in self._kept:
            raise Problem(404, "NOT_FOUND", f"there is no backtest {number}, or it is kept no more")
        return self._kept[number]

    async def close(self) -> None:
        """End all."""
        tasks = [test.task for test in self._kept.values() if test.task is not None]
        for test in self._kept.values():
            test.cancelled = True
        await asyncio.gather(*tasks, return_exceptions=True)


async def _run(here: Context, test: Backtest, question: Question) -> None:
    def progress(done: int, of: int) -> None:
        test.done, test.of = done, of
        if test.cancelled:
            raise Cancelled

    node = here.node
    try:
        delay, zone = await here.result(node.ask(lambda s: (s.engine.delay, s.engine.time_zone)))
        comparison = await asyncio.to_thread(
            run,
            question,
            deployed=node.rules,
            store=node.store,
            delay=delay,
            time_zone=zone,
            progress=progress,
        )
        test.result, test.state = comparison.to_json(), "done"
    except Cancelled:
        test.state = "cancelled"
    except FileNotFoundError:
        test.state = "failed"
        test.problem = Problem(
            409, "LIMIT", "events were forgotten while the backtest read them", help="start it again"
        ).body
    except Exception as error:
        test.state, test.problem = "failed", problem_of(error).body


def _backtests(connection: HTTPConnection) -> Backtests:
    backtests: Backtests = connection.app.state.backtests
    return backtests


Tests = Annotated[Backtests, Depends(_backtests)]


@router.post("/v1/backtests", status_code=202)
async def start(question: BacktestQuestion, here: Here, tests: Tests, principal: Manager) -> dict[str, Any]:
    """Begin to run a rule text over the recorded events of a time; wrong rules are told at once."""
    _limit(question, here)
    text = question.text
    if question.language == "raced":
        text = await asyncio.to_thread(_translated, question)
    await asyncio.to_thread(plan, text, here.node.rules)
    since = None if question.since is None else _moment(str(question.since), "since")
    until = None if question.until is None else _moment(str(question.until), "until")
    return tests.start(here, Question(text, since, until), principal.name).record()


@router.get("/v1/backtests/{id}")
async def result(id: int, tests: Tests, principal: Manager) -> dict[str, Any]:
    """How far a backtest is, and what it found: which detections appear, and which go away."""
    return tests.get(id).record()


@router.get("/v1/backtests/{id}/stream")
async def follow(id: int, tests: Tests, principal: Manager) -> StreamingResponse:
    """The progress of a backtest as server-sent events; the last one has the result."""
    test = tests.get(id)

    async def events() -> AsyncIterator[bytes]:
        told = ""
        while True:
            state = test.state
            name = "progress" if state == "running" else state
            text = f"event: {name}\ndata: {json.dumps(test.record())}\n\n"
            if text != told:
                yield text.encode()
                told = text
            if state != "running":
                return
            await asyncio.sleep(0.1)

    return StreamingResponse(events(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


@router.delete("/v1/backtests/{id}")
async def cancel(id: int, tests: Tests, principal: Manager) -> dict[str, Any]:
    """End a backtest."""
    test = tests.get(id)
    test.cancelled = True
    return test.record()
