from tests.plan.support import MINUTE, plan_one
from tests.plan.support import R as RULE_R

from tyrex.plan import RulePlan, TransitionKind


def arrows(plan: RulePlan) -> set[str]:
    return {f"{plan.names[arrow.source]}->{plan.names[arrow.target]}" for arrow in plan.order}


def test_the_ordering_graph_of_rule_r_is_that_of_figure_4() -> None:
    """TESLA paper, section 5.1: D precedes both B and C; B and C are not ordered."""
    assert arrows(plan_one(RULE_R)) == {"B->A", "C->A", "D->B", "D->C", "E->B"}


def test_a_constraint_between_ordered_events_adds_no_arrow() -> None:
    """Where the anchors lead from C to A already, `C within .. from A` is only a bound."""
    plan = plan_one("""
        define X() from A() and each B() within 5 min from A and each C() within 5 min from B
        and C within 6 min from A
    """)
    assert arrows(plan) == {"B->A", "C->B"}
    assert [constraint.orders for constraint in plan.time_constraints] == [False]


def test_a_constraint_that_another_one_implies_adds_no_arrow() -> None:
    """D before C and C before B: then D is before B anyway."""
    plan = plan_one("""
        define X() from A() and each B() within 5 min from A and each C() within 5 min from A
        and each D() within 5 min from A and D within 9 min from B
        and D within 1 min from C and C within 2 min from B
    """)
    assert arrows(plan) == {"B->A", "C->A", "D->A", "D->C", "C->B"}
    assert sorted((plan.names[c.later], c.orders) for c in plan.time_constraints) == [
        ("B", False),
        ("B", True),
        ("C", True),
    ]


def test_the_tightest_of_several_windows_stands_on_the_arrow() -> None:
    """`B within 3 min from A` beside an anchor of 5 min leaves 3 min for the step."""
    plan = plan_one("define X() from A() and each B() within 5 min from A and B within 3 min from A")
    assert [(arrow.kind, arrow.window) for arrow in plan.order] == [(TransitionKind.ANCHOR, 3 * MINUTE)]
    assert plan.states[1].window == 5 * MINUTE
