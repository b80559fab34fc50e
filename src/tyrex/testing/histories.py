"""Histories: events in the papers' notation, or made along a clock that the test turns."""

from __future__ import annotations

from datetime import datetime

from tyrex.events import Event, Value, parse_events, to_microseconds
from tyrex.tesla.durations import parse_duration


def history(text: str) -> list[Event]:
    """Events written as `Temp@10(area="A1", value=24.5)`, one or several to a line.

    >>> history('Temp@10(value=50) Smoke@5min()')[1].timestamp
    300000000
    """
    return parse_events(text)


class Clock:
    """A virtual clock: it stands still until the test turns it, and stamps the events made along it.

    >>> clock = Clock()
    >>> _ = clock.event("Temp", value=50.0)
    >>> clock.advance("5 min")
    >>> _ = clock.event("Smoke")
    >>> print(*clock.events)
    Temp@0(value=50.0) Smoke@300()
    """

    def __init__(self, start: int | float | str | datetime = 0) -> None:
        self.now = to_microseconds(start)
        self.events: list[Event] = []

    def advance(self, duration: str) -> None:
        """Move on by a duration, such as `5 min`."""
        self.now += parse_duration(duration)

    def event(self, type: str, /, **attributes: Value) -> Event:
        """An event now."""
        event = Event(type, self.now, attributes)
        self.events.append(event)
        return event
