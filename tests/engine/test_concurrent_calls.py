"""One engine in several threads: a call has the engine for itself, and others wait for it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from tyrex import Detections, Engine, Event
from tyrex.engine import Composite

RULES = """
event A(k: string, n: int)
event B(k: string, n: int)
Rule pair
define Pair(k: string, n: int)
from   B(k = $k) and each A(k = $k) within 10 s from B
where  k = $k, n = A.n
"""
SECOND = 1_000_000
LONG = 60.0  # seconds after which a test has failed


def _run(*tasks: Callable[[], object]) -> None:
    """Do things at the same time; the first error is raised."""
    errors: list[BaseException] = []

    def guarded(task: Callable[[], object]) -> None:
        try:
            task()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


def _stream(name: str, batches: int, size: int) -> list[list[Event]]:
    """Batches of one sender: all of one moment, so that none is late; each key is used by one sender."""
    return [
        [
            Event(
                "A" if n % 2 == 0 else "B", SECOND, {"k": f"{name}-{batch}-{n // 20}", "n": batch * size + n}
            )
            for n in range(size)
        ]
        for batch in range(batches)
    ]


def _told(found: Detections) -> list[tuple[str, str]]:
    return [(str(event), str(event.id)) for event in found]


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_that_send_at_once_get_what_each_would_get_alone(threads: int) -> None:
    """A batch is processed as a whole, and its sender gets its composites, whatever the others do."""
    engine = Engine(RULES, threads=threads)
    found: dict[str, list[tuple[str, str]]] = {}

    def sender(name: str) -> Callable[[], None]:
        def send() -> None:
            found[name] = [
                told for batch in _stream(name, 20, 200) for told in _told(engine.send_batch(batch))
            ]

        return send

    names = ["one", "two", "three"]
    _run(*map(sender, names))
    for name in names:
        alone = Engine(RULES)
        assert found[name] == [
            told for batch in _stream(name, 20, 200) for told in _told(alone.send_batch(batch))
        ]
    assert engine.stats().types["A"].arrived == 3 * 20 * 100


def test_single_events_and_batches_may_come_from_different_threads() -> None:
    """Nothing is lost, and nothing comes twice."""
    engine, counts = Engine(RULES), list[int]()

    def batches() -> None:
        for batch in _stream("x", 20, 200):
            counts.append(len(engine.send_batch(batch)))

    def singles() -> None:
        for n in range(2000):
            counts.append(len(engine.send("A" if n % 2 == 0 else "B", timestamp=1, k=f"y-{n // 20}", n=n)))

    _run(batches, singles)
    assert sum(counts) == engine.stats().rules["pair"].fired == (20 * 10 + 100) * 55


@pytest.mark.parametrize("threads", [1, 2])
def test_detections_are_read_in_one_thread_while_another_sends(threads: int) -> None:
    """Their answers are those that they had."""
    engine = Engine(RULES, threads=threads)
    kept = [engine.send_batch(batch) for batch in _stream("kept", 5, 200)]
    wanted = [_told(found) for found in kept]
    stop = threading.Event()

    def read() -> None:
        try:
            for _ in range(3):
                assert [_told(found) for found in kept] == wanted
                for found in kept:
                    assert found.tables()["Pair"].num_rows == len(found)
                    event = found[0]
                    assert isinstance(event, Composite)
                    assert [part.type for part in event.lineage] == ["B", "A"]
        finally:
            stop.set()

    def send() -> None:
        number = 0
        while not stop.is_set():
            number += 20
            engine.send_batch(
                [Event("A", number * SECOND, {"k": f"{number}-{n}", "n": n}) for n in range(500)]
            )

    _run(read, send)


@pytest.fixture
def _often_interrupted() -> Iterator[None]:
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("_often_interrupted")
@pytest.mark.parametrize("threads", [1, 2])
def test_snapshots_are_taken_between_calls(threads: int) -> None:
    """A snapshot holds whole batches, and all kernels in it know of the same events."""
    rules = (
        RULES
        + "Rule by_n define N(n: int) from B(n = $n) and each A(n = $n) within 10 s from B where n = A.n"
    )
    engine = Engine(rules, threads=threads)
    stop = threading.Event()

    def send() -> None:
        number = 0
        while not stop.is_set():
            number += 20  # the windows pass, so that the state does not grow
            engine.send_batch(
                [Event("AB"[n % 2], number * SECOND, {"k": f"{n // 2}", "n": n // 2}) for n in range(100)]
            )

    def save() -> None:
        try:
            for _ in range(60):
                restored = Engine.restore(engine.snapshot())
                places = restored._places
                arrived = {kernel.type_counts(places.type_number("A"))[0] for kernel in places.kernels}
                assert len(arrived) == 1
                assert arrived.pop() % 50 == 0
        finally:
            stop.set()

    _run(send, save)


def test_callbacks_run_in_the_thread_that_sent() -> None:
    """Each for its own events."""
    engine, seen = Engine(RULES), set[tuple[str, str]]()
    engine.subscribe("Pair()", lambda event: seen.add((threading.current_thread().name, str(event["k"])[0])))

    def send() -> None:
        for batch in _stream(threading.current_thread().name, 10, 100):
            engine.send_batch(batch)

    threads = [threading.Thread(target=send, name=name) for name in "xyz"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert seen == {("x", "x"), ("y", "y"), ("z", "z")}


PROGRAM = """
import sys, threading
from tyrex import Engine

def main():
    reached, go = threading.Event(), threading.Event()

    def lower(text, upper):
        reached.set()
        assert go.wait(30)
        return text.lower()

    engine = Engine("event A(k: string) Rule r define M(k: string) from A() where k = lower(A.k)")
    engine._places.kernels[0].set_casing(lower)
    sender = threading.Thread(target=engine.send, args=("A", 1), kwargs={{"k": "X"}})
    sender.start()
    assert reached.wait(30)
    other = threading.Thread(target=lambda: {action})
    other.start()
    other.join(0.3)
    waited = other.is_alive()
    go.set()
    sender.join()
    other.join()
    assert waited, "it went on in the middle of another call"

main()
"""


@pytest.mark.parametrize(
    "action",
    [
        "engine.send('A', 2)",
        "engine.send_batch([])",
        "engine.advance(5)",
        "engine.flush()",
        "engine.snapshot()",
        "engine.stats()",
        "engine.deploy('Rule s define S(k: string) from A() where k = A.k')",
        "engine.undeploy('r')",
        "engine.pause('r')",
        "engine.subscribe('A()', print)",
        "engine.why_not('M')",
    ],
)
def test_every_call_waits_for_one_that_is_in_the_engine(action: str) -> None:
    """It neither sees nor changes anything halfway: here an event is held in the middle of its rule."""
    program = PROGRAM.format(action=action)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=LONG
    )
    assert (done.returncode, done.stderr) == (0, "")
