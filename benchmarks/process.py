"""Memory of a process, and processes that have done nothing before."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MEGABYTE = 1_000_000


def fresh(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What a function gives in a new process: nothing that happened before counts."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *args, **kwargs).result()


def resident() -> int:
    """Bytes of memory that this process has now."""
    return _status("VmRSS")


def greatest_resident() -> int:
    """The most bytes that this process has had."""
    return _status("VmHWM")


def _status(field: str) -> int:
    status = Path("/proc/self/status")
    if not status.exists():
        sys.exit("the benchmarks read the memory of a process from /proc, which only Linux has")
    for line in status.read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"/proc/self/status has no {field}")


@contextmanager
def cores(count: int) -> Iterator[None]:
    """Only so many cores for this process."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(sorted(before)[-count:]))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def cpu_of_tree(process: int) -> float:
    """Seconds on the processor of a process and of all that it has started, those that have ended among them."""
    children: dict[int, list[int]] = {}
    times: dict[int, float] = {}
    ticks = os.sysconf("SC_CLK_TCK")
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                # Behind the name, which may hold anything, in brackets.
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            children.setdefault(int(fields[1]), []).append(int(folder.name))
            times[int(folder.name)] = sum(map(int, fields[11:15])) / ticks
    total, waiting = 0.0, [process]
    while waiting:
        one = waiting.pop()
        total += times.get(one, 0.0)
        waiting += children.get(one, [])
    return total
