"""What `tyrex run` says while it runs, and at its end."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from rich.console import Console

from tyrex.cli.run_progress import ProgressBar
from tyrex.cli.run_summary import Summary, rate


def test_the_summary_tells_what_happened_and_nothing_else() -> None:
    """What did not happen is left out."""
    assert str(Summary(1, 0)) == "1 event in, 0 composite events out"
    everything = Summary(
        events=2_000_000,
        composites=5,
        by_rule={"alarm": 1, "fire": 4},
        rejected=3,
        late=1000,
        late_note=" (note)",
        unused=4,
        open_deadlines=1,
        overflows=2,
        seconds=2.0,
    )
    assert str(everything) == (
        "2,000,000 events in, 5 composite events out (fire 4, alarm 1), 3 rejected, 1,000 late (note), "
        "4 of types that no rule knows, 1 deadline still open, 2 overflows, 2.0 s, 1.0 million events/s"
    )


def test_of_many_rules_those_that_made_most_are_named() -> None:
    """The others are counted."""
    by_rule = {f"r{n}": n for n in range(1, 101)}
    shown = str(Summary(1, sum(by_rule.values()), by_rule))
    assert "(r100 100, r99 99, r98 98, r97 97, r96 96, r95 95, r94 94, r93 93, 92 more rules)" in shown


def test_a_short_run_does_not_boast_of_its_speed() -> None:
    """Below a second it would be that of starting."""
    assert str(Summary(10, 0, seconds=0.9)) == "10 events in, 0 composite events out"


@pytest.mark.parametrize(
    ("events", "seconds", "shown"),
    [(10, 2.0, "5 events/s"), (3_000_000, 2.0, "1.5 million events/s"), (50_000, 2.0, "25,000 events/s")],
)
def test_a_rate_is_readable(events: int, seconds: float, shown: str) -> None:
    """In millions where it is millions."""
    assert rate(events, seconds) == shown


def test_the_bar_appears_after_a_second_and_tells_the_rate() -> None:
    """A short run shows nothing at all."""
    times: Iterator[float] = iter([0.0, 0.5, 2.0])
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120)
    with ProgressBar(console, total=1000, clock=lambda: next(times)) as bar:
        bar.update(100_000, 100)
        assert screen.getvalue() == ""
        bar.update(3_000_000, 500)
    assert "3,000,000 events, 1.5 million events/s" in screen.getvalue()
    assert "50%" in screen.getvalue()


def test_the_bar_goes_on_without_an_end_that_is_known() -> None:
    """Standard input has no size."""
    times: Iterator[float] = iter([0.0, 2.0])
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120)
    with ProgressBar(console, total=None, clock=lambda: next(times)) as bar:
        bar.update(50_000, 0)
    assert "50,000 events, 25,000 events/s" in screen.getvalue()
