"""What the engine found: composite events, made into objects or tables only when somebody looks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from tyrex.events import Event, Value
from tyrex.tesla.types import EventType, ValueType

if TYPE_CHECKING:
    import pyarrow as pa

    from tyrex._kernel import Result


@dataclass(frozen=True)
class Names:
    """What the kernel's numbers stand for."""

    types: Sequence[EventType]
    rules: Sequence[str]


_set = object.__setattr__


class Composite(Event):
    """A composite event that is still in the engine's columns: its parts are made when they are asked for."""

    __slots__ = ("_detections", "_number")
    _detections: Detections
    _number: int

    def __new__(cls, *_: Any, **fields: Any) -> Any:
        """`dataclasses.replace` gives all fields of an event, and gets a plain one."""
        return Event(**fields) if fields else super().__new__(cls)

    def __init__(self, detections: Detections, number: int) -> None:
        _set(self, "_detections", detections)
        _set(self, "_number", number)

    @property
    def type(self) -> str:
        """The type of the event."""
        return self._detections.names.types[self._detections.result.head(self._number)[0]].name

    @property
    def timestamp(self) -> int:
        """That of its terminator, in microseconds since the epoch."""
        return self._detections.result.head(self._number)[2]

    @property
    def rule(self) -> str:
        """The rule that made it."""
        return self._detections.names.rules[self._detections.result.head(self._number)[1]]

    @property
    def attributes(self) -> Mapping[str, Value]:
        """Its values by the names of the attributes, in declared order."""
        type_, _, _, values = self._detections.result.composite(self._number)
        attributes = self._detections.names.types[type_].attributes
        return {a.name: value for a, value in zip(attributes, values, strict=True)}

    @property
    def id(self) -> str:
        """A hash of its rule and of the ids of its events."""
        return self._detections.result.id(self._number)

    @property
    def lineage(self) -> tuple[Event, ...]:
        """The events it was made of, in the order in which the rule declares them."""
        return self._detections.lineage(self._number)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Event, (self.type, self.timestamp, dict(self.attributes), self.id, self.rule))


_new = object.__new__
_set_detections = Composite._detections.__set__  # type: ignore[misc, attr-defined]
_set_number = Composite._number.__set__  # type: ignore[misc, attr-defined]


@dataclass(frozen=True, eq=False)
class Detections(Sequence[Event]):
    """The composite events of one call, in order, and the events that came too late for it."""

    result: Result
    names: Names
    late: Sequence[Event] = field(default=())

    def __len__(self) -> int:
        return len(self.result)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | Sequence[Event]:
        if isinstance(index, slice):
            return self._made(range(*index.indices(len(self))))
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(f"there are {len(self)} composite events, and none with the number {index}")
        return Composite(self, number)

    def __iter__(self) -> Iterator[Event]:
        return iter(self._made(range(len(self))))

    def _made(self, numbers: range) -> list[Event]:
        """The same as `Composite(self, number)` for each, in less than half the time."""
        made: list[Event] = []
        for number in numbers:
            event = _new(Composite)
            _set_detections(event, self)
            _set_number(event, number)
            made.append(event)
        return made

    def __repr__(self) -> str:
        return f"<{len(self)} composite event{'' if len(self) == 1 else 's'}>"

    def lineage(self, number: int) -> tuple[Event, ...]:
        """The events that a composite event was made of, in the order in which its rule declares them."""
        found = []
        for type_, time, values, id_, _origin in self.result.lineage(number):
            declared = self.names.types[type_]
            attributes = {a.name: v for a, v in zip(declared.attributes, values, strict=True)}
            found.append(Event(declared.name, time, attributes, id_))
        return tuple(found)

    def columns(self) -> dict[str, dict[str, Any]]:
        """The attributes of the composite events as columns of Arrow, for each type that occurs."""
        return {
            self.names.types[type_].name: {
                attribute.name: _arrow(self.result.column(number, position), attribute.type, rows)
                for position, attribute in enumerate(self.names.types[type_].attributes)
            }
            for number, (type_, rows) in enumerate(self.result.tables())
        }

    def tables(self) -> dict[str, pa.Table]:
        """The composite events as Arrow tables, one for each type that occurs.

        The columns are `timestamp`, `id`, `rule` and the attributes; an attribute that has one of these names itself
        is in the column `attributes.id`, say, as where events are written to files.
        """
        import pyarrow as pa

        tables = {}
        for number, (type_, rows) in enumerate(self.result.tables()):
            declared = self.names.types[type_]
            times, rules = self.result.table_runs(number)
            rule_numbers = pa.Array.from_buffers(pa.int64(), rows, [None, pa.py_buffer(rules)])
            columns: dict[str, Any] = {
                "timestamp": pa.Array.from_buffers(
                    pa.timestamp("us", "UTC"), rows, [None, pa.py_buffer(times)]
                ),
                "id": _arrow(self.result.ids(number), ValueType.STRING, rows),
                "rule": pa.array(self.names.rules, pa.string()).take(rule_numbers),
            }
            reserved = frozenset(columns)
            for position, attribute in enumerate(declared.attributes):
                name = f"attributes.{attribute.name}" if attribute.name in reserved else attribute.name
                columns[name] = _arrow(self.result.column(number, position), attribute.type, rows)
            tables[declared.name] = pa.table(columns)
        return tables


def _arrow(parts: tuple[bytes, ...], type_: ValueType, rows: int) -> Any:
    import pyarrow as pa

    arrow_type = {
        ValueType.INT: pa.int64(),
        ValueType.FLOAT: pa.float64(),
        ValueType.BOOL: pa.bool_(),
        ValueType.STRING: pa.large_string(),
    }[type_]
    validity, *data = (pa.py_buffer(part) for part in parts)
    return pa.Array.from_buffers(arrow_type, rows, [validity if parts[0] else None, *data])
