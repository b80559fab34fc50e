"""`tyrex run --on process` reads every format and streams it through the engine."""

from __future__ import annotations

import csv
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import ipc, parquet
from tests.cli.support import COMMAND, FIRE, FIRE_EVENTS, GOOD, Answer, buffered, spawn, tyrex, write

RECORDS: list[dict[str, Any]] = [
    json.loads(line) for line in Path(FIRE_EVENTS).read_text("utf-8").splitlines()
]


def run(*arguments: str | Path, stdin: bytes | str | None = None) -> Answer:
    return tyrex("run", *arguments, "--on", "process", stdin=stdin)


def fire(*arguments: str | Path) -> Answer:
    return run(FIRE, *arguments)


def expected(*options: str) -> str:
    return tyrex("run", FIRE, FIRE_EVENTS, "--on", "reference", *options).out


def table(records: list[dict[str, Any]]) -> pa.Table:
    names = list({name: None for record in records for name in record})
    return pa.table({name: [record.get(name) for record in records] for name in names})


def write_jsonl(path: Path, records: list[dict[str, Any]]) -> None:
    write(path, "".join(f"{json.dumps(record)}\n" for record in records))


def write_json(path: Path, records: list[dict[str, Any]]) -> None:
    write(path, json.dumps(records))


def write_gzip(path: Path, records: list[dict[str, Any]]) -> None:
    write(path, gzip.compress("".join(f"{json.dumps(record)}\n" for record in records).encode()))


def write_csv(path: Path, records: list[dict[str, Any]]) -> None:
    names = list({name: None for record in records for name in record})
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(records)


def write_parquet(path: Path, records: list[dict[str, Any]]) -> None:
    found = table(records)
    times = found["timestamp"].cast(pa.timestamp("ms", "UTC"))
    parquet.write_table(found.set_column(found.column_names.index("timestamp"), "timestamp", times), path)


def write_arrow(path: Path, records: list[dict[str, Any]]) -> None:
    found = table(records)
    with ipc.new_stream(str(path), found.schema) as writer:
        writer.write_table(found)


WRITERS: dict[str, Callable[[Path, list[dict[str, Any]]], None]] = {
    "e.jsonl": write_jsonl,
    "e.ndjson": write_jsonl,
    "e.json": write_json,
    "e.jsonl.gz": write_gzip,
    "e.csv": write_csv,
    "e.parquet": write_parquet,
    "e.arrow": write_arrow,
}


def test_the_engine_finds_what_the_reference_finds() -> None:
    """The same lines, and a summary that tells what each rule made."""
    answer = fire(FIRE_EVENTS)
    assert (answer.status, answer.out) == (0, expected())
    assert answer.err == "12 events in, 5 composite events out (fire 2, heat 2, alarm 1)\n"


def test_what_comes_in_an_order_of_arrival_runs_in_this_process() -> None:
    """Without a runtime that is named: standard input is answered at once, and events can be late."""
    wanted = fire(FIRE_EVENTS).out
    assert tyrex("run", FIRE, "-", stdin=Path(FIRE_EVENTS).read_bytes()).out == wanted
    assert tyrex("run", FIRE, FIRE_EVENTS, "--delay", "1s").out == wanted


def test_without_spark_files_run_in_this_process() -> None:
    """One line says so, and what would bring Spark; who asks for Spark gets an error."""
    program = (
        "import sys\nsys.modules['pyspark'] = None\nfrom tyrex.cli import app\n"
        f"app(['run', {FIRE!r}, {FIRE_EVENTS!r}])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == expected()
    said, summary = done.stderr.splitlines()
    assert said == 'Spark is not installed (pip install "tyrex[spark]"): this runs in one process'
    assert summary.startswith("12 events in, 5 composite events out (fire 2, heat 2, alarm 1)")


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("on", ["process", "reference"])
def test_every_format_gives_the_same(tmp_path: Path, name: str, on: str) -> None:
    """On both runtimes."""
    WRITERS[name](tmp_path / name, RECORDS)
    answer = tyrex("run", FIRE, tmp_path / name, "--on", on)
    assert (answer.status, answer.out) == (0, expected())


def test_standard_input_is_read() -> None:
    """As JSON lines."""
    assert run(FIRE, "-", stdin=Path(FIRE_EVENTS).read_bytes()).out == expected()


@pytest.mark.parametrize("on", ["process", "reference"])
def test_a_file_for_each_type_is_merged_by_time(tmp_path: Path, on: str) -> None:
    """`Temp=..` says what all its events are; each may have its own format."""
    words = []
    for type_, name in [("Temp", "temps.parquet"), ("Smoke", "smoke.csv"), ("Rain", "rain.jsonl")]:
        records = [{k: v for k, v in r.items() if k != "type"} for r in RECORDS if r["type"] == type_]
        WRITERS[f"e{Path(name).suffix}"](tmp_path / name, records)
        words.append(f"{type_}={tmp_path / name}")
    answer = tyrex("run", FIRE, *words, "--on", on)
    assert (answer.status, answer.out) == (0, expected())
    assert tyrex("run", FIRE, *reversed(words), "--on", on).out == expected()


def test_a_directory_is_read_in_order_of_name(tmp_path: Path) -> None:
    """Its files follow each other."""
    half = len(RECORDS) // 2
    write_jsonl(tmp_path / "1.jsonl", RECORDS[:half])
    write_csv(tmp_path / "2.csv", RECORDS[half:])
    assert fire(tmp_path).out == expected()


def test_several_files_are_merged_whatever_their_order_on_the_command_line(tmp_path: Path) -> None:
    """By the time of their events."""
    write_jsonl(tmp_path / "odd.jsonl", RECORDS[1::2])
    write_csv(tmp_path / "even.csv", RECORDS[::2])
    assert fire(tmp_path / "odd.jsonl", tmp_path / "even.csv").out == expected()


def test_another_column_may_hold_the_time(tmp_path: Path) -> None:
    """In every input."""
    records = [{("at" if k == "timestamp" else k): v for k, v in r.items()} for r in RECORDS]
    for name in ("e.jsonl", "e.csv"):
        WRITERS[name](tmp_path / name, records)
        assert fire(tmp_path / name, "--timestamp", "at").out == expected()
        answer = fire(tmp_path / name)
        assert answer.out == ""
        assert "`timestamp`" in answer.err


@pytest.mark.parametrize(
    "options",
    [
        ["--subscribe", 'Fire(area = "north")'],
        ["--subscribe", "Smoke"],
        ["--until", "2026-07-15T00:00:00Z"],
        ["--delay", "1 h"],
        ["--delay", "100000000 weeks"],
        ["--time-zone", "Europe/Rome"],
    ],
    ids=" ".join,
)
def test_options_mean_the_same_as_on_the_reference(options: list[str]) -> None:
    """Line for line."""
    assert fire(FIRE_EVENTS, *options).out == expected(*options)


def test_lineage_shows_the_events_that_each_was_made_of() -> None:
    """In the order of the pattern, each with its attributes."""
    (event,) = fire(FIRE_EVENTS, "--lineage", "--subscribe", 'Fire(area = "north")').events
    assert [(part["type"], part["timestamp"][11:19]) for part in event["lineage"]] == [
        ("Smoke", "12:03:00"),
        ("Temp", "12:02:00"),
    ]
    assert event["lineage"][1]["value"] == 50.0


@pytest.mark.parametrize("name", ["o.jsonl", "o.csv", "o.parquet", "o.arrow", "o.csv.gz"])
def test_output_is_written_in_the_format_of_its_name(tmp_path: Path, name: str) -> None:
    """And can be read again by the next run."""
    answer = fire(FIRE_EVENTS, "-o", tmp_path / name)
    assert (answer.status, answer.out) == (0, "")
    rules = write(
        tmp_path / "r.tesla",
        "event Heat(area: string, average: float) define H(a: float) from Heat() where a = Heat.average",
    )
    again = run(rules, tmp_path / name)
    assert [event["a"] for event in again.events] == [49.25, 51.0]
    assert again.summary == "5 events in, 2 composite events out, 3 of types that no rule knows"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """One rule that copies each A."""
    return write(tmp_path / "rules.tesla", GOOD)


def test_what_comes_too_late_is_counted_and_kept(rules: Path, tmp_path: Path) -> None:
    """Without a delay nothing waits; the summary tells how to wait, and `--late` keeps the events."""
    lines = "".join(f'{{"type": "A", "timestamp": {t}, "v": {t}, "id": "e{t}"}}\n' for t in (5, 1, 3))
    events = write(tmp_path / "e.jsonl", lines)
    answer = run(rules, events, "--late", tmp_path / "late.jsonl")
    assert [event["v"] for event in answer.events] == [5]
    assert answer.summary == "3 events in, 1 composite event out, 2 late (`--delay` waits for such events)"
    late = [json.loads(line) for line in (tmp_path / "late.jsonl").read_text("utf-8").splitlines()]
    assert [(event["type"], event["v"], event["id"]) for event in late] == [("A", 1, "e1"), ("A", 3, "e3")]
    answer = run(rules, events, "--delay", "2 s", "--late", tmp_path / "late.jsonl")
    assert [event["v"] for event in answer.events] == [3, 5]
    assert answer.summary == "3 events in, 2 composite events out, 1 late"
    answer = tyrex(
        "run", rules, events, "--delay", "2 s", "--late", tmp_path / "r.jsonl", "--on", "reference"
    )
    assert (tmp_path / "r.jsonl").read_bytes() == (tmp_path / "late.jsonl").read_bytes()


BAD_LINES = (
    '{"type": "A", "timestamp": 1, "v": 1}\nnonsense\n{"type": "A", "timestamp": 2, "v": "x"}\n'
    '{"type": "A", "timestamp": 3, "v": 3}\n{"type": "Unknown", "timestamp": 4}\n'
)


def test_bad_lines_are_reported_counted_and_left_out(rules: Path, tmp_path: Path) -> None:
    """Each with its file, its line and the reason."""
    events = write(tmp_path / "e.jsonl", BAD_LINES)
    answer = run(rules, events)
    assert [event["v"] for event in answer.events] == [1, 3]
    *reports, summary = answer.err.splitlines()
    assert [report.split(": ")[:2] for report in reports] == [
        [str(events), "line 2"],
        [str(events), "line 3"],
    ]
    assert summary == "3 events in, 2 composite events out, 2 rejected, 1 of types that no rule knows"


def test_bad_lines_are_kept_in_a_file_where_one_is_named(rules: Path, tmp_path: Path) -> None:
    """With their text, and without a word on standard error but the count."""
    events = write(tmp_path / "e.jsonl", BAD_LINES)
    rows = tmp_path / "e.parquet"
    parquet.write_table(pa.table({"type": ["A"], "timestamp": [9], "v": [1.5]}), rows)
    answer = run(rules, events, rows, "--rejected", tmp_path / "bad.jsonl")
    assert answer.err == "3 events in, 2 composite events out, 3 rejected, 1 of types that no rule knows\n"
    bad = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text("utf-8").splitlines()]
    found = {(one["source"], one.get("line"), one.get("row"), one["text"]) for one in bad}
    assert found == {
        (str(events), 2, None, "nonsense"),
        (str(events), 3, None, '{"type": "A", "timestamp": 2, "v": "x"}'),
        (str(rows), None, 1, '{"type": "A", "timestamp": 9, "v": 1.5}'),
    }
    assert all("expected int" in one["reason"] for one in bad if one["text"] != "nonsense")


def test_a_flood_of_bad_lines_is_not_printed_as_a_whole(rules: Path, tmp_path: Path) -> None:
    """Twenty are shown, then one line says how to keep all of them."""
    answer = run(rules, write(tmp_path / "e.jsonl", "bad\n" * 1000))
    assert len(answer.err.splitlines()) == 22
    assert "`--rejected FILE` keeps all of it" in answer.err.splitlines()[-2]
    assert answer.summary == "0 events in, 0 composite events out, 1,000 rejected"


def test_strict_stops_at_the_first_bad_line(rules: Path, tmp_path: Path) -> None:
    """Exit 1, one line that says where and why, and no composite event of its batch."""
    path = write(tmp_path / "e.jsonl", BAD_LINES)
    answer = run(rules, path, "--strict")
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.startswith(f"error: {path}: line 2: not JSON: ")
    assert answer.err.count("\n") == 1


def test_attributes_that_no_table_can_tell_apart_are_processed_all_the_same(tmp_path: Path) -> None:
    """An attribute `id`, and one that two types declare differently."""
    rules = write(
        tmp_path / "r.tesla",
        "event A(id: int, v: int) event B(v: string)\n"
        "define C(id: int, v: int) from A() where id = A.id, v = A.v\n"
        "define D(v: string) from B() where v = B.v\n",
    )
    lines = '{"type": "A", "timestamp": 1, "id": 7, "v": 1}\n{"type": "B", "timestamp": 2, "v": "x"}\n'
    events = write(tmp_path / "e.jsonl", lines)
    answer = run(rules, events)
    assert [(event["type"], event.get("attributes", event)["v"]) for event in answer.events] == [
        ("C", 1),
        ("D", "x"),
    ]
    assert answer.out == tyrex("run", rules, events, "--on", "reference").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.parquet"], "missing.parquet can't be read: No such file or directory"),
        ([FIRE_EVENTS, "missing.csv"], "missing.csv can't be read: No such file or directory"),
        (["Tmep=x.csv"], "the rules know no event type `Tmep`: did you mean `Temp`?"),
        (["events.xml"], "the format of `events.xml` is not known: expected JSON lines"),
        (["src"], "src has no file of events in it"),
        ([FIRE_EVENTS, "-o", "out.xml"], "the format of `out.xml` is not known: expected JSON lines"),
        ([FIRE_EVENTS, "-o", "missing/o.csv"], "missing/o.csv can't be written: No such file or directory"),
        ([FIRE_EVENTS, "--late", "missing/l"], "missing/l can't be written: No such file or directory"),
        ([FIRE_EVENTS, "--rejected", "missing/r"], "missing/r can't be written: No such file or directory"),
        (["examples/fire/rules.tesla"], "the format of `examples/fire/rules.tesla` is not known"),
    ],
)
def test_what_cannot_be_read_or_written_is_an_error_in_one_line(arguments: list[str], message: str) -> None:
    """Exit 1, no traceback, and nothing on standard output."""
    answer = fire(*arguments)
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.startswith(f"error: {message}")
    assert answer.err.count("\n") == 1


def test_an_input_that_is_missing_leaves_the_output_as_it_was(tmp_path: Path) -> None:
    """Everything is looked for before anything is written."""
    output = write(tmp_path / "out.jsonl", "precious\n")
    assert fire("missing.jsonl", "-o", output).status == 1
    assert output.read_text("utf-8") == "precious\n"


def test_a_live_stream_is_answered_at_once(rules: Path) -> None:
    """The composite event is there while the input is still open."""
    process = subprocess.Popen(
        [COMMAND, "run", rules, "-", "--on", "process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=buffered(),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    found: list[bytes] = []
    reader = Thread(target=lambda: found.append(process.stdout.readline() if process.stdout else b""))
    reader.start()
    process.stdin.write(b'{"type": "A", "timestamp": 1, "v": 42}\n')
    process.stdin.flush()
    reader.join(30)
    assert [json.loads(line)["v"] for line in found] == [42]
    process.communicate()
    assert process.returncode == 0


def peak_memory(*arguments: str | Path) -> int:
    """The most memory that a run of the command takes, in bytes."""
    process = subprocess.Popen([COMMAND, *map(str, arguments)], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss * 1024


@pytest.mark.parametrize("name", ["e.jsonl", pytest.param("e.csv", marks=pytest.mark.nightly)])
def test_memory_does_not_grow_with_the_input(tmp_path: Path, name: str) -> None:
    """An input that is 60 MB larger takes less than half of that in addition."""
    rules = write(
        tmp_path / "r.tesla",
        "event A(text: string, v: int)\n"
        "define B(v: int) from A(v = 7) as Y and last A(v = 8) as X within 1 s from Y where v = 7",
    )
    note = "a note that means nothing " * 14
    peaks, sizes = [], []
    for count in (50_000, 200_000):
        path = tmp_path / f"{count}{name}"
        with path.open("w", encoding="utf-8") as file:
            if name == "e.csv":
                file.write("type,timestamp,text,v,note\n")
                file.writelines(f"A,{n},text number {n},{n % 10},{note}\n" for n in range(count))
            else:
                file.writelines(
                    f'{{"type": "A", "timestamp": {n}, "text": "text number {n}", "v": {n % 10}, "note": "{note}"}}\n'
                    for n in range(count)
                )
        peaks.append(peak_memory("run", rules, path, "--on", "process", "-o", tmp_path / "out.jsonl"))
        sizes.append(path.stat().st_size)
        path.unlink()
    assert sizes[1] - sizes[0] > 55_000_000
    assert peaks[1] - peaks[0] < 30_000_000


def test_a_process_of_its_own_does_the_same() -> None:
    """As a user runs it."""
    answer = spawn("run", FIRE, FIRE_EVENTS, "--on", "process")
    assert (answer.status, answer.out) == (0, expected())


def without_arrow(*arguments: str | Path) -> Answer:
    """Run the command where pyarrow is not installed."""
    program = "import sys; sys.modules['pyarrow'] = None; from tyrex.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def test_text_is_read_and_written_without_arrow(tmp_path: Path) -> None:
    """It is needed for tables only; the error says how to get it."""
    write_csv(tmp_path / "e.csv", RECORDS)
    answer = without_arrow("run", FIRE, tmp_path / "e.csv", "--on", "process")
    assert (answer.status, answer.out) == (0, expected())
    write_parquet(tmp_path / "e.parquet", RECORDS)
    for arguments in ([tmp_path / "e.parquet"], [FIRE_EVENTS, "-o", tmp_path / "o.parquet"]):
        answer = without_arrow("run", FIRE, *arguments, "--on", "process")
        assert answer.status == 1
        assert "needs pyarrow, which is not installed: pip install 'tyrex[arrow]'" in answer.err
        assert answer.err.count("\n") == 1
