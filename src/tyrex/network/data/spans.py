"""Stretches of time in which events are asked for, of one type of one part, perhaps only with some values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tyrex.network.blocks import SEPARATOR
from tyrex.network.messages import Span

Key = tuple[Any, ...]
"""Values of some attributes, in the order of their names."""


class Spans:
    """What is asked for, by the attributes that must have some values, and by these values."""

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        self._asked: dict[tuple[str, ...], dict[Key, list[tuple[int, int]]]] = defaultdict(dict)
        self.add(spans)

    def __bool__(self) -> bool:
        return any(self._asked.values())

    def add(self, spans: Iterable[Span]) -> None:
        """Ask for more."""
        for span in spans:
            names = tuple(sorted(span.values))
            key = tuple(span.values[name] for name in names)
            by_value = self._asked[names]
            by_value[key] = union([*by_value.get(key, ()), (span.since, span.until)])

    def close(self, before: int) -> None:
        """Forget the stretches that ended before a moment."""
        for by_value in self._asked.values():
            for key in list(by_value):
                by_value[key] = [stretch for stretch in by_value[key] if stretch[1] >= before]
                if not by_value[key]:
                    del by_value[key]

    def hold(self, times: Any, table: pa.Table) -> Any:
        """Which of some events are asked for."""
        found = np.zeros(len(times), bool)
        for names, by_value in self._asked.items():
            if not by_value:
                continue
            if not names:
                found |= inside(times, by_value[()])
                continue
            least = min(stretches[0][0] for stretches in by_value.values())
            greatest = max(stretches[-1][1] for stretches in by_value.values())
            places = np.flatnonzero((times >= least) & (times <= greatest) & ~found)
            if not len(places):
                continue
            chosen: Any = pa.array(places)
            some = table.take(chosen)
            columns: list[list[Any]] = [some.column(SEPARATOR + name).to_pylist() for name in names]
            rows: dict[Key, list[int]] = defaultdict(list)
            for row, key in enumerate(zip(*columns, strict=True)):
                if key in by_value:  # equal as numbers are; null is none of the values
                    rows[key].append(row)
            for key, own in rows.items():
                at = places[own]
                found[at] |= inside(times[at], by_value[key])
        return found


def union(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stretches of time without overlaps, in order; both ends belong to them."""
    found: list[tuple[int, int]] = []
    for since, until in sorted(stretches):
        if found and since <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], until))
        else:
            found.append((since, until))
    return found


def inside(times: Any, stretches: Sequence[tuple[int, int]]) -> Any:
    """Which times are in stretches that are in order and do not overlap."""
    starts = np.array([since for since, _ in stretches], np.int64)
    ends = np.array([until for _, until in stretches], np.int64)
    which = np.searchsorted(starts, times, side="right") - 1
    return (which >= 0) & (times <= ends[which])


def around(times: Any, past: int, future: int) -> Iterator[tuple[int, int]]:
    """The stretches that events at these times open, without overlaps."""
    if not len(times):
        return
    ordered = np.sort(times)
    breaks = np.flatnonzero(ordered[1:] - ordered[:-1] > past + future)
    starts = ordered[np.concatenate(([0], breaks + 1))]
    ends = ordered[np.concatenate((breaks, [len(ordered) - 1]))]
    for since, until in zip(starts.tolist(), ends.tolist(), strict=True):
        yield since - past, until + future
