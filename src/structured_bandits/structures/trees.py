"""Spanning trees of a graph of arms, for unimodal structures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from structured_bandits.arrays import Ints
from structured_bandits.errors import StructureError

MOST_TREES = 2000  # each is a piece for every peak


def rooted_trees(
    count: int, edges: Sequence[tuple[int, int]] | None
) -> Iterator[tuple[str, Ints, Ints]]:
    """Yield every spanning tree with every root: a name, the arms, and the parent of each (-1: root)."""
    pairs = (
        [(arm, arm + 1) for arm in range(count - 1)] if edges is None else _checked(count, edges)
    )
    trees = list(_spanning_trees(count, pairs))
    for number, tree in enumerate(trees, start=1):
        for root in range(count):
            name = f"peak {root + 1}" + (f", tree {number}" if len(trees) > 1 else "")
            yield name, np.arange(count), _parents(count, tree, root)


def _checked(count: int, edges: Any) -> list[tuple[int, int]]:
    try:
        pairs = sorted({(min(a, b), max(a, b)) for a, b in edges})
    except (TypeError, ValueError):
        raise StructureError(f"edges={edges!r}: expected pairs of arms") from None
    for first, second in pairs:
        if not (isinstance(first, int) and isinstance(second, int)) or first == second:
            raise StructureError(f"edges: ({first!r}, {second!r}) is no pair of different arms")
        if not 0 <= first < second < count:
            raise StructureError(f"edges: ({first}, {second}) is outside the arms 0 to {count - 1}")
    return pairs


def _spanning_trees(count: int, pairs: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Yield the spanning trees; their number is a determinant (Kirchhoff), so it is known before."""
    laplacian = np.zeros((count, count))
    for first, second in pairs:
        laplacian[[first, second], [first, second]] += 1.0
        laplacian[[first, second], [second, first]] -= 1.0
    trees = round(float(np.linalg.det(laplacian[1:, 1:]))) if count > 1 else 1
    if trees == 0:
        raise StructureError(f"edges: they do not connect all {count} arms")
    if trees > MOST_TREES:
        raise StructureError(
            f"edges: the graph has {trees} spanning trees, more than {MOST_TREES}; "
            "leave out edges until few cycles are left"
        )
    yield from _trees(count, pairs)


def _trees(count: int, pairs: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Yield the spanning trees: what is left when so many edges are left out, if it connects all."""
    for left_out in combinations(pairs, len(pairs) - (count - 1)):
        tree = [pair for pair in pairs if pair not in left_out]
        if (_parents(count, tree, 0)[1:] >= 0).all():
            yield tree


def _parents(count: int, tree: list[tuple[int, int]], root: int) -> Ints:
    """Return the next arm on the way to the root, -1 for the root and what is not connected."""
    parent = np.full(count, -1, dtype=np.int64)
    reached = [root]
    for arm in reached:
        for pair in tree:
            if arm in pair:
                other = pair[0] + pair[1] - arm
                if other != root and parent[other] < 0:
                    parent[other] = arm
                    reached.append(other)
    return parent
