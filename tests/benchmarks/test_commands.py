"""Every benchmark runs, at sizes that take no time, and tells what it should. Nothing here looks at a clock."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

import pytest
from benchmarks.__main__ import COMMANDS, command_line
from benchmarks.figures import Comparison, Figure
from benchmarks.figures import report as compare_report
from benchmarks.loads import SequenceLoad
from benchmarks.paper_compare import Compared, CompareFigure
from benchmarks.paper_figures import Panel, Sweep, Variant, sweeps
from benchmarks.paper_queue import Dropped, QueueFigure
from benchmarks.queueing import pass_through
from benchmarks.rates import Point, curve, limit
from benchmarks.report import Machine, Report, Table, Verdict, publish
from benchmarks.sequences import Scenario
from benchmarks.streams import fire

import tyrex
from benchmarks import (
    beginnings,
    compare,
    index,
    latency,
    many_rules,
    memory,
    network_data,
    network_simulation,
    paper,
    paper_compare,
    paper_measure,
    parsing,
    tesla_load,
    threads,
    throughput,
    workloads,
)

PAID_OF_4000 = sum(1 for payment in range(memory.AGE, 2_000) if payment % 4 != 3)
"""A payment is of the order 250 before it, if there is one; every fourth is of none."""


def _published(report: Report, folder: Path, format: str = "text") -> dict[str, object]:
    publish(report, None, Namespace(quick=True, format=format), Machine(), build=folder)
    record: dict[str, object] = json.loads((folder / f"{report.name}.json").read_text())
    return record


def test_latency_counts_what_one_event_makes(tmp_path: Path) -> None:
    """With one rule for Temp5, every call is timed, and the composites are those of a batch."""
    rule = """event Temp5(area: string, value: int)
    define Hot(value: int) from Temp5(value > 60) where value = Temp5.value"""
    result = latency.measure(90, rules=rule)
    assert [len(row.nanoseconds) for row in result.rows][::3] == [90, 90]
    stream = fire(latency.WINDOW_EVENTS, latency.PERCENT_SMOKE, 90)
    engine = tyrex.Engine(rule)
    engine.send_batch(stream.to_arrow().slice(0, stream.fill))
    assert result.composites == len(engine.send_batch(stream.to_arrow().slice(stream.fill))) > 0
    record = _published(latency.report(result), tmp_path)
    assert record["quick"] is True
    assert len(record["verdicts"]) == 2  # type: ignore[arg-type]


def test_throughput_finds_the_same_in_batches_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The size of a batch changes the time, not what is found; here with every twentieth rule."""
    monkeypatch.setattr(workloads, "FIRE_PAIRS", workloads.FIRE_PAIRS[::20])
    rows = throughput.measure(50, (16, throughput.BATCH), 60, rounds=1)
    assert [row.batch for row in rows] == [16, throughput.BATCH]
    assert rows[0].composites == rows[1].composites > 0
    assert len(throughput.report(rows).verdicts) == 1
    _published(throughput.report(rows), tmp_path, "json")


@pytest.mark.parametrize("policy", ["last", "each"])
def test_beginnings_kept_and_found_anew_are_the_same(tmp_path: Path, policy: str) -> None:
    """Both ways are measured on one stream, and their ratio has a target."""
    row = beginnings.measure(beginnings.Load(policy, 10, 60, 3_000), rounds=1)
    assert row.composites > 0
    _published(beginnings.report([row]), tmp_path)


@pytest.mark.parametrize("policy", ["last", "each", "avg"])
def test_threads_find_the_same(tmp_path: Path, policy: str) -> None:
    """One and two threads are compared on rules of each kind, and their ratio has a target."""
    row = threads.measure(threads.Workload(policy, 3, 50, 4_000), 2, rounds=1)
    assert row.composites > 0
    assert len(threads.report([row]).verdicts) == 1
    _published(threads.report([row]), tmp_path)


def test_deployed_rules_that_are_not_triggered_change_nothing_but_time(tmp_path: Path) -> None:
    """On the same stream, 100 and 200 rules make the same number of composites for an event, however they ask."""
    rows = [
        many_rules.measure(rules, form, events=200, rounds=2)
        for rules, form in ((100, "equal"), (200, "equal"), (100, "bounds"))
    ]
    same = {row.cost("same").composites for row in rows}
    assert len(same) == 1
    assert same.pop() > 4
    assert len(many_rules.report(rows).verdicts) == 2
    _published(many_rules.report(rows), tmp_path)


def test_simulated_networks_of_all_sizes_take_the_same_events(tmp_path: Path) -> None:
    """A network that is larger only takes them over more links."""
    rows = [network_simulation.measure(size, "ST", 60_000_000) for size in (3, 6)]
    assert rows[0].hops < rows[1].hops
    assert rows[0].events == rows[1].events > 1000
    assert len(network_simulation.report(rows[1:], rows).verdicts) == 2
    _published(network_simulation.report(rows[1:], rows), tmp_path)


def test_a_processor_does_each_of_its_jobs(tmp_path: Path) -> None:
    """Events are passed on, forwarded, pruned and detected; what a child held back is found as well."""
    costs = {job: network_data.measure(job, make, 100, 2) for job, make in network_data.jobs().items()}
    assert costs["passes on"].sent == 1
    assert 0.4 < costs["forwards"].sent < 0.6
    assert 0 < costs["prunes"].sent < 1
    assert costs["detects"].composites > 0
    assert costs["late"].composites > 0
    report = network_data.report(list(costs.values()))
    assert len(report.verdicts) == 3
    _published(report, tmp_path)


def test_the_tesla_load_is_the_papers() -> None:
    """5,000 rules, 25,000 states, and an event every 10 ms."""
    assert tesla_load.LOAD.rules == 5_000
    assert tesla_load.LOAD.rules * tesla_load.LOAD.all_states == 25_000
    assert tesla_load.STEP * tesla_load.PAPER_RATE == 1_000_000


def test_a_small_tesla_load_finds_the_chains_that_are_counted(tmp_path: Path) -> None:
    """With any number of threads, and split into batches."""
    small = Scenario("each", rules=20, kinds=4, states=4, window=2_000)
    counted = tesla_load.partial_matches(small, 300, 200, samples=5)
    runs = [tesla_load.run(small, 300, 200, threads, batch=64) for threads in (1, 2)]
    assert {run.composites for run in runs} == {counted.composites}
    assert min(counted.partial) > 0
    record = _published(tesla_load.report(runs, counted), tmp_path)
    assert record["data"]["agree"] is True  # type: ignore[index]


def test_the_stream_for_memory_brings_ever_new_texts(tmp_path: Path) -> None:
    """A text comes with its order and, for three payments of four, once more; unpaid orders are told after a minute."""
    numbers = memory.batch(0, 4_000)["number"].to_pylist()
    assert len(set(numbers)) == 4_000 - PAID_OF_4000
    assert len(numbers) == len(memory.batch(4_000, 4_000)) == 4_000
    result = memory.measure(4_000, samples=10, size=512)
    assert result.paid == PAID_OF_4000
    assert result.unpaid == 0
    assert [sample.events for sample in result.samples][-1] == 4_000
    assert memory.measure(64_000, samples=10).unpaid > 0
    _published(memory.report(result), tmp_path)


def test_memory_that_grows_is_not_flat() -> None:
    """The slope of the maxima: none on a level line with teeth, 10% on a line that rises by that."""
    teeth = [100.0 + number % 7 for number in range(700)]
    assert abs(memory.growth(memory.maxima(teeth))) < 0.1
    assert memory.growth([95.0, 100.0, 105.0]) == pytest.approx(10)


def test_a_rate_beyond_the_limit_makes_no_more() -> None:
    """The limit is where the engine is busy all the time; the curve is flat from there."""
    points = [Point(100, 0.001, 5), Point(1_000, 0.001, 5), Point(4_000, 0.001, 5)]
    assert limit(points) == pytest.approx((1_000, 5_000))
    assert curve(points, 8_000)[-1] == pytest.approx((8_000, 5_000))
    assert limit(points[:1]) is None
    assert curve(points[:1], 8_000) == [(100, 500)]


def test_a_queue_drops_what_finds_it_full() -> None:
    """Ten events at once and room for three: seven are dropped, and the others are processed."""
    scenario = Scenario("last", rules=4, kinds=2)
    engine = tyrex.Engine(scenario.text())
    table = scenario.events(1_000, 10).to_arrow()
    passed = pass_through(engine, table, [0.0] * 10, capacity=3, most=2, longest=60)
    assert (passed.arrived, passed.dropped, passed.percent) == (10, 7, 70.0)
    assert engine.stats().types["Step"].arrived == 3
    late = [1000.0 * number for number in range(10)]
    again = pass_through(tyrex.Engine(scenario.text()), table, late, capacity=1, most=1, longest=60)
    assert (again.arrived, again.dropped) == (10, 0)


def test_events_that_wait_already_are_not_counted() -> None:
    """They fill the queue, so that what comes at once is dropped, and are processed themselves."""
    scenario = Scenario("last", rules=4, kinds=2)
    engine = tyrex.Engine(scenario.text())
    table = scenario.events(1_000, 6).to_arrow()
    passed = pass_through(engine, table, [0.0] * 6, capacity=4, most=4, longest=60, already=4)
    assert (passed.arrived, passed.dropped) == (2, 2)
    assert engine.stats().types["Step"].arrived == 4


def test_all_figures_of_section_5_are_there() -> None:
    """Figures 5 to 17, and every load is one that the parser accepts."""
    known = {*paper_compare.FIGURES, *(each.number for each in sweeps()), *paper.QUEUE_TITLES}
    assert sorted(known) == list(range(5, 18))
    for figure in sweeps(quick=True):
        for panel in figure.panels:
            assert "define" in panel.variants[0].load.text()


def test_a_figure_is_measured_and_told(tmp_path: Path) -> None:
    """Times of single events and rates, comparisons and queues become tables."""
    load = SequenceLoad(Scenario("each", rules=4, kinds=2, window=500))
    variant = Variant("small", load, 50.0, (50.0, 100.0))
    effort = paper_measure.Effort(20, 5.0, 40, 5.0)
    swept = paper_measure.measure(Sweep(8, "States", "states", (Panel("each", (variant,)),)), effort)
    (point, *_) = swept.panels[0].variants[0].points
    assert point.composites > 0
    figure = Figure("filter", "tyrex", 1, 10, 5, 1.0)
    results = paper.Results(
        [CompareFigure(5, "Filtering", 1, (Compared("all", (figure,)),))],
        [swept],
        {16: [QueueFigure("each", 1.0, (Dropped(10, 1.0, 50.0),))]},
    )
    record = _published(paper.report(results), tmp_path)
    assert [table["title"][:9] for table in record["tables"]] == ["Figure 5.", "Figure 8.", "Figure 16"]  # type: ignore[attr-defined]


def test_verdicts_say_on_which_side_of_the_limit_a_figure_is() -> None:
    """At most and at least, and the limit itself is met."""
    assert Verdict("median", 9.0, 10.0, "us").met
    assert not Verdict("median", 10.5, 10.0, "us").met
    assert Verdict("rate", 10.0, 10.0, "events/s", at_least=True).met
    assert (
        str(Verdict("rate", 9.0, 10.0, "x", at_least=True)) == "rate: 9.00 x, target at least 10.00: NOT met"
    )


def test_a_comparison_has_a_verdict_for_each_peer() -> None:
    """Ratios of events per second; windows that were shared by hand are shown, but not judged."""
    mine, peer, shared = (
        Figure("w", name, 1, 100, 7, seconds)
        for name, seconds in (("tyrex", 1.0), ("esper", 40.0), ("esper-shared", 20.0))
    )
    report = compare_report([Comparison("w", 30.0, mine, (peer, shared))], 1)
    assert [(each.value, each.met) for each in report.verdicts] == [(40.0, True)]
    assert len(report.tables[0].rows) == 3


def test_a_comparison_can_be_made_in_pieces(tmp_path: Path) -> None:
    """What was measured before stays, what is measured again is replaced; quick figures stand alone."""

    def measured(workload: str, seconds: float) -> Comparison:
        ours, peer = (Figure(workload, name, 1, 100, 7, seconds) for name in ("tyrex", "esper"))
        return Comparison(workload, 30.0, ours, (peer,), ("a note",))

    names = [each.name for each in workloads.chosen([])]
    options = Namespace(quick=True, format="text")
    first = compare.together([measured(names[1], 1.0), measured(names[3], 1.0)], options, tmp_path)
    publish(compare_report(first, 1), None, options, Machine(), build=tmp_path)
    again = [measured(names[2], 2.0), measured(names[3], 2.0)]
    assert compare.together(again, options, tmp_path) == [measured(names[1], 1.0), *again]
    with pytest.raises(SystemExit, match="remove it"):
        compare.together(again, Namespace(quick=False, format="text"), tmp_path)


def test_files_of_rules_are_read_at_every_size() -> None:
    """The file has so many rules, and the verdict is about the largest."""
    assert len(tyrex.parse(parsing.rule_file(5))) == 5
    assert parsing.report({1_000: 1.0, 10_000: 9.0}).verdicts[0].met


def test_the_page_holds_targets_tables_and_pictures(tmp_path: Path) -> None:
    """Of every command that has written something."""
    verdict = Verdict("median", 12.0, 10.0, "us")
    report = Report("latency", "One event", (Table(("us", "n"), (("send", 3),)),), (verdict,), ("A note.",))
    _published(report, tmp_path)
    pages = {path.name: path.read_text() for path in index.write(tmp_path, COMMANDS)}
    assert "| latency (quick) | median | 12.00 us | at most 10.00 us | **not met** |" in pages["README.md"]
    assert "<td class=missed>not met" in pages["index.html"]
    assert "| send | 3 |" in pages["README.md"]


def test_quick_runs_leave_the_peers_out() -> None:
    """They need a JDK and minutes."""
    assert command_line("paper", quick=True, peers=True)[2:] == ["benchmarks.paper", "--quick", "--no-peers"]
    assert command_line("memory", quick=False, peers=False)[2:] == ["benchmarks.memory"]
