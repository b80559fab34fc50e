"""Events: their form, their time, their identity, and the papers' notation for them."""

from tyrex.events.conform import Conformer, conform
from tyrex.events.errors import EventError
from tyrex.events.event import Event, Value
from tyrex.events.identity import Identities, composite_id, content_id, timer_id
from tyrex.events.notation import parse_event, parse_events
from tyrex.events.time import (
    FIRST_TIMESTAMP,
    LAST_TIMESTAMP,
    format_seconds,
    format_timestamp,
    to_microseconds,
)

__all__ = [
    "FIRST_TIMESTAMP",
    "LAST_TIMESTAMP",
    "Conformer",
    "Event",
    "EventError",
    "Identities",
    "Value",
    "composite_id",
    "conform",
    "content_id",
    "format_seconds",
    "format_timestamp",
    "parse_event",
    "parse_events",
    "timer_id",
    "to_microseconds",
]
