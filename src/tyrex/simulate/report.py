"""What a scenario's runs came to: as text, as data, and as a page with pictures."""

from __future__ import annotations

from collections.abc import Sequence

from tyrex.plan.pictures.canvas import Drawing
from tyrex.simulate import page
from tyrex.simulate.charts import COLOURS, Point, Series, bars, number
from tyrex.simulate.measure import Outcome, mean
from tyrex.simulate.picture import main_root, network_picture
from tyrex.simulate.scenario import Scenario
from tyrex.simulate.traffic import Count
from tyrex.tesla.durations import format_duration

HEADER = (
    "strategy",
    "events/s",
    "bytes/s",
    "primitive",
    "composite",
    "asked",
    "delay ms",
    "in order ms",
    "detected",
)


def summary(scenario: Scenario, outcomes: Sequence[Outcome]) -> str:
    """The runs as a person reads them."""
    rows = [HEADER, *(cells(outcome) for outcome in outcomes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    lines = [_about(scenario), ""]
    lines += (
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
    for outcome in outcomes:
        lines += [f"{outcome.strategy}: {problem}" for problem in outcome.problems[:3]]
    return "\n".join(lines)


def cells(outcome: Outcome) -> tuple[str, ...]:
    """A run as a row of a table."""

    def rate(kind: str) -> str:
        return number(outcome.traffic.get(kind, Count()).events / outcome.seconds)

    return (
        outcome.strategy,
        number(outcome.events_per_second),
        number(outcome.bytes_per_second),
        rate("Events"),
        rate("Composites"),
        rate("Awaken"),
        _milliseconds(mean(outcome.assumed)),
        _milliseconds(mean(outcome.delays)),
        _detected(outcome),
    )


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _detected(outcome: Outcome) -> str:
    difference = outcome.difference
    if difference is None:
        return number(outcome.delivered)
    if difference.exact:
        return f"{difference.expected}, all right"
    return f"{difference.expected}, {difference.missing} missing, {difference.extra} too many"


def _about(scenario: Scenario) -> str:
    topology, workload = scenario.topology, scenario.workload
    return (
        f"{scenario.name}: {len(topology.processors)} processors with {topology.degree:.1f} neighbours on average, "
        f"{len(workload.feeds)} sources, {len(workload.parsed)} rules, {len(workload.sinks)} sinks; "
        f"{number(workload.rate)} events/s for {format_duration(scenario.run.duration)}, mode {scenario.mode}"
    )


def html(scenario: Scenario, outcomes: Sequence[Outcome]) -> str:
    """The runs as a page: a table, plots, and a picture of the network for each strategy."""
    parts = [page.paragraph(_about(scenario)), page.table(HEADER, map(cells, outcomes))]
    parts.append(
        page.paragraph(
            "Traffic is events, composites and questions for events, each counted on every link it goes over. "
            "The delay is from the terminator of a composite to its arrival at the sink: first as the deployment "
            "paper has it, where events come in order by themselves; then with the order made certain, where "
            "processors wait until all that is earlier has come.",
            "note",
        )
    )
    parts.append(page.pictures(_plots(outcomes)))
    for outcome in outcomes:
        parts.append(page.heading(f"{outcome.strategy}, mode {outcome.mode}"))
        root = main_root(outcome)
        trees = len(outcome.hosting.parents)
        if trees > 1:
            parts.append(page.paragraph(f"{trees} trees; shown is that of {root}.", "note"))
        picture = network_picture(scenario.topology, scenario.workload, outcome, root)
        parts.append(page.pictures([(f"{outcome.strategy}: the network", picture)]))
        parts.append(page.folded("Which rules are where", _places(outcome)))
        parts.append(page.folded("Messages by kind", _kinds(outcome)))
    return page.page(scenario.name, parts)


def _plots(outcomes: Sequence[Outcome]) -> list[tuple[str, Drawing]]:
    def series(values: Sequence[float | None]) -> list[Series]:
        return [
            Series(outcome.strategy, (Point(0, value),), COLOURS[place % len(COLOURS)])
            for place, (outcome, value) in enumerate(zip(outcomes, values, strict=True))
            if value is not None
        ]

    return [
        ("Traffic", bars("Traffic", "events/s over links", series([o.events_per_second for o in outcomes]))),
        ("Delay", bars("Delay", "ms, order assumed", series([mean(o.assumed) for o in outcomes]))),
    ]


def _places(outcome: Outcome) -> str:
    rows = []
    for (root, name), hosted in sorted(outcome.hosting.hosted.items()):
        if hosted.rules or hosted.partial:
            rules = ", ".join(hosted.rules[:12]) + (" .." if len(hosted.rules) > 12 else "")
            rows.append((root, name, rules, str(hosted.partial), str(hosted.pulled)))
    return page.table(("tree of", "processor", "rules", "partial rules", "pulled"), rows)


def _kinds(outcome: Outcome) -> str:
    rows = [
        (f"{when}{kind}", str(count.messages), str(count.bytes), str(count.events))
        for when, kinds in (("", outcome.traffic), ("before: ", outcome.setup))
        for kind, count in kinds.items()
    ]
    return page.table(("kind", "messages", "bytes", "events"), rows)
