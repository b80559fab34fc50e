"""Assertions on what rules detect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tyrex.events import Conformer, Event, parse_events
from tyrex.rules import RuleSet, parse
from tyrex.tesla.diagnostics import did_you_mean, listing
from tyrex.testing.runtimes import RUNTIMES, Setting


def detect(
    rules: RuleSet | str,
    events: Iterable[Event] | str,
    *,
    on: str = "reference",
    setting: Setting | None = None,
) -> list[Event]:
    """The composite events that rules make of a history."""
    if on not in RUNTIMES:
        raise ValueError(f"no runtime `{on}`; there is {', '.join(RUNTIMES)}")
    rules = parse(rules) if isinstance(rules, str) else rules
    events = parse_events(events, rules.types) if isinstance(events, str) else list(events)
    return list(RUNTIMES[on](rules, events, setting or Setting()).composites)


def assert_fires(
    rules: RuleSet | str,
    events: Iterable[Event] | str,
    *expected: str,
    exactly: bool = False,
    on: str = "reference",
    setting: Setting | None = None,
) -> None:
    """Assert that these composite events are detected, in this order; with `exactly`, no others.

    An expected event is written `Fire@12(area="A1")` or, to say only that there is one, `Fire`.
    """
    rules = parse(rules) if isinstance(rules, str) else rules
    wanted = [word for text in expected for word in _expectations(text, rules)]
    if not wanted and not exactly:
        raise ValueError("say which composite events are expected; `assert_silent` expects none")
    found = detect(rules, events, on=on, setting=setting)
    rest = list(found)
    for expectation in wanted:
        position = next((i for i, event in enumerate(rest) if _meets(event, expectation)), None)
        if position is None:
            raise AssertionError(f"expected {expectation}, {_found(found)}")
        if exactly and position > 0:
            raise AssertionError(f"did not expect {rest[0]} before {expectation}, {_found(found)}")
        rest = rest[position + 1 :]
    if exactly and rest:
        raise AssertionError(f"did not expect {rest[0]}, {_found(found)}")


def assert_silent(
    rules: RuleSet | str,
    events: Iterable[Event] | str,
    *types: str,
    on: str = "reference",
    setting: Setting | None = None,
) -> None:
    """Assert that no composite event of these types is detected; without types, none at all."""
    rules = parse(rules) if isinstance(rules, str) else rules
    for name in types:
        _require_defined(name, rules)
    found = [
        event for event in detect(rules, events, on=on, setting=setting) if not types or event.type in types
    ]
    if found:
        raise AssertionError(f"expected silence, {_found(found)}")


def _expectations(text: str, rules: RuleSet) -> list[Event | str]:
    if "@" not in text:
        _require_defined(text.strip(), rules)
        return [text.strip()]
    conform = Conformer(rules.types)
    return [conform(event) or event for event in parse_events(text, rules.types)]


def _require_defined(name: str, rules: RuleSet) -> None:
    """A misspelt type would make an assertion about it say nothing."""
    defined = {rule.defines.name for rule in rules}
    if name not in defined:
        hint = did_you_mean(name, defined) or f"they define {listing(sorted(defined)) or 'nothing'}"
        raise ValueError(f"the rules define no event `{name}`; {hint}")


def _meets(event: Event, expectation: Event | str) -> bool:
    if isinstance(expectation, str):
        return event.type == expectation
    return same(event, expectation)


def same(found: Event, expected: Event) -> bool:
    """Whether two events have the same type, time and attributes; ids and rules are not compared."""
    return (
        found.type == expected.type
        and found.timestamp == expected.timestamp
        and list(found.attributes) == list(expected.attributes)
        and all(_same_value(found.attributes[n], expected.attributes[n]) for n in found.attributes)
    )


def _same_value(left: object, right: object) -> bool:
    return type(left) is type(right) and left == right


def _found(events: Sequence[Event]) -> str:
    return "found " + (", ".join(map(str, events)) if events else "nothing")
