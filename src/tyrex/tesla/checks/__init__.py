"""The checks: an ordered list of small passes, each in a module of its own.

A pass reads the context, adds what it found out and reports what is wrong; none stops at the first error.
"""

from __future__ import annotations

from collections.abc import Callable

from tyrex.tesla.checks.context import Context
from tyrex.tesla.checks.contradictions import contradictions
from tyrex.tesla.checks.declarations import declarations
from tyrex.tesla.checks.events import events
from tyrex.tesla.checks.hierarchy import hierarchy
from tyrex.tesla.checks.inference import inference
from tyrex.tesla.checks.parameters import parameters
from tyrex.tesla.checks.references import references
from tyrex.tesla.checks.rule_names import rule_names
from tyrex.tesla.checks.timers import timer_fields, timers
from tyrex.tesla.checks.tree import tree
from tyrex.tesla.checks.types import types
from tyrex.tesla.checks.where import where
from tyrex.tesla.checks.windows import windows

PASSES: tuple[Callable[[Context], None], ...] = (
    declarations,
    rule_names,
    events,
    timers,
    tree,
    references,
    parameters,
    timer_fields,
    inference,
    types,
    where,
    hierarchy,
    windows,
    contradictions,
)


def run_passes(context: Context) -> None:
    """Run every pass, in order."""
    for run in PASSES:
        run(context)
