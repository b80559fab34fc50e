"""Rules: look at them, check them, change them."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from tyrex.events import format_timestamp
from tyrex.plan import draw
from tyrex.raced import examine_raced
from tyrex.rules import RuleSet, examine
from tyrex.server.access import Principal, Right
from tyrex.server.http.context import Context, Here, allowed
from tyrex.server.http.problems import Problem, problem_of
from tyrex.server.node import Action, RuleEntry, RulesRecord
from tyrex.server.node.rulebook import without
from tyrex.tesla import Severity, Source, TeslaError
from tyrex.tesla.format import format_file, format_tree

router = APIRouter(tags=["rules"])
Manager = Annotated[Principal, Depends(allowed(Right.CHANGE_RULES))]
Reader = Annotated[Principal, Depends(allowed(Right.READ_RULES))]


class RuleText(BaseModel):
    """Rules as text."""

    text: str = Field(description="One rule or several, with the types they declare.")
    language: Literal["tesla", "raced"] = "tesla"


class RuleInfo(BaseModel):
    """A deployed rule."""

    name: str
    text: str
    defines: str
    state: str
    reason: str
    since: int = Field(description="The record that brought it.")
    at: str
    by: str
    original: str
    evaluated: int = 0
    fired: int = 0


class RulesChanged(BaseModel):
    """What a change of the rules did; it is safe, and acts on every event from its record on."""

    record: int
    names: list[str]


@router.get("/v1/rules")
async def list_rules(here: Here, principal: Reader) -> list[RuleInfo]:
    """The deployed rules, with what they have done."""
    entries, stats = await here.result(
        here.node.ask(lambda state: (list(state.rulebook.entries.values()), state.engine.stats().rules))
    )
    return [
        _info(entry, stats[entry.name].evaluated, stats[entry.name].fired)
        for entry in entries
        if entry.name in stats
    ]


def _info(entry: RuleEntry, evaluated: int, fired: int) -> RuleInfo:
    return RuleInfo(
        name=entry.name,
        text=entry.text,
        defines=entry.defines,
        state=entry.state,
        reason=entry.reason,
        since=entry.since,
        at=format_timestamp(entry.at),
        by=entry.by,
        original=entry.original,
        evaluated=evaluated,
        fired=fired,
    )


@router.get("/v1/rules/history")
async def history(
    here: Here,
    principal: Reader,
    name: Annotated[str | None, Query(description="Only what was done to this rule.")] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 200,
) -> list[dict[str, Any]]:
    """Every change of the rules, the newest first."""
    changes = await here.result(here.node.ask(lambda state: list(state.rulebook.history)))
    chosen = [c for c in reversed(changes) if name is None or name in c.names][:limit]
    return [
        {
            "record": c.number,
            "action": c.action,
            "at": format_timestamp(c.at),
            "by": c.by,
            "names": list(c.names),
            "text": c.text,
        }
        for c in chosen
    ]


@router.get("/v1/rules/{name}")
async def one_rule(name: str, here: Here, principal: Reader) -> RuleInfo:
    """One deployed rule."""
    for rule in await list_rules(here, principal):
        if rule.name == name:
            return rule
    raise _unknown(name)


@router.get("/v1/rules/{name}/picture")
async def picture(
    name: str, here: Here, principal: Reader, format: Literal["svg", "mermaid", "dot", "text"] = "svg"
) -> Response:
    """The automaton of a rule."""
    if name not in here.node.rules:
        raise _unknown(name)
    drawn = await asyncio.to_thread(draw, here.node.rules[name].plan, format)
    return Response(drawn, media_type="image/svg+xml" if format == "svg" else "text/plain; charset=utf-8")


def _unknown(name: str) -> Problem:
    return Problem(
        404, "NOT_FOUND", f"there is no rule `{name}`", help="GET /v1/rules lists the rules that there are"
    )


@router.post("/v1/rules/check")
async def check(given: RuleText, here: Here, principal: Reader) -> dict[str, Any]:
    """Everything that is wrong with a text, and its automata if nothing is; nothing is changed."""
    _limit(given, here)
    return await asyncio.to_thread(_checked, given, here.node.rules)


def _checked(given: RuleText, deployed: RuleSet) -> dict[str, Any]:
    source = _source(given)
    alone, _ = examine([source], known=without(deployed, [rule.name for rule in deployed]))
    names = [] if alone is None else [rule.name for rule in alone]
    rules, diagnostics = examine([source], known=without(deployed, names))
    own = [] if rules is None else [rule for rule in rules if rule.name in names]
    return {
        "ok": not any(d.severity is Severity.ERROR for d in diagnostics),
        "diagnostics": [diagnostic.record() for diagnostic in diagnostics],
        "rules": [
            {
                "name": rule.name,
                "defines": rule.defines.name,
                "text": rule.canonical_text,
                "picture": draw(rule.plan, "svg"),
                "replaces": rule.name in deployed,
            }
            for rule in own
        ],
    }


@router.post("/v1/rules/format")
async def format_rules(given: RuleText, here: Here, principal: Reader) -> dict[str, str]:
    """A text in the canonical layout; RACED becomes the TESLA that it means."""
    _limit(given, here)
    if given.language == "raced":
        return {"text": await asyncio.to_thread(_translated, given)}
    return {"text": await asyncio.to_thread(format_file, _source(given))}


@router.post("/v1/rules", status_code=201)
async def define(
    given: RuleText,
    request: Request,
    here: Here,
    principal: Manager,
    replace: Annotated[
        bool, Query(description="Rules of the same names give way, and those that build on them start anew.")
    ] = False,
) -> RulesChanged:
    """Deploy rules; types that the text declares are advertised, also without any rule."""
    _limit(given, here)
    action = Action.REPLACE if replace else Action.DEFINE
    text = await asyncio.to_thread(_translated, given) if given.language == "raced" else given.text
    original = given.text if given.language == "raced" else ""
    return await _change(here, request, principal, action, text=text, original=original)


@router.post("/v1/rules/{name}/pause")
async def pause(name: str, request: Request, here: Here, principal: Manager) -> RulesChanged:
    """Let a rule make nothing until it is resumed; its windows go on filling."""
    return await _change(here, request, principal, Action.PAUSE, names=(name,))


@router.post("/v1/rules/{name}/resume")
async def resume(name: str, request: Request, here: Here, principal: Manager) -> RulesChanged:
    """Let a paused or stopped rule go on."""
    return await _change(here, request, principal, Action.RESUME, names=(name,))


@router.delete("/v1/rules/{name}")
async def remove(name: str, request: Request, here: Here, principal: Manager) -> RulesChanged:
    """Take a rule away; refused while others build on it."""
    return await _change(here, request, principal, Action.REMOVE, names=(name,))


async def _change(
    here: Context,
    request: Request,
    principal: Principal,
    action: Action,
    *,
    text: str = "",
    names: tuple[str, ...] = (),
    original: str = "",
) -> RulesChanged:
    at = here.node.now()
    address = request.client.host if request.client else ""
    record = RulesRecord(action, at, principal.name, text, names, original)

    def note(done: tuple[str, ...], outcome: str) -> None:
        here.access.audit.note(
            format_timestamp(at), principal.name, address, action, done, outcome, text=original or text
        )

    try:
        changed = await here.result(here.node.change(record))
    except Exception as error:
        note(names, problem_of(error).body["code"])
        raise
    note(changed.names, "done")
    return RulesChanged(record=changed.record, names=list(changed.names))


def _limit(given: RuleText, here: Context) -> None:
    size = len(given.text)
    if size > here.limits.rule_text:
        raise Problem(
            413,
            "TOO_LARGE",
            f"the text has {size:,} characters",
            expected=f"at most {here.limits.rule_text:,}",
            help="send the rules in several requests",
        )


def _source(given: RuleText) -> Source:
    return Source(given.text, "rules.raced" if given.language == "raced" else "rules.tesla")


def _translated(given: RuleText) -> str:
    tree, diagnostics = examine_raced(_source(given))
    errors = [d for d in diagnostics if d.severity is Severity.ERROR]
    if errors:
        raise TeslaError(errors)
    return format_tree(tree)
