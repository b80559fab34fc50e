"""The evaluations of both papers, run again: plots, and for each figure what the paper claims and whether we see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tyrex.plan.pictures.canvas import Drawing
from tyrex.simulate import page
from tyrex.simulate.charts import bars, lines, number
from tyrex.simulate.claims import CLAIMS, Seen
from tyrex.simulate.figures import FIGURES, RACED_FIGURES, Figure
from tyrex.simulate.notes import NOTES
from tyrex.simulate.results import Results
from tyrex.simulate.scenario import Run
from tyrex.simulate.sweep import Case, Measured
from tyrex.tesla.durations import MINUTE, SECOND

EVALUATIONS = {"deployment": FIGURES, "raced": RACED_FIGURES}
MODES_FIGURE = "modes"
"""The label of runs that compare the modes `exact` and `paper`, with a check."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What an evaluation runs."""

    paper: str
    seeds: int
    run: Run
    few: bool = False
    figures: tuple[str, ...] = ()
    """Their names; none means all."""

    def chosen(self) -> tuple[Figure, ...]:
        """The figures that are run."""
        return tuple(
            figure for figure in EVALUATIONS[self.paper] if not self.figures or figure.name in self.figures
        )

    def cases(self) -> list[Case]:
        """Every run, those on one scenario together."""
        cases = [
            case for figure in self.chosen() for case in figure.cases(self.seeds, self.run, few=self.few)
        ]
        if not self.figures:
            cases += self._modes()
        return cases

    def _modes(self) -> list[Case]:
        """The first scenario in both modes, each compared with one engine."""
        figure = EVALUATIONS[self.paper][0]
        checked = Run(self.run.duration, self.run.warm_up, self.run.span, samples=0, check=True)
        value = figure.values[len(figure.values) // 2]
        return [
            Case(case.parameters, case.strategy, mode, checked, f"{MODES_FIGURE} 0")
            for case in figure.cases(min(self.seeds, 3), checked)
            if case.label == f"{figure.name} {value}"
            for mode in ("exact", "paper")
        ]


def plan_of(
    paper: str,
    *,
    quick: bool = False,
    seeds: int | None = None,
    duration: int | None = None,
    warm_up: int | None = None,
    figures: Sequence[str] = (),
) -> Plan:
    """The usual plan of an evaluation, or a quick one."""
    # Masters of pull are chosen by rates that are looked at every four reaches of a rule, and twice: for windows of
    # a minute that takes 20 to 30 minutes, which the warm-up leaves them.
    if quick:
        run = Run(duration or 10 * MINUTE, warm_up or 30 * MINUTE, 5 * MINUTE, samples=10)
        return Plan(paper, seeds or 2, run, few=True, figures=tuple(figures))
    run = Run(duration or 60 * MINUTE, warm_up or 60 * MINUTE, 10 * MINUTE, samples=100)
    return Plan(paper, seeds or 10, run, figures=tuple(figures))


# --- What came of it --------------------------------------------------------------------------------------


def verdicts(results: Results) -> list[dict[str, object]]:
    """Each claim with what we see, as plain data."""
    found: list[dict[str, object]] = []
    for claim in CLAIMS:
        seen = claim.check(results)
        if seen is not None:
            found.append(
                {"figure": claim.figure, "claim": claim.text, "seen": seen.holds, "numbers": seen.numbers}
            )
    return found


def text_report(plan: Plan, measured: Sequence[Measured]) -> str:
    """The claims and whether we see them, as lines."""
    results = Results.of(measured)
    lines_ = []
    for verdict in verdicts(results):
        mark = "seen    " if verdict["seen"] else "NOT seen"
        lines_.append(f"Fig. {verdict['figure']:>3}  {mark}  {verdict['claim']}  ({verdict['numbers']})")
    lines_ += ("  ".join(row) for row in _mode_rows(results, plan))
    return "\n".join(lines_)


def html_report(plan: Plan, measured: Sequence[Measured]) -> str:
    """The page with every figure and claim."""
    results = Results.of(measured)
    title = f"Evaluation of the {'deployment' if plan.paper == 'deployment' else 'RACED'} paper, simulated"
    known = verdicts(results)
    seen = sum(bool(verdict["seen"]) for verdict in known)
    parts = [
        page.paragraph(
            f"{plan.seeds} seeds, {plan.run.duration // SECOND} simulated seconds after a warm-up of "
            f"{plan.run.warm_up // SECOND}; mode exact. Whiskers are 95% confidence intervals over the seeds. "
            f"Of {len(known)} claims of the paper we see {seen}. How the scenarios were read, where the paper leaves "
            "something open, stands in the guide to the simulation of networks."
        )
    ]
    for figure in plan.chosen():
        parts += _figure(figure, results)
    rows = _mode_rows(results, plan)
    if rows:
        parts += [page.heading("Exact, and as in the paper"), page.table(rows[0], rows[1:])]
        parts.append(
            page.paragraph(
                "`wrong` is what sinks missed or got too many, of what one engine detects that gets all events. "
                "The mode exact is never wrong; the last column says what that costs.",
                "note",
            )
        )
    return page.page(title, parts)


def _figure(figure: Figure, results: Results) -> list[str]:
    parts = [page.heading(f"Figure {figure.name}: {figure.title}")]
    drawings: list[tuple[str, Drawing]] = []
    plots = [("assumed", "Delay", "ms, order of events assumed")] if figure.delay else []
    plots.append(("events_per_second", "Traffic", "events/s over links"))
    plots.append(("bytes_per_second", "Traffic in bytes", "bytes/s over links"))
    for what, title, up in plots:
        series = results.series(figure.name, figure.strategies, what)
        if len(figure.values) == 1:
            drawings.append((title, bars(title, up, series)))
        else:
            drawn = lines(title, figure.across, up, series, logarithmic=figure.logarithmic)
            drawings.append((title, drawn))
    parts.append(page.pictures(drawings))
    rows = [_claim_row(claim.text, claim.check(results)) for claim in CLAIMS if claim.figure == figure.name]
    parts.append(f"<table><tbody>{''.join(rows)}</tbody></table>")
    if figure.name in NOTES:
        parts.append(page.paragraph(NOTES[figure.name], "note"))
    return parts


def _claim_row(text: str, seen: Seen | None) -> str:
    word, kind = (
        ("not run", "note") if seen is None else ("seen", "yes") if seen.holds else ("not seen", "no")
    )
    numbers = "" if seen is None else seen.numbers
    return (
        f'<tr><td>{escape(text)}</td><td class="text {kind}">{word}</td>'
        f'<td class="text note">{escape(numbers)}</td></tr>'
    )


def _mode_rows(results: Results, plan: Plan) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for strategy in EVALUATIONS[plan.paper][0].strategies:
        exact = results.get(MODES_FIGURE, 0, strategy, "events_per_second", "exact")
        paper = results.get(MODES_FIGURE, 0, strategy, "events_per_second", "paper")
        if exact is None or paper is None:
            continue
        wrong = [_wrong(results, strategy, mode) for mode in ("exact", "paper")]
        rows.append(
            (
                strategy,
                number(exact.mean),
                number(paper.mean),
                f"{wrong[0]:.2%}",
                f"{wrong[1]:.2%}",
                f"{exact.mean / paper.mean - 1:+.1%}" if paper.mean else "-",
            )
        )
    header = ("strategy", "events/s exact", "paper", "wrong exact", "paper", "exact costs")
    return [header, *rows] if rows else []


def _wrong(results: Results, strategy: str, mode: str) -> float:
    runs = results.runs.get((MODES_FIGURE, 0.0, strategy, mode), [])
    expected = sum(one.expected or 0 for one in runs)
    return sum((one.missing or 0) + (one.extra or 0) for one in runs) / max(1, expected)
