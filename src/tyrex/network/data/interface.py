"""What the control plane asks of the data plane: one task for each tree, then events in and events out.

The control plane decides who is whose child and what each is sent; it keeps the events of a processor's own sources,
puts the labels of several trees on shared events, and brings composites to sinks. The data plane does the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from tyrex.network.messages import Awaken, Group, Part, Retune, Tree
from tyrex.plan.partition import Mode, Site
from tyrex.tesla.types import EventType

if TYPE_CHECKING:
    from tyrex.network.blocks import Block


@dataclass(frozen=True, slots=True)
class Split:
    """How something that a processor has to detect was divided: a group of rules, or a part of its parent's.

    The data plane chooses the master among `parts` and changes it by what comes (`Retune`), if the strategy pulls.
    """

    group: Group | None
    """The group for which this processor is responsible, or None: then it is `part`."""
    part: int | None
    """The number of the part that the parent wants."""
    parts: Mapping[str, tuple[int, ...]]
    """For each child the numbers of those of its parts (in `Task.given`) that come of this."""
    sites: tuple[Site, ...] = ()
    """What it was divided over, if masters are chosen."""
    mode: Mode = Mode.EXACT


@dataclass(frozen=True, slots=True)
class Task:
    """What one processor does in one epoch of a tree."""

    tree: Tree
    name: str
    """The processor."""
    parent: str | None
    """None at the root."""
    children: tuple[str, ...]
    start: int
    """Composites with terminators behind this moment count; those up to it were an earlier epoch's."""
    horizon: int
    """Events from behind `start - horizon` are fed, by everybody."""
    types: Mapping[str, EventType]
    """All types that come from this part of the tree or are made in it."""
    groups: tuple[Group, ...]
    """The processor is responsible for these: it makes their composites."""
    parts: tuple[Part, ...]
    """What the parent wants. At the root: what sinks want of primitive events; it comes out as `Step.up`."""
    everything: frozenset[str]
    """Types of which the parent wants all events, in order and without a look at them."""
    given: Mapping[str, tuple[Part, ...]] = field(default_factory=dict)
    """What each child was sent, to know what it pushes and what it keeps."""
    splits: tuple[Split, ...] = ()
    adaptive: bool = False
    """Whether masters are changed as rates change."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a tree wants done."""

    up: tuple[Block, ...]
    """Events for the parent that it has not been sent in this epoch."""
    upto: int
    """Everything up to this time has been sent to the parent."""
    answered: int | None
    """The last `Awaken` from the parent that this, and what was sent before, answers, if it moved."""
    composites: tuple[Block, ...]
    """New composite events of all groups of `Task.groups`, with their ids, in the order of their time."""
    completed: int
    """The composites of the groups of this processor, and what its children sent, are complete up to here."""
    down: tuple[tuple[str, Awaken | Retune], ...]
    """Questions for children."""


class TreeData(Protocol):
    """The data plane of one epoch of one tree at one processor: made from a `Task`.

    Calls only take in; `step` does the work, once for all that came before. Nothing is called for a child or a tree
    that is gone: a change makes a new epoch, hence a new object.
    """

    def __init__(self, task: Task) -> None: ...

    def local(self, blocks: Sequence[Block], upto: int) -> None:
        """Take events of the processor's own sources; there will be no others up to this time.

        The first call brings those from behind `start - horizon` again. Blocks come in the order of time.
        """

    def received(self, child: str, blocks: Sequence[Block], upto: int | None, answered: int | None) -> None:
        """Take what a child sent for this tree; without `upto` its time has not moved."""

    def awakened(self, awaken: Awaken) -> None:
        """Take a question of the parent."""

    def retuned(self, retune: Retune) -> None:
        """Take from the parent which parts are pushed and which are kept from now on."""

    def step(self) -> Step:
        """Do what can be done with all that has come."""

    def counts(self) -> Mapping[str, int]:
        """What was dropped, kept, sent, detected, and what is held in histories and logs."""
