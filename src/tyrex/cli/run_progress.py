"""How far a run is: a bar on the terminal, once it has taken a while."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

from tyrex.cli.run_summary import counted, rate

_AFTER = 1.0  # seconds


class ProgressBar:
    """Shows how much of the input was read, and how fast; it appears after a second and goes when the run ends."""

    def __init__(self, console: Console, total: int | None, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._started = clock()
        self._total = total
        self._task: TaskID | None = None
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
        self._progress.stop()

    def update(self, events: int, position: int) -> None:
        """So many events, and so many bytes, have been read."""
        elapsed = self._clock() - self._started
        if elapsed < _AFTER:
            return
        if self._task is None:
            self._progress.start()
            self._task = self._progress.add_task("", total=self._total)
        description = f"{counted(events, 'event')}, {rate(events, elapsed)}"
        self._progress.update(self._task, completed=position, description=description)
