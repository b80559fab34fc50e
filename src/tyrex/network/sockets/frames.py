"""Frames: how messages stand in a stream of bytes. A length of four bytes, then that many bytes of msgpack."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import msgpack

VERSION = 1
"""Of what brokers and clients say to each other; both ends must have the same."""
LARGEST = 64 << 20
"""A frame has no more bytes than that, unless the settings say otherwise."""
GREETING = 4096
"""The first frames of a stranger are small: nobody makes us keep megabytes without having said who they are."""
_LENGTH = struct.Struct(">I")


class WireError(Exception):
    """What came over the wire is not what it should be: the connection is closed, with this as the reason."""


class FrameReader:
    """Takes bytes as they come and gives whole frames."""

    def __init__(self, limit: int = LARGEST) -> None:
        self.limit = limit
        self._waiting = bytearray()

    @property
    def waiting(self) -> int:
        """How many bytes of an unfinished frame are there."""
        return len(self._waiting)

    def feed(self, data: bytes) -> Iterator[Any]:
        """The contents of the frames that these bytes complete."""
        self._waiting += data
        while len(self._waiting) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._waiting)
            if length > self.limit:
                raise WireError(f"a frame of {length:,} bytes was announced; {self.limit:,} are allowed")
            end = _LENGTH.size + length
            if len(self._waiting) < end:
                return
            payload = bytes(memoryview(self._waiting)[_LENGTH.size : end])
            del self._waiting[:end]
            yield unpacked(payload)


def unpacked(payload: bytes) -> Any:
    """The content of a frame."""
    try:
        return msgpack.unpackb(payload)
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
        raise WireError(f"a frame is no msgpack: {str(error) or type(error).__name__}") from None


def frame(content: Any) -> bytes:
    """A frame with this content."""
    payload: bytes = msgpack.packb(content)
    return _LENGTH.pack(len(payload)) + payload
