"""The engine: rules over a stream of events, in the process, at native speed."""

from tyrex.engine.detections import Composite, Detections
from tyrex.engine.engine import Engine

__all__ = ["Composite", "Detections", "Engine"]
