"""How an input tells the type and the time of its events."""

from __future__ import annotations

from dataclasses import dataclass

from tyrex.tesla.types import TIMESTAMP


@dataclass(frozen=True, slots=True)
class Form:
    """Where the type and the timestamp of the events of an input stand."""

    type: str | None = None
    """The type of all its events; None: each says its own, under `type`."""
    timestamp: str = TIMESTAMP
    """The key or column that holds the time."""


PLAIN = Form()
"""Events that say their `type` and their `timestamp`."""
