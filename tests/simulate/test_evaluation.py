"""Evaluations: figures, claims, confidence, and sweeps of cases."""

from __future__ import annotations

from collections import Counter

import pytest

from tyrex.simulate.claims import CLAIMS
from tyrex.simulate.deployment import Deployment
from tyrex.simulate.evaluation import EVALUATIONS, html_report, plan_of, text_report, verdicts
from tyrex.simulate.figures import FIGURES
from tyrex.simulate.notes import NOTES
from tyrex.simulate.raced_scenario import Raced
from tyrex.simulate.results import Results, confidence
from tyrex.simulate.scenario import Run
from tyrex.simulate.sweep import Case, Measured, case_of, run_case, run_cases
from tyrex.tesla.durations import SECOND

TINY = Deployment(processors=4, degree=2, types=6, rules=3, subscriptions=1, slowest=0.5, window=2)
SHORT = Run(10 * SECOND, 0, 5 * SECOND, samples=2, check=True)


@pytest.mark.parametrize("paper", EVALUATIONS)
def test_a_report_has_each_figure_and_each_claim(paper: str) -> None:
    """With the claims that hold for made-up measurements, those that don't, and those that were not run."""
    plan = plan_of(paper, quick=True)
    known = [_made_up(case.label, case.strategy, 100.0) for case in plan.cases()]
    page = html_report(plan, known)
    for figure in EVALUATIONS[paper]:
        assert f"Figure {figure.name}: {figure.title}" in page
        for claim in CLAIMS:
            if claim.figure == figure.name:
                assert claim.text in page
    figures = {figure.name for figure in EVALUATIONS[paper]}
    judged = verdicts(Results.of(known))
    assert Counter(v["figure"] for v in judged) == Counter(c.figure for c in CLAIMS if c.figure in figures)
    assert "NOT seen" in text_report(plan, known)


def test_claims_are_judged_by_the_numbers() -> None:
    """The crossing of Figure 12 is seen where MT is below ST for few subscriptions, and above it for many."""

    def traffic(multiple: float, single: float) -> list[object]:
        runs = [
            _made_up(f"12 {value}", strategy, rate)
            for value, factor in ((1.0, 1.0), (10.0, 4.0))
            for strategy, rate in (("MT", multiple * factor**2), ("ST", single * factor))
        ]
        found = verdicts(Results.of(runs))
        return [v["seen"] for v in found if "subscriptions per processor, MT" in str(v["claim"])]

    assert traffic(50, 100) == [True]
    assert traffic(150, 100) == [False]


def test_what_raced_saves_is_computed_from_both() -> None:
    """75 notifications for 100 are 25% saved, which is within the paper's 20 to 35%."""
    runs = [
        _made_up(f"6c {value}", strategy, rate)
        for value, saved in ((0.0, 0.2), (4.0, 0.36))
        for strategy, rate in (("PADRES", 100.0), ("RACED", 100 * (1 - saved)))
    ]
    seen = {str(v["claim"]): v["seen"] for v in verdicts(Results.of(runs)) if v["figure"] == "6c"}
    assert seen["RACED saves 20% to more than 35% (Fig. 7c)."] is True
    assert seen["RACED saves more with a greater variance (Fig. 7c)."] is True


def test_confidence_is_that_of_student() -> None:
    """Of 1, 2 and 3 the mean is 2, and half of the interval 4.30 * 1 / sqrt(3)."""
    found = confidence([1.0, 2.0, 3.0])
    assert found.mean == 2.0
    assert found.half == pytest.approx(4.30 / 3**0.5)
    assert confidence([5.0]).half == 0


def test_every_figure_has_claims_and_every_note_a_figure() -> None:
    """Figures 10 to 20 of the one paper, 6 and 7 of the other."""
    names = {figure.name for figures in EVALUATIONS.values() for figure in figures}
    assert {claim.figure for claim in CLAIMS} == names
    assert [figure.name for figure in FIGURES] == [str(n) for n in range(10, 21)]
    assert NOTES.keys() <= names


@pytest.mark.parametrize("parameters", [TINY, Raced(brokers=10, clients=5, types=9, definitions=2)])
def test_a_case_is_the_same_after_a_journey_as_text(parameters: Deployment | Raced) -> None:
    """So it can be a row of a DataFrame."""
    case = Case(parameters, "RACED", "paper", SHORT, "6a 5")
    assert case_of(case.text()) == case


def test_cases_run_in_several_processes_as_in_one() -> None:
    """With the same measurements, in the same order."""
    cases = [Case(TINY, strategy, "exact", SHORT, "x 0") for strategy in ("Centr", "MT")]
    alone = run_cases(cases)
    assert [one.strategy for one in alone] == ["Centr", "MT"]
    assert all(one.missing == one.extra == 0 and one.expected for one in alone)
    assert run_cases(cases, processes=2) == alone


def test_a_sweep_covers_all_strategies_on_the_same_scenarios() -> None:
    """Each value, seed and strategy once; a quick one has the ends and the middle."""
    full, few = plan_of("deployment"), plan_of("deployment", quick=True)
    of_twelve = [case for case in full.cases() if case.label.startswith("12 ")]
    assert len(of_twelve) == 5 * 10 * 5
    assert len({case.parameters for case in of_twelve}) == 5 * 10
    assert {case.label for case in few.cases() if case.label.startswith("12 ")} == {
        "12 1.0",
        "12 5.0",
        "12 20.0",
    }
    assert {case.mode for case in few.cases()} == {"exact", "paper"}


def test_raced_saves_traffic_where_filters_are_many() -> None:
    """A small run of the real thing: pull and adaptation never cost an event more than pushing everything."""
    parameters = Raced(brokers=12, clients=30, types=20, definitions=3, subscribers=3, filters=3, window=1)
    run = Run(400 * SECOND, 200 * SECOND, 20 * SECOND, samples=0, check=True)
    adaptive, push = (
        run_case(Case(parameters, strategy, "exact", run, "x 0")) for strategy in ("RACED", "PADRES")
    )
    assert adaptive.missing == adaptive.extra == push.missing == push.extra == 0
    assert adaptive.expected == push.expected
    assert adaptive.primitive_per_second <= push.primitive_per_second


def _made_up(label: str, strategy: str, rate: float) -> Measured:
    return Measured(
        label, strategy, "exact", 0, rate, rate * 9, rate, 0, 0, 9.0, 8.0, 10, 10, None, None, None
    )
