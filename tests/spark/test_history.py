"""Rules over a table, then over the stream that goes on from it: one answer, whatever lies across the seam."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from tests.engine.random_rules import random_history, random_rules
from tests.spark.frames import expected, sources
from tests.spark.micro_batches import Query
from tests.spark.micro_batches import answers as answers_of_batches
from tests.spark.streams import Files, answers, run
from tests.spark.test_shards import PAIRS, SECOND, cut, history

from tyrex import Event
from tyrex.spark import History, SourceError, detect, finish


@given(st.integers(0, 2**32))
@settings(suppress_health_check=list(HealthCheck), deadline=None)
def test_a_history_and_its_stream_have_the_answer_of_the_whole(seed: int) -> None:
    """Every construct, with the seam anywhere, and workers that lose what they have."""
    random = Random(seed)
    while (rules := random_rules(random)) is None:
        pass
    events = sorted(random_history(random, most=40), key=lambda event: event.timestamp)
    seam = random.randrange(0, 13) * SECOND
    numbered = list(enumerate(events))
    past = [(n, event) for n, event in numbered if event.timestamp < seam]
    query = Query(
        rules,
        delay=random.choice([0, 1, 5]) * SECOND,
        shards=random.choice([1, 3]),
        has_ids=any(event.id is not None for event in events),
        seam=seam,
    )
    query.start(str(seed), smallest_log=random.choice([0, 500, 10_000]))
    query.past(past)
    live = [event for event in events if event.timestamp >= seam]
    if not live:
        live = [Event("Other", max(seam, *(event.timestamp for event in events)), {})]
        events = [*events, *live]
    for number, batch in enumerate(cut(random, live)):
        if random.random() < 0.3:
            query.start(f"{seed} {number}")
        query.batch([(n + len(past), event) for n, event in batch], partitions=random.choice([1, 2]))
    assert answers_of_batches(query.finish()) == expected(rules, events)


def test_a_stream_goes_on_where_its_history_ends(spark: SparkSession, tmp_path: Path) -> None:
    """What both have counts once, windows reach across the seam, and a restart just after it changes nothing."""
    events = sorted(history(80), key=lambda event: event.timestamp)
    seam = events[40].timestamp
    tables = sources(spark, PAIRS, events[:60])  # reach beyond the seam
    assert set(tables) == {"A", "B"}
    numbered = list(enumerate(events))
    files = Files(tmp_path, PAIRS)
    rows: list[Any] = []
    first: list[Any] = []
    before = History(tables, before=seam / 1_000_000)
    for batch in (numbered[20:55], numbered[55:80]):  # the stream begins before it
        files.write(batch)
        found = detect(files.sources(spark), PAIRS, delay="5 s", shards=2, history=before)
        run(found, tmp_path / "checkpoint", rows)
        first = first or answers(rows)
    rest = finish(files.sources(spark), PAIRS, tmp_path / "checkpoint", shards=2, history=before)
    rows += rest.collect()
    assert answers(rows) == expected(PAIRS, events)
    assert set(first) > set(expected(PAIRS, events[:40]))
    with pytest.raises(SourceError, match="a history comes before a stream"):
        detect(tables, PAIRS, history=before)
    with pytest.raises(SourceError, match="one of its DataFrames is a stream"):
        detect(files.sources(spark), PAIRS, history=History(files.sources(spark), before=seam / 1_000_000))
