"""The node: what was accepted has its effect once, also after a restart, and detections keep their numbers."""

from __future__ import annotations

import logging
import random
import threading
import time as clock_time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.server.nodes import ALARM, RULES, Clock, change, running, send, settled, smoke, temp

from tyrex.engine import Engine, RuleInUse, UnknownRule
from tyrex.events import Event
from tyrex.server.node import Action, Busy, DataUnusable, Detection, NodeSettings, Publication, filter_of
from tyrex.tesla import TeslaError


def test_detections_are_numbered_from_one(tmp_path: Path) -> None:
    """What events lead to has the numbers 1, 2, 3, with what it was made of."""
    with running(tmp_path) as node:
        assert send(node, temp(1), smoke(2), smoke(3)).accepted == 3
        found = settled(node)
        assert [(d.number, str(d.event)) for d in found] == [
            (1, 'Fire@2(area="A1", value=50.0)'),
            (2, 'Fire@3(area="A1", value=50.0)'),
        ]
        assert [part.type for part in found[0].lineage] == ["Smoke", "Temp"]


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("snapshot", [False, True])
def test_a_restart_changes_nothing(tmp_path: Path, snapshot: bool, columns: bool) -> None:
    """A node that is opened again goes on with the same rules, windows, ids and numbers."""
    with running(tmp_path, snapshot=snapshot) as node:
        send(node, temp(1), temp(1, "B"), key="first", columns=columns)
        send(node, smoke(2, id="one"), columns=columns)
        before = settled(node)
    with running(tmp_path, rules=None) as node:
        assert (node.recovered.records == 0) is snapshot
        assert settled(node) == before
        assert send(node, smoke(2, id="one"), columns=columns).duplicates == 1
        assert send(node, temp(9), key="first").duplicates == 1
        send(node, smoke(3, "B"), columns=columns)
        assert [(d.number, d.event["area"]) for d in settled(node)] == [(1, "A1"), (2, "B")]


def test_random_histories_with_crashes_are_as_one_engine(tmp_path: Path) -> None:
    """Whatever restarts come between, the detections are those of one engine that gets all events at once."""
    chance = random.Random(7)
    time, alarm_from = 0.0, 0
    sent: list[Event] = []
    found: Sequence[Detection] = []
    settings = NodeSettings(segment_bytes=4000, snapshot_bytes=6000)
    for life in range(12):
        with running(tmp_path, settings, snapshot=chance.random() < 0.3) as node:
            if life == 4:
                change(node, Action.DEFINE, ALARM)
                alarm_from = len(sent)
            for _ in range(chance.randrange(12)):
                batch = []
                for _ in range(chance.randrange(1, 30)):
                    time += chance.choice([0, 0.5, 20])
                    area = chance.choice("AB")
                    hot = temp(time, area, chance.choice([40.0, 60.0]))
                    batch.append(hot if chance.random() < 0.5 else smoke(time, area))
                send(node, *batch, columns=chance.random() < 0.5)
                sent += batch
            found = settled(node)
    engine = Engine(RULES)
    expected = list(engine.send_batch(sent[:alarm_from]))
    engine.deploy(ALARM)
    expected += engine.send_batch(sent[alarm_from:])
    assert [(d.event.type, d.event.timestamp, d.event.id) for d in found] == [
        (e.type, e.timestamp, e.id) for e in expected
    ]
    assert [d.number for d in found] == list(range(1, len(expected) + 1))
    assert any(d.event.type == "Alarm" for d in found)


def test_an_id_counts_once_for_each_source(tmp_path: Path) -> None:
    """The same id of the same source is a duplicate, also within a batch; another source may have it too."""
    with running(tmp_path) as node:
        receipt = send(node, temp(1, id="x"), smoke(2, id="y"), smoke(2, id="y"))
        assert (receipt.accepted, receipt.duplicates) == (2, 1)
        again = send(node, temp(1, id="x"), smoke(2, id="y"))
        assert (again.accepted, again.duplicates, again.record) == (0, 2, 0)
        assert send(node, smoke(3, id="y"), source="other").accepted == 1
        assert len(settled(node)) == 2


def test_a_damaged_snapshot_is_passed_over_for_the_one_before(tmp_path: Path) -> None:
    """Two snapshots are kept, and the log back to the older one; what was damaged is told."""
    before: Sequence[Detection] = []
    for start in (0, 10, 20):
        with running(tmp_path) as node:
            send(node, temp(start + 1), smoke(start + 2))
            before = settled(node)
    snapshots = sorted((tmp_path / "snapshots").iterdir())
    assert len(snapshots) == 2
    data = bytearray(snapshots[-1].read_bytes())
    data[len(data) // 2] ^= 1
    snapshots[-1].write_bytes(data)
    with running(tmp_path) as node:
        assert "checksum" in node.recovered.trouble[0]
        assert node.recovered.records > 0
        assert settled(node) == before


def test_without_any_whole_snapshot_a_shortened_log_is_refused(tmp_path: Path) -> None:
    """If the log does not go back to its beginning, recovery says so rather than begin in the middle."""
    settings = NodeSettings(segment_bytes=500, keep_bytes=1)
    for start in (0, 10, 20, 30):
        with running(tmp_path, settings) as node:
            for offset in range(6):
                send(node, temp(start + offset), smoke(start + offset))
    for snapshot in (tmp_path / "snapshots").iterdir():
        snapshot.write_bytes(b"nothing")
    with pytest.raises(DataUnusable, match="no whole snapshot"), running(tmp_path, settings):
        pass


def test_a_torn_end_is_cut_off_and_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Half a record at the end was never answered for: it goes, with a line in the log of the program."""
    with running(tmp_path, snapshot=False) as node:
        send(node, temp(1))
        send(node, smoke(2))
    (segment,) = (tmp_path / "events").glob("*.log")
    segment.write_bytes(segment.read_bytes()[:-5])
    with caplog.at_level(logging.WARNING), running(tmp_path) as node:
        assert "cut off" in caplog.text
        assert [d.number for d in settled(node)] == [1]  # the detection log has it already
        assert send(node, smoke(2)).accepted == 1


def test_rules_come_and_go_from_the_same_event_on_after_a_restart(tmp_path: Path) -> None:
    """Rules are records: a rule that was added, paused or removed is so after a restart, with its history."""
    with running(tmp_path, snapshot=False) as node:
        send(node, temp(1), smoke(2))
        assert change(node, Action.DEFINE, ALARM, by="ann") == ("alarm",)
        with pytest.raises(RuleInUse, match="`alarm`"):
            change(node, Action.REMOVE, "", "fire")
        with pytest.raises(UnknownRule, match="did you mean `fire`"):
            change(node, Action.PAUSE, "", "fir")
        change(node, Action.PAUSE, "", "fire")
        send(node, smoke(3))
        before = settled(node)
    with running(tmp_path) as node:
        assert settled(node) == before
        book = node.ask(lambda state: state.rulebook).result(5)
        assert book.entries["fire"].state == "paused"
        assert [(c.action, c.names, c.by) for c in book.history] == [
            ("define", ("fire",), "test"),
            ("define", ("alarm",), "ann"),
            ("pause", ("fire",), "test"),
        ]
        change(node, Action.REMOVE, "", "fire", "alarm")
        assert not len(node.rules)


def test_a_rule_is_replaced_with_its_users_kept(tmp_path: Path) -> None:
    """A new text takes the place of a rule; rules that build on it go on, and a wrong text changes nothing."""
    with running(tmp_path) as node:
        change(node, Action.DEFINE, ALARM)
        with pytest.raises(TeslaError):
            change(node, Action.REPLACE, RULES.replace("area = $a, value", "value"))
        assert [rule.name for rule in node.rules] == ["fire", "alarm"]
        assert change(node, Action.REPLACE, RULES.replace("45", "70")) == ("fire",)
        send(node, temp(1, value=60.0), smoke(2), temp(3, value=80.0), smoke(4), smoke(5))
        assert [d.event.type for d in settled(node)] == ["Fire", "Fire", "Alarm"]


def test_a_rule_that_explodes_is_stopped_and_the_others_go_on(tmp_path: Path) -> None:
    """A rule that makes more matches at one moment than allowed is paused and says why, also after a restart."""
    wild = "Rule wild define Wild(v: float) from Smoke() and each Temp() within 1 h from Smoke where v = Temp.value"
    with running(tmp_path, NodeSettings(matches=10), snapshot=False) as node:
        change(node, Action.DEFINE, wild)
        send(node, *(temp(i) for i in range(30)))
        send(node, smoke(31))
        send(node, smoke(32))
        found = settled(node)
        assert [d.event.type for d in found].count("Wild") == 10
        assert [d.event.type for d in found].count("Fire") == 2
    with running(tmp_path, NodeSettings(matches=10)) as node:
        assert settled(node) == found
        state = node.ask(lambda s: (s.rulebook.entries["wild"], s.counts.dropped)).result(5)
        assert state[0].state == "stopped"
        assert "30 matches" in state[0].reason
        assert state[1] == 20


def test_the_clock_fires_deadlines_when_no_event_comes(tmp_path: Path) -> None:
    """With the clock on the wall time passes by itself; a clock that was set back moves nothing."""
    clock = Clock(0)
    quiet = (
        "event A(v: int) Rule quiet define Quiet(v: int) "
        "from 10 s after A(v = $v) and not A(v = $v) between A and Timer where v = $v"
    )
    settings = NodeSettings(clock="wall", tick=0.01)
    with running(tmp_path, settings, rules=quiet, clock=clock) as node:
        send(node, Event("A", 1_000_000, {"v": 1}))
        assert settled(node) == []
        clock.now = 12_000_000
        _until(lambda: bool(settled(node)))
        assert [str(d.event) for d in settled(node)] == ["Quiet@11(v=1)"]
        clock.now = 5_000_000
        send(node, Event("A", 13_000_000, {"v": 2}))
        clock.now = 30_000_000
        _until(lambda: len(settled(node)) > 1)
        before = settled(node)
    with running(tmp_path, settings, rules=None, clock=clock) as node:
        assert settled(node) == before


def test_a_full_queue_refuses(tmp_path: Path) -> None:
    """When more events wait than allowed, a producer is told so and nothing of its batch is taken."""
    with running(tmp_path, NodeSettings(capacity=5)) as node:
        gate = threading.Event()
        node.ask(lambda state: gate.wait(20))
        _until(lambda: not node._items)  # the node's thread is at the gate
        waiting = node.publish(Publication("s", [[temp(1)] * 4], len(node.rules.types)))
        with pytest.raises(Busy, match="4 events wait, and 5 are allowed"):
            node.publish(Publication("s", [[temp(1)] * 4], len(node.rules.types)))
        gate.set()
        assert waiting.result(20).accepted == 4


def test_old_records_are_forgotten(tmp_path: Path) -> None:
    """Logs shrink to their size and age, never below what recovery needs; a reader is told what is gone."""
    total, settings = 0, NodeSettings(segment_bytes=1 << 16, keep_bytes=1)
    for start in (0, 10_000, 20_000):
        with running(tmp_path, settings) as node:
            for offset in range(0, 600, 6):
                send(
                    node,
                    *(e for i in range(6) for e in (temp(start + offset + i), smoke(start + offset + i))),
                )
            settled(node)
            total = node.detections.last
    with running(tmp_path, settings) as node:
        assert 1 < node.detections.first <= total
        page = node.detections.read(1, scan=10**6, limit=10**6)
        assert page.missed == node.detections.first - 1
        assert len(page.detections) == total - page.missed > 0


def test_reading_by_a_filter_says_where_to_go_on(tmp_path: Path) -> None:
    """Pages of detections that a filter lets through join without a gap."""
    with running(tmp_path) as node:
        send(node, *(e for i in range(50) for e in (temp(i, "AB"[i % 2]), smoke(i, "AB"[i % 2]))))
        settled(node)
        wanted = filter_of('Fire(area = "A")', node.rules)
        number, found = 1, []
        while number <= node.detections.last:
            page = node.detections.read(number, wanted, limit=4, scan=7)
            found += page.detections
            number = page.next
        assert [d.number for d in found] == list(range(1, 51, 2))


def test_types_that_come_between_reading_and_accepting_count(tmp_path: Path) -> None:
    """An event that was read before its type was known is checked against the type when it is accepted."""
    with running(tmp_path, rules=None) as node:
        types = len(node.rules.types)
        change(node, Action.DEFINE, RULES)
        wrong = node.publish(Publication("s", [[Event("Temp", 1, {"value": "hot"})]], types))
        with pytest.raises(ValueError, match="expected float"):
            wrong.result(20)
        assert node.publish(Publication("s", [[temp(1), smoke(2)]], types)).result(20).accepted == 2
        assert len(settled(node)) == 1


def test_a_folder_has_one_server(tmp_path: Path) -> None:
    """Two servers in one folder would spoil its log: the second one is refused, until the first has ended."""
    with running(tmp_path), pytest.raises(DataUnusable, match="in use"), running(tmp_path):
        pass
    with running(tmp_path) as node:
        assert len(node.rules) == 1


def test_another_delay_needs_another_folder(tmp_path: Path) -> None:
    """What is part of the past can't be changed: the message names both ways out."""
    with running(tmp_path, NodeSettings(delay="5 s")):
        pass
    with pytest.raises(DataUnusable, match="delay of 5 s"), running(tmp_path, NodeSettings(delay="6 s")):
        pass
    with running(tmp_path, NodeSettings(delay="5 s")) as node:  # what was refused has let the folder go
        assert len(node.rules) == 1


def _until(holds: Callable[[], bool]) -> None:
    """Wait for what the node's thread does by itself."""
    for _ in range(2000):
        if holds():
            return
        clock_time.sleep(0.01)
    raise AssertionError("it did not happen within 20 s")
