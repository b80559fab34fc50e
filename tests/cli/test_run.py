"""`tyrex run` detects composite events in files of events."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from tests.cli.support import FIRE, FIRE_EVENTS, GOOD, Answer, tyrex, write


def run(*arguments: str | Path, stdin: bytes | str | None = None) -> Answer:
    return tyrex("run", *arguments, "--on", "reference", stdin=stdin)


def fire(*options: str | Path) -> Answer:
    return run(FIRE, FIRE_EVENTS, *options)


def events_file(path: Path, *times: float, type_: str = "A") -> Path:
    lines = [json.dumps({"type": type_, "timestamp": t, "v": i}) for i, t in enumerate(times)]
    return write(path, "".join(f"{line}\n" for line in lines))


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """One rule that copies each A."""
    return write(tmp_path / "rules.tesla", GOOD)


def test_composite_events_are_printed_as_json_lines() -> None:
    """Type, time, attributes, id and rule; the counts go to standard error."""
    answer = fire()
    assert answer.status == 0
    found = [(e["type"], e["timestamp"][11:19], e["area"], e["rule"]) for e in answer.events]
    assert found == [
        ("Fire", "12:03:00", "north", "fire"),
        ("Heat", "12:03:00", "north", "heat"),
        ("Heat", "12:03:10", "south", "heat"),
        ("Fire", "12:07:00", "east", "fire"),
        ("Alarm", "12:13:00", "north", "alarm"),
    ]
    assert answer.events[1]["average"] == 49.25
    assert answer.err == "12 events in, 5 composite events out\n"


def test_output_goes_to_a_file(tmp_path: Path) -> None:
    """The same lines as on standard output, which stays empty."""
    answer = fire("-o", tmp_path / "out.jsonl")
    assert (answer.status, answer.out) == (0, "")
    assert (tmp_path / "out.jsonl").read_text("utf-8") == fire().out


def test_what_comes_out_can_go_in_again(tmp_path: Path) -> None:
    """Composite events are events: another rule set can run on them."""
    fire("-o", tmp_path / "out.jsonl")
    rules = write(tmp_path / "r.tesla", "define Again(area: string) from Alarm() where area = Alarm.area")
    answer = run(rules, tmp_path / "out.jsonl")
    assert [(e["type"], e["area"]) for e in answer.events] == [("Again", "north")]
    assert answer.summary == "5 events in, 1 composite event out, 4 of types that no rule knows"


@pytest.mark.parametrize(
    ("subscription", "found"),
    [
        ("Fire", ["Fire", "Fire"]),
        ("Fire()", ["Fire", "Fire"]),
        ('Fire(area = "north")', ["Fire"]),
        ('Subscribe(Heat, area = "north" and average > 49)', ["Heat"]),
        ("Heat(average > 50)", ["Heat"]),
        ("Fire(timestamp > 1784030700000000)", ["Fire"]),
        ("Smoke", []),
    ],
)
def test_a_subscription_keeps_the_composite_events_that_fit(subscription: str, found: list[str]) -> None:
    """By type and by content, in both notations; what no rule makes is never printed."""
    answer = fire("--subscribe", subscription)
    assert [event["type"] for event in answer.events] == found


@pytest.mark.parametrize(
    ("subscription", "code"),
    [("Fier", "TSL010"), ("Fire(aera = 1)", "TSL013"), ("Fire(area = $x)", "TSL031"), ("Fire(", "TSL003")],
)
def test_a_wrong_subscription_is_refused_before_anything_runs(subscription: str, code: str) -> None:
    """With the diagnostic, and nothing on standard output."""
    answer = fire("--subscribe", subscription)
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.startswith(f"error[{code}]: ")
    assert "--> <subscription>:1:" in answer.err


def test_a_subscription_has_no_aggregates() -> None:
    """It looks at one event; that is said, not found out in the middle of the run."""
    answer = fire("--subscribe", "Fire(Count(Fire() within 5 min from Fire) > 1)")
    assert (answer.status, answer.out) == (1, "")
    assert "error" in answer.err


def test_lineage_shows_the_events_that_each_was_made_of() -> None:
    """In the order of the pattern, each with its attributes."""
    (event,) = fire("--lineage", "--subscribe", 'Fire(area = "north")').events
    assert [(part["type"], part["timestamp"][11:19]) for part in event["lineage"]] == [
        ("Smoke", "12:03:00"),
        ("Temp", "12:02:00"),
    ]
    assert event["lineage"][1]["value"] == 50.0
    assert all("lineage" not in plain for plain in fire().events)


def test_until_moves_time_on_at_the_end(tmp_path: Path) -> None:
    """Deadlines that are due by then fire; the others are counted."""
    rules = write(tmp_path / "r.tesla", "event A(v: int) define Late() from 10 s after A()")
    events = events_file(tmp_path / "e.jsonl", 0, 5)
    assert run(rules, events).summary == "2 events in, 0 composite events out, 2 deadlines still open"
    for until in ("12", "1970-01-01T00:00:12Z"):
        answer = run(rules, events, "--until", until)
        assert [event["timestamp"] for event in answer.events] == ["1970-01-01T00:00:10.000000Z"]
        assert answer.summary == "2 events in, 1 composite event out, 1 deadline still open"


def test_the_time_zone_is_that_of_timers(tmp_path: Path) -> None:
    """Nine o'clock in Rome is eight in UTC, in winter."""
    rules = write(tmp_path / "r.tesla", "event A(v: int) define Nine() from Timer(H = 9)")
    events = events_file(tmp_path / "e.jsonl", 0, 12 * 3600)
    times = {
        zone: [e["timestamp"] for e in run(rules, events, *zone).events]
        for zone in [(), ("--time-zone", "Europe/Rome")]
    }
    assert times == {
        (): ["1970-01-01T09:00:00.000000Z"],
        ("--time-zone", "Europe/Rome"): ["1970-01-01T08:00:00.000000Z"],
    }


def test_without_a_delay_events_are_put_in_order(rules: Path, tmp_path: Path) -> None:
    """A file may hold them in any order."""
    answer = run(rules, events_file(tmp_path / "e.jsonl", 5, 1, 3))
    assert [event["v"] for event in answer.events] == [1, 2, 0]


def test_with_a_delay_what_comes_too_late_is_counted_and_left_out(rules: Path, tmp_path: Path) -> None:
    """Two seconds late is in time, four are not."""
    answer = run(rules, events_file(tmp_path / "e.jsonl", 5, 1, 3), "--delay", "2 s")
    assert [event["v"] for event in answer.events] == [2, 0]
    assert answer.summary == "3 events in, 2 composite events out, 1 late"


BAD_LINES = (
    b'{"type": "A", "timestamp": 1, "v": 1}\n'
    b"nonsense\n"
    b"\n"
    b'{"type": "A", "timestamp": 2, "v": "x"}\n'
    b'{"type": "A"}\n'
    b"\xff\n"
    b'{"type": "A", "timestamp": 3, "v": 3}\n'
    b'{"type": "Unknown", "timestamp": 4}\n'
)


def test_bad_lines_are_reported_counted_and_left_out(rules: Path, tmp_path: Path) -> None:
    """Each with its line and reason; the good ones are processed, and the command ends well."""
    path = write(tmp_path / "e.jsonl", BAD_LINES)
    answer = run(rules, path)
    assert answer.status == 0
    assert [event["v"] for event in answer.events] == [1, 3]
    *reports, summary = answer.err.splitlines()
    assert [line.removeprefix(f"{path}: ").split(":")[0] for line in reports] == [
        "line 2",
        "line 4",
        "line 5",
        "line 6",
    ]
    assert "expected int" in reports[1]
    assert summary == "3 events in, 2 composite events out, 4 rejected, 1 of types that no rule knows"


def test_strict_stops_at_the_first_bad_line(rules: Path, tmp_path: Path) -> None:
    """Exit 1, one line that says where and why, and no composite event."""
    path = write(tmp_path / "e.jsonl", BAD_LINES)
    answer = run(rules, path, "--strict")
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.startswith(f"error: {path}: line 2: not JSON: ")
    assert answer.err.count("\n") == 1


def test_strict_stops_at_a_value_that_does_not_fit_its_type(rules: Path, tmp_path: Path) -> None:
    """Such a line is as bad as one that is no JSON."""
    path = write(tmp_path / "e.jsonl", '{"type": "A", "timestamp": 2, "v": "x"}\n')
    answer = run(rules, path, "--strict")
    assert answer.status == 1
    assert answer.err.startswith(f"error: {path}: line 1: A.v: expected int, found the string ")


def test_strict_has_nothing_against_good_lines() -> None:
    """The same result as without it."""
    assert fire("--strict").out == fire().out


def test_bad_lines_of_standard_input_are_named_so(rules: Path) -> None:
    """There is no file to name."""
    answer = run(rules, "-", stdin=BAD_LINES)
    assert answer.err.startswith("standard input: line 2: not JSON")
    assert len(answer.events) == 2


def test_an_empty_input_makes_nothing(rules: Path, tmp_path: Path) -> None:
    """No events, no composite events, no error."""
    answer = run(rules, write(tmp_path / "e.jsonl", ""), "--until", "100")
    assert (answer.status, answer.out) == (0, "")
    assert answer.err == "0 events in, 0 composite events out\n"


def test_a_compressed_file_and_an_array_are_read_too(rules: Path, tmp_path: Path) -> None:
    """By the name of the file."""
    lines = events_file(tmp_path / "e.jsonl", 1, 2).read_bytes()
    array = b"[" + b",".join(lines.splitlines()) + b"]"
    for path in (
        write(tmp_path / "e.jsonl.gz", gzip.compress(lines)),
        write(tmp_path / "e.json", array),
    ):
        assert [event["v"] for event in run(rules, path).events] == [0, 1]


def test_an_overflow_is_counted(tmp_path: Path) -> None:
    """The value is null, and the summary says that it happened."""
    rules = write(tmp_path / "r.tesla", "event A(v: int) define B(v: int) from A() where v = A.v + 1")
    events = write(tmp_path / "e.jsonl", f'{{"type": "A", "timestamp": 1, "v": {2**63 - 1}}}\n')
    answer = run(rules, events)
    assert [event["v"] for event in answer.events] == [None]
    assert answer.summary == "1 event in, 1 composite event out, 1 overflow"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--delay", "soon"], "`soon` is not a duration: write a number and a unit, as in `5 min`"),
        (["--until", "tomorrow"], "a timestamp as text must be a date and time such as"),
        (["--until", "nan"], "a timestamp must be a finite number of seconds"),
        (["--time-zone", "Mars/Olympus"], "there is no time zone `Mars/Olympus`: write it as `Europe/Rome`"),
        (["--time-zone", "../UTC"], "there is no time zone `../UTC`"),
        (["--time-zone", ""], "there is no time zone ``"),
        (["-o", "missing/out.jsonl"], "missing/out.jsonl can't be written: No such file or directory"),
    ],
)
def test_a_wrong_option_is_an_error_in_one_line(options: list[str], message: str) -> None:
    """Exit 1, what is wrong, and no traceback."""
    answer = fire(*options)
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.startswith(f"error: {message}")
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.jsonl", "missing.jsonl can't be read: No such file or directory"),
        ("missing.json", "missing.json can't be read: No such file or directory"),
        ("events.xml", "the format of `events.xml` is not known: expected JSON lines"),
    ],
)
def test_events_that_cannot_be_read_are_an_error_in_one_line(name: str, message: str) -> None:
    """The file is named, with the reason."""
    answer = run(FIRE, name)
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.startswith(f"error: {message}")


def test_wrong_rules_do_not_run(tmp_path: Path) -> None:
    """Their diagnostics are shown, as `check` shows them."""
    path = write(tmp_path / "r.tesla", "define B() from A(")
    answer = run(path, FIRE_EVENTS)
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.startswith("error[TSL003]")
    assert answer.summary == f"1 error in {path}"


def test_a_raced_file_runs() -> None:
    """As any rule file does."""
    answer = run(
        "examples/papers/fire.raced",
        "-",
        stdin=(
            '{"type": "Alert", "timestamp": 1, "Type": "smoke", "Location": "a"}\n'
            '{"type": "Temp", "timestamp": 2, "Value": 35, "Location": "a"}\n'
        ),
    )
    assert [(e["type"], e["Location"]) for e in answer.events] == [("Alarm", "a"), ("Fire", "a")]
