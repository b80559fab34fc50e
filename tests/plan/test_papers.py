"""The plans of the papers' rules, as printed in the papers: what Algorithm 1 makes of each of them."""

from pathlib import Path

import pytest
from tests.plan.support import DAY, MINUTE, names

import tyrex
from tyrex.plan import RulePlan, RuleSetPlan
from tyrex.plan.text import printer

PAPERS = Path(__file__).parents[2] / "examples" / "papers"
PLANS: dict[str, RuleSetPlan] = {path.stem: tyrex.load(path).plan for path in sorted(PAPERS.glob("*.tesla"))}

SEQUENCES = {
    "trex": {
        "R1": "Temp -each 5-> Smoke",
        "R2": "Temp -last 5-> Smoke",
        "R3": "Temp -each 5-> Smoke",
        "R4": "Temp",
        "R5": "Smoke",
        "R6a": "T2 -last 5-> T1",
        "R6b": "Smoke",
        "R6c": "N -last 5-> Smoke",
        "R7": "Temp -each 5-> Smoke | Wind -each 5-> Smoke",
        "R8": "Temp -last 5-> Smoke",
        "R9": "Temp -first 5-> Smoke",
    },
    "tesla": {
        "Overflow": "WL",
        "Overflow_2": "WL",
        "Fire": "Temp -each 5-> Smoke",
        "Fire_2": "Temp -last 5-> Smoke",
        "D": "E -first 2-> D -last 6-> B -each 5-> A | C -last 3-> A",
        "Fire_3": "Temp -each 5-> Smoke",
        "Fire_4": "Temp -each 5-> Smoke",
        "Fire_5": "Temp -each 5-> Smoke",
        "Fire_6": "Temp -each 5-> Smoke",
        "Weekly": "Timer",
        "AvgTemp": "Timer",
        "HighVal": "Opening -last 1440-> S",
        "RepA": "A",
        "RepA_2": "RepA -last 3-> A",
        "B": "RepA",
    },
    "tesla-automata": {
        "R": "E -each 3-> B -each 2-> A | D -each 4-> B -each 2-> A | D -5-> C -each 4-> A",
        "M1": "E -each 3-> B -each 2-> A",
    },
    "deployment": {
        "R1": "Temp -each 5-> Smoke",
        "R2": "Temp",
        "R3": "Smoke",
        "R4": "E -last 5-> D -last 5-> C -last 5-> B -last 5-> A",
        "R5": "C -last 5-> B -last 5-> A",
        "R6": "C -last 5-> B -last 5-> A",
    },
}


def rule(paper: str, name: str) -> RulePlan:
    return next(plan for plan in PLANS[paper].rules if plan.name == name)


def sequences(plan: RulePlan) -> str:
    """The sequence models on one line, windows in minutes."""
    shown = []
    for model in plan.sequences:
        text = plan.names[model.initial]
        for step in model.transitions:
            label = f"{step.selection or ''} {step.window // MINUTE}".strip()
            text += f" -{label}-> {plan.names[step.target]}"
        shown.append(text)
    return " | ".join(shown)


def test_no_rule_of_the_papers_is_left_out() -> None:
    """The table above has each of them."""
    assert {paper: [plan.name for plan in plans.rules] for paper, plans in PLANS.items()} == {
        paper: list(rules) for paper, rules in SEQUENCES.items()
    }


@pytest.mark.parametrize(("paper", "name"), [(p, n) for p, rules in SEQUENCES.items() for n in rules])
def test_each_rule_of_the_papers_has_its_sequence_models(paper: str, name: str) -> None:
    """`createSequenceModels`: from each initiating event to the terminator, with selection and window."""
    assert sequences(rule(paper, name)) == SEQUENCES[paper][name]


@pytest.mark.parametrize(
    ("paper", "name", "joined"),
    [
        ("trex", "R1", {}),
        ("trex", "R7", {"Smoke": (0, 1)}),
        ("tesla", "D", {"A": (0, 1)}),
        ("tesla-automata", "R", {"A": (0, 1, 2), "B": (0, 1), "D": (1, 2)}),
        ("deployment", "R4", {}),
    ],
)
def test_states_that_models_share_are_joined(paper: str, name: str, joined: dict[str, object]) -> None:
    """`joinStates`: the dashed lines of Fig. 2 of the T-Rex paper and of Fig. 5 of the TESLA paper."""
    plan = rule(paper, name)
    assert {plan.names[state.event]: state.models for state in plan.joined} == joined


@pytest.mark.parametrize(
    ("paper", "name", "parameters"),
    [
        ("trex", "R1", {"a": ["Smoke", "Temp"]}),
        ("trex", "R5", {"a": ["Smoke"], "t": []}),
        ("trex", "R6a", {"a": ["T1", "T2"], "t": ["T1", "T2"]}),
        ("trex", "R6c", {"a": ["Smoke", "N"]}),
        ("trex", "R7", {"a": ["Smoke", "Temp", "Wind"]}),
        ("tesla", "RepA_2", {"x": ["A", "RepA"]}),
        ("deployment", "R5", {"x": ["A", "B"]}),
    ],
)
def test_parameters_connect_states(paper: str, name: str, parameters: dict[str, list[str]]) -> None:
    """`addParameters`: the event that binds it, and those that use it."""
    plan = rule(paper, name)
    assert {p.name: names(plan, p.states) for p in plan.parameters} == parameters


@pytest.mark.parametrize(
    ("paper", "name", "interval"),
    [
        ("trex", "R4", "within 5 min from Temp"),
        ("trex", "R6a", "between T2 and T1"),
        ("trex", "R6b", "within 5 min from Smoke"),
        ("trex", "R7", "between Wind and Smoke"),
        ("tesla", "Fire_4", "between Temp and Smoke"),
        ("tesla", "Fire_5", "within 5 min from Smoke"),
        ("deployment", "R6", "between C and B"),
    ],
)
def test_negations_are_time_based_or_interval_based(paper: str, name: str, interval: str) -> None:
    """`addNegations`: of an interval the earlier end comes first, however it is written."""
    plan = rule(paper, name)
    (negation,) = plan.negations
    assert printer(plan).interval(negation.interval) == interval
    assert negation.time_based == interval.startswith("within")


@pytest.mark.parametrize(
    ("paper", "name", "aggregates"),
    [
        ("trex", "R5", ["Avg value within 5 min from Smoke"]),
        ("trex", "R6b", ["Count None within 5 min from Smoke", "Avg value within 5 min from Smoke"]),
        ("trex", "R6c", ["Count None between N and Smoke", "Avg value between N and Smoke"]),
        ("tesla", "AvgTemp", ["Avg Value within 5 min from Timer"]),
        ("tesla", "HighVal", ["Avg Val between Opening and S"]),
    ],
)
def test_aggregates_are_time_based_or_interval_based(paper: str, name: str, aggregates: list[str]) -> None:
    """`addAggregates`: R6b names no attribute, and the only numeric one is meant."""
    plan = rule(paper, name)
    shown = printer(plan)
    found = [f"{a.function} {a.attribute} {shown.interval(a.interval)}" for a in plan.aggregates]
    assert found == aggregates


@pytest.mark.parametrize(
    ("paper", "name", "static", "dynamic"),
    [
        ("trex", "R1", {"Temp": ["value > 45"]}, {"Temp": ["area = Smoke.area"]}),
        ("trex", "R6a", {}, {"T2": ["area = T1.area", "value >= T1.value"]}),
        (
            "trex",
            "R7",
            {"Temp": ["value > 45"], "Wind": ["speed > 20"]},
            {"Temp": ["area = Smoke.area"], "Wind": ["area = Smoke.area"]},
        ),
        (
            "tesla-automata",
            "R",
            {"A": ["Va > 1"], "B": ["Vb > 2"], "C": ["Vc < 3"], "D": ["Vd = 5"]},
            {},
        ),
        ("tesla", "Overflow_2", {"WL": ["Level > 20"]}, {}),
        ("deployment", "R5", {}, {"B": ["v = A.v"]}),
    ],
)
def test_conditions_are_static_or_dynamic(
    paper: str, name: str, static: dict[str, list[str]], dynamic: dict[str, list[str]]
) -> None:
    """Section 4 of the T-Rex paper; that a bound attribute is not null is static, too, and not shown here."""
    plan = rule(paper, name)
    found_static: dict[str, list[str]] = {}
    found_dynamic: dict[str, list[str]] = {}
    for state in plan.states:
        own = printer(plan, state.index)
        for condition in state.static:
            if not (text := own.show(condition)).endswith("is not null"):
                found_static.setdefault(state.name, []).append(text)
        for dependent in state.dynamic:
            found_dynamic.setdefault(state.name, []).append(own.show(dependent.expression))
    assert found_static == static
    assert found_dynamic == dynamic


@pytest.mark.parametrize(
    ("paper", "name", "horizon"),
    [
        ("trex", "R1", {"Smoke": 0, "Temp": 5 * MINUTE}),
        ("trex", "R4", {"Rain": 5 * MINUTE, "Temp": 0}),
        ("trex", "R6c", {"NotIncrTemp": 5 * MINUTE, "Smoke": 0, "Temp": 5 * MINUTE}),
        ("tesla", "D", {"A": 0, "B": 5 * MINUTE, "C": 3 * MINUTE, "D": 8 * MINUTE, "E": 8 * MINUTE}),
        ("tesla", "Weekly", {}),
        ("tesla", "HighVal", {"Opening": DAY, "Stock": DAY}),
        (
            "deployment",
            "R4",
            {"A": 0, "B": 5 * MINUTE, "C": 10 * MINUTE, "D": 15 * MINUTE, "E": 20 * MINUTE},
        ),
        ("deployment", "R6", {"A": 0, "B": 5 * MINUTE, "C": 10 * MINUTE, "D": 10 * MINUTE}),
    ],
)
def test_events_are_kept_as_long_as_they_matter(paper: str, name: str, horizon: dict[str, int]) -> None:
    """Windows add up along a chain; what ends at a `D within 8 min from A` is kept no longer than that."""
    assert rule(paper, name).horizon == horizon


def test_every_rule_of_the_t_rex_paper_can_be_split_by_area() -> None:
    """All parts of each rule have the area `$a`, and the Fire that it makes has it again."""
    for plan in PLANS["trex"].rules:
        assert plan.key is not None
        assert (plan.key.name, plan.key.outputs) == ("$a", ("area",))
        assert {*plan.key.events, *plan.key.negations, *plan.key.aggregates} == {"area"}


def test_rules_without_a_key_say_what_is_in_the_way() -> None:
    """The C of deployment R5 and the Opening of HighVal are everybody's."""
    for paper, name in (("deployment", "R5"), ("tesla", "HighVal")):
        plan = rule(paper, name)
        assert plan.key is None
        assert len(plan.keys) == 1
        assert plan.keys[0].reason.startswith(("`C` has no attribute", "`Opening` has no attribute"))


def test_hierarchies_of_the_papers_have_their_strata() -> None:
    """R6b and R6c build on R6a; the iteration of the TESLA paper feeds itself and then B, and B feeds D."""
    trex, tesla = PLANS["trex"], PLANS["tesla"]
    assert [trex.rules[number].name for number in trex.strata[1]] == ["R6b", "R6c"]
    assert trex.recursive_groups == ()
    above = [[tesla.rules[number].name for number in stratum] for stratum in tesla.strata[1:]]
    assert above == [["RepA_2"], ["B"], ["D"]]
    recursive = [[tesla.rules[number].name for number in group] for group in tesla.recursive_groups]
    assert recursive == [["D"], ["RepA_2"]]


def test_what_the_papers_consume_is_consumed() -> None:
    """R3, R8, Fire_6 and the iteration."""
    consuming = {
        plan.name: names(plan, plan.consumed)
        for plans in PLANS.values()
        for plan in plans.rules
        if plan.consumed
    }
    assert consuming == {"R3": ["Temp"], "R8": ["Temp"], "Fire_6": ["Temp"], "RepA_2": ["RepA"]}
