"""Join keys: attributes that are equal in every match, by which the detection of a rule can be split.

Equality is taken from the conditions `x = y` of the events, and is transitive; `x = "a"` makes `x` equal to
every other attribute that must be `"a"`. Two attributes of a key may be an int and a float: they are equal as
numbers, so whoever hashes a key must hash 1 and 1.0 alike.

A key covers a rule if events with different values of it never meet, neither in a match nor in a choice:

- every event has an attribute in the key;
- an event chosen by `first` or `last` is compared, when it is chosen, with an event declared earlier or with
  a constant. Were the comparison made only later, events of other keys would be among the candidates and
  could be chosen (`each` chooses them all, so there it does no harm);
- the candidates of every negation and every aggregate are compared with the key. Their own conditions bind
  nobody else: `not Rain(area = A.x and area = B.x)` does not make `A.x` and `B.x` equal;
- an event that is consumed has one value only, in whichever part of the rule it is: consumed in one part, it
  can't be chosen in another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tyrex.plan.conditions import aggregates_in
from tyrex.plan.model import JoinKey
from tyrex.tesla.checked import CheckedRule, PatternEvent
from tyrex.tesla.expressions import (
    CANDIDATE,
    Aggregate,
    Attribute,
    Compare,
    Expression,
    Literal,
    conjuncts,
)
from tyrex.tesla.syntax import Policy

Side = Attribute | Literal


def join_keys(rule: CheckedRule) -> tuple[JoinKey, ...]:
    """The keys of a rule: those that cover it first, then in the order of mention."""
    equal = _Classes()
    known: set[Attribute] = set()
    for event in rule.events:
        known |= _add_event(equal, event)
    aggregates = rule_aggregates(rule)
    negated = [_candidate_attributes(negation.conditions, equal) for negation in rule.negations]
    aggregated = [_candidate_attributes(aggregate.conditions, equal) for aggregate in aggregates]
    keys = []
    for root, members in equal.classes().items():
        attributes = [member for member in members if isinstance(member, Attribute)]
        events = tuple(_attribute_of(event, attributes, known) for event in rule.events)
        negations = tuple(found.get(root) for found in negated)
        by_aggregate = tuple(found.get(root) for found in aggregated)
        if not attributes or sum(holder is not None for holder in (*events, *negations, *by_aggregate)) < 2:
            continue
        name = _name(rule, attributes)
        reason = _obstacle(rule, name, attributes, (events, negations, by_aggregate), aggregates)
        outputs = tuple(output for output, value in rule.assignments if value in attributes)
        keys.append(JoinKey(name, events, negations, by_aggregate, outputs, not reason, reason))
    return tuple(sorted(keys, key=lambda key: not key.covers))


def rule_aggregates(rule: CheckedRule) -> tuple[Aggregate, ...]:
    """The distinct aggregates of a rule, in the order of the plan."""
    found: dict[Aggregate, None] = {}
    expressions: list[Expression] = [*rule.guards]
    expressions += [condition for negation in rule.negations for condition in negation.conditions]
    expressions += [value for _, value in rule.assignments]
    for expression in expressions:
        found.update(dict.fromkeys(aggregates_in(expression)))
    return tuple(found)


class _Classes:
    """Classes of equal attributes and constants (union-find), in the order of mention."""

    def __init__(self) -> None:
        self._parents: dict[Side, Side] = {}
        self._earliest: dict[Side, int] = {}

    def find(self, item: Side) -> Side:
        """The representative of an item's class."""
        if item not in self._parents:
            self._parents[item] = item
            self._earliest[item] = item.event if isinstance(item, Attribute) else -1
        root = self._parents[item]
        while (above := self._parents[root]) is not root:
            root = above
        while (above := self._parents[item]) is not root:
            self._parents[item], item = root, above
        return root

    def unite(self, left: Side, right: Side) -> None:
        """Make two classes one."""
        root, other = self.find(left), self.find(right)
        self._parents[other] = root
        self._earliest[root] = min(self._earliest[root], self._earliest[other])

    def earliest(self, item: Side) -> int:
        """The first event that has an attribute in the class; -1 if a constant is in it."""
        return self._earliest[self.find(item)]

    def classes(self) -> dict[Side, list[Side]]:
        """The members of each class, by its representative."""
        found: dict[Side, list[Side]] = {}
        for item in list(self._parents):
            found.setdefault(self.find(item), []).append(item)
        return found


def _equalities(conditions: Iterable[Expression]) -> Iterator[tuple[Side, Side]]:
    for condition in conditions:
        for part in conjuncts(condition):
            if isinstance(part, Compare) and part.operator == "=":
                left, right = part.left, part.right
                if isinstance(left, Attribute | Literal) and isinstance(right, Attribute | Literal):
                    yield _number(left), _number(right)


def _number(side: Side) -> Side:
    """A whole float as an int: 1 and 1.0 are one value."""
    if isinstance(side, Literal) and isinstance(side.value, float) and side.value.is_integer():
        return Literal(int(side.value))
    return side


def _add_event(equal: _Classes, event: PatternEvent) -> set[Attribute]:
    """Add what the conditions of an event make equal; its attributes that are known before it is chosen."""
    own: set[Attribute] = set()
    for left, right in _equalities(event.conditions):
        equal.unite(left, right)
        own |= {side for side in (left, right) if isinstance(side, Attribute) and side.event == event.index}
    return {attribute for attribute in own if equal.earliest(attribute) < event.index}


def _candidate_attributes(conditions: Iterable[Expression], equal: _Classes) -> dict[Side, str]:
    """For each class of the events, the attribute of a candidate that must be equal to it."""
    local = _Classes()
    roots: dict[Side, None] = {}
    for left, right in _equalities(conditions):
        sides: list[Side] = []
        for side in (left, right):
            if isinstance(side, Attribute) and side.event == CANDIDATE:
                sides.append(side)
            else:
                sides.append(equal.find(side))
                roots[sides[-1]] = None
        local.unite(sides[0], sides[1])
    found: dict[Side, str] = {}
    for members in local.classes().values():
        own = next((m.name for m in members if isinstance(m, Attribute) and m.event == CANDIDATE), None)
        if own is not None:
            found.update((member, own) for member in members if member in roots)
    return found


def _single(event: PatternEvent) -> bool:
    return event.selection is not None and event.selection.policy is not Policy.EACH


def _attribute_of(event: PatternEvent, attributes: Sequence[Attribute], known: set[Attribute]) -> str | None:
    """The event's attribute in the class; for a single choice, one whose value is known when it is made."""
    own = [attribute for attribute in attributes if attribute.event == event.index]
    if _single(event):
        own = [attribute for attribute in own if attribute in known]
    return own[0].name if own else None


def _name(rule: CheckedRule, attributes: Sequence[Attribute]) -> str:
    """The parameter that stands for the key, else its first attribute."""
    for parameter in rule.parameters:
        if parameter.expression in attributes:
            return f"${parameter.name}"
    first = min(attributes, key=lambda attribute: attribute.event)
    return f"{rule.events[first.event].name}.{first.name}"


def _obstacle(
    rule: CheckedRule,
    key: str,
    attributes: Sequence[Attribute],
    holders: tuple[tuple[str | None, ...], tuple[str | None, ...], tuple[str | None, ...]],
    aggregates: Sequence[Aggregate],
) -> str:
    """The first part of the rule that the key does not reach, as a sentence; empty if there is none."""
    if rule.is_calendar_timer:
        return "a `Timer` has no attributes, so every key would need its own"
    events, negations, by_aggregate = holders
    mentioned = {attribute.event for attribute in attributes}
    for event, holder in zip(rule.events, events, strict=True):
        if holder is None and not (event.index == 0 and rule.deadline is not None):
            if event.index in mentioned:
                return f"`{event.name}` is chosen before it is compared with `{key}`"
            return f"`{event.name}` has no attribute that must be equal to `{key}`"
    for negation, holder in zip(rule.negations, negations, strict=True):
        if holder is None:
            return f"`not {negation.type}(..)` has no attribute that must be equal to `{key}`"
    for aggregate, holder in zip(aggregates, by_aggregate, strict=True):
        if holder is None:
            return (
                f"`{aggregate.function}({aggregate.type}(..))` has no attribute that must be equal to `{key}`"
            )
    for consumed in rule.consuming:
        for event, holder in zip(rule.events, events, strict=True):
            if event.type == rule.events[consumed].type and holder != events[consumed]:
                name = rule.events[consumed].name
                return f"`{name}` is consumed, and could be `{event.name}` with another value of `{key}`"
    return ""
