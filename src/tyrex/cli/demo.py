"""`tyrex demo`: a complete story on real data, all flights out of New York in 2013."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Annotated, Self
from zoneinfo import ZoneInfo

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tyrex.cli.common import fail, load_rules
from tyrex.cli.demo_flights import NoFlights, flight_batches
from tyrex.cli.demo_picture import Series, days_svg, per_day
from tyrex.cli.explain import Place
from tyrex.cli.run_results import Results
from tyrex.cli.run_runtimes import Setting, on_process
from tyrex.cli.run_spark import on_spark
from tyrex.cli.run_summary import counted
from tyrex.events import Event, Value
from tyrex.io import Batch, Found, Layout
from tyrex.rules import RuleSet

RULES = Path(__file__).with_name("flights.tesla")
_NEW_YORK = ZoneInfo("America/New_York")
_SMALL = 1 << 26  # bytes: about what the events take in a file
_STORIES = {
    "delay_travels": ("A delay travels with the aircraft", "left_late"),
    "gusts_hold": ("Gusts hold departures", "held"),
    "broken_rotation": ("A broken rotation", None),
}
"""For each rule what it is about, and the attribute that says which alerts are the worst."""


@dataclass
class Collected:
    """Holds all composite events; an `EventWriter`."""

    events: list[Event] = field(default_factory=list)

    def write(self, found: Iterable[Found]) -> None:
        """Hold these events after those before."""
        self.events.extend(one.event for one in found)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def demo(
    on: Annotated[
        Place | None, typer.Option(help="Where to run; without it on Spark, if that is installed.")
    ] = None,
    master: Annotated[str | None, typer.Option(help="Where Spark runs, as `local[4]`.")] = None,
    days: Annotated[int | None, typer.Option(min=1, help="Only so many days, from 1 January on.")] = None,
    picture: Annotated[Path, typer.Option(help="The file for the picture, an SVG.")] = Path("flights.svg"),
    alerts: Annotated[int, typer.Option(min=0, help="How many alerts of each rule to show.")] = 3,
) -> None:
    """Find delays that travel, gusts and broken rotations in a year of flights out of New York."""
    console = Console(highlight=False)
    rules = load_rules(RULES)
    where = on or (Place.SPARK if find_spec("pyspark") is not None else Place.PROCESS)
    if on is None and where is Place.PROCESS:
        console.print('Spark is not installed (pip install "tyrex[spark]"): this runs in one process.')
    story = _run(rules, where, master, days, console)
    _show_rules(console, rules, where)
    _show_counts(console, story)
    _show_alerts(console, story, alerts)
    try:
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_text(_picture(story), "utf-8")
    except OSError as error:
        raise fail(f"{picture} can't be written: {error.strerror or error}") from None
    place = "on Spark" if where is Place.SPARK else "in this process"
    console.print(
        f"{counted(story.events, 'event')} in, {counted(len(story.found), 'alert')} out, {place}, "
        f"in {story.seconds:.1f} s. The picture is {picture}.",
        soft_wrap=True,
    )


# --- Running ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Story:
    """What a run came to."""

    events: int
    found: list[Event]
    first: date
    last: date
    seconds: float

    def of(self, rule: str) -> list[Event]:
        """The alerts of one rule."""
        return [event for event in self.found if event.rule == rule]


def _run(rules: RuleSet, where: Place, master: str | None, days: int | None, console: Console) -> Story:
    started = time.perf_counter()
    collected = Collected()
    results = Results(collected)
    counts: Counter[str] = Counter()
    year = date(2013, 1, 1)

    def batches() -> Iterator[Batch]:
        with console.status("Making events of flights and weather"):
            found = list(flight_batches(Layout(rules.types), days=days))
        for batch in found:
            counts["events"] += len(batch)
            yield batch

    try:
        if where is Place.PROCESS:
            on_process(rules, batches(), Setting(), results)
        else:
            shown = console if console.is_terminal else None
            on_spark(rules, batches(), Setting(), results, master=master, console=shown, size=_SMALL)
    except NoFlights as error:
        raise fail(str(error)) from None
    last = year + timedelta(days=(days or 365) - 1)
    return Story(counts["events"], collected.events, year, last, time.perf_counter() - started)


# --- Showing ------------------------------------------------------------------------------------------------


def _show_rules(console: Console, rules: RuleSet, where: Place) -> None:
    console.print(Text("\nThe rules\n", style="bold"))
    for rule in rules:
        console.print(Text(rule.canonical_text.strip(), style="dim"), soft_wrap=True)
        console.print()
    if where is Place.SPARK:
        from tyrex.spark.explain import explain

        for part in explain(rules).parts:
            console.print(f"Spark splits {', '.join(part.rules)} {part.how}")
        console.print()


def _show_counts(console: Console, story: Story) -> None:
    table = Table(title="Alerts", title_justify="left", title_style="bold")
    table.add_column("what")
    table.add_column("alerts", justify="right")
    table.add_column("the worst day")
    for rule, (title, _) in _STORIES.items():
        days = per_day([_day(event) for event in story.of(rule)])
        worst = days.most_common(1)
        shown = f"{worst[0][0]:%-d %B}, {worst[0][1]} alerts" if worst else "-"
        table.add_row(title, f"{days.total():,}", shown)
    console.print(table)


def _show_alerts(console: Console, story: Story, count: int) -> None:
    if count == 0:
        return
    table = Table(title="Some of them", title_justify="left", title_style="bold")
    for name in ("when (New York)", "what", "which"):
        table.add_column(name)
    for rule, (title, by) in _STORIES.items():
        found = story.of(rule)
        if by is not None:
            found = sorted(found, key=lambda event: -_number(event, by))
        for event in found[:count]:
            which = ", ".join(f"{name} {_shown(value)}" for name, value in event.attributes.items())
            table.add_row(f"{_moment(event):%a %-d %b %H:%M}", title, which)
    console.print(table)


def _picture(story: Story) -> str:
    series = [
        Series(rule, title, per_day([_day(event) for event in story.of(rule)]))
        for rule, (title, _) in _STORIES.items()
    ]
    subtitle = f"Alerts on each day, found in {story.events:,} departures, arrivals, cancellations and readings of wind"
    return days_svg("Flights out of New York, 2013", subtitle, series, story.first, story.last)


def _shown(value: Value) -> str:
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def _number(event: Event, attribute: str) -> float:
    value = event.attributes[attribute]
    return float(value) if isinstance(value, int | float) else 0.0


def _moment(event: Event) -> datetime:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=event.timestamp)
    return moment.astimezone(_NEW_YORK)


def _day(event: Event) -> date:
    return _moment(event).date()
