"""Brings events into the form that their type declares, or says why that can't be done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, SupportsFloat, SupportsInt, cast

from tyrex.events.errors import EventError
from tyrex.events.event import Event, Value
from tyrex.events.literals import describe, is_well_formed
from tyrex.events.time import in_range
from tyrex.tesla.types import EventType, ValueType

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
_SPECIAL_FLOATS: dict[str, float | None] = {
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
    "NaN": None,
}


class _Unfit(Exception):
    """A value does not fit; the argument says what to do about it."""


def _string(value: Any) -> Value:
    if not isinstance(value, str):
        raise _Unfit("send it as text, in quotes")
    if not is_well_formed(value):
        raise _Unfit("it holds half a surrogate pair: send well-formed Unicode")
    return value if value.__class__ is str else str(value)


def _int(value: Any) -> Value:
    if value.__class__ is not int:
        if isinstance(value, bool) or not isinstance(value, Real):
            raise _Unfit("send a whole number, without quotes")
        try:
            whole = int(cast(SupportsInt, value))
        except (ValueError, OverflowError):
            if value != value:  # noqa: PLR0124  NaN alone differs from itself
                return None
            raise _Unfit("send a finite number, or declare the attribute as float") from None
        if whole != value:
            raise _Unfit("send a whole number, or declare the attribute as float")
        value = whole
    if not INT_MIN <= value <= INT_MAX:
        raise _Unfit("an int has 64 bits: declare the attribute as float or string")
    return value  # type: ignore[no-any-return]


def _float(value: Any) -> Value:
    if value.__class__ is not float:
        if value.__class__ is str and value in _SPECIAL_FLOATS:
            return _SPECIAL_FLOATS[value]
        if isinstance(value, bool) or not isinstance(value, Real):
            raise _Unfit("send a number, without quotes")
        try:
            value = float(cast(SupportsFloat, value))
        except OverflowError:
            raise _Unfit("it is too large for a float: declare the attribute as string") from None
    return value if value == value else None  # noqa: PLR0124  a NaN is read as null


def _bool(value: Any) -> Value:
    if not isinstance(value, bool):
        raise _Unfit("send true or false, without quotes")
    return value


_CONVERTERS: dict[ValueType, Callable[[Any], Value]] = {
    ValueType.STRING: _string,
    ValueType.INT: _int,
    ValueType.FLOAT: _float,
    ValueType.BOOL: _bool,
}


class Conformer:
    """Brings events into the form of their declared types.

    Called with an event, it returns an event with exactly the declared attributes, in declared order:

    - a missing attribute is null, and so is a NaN;
    - an attribute that is not declared is left out;
    - an int becomes the nearest float where a float is declared, as do the texts `"Infinity"` and
      `"-Infinity"`, by which JSON gets around its lack of these numbers;
    - a float becomes an int where an int is declared if nothing is lost (3.0, not 3.5);
    - numbers of other libraries that know they are numbers, such as NumPy's, count as Python's.

    It returns None if the event's type is not among the types: nothing can depend on that event, so a caller
    counts it as unused and goes on. It raises EventError where a value doesn't fit: text is never taken for
    a number, nor a bool for an int.
    """

    def __init__(self, types: Mapping[str, EventType]) -> None:
        self._plans = {
            name: tuple((a.name, _CONVERTERS[a.type]) for a in type_.attributes)
            for name, type_ in types.items()
        }
        self._types = dict(types)

    def __call__(self, event: Event) -> Event | None:
        """The event in declared form, or None if its type is not known."""
        plan = self._plans.get(event.type)
        if plan is None:
            return None
        if event.timestamp.__class__ is not int:
            raise EventError(
                f"{event.type}.timestamp: expected an int of microseconds, found "
                f"{describe(event.timestamp)}; use `to_microseconds`"
            )
        in_range(event.timestamp)
        found = event.attributes
        attributes: dict[str, Value] = {}
        for name, convert in plan:
            value = found.get(name)
            if value is not None:
                try:
                    value = convert(value)
                except _Unfit as unfit:
                    expected = self._types[event.type].by_name[name].value
                    raise EventError(
                        f"{event.type}.{name}: expected {expected}, found {describe(value)}; {unfit}"
                    ) from None
            attributes[name] = value
        return Event(event.type, event.timestamp, attributes, event.id, event.rule)


def conform(event: Event, type: EventType) -> Event:
    """The event in the form its type declares; see `Conformer`, which is the faster way for many events.

    >>> from tyrex.tesla.types import AttributeType
    >>> temp = EventType("Temp", (AttributeType("value", ValueType.FLOAT),))
    >>> print(conform(Event("Temp", 10_000_000, {"value": 24}), temp))
    Temp@10(value=24.0)
    """
    conformed = Conformer({type.name: type})(event)
    if conformed is None:
        raise EventError(f"expected an event of type {type.name}, found one of type {event.type}")
    return conformed
