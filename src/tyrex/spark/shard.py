"""A shard of a stream: an engine, the events that wait for the watermark, and what is reported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from tyrex.engine import Detections, Engine
from tyrex.events import Event
from tyrex.events.time import FIRST_TIMESTAMP, LAST_TIMESTAMP
from tyrex.plan import CalendarTimer
from tyrex.spark.live import Change, Outcome, Step
from tyrex.spark.packing import MAIN, NEVER, UNKNOWN
from tyrex.spark.wire import ID, PROBLEM, SEQUENCE, TIME, TYPE
from tyrex.spark.worker import Task, as_text, events_table, read_rules, results_schema, results_table

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class Shard:
    """What a worker keeps of a shard; all of it can be made again from the shard's state."""

    task: Task
    number: int
    engine: Engine
    watermark: int = NEVER
    """Every event before it has been processed; a stream begins without one."""
    next_chunk: int = 0
    """How many chunks of arrived events it knows."""
    chunks: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Of each chunk in the state, its greatest time and its size."""
    held: list[pa.Table] = field(default_factory=list)
    """Events that the watermark has not passed."""
    begun: bool = False
    """Whether the engine knows when time began."""
    changes: int = 0
    """How often its rules have been changed."""

    @classmethod
    def new(cls, task: Task, number: int, snapshot: bytes | None = None) -> Shard:
        """A shard that has seen nothing, or what a snapshot has."""
        if snapshot is not None:
            return cls(task, number, Engine.restore(snapshot))
        rules = read_rules(task.parts[task.part_of_shard[number]])
        return cls(task, number, Engine(rules, time_zone=task.time_zone))

    def hold(self, number: int, rows: pa.Table, size: int) -> None:
        """Take the events of a chunk; those before the watermark have been processed before."""
        times = rows.column(TIME)
        greatest = _extreme(times, "max")
        self.chunks[number] = (greatest, size)
        self.next_chunk = number + 1
        if greatest >= self.watermark:
            self.held.append(rows.filter(_at_least(times, self.watermark)))

    def release(self, watermark: int, begin: int) -> list[Detections]:
        """Process the events that the watermark has passed, in order, and what is due before it."""
        if watermark <= self.watermark:
            return []
        self.watermark = watermark
        found = self._process(watermark, begin)
        found.append(self.engine.advance(_moment(watermark)))
        return found

    def finish(self, until: int, begin: int) -> list[Detections]:
        """Process all that waits, and what is due up to a moment: the input has ended."""
        found = self._process(UNKNOWN, begin)
        found.append(self.engine.flush(_moment(until) if until > NEVER else None))
        return found

    def _process(self, until: int, begin: int) -> list[Detections]:
        found = []
        if begin < until and not self.begun:
            self.begun = True
            found.append(self.engine.send_batch([Event("(tick)", begin, {})]))
        due = self._due(until)
        if due is not None:
            wire = self.task.wire
            found.append(self.engine.send_batch(events_table(wire, due), places=wire.places))
        return found

    def _due(self, until: int) -> pa.Table | None:
        """The events before a moment, in the order of a table's: by time, sequence and type."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self.held:
            return None
        rows = pa.concat_tables(self.held)
        later = _at_least(rows.column(TIME), until)
        rest, due = rows.filter(later), rows.filter(pc.invert(later))
        self.held = [rest] if len(rest) else []
        if len(due) == 0:
            return None
        # A table's nulls come first.
        first: Any = pa.scalar(-(2**63), pa.int64())
        sequence: Any = pc.fill_null(due.column(SEQUENCE), first)
        keys: Any = [(name, "ascending") for name in (TIME, SEQUENCE, TYPE)]
        given = due.select([TIME, TYPE]).append_column(SEQUENCE, sequence)
        order: Any = pc.sort_indices(given, sort_keys=keys)
        return due.take(order).combine_chunks()

    def change(self, steps: Iterable[Step]) -> None:
        """Change the rules, between the events before the watermark and those from it on."""
        part = self.task.part_of_shard[self.number]
        own = [step for step in steps if step.part == part]
        for step in own:
            getattr(self.engine, step.action)(step.what)
        self.changes += bool(own)

    @property
    def has_calendar(self) -> bool:
        """Whether the calendar evaluates some rule."""
        return any(isinstance(rule.plan.trigger, CalendarTimer) for rule in self.engine.rules)

    def wakes_at(self, begin: int) -> int | None:
        """The watermark, in milliseconds, at which there is something to do without new events."""
        times = [_extreme(table.column(TIME), "min") for table in self.held]
        if begin != UNKNOWN and (not self.task.live or self.has_calendar):
            times.append(max(begin, self.watermark))
        if self.engine.stats().open_deadlines:
            times.append(self.watermark)
        return min(times) // 1000 + 1 if times else None


# --- What comes in ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sorted:
    """Rows that have come, by what becomes of them."""

    good: pa.Table
    late: pa.Table
    bad: pa.Table


def sort_out(rows: pa.Table, watermark: int) -> Sorted:
    """Tell events from those that are late and those whose time is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    times = rows.column(TIME)
    first: Any = pa.scalar(FIRST_TIMESTAMP, pa.int64())
    last: Any = pa.scalar(LAST_TIMESTAMP, pa.int64())
    inside: Any = pc.and_(pc.greater_equal(times, first), pc.less_equal(times, last))
    valid: Any = pc.fill_null(inside, False)
    in_time: Any = pc.fill_null(_at_least(times, watermark), False)
    good = rows.filter(pc.and_(valid, in_time))
    return Sorted(
        good.drop_columns([PROBLEM]) if PROBLEM in rows.column_names else good,
        rows.filter(pc.and_not(valid, in_time)),
        rows.filter(pc.invert(valid)),
    )


# --- What comes out -----------------------------------------------------------------------------------------


def stream_schema(task: Task) -> pa.Schema:
    """The columns of a stream's results: those of a table's, and what is known of a rejected event."""
    import pyarrow as pa

    about = pa.struct(
        [pa.field("problem", pa.string()), pa.field("attributes", pa.map_(pa.string(), pa.string()))]
    )
    schema = results_schema(task.composites, lineage=task.lineage, open_ended=task.live)
    schema = schema.append(pa.field("rejected", about))
    return schema.append(pa.field("change", _change_type())) if task.live else schema


def _change_type() -> Any:
    import pyarrow as pa

    names = pa.list_(pa.string())
    lists = ("added", "replaced", "removed", "paused", "resumed")
    return pa.struct(
        [
            pa.field("file", pa.string()),
            pa.field("accepted", pa.bool_()),
            pa.field("problem", pa.string()),
            *(pa.field(name, names) for name in lists),
        ]
    )


def report(
    task: Task,
    found: list[Detections],
    rows: Sorted | None = None,
    outcomes: Sequence[tuple[Change, Outcome, int]] = (),
    before: Sorted | None = None,
) -> pa.Table | None:
    """Composite events, rejected ones and changes of rules as rows of the result; None if there are none."""
    import pyarrow as pa

    schema = stream_schema(task)
    tables = []
    for detections in found:
        if len(detections):
            table = results_table(detections, task.composites, lineage=task.lineage, open_ended=task.live)
            for name in ("rejected", "change") if task.live else ("rejected",):
                none: Any = pa.nulls(len(table), schema.field(name).type)
                table = table.append_column(schema.field(name), none)
            tables.append(table)
    for given in (before, rows):
        if given is None:
            continue
        for problem, group in (("late", given.late), ("no valid timestamp", given.bad)):
            rejected = _rejected(task, group, problem)
            if rejected:
                tables.append(pa.Table.from_pylist(rejected, schema=schema))
    if outcomes:
        tables.append(pa.Table.from_pylist([_told(*one) for one in outcomes], schema=schema))
    return pa.concat_tables(tables) if tables else None


def _told(change: Change, outcome: Outcome, moment: int) -> dict[str, Any]:
    """A change of rules as a row: its id is the same in every attempt."""
    content = repr((change.modified, change.file, change.text)).encode()
    return {
        "timestamp": moment if moment > NEVER else None,
        "id": blake2b(content, digest_size=16).hexdigest(),
        "change": {field.name: getattr(outcome, field.name) for field in fields(outcome)},
    }


def _rejected(task: Task, rows: pa.Table, problem: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for row in rows.to_pylist():
        if not row[MAIN]:
            continue
        if (told := row.get(PROBLEM)) is not None:
            found.append({"rejected": {"problem": told, "attributes": []}})
            continue
        type_ = task.wire.types[row[TYPE]]
        values = {name: row[slot] for name, slot in task.wire.places[type_.name].items()}
        time = row[TIME] if problem == "late" else None
        attributes = [(name, None if v is None else as_text(v)) for name, v in values.items()]
        found.append(
            {
                "type": type_.name,
                "timestamp": time,
                "id": row.get(ID),
                "rejected": {"problem": problem, "attributes": attributes},
            }
        )
    return found


def _at_least(times: Any, moment: int) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    least: Any = pa.scalar(moment, pa.int64())
    return pc.greater_equal(times, least)


def _extreme(times: Any, which: str) -> int:
    import pyarrow.compute as pc

    ends: Any = pc.min_max(times)
    found: int = ends[which].as_py()
    return found


def _moment(microseconds: int) -> Decimal:
    """Exact, as engines take seconds."""
    return Decimal(microseconds).scaleb(-6)
