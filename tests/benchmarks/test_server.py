"""The benchmark of the server runs, at a size that takes no time."""

from __future__ import annotations

from pathlib import Path

from benchmarks import server


def test_every_subscriber_is_told_of_what_was_sent(tmp_path: Path) -> None:
    """With three rules and two subscribers: each detection comes once, none is missed."""
    told = server.notices(tmp_path, 0.5, count=3, subscribers=2)
    assert (told.count, told.missed) == (50, 0)


def test_a_report_sets_the_figures_beside_their_targets() -> None:
    """Rates, times in milliseconds, and what waiting for the disk costs."""
    loads = [
        server.Load(name, 100_000, seconds, 0.01, 0.02, 1.0, 1, 1)
        for name, seconds in (("a", 2.0), ("b", 1.0))
    ]
    report = server.report(server.Result(loads, server.Notices(10_000, 5, 0.01, 0.06, 0), 1e6))
    assert [verdict.met for verdict in report.verdicts] == [False, False]
    assert "2.00 x" in report.notes[0]
