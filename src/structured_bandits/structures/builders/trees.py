"""Spanning trees of a graph of arms, for unimodal structures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import index
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
        pairs = sorted(
            {(min(a, b), max(a, b)) for a, b in ((index(a), index(b)) for a, b in edges)}
        )
    except (TypeError, ValueError):
        raise StructureError(f"edges={edges!r}: expected pairs of arms") from None
    for first, second in pairs:
        if first == second:
            raise StructureError(f"edges: ({first}, {second}) is no pair of different arms")
        if not 0 <= first < second < count:
            raise StructureError(f"edges: ({first}, {second}) is outside the arms 0 to {count - 1}")
    return pairs


def _spanning_trees(count: int, pairs: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Yield the spanning trees; their number is a determinant (Kirchhoff), so it is known before."""
    if not _connect(count, pairs):
        raise StructureError(f"edges: they do not connect all {count} arms")
    laplacian = np.zeros((count, count))
    for first, second in pairs:
        laplacian[[first, second], [first, second]] += 1.0
        laplacian[[first, second], [second, first]] -= 1.0
    trees = float(np.linalg.det(laplacian[1:, 1:])) if count > 1 else 1.0
    if trees > MOST_TREES + 0.5:
        raise StructureError(
            f"edges: the graph has {trees:,.0f} spanning trees, more than {MOST_TREES}; "
            "leave out edges until few cycles are left"
        )
    yield from _trees(count, [], pairs)


def _trees(
    count: int, chosen: list[tuple[int, int]], left: list[tuple[int, int]]
) -> Iterator[list[tuple[int, int]]]:
    """Yield the spanning trees with the edges chosen: with the first edge left, then without it."""
    if len(chosen) == count - 1:
        yield chosen
        return
    edge, rest = left[0], left[1:]
    if _parents(count, chosen, edge[0])[edge[1]] < 0:  # it closes no cycle
        yield from _trees(count, [*chosen, edge], rest)
    if _connect(count, chosen + rest):
        yield from _trees(count, chosen, rest)


def _connect(count: int, pairs: list[tuple[int, int]]) -> bool:
    return bool((_parents(count, pairs, 0)[1:] >= 0).all())


def _parents(count: int, tree: list[tuple[int, int]], root: int) -> Ints:
    """Return the next arm on a way to the root, -1 for the root and what is not connected."""
    neighbours: dict[int, list[int]] = {arm: [] for arm in range(count)}
    for first, second in tree:
        neighbours[first].append(second)
        neighbours[second].append(first)
    parent = np.full(count, -1, dtype=np.int64)
    reached = [root]
    for arm in reached:
        for other in neighbours[arm]:
            if other != root and parent[other] < 0:
                parent[other] = arm
                reached.append(other)
    return parent
