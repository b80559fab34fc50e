"""Checked expressions as readable text: `Temp.value > 45`, with the names that the rule gives its events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tyrex.plan.model import AggregateLink, NegationLink, RulePlan, State, Transition, TransitionKind
from tyrex.tesla.durations import format_duration
from tyrex.tesla.expressions import (
    CANDIDATE,
    Aggregate,
    Attribute,
    Binary,
    Call,
    Compare,
    Expression,
    Interval,
    Literal,
    OneOf,
    Parameter,
    Precedes,
    Present,
    Unary,
    Within,
)
from tyrex.tesla.format import format_literal
from tyrex.tesla.functions import WIDEN
from tyrex.tesla.types import TIMER, WEEKDAYS

_LOWEST, _NOT, _COMPARISON, _NEGATIVE, _ATOM = 0, 3, 4, 7, 8
_BINDING = {"or": 1, "and": 2, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6}


@dataclass(frozen=True)
class Printer:
    """Prints the expressions of one rule.

    Attributes of the event `own`, and of the candidate of a negation or an aggregate, stand bare. Expressions
    in `parameters` are printed as the parameter that stands for them.
    """

    names: Sequence[str]
    own: int = CANDIDATE
    parameters: Mapping[Expression, str] = field(default_factory=dict)
    weekdays: bool = False
    """Whether event 0 is a timer, whose `D` is a day of the week."""

    def show(self, expression: Expression) -> str:
        """The text of an expression."""
        return self._show(expression, _LOWEST)

    def show_all(self, expressions: Sequence[Expression]) -> str:
        """The text of a conjunction."""
        outer = _LOWEST if len(expressions) == 1 else _BINDING["and"]
        return " and ".join(self._show(expression, outer) for expression in expressions)

    def interval(self, interval: Interval) -> str:
        """`within 5 min from Smoke` or `between Wind and Smoke`."""
        if isinstance(interval, Within):
            return f"within {format_duration(interval.window)} from {self.names[interval.anchor]}"
        return f"between {self.names[interval.earlier]} and {self.names[interval.later]}"

    def term(self, name: str, conditions: Sequence[Expression]) -> str:
        """A type with the conditions on the candidate: `Rain(area = $a)`."""
        candidate = Printer(self.names, CANDIDATE, self.parameters, self.weekdays)
        return f"{name}({candidate.show_all(conditions)})"

    def call(self, aggregate: Aggregate) -> str:
        """An aggregate without its interval: `Avg(Temp(area = $a).value)`."""
        attribute = "" if aggregate.attribute is None else f".{aggregate.attribute}"
        return f"{aggregate.function}({self.term(aggregate.type, aggregate.conditions)}{attribute})"

    def _show(self, expression: Expression, outer: int) -> str:
        if expression in self.parameters:
            return f"${self.parameters[expression]}"
        text, binding = self._plain(expression)
        return f"({text})" if binding < outer else text

    def _plain(self, expression: Expression) -> tuple[str, int]:
        """The text, and how strongly its outermost operator binds."""
        match expression:
            case Literal(value=value):
                text = format_literal(value)
                return text, _NEGATIVE if text.startswith("-") else _ATOM
            case Attribute(event=event, name=name):
                bare = event in (CANDIDATE, self.own)
                return name if bare else f"{self.names[event]}.{name}", _ATOM
            case Parameter(name=name):
                return f"${name}", _ATOM
            case Unary(operator="not", operand=operand):
                return f"not {self._show(operand, _NOT)}", _NOT
            case Unary(operator=operator, operand=operand):
                return f"{operator}{self._show(operand, _ATOM)}", _NEGATIVE
            case Binary(operator=operator, left=left, right=right):
                binding = _BINDING[operator]
                return f"{self._show(left, binding)} {operator} {self._show(right, binding + 1)}", binding
            case Compare(operator=operator, left=left, right=right):
                sides = self._weekday(left, right), self._weekday(right, left)
                return f"{sides[0]} {operator} {sides[1]}", _COMPARISON
            case OneOf(operand=operand, options=options):
                listed = ", ".join(self._weekday(option, operand) for option in options)
                return f"{self._show(operand, _COMPARISON + 1)} in ({listed})", _COMPARISON
            case Call(function=WIDEN.name, arguments=(argument,)):
                return self._plain(argument)
            case Call(function=function, arguments=arguments):
                return f"{function}({', '.join(self.show(argument) for argument in arguments)})", _ATOM
            case Present(operand=operand):
                return f"{self._show(operand, _COMPARISON + 1)} is not null", _COMPARISON
            case Precedes(earlier=earlier, later=later, window=window):
                length = format_duration(window)
                return f"{self.names[earlier]} within {length} from {self.names[later]}", _COMPARISON
            case Aggregate(interval=interval):
                return f"{self.call(expression)} {self.interval(interval)}", _NEGATIVE

    def _weekday(self, side: Expression, other: Expression) -> str:
        """A side of a comparison; a number that is compared with a timer's `D` is the name of a day."""
        if self.weekdays and other == Attribute(0, "D") and isinstance(side, Literal):
            day = side.value
            if isinstance(day, int) and 1 <= day <= len(WEEKDAYS):
                return WEEKDAYS[day - 1]
        return self._show(side, _COMPARISON + 1)


# --- Parts of a plan ----------------------------------------------------------------------------------------


def printer(plan: RulePlan, own: int = CANDIDATE, *, parameters: bool = False) -> Printer:
    """A printer for the expressions of a rule."""
    stands_for = {p.expression: p.name for p in reversed(plan.parameters)} if parameters else {}
    return Printer(plan.names, own, stands_for, plan.terminator.type == TIMER.name)


def show_state(state: State) -> str:
    """What a state is called: its event's name, with the type if that is another."""
    return state.name if state.name == state.type else f"{state.name}: {state.type}"


def show_type(state: State) -> str:
    """How the rule introduces the event of a state: `Temp`, or `Temp as T1`."""
    return state.type if state.name == state.type else f"{state.type} as {state.name}"


def show_static(plan: RulePlan, state: State, *, presence: bool = False) -> list[str]:
    """The static conditions of a state; whether an attribute is null is of interest to few."""
    own = printer(plan, state.index)
    return [own.show(c) for c in state.static if presence or not isinstance(c, Present)]


def show_step(transition: Transition) -> str:
    """What stands on the arrow between two states: `each, 5 min`."""
    length = format_duration(transition.window)
    if transition.kind is TransitionKind.DEADLINE:
        return f"after {length}"
    if transition.selection is None:
        return length
    return f"{transition.selection}, {length}"


def show_negation(plan: RulePlan, negation: NegationLink, *, interval: bool = True) -> str:
    """`not Rain(area = $a) between Wind and Smoke`."""
    shown = printer(plan, parameters=True)
    conditions = [*negation.static, *(condition.expression for condition in negation.dynamic)]
    text = f"not {shown.term(negation.type, conditions)}"
    return f"{text} {shown.interval(negation.interval)}" if interval else text


def show_aggregate(plan: RulePlan, aggregate: AggregateLink, *, interval: bool = True) -> str:
    """`Avg(Temp(area = $a).value) within 5 min from Smoke`."""
    shown = printer(plan, parameters=True)
    text = shown.call(aggregate.expression)
    return f"{text} {shown.interval(aggregate.interval)}" if interval else text
