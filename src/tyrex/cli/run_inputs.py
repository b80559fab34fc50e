"""The events of a run: from all its inputs, in order, with account of what is none."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

import typer

from tyrex.cli.common import fail
from tyrex.events import EventError
from tyrex.io import Batch, BatchReader, Input, Layout, OnRejected, Rejected, merged, open_input

_SHOWN = 20
_PLACES = ("line", "row", "partition", "offset")
"""What tells a place in a source."""


class RejectedData:
    """What becomes of data that is no event: it is counted, and written to a file or shown; or it ends the run."""

    def __init__(self, *, strict: bool, keep: Callable[[dict[str, Any]], None] | None) -> None:
        self.count = 0
        self._strict = strict
        self._keep = keep

    def taker(self, source: str) -> OnRejected:
        """What takes the rejected data of one source."""

        def take(data: Rejected) -> None:
            self.take(
                {"source": source, data.unit: data.line_number, "reason": data.reason, "text": data.text}
            )

        return take

    def take(self, record: dict[str, Any]) -> None:
        """Count data that is no event, of which the source, the place in it and the reason are known."""
        place = [f"{name} {record[name]}" for name in _PLACES if name in record]
        shown = ": ".join([record["source"], *([", ".join(place)] if place else []), record["reason"]])
        if self._strict:
            raise fail(shown)
        self.count += 1
        if self._keep is not None:
            self._keep(record)
        elif self.count <= _SHOWN:
            typer.echo(shown, err=True)
        elif self.count == _SHOWN + 1:
            typer.echo("more is rejected, which is only counted: `--rejected FILE` keeps all of it", err=True)


def as_lines(file: IO[str] | None) -> Callable[[dict[str, Any]], None] | None:
    """Keeps records in a file, if there is one."""
    if file is None:
        return None

    def keep(record: dict[str, Any]) -> None:
        file.write(json.dumps(record, ensure_ascii=False) + "\n")

    return keep


class Intake:
    """The batches of all inputs, merged by time; it counts what it gives."""

    def __init__(self, inputs: Sequence[Input], layout: Layout, rejected: RejectedData) -> None:
        self.events = 0
        self._readers: list[BatchReader] = []
        with_trouble = inputs[0].name
        try:
            for one in inputs:
                with_trouble = one.name
                self._readers.append(open_input(one, layout, rejected.taker))
        except EventError as error:
            raise fail(str(error)) from None
        except OSError as error:
            raise unreadable(with_trouble, error) from None

    @property
    def size(self) -> int | None:
        """The bytes of all inputs, if that is known."""
        sizes = [reader.size for reader in self._readers]
        return None if None in sizes else sum(size or 0 for size in sizes)

    @property
    def position(self) -> int:
        """How many of them were read."""
        return sum(reader.position for reader in self._readers)

    def __iter__(self) -> Iterator[Batch]:
        batches = merged(self._readers)
        while True:
            try:
                batch = next(batches, None)
            except EventError as error:
                raise fail(str(error)) from None
            except OSError as error:
                raise unreadable("the input", error) from None
            if batch is None:
                return
            self.events += len(batch)
            yield batch


def unreadable(name: str, error: OSError) -> typer.Exit:
    """Say that an input can't be read, and why; raise what this returns."""
    return fail(f"{error.filename or name} can't be read: {error.strerror or error}")
