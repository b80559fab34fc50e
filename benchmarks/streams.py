"""The streams that every engine is measured on: exact, so that all of them see the same events.

All numbers come from one generator, all arithmetic is that of integers. A stream begins with events that fill
the windows; they count for no figure.
"""

from __future__ import annotations

import importlib
import itertools
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SEED = 42
START = 1_000_000
"""Milliseconds: when every stream begins."""
WINDOW = 300_000
"""Milliseconds: the window of the rules about fire."""
PAIRS = 10
"""Temp1 and Smoke1 to Temp10 and Smoke10."""
VALUES = 100
FILTERS = 1_000
SYNTHETIC_RULES = 1_000
SYNTHETIC_KINDS = 100
SYNTHETIC_FILL = 16_000
"""Milliseconds: the longest window of a synthetic rule."""
AREA = "A1"

ABSENT = -1
"""Stands for an attribute that the event's type does not have; no value is negative."""


class Numbers:
    """The linear congruential generator of Knuth's MMIX, of which the upper half is used."""

    def __init__(self, seed: int = SEED) -> None:
        self._state = seed

    def __call__(self, below: int) -> int:
        """The next number from 0 up to, but without, `below`."""
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) & 0xFFFF_FFFF_FFFF_FFFF
        return (self._state >> 33) % below


@dataclass(frozen=True, slots=True)
class Column:
    """The values of an attribute, one for each event of the stream."""

    name: str
    values: array[int]
    labels: tuple[str, ...] = ()
    """If there are any, the attribute is a text and `values` are positions in here."""

    def cells(self) -> Iterator[str]:
        """The values as they stand in a CSV file."""
        texts = {ABSENT: ""} | dict(enumerate(self.labels))
        return (
            texts[value] if self.labels or value == ABSENT else str(value)  # a label, nothing, or a number
            for value in self.values
        )


@dataclass(frozen=True, slots=True)
class Stream:
    """Events in order of time, as columns."""

    types: Column
    timestamps: array[int]
    """Milliseconds."""
    attributes: tuple[Column, ...]
    fill: int
    """So many events at the beginning only fill the windows."""

    def __len__(self) -> int:
        """How many events there are, those that fill the windows among them."""
        return len(self.timestamps)

    def write_csv(self, path: Path) -> None:
        """Write the file that the peers read: a header, then type, timestamp in ms, and the attributes."""
        columns = [self.types.cells(), map(str, self.timestamps), *(each.cells() for each in self.attributes)]
        names = ["type", "timestamp", *(each.name for each in self.attributes)]
        with path.open("w", encoding="ascii") as file:
            file.writelines(
                ",".join(cells) + "\n" for cells in itertools.chain([names], zip(*columns, strict=True))
            )

    def events(self) -> Iterator[dict[str, Any]]:
        """The events as dicts with `type`, `timestamp` in microseconds, and the attributes that they have."""
        columns = [
            [column.labels[value] if column.labels else value for value in column.values]
            if column.labels
            else column.values
            for column in self.attributes
        ]
        for index, (type_, timestamp) in enumerate(zip(self.types.values, self.timestamps, strict=True)):
            event: dict[str, Any] = {"type": self.types.labels[type_], "timestamp": timestamp * 1000}
            for column, values in zip(self.attributes, columns, strict=True):
                if values[index] != ABSENT:
                    event[column.name] = values[index]
            yield event

    def to_arrow(self) -> Any:
        """A pyarrow table with `type`, `timestamp` (microseconds, UTC) and the attributes, null where absent."""
        pa: Any = importlib.import_module("pyarrow")
        pc: Any = importlib.import_module("pyarrow.compute")

        def integers(values: array[int]) -> Any:
            whole = pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])
            return pc.if_else(pc.equal(whole, ABSENT), pa.scalar(None, pa.int64()), whole)

        def column(source: Column) -> Any:
            numbers = integers(source.values)
            if not source.labels:
                return numbers
            return pa.DictionaryArray.from_arrays(numbers.cast(pa.int32()), pa.array(source.labels))

        microseconds = pc.multiply(integers(self.timestamps), 1000).cast(pa.timestamp("us", tz="UTC"))
        return pa.table(
            {"type": column(self.types), "timestamp": microseconds}
            | {each.name: column(each) for each in self.attributes}
        )


def fire(window_events: int, percent_smoke: int, events: int) -> Stream:
    """Temperatures and smoke of ten pairs of types; about so many events of each Temp type lie in a window."""
    random = Numbers()
    types, timestamps, values = array("q"), array("q"), array("q")
    step = WINDOW // window_events // 10
    timestamp = START - step
    for _ in range(window_events * 10):
        timestamp += step
        types.append(random(PAIRS))
        timestamps.append(timestamp)
        values.append(random(VALUES) + 1)
    step = step * (100 - percent_smoke) // 100
    for _ in range(events):
        type_ = random(PAIRS)
        timestamp += step
        smoke = random(100) < percent_smoke
        types.append(type_ + PAIRS if smoke else type_)
        timestamps.append(timestamp)
        values.append(ABSENT if smoke else random(VALUES) + 1)
    names = tuple(f"{kind}{pair + 1}" for kind in ("Temp", "Smoke") for pair in range(PAIRS))
    return Stream(
        types=Column("type", types, names),
        timestamps=timestamps,
        attributes=(Column("area", array("q", bytes(8 * len(types))), (AREA,)), Column("value", values)),
        fill=window_events * 10,
    )


def filters(events: int) -> Stream:
    """Events of one type whose value is met by one rule, a millisecond apart."""
    random = Numbers()
    return Stream(
        types=Column("type", array("q", bytes(8 * events)), ("Reading",)),
        timestamps=array("q", range(START, START + events)),
        attributes=(Column("value", array("q", (random(FILTERS) + 1 for _ in range(events)))),),
        fill=0,
    )


def synthetic_windows(random: Numbers | None = None) -> list[int]:
    """The window of each synthetic rule, in milliseconds; they are drawn before the stream's events."""
    random = random or Numbers()
    return [14_000 + random(2_000) for _ in range(SYNTHETIC_RULES)]


def synthetic(step: int, events: int) -> Stream:
    """Events of one type, so many milliseconds apart, of which each concerns one rule in a hundred."""
    random = Numbers()
    synthetic_windows(random)
    fill = SYNTHETIC_FILL // step
    kinds, states = array("q"), array("q")
    for _ in range(fill + events):
        kinds.append(random(SYNTHETIC_KINDS) + 1)
        states.append(random(2))
    return Stream(
        types=Column("type", array("q", bytes(8 * len(kinds))), ("Step",)),
        timestamps=array("q", range(START, START + step * len(kinds), step)),
        attributes=(Column("kind", kinds), Column("state", states)),
        fill=fill,
    )


def keyed(keys: int, percent_smoke: int, events: int) -> Stream:
    """Temperatures and smoke in many areas, a millisecond apart: for engines that divide a stream by a key."""
    random = Numbers()
    types, areas, values = array("q"), array("q"), array("q")
    for _ in range(events):
        smoke = random(100) < percent_smoke
        types.append(int(smoke))
        areas.append(random(keys))
        values.append(ABSENT if smoke else random(VALUES) + 1)
    return Stream(
        types=Column("type", types, ("Temp", "Smoke")),
        timestamps=array("q", range(START, START + events)),
        attributes=(
            Column("area", areas, tuple(f"area{key}" for key in range(keys))),
            Column("value", values),
        ),
        fill=0,
    )
