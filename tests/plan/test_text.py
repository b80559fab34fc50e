import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plan.support import DEADLINE, PERIODIC, R6, R7, plan_all, plan_one

from tyrex.plan.text import (
    Printer,
    printer,
    show_aggregate,
    show_negation,
    show_state,
    show_static,
    show_step,
    show_type,
)
from tyrex.tesla import check_text
from tyrex.tesla.expressions import (
    Aggregate,
    Attribute,
    Between,
    Binary,
    Call,
    Compare,
    Expression,
    Literal,
    OneOf,
    Parameter,
    Precedes,
    Present,
    Unary,
    Within,
)

X = Attribute(0, "x")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (Literal("a"), '"a"'),
        (Literal(None), "null"),
        (Literal(True), "true"),
        (Literal(1.5), "1.5"),
        (X, "A.x"),
        (Attribute(-1, "y"), "y"),
        (Parameter("p"), "$p"),
        (Unary("-", X), "-A.x"),
        (Unary("not", Compare("=", X, Literal(1))), "not A.x = 1"),
        (Binary("*", Binary("+", X, Literal(1)), Literal(2)), "(A.x + 1) * 2"),
        (Binary("-", X, Binary("-", X, Literal(1))), "A.x - (A.x - 1)"),
        (Binary("and", Compare("<", X, Literal(1)), Literal(True)), "A.x < 1 and true"),
        (Binary("and", Binary("or", X, X), X), "(A.x or A.x) and A.x"),
        (OneOf(X, (Literal(1), Literal(2))), "A.x in (1, 2)"),
        (Call("least", (X, Literal(3))), "least(A.x, 3)"),
        (Call("float", (X,)), "A.x"),
        (Present(X), "A.x is not null"),
        (Precedes(1, 0, 5_000_000), "B within 5 s from A"),
        (Aggregate("Count", "T", (), None, Within(0, 60_000_000)), "Count(T()) within 1 min from A"),
        (
            Aggregate("Avg", "T", (Compare(">", Attribute(-1, "v"), X),), "v", Between(1, 0)),
            "Avg(T(v > A.x).v) between B and A",
        ),
    ],
)
def test_expressions_are_printed_as_they_are_written(expression: Expression, text: str) -> None:
    """With the names of the rule, and parentheses only where they are needed."""
    assert Printer(["A", "B"]).show(expression) == text


def test_attributes_of_the_own_event_stand_bare() -> None:
    """Inside an event's parentheses its attributes need no name before them."""
    assert Printer(["A", "B"], own=0).show(Compare("=", X, Attribute(1, "x"))) == "x = B.x"


def test_a_parameter_can_stand_for_what_it_is_bound_to() -> None:
    """The plan knows values, a reader knows `$a`."""
    plan = plan_one(R7)
    assert printer(plan, 1, parameters=True).show(plan.states[1].dynamic[0].expression) == "area = $a"


def test_several_conditions_are_joined_with_and() -> None:
    """An `or` among them gets its parentheses."""
    either = Binary("or", Compare("=", X, Literal(1)), Compare("=", X, Literal(2)))
    assert Printer(["A"], 0).show_all([either, Compare("<", X, Literal(9))]) == "(x = 1 or x = 2) and x < 9"
    assert Printer(["A"], 0).show_all([either]) == "x = 1 or x = 2"


def test_days_of_the_week_have_their_names() -> None:
    """A timer's D is a number inside."""
    plan = plan_one(PERIODIC)
    assert show_static(plan, plan.terminator) == ["H = 9", "M = 0", "D = Friday"]


def test_parts_of_a_plan_are_shown_as_in_the_rule() -> None:
    """Negations and aggregates with their intervals, steps with selection and window."""
    plan = plan_all(R6).rules[2]
    assert show_aggregate(plan, plan.aggregates[1]) == "Avg(Temp(area = $a).value) between N and Smoke"
    assert (
        show_negation(plan_one(R7), plan_one(R7).negations[0]) == "not Rain(area = $a) between Wind and Smoke"
    )
    assert show_step(plan.order[0]) == "last, 5 min"
    assert show_step(plan_one(DEADLINE).order[0]).startswith("after ")
    assert (show_state(plan.states[1]), show_type(plan.states[1])) == ("N: NotIncrTemp", "NotIncrTemp as N")
    assert (show_state(plan.states[0]), show_type(plan.states[0])) == ("Smoke", "Smoke")


numbers = st.recursive(
    st.sampled_from([Attribute(0, "x"), Attribute(0, "y"), Literal(2), Literal(7)]),
    lambda inner: st.one_of(
        st.builds(Binary, st.sampled_from("+-*"), inner, inner),
        st.builds(lambda a: Unary("-", a), st.sampled_from([Attribute(0, "x")])),
        st.builds(lambda a, b: Call("least", (a, b)), inner, inner),
    ),
    max_leaves=5,
)
truths = st.recursive(
    st.one_of(
        st.builds(Compare, st.sampled_from(["=", "!=", "<", ">="]), numbers, numbers),
        st.builds(lambda a, b: OneOf(a, (b, Literal(5))), numbers, numbers),
    ),
    lambda inner: st.one_of(
        st.builds(lambda a, b: Binary("or", a, b), inner, inner),
        st.builds(lambda a: Unary("not", a), inner),
    ),
    max_leaves=5,
)


@settings(max_examples=150, deadline=None)
@given(truths)
def test_what_is_printed_reads_back_as_the_same_condition(condition: Expression) -> None:
    """Precedence and parentheses are those of the language."""
    text = Printer(["A"], own=0).show(condition)
    (rule,) = check_text(f"event A(x: int, y: int) define C() from A({text} or x > y)").rules
    (read,) = rule.events[0].conditions
    assert read == Binary("or", condition, Compare(">", Attribute(0, "x"), Attribute(0, "y")))
