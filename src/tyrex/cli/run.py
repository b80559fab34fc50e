"""`tyrex run`: detects composite events in a file of events."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from tyrex import reference
from tyrex.cli.common import fail, load_rules
from tyrex.events import Conformer, Event, EventError, to_microseconds
from tyrex.io import Rejected, open_events, write_json_event
from tyrex.rules import RuleSet
from tyrex.tesla import CheckedSubscription, TeslaError
from tyrex.tesla.durations import NotADuration, parse_duration
from tyrex.tesla.evaluate import holds
from tyrex.tesla.expressions import Aggregate, Precedes
from tyrex.tesla.values import Tally, Value


class Runtime(StrEnum):
    """Where rules can run."""

    REFERENCE = "reference"


def run(
    rules: Annotated[Path, typer.Argument(help="A rule file, or a directory of them.")],
    events: Annotated[str, typer.Argument(help="Events as JSON lines; - is standard input.")],
    output: Annotated[str, typer.Option("-o", "--output", help="A file; - is standard output.")] = "-",
    on: Annotated[Runtime, typer.Option(help="The runtime.")] = Runtime.REFERENCE,
    delay: Annotated[
        str | None, typer.Option(help="How late an event may come, as `30s`; without it events are sorted.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="Move time on to this at the end: seconds or ISO 8601.")
    ] = None,
    time_zone: Annotated[str, typer.Option(help="The time zone of timers.")] = "UTC",
    subscribe: Annotated[
        str | None, typer.Option(help='Only composite events that fit, as `Fire(area = "A1")`.')
    ] = None,
    lineage: Annotated[bool, typer.Option("--lineage", help="With each, the events it was made of.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first bad line.")] = False,
) -> None:
    """Detect composite events, and print them as JSON lines.

    Data that is no event is reported on standard error, counted and left out.
    """
    rule_set = load_rules(rules)
    subscription = _subscription(rule_set, subscription_text=subscribe)
    _require_time_zone(time_zone)
    try:
        delayed = None if delay is None else parse_duration(delay)
        end = None if until is None else to_microseconds(float(until) if _is_number(until) else until)
        accepted, rejected = _read(rule_set, events, strict=strict)
        outcome = reference.run(rule_set.checked, accepted, delay=delayed, until=end, time_zone=time_zone)
    except (NotADuration, EventError) as error:
        raise fail(str(error)) from None
    except OSError as error:
        raise fail(f"{events} can't be read: {error.strerror or error}") from None
    found = [event for event in outcome.composites if subscription is None or _fits(subscription, event)]
    lines = [
        write_json_event(event, lineage=outcome.lineage[event.id or ""] if lineage else None)
        for event in found
    ]
    _write(output, lines)
    parts = [_counted(len(accepted), "event", " in"), _counted(len(found), "composite event", " out")]
    parts += [f"{rejected} rejected"] if rejected else []
    parts += [f"{len(outcome.late)} late"] if outcome.late else []
    parts += [f"{outcome.unused} of types that no rule knows"] if outcome.unused else []
    parts += [_counted(outcome.open_deadlines, "deadline", " still open")] if outcome.open_deadlines else []
    parts += [_counted(outcome.overflows, "overflow")] if outcome.overflows else []
    typer.echo(", ".join(parts), err=True)


def _counted(count: int, what: str, rest: str = "") -> str:
    return f"{count} {what}{'' if count == 1 else 's'}{rest}"


def _require_time_zone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise fail(f"there is no time zone `{name}`: write it as `Europe/Rome` or `UTC`") from None


def _read(rules: RuleSet, path: str, *, strict: bool) -> tuple[list[Event], int]:
    """The events that fit their types, in order of arrival, and how many do not."""
    types = {name: t for name, t in rules.types.items() if name != "Timer"}
    conform = Conformer(types)
    shown = "standard input" if path == "-" else path
    rejected = 0

    def on_rejected(data: Rejected) -> None:
        nonlocal rejected
        if strict:
            raise fail(f"{shown}: {data}")
        rejected += 1
        typer.echo(f"{shown}: {data}", err=True)

    reader = open_events(path, types=types, on_rejected=on_rejected)
    accepted: list[Event] = []
    for event in reader:
        try:
            conform(event)
        except EventError as error:
            reader.reject(str(error))
            continue
        accepted.append(event)
    return accepted, rejected


def _write(output: str, lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    if output == "-":
        typer.echo(text.encode(), nl=False)  # JSON lines are UTF-8, whatever the terminal is
        return
    try:
        Path(output).write_text(text, "utf-8")
    except OSError as error:
        raise fail(f"{output} can't be written: {error.strerror or error}") from None


def _subscription(rules: RuleSet, *, subscription_text: str | None) -> CheckedSubscription | None:
    if subscription_text is None:
        return None
    try:
        return rules.subscription(subscription_text)
    except TeslaError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class _OneEvent:
    """The scope of a subscription: a single event."""

    def __init__(self, event: Event) -> None:
        self._event = event

    def attribute(self, event: int, name: str) -> Value:
        return self._event.get(name)

    def precedes(self, node: Precedes) -> bool:
        raise AssertionError("a subscription speaks of one event")

    def aggregate(self, node: Aggregate) -> Value:
        raise AssertionError("a subscription has no aggregates")


def _fits(subscription: CheckedSubscription, event: Event) -> bool:
    scope = _OneEvent(event)
    return event.type == subscription.type and all(holds(c, scope, Tally()) for c in subscription.conditions)
