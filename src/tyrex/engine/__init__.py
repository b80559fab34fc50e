"""The engine: rules over a stream of events, in the process, at native speed."""

from tyrex.engine.detections import Composite, Detections
from tyrex.engine.engine import Engine, RuleInUse, UnknownRule, UnknownSubscription
from tyrex.engine.layout import DoesNotFit
from tyrex.engine.provenance import Provenance, UnknownEvent
from tyrex.engine.queue import ConsumerError, QueueClosed, QueuedEngine, QueueFull, QueueStats
from tyrex.engine.snapshot import SnapshotError
from tyrex.engine.stats import Stats
from tyrex.engine.trace import Cause
from tyrex.engine.why_not import WhyNot

__all__ = [
    "Cause",
    "Composite",
    "ConsumerError",
    "Detections",
    "DoesNotFit",
    "Engine",
    "Provenance",
    "QueueClosed",
    "QueueFull",
    "QueueStats",
    "QueuedEngine",
    "RuleInUse",
    "SnapshotError",
    "Stats",
    "UnknownEvent",
    "UnknownRule",
    "UnknownSubscription",
    "WhyNot",
]
