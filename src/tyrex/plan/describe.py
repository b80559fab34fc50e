"""Plans as plain text: what `tyrex explain` prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tyrex.plan.model import (
    AggregateLink,
    CalendarTimer,
    Deadline,
    JoinKey,
    ParameterLink,
    Place,
    PlaceKind,
    RulePlan,
    RuleSetPlan,
    SequenceModel,
)
from tyrex.plan.text import (
    printer,
    show_aggregate,
    show_negation,
    show_state,
    show_static,
    show_step,
)
from tyrex.tesla.durations import format_duration

_LINE = 96


def describe(plan: RuleSetPlan | RulePlan) -> str:
    """The text of a plan, ending with a line break."""
    if isinstance(plan, RulePlan):
        return describe_rule(plan)
    parts = [describe_rule(rule) for rule in plan.rules]
    if len(plan.rules) > 1:
        parts.append(describe_rule_set(plan))
    return "\n".join(parts)


def describe_rule(plan: RulePlan) -> str:
    """One rule: its automaton, conditions, order of choice, and how long it needs which events."""
    sections = [
        ("Evaluated", _trigger(plan)),
        ("Automaton", _automaton(plan)),
        ("Parameters", _table(_parameter(plan, parameter) for parameter in plan.parameters)),
        ("Negations", [show_negation(plan, negation) for negation in plan.negations]),
        ("Aggregates", _table(_aggregate(plan, aggregate) for aggregate in plan.aggregates)),
        ("Guards", [printer(plan, parameters=True).show(guard.expression) for guard in plan.guards]),
        ("Selection", _selection(plan)),
        ("Conditions", _conditions(plan)),
        ("Time", _times(plan)),
        (
            "Consumes",
            [", ".join(plan.states[event].name for event in plan.consumed)] if plan.consumed else [],
        ),
        ("Output", _table((o.attribute, f"= {printer(plan).show(o.expression)}") for o in plan.outputs)),
        ("Horizon", _table((name, format_duration(length)) for name, length in plan.horizon.items())),
        ("Key", _key(plan)),
    ]
    lines = [f"{plan.name} defines {plan.defines}", ""]
    for title, content in sections:
        for number, line in enumerate(content):
            lines.append(f"  {title if number == 0 else '':<12}{line}".rstrip())
    return "\n".join(lines) + "\n"


def describe_rule_set(plan: RuleSetPlan) -> str:
    """How the rules depend on each other, and how long which events are needed by some rule."""
    sections = [
        ("Strata", [f"{level}  {_names(plan, rules)}" for level, rules in enumerate(plan.strata)]),
        ("Recursive", [_names(plan, rules) for rules in plan.recursive_groups] or ["none"]),
        ("Groups", [_names(plan, rules) for rules in plan.groups]),
        ("Horizon", _table((name, format_duration(length)) for name, length in plan.horizon.items())),
    ]
    lines = [f"{len(plan.rules)} rules", ""]
    for title, content in sections:
        for number, line in enumerate(content):
            lines.append(f"  {title if number == 0 else '':<12}{line}".rstrip())
    return "\n".join(lines) + "\n"


def describe_sequence(plan: RulePlan, sequence: SequenceModel) -> str:
    """A sequence model on one line: `(Temp) value > 45 --each, 5 min--> ((Smoke))`."""
    return " ".join(_steps(plan, sequence))


def _steps(plan: RulePlan, sequence: SequenceModel) -> list[str]:
    """The states of a sequence model, each with the arrow that leads to it."""
    arrows = ["", *(f"--{show_step(transition)}--> " for transition in sequence.transitions)]
    found = []
    for arrow, event in zip(arrows, sequence.states, strict=True):
        state = plan.states[event]
        circle = f"(({show_state(state)}))" if event == sequence.accepting else f"({show_state(state)})"
        found.append(" ".join((f"{arrow}{circle}", " and ".join(show_static(plan, state)))).rstrip())
    return found


def _names(plan: RuleSetPlan, rules: Sequence[int]) -> str:
    return ", ".join(plan.rules[number].name for number in rules)


def _table(rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows as lines with aligned columns."""
    cells = [list(row) for row in rows]
    if not cells:
        return []
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells]


def _trigger(plan: RulePlan) -> list[str]:
    match plan.trigger:
        case CalendarTimer(conditions=conditions):
            return [f"by the calendar: {printer(plan, 0).show_all(conditions)}"]
        case Deadline(event=event, after=after):
            return [f"{format_duration(after)} after {plan.states[event].name}"]
        case None:
            return [f"on {plan.terminator.name}"]


def _automaton(plan: RulePlan) -> list[str]:
    lines = []
    width = len(plan.sequences[-1].name)
    for sequence in plan.sequences:
        steps = _steps(plan, sequence)
        one_line = " ".join(steps)
        for number, text in enumerate([one_line] if len(one_line) <= _LINE else steps):
            lines.append(f"{sequence.name if number == 0 else '':<{width}}  {text}")
    for joined in plan.joined:
        models = [plan.sequences[number].name for number in joined.models]
        shared = f"{', '.join(models[:-1])} and {models[-1]}"
        lines.append(f"{plan.states[joined.event].name} is shared by {shared}")
    return lines


def _parameter(plan: RulePlan, parameter: ParameterLink) -> tuple[str, str]:
    shown = printer(plan, parameters=True)
    places: dict[str, None] = {}
    for use in parameter.uses:
        places[_place(plan, use.place)] = None
    bound = printer(plan).show(parameter.expression)
    used = f", used by {', '.join(places)}" if places else ""
    return shown.show(parameter.expression), f"= {bound}{used}"


def _place(plan: RulePlan, place: Place) -> str:
    match place.kind:
        case PlaceKind.EVENT:
            return plan.states[place.index].name
        case PlaceKind.NEGATION:
            return f"not {plan.negations[place.index].type}"
        case PlaceKind.AGGREGATE:
            aggregate = plan.aggregates[place.index]
            return f"{aggregate.function}({aggregate.type})"
        case PlaceKind.GUARD:
            return "a guard"
        case PlaceKind.OUTPUT:
            return plan.outputs[place.index].attribute


def _aggregate(plan: RulePlan, aggregate: AggregateLink) -> tuple[str, str]:
    used = dict.fromkeys(_place(plan, place) for place in aggregate.uses)
    return show_aggregate(plan, aggregate), f"for {', '.join(used)}"


def _selection(plan: RulePlan) -> list[str]:
    rows = []
    for number, event in enumerate(plan.selection_order, 1):
        state = plan.states[event]
        anchor = plan.states[state.anchor or 0].name
        window = format_duration(state.window or 0)
        rows.append((f"{number}.", f"{state.selection} {state.name}", f"within {window} from {anchor}"))
    return _table(rows)


def _conditions(plan: RulePlan) -> list[str]:
    rows = []
    for state in plan.states:
        own = printer(plan, state.index)
        static = show_static(plan, state, presence=True)
        dynamic = [own.show(condition.expression) for condition in state.dynamic]
        for kind, conditions in (("static", static), ("dynamic", dynamic)):
            if conditions:
                rows.append((state.name, kind, " and ".join(conditions)))
    return _table(rows)


def _times(plan: RulePlan) -> list[str]:
    return [
        f"{plan.states[c.earlier].name} within {format_duration(c.window)} from {plan.states[c.later].name}"
        for c in plan.time_constraints
    ]


def _key(plan: RulePlan) -> list[str]:
    if plan.stateless:
        return ["any: the rule looks at one event at a time"]
    if not plan.keys:
        return ["none: no attributes must be equal"]
    lines = []
    for key in plan.keys:
        lines.append(f"{key.name}: {_holders(plan, key)}")
        if not key.covers:
            lines.append(f"{' ' * len(key.name)}  not of the whole rule: {key.reason}")
    return lines


def _holders(plan: RulePlan, key: JoinKey) -> str:
    names = [*plan.names, *(f"not {n.type}" for n in plan.negations)]
    names += [f"{a.function}({a.type})" for a in plan.aggregates]
    attributes = [*key.events, *key.negations, *key.aggregates]
    held = [f"{name}.{attribute}" for name, attribute in zip(names, attributes, strict=True) if attribute]
    return ", ".join(dict.fromkeys(held))
