"""Partial rules from their text, as other processors send them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tyrex.plan.partition.model import PartialRule
from tyrex.plan.partition.subject import subject_of_rule
from tyrex.plan.partition.text import HEAD, SEND
from tyrex.tesla.check import check_text
from tyrex.tesla.checked import CheckedRules
from tyrex.tesla.types import EventType


def parse_partial(text: str, types: Mapping[str, EventType]) -> PartialRule:
    """The partial rule of a text; `types` are the event types it may speak of.

    Raises `TeslaError` if the pattern is wrong, and `ValueError` if the text is no partial rule.
    """
    pattern, separator, listed = text.rpartition(SEND)
    if not separator:
        raise ValueError("expected a line `send ..` at the end of a partial rule, found none; add it")
    known = CheckedRules((), MappingProxyType(dict(types)))
    checked = check_text(HEAD + pattern, "<partial rule>", known=known).rules
    if len(checked) != 1:
        raise ValueError(f"expected one pattern before `send`, found {len(checked)}; send them one by one")
    (rule,) = checked
    subject = subject_of_rule(rule, False)
    if subject.aggregates or rule.consuming or rule.assignments or rule.events[0].type == "Timer":
        raise ValueError(
            "expected events and negations only in a partial rule, found an aggregate, a timer, `where` or "
            "`consuming`; leave it out"
        )
    places = {event.name: event.index for event in rule.events}
    sent = [name.strip() for name in listed.split(",")]
    for name in sent:
        if name not in places:
            raise ValueError(
                f"expected events of the pattern after `send`, found `{name}`; choose from {', '.join(places)}"
            )
    return PartialRule(subject.parts, subject.absences, tuple(sorted({places[name] for name in sent})))
