"""What clients can do: publish objects or tables, tell the time themselves, come too late, be wrong."""

from __future__ import annotations

import pyarrow as pa
from tests.network.networks import MS, Watched
from tests.network.test_trees import FIGURE_3, FIRE, SMOKE, TEMP, figure_3

from tyrex.events import Event
from tyrex.network.data.tree import LocalTree
from tyrex.network.messages import END


def test_sources_can_tell_the_time_of_recorded_events() -> None:
    """Without a clock, time moves as sources say, and who has no source makes nobody wait."""
    network = Watched(FIGURE_3, LocalTree, lateness=None)
    network.advertise("6", "thermometer", TEMP)
    network.advertise("7", "nose", SMOKE)
    network.define("3", "admin", "fire", FIRE)
    network.subscribe("1", "sink", 1, "Fire()")
    network.settle()
    day = 86_400_000_000
    network.publish("6", "thermometer", "Temp", [Event("Temp", day, {"area": "A1", "value": 50.0})])
    network.publish("7", "nose", "Smoke", [Event("Smoke", day + 1, {"area": "A1"})])
    network.advance("7", "nose", day + 1)
    network.settle()
    assert network.got("1") == []  # there may still be a higher temperature
    network.advance("6", "thermometer", END)
    network.settle()
    assert [(event.timestamp, event.attributes["value"]) for event in network.got("1")] == [(day + 1, 50.0)]


def test_a_table_is_published_at_once() -> None:
    """Columns are what objects are: same numbers, same ids, in the order of time."""
    network = figure_3("ST")
    now = network.now
    table = pa.table(
        {"timestamp": [now + 2, now, now + 1], "area": ["A1", "A1", "A2"], "value": [50.0, 60.0, None]}
    )
    network.publish("6", "source", "Temp", table)
    network.settle(300 * MS)
    network.emit("7", "Smoke", area="A1")
    network.settle()
    assert [event.attributes["value"] for event in network.got("1")] == [50.0]
    assert network.processors["6"].counts()["published"] == 3


def test_late_events_are_counted_and_not_processed() -> None:
    """An event from before the time that its processor has closed gives a note with the number of events."""
    network = figure_3("ST")
    late = Event("Temp", network.now - 1_000 * MS, {"area": "A1", "value": 99.0})
    network.publish("6", "source", "Temp", [late, Event("Temp", network.now, {"area": "A1", "value": 50.0})])
    network.settle(300 * MS)
    network.emit("7", "Smoke", area="A1")
    network.settle()
    assert [event.attributes["value"] for event in network.got("1")] == [50.0]
    assert [(note.kind, note.events) for _, name, note in network.notes if name == "6" and note.events] == [
        ("late", 1)
    ]
    assert network.processors["6"].counts()["late"] == 1


def test_events_that_do_not_fit_their_type_are_refused() -> None:
    """Wrong attributes, wrong values and missing times are refused as a whole, with what was expected."""
    network = figure_3("ST")
    now = network.now
    wrong: list[list[Event] | pa.Table] = [
        [Event("Temp", now, {"place": "A1"})],
        [Event("Temp", now, {"value": "hot"})],
        pa.table({"area": ["A1"]}),
        pa.table({"timestamp": [now], "place": ["A1"]}),
        pa.table({"timestamp": pa.array([None], pa.int64()), "area": ["A1"]}),
        pa.table({"timestamp": [now], "value": ["hot"]}),
    ]
    for events in wrong:
        network.publish("6", "source", "Temp", events)
    refused = [note for _, name, note in network.notes if name == "6" and note.kind == "refused"]
    assert len(refused) == len(wrong)
    assert all(note.text.startswith("expected ") and note.client == "source" for note in refused)
    assert network.processors["6"].counts()["refused"] == len(wrong)
    assert "published" not in network.processors["6"].counts()


def test_subscriptions_that_make_no_sense_are_refused() -> None:
    """A filter that can't be read, that doesn't fit its type, or whose number is taken gives a note."""
    network = figure_3("ST")
    network.subscribe("1", "sink", 2, "Fire(")
    network.subscribe("1", "sink", 3, "Fire(area > 3)")
    network.subscribe("1", "sink", 1, "Fire()")
    refused = [note.client for _, name, note in network.notes if name == "1" and note.kind == "refused"]
    assert refused == ["sink"] * 3
