"""Rates and contents of events, measured from a file of real ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from tyrex.events import Event
from tyrex.io import Layout, Rejected, find_input, open_input
from tyrex.rules import RuleSet
from tyrex.tesla.durations import SECOND

if TYPE_CHECKING:
    import pyarrow as pa


class SampleError(ValueError):
    """A sample from which no rates can be measured: says what was found and what to do."""


@dataclass(frozen=True)
class Sample:
    """What was measured."""

    rates: Mapping[str, float]
    """For each type, events in a second."""
    rows: Mapping[str, pa.Table]
    """For each type, the attributes of its events."""
    seconds: float
    rejected: int
    """Lines that are no event."""


def measure_sample(word: str, rules: RuleSet) -> Sample:
    """The events of a file, named as for `tyrex run`; EventError or OSError if it can't be read."""
    import pyarrow as pa

    layout = Layout(rules.types, columns=False)
    rejected: list[Rejected] = []
    reader = open_input(find_input(word, layout), layout, lambda _: rejected.append)
    rows: dict[str, list[Mapping[str, Any]]] = {}
    times: list[int] = []
    for batch in reader:
        for event in cast(Sequence[Event], batch):
            times.append(event.timestamp)
            rows.setdefault(event.type, []).append(event.attributes)
    if not times or max(times) == min(times):
        raise SampleError(f"{word} has {len(times)} events at one time: give a sample over some time")
    seconds = (max(times) - min(times)) / SECOND
    known = {name: found for name, found in rows.items() if name in rules.types}
    tables = {
        name: pa.table(
            {a.name: pa.array([row.get(a.name) for row in found]) for a in rules.types[name].attributes}
        )
        for name, found in known.items()
        if rules.types[name].attributes
    }
    rates = {name: len(found) / seconds for name, found in known.items()}
    return Sample(rates, tables, seconds, len(rejected))
