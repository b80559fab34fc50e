"""A full disk: new events are refused, everything else goes on, and so do events when there is room again."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

_STORY = """
import resource, signal, sys
from pathlib import Path
from tests.server.nodes import ALARM, change, running, send, settled, smoke, temp
from tyrex.server.log import DiskFull
from tyrex.server.node import Action

folder = Path(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)

def room(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))

refused = taken = 0
with running(folder, snapshot=False) as node:
    send(node, temp(0), smoke(0))
    settled(node)
    room(6000)  # no file may grow beyond that: the disk is full
    for second in range(1, 200):
        try:
            taken += send(node, temp(second), smoke(second), key=f"k{second}").accepted
        except DiskFull:
            refused += 1
    assert refused and taken, (refused, taken)
    assert node.progress.disk_full
    assert len(settled(node)) == 1 + taken // 2  # what is asked is answered
    room(most)
    assert send(node, temp(300), smoke(300)).accepted == 2
    assert not node.progress.disk_full
    assert send(node, temp(199), smoke(301), key="k199").accepted == 2  # what was refused was not remembered
    assert change(node, Action.DEFINE, ALARM) == ("alarm",)
    before = settled(node)
    assert [d.number for d in before] == list(range(1, len(before) + 1))
with running(folder, rules=None) as node:
    assert settled(node) == before
print("good", refused, taken)
"""


def test_a_full_disk_refuses_events_and_loses_none(tmp_path: Path) -> None:
    """Files may not grow for a while, in a process of its own: 507 until they may, and nothing else stops."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_STORY), str(tmp_path)],
        cwd=Path(__file__).parent.parent.parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("good")
