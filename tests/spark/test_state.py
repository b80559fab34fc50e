"""The state of a stream as people and programs read it."""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import SparkSession
from tests.cli.support import tyrex
from tests.spark.streams import Files, run
from tests.spark.test_shards import SECOND, history

from tyrex import Engine, Event
from tyrex.spark import RuleStream, detect, shard_states

RULES = """
event A(k: int, v: int)
event B(k: int, v: int)
Rule pair define Pair(k: int, v: int)
from B(k = $k) and each A(k = $k and v < B.v) within 20 s from B where k = $k, v = A.v
Rule quiet define Quiet(k: int) from 30 s after A(k = $k) as O and not B(k = $k) between O and Timer where k = $k
"""


def test_the_state_of_a_stream_is_what_its_engines_hold(spark: SparkSession, tmp_path: Path) -> None:
    """A shard has what an engine has that saw the same events; as a table and as JSON, from a path with a space."""
    (tmp_path / "rules").mkdir()
    events = sorted(history(60), key=lambda event: event.timestamp)
    live = RuleStream(tmp_path / "rules", initial=RULES)
    files = Files(tmp_path, live.read_initial(), [Event(name, 0) for name in "AB"])
    files.write(list(enumerate(events)))
    (tmp_path / "rules" / "more.tesla").write_text("--! pause quiet")
    checkpoint = tmp_path / "my checkpoint"
    run(detect(files.sources(spark), live, delay="5 s", shards=1), checkpoint, [])
    states = shard_states(spark, checkpoint)

    watermark = events[-1].timestamp - 5 * SECOND
    engine = Engine(RULES)
    engine.pause("quiet")
    engine.send_batch([event for event in events if event.timestamp < watermark])
    engine.advance(watermark / SECOND)
    stats = engine.stats()
    assert [(state.shard, state.part) for state in states] == [(0, 1)]
    assert {state.watermark for state in states} == {watermark}
    assert sum(state.waiting for state in states) == sum(event.timestamp >= watermark for event in events)
    for name in "AB":
        assert sum(state.stored.get(name, 0) for state in states) == stats.types[name].stored > 0
    assert sum(state.open_deadlines for state in states) == stats.open_deadlines
    for name in ("pair", "quiet"):
        own = [rule for state in states for rule in state.rules if rule.name == name]
        assert {rule.paused for rule in own} == {name == "quiet"}
        assert sum(rule.fired for rule in own) == stats.rules[name].fired
        assert sum(rule.evaluated for rule in own) == stats.rules[name].evaluated
    assert all(state.snapshot_bytes > 0 for state in states)
    assert sum(state.chunk_bytes for state in states) > 0

    answer = tyrex("state", checkpoint, "--format", "json")
    records = [json.loads(line) for line in answer.out.splitlines()]
    assert [record["stored"] for record in records] == [dict(state.stored) for state in states]
    assert records[0]["watermark"] == "1970-01-01T00:02:34.000000Z"
    text = tyrex("state", checkpoint)
    assert text.status == 0
    assert text.out.splitlines()[0].split() == [
        "shard", "part", "watermark", "stored", "waiting", "deadlines", "snapshot", "chunks", "bytes"
    ]  # fmt: skip
    (line,) = [line for line in text.out.splitlines() if line.startswith("quiet")]
    assert line.split()[:3] == ["quiet", "1", "paused"]


def test_a_folder_that_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    """Before Spark is started for it."""
    answer = tyrex("state", tmp_path)
    assert answer.status == 1
    assert "is no checkpoint of a stream with rules: it has no folder `state`" in answer.err
