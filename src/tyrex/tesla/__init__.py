"""The TESLA language: grammar, syntax tree, checks, diagnostics, formatter."""

from tyrex.tesla.check import check_sources, check_subscription, check_text, examine_files, examine_sources
from tyrex.tesla.checked import (
    BoundParameter,
    CheckedRule,
    CheckedRules,
    CheckedSubscription,
    Negation,
    PatternEvent,
)
from tyrex.tesla.diagnostics import Diagnostic, Severity, TeslaError
from tyrex.tesla.source import Source, Span
from tyrex.tesla.types import AttributeType, EventType, Origin, ValueType

__all__ = [
    "AttributeType",
    "BoundParameter",
    "CheckedRule",
    "CheckedRules",
    "CheckedSubscription",
    "Diagnostic",
    "EventType",
    "Negation",
    "Origin",
    "PatternEvent",
    "Severity",
    "Source",
    "Span",
    "TeslaError",
    "ValueType",
    "check_sources",
    "check_subscription",
    "check_text",
    "examine_files",
    "examine_sources",
]
