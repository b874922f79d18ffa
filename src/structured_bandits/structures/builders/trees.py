"""Spanning trees of a graph of arms, for unimodal structures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Ints
from structured_bandits.errors import StructureError

MOST_TREES = 2000  # each is a piece for every peak


def spanning_trees(count: int, edges: Sequence[tuple[int, int]] | None) -> SpanningTrees:
    """Return the spanning trees of a graph of arms; by default arms stand in a row."""
    if edges is None:
        return SpanningTrees(count, [(arm, arm + 1) for arm in range(count - 1)], 1)
    pairs = _checked(count, edges)
    if not _connect(count, pairs):
        raise StructureError(f"edges: they do not connect all {count} arms")
    return SpanningTrees(count, pairs, _number_of_trees(count, pairs))


class SpanningTrees(NamedTuple):
    """The spanning trees of a graph: their number is known before they are found."""

    arms: int
    pairs: list[tuple[int, int]]
    number: int

    def rooted(self) -> Iterator[tuple[str, Ints, Ints]]:
        """Yield every tree with every root: a name, the arms, and the parent of each (-1: root)."""
        for number, tree in enumerate(_trees(self.arms, self.pairs), start=1):
            for root in range(self.arms):
                name = f"peak {root}" + (f", tree {number}" if self.number > 1 else "")
                yield name, np.arange(self.arms), _parents(self.arms, tree, root)


def _checked(count: int, edges: Any) -> list[tuple[int, int]]:
    try:
        pairs = sorted(
            {(min(a, b), max(a, b)) for a, b in ((_index(a), _index(b)) for a, b in edges)}
        )
    except (TypeError, ValueError):
        raise StructureError(f"edges={edges!r}: expected pairs of arms") from None
    for first, second in pairs:
        if first == second:
            raise StructureError(f"edges: ({first}, {second}) is no pair of different arms")
        if not 0 <= first < second < count:
            raise StructureError(f"edges: ({first}, {second}) is outside the arms 0 to {count - 1}")
    return pairs


def _index(arm: Any) -> int:
    if isinstance(arm, bool):
        raise TypeError("True and False are no arms")
    return index(arm)


def _number_of_trees(count: int, pairs: list[tuple[int, int]]) -> int:
    """Return the number of spanning trees, a determinant (Kirchhoff); raise if there are too many."""
    if len(pairs) == count - 1:  # the graph is a tree
        return 1
    laplacian = np.zeros((count, count))
    for first, second in pairs:
        laplacian[[first, second], [first, second]] += 1.0
        laplacian[[first, second], [second, first]] -= 1.0
    trees = float(np.linalg.det(laplacian[1:, 1:]))
    if trees > MOST_TREES + 0.5:
        raise StructureError(
            f"edges: the graph has {trees:,.0f} spanning trees, more than {MOST_TREES}; "
            "leave out edges until few cycles are left"
        )
    return round(trees)


def _trees(count: int, pairs: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Yield the spanning trees of a connected graph, those with its first edges first.

    A way of going on is a list of edges chosen and a list of edges left that together connect all
    arms. The last one found goes on first; a tree may have more edges than Python allows nested calls.
    """
    ways: list[tuple[list[tuple[int, int]], list[tuple[int, int]]]] = [([], pairs)]
    while ways:
        chosen, left = ways.pop()
        if len(chosen) + len(left) == count - 1:  # all of them are needed
            yield chosen + left
            continue
        edge, rest = left[0], left[1:]
        if _connect(count, chosen + rest):
            ways.append((chosen, rest))
        if _parents(count, chosen, edge[0])[edge[1]] < 0:  # it closes no cycle
            ways.append(([*chosen, edge], rest))


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
