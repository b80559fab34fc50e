"""Tyrex: complex event processing for Python and Spark. One rule file, one meaning, wherever it runs."""

from tyrex.engine import Detections, Engine
from tyrex.events import Event, EventError
from tyrex.rules import Rule, RuleSet, load, parse
from tyrex.tesla import Diagnostic, EventType, TeslaError, ValueType

__version__ = "0.1.0"

__all__ = [
    "Detections",
    "Diagnostic",
    "Engine",
    "Event",
    "EventError",
    "EventType",
    "Rule",
    "RuleSet",
    "TeslaError",
    "ValueType",
    "__version__",
    "load",
    "parse",
]
