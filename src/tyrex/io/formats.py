"""Chooses the reader for a file of events by its name."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from tyrex.events import EventError
from tyrex.io.decoder import SPACE
from tyrex.io.jsonarray import JsonArrayReader
from tyrex.io.jsonlines import DAMAGED, JsonLinesReader, opened
from tyrex.io.reader import EventReader, OnRejected
from tyrex.tesla.types import EventType

STANDARD_INPUT = "-"
_SPACE = SPACE.encode()
_LINES = (".jsonl", ".ndjson")
_EITHER = ".json"
SUPPORTED = "JSON lines (`.jsonl`, `.ndjson`, or `-` for standard input) or JSON (`.json`), also with `.gz`"


def open_events(
    path: str | Path,
    *,
    types: Mapping[str, EventType] | None = None,
    strict: bool = False,
    on_rejected: OnRejected | None = None,
) -> EventReader:
    """A reader for the events of a file, chosen by its name.

    `.jsonl` and `.ndjson` are JSON lines, as is `-`, the standard input. A `.json` file is an array of events
    if it begins with `[`, and JSON lines otherwise. Each may be compressed, with `.gz` after that.
    """
    if str(path) == STANDARD_INPUT:
        return JsonLinesReader(sys.stdin.buffer, types=types, strict=strict, on_rejected=on_rejected)
    path = Path(path)
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(_EITHER) and begins_array(path):
        return JsonArrayReader(path, types=types, strict=strict, on_rejected=on_rejected)
    if name.endswith((*_LINES, _EITHER)):
        return JsonLinesReader(path, types=types, strict=strict, on_rejected=on_rejected)
    raise EventError(f"the format of `{path}` is not known: expected {SUPPORTED}")


def begins_array(path: Path) -> bool:
    """Whether the text in a file begins as an array does."""
    try:
        with opened(path) as stream:
            beginning = stream.read(3).removeprefix(b"\xef\xbb\xbf").lstrip(_SPACE)
            while not beginning and (more := stream.read(1024)):
                beginning = more.lstrip(_SPACE)
    except DAMAGED as error:
        raise EventError(f"{path} is damaged: {error}; get it once more") from None
    return beginning.startswith(b"[")
