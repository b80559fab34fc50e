"""How far a simulation is: a bar on the terminal, once it has taken a while."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

_AFTER = 1.0  # seconds


class SimulationBar:
    """Shows what is run and how much of the simulated time is done; it goes when the run ends."""

    def __init__(self, console: Console | None, total: int, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._started = clock()
        self._total = total
        self._done = 0
        self._name = ""
        self._task: TaskID | None = None
        self._progress = None
        if console is not None:
            self._progress = Progress(
                BarColumn(),
                TaskProgressColumn(),
                TextColumn("{task.description}"),
                TimeRemainingColumn(),
                console=console,
                transient=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def name(self, name: str) -> None:
        """What is run now."""
        self._name = name
        self.advance(0)

    def advance(self, amount: int) -> None:
        """So much more is done."""
        self._done += amount
        if self._progress is None or self._clock() - self._started < _AFTER:
            return
        if self._task is None:
            self._progress.start()
            self._task = self._progress.add_task("", total=self._total)
        self._progress.update(self._task, completed=self._done, description=self._name)
