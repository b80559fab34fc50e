"""Short names for the circles of a picture: T, W and S for Temp, Wind and Smoke."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_SHORT = 2


def short_names(names: Sequence[str]) -> list[str]:
    """A short name for each, all different: itself if it is short, else its initial or a little more."""
    found = [name if len(name) <= _SHORT else "" for name in names]
    for place, name in enumerate(names):
        if not found[place]:
            found[place] = next(short for short in _candidates(name) if short not in found)
    return found


def _candidates(name: str) -> Iterator[str]:
    yield name[0]
    capitals = "".join(c for before, c in zip(" " + name, name, strict=False) if c.isupper() or before == "_")
    if 1 < len(capitals) <= _SHORT + 1:
        yield capitals
    yield name[:2]
    yield name[:3]
    number = 2
    while True:
        yield f"{name[0]}{number}"
        number += 1
