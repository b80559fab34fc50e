"""Calendar timers (SEMANTICS section 7): which instants fit `Timer(H = 9, M = 0, D = Friday)`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from tyrex.events import FIRST_TIMESTAMP, LAST_TIMESTAMP, Value
from tyrex.tesla import CheckedRule
from tyrex.tesla.durations import DAY, MINUTE, SECOND
from tyrex.tesla.expressions import Attribute, walk

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COARSENESS = {"S": 0, "M": 1, "H": 2, "D": 3, "Day": 3, "Month": 4, "Year": 5}
_START = {"S": 0, "M": 0, "H": 0, "Day": 1, "Month": 1}


def timer_fields(instant: int, zone: ZoneInfo) -> dict[str, Value]:
    """The attributes of the timer event at an instant: its local time; none beyond the end of the calendar."""
    if not FIRST_TIMESTAMP + DAY < instant < LAST_TIMESTAMP - DAY:
        return {}
    local = (_EPOCH + timedelta(microseconds=instant)).astimezone(zone)
    return {
        "S": local.second,
        "M": local.minute,
        "H": local.hour,
        "D": local.isoweekday(),
        "Day": local.day,
        "Month": local.month,
        "Year": local.year,
    }


def fields_of(rule: CheckedRule) -> set[str]:
    """The fields that a timer rule mentions."""
    nodes = (node for condition in rule.terminator.conditions for node in walk(condition))
    return {node.name for node in nodes if isinstance(node, Attribute) and node.name in _COARSENESS}


def finer_fields_are_zero(rule: CheckedRule, fields: dict[str, Value]) -> bool:
    """Whether the fields finer than the finest one mentioned are 0, days and months at their first."""
    finest = min(_COARSENESS[name] for name in fields_of(rule))
    return all(fields.get(name) == start for name, start in _START.items() if _COARSENESS[name] < finest)


def instants(rules: list[CheckedRule], after: int, until: int) -> Iterator[int]:
    """Every instant in a stretch of time at which a timer of these rules could be: `after` excluded, `until` included.

    No time zone of today has an offset that is not a whole number of minutes.
    """
    if not rules:
        return
    step = SECOND if any("S" in fields_of(rule) for rule in rules) else MINUTE
    instant = (after // step + 1) * step
    while instant <= until:
        yield instant
        instant += step
