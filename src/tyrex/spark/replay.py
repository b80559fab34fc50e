"""Event files replayed as a stream of Spark: at their own speed, accelerated, or as fast as possible.

    spark.dataSource.register(TyrexReplay)
    events = spark.readStream.format("tyrex-replay").option("rules", "fire.tesla").option("speed", 60).load("events/")

The files are read where the query is driven, and their rows travel to the workers from there: so no other machine has
to see them. `spark.read` gives the same rows as a table.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from tyrex.events import EventError
from tyrex.io import Layout, find_input
from tyrex.rules import RuleSet, load, parse
from tyrex.spark.sources import SourceError
from tyrex.spark.tape import Pace, Position, Tape, schema_of
from tyrex.tesla.diagnostics import did_you_mean
from tyrex.tesla.types import TIMER, TIMESTAMP

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadLimit
    from pyspark.sql.types import StructType

    class SupportsTriggerAvailableNow:
        """As Spark has it since 4.2."""

else:
    try:
        from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
    except ImportError:  # Spark 4.1, which can only read the replay as a table

        class SupportsTriggerAvailableNow:
            """Spark has it since 4.2."""


FORMAT = "tyrex-replay"
FASTEST = "fastest"
MOST = 100_000
"""Events of a micro-batch, if nothing else is said."""
OPTIONS = ("path", "paths", "rules", "types", "timestamp", "speed", "maxEventsPerTrigger", "strict")
_ROWS_OF_TASK = 8_192
"""So many rows go to a worker as one task: Spark warns of tasks larger than a megabyte."""


class TyrexReplay(DataSource):
    """Replays files of events, of every format that `tyrex run` reads.

    Its columns are `type`, `timestamp`, `id`, `sequence` (the number of the event), one for each attribute, and
    `rejected`: null for events; data that is no event is a row with nothing but its place, the reason and its text.
    """

    @classmethod
    def name(cls) -> str:
        """What `format` calls it."""
        return FORMAT

    def schema(self) -> str:
        """The columns, which the rules tell."""
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(schema_of(_settings(self.options).layout)).simpleString()

    def reader(self, schema: StructType) -> DataSourceReader:
        """For `spark.read`."""
        return _TableReader(self._checked(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """For `spark.readStream`."""
        return ReplayReader(self._checked(schema))

    def _checked(self, schema: StructType) -> Settings:
        settings = _settings(self.options)
        wanted = schema_of(settings.layout).names
        if schema.fieldNames() != wanted:
            raise SourceError(
                f"a replay has the columns {', '.join(wanted)}, which its rules tell: leave out `.schema(..)`"
            )
        return settings


@dataclass(frozen=True)
class Settings:
    """A replay as its options say it."""

    words: tuple[str, ...]
    """The inputs, as `tyrex run` names them."""
    layout: Layout
    only: frozenset[str] | None
    timestamp: str
    speed: float | None
    most: int
    strict: bool

    def tape(self) -> Tape:
        """The files, at their beginning."""
        inputs = [find_input(word, self.layout, timestamp=self.timestamp) for word in self.words]
        if any(not one.paths for one in inputs):
            raise SourceError("the standard input can't be replayed, as it can be read only once: give files")
        return Tape(inputs, self.layout, self.only)

    def checked(self, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows; of a strict replay only as long as none is rejected."""
        for batch in rows:
            bad: Any = batch.column(batch.num_columns - 1).drop_null()[:1].to_pylist() if self.strict else []
            if bad:
                raise EventError(f"{bad[0]['source']}: {bad[0]['line']}: {bad[0]['reason']}")
            yield batch


class _TableReader(DataSourceReader):
    """The whole replay as a table: one task reads it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """All rows."""
        return self._settings.checked(self._settings.tape().all_rows())


class _Rows(InputPartition):
    """Rows on their way to a worker."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(
            sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")
        ) as writer:
            writer.write_batch(batch)
        super().__init__(sink.getvalue().to_pybytes())


class ReplayReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The replay as a stream, whose offsets are positions of its tape.

    Time goes by at the speed of the replay while the query runs. A query that is restarted goes on at the time to
    which it had come.
    """

    def __init__(self, settings: Settings, clock: Callable[[], int] | None = None) -> None:
        self._settings = settings
        self._clock = clock or _now
        self._tape: Tape | None = None
        self._pace: Pace | None = None
        self._all_now = False

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """The beginning."""
        return Position().record()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """`maxEventsPerTrigger`."""
        from pyspark.sql.streaming.datasource import ReadMaxRows

        return ReadMaxRows(self._settings.most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """What is there now is all that the files hold, however slowly it was to come."""
        self._all_now = True

    def latestOffset(  # noqa: N802
        self, start: Mapping[str, int] | None = None, limit: ReadLimit | None = None
    ) -> dict[str, int]:
        """Where the events end whose time has come."""
        if start is None:
            raise SourceError(
                "Spark before 4.2 does not tell a source where a query was: replay as a table, with spark.read, "
                "or install a newer one"
            )
        most = getattr(limit, "max_rows", None)
        return self._opened().reach(Position.of(start), self._due(Position.of(start)), most).record()

    def partitions(self, start: Mapping[str, int], end: Mapping[str, int]) -> Sequence[InputPartition]:
        """The rows of a micro-batch, in tasks."""
        if start == end:
            return []
        rows = self._settings.checked(self._opened().rows(Position.of(start), Position.of(end)))
        return [
            _Rows(batch.slice(at, _ROWS_OF_TASK))
            for batch in rows
            for at in range(0, len(batch), _ROWS_OF_TASK)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a task."""
        with pa.ipc.open_stream(partition.value) as stream:
            yield from stream

    def commit(self, end: Mapping[str, int]) -> None:
        """Rows before this are not needed any more."""
        if self._tape is not None:
            self._tape.forget(Position.of(end))

    def _opened(self) -> Tape:
        if self._tape is None:
            self._tape = self._settings.tape()
        return self._tape

    def _due(self, start: Position) -> int | None:
        speed = self._settings.speed
        if speed is None or self._all_now:
            return None
        if self._pace is None:
            at = start.at if start.at is not None else self._opened().first()
            if at is None:
                return None
            self._pace = Pace(speed, self._clock(), at)
        return self._pace.due(self._clock())


# --- Options ------------------------------------------------------------------------------------------------


def _now() -> int:
    return time.monotonic_ns() // 1000


def _settings(options: Mapping[str, str]) -> Settings:
    known = {name.lower() for name in OPTIONS}
    for name in options:
        if name.lower() not in known:
            near = did_you_mean(name, OPTIONS)
            raise SourceError(f"a replay has no option `{name}`: " + (near or f"it has {', '.join(OPTIONS)}"))
    if "rules" not in options:
        raise SourceError(
            'a replay needs to know the types of events: give .option("rules", ..), text or a file'
        )
    rules = _rules(options["rules"])
    types = {name: type_ for name, type_ in rules.types.items() if name != TIMER.name}
    only = None
    if (listed := options.get("types")) is not None:
        only = frozenset(name.strip() for name in listed.split(","))
        for name in sorted(only - set(types)):
            raise SourceError(f"the rules know no event type `{name}`; they know {', '.join(types)}")
        types = {name: type_ for name, type_ in types.items() if name in only}
    layout = Layout(types)
    return Settings(
        _words(options),
        layout,
        only,
        options.get("timestamp", TIMESTAMP),
        _speed(options.get("speed", "1")),
        _count(options.get("maxEventsPerTrigger", str(MOST))),
        options.get("strict", "false").lower() == "true",
    )


def _words(options: Mapping[str, str]) -> tuple[str, ...]:
    """One input, or those that `load` was given in a list."""
    if "paths" in options:
        return tuple(json.loads(options["paths"]))
    if "path" not in options:
        raise SourceError("a replay needs files of events: give them to .load(..)")
    return (options["path"],)


def _rules(given: str) -> RuleSet:
    """Rules as text or in a file; a text has spaces, and stands in no folder."""
    if any(space in given.strip() for space in " \n") and not Path(given).exists():
        return parse(given)
    return load(given)


def _speed(given: str) -> float | None:
    if given == FASTEST:
        return None
    try:
        speed = float(given)
    except ValueError:
        speed = 0
    if not 0 < speed < float("inf"):
        raise SourceError(f"speed `{given}` is none: give a number above 0, such as 60, or `{FASTEST}`")
    return speed


def _count(given: str) -> int:
    if not given.isdecimal() or int(given) < 1:
        raise SourceError(
            f"maxEventsPerTrigger `{given}` is no number of events: give a whole number above 0"
        )
    return int(given)
