"""One epoch of one tree at one processor: its place, its task, and how far it has come."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tyrex.network.blocks import Block
from tyrex.network.control.filters import let_through
from tyrex.network.control.outbox import Outbox
from tyrex.network.control.tree import Place
from tyrex.network.data.interface import Task, TreeData
from tyrex.network.messages import BEGINNING, Composites, Deploy, Tree


@dataclass
class Branch:
    """What a processor holds of a tree."""

    place: Place
    keep_from: int | None = None
    """Own events behind this moment may be needed again; None if the tree has never asked for any."""
    task: Task | None = None
    data: TreeData | None = None
    deploys: dict[str, Deploy] = field(default_factory=dict)
    """What each child was asked for."""
    wishes: tuple[object, ...] = ()
    """At the root: the rules and subscriptions that it was deployed for."""
    announced: frozenset[str] = frozenset()
    """The types of own sources that the parent was told of; at the root, those that it was deployed for."""
    heard: bool = False
    """Whether it has brought events for the sinks of this processor."""
    waiting: list[Block] = field(default_factory=list)
    """Events for the parent."""
    upto: int = BEGINNING
    """Up to which time nothing more will come for the parent but those."""
    answered: int | None = None
    """The question of the parent that they answer, too."""
    told: int = BEGINNING
    """Up to which time the parent knows that it has everything; at the root, what is complete."""
    told_at: int | None = None
    passed: int = BEGINNING
    """At the root: up to which time the sinks below know that they have everything."""
    passed_at: int | None = None
    done: int = BEGINNING
    """Up to which time all sinks have everything, as it was last said to the parent, or by the root to all."""
    delivered_at: int | None = None

    @property
    def tree(self) -> Tree:
        """The tree and its epoch."""
        return self.place.tree

    def assign(self, task: Task, data: TreeData, deploys: dict[str, Deploy]) -> None:
        """The tree was deployed."""
        self.task, self.data, self.deploys = task, data, deploys
        self.keep(task.start)

    def keep(self, done: int) -> None:
        """No later epoch starts before this moment."""
        if self.task is not None:
            self.keep_from = max(BEGINNING, max(done, self.task.start) - self.task.horizon)

    def route(self, blocks: Iterable[Block], origin: str | None, upto: int | None, outbox: Outbox) -> None:
        """Send events to the parent, if they don't come from there, and to the children that want them."""
        given = tuple(block for block in blocks if len(block))
        parent = self.place.parent
        if given and parent is not None and origin != parent:
            outbox.send(parent, Composites(self.tree, given))
        for child, filters in self.place.subscribed.items():
            if child == origin or not filters:
                continue
            chosen = tuple(b for b in (let_through(block, filters) for block in given) if b is not None)
            if chosen or upto is not None:
                outbox.send(child, Composites(self.tree, chosen, upto))
