"""The HTTP API: what goes in comes out, and whatever is wrong is told in full."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from tests.server.nodes import ALARM, RULES
from tests.server.served import Served, serving
from websockets.sync.client import connect

from tyrex.server.http import Limits

EVENTS = [
    {"type": "Temp", "timestamp": 1, "area": "A1", "value": 50.0},
    {"type": "Smoke", "timestamp": 2, "area": "A1"},
]
LINES = "\n".join(map(json.dumps, EVENTS))


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with serving() as served:
        yield served


def detections(server: Served, count: int, **query: Any) -> list[dict[str, Any]]:
    """So many detections, as soon as they are there."""
    found: dict[str, Any] = {}
    for _ in range(500):
        found = server.http.get("/v1/detections", params=query).json()
        if len(found["detections"]) >= count:
            break
        time.sleep(0.01)
    assert len(found["detections"]) == count
    rows: list[dict[str, Any]] = found["detections"]
    return rows


def cloud(event: dict[str, Any], number: int) -> dict[str, Any]:
    """An event in the envelope of CloudEvents."""
    data = {name: value for name, value in event.items() if name not in ("type", "timestamp")}
    time_ = f"1970-01-01T00:00:0{event['timestamp']}Z"
    return {
        "specversion": "1.0",
        "type": event["type"],
        "source": "t",
        "id": str(number),
        "time": time_,
        "data": data,
    }


def arrow() -> bytes:
    """The events as a stream of Arrow."""
    table = pa.table(
        {
            "type": ["Temp", "Smoke"],
            "timestamp": pa.array([1_000_000, 2_000_000], pa.timestamp("us", "UTC")),
            "area": ["A1", "A1"],
            "value": [50.0, None],
        }
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


BODIES = {
    "application/json": json.dumps(EVENTS).encode(),
    "application/x-ndjson": LINES.encode(),
    "application/cloudevents-batch+json": json.dumps([cloud(e, i) for i, e in enumerate(EVENTS)]).encode(),
    "text/csv": b"type,timestamp,area,value\nTemp,1,A1,50\nSmoke,2,A1,\n",
    "application/vnd.apache.arrow.stream": arrow(),
}


@pytest.mark.parametrize("media_type", BODIES)
@pytest.mark.parametrize("zipped", [False, True])
def test_every_kind_of_body_is_read(media_type: str, zipped: bool) -> None:
    """The same events lead to the same detection, however they are written."""
    body, headers = BODIES[media_type], {"Content-Type": media_type}
    if zipped:
        body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
    with serving() as server:
        answer = server.http.post("/v1/events", content=body, headers=headers)
        assert answer.status_code == 200, answer.text
        assert answer.json()["accepted"] == 2
        (found,) = detections(server, 1)
        assert found["number"] == 1
        assert found["event"]["value"] == 50.0


def test_single_events_are_read(server: Served) -> None:
    """One JSON object is one event, plain or in the envelope of CloudEvents."""
    plain = {"type": "Temp", "timestamp": 1, "area": "single", "value": 40}
    assert server.http.post("/v1/events", json=plain).json()["accepted"] == 1
    headers = {"Content-Type": "application/cloudevents+json"}
    enveloped = json.dumps(cloud(plain, 1))
    assert server.http.post("/v1/events", content=enveloped, headers=headers).json()["accepted"] == 1
    again = server.http.post("/v1/events", content=enveloped, headers=headers).json()
    assert (again["accepted"], again["duplicates"]) == (0, 1)


def test_a_request_that_is_sent_again_counts_once(server: Served) -> None:
    """The same Idempotency-Key is the same request."""
    headers = {"Idempotency-Key": "once", "Content-Type": "application/x-ndjson"}
    body = LINES.replace("A1", "again")
    first = server.http.post("/v1/events", content=body, headers=headers).json()
    second = server.http.post("/v1/events", content=body, headers=headers).json()
    assert (first["accepted"], first["duplicates"]) == (2, 0)
    assert (second["accepted"], second["duplicates"], second["record"]) == (0, 2, 0)


def test_bad_events_are_told_and_nothing_of_the_request_is_taken(server: Served) -> None:
    """Each line that is no event is named; with `partial` the others are taken."""
    body = LINES.replace("A1", "bad") + '\n{"type": "Temp", "timestamp": 3, "value": "hot"}\nnonsense'
    headers = {"Content-Type": "application/x-ndjson"}
    answer = server.http.post("/v1/events", content=body, headers=headers)
    problem = answer.json()
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["code"] == "EVENTS_REJECTED"
    assert [error["place"] for error in problem["errors"]] == [3, 4]
    assert "expected float" in problem["errors"][0]["reason"]
    part = server.http.post("/v1/events?partial=true", content=body, headers=headers).json()
    assert (part["accepted"], part["rejected"]) == (2, 2)


@pytest.mark.parametrize(
    ("method", "path", "options", "status", "code"),
    [
        ("GET", "/v1/nothing", {}, 404, "NOT_FOUND"),
        ("PATCH", "/v1/rules", {}, 405, "REQUEST_WRONG"),
        (
            "POST",
            "/v1/events",
            {"content": b"x", "headers": {"Content-Type": "image/png"}},
            415,
            "MEDIA_TYPE",
        ),
        ("POST", "/v1/events", {"content": b"x"}, 415, "MEDIA_TYPE"),
        (
            "POST",
            "/v1/events",
            {"content": b"\xff", "headers": {"Content-Type": "application/json"}},
            422,
            None,
        ),
        ("POST", "/v1/events", {"content": b"", "headers": {"Content-Type": "text/csv"}}, 200, None),
        ("POST", "/v1/rules", {"json": {"text": "Rule"}}, 422, "RULES_WRONG"),
        ("POST", "/v1/rules", {"json": {}}, 422, "REQUEST_WRONG"),
        ("POST", "/v1/rules/none/pause", {}, 404, "NOT_FOUND"),
        ("DELETE", "/v1/rules/none", {}, 404, "NOT_FOUND"),
        ("GET", "/v1/detections?filter=Nothing()", {}, 422, "FILTER_WRONG"),
        ("GET", "/v1/detections?since=never", {}, 422, "REQUEST_WRONG"),
        ("GET", "/v1/detections/none/why", {}, 404, "NOT_FOUND"),
        ("GET", "/v1/detections/stream?filter=(", {}, 422, "FILTER_WRONG"),
        ("POST", "/v1/why-not", {"json": {"name": "none"}}, 422, "REQUEST_WRONG"),
        ("POST", "/v1/backtests", {"json": {"text": "Rule"}}, 422, "RULES_WRONG"),
        ("GET", "/v1/backtests/99", {}, 404, "NOT_FOUND"),
    ],
)
def test_every_error_is_a_problem_with_a_code(
    server: Served, method: str, path: str, options: dict[str, Any], status: int, code: str | None
) -> None:
    """Whatever is wrong is told as problem+json, with what was found and what to do."""
    answer = server.http.request(method, path, **options)
    assert answer.status_code == status, answer.text
    if status != 200:
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json()
        assert problem["status"] == status
        assert problem["detail"]
        assert code in (None, problem["code"])


def test_a_body_beyond_the_limit_is_refused() -> None:
    """A large body is refused before it is read, and so is a small one that unpacks to a large one."""
    with serving(limits=Limits(body=1000)) as server:
        headers = {"Content-Type": "application/x-ndjson"}
        answer = server.http.post("/v1/events", content=b"x" * 2000, headers=headers)
        assert answer.json()["code"] == "TOO_LARGE"
        packed = gzip.compress(b"x" * 1_000_000)
        answer = server.http.post(
            "/v1/events", content=packed, headers={**headers, "Content-Encoding": "gzip"}
        )
        assert answer.status_code == 413


def test_rules_are_checked_defined_replaced_and_removed() -> None:
    """The life of a rule over HTTP, with its history."""
    with serving(rules=None) as server:
        http = server.http
        checked = http.post("/v1/rules/check", json={"text": RULES}).json()
        assert checked["ok"]
        assert checked["rules"][0]["picture"].startswith("<svg")
        wrong = http.post(
            "/v1/rules/check", json={"text": RULES.replace("value = Temp", "vlue = Temp")}
        ).json()
        assert not wrong["ok"]
        assert wrong["diagnostics"][0]["line"] > 1
        answer = http.post("/v1/rules", json={"text": RULES})
        assert answer.status_code == 201
        assert answer.json()["names"] == ["fire"]
        assert http.post("/v1/rules", json={"text": ALARM}).json()["names"] == ["alarm"]
        assert http.delete("/v1/rules/fire").json()["code"] == "IN_USE"
        assert (
            http.post("/v1/rules?replace=true", json={"text": RULES.replace("45", "60")}).status_code == 201
        )
        assert http.post("/v1/rules/alarm/pause").status_code == 200
        listed = {rule["name"]: rule for rule in http.get("/v1/rules").json()}
        assert listed["alarm"]["state"] == "paused"
        assert "60" in listed["fire"]["text"]
        http.post("/v1/events", content=LINES, headers={"Content-Type": "application/x-ndjson"})
        assert http.get("/v1/rules/fire").json()["evaluated"] == 1
        assert http.get("/v1/rules/fire/picture").text.startswith("<svg")
        assert http.delete("/v1/rules/alarm").status_code == 200
        actions = [change["action"] for change in http.get("/v1/rules/history").json()]
        assert actions == ["remove", "pause", "replace", "define", "define"]
        formatted = http.post("/v1/rules/format", json={"text": "define   A()\nfrom B()"}).json()["text"]
        assert formatted.startswith("define A()")
        types = {found["name"]: found for found in http.get("/v1/types").json()}
        assert types["Temp"]["attributes"] == {"area": "string", "value": "float"}
        assert types["Temp"]["used_by"] == ["fire"]


def stream(url: str, count: int, **query: Any) -> list[tuple[int, dict[str, Any]]]:
    """The first so many events of a stream, with their ids."""
    headers = query.pop("headers", {})
    found, number = [], 0
    with httpx.stream(
        "GET", f"{url}/v1/detections/stream", params=query, headers=headers, timeout=20
    ) as answer:
        assert answer.status_code == 200
        for line in answer.iter_lines():
            if line.startswith("id: "):
                number = int(line[4:])
            elif line.startswith("data: "):
                found.append((number, json.loads(line[6:])))
                if len(found) == count:
                    return found
    raise AssertionError("the stream has ended")


def test_streams_resume_where_they_ended() -> None:
    """Who comes back with the number seen last gets everything after it, filtered as before, and nothing twice."""
    with serving() as server:
        lines = "\n".join(LINES.replace("A1", "AB"[i % 2]) for i in range(10))
        server.http.post("/v1/events", content=lines, headers={"Content-Type": "application/x-ndjson"})
        first = stream(server.url, 2, start=1, filter='Fire(area = "A")')
        rest = stream(server.url, 3, filter='Fire(area = "A")', headers={"Last-Event-ID": str(first[-1][0])})
        numbers = [number for number, _ in first + rest]
        assert numbers == sorted(set(numbers))
        assert all(data["event"]["area"] == "A" for _, data in first + rest)
        every = stream(server.url, numbers[-1], start=1)
        assert [data["number"] for _, data in every if data["event"]["area"] == "A"] == numbers


def test_a_socket_brings_detections_as_they_come(server: Served) -> None:
    """The same as the stream, by WebSocket; what is wrong with the request is told in it."""
    url = server.url.replace("http", "ws") + "/v1/detections/socket"
    with connect(f'{url}?filter=Fire(area="ws")') as socket:
        time.sleep(0.2)
        body = (
            LINES.replace("A1", "ws").replace(": 1,", ": 101,").replace(": 2,", ": 102,")
        )  # later than others
        server.http.post("/v1/events", content=body, headers={"Content-Type": "application/x-ndjson"})
        assert json.loads(socket.recv(timeout=20))["event"]["area"] == "ws"
    with connect(f"{url}?filter=Nothing()") as socket:
        assert json.loads(socket.recv(timeout=20))["problem"]["code"] == "FILTER_WRONG"


def test_why_and_why_not() -> None:
    """A detection tells what it was made of, down to the events from outside; a missing one why it is missing."""
    with serving(rules=RULES + ALARM) as server:
        more = (
            LINES
            + '\n{"type": "Smoke", "timestamp": 3, "area": "A1"}\n{"type": "Smoke", "timestamp": 4, "area": "B"}'
        )
        server.http.post("/v1/events", content=more, headers={"Content-Type": "application/x-ndjson"})
        alarm = next(d for d in detections(server, 3) if d["event"]["type"] == "Alarm")
        tree = server.http.get(f"/v1/detections/{alarm['event']['id']}/why").json()
        assert [part["role"] for part in tree["parts"]] == ["Smoke", "Fire"]
        fire = tree["parts"][1]
        assert [part["event"]["type"] for part in fire["parts"]] == ["Smoke", "Temp"]
        assert server.http.get(f"/v1/detections/{alarm['number']}/why").json() == tree
        answer = server.http.post("/v1/why-not", json={"name": "fire", "at": 4}).json()
        assert not answer["fired"]
        assert "0 with area = $a" in answer["text"]


def test_a_backtest_compares_with_what_was_detected(tmp_path: Path) -> None:
    """Which detections appear and which go away, over the recorded events of a time; windows reach before it."""
    with serving(tmp_path) as server:
        lines = [
            {"type": kind, "timestamp": i * 10 + offset, "area": "A", "value": float(40 + i)}
            for i in range(20)
            for offset, kind in ((0, "Temp"), (1, "Smoke"))
        ]
        body = "\n".join(
            json.dumps({k: v for k, v in e.items() if e["type"] == "Temp" or k != "value"}) for e in lines
        )
        server.http.post("/v1/events", content=body, headers={"Content-Type": "application/x-ndjson"})
        deployed = detections(server, 14, limit=100)
        question = {"text": RULES.replace("45", "50"), "since": 100, "until": 190}
        started = server.http.post("/v1/backtests", json=question)
        assert started.status_code == 202
        number = started.json()["id"]
        with httpx.stream("GET", f"{server.url}/v1/backtests/{number}/stream", timeout=20) as answer:
            last = [line for line in answer.iter_lines() if line.startswith("data: ")][-1]
        result = json.loads(last[6:])["result"]
        assert (len(deployed), result["deployed"]) == (14, 9)
        assert (result["found"], result["same"], result["appeared"]) == (8, 8, 0)
        assert [event["value"] for event in result["going"]] == [50.0]
        lower = server.http.post("/v1/backtests", json={"text": RULES.replace("45", "42")}).json()["id"]
        test: dict[str, Any] = {}
        for _ in range(500):
            test = server.http.get(f"/v1/backtests/{lower}").json()
            if test["state"] != "running":
                break
            time.sleep(0.01)
        assert test["result"]["appeared"] >= 3
        assert test["result"]["gone"] == 0


def test_health_metrics_and_status(server: Served) -> None:
    """What operators look at."""
    assert server.http.get("/health").json()["ok"]
    assert server.http.get("/ready").json()["ready"]
    text = server.http.get("/metrics").text
    assert "tyrex_events_accepted_total " in text
    assert 'tyrex_rule_fired_total{rule="fire"}' in text
    status = server.http.get("/v1/status").json()
    assert status["rules"] == 1
    assert status["who"]["name"] == "local"
    recent = server.http.get("/v1/events?limit=5").json()["events"]
    assert recent[0]["event"]["type"] in ("Temp", "Smoke")


def test_too_many_subscriptions_are_refused_and_those_that_end_make_room() -> None:
    """A limit is told with its number; a subscriber that goes away leaves its place to another."""
    with serving(limits=Limits(subscriptions=1)) as server:
        with httpx.stream("GET", f"{server.url}/v1/detections/stream", timeout=20) as answer:
            assert answer.status_code == 200
            refused = server.http.get("/v1/detections/stream")
            assert refused.json()["code"] == "LIMIT"
        for _ in range(500):
            with httpx.stream("GET", f"{server.url}/v1/detections/stream", timeout=20) as answer:
                if answer.status_code == 200:
                    return
            time.sleep(0.01)
        raise AssertionError("no place became free")
