"""The ids that were seen, so that what a producer sends twice counts once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class Seen:
    """The latest ids by source: of so many, at least the later half is known.

    They stand in two generations: when the new one is full, the old one is forgotten. So a lookup is cheap, and what is
    known depends only on the order in which ids came, not on when.
    """

    def __init__(self, capacity: int) -> None:
        """Know up to so many ids."""
        self._half = max(1, capacity // 2)
        self._old: dict[str, set[str]] = {}
        self._new: dict[str, set[str]] = {}
        self._count = 0

    def has(self, source: str, id_: str) -> bool:
        """Whether a source has sent this id."""
        return id_ in self._new.get(source, ()) or id_ in self._old.get(source, ())

    def add(self, source: str, id_: str) -> None:
        """Remember an id."""
        known = self._new.setdefault(source, set())
        before = len(known)
        known.add(id_)
        self._count += len(known) - before
        if self._count >= self._half:
            self._old, self._new, self._count = self._new, {}, 0

    def to_json(self) -> list[dict[str, list[str]]]:
        """All that is known, for a snapshot."""
        return [
            {source: sorted(ids) for source, ids in generation.items()}
            for generation in (self._old, self._new)
        ]

    @classmethod
    def from_json(cls, capacity: int, data: Sequence[Mapping[str, list[str]]]) -> Seen:
        """What `to_json` gave."""
        seen = cls(capacity)
        seen._old, seen._new = ({source: set(ids) for source, ids in g.items()} for g in data)
        seen._count = sum(map(len, seen._new.values()))
        return seen
