"""What would let Spark split rules better: a sentence for each thing that could be changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tyrex.plan import CalendarTimer, Deadline, JoinKey, RulePlan
from tyrex.spark.planner import Split
from tyrex.tesla.types import EventType


def advice(rules: Sequence[RulePlan], types: Mapping[str, EventType], split: Split) -> tuple[str, ...]:
    """What would help the rules of one part."""
    if split in (Split.KEY, Split.EVENT):
        return ()
    found = [sentence for rule in rules if (sentence := _towards_key(rule, types))]
    if not found:
        found.append("let all its rules join each type on the same attribute, and set it in what they define")
    if split is Split.NONE:
        found += [
            f"without `consuming`, rule `{rule.name}` could be cut into slices of time"
            for rule in rules
            if rule.consumed and not any(other.trigger is not None for other in rules)
        ]
    return tuple(dict.fromkeys(found))


def _towards_key(rule: RulePlan, types: Mapping[str, EventType]) -> str:
    """What would give a rule a key; empty if it has one, or needs none."""
    if rule.stateless or rule.key is not None:
        return ""
    if isinstance(rule.trigger, CalendarTimer):
        return (
            f"rule `{rule.name}`: a deadline, as in `5 min after X(k = $k)`, has the key of its event; "
            "a `Timer` has none"
        )
    if rule.keys:
        return _completed(rule, rule.keys[0], types)
    looked_at = [types[name] for name in rule.horizon]
    if len(looked_at) == 1 and isinstance(rule.trigger, Deadline) and len(rule.states) == 2:
        return ""
    shared = [
        attribute.name
        for attribute in looked_at[0].attributes
        if all(attribute.name in other.by_name for other in looked_at)
    ]
    if shared:
        return f"rule `{rule.name}`: if its events belong together by `{shared[0]}`, say so: `{shared[0]} = $k` in each"
    return f"rule `{rule.name}`: its types share no attribute; one that says which events belong together would help"


def _completed(rule: RulePlan, key: JoinKey, types: Mapping[str, EventType]) -> str:
    """What is missing for a key to cover its rule."""
    parts = [
        *((state.type, state.name) for state in rule.states if state.type in rule.horizon),
        *((part.type, f"not {part.type}") for part in rule.negations),
        *((part.type, f"{part.function}({part.type})") for part in rule.aggregates),
    ]
    events = tuple(
        holder for state, holder in zip(rule.states, key.events, strict=True) if state.type in rule.horizon
    )
    holders = (*events, *key.negations, *key.aggregates)
    attribute = next(holder for holder in holders if holder is not None)
    for (type_, name), holder in zip(parts, holders, strict=True):
        if holder is not None:
            continue
        if attribute in types[type_].by_name:
            said = f"say so: `{attribute} = {key.name}`"
            return f"rule `{rule.name}`: if `{name}` is meant of the same `{attribute}`, {said}"
        return f"rule `{rule.name}`: `{type_}` would need an attribute that is equal to `{key.name}`"
    return f"rule `{rule.name}`: join all its events on `{key.name}`"
