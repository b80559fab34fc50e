"""Conditions that are always false: the rule could never fire."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tyrex.tesla.checks.context import Context, RuleDraft
from tyrex.tesla.evaluate import evaluate
from tyrex.tesla.expressions import (
    Aggregate,
    Attribute,
    Compare,
    Expression,
    Literal,
    OneOf,
    Parameter,
    Precedes,
    walk,
)
from tyrex.tesla.source import Span
from tyrex.tesla.types import TIMER
from tyrex.tesla.values import Tally, Value, compare

_DOMAINS: dict[str, tuple[int, int]] = {
    "S": (0, 59),
    "M": (0, 59),
    "H": (0, 23),
    "D": (1, 7),
    "Day": (1, 31),
    "Month": (1, 12),
}
_LONGEST_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


def contradictions(context: Context) -> None:
    """Report conditions that no event can fulfil."""
    for rule in context.sound_rules:
        timer = rule.events[0].type.name == TIMER.name
        for event in rule.events:
            domains = _DOMAINS if timer and event.index == 0 else {}
            _check(context, rule, event.conditions, domains)
        _check(context, rule, rule.guards, {})
        for negation in rule.negations:
            _check(context, rule, negation.conditions, {})
        if timer and rule.deadline is None and not _some_date(rule.events[0].conditions):
            context.report(
                "TSL074",
                "there is no such day",
                rule.source,
                rule.syntax.terminator.event.span,
                suggestion="choose a day that the month has",
            )


def _check(
    context: Context, rule: RuleDraft, conditions: Iterable[Expression], domains: dict[str, tuple[int, int]]
) -> None:
    ranges: dict[Expression, _Range] = {}
    for condition in conditions:
        if _is_constant(condition) and evaluate(condition, _NoEvents(), Tally()) is not True:
            _report(context, rule, condition.span, "this is always false")
            continue
        if isinstance(condition, Compare) and any(
            isinstance(side, Literal) and side.value is None for side in (condition.left, condition.right)
        ):
            _report(context, rule, condition.span, "this is always false: a comparison with null is")
            continue
        bound = _bound(condition)
        if bound is None:
            continue
        term, symbol, values = bound
        known = ranges.get(term)
        if known is None:
            low, high = domains.get(term.name, (None, None)) if isinstance(term, Attribute) else (None, None)
            if isinstance(term, Aggregate) and term.function in ("Count", "CountDistinct"):
                low = 0
            known = ranges[term] = _Range(low, high)
        if not known.narrow(symbol, values):
            _report(
                context, rule, condition.span, "this can never be true together with the other conditions"
            )


def _report(context: Context, rule: RuleDraft, span: Span, message: str) -> None:
    context.report(
        "TSL075",
        f"{message}, so it has no effect but to silence the rule",
        rule.source,
        span,
        suggestion="remove it, or change the values",
    )


def _bound(condition: Expression) -> tuple[Expression, str, list[Value]] | None:
    """`term op literal`, in either order, or `term in (literals)`."""
    match condition:
        case Compare(operator=symbol, left=left, right=Literal(value=value)) if not isinstance(left, Literal):
            return left, symbol, [value]
        case Compare(operator=symbol, left=Literal(value=value), right=right) if not isinstance(
            right, Literal
        ):
            return right, _MIRRORED[symbol], [value]
        case OneOf(operand=operand, options=options) if all(isinstance(o, Literal) for o in options):
            return operand, "in", [o.value for o in options if isinstance(o, Literal)]
    return None


@dataclass
class _Range:
    """What is left for a value to be: between two bounds, perhaps one of a few, and not some others."""

    low: Value = None
    high: Value = None
    low_open: bool = False
    high_open: bool = False
    options: list[Value] | None = None
    excluded: list[Value] = field(default_factory=list)

    def narrow(self, symbol: str, values: list[Value]) -> bool:
        """Take a condition into account; False if nothing is left."""
        value = values[0]
        match symbol:
            case "=" | "in":
                known = self.options
                self.options = [v for v in values if known is None or any(compare("=", v, k) for k in known)]
            case "!=":
                self.excluded.append(value)
            case "<" | "<=":
                if self.high is None or compare("<", value, self.high) or compare("=", value, self.high):
                    self.high_open = symbol == "<" or (self.high_open and compare("=", value, self.high))
                    self.high = value
            case _:
                if self.low is None or compare(">", value, self.low) or compare("=", value, self.low):
                    self.low_open = symbol == ">" or (self.low_open and compare("=", value, self.low))
                    self.low = value
        return self._possible()

    def _possible(self) -> bool:
        if self.options is not None:
            return any(self._allows(v) for v in self.options)
        if self.low is None or self.high is None:
            return True
        if compare("=", self.low, self.high):
            return not self.low_open and not self.high_open and self._allows(self.low)
        return compare("<", self.low, self.high)

    def _allows(self, value: Value) -> bool:
        above = self.low is None or compare(">" if self.low_open else ">=", value, self.low)
        below = self.high is None or compare("<" if self.high_open else "<=", value, self.high)
        return above and below and not any(compare("=", value, x) for x in self.excluded)


def _is_constant(expression: Expression) -> bool:
    return not any(
        isinstance(node, Attribute | Aggregate | Precedes | Parameter) for node in walk(expression)
    )


def _some_date(conditions: list[Expression]) -> bool:
    """Whether some day of some month fulfils the conditions that speak of these two alone."""
    relevant = [c for c in conditions if (names := _fields(c)) and names <= {"Day", "Month"}]
    if not relevant:
        return True
    return any(
        all(evaluate(c, _Date(month, day), Tally()) is True for c in relevant)
        for month, days in enumerate(_LONGEST_MONTH, 1)
        for day in range(1, days + 1)
    )


def _fields(condition: Expression) -> set[str]:
    return {node.name for node in walk(condition) if isinstance(node, Attribute)}


class _NoEvents:
    """The scope of a constant."""

    def attribute(self, event: int, name: str) -> Value:
        raise AssertionError("a constant has no attributes")

    def precedes(self, node: Precedes) -> bool:
        raise AssertionError("a constant has no order")

    def aggregate(self, node: Aggregate) -> Value:
        raise AssertionError("a constant has no aggregates")


class _Date(_NoEvents):
    """The scope of a condition on the day and the month of a timer."""

    def __init__(self, month: int, day: int) -> None:
        self._fields = {"Month": month, "Day": day}

    def attribute(self, event: int, name: str) -> Value:
        return self._fields[name]
