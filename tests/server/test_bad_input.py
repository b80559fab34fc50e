"""Bad input: whatever a client sends, the answer is never that the server failed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.server.served import Served, serving

from tyrex.server.http.bodies import MEDIA_TYPES

GOOD = b'{"type": "Temp", "timestamp": 1, "area": "A1", "value": 50.0}\n{"type": "Smoke", "timestamp": 2, "area": "A1"}'
words = st.sampled_from(
    ["type", "timestamp", "area", "value", "id", "Temp", "Smoke", "attributes", "specversion"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | words,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(words | st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=12,
)
bodies = (
    st.binary(max_size=300)
    | values.map(lambda value: json.dumps(value).encode())
    | st.tuples(st.integers(0, len(GOOD)), st.binary(max_size=20)).map(
        lambda cut: GOOD[: cut[0]] + cut[1] + GOOD[cut[0] :]
    )
)


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with serving() as served:
        yield served


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(body=bodies, media_type=st.sampled_from(MEDIA_TYPES))
def test_any_body_is_answered(server: Served, body: bytes, media_type: str) -> None:
    """Events, or a problem that says what is wrong with them."""
    answer = server.http.post("/v1/events", content=body, headers={"Content-Type": media_type})
    assert answer.status_code in (200, 400, 413, 422), answer.text
    if answer.status_code != 200:
        assert answer.headers["content-type"] == "application/problem+json"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(value=values, path=st.sampled_from(["rules", "rules/check", "rules/format", "why-not", "backtests"]))
def test_any_question_is_answered(server: Served, value: object, path: str) -> None:
    """Rules, filters and questions of any form."""
    answer = server.http.post(f"/v1/{path}", content=json.dumps(value))
    assert answer.status_code < 500, answer.text
    texts = {"text": str(value), "name": str(value), "at": value, "since": value}
    answer = server.http.post(f"/v1/{path}", content=json.dumps(texts))
    assert answer.status_code < 500, answer.text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=st.text(max_size=30) | st.sampled_from(['Fire(area = "A1")', "Fire(value > )", "Fire(1/0 > 0)"]))
def test_any_query_is_answered(server: Served, text: str) -> None:
    """Filters, times and ids of any form."""
    for name in ("filter", "since", "until", "start", "limit"):
        answer = server.http.get("/v1/detections", params={name: text})
        assert answer.status_code < 500, (name, answer.text)


@pytest.mark.nightly
def test_the_openapi_document_holds(server: Served) -> None:
    """Schemathesis makes requests out of the document, and no answer is one that the document does not know."""
    import schemathesis

    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    tried = 0
    operations: Any = schema.get_all_operations()
    for operation in operations:
        found = operation.ok()
        if found.path.endswith("/stream"):
            continue  # it does not end

        @settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
        @given(case=found.as_strategy())
        def test(case: Any) -> None:
            answer = case.call()
            assert answer.status_code < 500, (case.path, answer.text)

        test()
        tried += 1
    assert tried > 15
