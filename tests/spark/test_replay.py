"""Replays of event files: every row once and in its time, through any number of restarts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from tests.spark.frames import expected
from tests.spark.streams import answers, run

from tyrex import Event, EventError, parse
from tyrex.spark import SourceError, TyrexReplay, composites, detect, finish, of, rejected
from tyrex.spark.replay import ReplayReader
from tyrex.spark.replay import _settings as settings_of
from tyrex.spark.tape import Pace, Position

TYPES = """
event Temp(area: string, value: float)
event Smoke(area: string)
"""
FIRE = """
define Fire(area: string, value: float)
from   Smoke(area = $a) and last Temp(area = $a and value > 45) within 5 min from Smoke
where  area = $a, value = Temp.value
"""
START = 1_700_000_000
BAD = "{'no': json"


def history(count: int, seed: int = 1) -> list[Event]:
    """Events of two areas, some seconds apart and a few out of order."""
    random = Random(seed)
    found, second = [], START
    for number in range(count):
        second += random.choice([0, 1, 1, 5])
        at = (second - (3 if random.random() < 0.1 else 0)) * 1_000_000
        area = random.choice(["A", "B"])
        if random.random() < 0.3:
            found.append(Event("Smoke", at, {"area": area}, id=f"e{number}"))
        else:
            found.append(
                Event("Temp", at, {"area": area, "value": random.randrange(400, 600) / 10}, id=f"e{number}")
            )
    return found


def records(events: list[Event]) -> list[dict[str, Any]]:
    """What stands in a file of them."""
    return [
        {
            "type": e.type,
            "timestamp": e.timestamp / 1e6,
            "id": e.id,
            "area": e["area"],
            "value": e.get("value"),
        }
        for e in events
    ]


def as_lines(folder: Path, events: list[Event]) -> str:
    path = folder / "events.jsonl"
    lines = [json.dumps({k: v for k, v in one.items() if v is not None}) for one in records(events)]
    path.write_text("".join(line + "\n" for line in lines))
    return str(path)


def as_csv(folder: Path, events: list[Event]) -> str:
    path = folder / "events.csv"
    rows = [",".join("" if v is None else str(v) for v in one.values()) for one in records(events)]
    path.write_text("\n".join(["type,timestamp,id,area,value", *rows]) + "\n")
    return str(path)


def as_parquet(folder: Path, events: list[Event]) -> str:
    pq.write_table(pa.Table.from_pylist(records(events)), folder / "events.parquet")
    return str(folder / "events.parquet")


def as_arrow(folder: Path, events: list[Event]) -> str:
    table = pa.Table.from_pylist(records(events))
    with pa.ipc.new_file(str(folder / "events.arrow"), table.schema) as writer:
        writer.write_table(table)
    return str(folder / "events.arrow")


def as_folder(folder: Path, events: list[Event]) -> str:
    """Files of three formats, the one after the other."""
    whole = folder / "whole"
    whole.mkdir()
    third = len(events) // 3
    for name, write, own in (
        ("1", as_lines, events[:third]),
        ("2", as_csv, events[third : 2 * third]),
        ("3", as_parquet, events[2 * third :]),
    ):
        path = Path(write(folder, own))
        path.rename(whole / f"{name}{path.suffix}")
    return str(whole)


FORMATS = [as_lines, as_csv, as_parquet, as_arrow, as_folder]


class Hand:
    """A clock that the test moves, in seconds."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> int:
        return int(self.seconds * 1e6)


def reader(path: str, clock: Callable[[], int] | None = None, **options: str) -> ReplayReader:
    return ReplayReader(settings_of({"path": path, "rules": TYPES, **options}), clock)


def rows_of(source: ReplayReader, start: dict[str, int], end: dict[str, int]) -> list[dict[str, Any]]:
    return [
        row
        for part in source.partitions(start, end)
        for batch in source.read(part)
        for row in batch.to_pylist()
    ]


# --- Without Spark ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", FORMATS)
def test_every_format_gives_the_same_rows(write: Callable[..., str], tmp_path: Path) -> None:
    """In the order of the files, with numbers from 0 on."""
    events = history(50)
    source = reader(write(tmp_path, events), speed="fastest")
    start = source.initialOffset()
    end = source.latestOffset(start, ReadAllAvailable())
    rows = rows_of(source, start, end)
    assert [row["id"] for row in rows] == [event.id for event in events]
    assert [row["sequence"] for row in rows] == list(range(50))
    assert [(row["type"], row["area"], row["value"]) for row in rows] == [
        (event.type, event["area"], event.get("value")) for event in events
    ]
    assert [row["timestamp"].timestamp() * 1e6 for row in rows] == [event.timestamp for event in events]
    assert source.latestOffset(end, ReadAllAvailable()) == end


@pytest.mark.parametrize(("speed", "seconds"), [("1", 10), ("60", 600), ("0.5", 5)])
def test_events_come_when_their_time_has_come(tmp_path: Path, speed: str, seconds: int) -> None:
    """The first at once; ten seconds later those of the next seconds, as many as the speed says."""
    events = [Event("Smoke", (START + n) * 1_000_000, {"area": "A"}, id=f"e{n}") for n in range(1000)]
    clock = Hand()
    source = reader(as_lines(tmp_path, events), clock, speed=speed)
    none = source.initialOffset()
    first = source.latestOffset(none, ReadMaxRows(100_000))
    assert first["events"] == 1
    clock.seconds += 10
    second = source.latestOffset(first, ReadMaxRows(100_000))
    assert second["events"] == seconds + 1
    assert source.latestOffset(second, ReadMaxRows(100_000)) == second
    assert [row["sequence"] for row in rows_of(source, first, second)] == list(range(1, seconds + 1))


def test_a_restarted_replay_goes_on_at_the_time_to_which_it_had_come(tmp_path: Path) -> None:
    """The time for which the query stood still is not made up for."""
    events = [Event("Smoke", (START + n) * 1_000_000, {"area": "A"}, id=f"e{n}") for n in (0, 4, 20, 21)]
    path, clock = as_lines(tmp_path, events), Hand()
    source = reader(path, clock)
    offset = source.latestOffset(source.initialOffset(), ReadMaxRows(9))
    clock.seconds += 10
    offset = source.latestOffset(offset, ReadMaxRows(9))
    assert offset == {"events": 2, "rejected": 0, "at": (START + 10) * 1_000_000}
    clock.seconds += 1_000
    again = reader(path, clock)
    assert again.latestOffset(offset, ReadMaxRows(9)) == offset
    clock.seconds += 9
    assert again.latestOffset(offset, ReadMaxRows(9)) == offset
    clock.seconds += 1
    assert again.latestOffset(offset, ReadMaxRows(9))["events"] == 3


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_the_same_however_the_replay_is_cut_and_restarted(tmp_path: Path, seed: int) -> None:
    """Random moments and limits, new readers, micro-batches that are read again, and lines that are no events."""
    random = Random(seed)
    events = history(120, seed)
    path = Path(as_folder(tmp_path, events))
    lines = (path / "1.jsonl").read_text().splitlines()
    for at in sorted(random.sample(range(len(lines)), 5), reverse=True):
        lines.insert(at, BAD)
    (path / "1.jsonl").write_text("\n".join([*lines, BAD]))
    clock = Hand()
    source = reader(str(path), clock)
    whole = [
        row
        for batch in settings_of({"path": str(path), "rules": TYPES}).tape().all_rows()
        for row in batch.to_pylist()
    ]
    found: list[dict[str, Any]] = []
    offset = source.initialOffset()
    for _ in range(400):
        if random.random() < 0.2:
            source = reader(str(path), clock)
        clock.seconds += random.choice([0, 1, 20])
        end = source.latestOffset(offset, ReadMaxRows(random.choice([1, 3, 50])))
        rows = rows_of(source, offset, end)
        if random.random() < 0.3:
            assert rows_of(random.choice([source, reader(str(path), clock)]), offset, end) == rows
        found += rows
        if random.random() < 0.7:
            source.commit(end)
        offset = end
    assert [row["id"] for row in found if row["rejected"] is None] == [event.id for event in events]
    bad = [row["rejected"] for row in found if row["rejected"] is not None]
    assert [one["text"] for one in bad] == [BAD] * 6
    assert bad == [row["rejected"] for row in whole if row["rejected"] is not None]
    assert len(whole) == len(found) == 126


def test_rows_that_were_given_long_ago_are_given_again(tmp_path: Path) -> None:
    """The files are read from the beginning, and the same rows come again, also those of bad lines."""
    path = Path(as_lines(tmp_path, history(40)))
    path.write_text(BAD + "\n" + path.read_text())
    source = reader(str(path), speed="fastest")
    offsets = [source.initialOffset()]
    rows = []
    for _ in range(4):
        offsets.append(source.latestOffset(offsets[-1], ReadMaxRows(10)))
        rows.append(rows_of(source, *offsets[-2:]))
        source.commit(offsets[-1])
    assert [len(some) for some in rows] == [11, 10, 10, 10]
    for number in (3, 0, 2):
        assert rows_of(source, *offsets[number : number + 2]) == rows[number]


def test_files_that_were_changed_under_a_checkpoint_are_refused(tmp_path: Path) -> None:
    """A replay can't go on in files that end before the place to which it came."""
    path = as_lines(tmp_path, history(10))
    with pytest.raises(EventError, match="was at event 11, but its files have only 10"):
        reader(path).latestOffset(Position(11, 0, START).record(), ReadAllAvailable())


def test_what_is_before_a_damage_comes_before_it_is_told(tmp_path: Path) -> None:
    """As with the other runtimes."""
    path = Path(as_folder(tmp_path, history(9)))
    (path / "3.parquet").write_bytes(b"PAR1 and no more")
    source = reader(str(path), speed="fastest")
    end = source.latestOffset(source.initialOffset(), ReadAllAvailable())
    assert end["events"] == 6
    assert len(rows_of(source, source.initialOffset(), end)) == 6
    with pytest.raises(EventError, match="can't be read as Parquet"):
        source.latestOffset(end, ReadAllAvailable())


def test_a_strict_replay_ends_at_data_that_is_no_event(tmp_path: Path) -> None:
    """With the place and the reason."""
    path = tmp_path / "events.jsonl"
    path.write_text('{"type": "Smoke", "timestamp": 1, "area": "A"}\n' + BAD)
    source = reader(str(path), speed="fastest", strict="true")
    end = source.latestOffset(source.initialOffset(), ReadAllAvailable())
    with pytest.raises(EventError, match=r"events\.jsonl: 2: "):
        source.partitions(source.initialOffset(), end)


def test_an_option_that_is_none_is_named_with_what_could_be_meant() -> None:
    """Before anything is read."""
    with pytest.raises(SourceError, match="no option `sped`: did you mean `speed`"):
        reader("x", sped="1")
    with pytest.raises(SourceError, match="speed `fast` is none: give a number above 0"):
        reader("x", speed="fast")
    with pytest.raises(SourceError, match="maxEventsPerTrigger `0`"):
        reader("x", maxEventsPerTrigger="0")
    with pytest.raises(SourceError, match="know no event type `Tmp`"):
        reader("x", types="Tmp")
    with pytest.raises(SourceError, match=r"give them to .load"):
        settings_of({"rules": TYPES})
    with pytest.raises(SourceError, match=r'option\("rules"'):
        settings_of({"path": "x"})
    with pytest.raises(SourceError, match="standard input can't be replayed"):
        settings_of({"path": "-", "rules": TYPES}).tape()


def test_types_whose_attributes_have_no_common_column_are_replayed_one_by_one(tmp_path: Path) -> None:
    """The message says how."""
    path = tmp_path / "events.jsonl"
    path.write_text(
        '{"type": "A", "timestamp": 1, "v": 1}\n{"type": "B", "timestamp": 2, "v": "x"}\n'
        '{"type": "A", "timestamp": 3, "v": 3}\n'
    )
    options = {"path": str(path), "rules": "event A(v: int)\nevent B(v: string)"}
    with pytest.raises(EventError, match="with the option `types`"):
        settings_of(options).tape()
    rows = [
        row for batch in settings_of({**options, "types": "A"}).tape().all_rows() for row in batch.to_pylist()
    ]
    assert [(row["v"], row["sequence"]) for row in rows] == [(1, 0), (3, 2)]


def by_type(folder: Path) -> list[str]:
    """A file for each type, whose events do not say it, with the time in a column of another name."""
    (folder / "temps.csv").write_text("at,area,value\n1,A,50\n4,A,30\n")
    (folder / "smokes.csv").write_text("at,area\n2,A\n3,B\n")
    return [f"Temp={folder / 'temps.csv'}", f"Smoke={folder / 'smokes.csv'}"]


def test_several_inputs_are_merged_by_time(tmp_path: Path) -> None:
    """Also as `tyrex run` names them: by type, and with another key for the time."""
    options = {"paths": json.dumps(by_type(tmp_path)), "rules": TYPES, "timestamp": "at"}
    rows = [row for batch in settings_of(options).tape().all_rows() for row in batch.to_pylist()]
    assert [(row["type"], row["area"], row["value"]) for row in rows] == [
        ("Temp", "A", 50.0),
        ("Smoke", "A", None),
        ("Smoke", "B", None),
        ("Temp", "A", 30.0),
    ]


def test_the_pace_is_that_of_the_clock_times_the_speed() -> None:
    """From where it began."""
    assert Pace(60, 1_000_000, 50).due(3_000_000) == 50 + 120_000_000


# --- With Spark ---------------------------------------------------------------------------------------------


def replayed(spark: SparkSession, path: str, **options: Any) -> DataFrame:
    spark.dataSource.register(TyrexReplay)
    return spark.readStream.format("tyrex-replay").option("rules", TYPES + FIRE).options(**options).load(path)


def test_rules_over_a_replay_find_what_they_find_over_the_events(spark: SparkSession, tmp_path: Path) -> None:
    """As a stream in several micro-batches and as a table, with a bad line among the events."""
    rules = parse(TYPES + FIRE)
    events = history(90)
    path = as_lines(tmp_path, events)
    with Path(path).open("a") as file:
        file.write(BAD)
    wanted = expected(rules, sorted(events, key=lambda event: event.timestamp))
    assert wanted

    stream = replayed(spark, path, maxEventsPerTrigger=50)
    rows: list[Any] = []
    run(stream.transform(detect, rules, delay="10 s"), tmp_path / "checkpoint", rows)
    rows += finish(stream, rules, tmp_path / "checkpoint").collect()
    assert answers(rows) == wanted

    table = spark.read.format("tyrex-replay").option("rules", TYPES + FIRE).load(path)
    found = table.transform(detect, rules)
    assert answers(composites(found).withColumn("rejected", sf.lit(None)).collect()) == wanted
    assert [row["problem"] for row in rejected(found).collect()] == ["no type"]
    (bad,) = table.where("rejected is not null").collect()
    assert (bad["rejected"]["line"], bad["rejected"]["text"]) == (91, BAD)


def test_a_table_of_several_inputs_is_loaded_from_a_list(spark: SparkSession, tmp_path: Path) -> None:
    """As Spark does with other formats."""
    spark.dataSource.register(TyrexReplay)
    reader_ = spark.read.format("tyrex-replay").options(rules=TYPES + FIRE, timestamp="at")
    table = reader_.load(by_type(tmp_path))
    assert [row["sequence"] for row in table.where("type = 'Smoke'").collect()] == [1, 2]
    assert of(detect(table, TYPES + FIRE), "Fire").collect()[0]["value"] == 50.0


def test_a_query_that_is_stopped_goes_on_with_the_next_event(spark: SparkSession, tmp_path: Path) -> None:
    """At its own speed only the first events come before it is stopped; the rest comes after the restart."""
    events = history(60)
    path, rows = as_lines(tmp_path, events), list[Any]()
    query = (
        replayed(spark, path)
        .writeStream.foreachBatch(lambda frame, _: rows.extend(frame.collect()))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    query.processAllAvailable()
    query.stop()
    before = len(rows)
    assert 0 < before < 60
    run(replayed(spark, path), tmp_path / "checkpoint", rows)
    assert sorted(row["sequence"] for row in rows) == list(range(60))
    assert len(rows) > before
