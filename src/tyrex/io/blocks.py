"""Text in blocks of whole lines: what fast readers work on, without holding a file as a whole."""

from __future__ import annotations

import gzip
import io
import select
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from tyrex.events import EventError
from tyrex.io.jsonlines import DAMAGED

BLOCK_BYTES = 1 << 22
LONGEST_LINE = 1 << 26
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of a text, each with its line break, but perhaps the last of the text."""

    data: bytes
    first_line: int
    """The number of its first line in the text."""
    line_count: int

    @property
    def lines(self) -> list[bytes]:
        """Its lines, with their line breaks."""
        return self.data.splitlines(keepends=True) if b"\r" not in self.data else _lines(self.data)


def blocks(stream: IO[bytes], name: str, *, size: int = BLOCK_BYTES) -> Iterator[Block]:
    """The lines of a stream in blocks of about this size; a longer line is a block of its own.

    A pipe or a terminal gives what it has as soon as it has it, so that a live stream is not kept waiting.
    EventError where a compressed stream is damaged, after the lines before that.
    """
    number = 1
    rest = b""
    chunks = _chunks(stream, size)
    while True:
        try:
            data = next(chunks, None)
        except DAMAGED as error:
            raise EventError(
                f"{name} is damaged after line {number - 1}: {error}; get it once more"
            ) from None
        if data is None:
            break
        end = data.rfind(b"\n") + 1
        if not end:
            if len(rest) > LONGEST_LINE:
                raise EventError(
                    f"{name}: line {number} is longer than {LONGEST_LINE >> 20} MiB: is this text?"
                )
            rest += data
            continue
        whole = rest + data[:end]
        rest = data[end:]
        count = whole.count(b"\n")
        yield Block(whole, number, count)
        number += count
    if rest:
        yield Block(rest, number, 1)


def _chunks(stream: IO[bytes], size: int) -> Iterator[bytes]:
    """The bytes of a stream, without a byte order mark, in pieces of up to this size."""
    pieces = _pieces(stream, size)
    first = next(pieces, b"").removeprefix(_BYTE_ORDER_MARK)
    if first:
        yield first
    yield from pieces


def _pieces(stream: IO[bytes], size: int) -> Iterator[bytes]:
    if isinstance(stream, gzip.GzipFile):
        yield from _intact(stream, size)
    elif isinstance(stream, io.BufferedReader) and not stream.seekable():
        yield from _as_it_comes(stream, size)
    else:
        while data := stream.read(size):
            yield data


def _intact(stream: gzip.GzipFile, size: int) -> Iterator[bytes]:
    """Large pieces; where the stream is damaged, first what could be read before that."""
    data = bytearray()
    try:
        while piece := stream.read1(size):
            data += piece
            if len(data) >= size:
                yield bytes(data)
                data.clear()
    except DAMAGED:
        yield bytes(data)
        raise
    if data:
        yield bytes(data)


def _as_it_comes(stream: io.BufferedReader, size: int) -> Iterator[bytes]:
    """What a pipe or a terminal has, as soon as it has something."""
    while data := stream.read1(size):
        while len(data) < size and select.select([stream], [], [], 0)[0]:
            more = stream.read1(size - len(data))
            if not more:
                break
            data += more
        yield data


def _lines(data: bytes) -> list[bytes]:
    """The lines of a text in which a carriage return alone ends none."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def position_in(stream: IO[bytes]) -> int:
    """How many bytes of the file behind a stream were read, compressed as they are."""
    file: IO[bytes] = getattr(stream, "fileobj", None) or stream
    return file.tell() if file.seekable() else 0
