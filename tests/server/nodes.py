"""What the tests of the server share: rules, a clock that stands, a node in a folder."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tyrex.events import Event
from tyrex.io.layout import Layout
from tyrex.server.node import Action, Detection, Node, NodeSettings, Publication, Receipt, RulesRecord

RULES = """
event Temp(area: string, value: float)
event Smoke(area: string)

Rule fire
define Fire(area: string, value: float)
from   Smoke(area = $a) and last Temp(area = $a and value > 45) within 5 min from Smoke
where  area = $a, value = Temp.value
"""
ALARM = """
Rule alarm
define Alarm(area: string)
from   Smoke(area = $a) and last Fire(area = $a) within 10 min from Smoke
where  area = $a
"""
NOW = time.time_ns() // 1000


class Clock:
    """A clock that the test sets."""

    def __init__(self, now: int = NOW) -> None:
        self.now = now

    def __call__(self) -> int:
        """The time in microseconds."""
        return self.now


@contextmanager
def running(
    folder: Path | None,
    settings: NodeSettings | None = None,
    *,
    rules: str | None = RULES,
    clock: Clock | None = None,
    snapshot: bool = True,
) -> Iterator[Node]:
    """A node in a folder, with rules if it has none yet; ended without a snapshot it is as after a crash."""
    node = Node(folder, settings, clock=clock or Clock())
    try:
        if rules is not None and not len(node.rules):
            change(node, Action.DEFINE, rules)
        yield node
    finally:
        node.close(snapshot=snapshot)


def change(node: Node, action: Action, text: str = "", *names: str, by: str = "test") -> tuple[str, ...]:
    """Change the rules of a node; the names of those that it was about."""
    return node.change(RulesRecord(action, NOW, by, text, names)).result(20).names


def send(
    node: Node, *events: Event, source: str = "s", key: str | None = None, columns: bool = False
) -> Receipt:
    """Publish events together, and wait until they are safe."""
    layout = Layout(node.rules.types, columns=columns)
    conformed = [layout.conform(event) or event for event in events]
    publication = Publication(source, [layout.batch(conformed)], len(node.rules.types), key)
    return node.publish(publication).result(20)


def settled(node: Node) -> Sequence[Detection]:
    """Everything detected, when all that was sent has had its effect."""
    node.ask(lambda state: None).result(20)
    return list(node.detections.all())


def temp(seconds: float, area: str = "A1", value: float = 50.0, id: str | None = None) -> Event:
    """A temperature."""
    return Event("Temp", int(seconds * 1e6), {"area": area, "value": value}, id)


def smoke(seconds: float, area: str = "A1", id: str | None = None) -> Event:
    """Smoke."""
    return Event("Smoke", int(seconds * 1e6), {"area": area}, id)
