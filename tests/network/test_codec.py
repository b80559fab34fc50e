"""What goes over a wire comes back as it was, and nothing else is taken for a message."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tyrex.events import Event
from tyrex.network import messages as m
from tyrex.network.blocks import Block, block_of
from tyrex.network.codec import KINDS, VERSION, CodecError, decode, encode, encode_all
from tyrex.tesla.types import AttributeType, EventType, ValueType

whole = st.integers(-(2**63), 2**63 - 1)
small = st.integers(0, 1000)
text = st.text(max_size=12)
names = st.text("abcXYZ_01", min_size=1, max_size=5)
VALUES = {
    ValueType.STRING: text,
    ValueType.INT: whole,
    ValueType.FLOAT: st.floats(allow_nan=False),
    ValueType.BOOL: st.booleans(),
}


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    attributes = draw(st.dictionaries(names, st.sampled_from(ValueType), max_size=4))
    type_ = EventType(draw(names), tuple(AttributeType(n, t) for n, t in attributes.items()))
    row = st.builds(
        Event,
        st.just(type_.name),
        whole,
        st.fixed_dictionaries({n: st.none() | VALUES[t] for n, t in attributes.items()}),
        st.none() | text,
    )
    return block_of(type_, draw(st.lists(row, max_size=12)), draw(names), draw(small))


trees = st.builds(m.Tree, names, small)
parts = st.builds(m.Part, small, st.sampled_from(m.PartMode), st.lists(text).map(tuple), whole, whole)
groups = st.builds(m.Group, st.lists(text).map(tuple), st.lists(whole).map(tuple))
declared = st.builds(
    m.TypeDeclared, names, st.lists(st.tuples(names, st.sampled_from(ValueType)), max_size=3).map(tuple)
)
modes = st.builds(m.Mode, small, st.sampled_from(m.PartMode), whole)
spans = st.builds(
    m.Span,
    small,
    names,
    whole,
    whole,
    st.dictionaries(names, text | whole | st.floats(allow_nan=False) | st.booleans(), max_size=3),
)
times = st.lists(st.tuples(trees, whole), max_size=3).map(tuple)


def several(items: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, max_size=3).map(tuple)


messages: st.SearchStrategy[m.Message] = st.one_of(
    st.builds(m.Links, names, small, small, several(st.tuples(names, whole))),
    st.builds(m.Rules, names, names, small, text),
    st.builds(m.CreateTree, trees, several(st.tuples(names, names))),
    st.builds(m.Ack, trees),
    st.builds(m.Nack, trees),
    st.builds(m.Advertise, trees, several(declared), st.none() | whole),
    st.builds(m.Subscribe, trees, several(text)),
    st.builds(m.Changed, names, small, text),
    st.builds(
        m.Deploy, trees, whole, whole, several(declared), several(groups), several(parts), several(names)
    ),
    st.builds(m.Retune, trees, whole, several(modes)),
    st.builds(m.Events, several(st.tuples(several(trees), blocks())), times, times),
    st.builds(m.Composites, trees, several(blocks()), st.none() | whole),
    st.builds(m.Delivered, trees, whole),
    st.builds(m.Awaken, trees, small, whole, several(spans)),
    st.builds(m.Done, trees, whole),
)


def plain(value: Any) -> Any:
    """Blocks as what they hold: they are compared by identity otherwise."""
    if isinstance(value, Block):
        return (
            value.type,
            value.table.column_names,
            [str(t) for t in value.table.schema.types],
            value.table.to_pydict(),
        )
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if dataclasses.is_dataclass(value):
        return (type(value), *(plain(getattr(value, field.name)) for field in dataclasses.fields(value)))
    return value


@given(messages)
def test_a_message_comes_back_as_it_was(message: m.Message) -> None:
    """Decoding gives what was encoded, blocks with their columns, nulls and types of columns."""
    assert plain(decode(encode(message))) == plain(message)


@given(messages, st.data())
def test_a_changed_message_is_another_message_or_an_error(message: m.Message, data: st.DataObject) -> None:
    """Bytes that are flipped, cut out or added never raise anything but a CodecError."""
    raw = bytearray(encode(message))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw)))
        cut = data.draw(st.integers(0, 3))
        raw[at : at + cut] = data.draw(st.binary(max_size=3))
    survives(bytes(raw))


@given(st.binary(max_size=200))
def test_random_bytes_are_no_message(raw: bytes) -> None:
    """Random bytes, also behind the right version, never raise anything but a CodecError."""
    survives(raw)
    survives(bytes((VERSION,)) + raw)


nested = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | text
    | st.binary(max_size=16),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=3),
    max_leaves=20,
)


@given(st.integers(-1, len(KINDS)), nested)
def test_other_data_is_no_message(number: int, content: Any) -> None:
    """MessagePack that holds something else never raises anything but a CodecError."""
    survives(bytes((VERSION,)) + msgpack.packb([number, content]))


@given(blocks(), st.data())
def test_other_data_in_a_block_is_no_block(block: Block, data: st.DataObject) -> None:
    """A block in which any one thing is replaced is read or refused, and nothing else."""
    message = msgpack.unpackb(encode(m.Composites(m.Tree("a", 1), (block,)))[1:])
    places: list[tuple[list[Any], int]] = []

    def find(node: Any) -> None:
        if isinstance(node, list):
            for position, item in enumerate(node):
                places.append((node, position))
                find(item)

    find(message[1])
    node, position = data.draw(st.sampled_from(places))
    node[position] = data.draw(nested)
    survives(bytes((VERSION,)) + msgpack.packb(message))


def survives(raw: bytes) -> None:
    try:
        message = decode(raw)
    except CodecError:
        return
    assert plain(decode(encode(message))) == plain(message)
    for block in getattr(message, "blocks", ()):
        only = block[1] if isinstance(block, tuple) else block
        only.table.validate(full=True)
        assert len(list(only.events())) == len(only)


def test_a_message_of_another_version_is_refused() -> None:
    """The first byte is the version."""
    raw = encode(m.Ack(m.Tree("a", 1)))
    with pytest.raises(CodecError, match="expected a message of version 1, found version 2"):
        decode(b"\x02" + raw[1:])


def temperatures(count: int) -> Block:
    type_ = EventType(
        "Temp", (AttributeType("area", ValueType.STRING), AttributeType("value", ValueType.FLOAT))
    )
    events = [
        Event("Temp", 1_000_000 * row, {"area": f"A{row % 7}", "value": row / 4}, None)
        for row in range(count)
    ]
    return block_of(type_, events, "b1", 1)


def test_a_message_that_is_too_long_is_refused_or_sent_in_pieces() -> None:
    """The limit holds for writing and reading; the pieces hold the same events, and what is said of time is last."""
    tree = m.Tree("a", 1)
    message = m.Events((((tree,), temperatures(1000)),), ((tree, 5),), ((tree, 3),))
    with pytest.raises(CodecError, match="the limit is 2000"):
        encode(message, limit=2000)
    with pytest.raises(CodecError, match="at most 2000 bytes"):
        decode(encode(message), limit=2000)
    pieces = [decode(raw, limit=2000) for raw in encode_all(message, limit=2000)]
    assert len(pieces) > 2
    events = [event for piece in pieces for _, block in piece.blocks for event in block.events()]  # type: ignore[union-attr, misc]
    assert events == list(temperatures(1000).events())
    assert [piece.upto for piece in pieces] == [()] * (len(pieces) - 1) + [((tree, 5),)]  # type: ignore[union-attr]
    assert pieces[-1].answered == ((tree, 3),)  # type: ignore[union-attr]


def test_columns_are_compact() -> None:
    """A thousand events with a time, a number, an origin, one of seven texts and a float need 15 bytes each."""
    tree = m.Tree("a", 1)
    size = len(encode(m.Events((((tree,), temperatures(1000)),), ())))
    assert size < 1000 * (4 + 2 + 0 + 1 + 8) + 150
