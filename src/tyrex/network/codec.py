"""Messages as bytes, and back: MessagePack, with the columns of blocks as raw bytes.

    >>> from tyrex.network.messages import Ack, Tree
    >>> data = encode(Ack(Tree("b1", 3)))
    >>> len(data)
    8
    >>> decode(data)
    Ack(tree=Tree(root='b1', epoch=3))

The form of a message follows from the fields of its class. Whatever is not exactly such a form is a `CodecError`.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from typing import Any

import msgpack

from tyrex.network import messages as m
from tyrex.network.blocks import Block
from tyrex.network.columns import CodecError, pack_block, unpack_block

__all__ = ["LIMIT", "VERSION", "CodecError", "decode", "encode", "encode_all"]

VERSION = 1
LIMIT = 16 * 1024 * 1024
"""How many bytes a message may have, if nothing else is agreed."""
KINDS: tuple[type, ...] = (
    m.Links,
    m.Rules,
    m.CreateTree,
    m.Ack,
    m.Nack,
    m.Advertise,
    m.Subscribe,
    m.Changed,
    m.Deploy,
    m.Retune,
    m.Events,
    m.Composites,
    m.Delivered,
    m.Awaken,
    m.Done,
)
"""The position of a class is its number on the wire: new ones go to the end."""

_NUMBER = {kind: number for number, kind in enumerate(KINDS)}


def encode(message: m.Message, *, limit: int = LIMIT) -> bytes:
    """A message as bytes; `CodecError` if it is longer than the limit or holds what can't be written."""
    kind: Any = type(message)
    try:
        body: bytes = msgpack.packb([_NUMBER[kind], _form(kind).pack(message)], use_bin_type=True)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, CodecError):
            raise
        raise CodecError(f"{type(message).__name__} can't be written: {error}") from None
    if len(body) >= limit:
        raise CodecError(
            f"{type(message).__name__} has {len(body) + 1} bytes, the limit is {limit}; send less at once"
        )
    return bytes((VERSION,)) + body


def encode_all(message: m.Message, *, limit: int = LIMIT) -> list[bytes]:
    """A message as one or more: one with more events than the limit allows is sent in pieces."""
    try:
        return [encode(message, limit=limit)]
    except CodecError:
        halves = _halves(message)
        if not halves:
            raise
    return [data for half in halves for data in encode_all(half, limit=limit)]


def decode(data: bytes, *, limit: int = LIMIT) -> m.Message:
    """The message that these bytes are; `CodecError` for anything else."""
    if len(data) > limit:
        raise CodecError(f"expected at most {limit} bytes, found {len(data)}")
    if not data or data[0] != VERSION:
        found = f"version {data[0]}" if data else "nothing"
        raise CodecError(
            f"expected a message of version {VERSION}, found {found}; use the same Tyrex everywhere"
        )
    try:
        content = msgpack.unpackb(
            memoryview(data)[1:], raw=False, strict_map_key=True, ext_hook=_no_extension
        )
    except CodecError:
        raise
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise CodecError(f"expected a message, found bytes that are none ({error})") from None
    match content:
        case [int(number), fields] if type(number) is int and 0 <= number < len(KINDS):
            message: m.Message = _form(KINDS[number]).unpack(fields)
            return message
    raise CodecError("expected a message of a known kind, found something else")


def _no_extension(code: int, data: bytes) -> Any:
    raise CodecError(f"expected no extension of MessagePack, found {code}")


def _halves(message: m.Message) -> list[m.Message]:
    """The same events in two messages; what is said of time stands in the second."""
    if isinstance(message, m.Events):
        blocks = [(labels, half) for labels, block in message.blocks for half in _half_blocks(block)]
        if len(blocks) < 2:
            return []
        middle = len(blocks) // 2
        return [
            m.Events(tuple(blocks[:middle]), ()),
            m.Events(tuple(blocks[middle:]), message.upto, message.answered),
        ]
    if isinstance(message, m.Composites):
        parts = [half for block in message.blocks for half in _half_blocks(block)]
        if len(parts) < 2:
            return []
        middle = len(parts) // 2
        return [
            m.Composites(message.tree, tuple(parts[:middle])),
            m.Composites(message.tree, tuple(parts[middle:]), message.upto),
        ]
    return []


def _half_blocks(block: Block) -> list[Block]:
    middle = len(block) // 2
    if not middle:
        return [block]
    return [Block(block.type, block.table.slice(0, middle)), Block(block.type, block.table.slice(middle))]


# --- The form of a class, from the types of its fields ------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class Form:
    """How values of a type are written and read."""

    pack: Callable[[Any], Any]
    unpack: Callable[[Any], Any]


def _wrong(what: str, found: object) -> CodecError:
    text = repr(found) if isinstance(found, str | int | float | None) else type(found).__name__
    return CodecError(f"expected {what}, found {text[:40]}")


def _read_int(data: object) -> int:
    if type(data) is not int or not -(2**63) <= data < 2**63:
        raise _wrong("a whole number of 64 bits", data)
    return data


def _write_int(value: int) -> int:
    return _read_int(int(value))  # numbers of NumPy become plain ones


def _read_text(data: object) -> str:
    if not isinstance(data, str):
        raise _wrong("a text", data)
    return data


def _read_list(data: object, what: str) -> list[Any]:
    if not isinstance(data, list):
        raise _wrong(what, data)
    return data


def _same(value: Any) -> Any:
    return value


@cache
def _form(hint: Any) -> Form:
    if hint is int:
        return Form(_write_int, _read_int)
    if hint is str:
        return Form(_same, _read_text)
    if hint is Block:
        return Form(pack_block, unpack_block)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _choice(hint)
    if dataclasses.is_dataclass(hint):
        return _record(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple and arguments[1:] == (Ellipsis,):
        return _sequence(_form(arguments[0]))
    if origin is tuple:
        return _row(tuple(_form(argument) for argument in arguments))
    if origin is Mapping:
        return _mapping()
    if origin is types.UnionType and arguments[1:] == (type(None),):
        return _optional(_form(arguments[0]))
    raise TypeError(f"no form for {hint}")


def _choice(kind: type[StrEnum]) -> Form:
    values = list(kind)

    def unpack(data: object) -> StrEnum:
        if type(data) is not int or not 0 <= data < len(values):
            raise _wrong(f"the number of a {kind.__name__}", data)
        return values[data]

    return Form(values.index, unpack)


def _record(kind: Any) -> Form:
    hints = typing.get_type_hints(kind, localns={"Block": Block})
    names = [field.name for field in dataclasses.fields(kind)]
    forms = [_form(hints[name]) for name in names]

    def pack(value: Any) -> list[Any]:
        return [form.pack(getattr(value, name)) for name, form in zip(names, forms, strict=True)]

    def unpack(data: object) -> Any:
        fields = _read_list(data, f"the fields of {kind.__name__}")
        if len(fields) != len(forms):
            raise CodecError(f"expected {len(forms)} fields of {kind.__name__}, found {len(fields)}")
        return kind(*(form.unpack(item) for form, item in zip(forms, fields, strict=True)))

    return Form(pack, unpack)


def _sequence(item: Form) -> Form:
    def pack(value: tuple[Any, ...]) -> list[Any]:
        return [item.pack(one) for one in value]

    def unpack(data: object) -> tuple[Any, ...]:
        return tuple(item.unpack(one) for one in _read_list(data, "a list"))

    return Form(pack, unpack)


def _row(items: tuple[Form, ...]) -> Form:
    def pack(value: tuple[Any, ...]) -> list[Any]:
        return [form.pack(one) for form, one in zip(items, value, strict=True)]

    def unpack(data: object) -> tuple[Any, ...]:
        found = _read_list(data, f"{len(items)} values")
        if len(found) != len(items):
            raise CodecError(f"expected {len(items)} values, found {len(found)}")
        return tuple(form.unpack(one) for form, one in zip(items, found, strict=True))

    return Form(pack, unpack)


def _optional(item: Form) -> Form:
    return Form(
        lambda value: None if value is None else item.pack(value),
        lambda data: None if data is None else item.unpack(data),
    )


def _mapping() -> Form:
    """Values of attributes, by name."""

    def unpack(data: object) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise _wrong("values by name", data)
        for name, value in data.items():
            _read_text(name)
            if type(value) is int:
                _read_int(value)
            elif type(value) not in (str, float, bool):
                raise _wrong("a value of an attribute", value)
        return data

    return Form(dict, unpack)
