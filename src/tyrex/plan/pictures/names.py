"""Short names for the circles of a picture: T, W and S for Temp, Wind and Smoke."""

from __future__ import annotations

from collections.abc import Sequence

_SHORT = 4


def short_names(names: Sequence[str]) -> list[str]:
    """A short name for each: itself if short, else its beginning, as long as it takes to tell them apart."""
    found: list[str] = []
    for name in names:
        others = {other for other in names if other != name}
        short = name
        if len(name) > _SHORT:
            for length in range(1, len(name)):
                if not any(other.startswith(name[:length]) for other in others):
                    short = name[:length]
                    break
        found.append(short if len(short) <= _SHORT else f"{short[: _SHORT - 1]}…")
    if len(set(found)) < len(found):
        return [str(number) for number in range(len(names))]
    return found
