"""Tyrex: complex event processing for Python and Spark. One rule file, one meaning, wherever it runs."""

from typing import TYPE_CHECKING, Any

from tyrex.engine import Detections, Engine
from tyrex.events import Event, EventError
from tyrex.rules import Rule, RuleSet, load, parse
from tyrex.tesla import Diagnostic, EventType, TeslaError, ValueType

if TYPE_CHECKING:
    from tyrex.client import AsyncClient, Client

__version__ = "0.1.0"

__all__ = [
    "AsyncClient",
    "Client",
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


def __getattr__(name: str) -> Any:
    """The clients, when somebody asks for them: they need packages that an engine does not."""
    if name in ("AsyncClient", "Client"):
        from tyrex import client

        return getattr(client, name)
    raise AttributeError(f"module 'tyrex' has no attribute {name!r}")
