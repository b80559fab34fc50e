import pickle

import pytest
from tests.plan.support import DAY, DEADLINE, MINUTE, PERIODIC, R1, R5, R6, R7, names, plan_all, plan_one
from tests.plan.support import R as RULE_R

from tyrex.events import Value
from tyrex.plan import (
    CalendarTimer,
    Deadline,
    Place,
    PlaceKind,
    RulePlan,
    SequenceModel,
    TransitionKind,
    plan_rule,
)
from tyrex.plan.automaton import MOST_SEQUENCES, create_sequence_models, join_states
from tyrex.plan.model import Transition
from tyrex.reference.calendar import fields_of, finer_fields_are_zero
from tyrex.tesla.expressions import Between, Within
from tyrex.tesla.types import TIMER_FIELDS


def sequences(plan: RulePlan) -> list[str]:
    return ["-".join(names(plan, sequence.states)) for sequence in plan.sequences]


def test_rule_r1_is_one_sequence_from_the_temperature_to_the_smoke() -> None:
    """Section 3.3.1 of the T-Rex paper: R1 is the model M1 of Fig. 2."""
    plan = plan_one(R1)
    assert sequences(plan) == ["Temp-Smoke"]
    (model,) = plan.sequences
    assert (model.name, model.initial, model.accepting) == ("M1", 1, 0)
    (step,) = model.transitions
    assert (step.source, step.target, str(step.selection), step.window) == (1, 0, "each", 5 * MINUTE)
    assert plan.joined == ()


def test_rule_r7_is_the_automaton_of_figure_2() -> None:
    """Two sequence models share S, $a connects T, W and S, and Rain may not fall between W and S."""
    plan = plan_one(R7)
    assert sequences(plan) == ["Temp-Smoke", "Wind-Smoke"]
    (joined,) = plan.joined
    assert (joined.event, joined.models) == (0, (0, 1))
    (parameter,) = plan.parameters
    assert names(plan, parameter.states) == ["Smoke", "Temp", "Wind"]
    assert [use.operator for use in parameter.uses] == ["=", "=", "="]
    (negation,) = plan.negations
    assert (negation.type, negation.interval) == ("Rain", Between(2, 0))
    assert not negation.time_based


def test_rule_r_has_a_sequence_for_each_path_of_the_ordering_graph() -> None:
    """Fig. 5 of the TESLA paper: E-B-A, D-B-A and D-C-A, joined in A, B and D."""
    plan = plan_one(RULE_R)
    assert sequences(plan) == ["E-B-A", "D-B-A", "D-C-A"]
    assert [(plan.names[joined.event], joined.models) for joined in plan.joined] == [
        ("A", (0, 1, 2)),
        ("B", (0, 1)),
        ("D", (1, 2)),
    ]
    last = plan.sequences[2].transitions[0]
    assert (last.kind, last.selection, last.window) == (TransitionKind.CONSTRAINT, None, 5 * MINUTE)


def test_a_rule_of_one_event_is_a_sequence_of_one_state() -> None:
    """The accepting state is then the first one too."""
    plan = plan_one("define Hot() from Temp(value > 45)")
    assert sequences(plan) == ["Temp"]
    assert plan.sequences[0].initial == plan.sequences[0].accepting
    assert plan.stateless


def test_a_time_constraint_on_one_chain_makes_no_new_sequence() -> None:
    """`E within 8min from A` bounds a chain that leads from E to A anyway."""
    plan = plan_one("""
        define X() from A() and each B() within 5min from A and last C() within 3min from A and
        last D() within 6min from B and first E() within 2min from D and E within 8min from A
    """)
    assert sequences(plan) == ["E-D-B-A", "C-A"]
    (constraint,) = plan.time_constraints
    assert (constraint.earlier, constraint.later, constraint.owner) == (4, 0, 4)
    assert constraint.window == 8 * MINUTE
    assert not constraint.orders


def test_events_are_chosen_in_the_order_of_declaration() -> None:
    """The terminator is given, and so is the event that sets a deadline."""
    assert plan_one(RULE_R).selection_order == (1, 2, 3, 4)
    assert names(plan_one(DEADLINE), plan_one(DEADLINE).selection_order) == ["Login"]


def test_a_parameter_knows_the_negations_and_aggregates_that_use_it() -> None:
    """$a of R6b connects no other event, but a negation and two aggregates."""
    parameter = plan_all(R6).rules[1].parameters[0]
    assert [use.place for use in parameter.uses] == [
        Place(PlaceKind.NEGATION, 0),
        Place(PlaceKind.AGGREGATE, 0),
        Place(PlaceKind.AGGREGATE, 1),
    ]
    assert parameter.states == (0,)


def test_a_parameter_tells_its_operator() -> None:
    """`value >= $t` in R6a compares with an operator of its own, an expression has none."""
    first = plan_all(R6).rules[0]
    assert [(p.name, p.uses[0].operator) for p in first.parameters] == [("a", "="), ("t", ">=")]
    plan = plan_one("define X() from A(v = $v) and each B(w > $v + 1) within 1 s from A")
    assert plan.parameters[0].uses[0].operator is None


@pytest.mark.parametrize(("written", "operator"), [("$v < w", ">"), ("$v >= w", "<="), ("$v != w", "!=")])
def test_the_operator_of_a_parameter_is_that_of_the_other_side(written: str, operator: str) -> None:
    """`$v < w` is `w > $v`, so a runtime has one case for both."""
    plan = plan_one(f"define X() from A(v = $v) and each B({written}) within 1 s from A")
    assert plan.parameters[0].uses[0].operator == operator


def test_a_time_based_negation_looks_back_from_one_event() -> None:
    """R6b: no NotIncrTemp within 5 min from Smoke."""
    (negation,) = plan_all(R6).rules[1].negations
    assert negation.interval == Within(0, 5 * MINUTE)
    assert negation.time_based


def test_an_aggregate_is_listed_once_with_all_the_places_that_use_it() -> None:
    """R5 compares `$t`, binds it and puts it out: one average, three places."""
    (aggregate,) = plan_one(R5).aggregates
    assert (aggregate.function, aggregate.type, aggregate.attribute) == ("Avg", "Temp", "value")
    assert aggregate.uses == (
        Place(PlaceKind.GUARD, 0),
        Place(PlaceKind.GUARD, 1),
        Place(PlaceKind.OUTPUT, 1),
    )
    assert aggregate.time_based


def test_aggregates_between_events_are_interval_based() -> None:
    """R6c counts and averages between N and Smoke."""
    plan = plan_all(R6).rules[2]
    assert [(a.function, a.interval) for a in plan.aggregates] == [
        ("Count", Between(1, 0)),
        ("Avg", Between(1, 0)),
    ]
    assert not any(a.time_based for a in plan.aggregates)


def test_a_guard_knows_the_events_it_needs() -> None:
    """The count of R6c needs Smoke and N."""
    (guard,) = plan_all(R6).rules[2].guards
    assert guard.needs == (0, 1)


def test_a_calendar_timer_tells_its_finest_field() -> None:
    """Fields finer than the finest one mentioned are 0, so the engine must know it."""
    trigger = plan_one(PERIODIC).trigger
    assert isinstance(trigger, CalendarTimer)
    assert trigger.finest == "M"
    assert len(trigger.conditions) == 3


def test_the_calendar_of_a_plan_is_that_of_the_reference() -> None:
    """Of several fields the finest counts, in whatever order they are written."""
    for fields in (
        "H = 9",
        "M = 3, S = 1",
        "Year = 1971",
        "Day = 1, D = Friday",
        "Month = 2, H = 4",
        "D = 1",
    ):
        plan = plan_one(f"define X() from Timer({fields})")
        assert isinstance(plan.trigger, CalendarTimer)
        assert plan.trigger.finest in fields_of(plan.rule)
        midnight: dict[str, Value] = {"S": 0, "M": 0, "H": 0, "Day": 1, "Month": 1}
        for name in midnight:
            must_be_zero = name in TIMER_FIELDS[: TIMER_FIELDS.index(plan.trigger.finest)]
            assert finer_fields_are_zero(plan.rule, {**midnight, name: 7}) != must_be_zero, (fields, name)


def test_a_timer_is_not_stateless() -> None:
    """Though it looks at nothing of the past: if a rule is split, only one part may have the timer."""
    assert not plan_one("define X() from Timer(H = 9)").stateless
    assert not plan_one("define X() from 5 min after A()").stateless


def test_a_deadline_is_a_transition_that_takes_its_time_exactly() -> None:
    """`14 days after Offer`: the timer follows the offer."""
    plan = plan_one(DEADLINE)
    assert plan.trigger == Deadline(1, 14 * DAY)
    assert sequences(plan) == ["Login-O-Timer"]
    step = plan.sequences[0].transitions[-1]
    assert (step.kind, step.selection, step.window) == (TransitionKind.DEADLINE, None, 14 * DAY)


def test_outputs_and_consumption_are_carried_over() -> None:
    """What the rule makes, and what it uses up."""
    plan = plan_one(DEADLINE)
    assert [output.attribute for output in plan.outputs] == ["case"]
    assert names(plan, plan.consumed) == ["O"]


def test_a_plan_keeps_the_rule_it_was_made_from() -> None:
    """Planning is a pure function of the checked rule."""
    plan = plan_one(R7)
    assert plan_rule(plan.rule) == plan


def test_a_plan_can_be_sent_elsewhere() -> None:
    """Spark and brokers send plans to other processes: what arrives is equal, and hashes are too."""
    plan = plan_all(R6)
    copy = pickle.loads(pickle.dumps(plan))
    assert copy == plan
    assert [hash(rule) for rule in copy.rules] == [hash(rule) for rule in plan.rules]


def ladder(steps: int) -> list[Transition]:
    """Diamonds one after the other: two ways through each."""
    found = []
    for step in range(steps):
        base = 3 * step
        for source, target in ((1, 0), (2, 0), (3, 1), (3, 2)):
            found.append(Transition(base + source, base + target, TransitionKind.ANCHOR, None, 1))
    return found


@pytest.mark.parametrize("steps", [1, 4, 8])
def test_every_path_is_a_sequence_while_there_are_few(steps: int) -> None:
    """A ladder of n diamonds has 2**n ways."""
    models = create_sequence_models(ladder(steps), 3 * steps + 1)
    assert len(models) == 2**steps
    assert len({model.states for model in models}) == 2**steps


def test_too_many_paths_are_cut_down_to_a_cover() -> None:
    """Forty diamonds have more ways than could be listed; each arrow is still on one of the sequences."""
    arrows = ladder(40)
    models = create_sequence_models(arrows, 121)
    assert len(models) <= len(arrows)
    assert len(models) < MOST_SEQUENCES
    assert {step for model in models for step in model.transitions} == set(arrows)
    for model in models:
        assert [step.source for step in model.transitions] == list(model.states[:-1])
        assert (model.initial, model.accepting) == (120, 0)


def test_states_of_one_sequence_alone_are_not_joined() -> None:
    """Joining is between sequences."""
    models = [SequenceModel("M1", (2, 1, 0), ()), SequenceModel("M2", (3, 0), ())]
    assert [joined.event for joined in join_states(models)] == [0]
