"""Access: who may do what, with which key, from where and how often."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from tests.server.nodes import RULES
from tests.server.served import serving

from tyrex.server.access import Access, Audit, KeyFile, RateLimit, Role
from tyrex.server.serve import Address, CannotServe, access_of
from tyrex.server.settings import settings_from

TEMP = {"type": "Temp", "timestamp": 1, "area": "A1", "value": 50.0}
SMOKE = {"type": "Smoke", "timestamp": 2, "area": "A1"}
SECRET = "a secret of at least thirty-two letters"


def bearer(key: str) -> dict[str, str]:
    """The header that shows a key."""
    return {"Authorization": f"Bearer {key}"}


def test_each_role_may_do_what_it_is_for(tmp_path: Path) -> None:
    """A source publishes its types, a sink reads what its filters let through, a manager changes rules; admins all."""
    file = KeyFile(tmp_path / "keys.json")
    keys = {
        "source": file.add("meter", [Role.SOURCE], types=["Temp"]),
        "sink": file.add("screen", [Role.SINK], filters=['Fire(area = "A1")']),
        "manager": file.add("ann", [Role.MANAGER]),
        "admin": file.add("root", [Role.ADMIN]),
    }
    requests: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/v1/events", {"json": TEMP}),
        ("POST", "/v1/events", {"json": SMOKE}),
        ("GET", "/v1/detections", {}),
        ("GET", "/v1/events", {}),
        ("POST", "/v1/rules", {"json": {"text": "event New(x: int)"}}),
        ("GET", "/v1/rules", {}),
        ("POST", "/v1/backtests", {"json": {"text": RULES}}),
        ("POST", "/v1/why-not", {"json": {"name": "fire"}}),
    ]
    allowed = {"source": "10000100", "sink": "00100100", "manager": "00111111", "admin": "11111111"}
    audit = tmp_path / "audit.jsonl"
    with serving(access=Access(file, audit=Audit(audit))) as server:
        for role, expected in allowed.items():
            answers = [server.http.request(m, p, headers=bearer(keys[role]), **o) for m, p, o in requests]
            found = "".join("0" if a.status_code == 403 else "1" for a in answers)
            assert found == expected, role
            assert all(a.status_code < 400 for a in answers if a.status_code != 403)
        other = {"type": "Temp", "timestamp": 3, "area": "B", "value": 50.0}
        for event in (other, {**SMOKE, "timestamp": 4, "area": "B"}):
            server.http.post("/v1/events", json=event, headers=bearer(keys["admin"]))
        server.http.get("/v1/status", headers=bearer(keys["admin"]))
        seen = server.http.get("/v1/detections", headers=bearer(keys["sink"])).json()["detections"]
        everything = server.http.get("/v1/detections", headers=bearer(keys["admin"])).json()["detections"]
        assert {d["event"]["area"] for d in seen} == {"A1"}
        assert {d["event"]["area"] for d in everything} == {"A1", "B"}
        hidden = next(d["number"] for d in everything if d["event"]["area"] == "B")
        assert (
            server.http.get(f"/v1/detections/{hidden}/why", headers=bearer(keys["sink"])).status_code == 404
        )
    written = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [(line["by"], line["action"], line["outcome"]) for line in written] == [
        ("ann", "define", "done"),
        ("root", "define", "done"),
    ]
    assert not any(key in (tmp_path / "keys.json").read_text() + audit.read_text() for key in keys.values())


def test_a_wrong_or_removed_key_is_refused_at_once(tmp_path: Path) -> None:
    """No key, an unknown one and one that was removed while the server runs: 401, which says what is needed."""
    file = KeyFile(tmp_path / "keys.json")
    key = file.add("one", [Role.ADMIN])
    file.add("two", [Role.ADMIN])
    with serving(access=Access(file)) as server:
        assert server.http.get("/v1/rules", headers=bearer(key)).status_code == 200
        for headers in ({}, bearer("tyrex_" + "x" * 32), bearer("nonsense"), {"Authorization": "Basic x"}):
            answer = server.http.get("/v1/rules", headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHENTICATED")
        KeyFile(tmp_path / "keys.json").remove("one")
        assert server.http.get("/v1/rules", headers=bearer(key)).status_code == 401
        assert server.http.get("/health").status_code == 200


def test_a_token_does_the_same_as_a_key() -> None:
    """A JWT has its roles in the claim `tyrex`; one that is forged, old or without roles is refused."""
    claims = {"sub": "cron", "exp": time.time() + 60, "tyrex": {"roles": ["source"], "types": ["Temp"]}}
    good = jwt.encode(claims, SECRET, "HS256")
    with serving(access=Access(jwt_secret=SECRET)) as server:
        assert server.http.post("/v1/events", json=TEMP, headers=bearer(good)).status_code == 200
        assert server.http.post("/v1/events", json=SMOKE, headers=bearer(good)).status_code == 403
        bad = [
            jwt.encode(claims, SECRET + "x", "HS256"),
            jwt.encode({**claims, "exp": time.time() - 60}, SECRET, "HS256"),
            jwt.encode({**claims, "tyrex": {"roles": ["king"]}}, SECRET, "HS256"),
            jwt.encode({"sub": "x", "exp": time.time() + 60}, SECRET, "HS256"),
            jwt.encode({"sub": "x", "tyrex": {"roles": ["admin"]}}, SECRET, "HS256"),
        ]
        for token in bad:
            assert server.http.post("/v1/events", json=TEMP, headers=bearer(token)).status_code == 401


def test_without_keys_only_this_machine_is_answered(tmp_path: Path) -> None:
    """An open server answers to localhost alone, also where a browser is made to ask; and it opens no other door."""
    with serving() as server:
        assert server.http.get("/v1/rules").status_code == 200
        assert server.http.get("/v1/rules", headers={"Host": "evil.example"}).status_code == 403
        assert server.http.get("/v1/rules", headers={"Origin": "https://evil.example"}).status_code == 403
        assert server.http.get("/v1/rules", headers={"Origin": server.url}).status_code == 200
    with pytest.raises(CannotServe, match="tyrex keys add"):
        access_of(settings_from(None, data=tmp_path), Address("0.0.0.0", 80))
    KeyFile(tmp_path / "keys.json").add("one", [Role.ADMIN])
    access = access_of(settings_from(None, data=tmp_path), Address("0.0.0.0", 80))
    KeyFile(tmp_path / "keys.json").remove("one")
    assert not access.is_open  # the last key is gone: nobody may ask, rather than everybody


def test_who_asks_too_often_is_told_to_wait() -> None:
    """Each client has so many requests in a second; others are not held up by it."""
    with serving(access=Access(rate=RateLimit(5))) as server:
        answers = [server.http.get("/v1/rules") for _ in range(30)]
        refused = [a for a in answers if a.status_code == 429]
        assert refused
        assert refused[0].json()["code"] == "RATE"
        assert int(refused[0].headers["Retry-After"]) >= 1
        assert httpx.get(f"{server.url}/health").status_code == 200


def test_settings_come_from_options_the_environment_and_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An option comes before the environment, and that before the file; a key that is none is refused."""
    config = tmp_path / "tyrex.toml"
    config.write_text('listen = "127.0.0.1:1"\ndelay = "1 s"\nclock = "wall"\n')
    monkeypatch.setenv("TYREX_DELAY", "2 s")
    monkeypatch.setenv("TYREX_LISTEN", "127.0.0.1:2")
    settings = settings_from(config, listen="127.0.0.1:3")
    assert (settings.listen, settings.delay, settings.clock) == ("127.0.0.1:3", "2 s", "wall")
    config.write_text('colour = "red"\n')
    with pytest.raises(ValueError, match="colour"):
        settings_from(config)
