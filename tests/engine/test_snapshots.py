"""The state of an engine as bytes: `Engine.snapshot` and `Engine.restore`."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import pytest

from tyrex import Engine, Event, parse
from tyrex.engine.snapshot import MAGIC, VERSION, SnapshotError
from tyrex.engine.stats import Stats
from tyrex.events import parse_events

TYPES = """
event A(k: string, v: int, x: float)
event B(k: string, ok: bool)
"""
DECLARED = parse(TYPES).types


@dataclass(frozen=True)
class Kind:
    """A kind of state: rules that need it, and events that fill and use it."""

    name: str
    rules: str
    events: str
    delay: int = 0

    def __str__(self) -> str:
        return self.name


KINDS = [
    Kind(
        "events in windows",
        "define M(v: int) from B(k = $k) and each A(k = $k) within 3 s from B where v = A.v",
        "A@1('a', 1, 1.5) A@2('b', 2, 0.5) B@2('a', true) A@3('a', 3, 0.5) B@4('a', null) B@6('a', false)",
    ),
    Kind(
        "last, first and numbered events",
        """
        define L(v: int) from B(k = $k) and last A(k = $k) within 9 s from B where v = A.v
        define F(v: int) from B() and first A(v > 1) within 9 s from B where v = A.v
        define S(v: int) from B() and 2-last A() within 9 s from B where v = A.v
        """,
        "A@1('a', 1, 1.5) A@2('b', 2, 0.5) A@3('a', 3, 0.5) B@4('a', true) A@5('a', 5) B@6('b') B@11('a')",
    ),
    Kind(
        "consumed events",
        "define M(v: int) from B() and each A() within 9 s from B where v = A.v consuming A",
        "A@1('a', 1) A@2('b', 2) B@3('a') A@4('a', 4) B@5('a') B@6('a')",
    ),
    Kind(
        "open deadlines",
        "define M(v: int) from 3 s after A() as X and not B(k = X.k) between X and Timer where v = X.v",
        "A@1('a', 1) A@2('b', 2) B@3('a') A@3('c', 3) B@9('x')",
    ),
    Kind(
        "consumed deadlines",
        "define M(v: int, w: int) from 3 s after A() as X and last A() as Y within 9 s from X where v = X.v, w = Y.v "
        "consuming X, Y",
        "A@1('a', 1) A@2('b', 2) A@3('c', 3) A@4('c', 4) B@9('x')",
    ),
    Kind(
        "events that wait",
        "define M(v: int) from B() and each A() within 9 s from B where v = A.v",
        "A@5#x('a', 1) A@2('b', 2) B@4('a') A@3('a', 4) B@5('a') A@1('late', 0) B@9('a')",
        delay=3,
    ),
    Kind(
        "sliding aggregates",
        """
        define S(k: string, s: float, t: int) from B(k = $k)
        where k = $k, s = Sum(A(k = $k).x within 3 s from B), t = Sum(A().v within 3 s from B)
        define N(a: float, m: int, n: float) from B()
        where a = Avg(A().x within 4 s from B), m = Min(A().v within 4 s from B), n = Max(A().x within 4 s from B)
        """,
        "A@1('a', 1, 1e16) A@1('a', 2, 1.0) B@2('a') A@3('a', 3, -1e16) B@4('a') B@5('a') A@6('b', 9) B@7('b')",
    ),
    Kind(
        "other aggregates",
        """
        define C(n: int, d: int, f: string, l: string) from B() where n = Count(A() within 3 s from B),
        d = CountDistinct(A().k within 3 s from B),
        f = First(A().k within 3 s from B), l = Last(A().k within 3 s from B)
        define V(v: float) from B() and last A() within 9 s from B where v = Var(A().x) between A and B
        """,
        "A@1('a', 1, 1.5) A@2('b', 2, 0.5) B@3('a') A@3('a', 3, 0.25) B@4('a') B@5('a')",
    ),
    Kind(
        "negations",
        "define M(v: int) from B() and last A(v > 1) within 9 s from B and not A(v = 1) between A and B where v = A.v",
        "A@1('a', 2) B@2('a') A@3('b', 1) B@4('a') A@5('a', 5) B@6('a')",
    ),
    Kind(
        "composites that others look at",
        """
        define M(v: int) from A() where v = A.v
        define P(v: int) from B() and each M() within 3 s from B where v = M.v
        define Q(n: int) from P() and last Q() within 9 s from P where n = Q.n + 1
        define Q(n: int) from A(v = 1) where n = 0
        """,
        "A@1('a', 1) B@2('a') A@3('a', 3) B@4('a') B@5('a')",
    ),
    Kind(
        "calendar timers",
        "define T(s: int, n: int) from Timer(S % 2 == 0) where s = Timer.S, n = Count(A() within 4 s from Timer)",
        "A@1('a', 1) A@4.5('a', 1) B@9('a')",
    ),
    Kind(
        "equal events of one moment",
        "define M(v: int) from A() where v = A.v define P() from B() and each A() within 9 s from B",
        "A@1('a', 1) A@1('a', 1) A@1('a', 1) B@2('a') B@2('a')",
    ),
]


def _events(text: str) -> list[Event]:
    return parse_events(text, DECLARED)


def _told(events: Any) -> list[tuple[str, str | None, str | None]]:
    return [(str(event), event.id, event.rule) for event in events]


def _counts(engine: Engine) -> Stats:
    return replace(engine.stats(), bytes=0)


def _rich() -> Engine:
    """An engine with some of every kind of state."""
    engine = Engine(
        TYPES + "\n".join(kind.rules.replace("define ", "define X") for kind in KINDS[:4]), delay=2
    )
    engine.send_batch(
        _events("A@1#a('a', 1, 1.5) A@2('b', 2) B@3('a') Wind@3() A@5('c', 3) B@6('b') A@0('x')")
    )
    engine.pause("XF")
    return engine


SNAPSHOT = _rich().snapshot()


# What it keeps


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_restored_engine_goes_on_as_the_other_would(kind: Kind, threads: int) -> None:
    """At whatever event the snapshot is taken: results, ids, counts, open deadlines."""
    events = _events(kind.events)
    for at in range(len(events) + 1):
        engine = Engine(TYPES + kind.rules, delay=kind.delay, threads=threads)
        engine.send_batch(events[:at])
        twin = Engine.restore(engine.snapshot())
        assert _counts(twin) == _counts(engine)
        wanted = [*_told(engine.send_batch(events[at:])), *_told(engine.flush(until=60))]
        found = [*_told(twin.send_batch(events[at:])), *_told(twin.flush(until=60))]
        assert found == wanted
        assert _counts(twin) == _counts(engine)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_snapshot_of_a_restored_engine_is_the_same(kind: Kind, threads: int) -> None:
    """Nothing is lost on the way, however often it is gone."""
    engine = Engine(TYPES + kind.rules, delay=kind.delay, threads=threads)
    engine.send_batch(_events(kind.events)[:-1])
    first = engine.snapshot()
    assert engine.snapshot() == first
    assert Engine.restore(first).snapshot() == first


def test_taking_a_snapshot_changes_nothing() -> None:
    """The engine goes on as if it had not been asked."""
    events = _events(KINDS[0].events)
    engine, twin = Engine(TYPES + KINDS[0].rules), Engine(TYPES + KINDS[0].rules)
    for event in events:
        assert _told(engine.send_batch([event])) == _told(twin.send_batch([event]))
        engine.snapshot()


def test_paused_rules_stay_paused() -> None:
    """Until they are resumed there."""
    engine = Engine(TYPES + "Rule echo define M(v: int) from A() where v = A.v")
    engine.pause("echo")
    twin = Engine.restore(engine.snapshot())
    assert twin.send("A", timestamp=1, v=1) == []
    twin.resume("echo")
    assert len(twin.send("A", timestamp=2, v=2)) == 1


def test_rules_that_came_and_went_are_as_they_were() -> None:
    """A rule deployed later still sees nothing older than itself; one that is gone stays away."""
    rule = "define {0}(v: int) from B() and each A() within 9 s from B where v = A.v"
    engine = Engine(TYPES + rule.format("M") + " " + rule.format("Gone"))
    engine.send_batch(_events("A@1('a', 1)"))
    engine.deploy(rule.format("N"))
    engine.send_batch(_events("A@2('a', 2)"))
    engine.undeploy("Gone")
    twin = Engine.restore(engine.snapshot())
    assert [rule.name for rule in twin.rules] == ["M", "N"]
    assert _told(twin.send_batch(_events("B@3('a')"))) == _told(engine.send_batch(_events("B@3('a')")))
    assert "Gone" in twin.rules.types
    assert twin.deploy(rule.format("Gone")) == ["Gone"]


def test_the_time_zone_and_the_delay_are_in_it() -> None:
    """A restored engine needs no setting."""
    text = "event A() define T(h: int) from Timer(M = 0) where h = Timer.H"
    engine = Engine(text, delay="90 s", time_zone="Asia/Kathmandu")
    engine.send("A", timestamp=60)
    twin = Engine.restore(engine.snapshot())
    assert twin.time_zone == "Asia/Kathmandu"
    twin.send("A", timestamp=0)
    assert twin.stats().late == 0
    assert [event["h"] for event in twin.flush(until=4000)] == [6]


def test_subscriptions_are_not_in_it() -> None:
    """Their callbacks are no data; they may be made anew."""
    engine, got = Engine(TYPES + "define M(v: int) from A() where v = A.v"), list[Event]()
    engine.subscribe("M()", got.append)
    twin = Engine.restore(engine.snapshot())
    twin.send("A", timestamp=1, v=1)
    assert got == []
    twin.subscribe("M()", got.append)
    twin.send("A", timestamp=2, v=2)
    assert [event["v"] for event in got] == [2]


def test_inferred_types_and_raced_names_come_back() -> None:
    """Types that were never declared are known as they were inferred."""
    engine = Engine("define Hot(who: string) from Temp(value > 45, sensor = $s) where who = $s")
    twin = Engine.restore(engine.snapshot())
    assert {n: str(t) for n, t in twin.rules.types.items()} == {
        n: str(t) for n, t in engine.rules.types.items()
    }
    assert len(twin.send("Temp", timestamp=1, value=50, sensor="x")) == 1


def test_the_texts_of_rules_may_hold_anything() -> None:
    """Quotes, comments, letters of any script."""
    text = """event A(k: string)
    -- a comment with "quotes"
    Rule r define M(k: string) from A(k = "a \\"quoted\\" 東京\\n🦖") where k = A.k"""
    twin = Engine.restore(Engine(text).snapshot())
    assert len(twin.send("A", timestamp=1, k='a "quoted" 東京\n🦖')) == 1


def test_another_process_restores_it_exactly() -> None:
    """Nothing in it depends on how that process orders its sets."""
    events = _events("A@7('b', 4, 2.5) B@7('b') B@8('a')")
    engine = Engine.restore(SNAPSHOT)
    wanted = [*engine.send_batch(events), *engine.flush(until=60)]
    program = (
        "import sys; from tyrex import Engine; from tyrex.events import parse_events\n"
        "engine = Engine.restore(sys.stdin.buffer.read())\n"
        "events = parse_events(\"A@7('b', 4, 2.5) B@7('b') B@8('a')\", engine.rules.types)\n"
        "for event in [*engine.send_batch(events), *engine.flush(until=60)]: sys.stdout.write(f'{event} {event.id}\\n')"
    )
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            input=SNAPSHOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        )
        assert done.stdout.decode().splitlines() == [f"{event} {event.id}" for event in wanted]
    assert len(wanted) > 5


# What is none


def test_whatever_byte_is_damaged_it_is_refused() -> None:
    """Every one of them, in one bit and in all."""
    for at in range(len(SNAPSHOT)):
        for flip in (0x01, 0xFF):
            damaged = bytearray(SNAPSHOT)
            damaged[at] ^= flip
            with pytest.raises(SnapshotError):
                Engine.restore(bytes(damaged))


def test_wherever_it_is_cut_off_it_is_refused() -> None:
    """Also where it is empty, or has too much."""
    for end in range(len(SNAPSHOT)):
        with pytest.raises(SnapshotError):
            Engine.restore(SNAPSHOT[:end])
    for more in (b"\0", SNAPSHOT):
        with pytest.raises(SnapshotError):
            Engine.restore(SNAPSHOT + more)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no snapshot of a Tyrex engine"),
        (b"PK\x03\x04" + bytes(100), "no snapshot of a Tyrex engine"),
        (MAGIC, "cut off"),
        (SNAPSHOT[:40], "checksum|cut off"),
        (SNAPSHOT[:-1] + bytes([SNAPSHOT[-1] ^ 1]), "checksum is wrong; take an earlier one"),
    ],
    ids=["empty", "a zip file", "the first word", "the beginning", "one bit"],
)
def test_the_error_says_what_is_wrong(data: bytes, message: str) -> None:
    """And what to do."""
    with pytest.raises(SnapshotError, match=message):
        Engine.restore(data)


def _signed(content: bytes) -> bytes:
    return content + blake2b(content, digest_size=16).digest()


def test_another_version_is_refused() -> None:
    """The error names both versions."""
    other = MAGIC + (VERSION + 1).to_bytes(4, "little") + SNAPSHOT[12:-16]
    with pytest.raises(
        SnapshotError, match=f"version {VERSION + 1}, and this engine reads version {VERSION}"
    ):
        Engine.restore(_signed(other))


def test_a_state_with_a_right_checksum_and_wrong_content_crashes_nothing() -> None:
    """Whatever stands in it: it is refused, or it is the state of an engine."""
    engine = Engine(
        TYPES + "define M(v: int) from 3 s after A() as X and last A() within 9 s from X where v = X.v",
        delay=2,
    )
    engine.send_batch(_events("A@1#a('a', 1, 1.5) A@2('b', 2) A@5('c', 3) B@5('b')"))
    content = engine.snapshot()[:-16]
    start = 20 + int.from_bytes(content[12:20], "little") + 8
    refused = 0
    for at in range(start, len(content)):
        forged = bytearray(content)
        forged[at] ^= (0x01, 0x80, 0xFF)[at % 3]
        try:
            Engine.restore(_signed(bytes(forged)))
        except SnapshotError:
            refused += 1
    assert refused > 50


@pytest.mark.parametrize("old", [b'"rules"', b'"string"', b"define", b'{"time_zone"', b'"UTC"'])
def test_a_header_with_a_right_checksum_and_wrong_content_is_refused(old: bytes) -> None:
    """With the same kind of error as all that is no snapshot."""
    forged = SNAPSHOT[:-16].replace(old, b"#" * len(old))
    with pytest.raises(SnapshotError):
        Engine.restore(_signed(forged))
