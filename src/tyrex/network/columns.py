"""Blocks of events as plain lists and bytes, and back: the part of the wire format that holds the data.

Whole numbers are counted from the least of their column, in as few bytes as the greatest needs; what is null is a
bit in a bitmap, which is left out where nothing is null; a text that occurs often is written once. Numbers are
little-endian.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tyrex.network.blocks import ID, NUMBER, ORIGIN, SEPARATOR, TIME, Block

if TYPE_CHECKING:
    import numpy as np

WIDTHS = (0, 1, 2, 4, 8)
INT, FLOAT, BOOL, TEXT, NAMES = "i", "f", "b", "t", "n"
"""Kinds of columns; one of `NAMES` is a text column that stays a dictionary: the origin."""


class CodecError(ValueError):
    """Bytes that are no message of this version, or a message that can't be written."""


def pack_block(block: Block) -> list[Any]:
    """A block as what MessagePack can write."""
    return [
        block.type,
        len(block),
        [[name, *_pack_column(name, block.table.column(name))] for name in block.table.column_names],
    ]


def unpack_block(data: object) -> Block:
    """The block that was written; `CodecError` for anything else."""
    import pyarrow as pa

    type_, count, columns = _items(data, "a block", 3)
    if not isinstance(type_, str) or not type_:
        raise CodecError(f"expected the name of an event type, found {_short(type_)}")
    if type(count) is not int or not 0 <= count < 2**31:
        raise CodecError(f"expected a number of events, found {_short(count)}")
    arrays: dict[str, Any] = {}
    for column in _items(columns, "columns"):
        name, kind, payload, nulls = _items(column, "a column", 4)
        if not isinstance(name, str) or name in arrays:
            raise CodecError(f"expected a new name of a column, found {_short(name)}")
        if not _fits(name, kind):
            raise CodecError(f"expected another kind of column for `{name}`, found {_short(kind)}")
        arrays[name] = _unpack_column(kind, payload, _mask(nulls, count, _nullable(name)), count)
    missing = [name for name in (TIME, ORIGIN, NUMBER) if name not in arrays]
    if missing:
        raise CodecError(f"expected a column `{missing[0]}` in a block of `{type_}`, found none")
    return Block(type_, pa.table(arrays))


def _nullable(name: str) -> bool:
    return name == ID or name.startswith(SEPARATOR)


def _fits(name: str, kind: object) -> bool:
    if name.startswith(SEPARATOR):
        return kind in (INT, FLOAT, BOOL, TEXT) and len(name) > len(SEPARATOR)
    return kind == {TIME: INT, NUMBER: INT, ORIGIN: NAMES, ID: TEXT}.get(name)


def _pack_column(name: str, column: Any) -> list[Any]:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    nulls = b""
    if column.null_count:
        if not _nullable(name):
            raise CodecError(f"expected a value in each row of `{name}`, found null")
        nulls = np.packbits(np.asarray(column.is_null()), bitorder="little").tobytes()
    kind: Any = column.type
    if pa.types.is_int64(kind):
        values = column.fill_null(_least(column)) if nulls else column
        return [INT, _pack_ints(np.asarray(values)), nulls]
    if pa.types.is_float64(kind):
        filled = column.fill_null(0.0) if nulls else column
        return [FLOAT, np.asarray(filled).astype("<f8", copy=False).tobytes(), nulls]
    if pa.types.is_boolean(kind):
        bits = column.fill_null(False) if nulls else column
        return [BOOL, np.packbits(np.asarray(bits), bitorder="little").tobytes(), nulls]
    if not (pa.types.is_string(kind) or pa.types.is_dictionary(kind)):
        raise CodecError(f"expected a column of numbers, texts or truth values for `{name}`, found {kind}")
    encoded: Any = column if pa.types.is_dictionary(kind) else pc.dictionary_encode(column)
    if len(column) and (name == ORIGIN or 2 * len(_dictionary(encoded)) <= len(column)):
        joined: Any = encoded.unify_dictionaries().combine_chunks()
        whole: Any = joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined
        codes = np.asarray(whole.indices.fill_null(0)).astype(np.int64)
        used, codes = np.unique(codes, return_inverse=True)
        names = whole.dictionary.take(pa.array(used)).to_pylist() if len(whole.dictionary) else []
        return [NAMES if name == ORIGIN else TEXT, [names, _pack_ints(codes)], nulls]
    if name == ORIGIN:
        return [NAMES, [[], _pack_ints(np.zeros(0, np.int64))], nulls]
    return [TEXT, [column.to_pylist()], nulls]


def _dictionary(encoded: Any) -> Any:
    return (
        encoded.chunk(0).dictionary
        if encoded.num_chunks == 1
        else encoded.unify_dictionaries().chunk(0).dictionary
    )


def _least(column: Any) -> int:
    import pyarrow.compute as pc

    least: Any = pc.min(column)
    return least.as_py() or 0


def _pack_ints(values: np.ndarray[Any, Any]) -> list[Any]:
    import numpy as np

    if not len(values):
        return [0, 0, b""]
    least = int(values.min())
    span = int(values.max()) - least
    width = 0 if not span else next(w for w in WIDTHS[1:] if span < 1 << 8 * w)
    if not width:
        return [least, 0, b""]
    offsets = values.astype(np.uint64) - np.uint64(least % 2**64)  # wraps around as two's complement does
    return [least, width, offsets.astype(f"<u{width}").tobytes()]


def _unpack_ints(data: object, count: int) -> np.ndarray[Any, Any]:
    import numpy as np

    least, width, raw = _items(data, "whole numbers", 3)
    if type(least) is not int or not -(2**63) <= least < 2**63:
        raise CodecError(f"expected a whole number of 64 bits, found {_short(least)}")
    if type(width) is not int or width not in WIDTHS:
        raise CodecError(f"expected 0, 1, 2, 4 or 8 bytes for each number, found {_short(width)}")
    _sized(raw, width * count)
    if not width:
        return np.full(count, least, np.int64)
    offsets = np.frombuffer(raw, f"<u{width}").astype(np.uint64)
    if count and int(offsets.max()) + least >= 2**63:
        raise CodecError("expected whole numbers of 64 bits, found a greater one")
    return (offsets + np.uint64(least % 2**64)).astype(np.int64)


def _unpack_column(kind: str, payload: object, mask: Any, count: int) -> Any:
    import numpy as np
    import pyarrow as pa

    if kind == INT:
        return pa.array(_unpack_ints(payload, count), pa.int64(), mask=mask)
    if kind == FLOAT:
        return pa.array(
            np.frombuffer(_sized(payload, 8 * count), "<f8").astype(np.float64), pa.float64(), mask=mask
        )
    if kind == BOOL:
        raw = np.frombuffer(_sized(payload, (count + 7) // 8), np.uint8)
        return pa.array(
            np.unpackbits(raw, count=count, bitorder="little").astype(bool), pa.bool_(), mask=mask
        )
    texts = _items(payload, "texts")
    if kind == TEXT and len(texts) == 1:
        written = _items(texts[0], "texts", count)
        masked = np.zeros(count, bool) if mask is None else mask
        for value, null in zip(written, masked.tolist(), strict=True):
            if (value is not None) if null else not isinstance(value, str):
                raise CodecError(f"expected {'null' if null else 'a text'}, found {_short(value)}")
        return pa.array(written, pa.string())
    names, codes = _items(payload, "texts", 2)
    known = _items(names, "texts")
    for value in known:
        # A dictionary that was made with null in it never refers to the null: such rows are in the bitmap.
        if not isinstance(value, str):
            raise CodecError(f"expected a text, found {_short(value)}")
    indices = _unpack_ints(codes, count)
    if mask is not None:
        indices = np.where(mask, 0, indices)
    given = indices if mask is None else indices[~mask]
    if len(given) and not (int(given.min()) >= 0 and int(given.max()) < len(known)):
        raise CodecError("expected numbers of texts that were written before, found others")
    coded = pa.DictionaryArray.from_arrays(
        pa.array(indices.astype(np.int32), pa.int32(), mask=mask), pa.array(known, pa.string())
    )
    return coded if kind == NAMES else coded.cast(pa.string())


def _mask(data: object, count: int, nullable: bool) -> Any:
    import numpy as np

    if data == b"":
        return None
    if not nullable:
        raise CodecError("expected a value in each row, found null")
    raw = np.frombuffer(_sized(data, (count + 7) // 8), np.uint8)
    return np.unpackbits(raw, count=count, bitorder="little").astype(bool)


def _items(data: object, what: str, count: int | None = None) -> list[Any]:
    if not isinstance(data, list) or (count is not None and len(data) != count):
        raise CodecError(f"expected {what}, found {_short(data)}")
    return data


def _sized(data: object, size: int) -> bytes:
    if not isinstance(data, bytes) or len(data) != size:
        raise CodecError(f"expected {size} bytes, found {_short(data)}")
    return data


def _short(data: object) -> str:
    """What was found, in a few words: never the whole of what somebody may have sent."""
    if isinstance(data, bytes | list | dict):
        return f"{len(data)} {'bytes' if isinstance(data, bytes) else 'items'}"
    text = repr(data)
    return text if len(text) <= 40 else text[:37] + "..."
