"""The node: one thread that owns an engine and its log, and numbers what is detected."""

from tyrex.server.node.detections import Detection, DetectionLog, Page
from tyrex.server.node.filters import Filter, filter_of
from tyrex.server.node.node import Busy, Changed, Node, NodeClosed, Publication, Receipt
from tyrex.server.node.records import Action, RulesRecord
from tyrex.server.node.recovery import DataUnusable
from tyrex.server.node.rulebook import Change, RuleEntry, RuleRefused
from tyrex.server.node.settings import NodeSettings
from tyrex.server.node.state import State

__all__ = [
    "Action",
    "Busy",
    "Change",
    "Changed",
    "DataUnusable",
    "Detection",
    "DetectionLog",
    "Filter",
    "Node",
    "NodeClosed",
    "NodeSettings",
    "Page",
    "Publication",
    "Receipt",
    "RuleEntry",
    "RuleRefused",
    "RulesRecord",
    "State",
    "filter_of",
]
