"""What can be set about a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """The choices of a node; the defaults fit a laptop."""

    delay: str = "0 s"
    """How late an event may come."""
    time_zone: str = "UTC"
    threads: int = 1
    clock: Literal["events", "wall"] = "events"
    """Whether time is only that of the events, or also passes by the clock."""
    tick: float = 0.5
    """Seconds between two moves of the clock."""
    capacity: int = 200_000
    """Events that may wait before producers are told to come back."""
    ids: int = 500_000
    """How many ids are known, to tell what was sent twice."""
    snapshot_bytes: int = 256 << 20
    """A snapshot is taken when the log has grown so much,"""
    snapshot_seconds: float = 300.0
    """or after so long, if anything has changed."""
    keep_bytes: int = 8 << 30
    """How large the logs may grow, beyond what recovery needs."""
    keep_seconds: float = 7 * 86400.0
    """How long events and detections are kept."""
    segment_bytes: int = 64 << 20
    matches: int = 10_000
    """How many matches a rule may make at one moment; one that makes more is paused."""
    rules: int = 10_000
    sync: bool = True
    """Whether to wait for the disk before producers are answered; False is for measuring what that costs."""
