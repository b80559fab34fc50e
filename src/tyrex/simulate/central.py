"""One engine that gets all events: what a network is to detect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tyrex.engine import Engine
from tyrex.network.blocks import SEPARATOR, TIME
from tyrex.simulate.workload import Feed, Workload

if TYPE_CHECKING:
    import pyarrow as pa

    from tyrex.engine import Detections


@dataclass
class Central:
    """An engine with the rules of a workload, fed from all sources in the order that processors agree on."""

    workload: Workload
    numbers: Counter[str] = field(default_factory=Counter)
    """How many events each processor's sources have published before."""

    def __post_init__(self) -> None:
        self._engine = Engine(self.workload.parsed)

    def take(self, events: Iterable[tuple[Feed, pa.Table]], upto: int) -> Mapping[str, pa.Table]:
        """The events up to a time: gives them, and the composites that they make, by type."""
        tables = [self._named(feed, table) for feed, table in events]
        found: dict[str, list[pa.Table]] = {}
        for table in tables:
            found.setdefault(table.column("type")[0].as_py(), []).append(table)
        batches: list[Detections] = []
        if tables:
            batches.append(self._engine.send_batch(_ordered(tables)))
        batches.append(self._engine.advance((upto + 1) / 1_000_000))
        for batch in batches:
            for type_, table in batch.tables().items():
                found.setdefault(type_, []).append(table)
        return {type_: _joined(parts) for type_, parts in found.items()}

    def _named(self, feed: Feed, table: pa.Table) -> pa.Table:
        """The events with their type and the ids that their processor gives them."""
        import numpy as np
        import pyarrow as pa

        first = self.numbers[feed.processor] + 1
        self.numbers[feed.processor] += len(table)
        numbers = np.arange(first, first + len(table))
        columns: dict[str, Any] = {
            "type": pa.array([feed.type] * len(table)).dictionary_encode(),
            TIME: table.column(TIME).cast(pa.timestamp("us", "UTC")),
            "origin": pa.array([feed.processor] * len(table)),
            "number": pa.array(numbers),
            "id": pa.array([f"{feed.processor}/{number}" for number in numbers.tolist()]),
        }
        for name in table.column_names:
            if name != TIME:
                columns[name.removeprefix(SEPARATOR)] = table.column(name)
        return pa.table(columns)


def _ordered(tables: list[pa.Table]) -> pa.Table:
    import pyarrow as pa

    whole = pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
    order: Any = [(TIME, "ascending"), ("origin", "ascending"), ("number", "ascending")]
    return whole.sort_by(order).drop_columns(["origin", "number"])


def _joined(tables: list[pa.Table]) -> pa.Table:
    import pyarrow as pa

    return tables[0] if len(tables) == 1 else pa.concat_tables(tables)
