"""Which columns of a table hold the type, the time, the id and the attributes of its events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tyrex.events import EventError
from tyrex.io.form import Form
from tyrex.io.jsonevent import ATTRIBUTES
from tyrex.io.layout import ID, TYPE, Layout
from tyrex.tesla.types import EventType


def qualified(attribute: str) -> str:
    """The name of a column for an attribute whose own name stands for something else in a table."""
    return f"{ATTRIBUTES}.{attribute}"


@dataclass(frozen=True)
class Columns:
    """The columns of a table, by what they mean for its events; `attributes.x` is the attribute x, whatever x is."""

    names: tuple[str, ...]
    layout: Layout
    form: Form

    @classmethod
    def of(cls, names: Sequence[str], layout: Layout, form: Form, source: str) -> Columns:
        """The columns of a source; EventError if one that is needed is missing."""
        twice = [name for name, count in Counter(names).items() if count > 1]
        shown = ", ".join(f"`{name}`" for name in names)
        if twice:
            raise EventError(f"{source} has two columns `{twice[0]}`: give each a name of its own")
        if form.timestamp not in names:
            raise EventError(
                f"{source} has no column `{form.timestamp}`, but {shown}: `--timestamp` says which one holds the time"
            )
        if form.type is None and TYPE not in names:
            raise EventError(
                f"{source} has no column `type`, but {shown}: say what all its events are, as in `Temp={source}`"
            )
        return cls(tuple(names), layout, form)

    @property
    def type(self) -> str | None:
        """The column of the type, unless all events have the same."""
        return TYPE if self.form.type is None else None

    @property
    def timestamp(self) -> str:
        """The column of the time."""
        return self.form.timestamp

    @cached_property
    def needed(self) -> list[str]:
        """The columns that mean something, in their order."""
        wanted = {self.timestamp, ID, *((TYPE,) if self.type else ())}
        for found in self._attributes.values():
            wanted.update(found.values())
        return [name for name in self.names if name in wanted]

    @cached_property
    def _types(self) -> list[EventType]:
        types = self.layout.types
        if self.form.type is None:
            return list(types.values())
        return [types[self.form.type]] if self.form.type in types else []

    @cached_property
    def _attributes(self) -> dict[str, dict[str, str]]:
        return {t.name: self._found(a.name for a in t.attributes) for t in self._types}

    def attributes(self, type_: str) -> Mapping[str, str]:
        """The columns of the attributes of a type, by attribute; those that are not there are left out."""
        return self._attributes.get(type_, {})

    @cached_property
    def all_attributes(self) -> Mapping[str, str]:
        """The columns of the attributes of all types, where no two types disagree about them."""
        return {name: column for found in self._attributes.values() for name, column in found.items()}

    def id(self, type_: str) -> str | None:
        """The column of the ids that the source gave to events of this type."""
        if ID not in self.names or self.attributes(type_).get(ID) == ID:
            return None
        return ID

    def _found(self, attributes: Iterable[str]) -> dict[str, str]:
        found = {}
        for name in attributes:
            if qualified(name) in self.names:
                found[name] = qualified(name)
            elif name in self.names and name != self.type:
                found[name] = name
        return found
