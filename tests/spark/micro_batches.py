"""Micro-batches without Spark: the workers' code on rows, watermarks, timers and a state that the test holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import asdict
from typing import Any

import pandas as pd
import pyarrow as pa

from tyrex import Event, RuleSet
from tyrex.spark import wire as w
from tyrex.spark.live import Change
from tyrex.spark.packing import CHANGE, MAIN, from_bytes, pack
from tyrex.spark.planner import Split, plan_spark
from tyrex.spark.processor import Job, ShardProcessor
from tyrex.spark.rows import Layout
from tyrex.spark.rule_stream import RuleStream, ground_of, plan_live
from tyrex.spark.shard import report
from tyrex.spark.shard_state import Page, rebuild
from tyrex.spark.tasks import Options, task_of
from tyrex.tesla.types import TIMER, ValueType

ARROW = {
    ValueType.STRING: pa.string(),
    ValueType.INT: pa.int64(),
    ValueType.FLOAT: pa.float64(),
    ValueType.BOOL: pa.bool_(),
}


class Value:
    """A state of one value, in memory."""

    def __init__(self, held: dict[Any, Any]) -> None:
        self.held = held

    def get(self) -> Any:
        return self.held.get(())

    def update(self, newValue: Any) -> None:  # noqa: N803
        self.held[()] = newValue


class Map:
    """A state of values by keys, in memory."""

    def __init__(self, held: dict[Any, Any]) -> None:
        self.held = held

    def getValue(self, key: Any) -> Any:  # noqa: N802
        return self.held.get(key)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self.held[key] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802
        del self.held[key]

    def iterator(self) -> Iterator[tuple[Any, Any]]:
        return iter(list(self.held.items()))


class Handle:
    """What a processor gets from Spark, for one shard."""

    def __init__(self, state: dict[str, dict[Any, Any]]) -> None:
        self.state = state

    def getValueState(self, name: str, schema: str) -> Value:  # noqa: N802
        return Value(self.state.setdefault(name, {}))

    def getMapState(self, name: str, key: str, schema: str) -> Map:  # noqa: N802
        return Map(self.state.setdefault(name, {}))

    def registerTimer(self, at: int) -> None:  # noqa: N802
        self.state.setdefault("timers", {})[at] = True

    def deleteTimer(self, at: int) -> None:  # noqa: N802
        self.state["timers"].pop(at, None)


class Clock:
    """The watermark as Spark tells it."""

    def __init__(self, milliseconds: int) -> None:
        self.milliseconds = milliseconds

    def getCurrentWatermarkInMs(self) -> int:  # noqa: N802
        return self.milliseconds


class Query:
    """A stream of rules over micro-batches of events."""

    def __init__(
        self,
        rules: RuleSet,
        *,
        delay: int,
        shards: int = 2,
        zone: str = "UTC",
        has_ids: bool = False,
        live: RuleStream | None = None,
        brought: Sequence[str] = (),
        seam: int | None = None,
    ) -> None:
        self.plan = plan_spark(rules, streaming=True)
        if live is not None:
            self.plan = plan_live(rules, live, dict.fromkeys(brought or rules.types, Any))  # type: ignore[arg-type]
        self.ground = None if live is None else ground_of(rules, self.plan)
        self.layout = Layout(self.plan, shards)
        self.types = rules.types
        needed = {
            name: frozenset(a.name for a in rules.types[name].attributes)
            for name in self.plan.filters
            if name != TIMER.name
        }
        self.wire = w.lay_out(rules.types, needed, has_ids=has_ids)
        self.task = task_of(
            rules, self.plan, self.layout, self.wire, Options(shards, zone, live=live is not None)
        )
        self.seam = seam
        units = [self.plan.parts[part].unit for part in self.layout.part_of_shard]
        self.clocked = tuple(n for n, unit in enumerate(units) if unit.timers or seam is not None)
        self.calendar = frozenset(n for n, unit in enumerate(units) if unit.calendar)
        self.delay = delay
        self.state: dict[int, dict[str, dict[Any, Any]]] = {}
        self.greatest: int | None = None
        self.watermark = 0
        self.rows: list[Any] = []
        self.pasts: dict[int, list[pd.DataFrame]] = {}
        self.start("run")

    def start(self, run: str, smallest_log: int = 2_000) -> None:
        """Begin a run of the query over what state there is."""
        self.job = Job(self.task, run, "rules", self.calendar, smallest_log, self.ground, self.seam)

    def batch(
        self, events: Sequence[tuple[int, Event]], *, partitions: int = 2, changes: Sequence[Change] = ()
    ) -> list[Any]:
        """One micro-batch; the rows of its result."""
        if self.greatest is not None:
            self.watermark = max(self.watermark, self.greatest // 1000 - -(-self.delay // 1000))
        found = self.attempt(events, partitions=partitions, changes=changes)
        for _, event in events:
            self.greatest = max(event.timestamp, event.timestamp if self.greatest is None else self.greatest)
        self.rows.extend(found)
        return found

    def past(self, events: Sequence[tuple[int, Event]]) -> None:
        """The history; it comes with the first micro-batch."""
        for blob in pack([self._rows(events, ())], self.clocked):
            frame: pd.DataFrame = blob.to_pandas()
            for shard in sorted(set(frame["shard"])):
                own = frame[frame["shard"] == shard]
                self.pasts.setdefault(int(shard), []).append(own)

    def attempt(
        self, events: Sequence[tuple[int, Event]], *, partitions: int = 2, changes: Sequence[Change] = ()
    ) -> list[Any]:
        """What a micro-batch does to the state."""
        packed = [
            blob
            for part in range(partitions)
            for blob in pack(
                [self._rows(events[part::partitions], changes if part == 0 else ())], self.clocked
            )
        ]
        frames: dict[int, list[pd.DataFrame]] = {}
        for blob in packed:
            frame: pd.DataFrame = blob.to_pandas()
            for shard in set(frame["shard"]):
                frames.setdefault(int(shard), []).append(frame[frame["shard"] == shard])
        found: list[Any] = []
        clock = Clock(self.watermark)
        for shard in {**self.pasts, **frames}:
            own = frames.get(shard)
            processor = self._processor(shard)
            for one in self.pasts.get(shard, ()):
                processor.handleInitialState((shard,), one, clock)
            if own is None:
                continue
            results = processor.handleInputRows((shard,), iter(own), clock)
            found.extend(row for result in results for row in _unpacked(result))
        self.pasts = {}
        for shard in list(self.state):
            if any(at <= self.watermark for at in self.state[shard].get("timers", {})):
                results = self._processor(shard).handleExpiredTimer((shard,), clock, None)
                found.extend(row for result in results for row in _unpacked(result))
                for at in [at for at in self.state[shard]["timers"] if at <= self.watermark]:
                    del self.state[shard]["timers"][at]  # Spark forgets a timer that has fired
        return found

    def copy_state(self) -> dict[int, dict[str, dict[Any, Any]]]:
        """The state as a checkpoint has it."""
        return deepcopy(self.state)

    def finish(self, until: int | None = None) -> list[Any]:
        """Bring the stream to its end, from the state alone; all rows of all results."""
        for number, state in self.state.items():
            page = Page(*state["page"][()])
            pieces = b"".join(state["pieces"][(n,)][0] for n in range(page.pieces))
            chunks = [(key[0], value[0]) for key, value in state["chunks"].items()]
            shard = rebuild(self.task, number, page, pieces or None, chunks)
            end = page.greatest if until is None else max(until, page.greatest)
            results = report(self.task, shard.finish(end, page.begin))
            self.rows.extend([] if results is None else results.to_pylist())
        return self.rows

    def _processor(self, shard: int) -> ShardProcessor:
        processor = ShardProcessor(self.job)
        handle: Any = Handle(self.state.setdefault(shard, {}))
        processor.init(handle)
        return processor

    def _rows(self, events: Sequence[tuple[int, Event]], changes: Sequence[Change]) -> pa.RecordBatch:
        rows: list[dict[str, Any]] = [
            {w.SHARD: shard, MAIN: shard == 0, CHANGE: json.dumps(asdict(change))}
            for change in changes
            for shard in range(self.layout.count)
        ]
        for number, event in events:
            places = self._places(event) or [None]
            for at, shard in enumerate(places):
                slots = self.wire.places.get(event.type, {})
                row = {w.SHARD: shard, MAIN: at == 0, w.TIME: event.timestamp, w.SEQUENCE: number}
                if shard is not None:
                    row[w.TYPE] = self.wire.number(event.type)
                    row |= {slot: event.attributes.get(name) for name, slot in slots.items()}
                    row[w.ID] = event.id
                rows.append(row)
        fields: list[Any] = [
            (w.SHARD, pa.int32()),
            (MAIN, pa.bool_()),
            (w.TIME, pa.int64()),
            (w.TYPE, pa.int32()),
            (w.SEQUENCE, pa.int64()),
            *([(w.ID, pa.string())] if self.wire.has_ids else []),
            *((slot, ARROW[kind]) for slot, kind in self.wire.slots.items()),
            *([(CHANGE, pa.string())] if self.ground is not None else []),
        ]
        return pa.RecordBatch.from_pylist(rows, schema=pa.schema(fields))

    def _places(self, event: Event) -> list[Any]:
        found = []
        for number, part in enumerate(self.plan.parts):
            if event.type in part.unit.types and event.type in self.wire.places:
                first, width = self.layout.first[number], self.layout.width[number]
                key = (part.unit.key or {}).get(event.type)
                if part.split is Split.NONE:
                    found.append(first)
                elif key is None:
                    found.append(first + hash((event.timestamp, str(event.attributes))) % width)
                else:
                    found.append(first + hash(event.attributes.get(key.name)) % width)
        return found


def _unpacked(frame: pd.DataFrame) -> list[Any]:
    return [row for blob in frame["blob"] for row in from_bytes(blob).to_pylist()]


def answers(rows: Sequence[Any]) -> list[tuple[str, ...]]:
    """Composite events as `frames.expected` writes them."""
    return sorted(
        (row["type"], row["id"], row["rule"], repr(sorted(row[row["type"]].items())))
        for row in rows
        if row["rejected"] is None and row.get("change") is None
    )
