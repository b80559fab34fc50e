"""From a checked rule to its automaton model: Algorithm 1 of the T-Rex paper (section 3.2).

The functions carry the names of the paper's. Where the paper follows "the next event" of a sequence, this
follows every arrow of the ordering graph (TESLA paper, section 5.2), so that a rule with extra time
constraints gets a sequence model for each path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tyrex.plan.conditions import aggregates_in, needs, split_conditions
from tyrex.plan.horizon import ages, interval_reach, reaches, type_horizon
from tyrex.plan.keys import join_keys
from tyrex.plan.model import (
    AggregateLink,
    CalendarTimer,
    Condition,
    Deadline,
    JoinedState,
    NegationLink,
    Output,
    ParameterLink,
    ParameterUse,
    Place,
    PlaceKind,
    RulePlan,
    SequenceModel,
    State,
    Transition,
)
from tyrex.plan.ordering import extra_constraints, ordering_graph
from tyrex.tesla.checked import BoundParameter, CheckedRule
from tyrex.tesla.expressions import Aggregate, Attribute, Compare, Expression, children, conjuncts, walk
from tyrex.tesla.types import TIMER_FIELDS

_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
MOST_SEQUENCES = 256
"""Paths beyond this number are not all listed: then each arrow of the ordering graph is on at least one."""


def plan_rule(rule: CheckedRule) -> RulePlan:
    """The plan of one rule."""
    age = ages(rule)
    states = create_states(rule, age)
    order = ordering_graph(rule)
    sequences = create_sequence_models(order, len(states))
    negations = add_negations(rule, age)
    aggregates = add_aggregates(rule, age)
    return RulePlan(
        name=rule.name,
        position=rule.position,
        defines=rule.defines,
        states=states,
        order=order,
        sequences=sequences,
        joined=join_states(sequences),
        parameters=add_parameters(rule, states, negations, aggregates),
        negations=negations,
        aggregates=aggregates,
        guards=tuple(Condition(guard, needs(guard)) for guard in rule.guards),
        time_constraints=extra_constraints(rule, order),
        selection_order=tuple(event.index for event in rule.events if event.selection is not None),
        consumed=rule.consuming,
        trigger=_trigger(rule, states[0]),
        outputs=tuple(
            Output(name, rule.defines.by_name[name], expression) for name, expression in rule.assignments
        ),
        keys=join_keys(rule),
        horizon=type_horizon(
            (
                *((state.type, state.reach) for state in states),
                *((negation.type, negation.reach) for negation in negations),
                *((aggregate.type, aggregate.reach) for aggregate in aggregates),
            )
        ),
        rule=rule,
    )


def create_states(rule: CheckedRule, age: tuple[int, ...]) -> tuple[State, ...]:
    """A state for each event of the pattern, in the order of declaration."""
    found = []
    for event, reach in zip(rule.events, reaches(rule, age), strict=True):
        index = event.index
        split = split_conditions(event.conditions, index)
        found.append(
            State(
                index,
                event.name,
                event.type,
                event.selection,
                event.anchor,
                event.window,
                split.static,
                split.dynamic,
                age[index],
                reach,
            )
        )
    return tuple(found)


def create_sequence_models(order: Iterable[Transition], states: int) -> tuple[SequenceModel, ...]:
    """One linear automaton for each way from an initiating event to the terminator (lines 7 to 17).

    They are listed so that models with a common end stand together.
    """
    into: list[list[Transition]] = [[] for _ in range(states)]
    ways_on = [0] * states
    for arrow in order:
        into[arrow.target].append(arrow)
        ways_on[arrow.source] += 1
    for arrows in into:
        arrows.sort(key=lambda arrow: (ways_on[arrow.source], arrow.source))
    paths: list[tuple[Transition, ...]] = []
    for path in _paths(into):
        paths.append(path)
        if len(paths) > MOST_SEQUENCES:
            paths = _covering_paths(into)
            break
    return tuple(
        SequenceModel(f"M{number}", (*(arrow.source for arrow in path), 0), path)
        for number, path in enumerate(paths, 1)
    )


def join_states(sequences: Iterable[SequenceModel]) -> tuple[JoinedState, ...]:
    """The states that several sequence models share (lines 19 to 23)."""
    models: dict[int, list[int]] = {}
    for number, sequence in enumerate(sequences):
        for event in sequence.states:
            models.setdefault(event, []).append(number)
    return tuple(
        JoinedState(event, tuple(found)) for event, found in sorted(models.items()) if len(found) > 1
    )


def add_parameters(
    rule: CheckedRule,
    states: Iterable[State],
    negations: Iterable[NegationLink],
    aggregates: Iterable[AggregateLink],
) -> tuple[ParameterLink, ...]:
    """For each parameter, the states, negations and aggregates it connects (lines 25 to 31)."""
    if not rule.parameters:
        return ()
    places: list[tuple[Place, Expression]] = [
        *((Place(PlaceKind.EVENT, s.index), c.expression) for s in states for c in s.dynamic),
        *((Place(PlaceKind.NEGATION, n.index), c.expression) for n in negations for c in n.dynamic),
        *((Place(PlaceKind.AGGREGATE, a.index), c.expression) for a in aggregates for c in a.dynamic),
        *((Place(PlaceKind.GUARD, i), guard) for i, guard in enumerate(rule.guards)),
    ]
    return tuple(
        ParameterLink(
            parameter.name,
            parameter.expression,
            parameter.event,
            tuple(use for place, condition in places for use in _parameter_uses(parameter, place, condition)),
        )
        for parameter in rule.parameters
    )


def add_negations(rule: CheckedRule, age: tuple[int, ...]) -> tuple[NegationLink, ...]:
    """The events that must not occur, time-based and interval-based (lines 33 to 42)."""
    found = []
    for index, negation in enumerate(rule.negations):
        split = split_conditions(negation.conditions)
        reach = interval_reach(negation.interval, age)
        found.append(
            NegationLink(index, negation.type, split.static, split.dynamic, negation.interval, reach)
        )
    return tuple(found)


def add_aggregates(rule: CheckedRule, age: tuple[int, ...]) -> tuple[AggregateLink, ...]:
    """The aggregates, time-based and interval-based, each with the places that use it (lines 44 to 53)."""
    places: dict[Aggregate, list[Place]] = {}
    for place, expression in _places_with_aggregates(rule):
        for aggregate in aggregates_in(expression):
            used = places.setdefault(aggregate, [])
            if place not in used:
                used.append(place)
    found = []
    for index, (aggregate, used) in enumerate(places.items()):
        split = split_conditions(aggregate.conditions)
        found.append(
            AggregateLink(
                index,
                aggregate.function,
                aggregate.type,
                aggregate.attribute,
                split.static,
                split.dynamic,
                aggregate.interval,
                tuple(used),
                interval_reach(aggregate.interval, age),
                aggregate,
            )
        )
    return tuple(found)


def _paths(into: list[list[Transition]]) -> Iterator[tuple[Transition, ...]]:
    """The ways from an event that nothing must precede to the terminator."""
    stack: list[tuple[int, tuple[Transition, ...]]] = [(0, ())]
    while stack:
        event, path = stack.pop()
        if not into[event]:
            yield path
        stack.extend((arrow.source, (arrow, *path)) for arrow in reversed(into[event]))


def _covering_paths(into: list[list[Transition]]) -> list[tuple[Transition, ...]]:
    """Ways to the terminator such that each arrow is on one: no more than there are arrows."""
    onward = {arrow.source: arrow for arrows in reversed(into) for arrow in arrows}
    covered: set[Transition] = set()
    paths = []
    for arrows in into:
        for arrow in arrows:
            if arrow in covered:
                continue
            path = [arrow]
            while into[path[0].source]:
                before = into[path[0].source]
                path.insert(0, next((a for a in before if a not in covered), before[0]))
            while path[-1].target != 0:
                path.append(onward[path[-1].target])
            covered.update(path)
            paths.append(tuple(path))
    return paths


def _parameter_uses(parameter: BoundParameter, place: Place, condition: Expression) -> Iterator[ParameterUse]:
    if place.kind is PlaceKind.EVENT and place.index == parameter.event:
        return
    for part in conjuncts(condition):
        meant = parameter.expression
        if isinstance(part, Compare) and meant in (part.left, part.right):
            operator = part.operator if part.right == meant else _MIRRORED[part.operator]
            yield ParameterUse(place, operator, part)
        elif any(node == meant for node in _outside_aggregates(part)):
            yield ParameterUse(place, None, part)


def _outside_aggregates(expression: Expression) -> Iterator[Expression]:
    """The parts of an expression, but for what is inside an aggregate: that is a place of its own."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, Aggregate):
            stack.extend(children(node))


def _places_with_aggregates(rule: CheckedRule) -> Iterator[tuple[Place, Expression]]:
    for index, guard in enumerate(rule.guards):
        yield Place(PlaceKind.GUARD, index), guard
    for index, negation in enumerate(rule.negations):
        for condition in negation.conditions:
            yield Place(PlaceKind.NEGATION, index), condition
    for index, (_, value) in enumerate(rule.assignments):
        yield Place(PlaceKind.OUTPUT, index), value


def _trigger(rule: CheckedRule, terminator: State) -> CalendarTimer | Deadline | None:
    if rule.deadline is not None:
        return Deadline(1, rule.deadline)
    if not rule.is_calendar_timer:
        return None
    mentioned = {
        node.name
        for condition in terminator.static
        for node in walk(condition)
        if isinstance(node, Attribute) and node.name in TIMER_FIELDS
    }
    return CalendarTimer(terminator.static, _finest(mentioned))


def _finest(mentioned: set[str]) -> str:
    """The finest field mentioned; fields finer than that are 0. Without any, every second fits."""
    return next((name for name in TIMER_FIELDS if name in mentioned), TIMER_FIELDS[0])
