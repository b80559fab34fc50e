"""One processing tree as one processor sees it: how it is built, and who is where in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tyrex.network.messages import Advertise, Tree, TypeDeclared


@dataclass
class Place:
    """A processor's place in an epoch of a tree, and its tables."""

    tree: Tree
    parent: str | None
    """None at the root."""
    waiting: set[str] = field(default_factory=set)
    """Neighbours that have not said yet whether they are children."""
    children: list[str] = field(default_factory=list)
    advertised: dict[str, Advertise] = field(default_factory=dict)
    """The advertisement table: what comes from each child."""
    subscribed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The subscription table: what the sinks behind each child want."""
    wanted: tuple[str, ...] = ()
    """What the parent was told that sinks want, here and below."""
    announced: bool = False
    """Whether the tree stands, as far as this processor sees, and its parent was told."""
    delivered: dict[str, int] = field(default_factory=dict)
    """For each child with sinks behind it: up to which time they have got everything."""

    def ask(self, neighbours: Iterable[str]) -> None:
        """Neighbours were asked to be children."""
        self.waiting = set(neighbours)

    def answer(self, neighbour: str, *, child: bool) -> None:
        """A neighbour has said whether it is a child; a neighbour that is gone is none."""
        if neighbour in self.waiting:
            self.waiting.discard(neighbour)
            if child:
                self.children.append(neighbour)

    def adopt(self, children: Iterable[str]) -> None:
        """The children are known from the start, as the root has computed the tree."""
        self.children = sorted(children)

    @property
    def stands(self) -> bool:
        """Whether all of the tree that is below this processor stands."""
        return not self.waiting and all(child in self.advertised for child in self.children)

    def types_of(self, child: str) -> tuple[TypeDeclared, ...]:
        """What comes from a child."""
        message = self.advertised.get(child)
        return () if message is None else message.types


def combined(
    tables: Iterable[tuple[TypeDeclared, ...]],
) -> tuple[tuple[TypeDeclared, ...], list[TypeDeclared]]:
    """The types of several tables as one, by name; and those that disagree with an earlier one of their name."""
    found: dict[str, TypeDeclared] = {}
    others: list[TypeDeclared] = []
    for table in tables:
        for type_ in table:
            known = found.setdefault(type_.name, type_)
            if known != type_:
                others.append(type_)
    return tuple(found[name] for name in sorted(found)), others
