"""The engine: rules over a stream of events, in the process, at native speed."""

from tyrex.engine.detections import Composite, Detections
from tyrex.engine.engine import Engine
from tyrex.engine.provenance import Provenance, UnknownEvent
from tyrex.engine.queue import ConsumerError, QueueClosed, QueuedEngine, QueueFull, QueueStats
from tyrex.engine.trace import Cause
from tyrex.engine.why_not import WhyNot

__all__ = [
    "Cause",
    "Composite",
    "ConsumerError",
    "Detections",
    "Engine",
    "Provenance",
    "QueueClosed",
    "QueueFull",
    "QueueStats",
    "QueuedEngine",
    "UnknownEvent",
    "WhyNot",
]
