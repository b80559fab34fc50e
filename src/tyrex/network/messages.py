"""What processors say to each other. How each is used stands in docs/design/network.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from tyrex.events import LAST_TIMESTAMP
from tyrex.tesla.types import ValueType

if TYPE_CHECKING:
    from tyrex.network.blocks import Block


BEGINNING = -(2**63)
"""Before all time."""
END = LAST_TIMESTAMP
"""The end of all time."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A processing tree: its root, and which building of it this is."""

    root: str
    epoch: int


@dataclass(frozen=True, slots=True)
class TypeDeclared:
    """An event type that sources advertise."""

    name: str
    attributes: tuple[tuple[str, ValueType], ...]


# --- What every processor learns: flooded -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Links:
    """The state of a processor's links, the newest version counts; `delays` is in microseconds."""

    origin: str
    version: int
    weight: int
    """The smallest (weight, name) of a network is its leader."""
    delays: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Rules:
    """A set of rules that was defined at a processor, as TESLA text; an empty text takes it away."""

    origin: str
    name: str
    version: int
    text: str
    since: int = BEGINNING
    """The rules see only events behind this moment: the time of the processor when they were defined."""


# --- Trees ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CreateTree:
    """Be part of this tree, with the sender as the parent if it is the first to ask."""

    tree: Tree
    parents: tuple[tuple[str, str], ...] = ()
    """Who has which parent, of a tree that the root computed from link states: then nobody has to answer."""


@dataclass(frozen=True, slots=True)
class Ack:
    """The sender has taken the receiver as its parent."""

    tree: Tree


@dataclass(frozen=True, slots=True)
class Nack:
    """The sender has another parent."""

    tree: Tree


@dataclass(frozen=True, slots=True)
class Advertise:
    """The types that come from the sender's part of the tree; it stands."""

    tree: Tree
    types: tuple[TypeDeclared, ...]
    delivered: int | None = None
    """Up to which time every sink in the sender's part of the tree has got everything; None if there is none."""
    reached: int | None = None
    """The latest time that a processor in the sender's part of the tree has closed; None if there is none."""
    awaited: int | None = None
    """Since when sinks want something to which no tree has brought anything yet; None if there is none."""


@dataclass(frozen=True, slots=True)
class Subscribe:
    """What the sinks in the sender's part of the tree want, as TESLA subscriptions."""

    tree: Tree
    filters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Changed:
    """Something that this tree depends on has changed: its root is to begin a new epoch."""

    root: str
    epoch: int
    """The epoch that the sender knows."""
    why: str


class PartMode(StrEnum):
    """Whether the events of a part are sent when they match, or kept until they are asked for."""

    PUSH = "push"
    PULL = "pull"


@dataclass(frozen=True, slots=True)
class Part:
    """Partial rules that are sent or kept together."""

    number: int
    mode: PartMode
    partial_rules: tuple[str, ...]
    """As text; `tyrex.plan.partition` reads and writes it."""
    keep: int
    """For how long events are kept, of a part that is pulled: microseconds."""
    since: int = BEGINNING
    """Only events behind this moment count for these partial rules."""


@dataclass(frozen=True, slots=True)
class Group:
    """Rules that feed each other, or one rule: a single place makes all their composites."""

    rules: tuple[str, ...]
    """As TESLA text, each with its name, in deployment order."""
    since: tuple[int, ...]
    """For each rule: only events behind this moment count for it, as if it had been deployed then."""


@dataclass(frozen=True, slots=True)
class Deploy:
    """What a child has to detect in a tree: whole groups of rules, and parts of rules."""

    tree: Tree
    start: int
    horizon: int
    """How far before the start events still matter."""
    types: tuple[TypeDeclared, ...]
    groups: tuple[Group, ...]
    """Those that the child is responsible for."""
    parts: tuple[Part, ...]
    everything: tuple[str, ...] = ()
    """Types whose events are all sent, as a centralized deployment wants it."""


@dataclass(frozen=True, slots=True)
class Mode:
    """Whether a part is pushed or kept from now on, and for how long it is kept."""

    part: int
    mode: PartMode
    keep: int
    """Microseconds, counted from the parent's time."""


@dataclass(frozen=True, slots=True)
class Retune:
    """Parts whose mode changes. What was kept of a part that is pushed again is sent first."""

    tree: Tree
    reached: int
    """The parent's time."""
    modes: tuple[Mode, ...]


# --- Events -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Events:
    """Events on their way up, and up to which time the sender has sent everything, for each tree.

    A row belongs to the trees of its block. `answered` is the last `Awaken` of a tree that these events, and those
    before them, answer.
    """

    blocks: tuple[tuple[tuple[Tree, ...], Block], ...]
    upto: tuple[tuple[Tree, int], ...]
    answered: tuple[tuple[Tree, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Composites:
    """Events on their way to sinks: up to the root, and down to whoever subscribed.

    They are composite ones, and primitive ones that somebody subscribed to.
    """

    tree: Tree
    blocks: tuple[Block, ...]
    upto: int | None = None
    """On the way down: everything up to this time has been sent to the receiver."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """Up to which time every sink in the sender's part of the tree has got everything."""

    tree: Tree
    upto: int


@dataclass(frozen=True, slots=True)
class Span:
    """Events of a part that are asked for: those of a type from `since` to `until`, with these values of attributes."""

    part: int
    type: str
    since: int
    until: int
    values: Mapping[str, str | int | float | bool] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Awaken:
    """Ask for events of parts that are pulled, those that are kept and those that are to come.

    The child answers by `answered` in its next `Events`: what it says of its time from then on counts these spans in.
    Without spans the question only tells the parent's time.
    """

    tree: Tree
    number: int
    reached: int
    """The parent's time: what was kept for longer than is asked for can go."""
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """All sinks have got everything up to this time: no later epoch of the root starts before it.

    With the end of time the tree itself is no longer needed.
    """

    tree: Tree
    upto: int


Message = (
    Links
    | Rules
    | CreateTree
    | Ack
    | Nack
    | Advertise
    | Subscribe
    | Changed
    | Deploy
    | Retune
    | Events
    | Composites
    | Delivered
    | Awaken
    | Done
)
