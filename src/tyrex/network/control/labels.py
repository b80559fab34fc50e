"""Events that go the same way for several trees travel once, labelled with the trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tyrex.network.blocks import NUMBER, ORIGIN, Block
from tyrex.network.messages import Tree

if TYPE_CHECKING:
    import pyarrow as pa

Labelled = tuple[tuple[Tree, ...], Block]


def label(found: Mapping[Tree, Sequence[Block]]) -> tuple[Labelled, ...]:
    """The events of several trees, each once, with the trees that it belongs to."""
    by_type: dict[str, list[tuple[Tree, Block]]] = {}
    for tree, blocks in found.items():
        for block in blocks:
            if len(block):
                by_type.setdefault(block.type, []).append((tree, block))
    labelled: list[Labelled] = []
    for type_ in sorted(by_type):
        labelled += _label(type_, by_type[type_])
    return tuple(labelled)


def _label(type_: str, found: Sequence[tuple[Tree, Block]]) -> list[Labelled]:
    import numpy as np
    import pyarrow as pa

    trees = sorted({tree for tree, _ in found}, key=lambda tree: (tree.root, tree.epoch))
    if len(trees) == 1:
        return [((trees[0],), block) for _, block in found]
    table = pa.concat_tables([block.table for _, block in found], promote_options="default")
    position = {tree: place for place, tree in enumerate(trees)}
    owners = np.concatenate([np.full(len(block), position[tree]) for tree, block in found])
    origins, numbers = _codes(table), table.column(NUMBER).to_numpy()
    order = np.lexsort((owners, numbers, origins))
    first = np.ones(len(order), bool)
    first[1:] = (origins[order][1:] != origins[order][:-1]) | (numbers[order][1:] != numbers[order][:-1])
    event = np.cumsum(first) - 1
    belongs = np.zeros((int(event[-1]) + 1, len(trees)), bool)
    belongs[event, owners[order]] = True
    packed = np.packbits(belongs, axis=1)
    labels, which = np.unique(packed, axis=0, return_inverse=True)
    which = which.reshape(-1)
    rows = order[first]
    labelled: list[Labelled] = []
    for number in range(len(labels)):
        chosen = np.flatnonzero(which == number)
        names = tuple(trees[place] for place in np.flatnonzero(belongs[chosen[0]]).tolist())
        labelled.append((names, Block(type_, table).take(rows[chosen]).in_order()))
    return labelled


def _codes(table: pa.Table) -> Any:
    """For each row a number that says which origin it has."""
    import numpy as np
    import pyarrow as pa

    column: Any = table.column(ORIGIN)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    joined: Any = column.unify_dictionaries()
    return np.concatenate([np.asarray(chunk.indices) for chunk in joined.chunks])
