"""What a processor wants done: the transport sends, delivers and reports."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from tyrex.network.messages import Message

if TYPE_CHECKING:
    from tyrex.network.blocks import Block


@dataclass(frozen=True, slots=True)
class Send:
    """A message for a neighbour."""

    to: str
    message: Message


@dataclass(frozen=True, slots=True)
class Deliver:
    """Events that a client subscribed to: composite ones, or primitive ones, of one type."""

    client: str
    subscription: int
    block: Block


class Kind(StrEnum):
    """What a note is about."""

    REFUSED = "refused"
    """A client asked for something that can't be done."""
    LATE = "late"
    """Events came later than the source's delay allows: they were not processed."""
    LOST = "lost"
    """Events or state are gone, since a processor or a link is."""
    NOTICED = "noticed"
    """A neighbour came or went, an epoch began."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a person or a log should know."""

    kind: Kind
    text: str
    client: str | None = None
    events: int = 0


Output = Send | Deliver | Note
