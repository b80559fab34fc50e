from tests.plan.support import R1, R6, R7, plan_all, plan_one

from tyrex.plan.conditions import aggregates_in, needs, split_conditions, time_constraints
from tyrex.plan.text import printer
from tyrex.tesla.expressions import (
    Aggregate,
    Attribute,
    Binary,
    Compare,
    Literal,
    Precedes,
    Within,
)


def test_conditions_on_the_event_alone_are_static() -> None:
    """T-Rex paper, section 4: `Temp.value > 45` is static."""
    plan = plan_one(R1)
    temp = plan.states[1]
    assert [printer(plan, 1).show(condition) for condition in temp.static] == ["value > 45"]


def test_conditions_on_other_events_are_dynamic_and_tell_which() -> None:
    """The area of a Temp can be tested only when its Smoke is known."""
    plan = plan_one(R1)
    (condition,) = plan.states[1].dynamic
    assert printer(plan).show(condition.expression) == "Temp.area = Smoke.area"
    assert condition.needs == (0,)


def test_the_binding_of_a_parameter_is_a_static_condition() -> None:
    """What remains of `area = $a` is that the area is not null."""
    plan = plan_one(R7)
    assert [printer(plan, 0).show(condition) for condition in plan.states[0].static] == ["area is not null"]


def test_negations_and_aggregates_are_split_too() -> None:
    """Their conditions are on the candidate."""
    plan = plan_one("""
        define X() from A(k = $k) and not B(k = $k and v > 3) within 5 min from A
        and Count(C(k = $k and w = "x")) within 5 min from A > 2
    """)
    (negation,), (aggregate,) = plan.negations, plan.aggregates
    shown = printer(plan)
    assert [shown.show(condition) for condition in negation.static] == ["v > 3"]
    assert [condition.needs for condition in negation.dynamic] == [(0,)]
    assert [shown.show(condition) for condition in aggregate.static] == ['w = "x"']
    assert [shown.show(condition.expression) for condition in aggregate.dynamic] == ["k = A.k"]


def test_a_conjunction_is_split_into_its_parts() -> None:
    """One part can be static though the other is not."""
    static = Compare(">", Attribute(1, "v"), Literal(3))
    dynamic = Compare("=", Attribute(1, "v"), Attribute(0, "v"))
    split = split_conditions([Binary("and", static, dynamic)], 1)
    assert split.static == (static,)
    assert [(condition.expression, condition.needs) for condition in split.dynamic] == [(dynamic, (0,))]


def test_two_attributes_of_one_event_make_a_static_condition() -> None:
    """`v < w` needs nothing but the event."""
    condition = Compare("<", Attribute(1, "v"), Attribute(1, "w"))
    assert split_conditions([condition], 1).static == (condition,)


def test_an_aggregate_makes_a_condition_dynamic() -> None:
    """Even one that speaks of no other event needs the complete tuple."""
    average = Aggregate("Avg", "T", (), "v", Within(0, 5))
    condition = Compare(">", Attribute(-1, "v"), average)
    split = split_conditions([condition])
    assert split.static == ()
    assert [found.needs for found in split.dynamic] == [(0,)]
    assert aggregates_in(condition) == [average]
    assert needs(condition) == (0,)


def test_time_constraints_are_no_conditions_on_content() -> None:
    """They stand in the plan by themselves."""
    constraint = Precedes(2, 1, 5)
    assert time_constraints([constraint, Literal(True)]) == [constraint]
    assert split_conditions([constraint], 2) == split_conditions([], 2)


def test_conditions_that_stand_alone_go_to_their_event() -> None:
    """`T2.value > 3` after the events is static for T2."""
    plan = plan_all(R6).rules[0]
    assert plan.states[1].static == ()
    written_apart = plan_one("define X() from A() and last B() as C within 1 s from A and C.v > 3")
    assert [printer(written_apart, 1).show(c) for c in written_apart.states[1].static] == ["v > 3"]
