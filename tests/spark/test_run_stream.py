"""`tyrex run --stream`: folders that grow, followed by Spark."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.cli.support import COMMAND, FIRE, FIRE_EVENTS, Answer, tyrex, write
from tests.cli.test_run_process import RECORDS, write_csv, write_jsonl, write_parquet

from tyrex import parse
from tyrex.events import EventError
from tyrex.io import Form, Layout
from tyrex.spark.feeds import find_feed
from tyrex.spark.kafka import Topic, topic_of
from tyrex.spark.parsing import Slots, read_messages

MIXED = """
event A(k: int, v: float)
event B(k: string, type: string)
Rule high define High(k: int) from A(v > 3) where k = A.k
Rule typed define Typed(k: string) from B(type = "x") and last A() within 10 s from B where k = B.k
"""
"""Two types that disagree about an attribute, and one called as a column."""

spark_session = pytest.mark.usefixtures("spark")


def stream(*arguments: str | Path) -> Answer:
    return tyrex("run", *arguments, "--stream", "--once")


def ids(records: list[dict[str, Any]]) -> list[str]:
    return sorted(record["id"] for record in records)


def found_in(folder: Path) -> list[dict[str, Any]]:
    """What is in a folder of JSON lines, in the order of its files."""
    return [
        json.loads(line) for file in sorted(folder.glob("*.jsonl")) for line in file.open(encoding="utf-8")
    ]


@spark_session
def test_a_folder_without_an_end_to_come_is_a_finite_input(tmp_path: Path) -> None:
    """Without a checkpoint nothing can come later: the lines are those of the files, in every format."""
    folder = tmp_path / "in"
    folder.mkdir()
    write_jsonl(folder / "1.jsonl", RECORDS[:4])
    write_csv(folder / "2.csv", RECORDS[4:8])
    write_parquet(folder / "3.parquet", RECORDS[8:])
    write(folder / "notes.txt", "no events")
    answer = stream(FIRE, folder, "--delay", "1h", "--lineage")
    assert answer.status == 0
    assert answer.out == tyrex("run", FIRE, FIRE_EVENTS, "--on", "process", "--lineage").out
    assert answer.err.startswith("12 events in, 5 composite events out (fire 2, heat 2, alarm 1)")


@spark_session
def test_a_run_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    """Files that came since are read, what was told is not told again, and the rest gives way to what is found."""
    folder, out, checkpoint = tmp_path / "in", tmp_path / "out", tmp_path / "checkpoint"
    folder.mkdir()
    options: list[str | Path] = ["--checkpoint", checkpoint, "-o", out, "--delay", "5min"]

    def wanted(count: int) -> list[str]:
        write_jsonl(tmp_path / "e.jsonl", RECORDS[:count])
        return ids(tyrex("run", FIRE, tmp_path / "e.jsonl", "--on", "reference").events)

    write_jsonl(folder / "1.jsonl", RECORDS[:8])
    flushed = stream(FIRE, folder, *options, "--flush")
    assert "came of the end: a run that goes on puts what it finds itself in their place" in flushed.err
    assert (out / "rest.jsonl").exists()
    assert ids(found_in(out)) == wanted(8)
    write_jsonl(folder / "2.jsonl", RECORDS[8:])
    assert stream(FIRE, folder, *options).status == 0
    assert not (out / "rest.jsonl").exists()
    assert set(ids(found_in(out))) <= set(wanted(12))
    write_jsonl(folder / "3.jsonl", [{"type": "Rain", "timestamp": "2026-07-14T14:00:00Z", "area": "west"}])
    assert stream(FIRE, folder, *options).status == 0
    assert ids(found_in(out)) == wanted(12)


@spark_session
def test_tables_are_written_that_can_be_read_again(tmp_path: Path) -> None:
    """The name of the folder chooses the format; another stream may not write into it."""
    out = tmp_path / "found.parquet"
    folder = tmp_path / "in"
    folder.mkdir()
    write_jsonl(folder / "1.jsonl", RECORDS)
    assert stream(FIRE, f"{folder}", "-o", out, "--subscribe", "Fire()").status == 0
    (file,) = out.glob("*.parquet")
    assert [row["type"] for row in parquet.read_table(file).to_pylist()] == ["Fire", "Fire"]
    again = stream(FIRE, folder, "-o", out)
    assert (again.status, again.out) == (1, "")
    assert "is from another stream: give its `--checkpoint`, or another folder" in again.err
    other = stream(FIRE, folder, "-o", folder)
    assert other.status == 1
    assert "has other files in it" in other.err


@spark_session
def test_bad_and_late_data_is_counted_and_kept(tmp_path: Path) -> None:
    """With its place; and it ends the run only where that is asked for."""
    folder = tmp_path / "in"
    folder.mkdir()
    write(folder / "1.jsonl", '{"type": "A", "timestamp": 1000, "k": 1, "v": 5}\nno event\n{"type": "A"}\n')
    write(folder / "2.csv", "type,timestamp,k,v\nA,2000,2,x\nA,2000,2,4.5\nZ,2000,,\n")
    write(folder / "3.jsonl.gz", "damaged")
    for number, name in enumerate(("1.jsonl", "2.csv", "3.jsonl.gz")):
        os.utime(folder / name, (number, number))
    rules = write(tmp_path / "r.tesla", MIXED)
    kept, late = tmp_path / "bad", tmp_path / "late"
    options: list[str | Path] = [
        "--checkpoint",
        tmp_path / "c",
        "--rejected",
        kept,
        "--late",
        late,
        "--flush",
    ]
    answer = stream(rules, folder, *options)
    assert answer.status == 0
    assert sorted((e["rule"], e["k"]) for e in answer.events) == [("high", 1), ("high", 2)]
    assert "3 events in, 2 composite events out, 4 rejected, 1 of types that no rule knows" in answer.err
    places = [(Path(r["source"]).name, r.get("line"), r["reason"][:12]) for r in found_in(kept)]
    assert [place[:2] for place in sorted(places, key=repr)] == [
        ("1.jsonl", 2),
        ("1.jsonl", 3),
        ("2.csv", 2),
        ("3.jsonl.gz", None),
    ]
    write(folder / "4.jsonl", '{"type": "A", "timestamp": 10, "k": 7, "v": 5}\n')
    answer = stream(rules, folder, *options)
    assert "1 late (`--delay` waits for such events)" in answer.err
    assert [record["k"] for record in found_in(late)] == [7]
    strict = stream(rules, folder, "--strict")
    assert strict.status == 1
    assert "error: " in strict.err
    assert "Traceback" not in strict.err


@spark_session
def test_simultaneous_events_of_a_file_keep_their_order(tmp_path: Path) -> None:
    """Also of types that share no table; the composites are those of one process."""
    random = Random(11)
    lines = [
        json.dumps(
            {"type": "A", "timestamp": at // 9, "k": random.randrange(99), "v": random.randrange(9)}
            if random.random() < 0.6
            else {
                "type": "B",
                "timestamp": at // 9,
                "k": f"k{at}",
                "attributes": {"type": random.choice("xy")},
            }
        )
        for at in range(300)
    ]
    lines = [line.replace('"k": "k', '"x": "k') for line in lines]
    folder = tmp_path / "in"
    folder.mkdir()
    events = write(folder / "e.jsonl", "\n".join(lines))
    rules = write(tmp_path / "r.tesla", MIXED)
    answer = stream(rules, folder)
    process = tyrex("run", rules, events, "--on", "process")
    assert ids(answer.events) == ids(process.events)
    assert {event["rule"] for event in process.events} == {"high", "typed"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([FIRE_EVENTS, "--once"], "are for streams: add `--stream`"),
        ([FIRE_EVENTS, "--stream"], "is a file: a stream is a folder"),
        (
            ["examples/fire", "--stream", "--until", "10"],
            "`--until` is for the end of a stream: add `--flush`",
        ),
        (["kafka://host:9092"], "names no topic of Kafka"),
        (["Tmp=examples/fire", "--stream"], "did you mean `Temp`?"),
        (["examples/fire", "--stream", "--on", "process"], "`--stream` runs on Spark"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], problem: str) -> None:
    """Before Spark starts."""
    answer = tyrex("run", FIRE, *arguments)
    assert answer.status == 1
    assert problem in answer.err


def test_an_address_of_kafka_has_servers_a_topic_and_options() -> None:
    """The options are those of Spark's connector."""
    address = "kafka://one:9092,two:9092/fire.events?startingOffsets=latest&kafka.security.protocol=SSL"
    topic = topic_of(address)
    assert topic == Topic(
        "one:9092,two:9092", "fire.events", {"startingOffsets": "latest", "kafka.security.protocol": "SSL"}
    )
    feed = find_feed(
        "Temp=kafka://one:9092/temps", Layout(parse(MIXED.replace(" A", " Temp")).types), timestamp="at"
    )
    assert (feed.form, feed.place) == (Form("Temp", "at"), Topic("one:9092", "temps"))
    with pytest.raises(EventError, match="names no topic"):
        topic_of("kafka://one:9092/a/b")


def test_messages_are_read_at_once_or_one_by_one() -> None:
    """Good ones and bad ones; a bad one says where it stands, and takes no other with it."""
    good = [
        b'{"type": "A", "timestamp": 1, "k": 1, "v": 2}',
        b'{"type": "A", "timestamp": 2, "k": 2, "v": 3}',
    ]
    bad = [None, b"no event", b"\xff", b'{"type": "A", "timestamp": 3, "k": "x"}', b""]
    layout = Layout(parse("event A(k: int, v: float)\ndefine B() from A()").types)
    slots = Slots.of(layout)

    def rows(values: list[bytes | None]) -> list[dict[str, Any]]:
        columns: dict[str, Any] = {
            "value": pa.array(values, pa.binary()),
            "topic": pa.array(["t"] * len(values)),
            "partition": pa.array([1] * len(values), pa.int32()),
            "offset": pa.array(range(7, 7 + len(values)), pa.int64()),
        }
        batch = pa.record_batch(columns)
        return [row for found in read_messages([batch], layout, Form(), slots) for row in found.to_pylist()]

    found = rows(list(good))
    assert [(row["a0"], row["a1"], row["sequence"] - (1 << 48)) for row in found] == [
        (1, 2.0, 7),
        (2, 3.0, 8),
    ]
    pretty = good[0].replace(b", ", b",\n")
    mixed = rows([pretty, *bad, good[1]])
    assert [(row["a0"], row["sequence"] - (1 << 48)) for row in mixed if row["problem"] is None] == [
        (1, 7),
        (2, 13),
    ]
    problems = [json.loads(row["problem"]) for row in mixed if row["problem"] is not None]
    assert [(problem["offset"], problem["source"]) for problem in problems] == [
        (n, "t") for n in range(8, 13)
    ]
    assert "not UTF-8" in problems[2]["reason"]


@pytest.mark.nightly
def test_a_stream_is_followed_until_ctrl_c(tmp_path: Path) -> None:
    """What comes is found while it runs; then it ends in good order, and the next run tells only what is new."""
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    command: list[Any] = [COMMAND, "run", FIRE, folder, "--stream", "--checkpoint", tmp_path / "c", "-o", out]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        for number in range(3):
            write_jsonl(tmp_path / "draft", RECORDS[number * 4 : number * 4 + 4])
            (tmp_path / "draft").rename(folder / f"{number}.jsonl")
            time.sleep(1)
        end = time.monotonic() + 600
        while len(found_in(out)) < 3 and time.monotonic() < end:
            time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        said, complaints = process.communicate(timeout=300)
    finally:
        process.kill()
    assert (process.returncode, said) == (0, "")
    assert complaints.startswith("12 events in, ")
    told = ids(found_in(out))
    wanted = ids(tyrex("run", FIRE, FIRE_EVENTS, "--on", "reference").events)
    assert 3 <= len(told) <= len(set(told) & set(wanted))
    again = subprocess.run([*command, "--once", "--flush"], capture_output=True, text=True, check=True)
    assert again.stderr.splitlines()[-1].startswith("0 events in")
    assert ids(found_in(out)) == wanted
