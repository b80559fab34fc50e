"""What stands in the events of a workload: values drawn by rule, or rows of real events drawn again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tyrex.network.blocks import SEPARATOR
from tyrex.tesla.types import EventType, ValueType

if TYPE_CHECKING:
    import pyarrow as pa

_ARROW = {
    ValueType.STRING: "string",
    ValueType.INT: "int64",
    ValueType.FLOAT: "float64",
    ValueType.BOOL: "bool_",
}


@dataclass(frozen=True, slots=True)
class Between:
    """Every value between two bounds, which are included, is equally likely."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class OneOf:
    """Each of these values is equally likely."""

    values: tuple[str | int | float | bool, ...]


Draw: TypeAlias = Between | OneOf

UNSAID: Mapping[ValueType, Draw] = {
    ValueType.INT: Between(0, 9),
    ValueType.FLOAT: Between(0, 1),
    ValueType.STRING: OneOf(("a", "b", "c")),
    ValueType.BOOL: OneOf((True, False)),
}
"""What an attribute holds if nothing is said."""


@dataclass(frozen=True, eq=False)
class Contents:
    """The attributes of the events of one type."""

    type: EventType
    draws: Mapping[str, Draw]
    """For some attributes; the others are as `UNSAID` has it."""
    rows: pa.Table | None = None
    """Events of which each new one is a copy, chosen at random: the attributes with their names alone."""

    def columns(self, rng: Any, number: int) -> dict[str, Any]:
        """So many values of each attribute, under the names of columns in blocks."""
        import pyarrow as pa

        if self.rows is not None and len(self.rows):
            chosen = self.rows.take(pa.array(rng.integers(0, len(self.rows), number)))
            return {SEPARATOR + a.name: chosen.column(a.name) for a in self.type.attributes}
        return {
            SEPARATOR + a.name: _drawn(self.draws.get(a.name, UNSAID[a.type]), a.type, rng, number)
            for a in self.type.attributes
        }


def _drawn(draw: Draw, type_: ValueType, rng: Any, number: int) -> Any:
    import pyarrow as pa

    arrow: Any = getattr(pa, _ARROW[type_])()
    match draw:
        case OneOf(values):
            return pa.array(values, arrow).take(pa.array(rng.integers(0, len(values), number)))
        case Between(low, high):
            if type_ is ValueType.INT:
                return pa.array(rng.integers(int(low), int(high), number, endpoint=True), arrow)
            return pa.array(rng.uniform(low, high, number), arrow)
