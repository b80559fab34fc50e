"""Plans as plain dicts and lists, ready for JSON: for programs that draw or check plans themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tyrex.plan.graph import feeds
from tyrex.plan.model import (
    AggregateLink,
    CalendarTimer,
    Condition,
    Deadline,
    NegationLink,
    ParameterLink,
    Place,
    PlaceKind,
    RulePlan,
    RuleSetPlan,
    State,
    Transition,
)
from tyrex.plan.text import Printer, printer
from tyrex.tesla.expressions import CANDIDATE, Expression, Interval, Within

Data = dict[str, Any]


def rule_set_data(plan: RuleSetPlan) -> Data:
    """A rule set: its rules, and how they depend on each other."""
    return {"rules": [rule_data(rule) for rule in plan.rules], **hierarchy_data(plan)}


def rule_data(plan: RulePlan) -> Data:
    """A rule: its automaton, its ordering graph, and the rest of its plan."""
    own = printer(plan)
    return {
        "name": plan.name,
        "defines": {
            "type": plan.defines.name,
            "attributes": [{"name": a.name, "type": a.type.value} for a in plan.defines.attributes],
        },
        "trigger": _trigger(plan),
        "automaton": automaton_data(plan),
        "ordering": ordering_data(plan),
        "selection_order": [plan.names[event] for event in plan.selection_order],
        "time_constraints": [
            {
                "earlier": plan.names[c.earlier],
                "later": plan.names[c.later],
                "window": c.window,
                "orders": c.orders,
            }
            for c in plan.time_constraints
        ],
        "consumed": [plan.names[event] for event in plan.consumed],
        "outputs": [
            {"attribute": o.attribute, "type": o.type.value, "value": own.show(o.expression)}
            for o in plan.outputs
        ],
        "horizon": dict(plan.horizon),
        "keys": [
            {
                "name": key.name,
                "events": dict(zip(plan.names, key.events, strict=True)),
                "negations": list(key.negations),
                "aggregates": list(key.aggregates),
                "outputs": list(key.outputs),
                "covers": key.covers,
                "reason": key.reason,
            }
            for key in plan.keys
        ],
    }


def automaton_data(plan: RulePlan) -> Data:
    """The states, the sequence models and what connects them."""
    own = printer(plan)
    return {
        "states": [_state(plan, state) for state in plan.states],
        "sequences": [
            {
                "name": sequence.name,
                "states": [plan.names[event] for event in sequence.states],
                "transitions": [_transition(plan, step) for step in sequence.transitions],
            }
            for sequence in plan.sequences
        ],
        "joined": [
            {
                "event": plan.names[joined.event],
                "sequences": [plan.sequences[number].name for number in joined.models],
            }
            for joined in plan.joined
        ],
        "parameters": [_parameter(plan, parameter) for parameter in plan.parameters],
        "negations": [_negation(plan, negation) for negation in plan.negations],
        "aggregates": [_aggregate(plan, aggregate) for aggregate in plan.aggregates],
        "guards": _dynamic(plan, own, plan.guards),
    }


def ordering_data(plan: RulePlan) -> Data:
    """The ordering graph: each arrow from an event to one that it cannot occur after."""
    return {
        "events": list(plan.names),
        "arrows": [{"from": plan.names[a.source], "to": plan.names[a.target]} for a in plan.order],
    }


def hierarchy_data(plan: RuleSetPlan) -> Data:
    """The event types with the rules that define and use them, and the strata and groups of the rules."""

    def names(rules: Sequence[int]) -> list[str]:
        return [plan.rules[number].name for number in rules]

    return {
        "types": [
            {
                "name": name,
                "defined_by": names(makers),
                "used_by": names(users),
                "horizon": plan.horizon.get(name),
            }
            for name, (makers, users) in feeds(plan.rules).items()
        ],
        "strata": [names(stratum) for stratum in plan.strata],
        "recursive_groups": [names(group) for group in plan.recursive_groups],
        "groups": [names(group) for group in plan.groups],
        "horizon": dict(plan.horizon),
    }


def _trigger(plan: RulePlan) -> Data:
    match plan.trigger:
        case CalendarTimer(conditions=conditions, finest=finest):
            shown = printer(plan, 0)
            return {"kind": "calendar", "conditions": [shown.show(c) for c in conditions], "finest": finest}
        case Deadline(event=event, after=after):
            return {"kind": "deadline", "event": plan.names[event], "after": after}
        case None:
            return {"kind": "event", "event": plan.terminator.name}


def _state(plan: RulePlan, state: State) -> Data:
    own = printer(plan, state.index)
    return {
        "name": state.name,
        "type": state.type,
        "selection": None if state.selection is None else str(state.selection),
        "anchor": None if state.anchor is None else plan.names[state.anchor],
        "window": state.window,
        **_split(plan, own, state.static, state.dynamic),
        "age": state.age,
        "reach": state.reach,
    }


def _transition(plan: RulePlan, step: Transition) -> Data:
    return {
        "from": plan.names[step.source],
        "to": plan.names[step.target],
        "kind": step.kind.value,
        "selection": None if step.selection is None else str(step.selection),
        "window": step.window,
    }


def _parameter(plan: RulePlan, parameter: ParameterLink) -> Data:
    uses = []
    for use in parameter.uses:
        own = use.place.index if use.place.kind is PlaceKind.EVENT else CANDIDATE
        condition = printer(plan, own, parameters=True).show(use.condition)
        uses.append({**_place(plan, use.place), "operator": use.operator, "condition": condition})
    return {
        "name": parameter.name,
        "value": printer(plan).show(parameter.expression),
        "event": None if parameter.event is None else plan.names[parameter.event],
        "uses": uses,
    }


def _negation(plan: RulePlan, negation: NegationLink) -> Data:
    return {
        "type": negation.type,
        **_split(plan, printer(plan), negation.static, negation.dynamic),
        "interval": _interval(plan, negation.interval),
        "reach": negation.reach,
    }


def _aggregate(plan: RulePlan, aggregate: AggregateLink) -> Data:
    return {
        "function": aggregate.function,
        "type": aggregate.type,
        "attribute": aggregate.attribute,
        **_split(plan, printer(plan), aggregate.static, aggregate.dynamic),
        "interval": _interval(plan, aggregate.interval),
        "uses": [_place(plan, place) for place in aggregate.uses],
        "reach": aggregate.reach,
    }


def _split(
    plan: RulePlan, own: Printer, static: Iterable[Expression], dynamic: Iterable[Condition]
) -> dict[str, Any]:
    return {"static": [own.show(c) for c in static], "dynamic": _dynamic(plan, own, dynamic)}


def _dynamic(plan: RulePlan, own: Printer, conditions: Iterable[Condition]) -> list[Data]:
    return [
        {"condition": own.show(c.expression), "needs": [plan.names[event] for event in c.needs]}
        for c in conditions
    ]


def _interval(plan: RulePlan, interval: Interval) -> Data:
    if isinstance(interval, Within):
        return {"kind": "within", "window": interval.window, "from": plan.names[interval.anchor]}
    return {"kind": "between", "earlier": plan.names[interval.earlier], "later": plan.names[interval.later]}


def _place(plan: RulePlan, place: Place) -> Data:
    match place.kind:
        case PlaceKind.EVENT:
            return {"kind": "event", "event": plan.names[place.index]}
        case PlaceKind.OUTPUT:
            return {"kind": "output", "attribute": plan.outputs[place.index].attribute}
        case kind:
            return {"kind": kind.value, "index": place.index}
