"""Bodies of requests: read up to a limit, and taken for events by their media type."""

from __future__ import annotations

import asyncio
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from starlette.requests import Request

from tyrex.events import EventError
from tyrex.io.form import Form
from tyrex.io.jsonarray import JsonArrayReader
from tyrex.io.jsonblocks import JsonLinesBatches
from tyrex.io.jsonlines import JsonLinesReader
from tyrex.io.layout import Batch, Layout
from tyrex.io.reader import Rejected
from tyrex.io.reading import Reading
from tyrex.rules import RuleSet
from tyrex.server.http.problems import Problem

_SMALL = 1 << 14
"""Below that columns cost more than they bring."""
_SHOWN = 20
JSON = {"application/json", "application/cloudevents+json"}
ARRAYS = {"application/cloudevents-batch+json"}
LINES = {"application/x-ndjson", "application/jsonl", "application/jsonlines", "application/ndjson"}
CSV = {"text/csv"}
ARROW = {"application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.file"}
MEDIA_TYPES = sorted(JSON | ARRAYS | LINES | CSV | ARROW)


async def read_body(request: Request, limit: int) -> bytes:
    """The body of a request, decompressed; 413 as soon as it is too large."""
    encoding = request.headers.get("content-encoding", "identity").lower()
    if encoding not in ("identity", "gzip", ""):
        raise Problem(
            415, "MEDIA_TYPE", f"the body is encoded as {encoding!r}", expected="gzip, or no encoding"
        )
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > limit:
        raise too_large(int(declared), limit)
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > limit:
            raise too_large(size, limit)
        pieces.append(piece)
    body = b"".join(pieces)
    return _unpacked(body, limit) if encoding == "gzip" else body


def too_large(size: int, limit: int) -> Problem:
    """A body that has more bytes than allowed."""
    return Problem(
        413,
        "TOO_LARGE",
        f"the body has {size:,} bytes or more",
        expected=f"at most {limit:,} bytes",
        help="send the events in several requests",
    )


def _unpacked(body: bytes, limit: int) -> bytes:
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        data = unpacking.decompress(body, limit + 1)
    except zlib.error as error:
        raise Problem(400, "REQUEST_WRONG", f"the body is no gzip: {error}") from None
    if len(data) > limit:
        raise too_large(len(data), limit)
    if not unpacking.eof:
        raise Problem(400, "REQUEST_WRONG", "the body breaks off: its gzip has no end")
    return data


@dataclass
class Events:
    """The events of a body, and what of it is none."""

    types: int
    parts: list[Batch] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    rejections: int = 0

    def reject(self, rejected: Rejected) -> None:
        """Note what is no event: all are counted, and the first ones told."""
        self.rejections += 1
        if len(self.rejected) < _SHOWN:
            self.rejected.append(rejected)

    @property
    def errors(self) -> list[dict[str, str | int]]:
        """What is told of what was rejected."""
        return [
            {"place": r.line_number, "unit": r.unit, "reason": r.reason, "text": r.text[:200]}
            for r in self.rejected
        ]


class Layouts:
    """The layouts of the types that are known, made anew when more are."""

    def __init__(self) -> None:
        self._rules: RuleSet | None = None
        self._made: tuple[Layout, Layout]

    def of(self, rules: RuleSet) -> tuple[Layout, Layout]:
        """For events one by one, and in columns."""
        if rules is not self._rules:
            self._made = (Layout(rules.types, columns=False), Layout(rules.types))
            self._rules = rules
        return self._made


async def events_of(body: bytes, media_type: str, rules: RuleSet, layouts: Layouts, form: Form) -> Events:
    """The events in a body; a large one is read beside the others' requests."""
    rows, columns = layouts.of(rules)
    kind = media_type.partition(";")[0].strip().lower()
    if kind not in MEDIA_TYPES:
        raise Problem(
            415,
            "MEDIA_TYPE",
            f"the body is of the media type {kind!r}" if kind else "the body has no media type",
            expected=", ".join(MEDIA_TYPES),
            help="set the header Content-Type",
        )
    layout = rows if len(body) < _SMALL else columns
    found = Events(len(rules.types))
    if len(body) < _SMALL:
        _read(body, kind, layout, form, found)
    else:
        await asyncio.to_thread(_read, body, kind, layout, form, found)
    return found


def _read(body: bytes, kind: str, layout: Layout, form: Form, found: Events) -> None:
    reading = Reading(layout, found.reject, form)
    try:
        found.parts = [batch for batch in _batches(body, kind, reading) if len(batch)]
    except EventError:
        raise
    except Exception as error:  # the readers of Arrow and CSV meet what nobody has thought of
        raise EventError(f"the body can't be read as {kind}: {type(error).__name__}: {error}") from None


def _batches(body: bytes, kind: str, reading: Reading) -> Iterator[Batch]:
    layout = reading.layout
    if kind in LINES:
        if layout.in_columns:
            yield from JsonLinesBatches(io.BytesIO(body), reading)
        else:
            lines = JsonLinesReader(
                io.BytesIO(body), types=layout.types, form=reading.form, on_rejected=reading.on_rejected
            )
            yield from reading.batches(lines)
    elif kind in CSV:
        from tyrex.io.csvfile import CsvBatches

        yield from CsvBatches(io.BytesIO(body), reading)
    elif kind in ARROW:
        from tyrex.io.arrowfiles import ArrowBatches

        yield from ArrowBatches(body, reading)
    else:
        yield from _json(body, reading, is_array=kind in ARRAYS)


def _json(body: bytes, reading: Reading, *, is_array: bool) -> Iterator[Batch]:
    """One event, or an array of them."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise EventError(f"not UTF-8 at byte {error.start}: send the data in this encoding") from None
    if not is_array and not text.lstrip().startswith("["):
        text = f"[{text}]"
    reader = JsonArrayReader(
        "", types=reading.layout.types, form=reading.form, on_rejected=reading.on_rejected
    )
    given = reader.read(text)
    for event in given:
        try:
            conformed = reading.layout.conform(event)
        except EventError as error:
            reader.reject(str(error))
        else:
            yield reading.layout.batch([event if conformed is None else conformed])
