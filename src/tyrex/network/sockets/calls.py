"""What clients ask of a broker, and what it answers.

A client sends `[number, what, argument, ..]` and gets `[number, "ok", value]` or `[number, "error", reason]`. Events
come as `[0, "found", subscription, block]`; `[0, "missed", count]` says that the client was too slow for so many, and
`[0, "note", kind, text, events]` is a note of the broker about what the client did.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from tyrex.network.messages import TypeDeclared
from tyrex.network.sockets.frames import WireError
from tyrex.tesla.types import ValueType

UNASKED = 0
"""The number of what is not an answer."""


class Call(StrEnum):
    """What a client can ask for: the API of RACED (Table 1), with TESLA, and what undoes it."""

    ADVERTISE = "advertise"
    PUBLISH = "publish"
    ADVANCE = "advance"
    SUBSCRIBE = "subscribe"
    UNSUBSCRIBE = "unsubscribe"
    DEFINE = "define"
    UNDEFINE = "undefine"
    STATUS = "status"


def read_call(content: Any) -> tuple[int, Call, list[Any]]:
    """The number of a call, what is asked for, and the arguments."""
    if not isinstance(content, list) or len(content) < 2 or type(content[0]) is not int:
        raise WireError("a call of a client was expected, and something else came")
    number, what, *arguments = content
    try:
        return number, Call(what), arguments
    except ValueError:
        raise WireError(f"{str(what)[:80]!r} is nothing that a broker does") from None


def read_answer(content: Any) -> tuple[int, str, list[Any]]:
    """The number of the call that is answered, the kind of the answer, and what is in it."""
    if (
        not isinstance(content, list)
        or len(content) < 2
        or type(content[0]) is not int
        or not isinstance(content[1], str)
    ):
        raise WireError("an answer of a broker was expected, and something else came")
    return content[0], content[1], content[2:]


def arguments(given: list[Any], *kinds: type) -> list[Any]:
    """The arguments of a call, if they are of these types."""
    if len(given) != len(kinds) or any(
        type(value) is not kind for value, kind in zip(given, kinds, strict=True)
    ):
        expected = ", ".join(kind.__name__ for kind in kinds) or "nothing"
        raise WireError(f"a call has the wrong arguments: {expected} was expected")
    return given


def pack_type(type_: TypeDeclared) -> list[Any]:
    """An event type as it is sent."""
    return [type_.name, [[name, str(kind)] for name, kind in type_.attributes]]


def unpack_type(data: Any) -> TypeDeclared:
    """An event type that came."""
    match data:
        case [str(name), list(attributes)]:
            return TypeDeclared(name, tuple(_attribute(each) for each in attributes))
        case _:
            pass
    raise WireError("an event type is `[name, [[attribute, type], ..]]`")


def _attribute(data: Any) -> tuple[str, ValueType]:
    match data:
        case [str(name), str(kind)] if kind in set(ValueType):
            return name, ValueType(kind)
        case _:
            pass
    raise WireError(f"an attribute is `[name, type]`, and the type one of {', '.join(ValueType)}")
