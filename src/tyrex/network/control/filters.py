"""Which events of a block a subscription lets through."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from tyrex.network.blocks import ID, NUMBER, ORIGIN, SEPARATOR, TIME, Block
from tyrex.tesla import CheckedSubscription, EventType, Source, check_subscription
from tyrex.tesla.evaluate import holds
from tyrex.tesla.expressions import Aggregate, Precedes
from tyrex.tesla.parser import parse_subscription_text
from tyrex.tesla.types import TIMESTAMP, AttributeType, ValueType
from tyrex.tesla.values import Tally, Value

_TYPES = {
    "string": ValueType.STRING,
    "int64": ValueType.INT,
    "double": ValueType.FLOAT,
    "bool": ValueType.BOOL,
}


@lru_cache(maxsize=4096)
def type_wanted(text: str) -> str:
    """The event type that a subscription asks for; `TeslaError` if it is none."""
    return parse_subscription_text(Source(text, "<subscription>")).type.text


@lru_cache(maxsize=4096)
def read_filter(text: str, type_: EventType) -> CheckedSubscription:
    """The subscription, checked for events of this type; `TeslaError` if it doesn't fit them."""
    return check_subscription(text, {type_.name: type_})


def type_of_block(block: Block) -> EventType:
    """The event type of a block, from its columns."""
    own = (TIME, ORIGIN, NUMBER, ID)
    fields = [field for field in block.table.schema if field.name not in own]
    return EventType(
        block.type,
        tuple(AttributeType(field.name[len(SEPARATOR) :], _TYPES[str(field.type)]) for field in fields),
    )


def let_through(block: Block, filters: Iterable[str]) -> Block | None:
    """The events that some of these subscriptions let through; None if there are none."""
    import numpy as np

    wanted: Any = None
    for text in filters:
        if type_wanted(text) != block.type:
            continue
        conditions = read_filter(text, type_of_block(block)).conditions
        if not conditions:
            return block
        scope = _Row(block)
        tally = Tally()
        found = np.zeros(len(block), bool)
        for row in range(len(block)):
            scope.row = row
            found[row] = all(holds(condition, scope, tally) for condition in conditions)
        wanted = found if wanted is None else wanted | found
    if wanted is None or not wanted.any():
        return None
    return block if wanted.all() else block.take(wanted)


class _Row:
    """A row of a block, as what a condition speaks of."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._columns: dict[str, list[Any]] = {}
        self.row = 0

    def attribute(self, event: int, name: str) -> Value:
        """The value of an attribute."""
        column = self._columns.get(name)
        if column is None:
            stored = TIME if name == TIMESTAMP else SEPARATOR + name
            column = self._columns[name] = self._block.table.column(stored).to_pylist()
        value: Value = column[self.row]
        return value

    def precedes(self, node: Precedes) -> bool:
        """A subscription speaks of one event."""
        raise AssertionError(f"{node} in a subscription")

    def aggregate(self, node: Aggregate) -> Value:
        """A subscription has no aggregates."""
        raise AssertionError(f"{node} in a subscription")
