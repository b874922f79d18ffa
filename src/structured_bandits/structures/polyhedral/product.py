"""Products: groups of arms that know nothing of each other, and their cells.

An arm is best in a product where it is best in its group and every other group has a model whose best
mean is lower. Boxes have no part in common, so groups answer one by one and only their spans meet.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from itertools import product as combinations
from typing import Any, ClassVar

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.base.confidence import Box
from structured_bandits.errors import StructureError
from structured_bandits.solvers.linear import TOLERANCE
from structured_bandits.structures.base import (
    Structure,
    are_indices,
    counting,
    hash_of,
    warn_if_outside,
)
from structured_bandits.structures.finite.cells import FiniteCells
from structured_bandits.structures.polyhedral.difference_cells import (
    common_mean,
    difference_cells,
)
from structured_bandits.structures.polyhedral.polytope import Polytope, joined
from structured_bandits.structures.polyhedral.structure import PolyhedralStructure, mean_ranges
from structured_bandits.structures.questions import ModelBoxes, ModelLines, forget_history
from structured_bandits.structures.reward_ranges import UNIT, Range, hull
from structured_bandits.structures.spans import SpanCells

FEW_PIECES = 200  # more are not listed before theory asks for them
MOST_PIECES = 20_000

Span = tuple[float, float]
EMPTY: Span = (math.inf, -math.inf)


class ProductNotes:
    """What one run knows of a product: the notes of its groups, and the spans found last."""

    def __init__(self, groups: Sequence[Any]) -> None:
        self.groups = [group.fresh_notes() for group in groups]
        self.spans: list[Span] = []


class ProductCells(SpanCells):
    """The cells of the groups, side by side. It runs on the Python engine."""

    compiles: ClassVar[bool] = False
    tie = TOLERANCE

    def __init__(self, groups: Sequence[Any]) -> None:
        self.groups = tuple(groups)
        sizes = [group.arm_count() for group in groups]
        self._arms = sum(sizes)
        starts = np.cumsum([0, *sizes])
        self._slices = [slice(*ends) for ends in pairwise(starts)]
        self._group_arms = [
            np.asarray(group.best) + part.start
            for group, part in zip(groups, self._slices, strict=True)
        ]
        every = [
            (number, cell, int(starts[number] + arm))
            for number, group in enumerate(groups)
            for cell, arm in enumerate(group.best)
        ]
        self._cells = every
        free = np.full(self._arms, np.inf)
        spans = self._spans(Box(-free, free), self.fresh_notes())
        self._cells = [each for each, span in zip(every, spans, strict=True) if span != EMPTY]
        self.best: Ints = np.array([arm for _, _, arm in self._cells], dtype=np.int64)
        self.best_mean = common_mean(
            [getattr(self.groups[number], "best_mean", -math.inf) for number, _, _ in self._cells]
        )

    def arm_count(self) -> int:
        """Return the number of arms of all groups."""
        return self._arms

    def fresh_notes(self) -> ProductNotes:
        """Return the memory of a run that has found nothing yet."""
        return ProductNotes(self.groups)

    def forget(self, notes: ProductNotes) -> None:
        """Let every group forget what it has found."""
        for group, own in zip(self.groups, notes.groups, strict=True):
            forget_history(group, own)

    def best_arms_in(self, box: Box, found: Flags, notes: ProductNotes) -> bool:
        """Mark the arms whose cells meet the open box; is anything inside at all?"""
        found[:] = False
        for arm, span in zip(self.best, self._spans(box, notes), strict=True):
            found[arm] = found[arm] or span != EMPTY
        return bool(found.any())

    def fits(self, cell: int, box: Box, before: bool, notes: ProductNotes) -> bool:
        """Ask all groups at once, when the first cell is asked for; the answers hold for the rest."""
        if cell == 0:
            notes.spans = self._spans(box, notes)
        return True

    def span(self, cell: int, box: Box, notes: ProductNotes) -> Span:
        """Return the span of a cell, as found by `fits`."""
        return notes.spans[cell]

    def _spans(self, box: Box, notes: ProductNotes) -> list[Span]:
        """Return the spans of all cells: those of the groups, above what the other groups reach."""
        own = [
            group_spans(group, Box(box.low[part], box.high[part]), own)
            for group, part, own in zip(self.groups, self._slices, notes.groups, strict=True)
        ]
        return [
            _above_others(own[number][cell], arm, number, own, self._group_arms)
            for number, cell, arm in self._cells
        ]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProductCells) and self.groups == other.groups

    def __hash__(self) -> int:
        return hash(self.groups)


def group_spans(group: Any, box: Box, notes: Any) -> list[Span]:
    """Return the spans of the cells of one group."""
    if isinstance(group, FiniteCells):
        inside = np.all((box.low < group.table) & (group.table < box.high), axis=1).tolist()
        values = group.table[np.arange(len(group.best)), group.best].tolist()
        return [(v, v) if fits else EMPTY for v, fits in zip(values, inside, strict=True)]
    spans = []
    fits = False
    for cell in range(len(group.best)):
        fits = group.fits(cell, box, fits, notes)
        lowest, highest = group.span(cell, box, notes) if fits else EMPTY
        spans.append((float(lowest), float(highest)) if lowest <= highest else EMPTY)
    return spans


def _above_others(
    span: Span, arm: int, group: int, spans: list[list[Span]], arms: list[Any]
) -> Span:
    """Return the part of a span above a model of each other group; EMPTY if there is none.

    Cells in which the best mean is always the same can tie exactly; the lower arm is best then.
    """
    lowest, highest = span
    if span == EMPTY:
        return EMPTY
    for other in range(len(spans)):
        if other == group:
            continue
        floor = min((each[0] for each in spans[other]), default=math.inf)
        if highest > floor + TOLERANCE:
            lowest = max(lowest, floor)
        elif not (lowest == highest and _ties(highest, arm, spans[other], arms[other])):
            return EMPTY
    return lowest, highest


def _ties(value: float, arm: int, spans: list[Span], arms: Any) -> bool:
    """Has the other group a cell with just this best mean, of a higher arm?"""
    return any(
        low == high and abs(low - value) <= TOLERANCE and arm < other
        for (low, high), other in zip(spans, arms, strict=True)
    )


class ProductStructure(PolyhedralStructure):
    """Independent groups of arms; policies ask each group by itself.

    The pieces of a product are all combinations of the pieces of its groups. Policies other than
    GreedyMLE do without them, theory lists them. Rewards lie in the least range that holds those of the
    groups unless `reward_range` is given, and the prior is made of theirs.
    """

    def __init__(
        self,
        groups: Sequence[Structure],
        arms: Sequence[str],
        reward_range: Range | None = None,
    ) -> None:
        self.groups = tuple(groups)
        self._inherited = hull(group.reward_range for group in groups)
        few = math.prod(len(group.polytopes) for group in groups) <= FEW_PIECES
        simple = difference_cells(self.pieces) if few else None
        cells = simple or ProductCells([group.cells for group in groups])
        said = self._inherited if reward_range is None else reward_range
        Structure.__init__(self, cells, arms, joined_priors(groups), said)
        if self.reward_range != self._inherited:  # otherwise the groups have warned
            warn_if_outside(np.round(self.mean_ranges, 9), self.reward_range)

    @cached_property
    def pieces(self) -> tuple[Polytope, ...]:  # type: ignore[override]
        """All combinations of the groups' pieces."""
        sizes = [len(group.polytopes) for group in self.groups]
        if math.prod(sizes) > MOST_PIECES:
            raise StructureError(
                f"product: {' × '.join(map(str, sizes))} = {math.prod(sizes)} pieces are too many for "
                f"theory and least squares (at most {MOST_PIECES})"
            )
        return tuple(
            joined(parts, name=" × ".join(str(part.name) for part in parts))
            for parts in combinations(*(group.polytopes for group in self.groups))
        )

    @property
    def piece_count(self) -> int:
        """The number of combinations of the groups' pieces."""
        return math.prod(len(group.polytopes) for group in self.groups)

    @property
    def model_lines(self) -> tuple[ModelLines, ...]:
        """The lines of the groups; there are none if a group has none, as polytopes do."""
        return tuple(lines for group in self.groups for lines in group.model_lines)  # type: ignore[attr-defined]

    @property
    def model_groups(self) -> tuple[ModelLines | ModelBoxes, ...]:
        """The models of the groups; there are none if a group has none, as polytopes do."""
        return tuple(models for group in self.groups for models in group.model_groups)

    @cached_property
    def mean_ranges(self) -> Floats:
        """The least and the largest mean of each arm (arms × 2)."""
        known = (getattr(group, "mean_ranges", None) for group in self.groups)
        return np.vstack(
            [
                mean_ranges(group.polytopes) if ends is None else ends
                for group, ends in zip(self.groups, known, strict=True)
            ]
        )

    def models_in(self, box: Box) -> tuple[Any, ...]:
        """Return what each group has inside its part of an open box of means."""
        ends = np.cumsum([0, *(group.n_arms for group in self.groups)])
        return tuple(
            group.models_in(Box(box.low[start:end], box.high[start:end]))
            for group, (start, end) in zip(self.groups, pairwise(ends), strict=True)
        )

    def _fingerprint(self, said: bool) -> str:
        """Return a hash of the groups, and of names and range if these are not those of the groups."""
        names = () if self.arm_names == joined_names(self.groups) else self.arm_names
        return self._hash(names, said)

    def _hash(self, names: tuple[str, ...], said: bool) -> str:
        groups = (group._fingerprint(said) for group in self.groups)
        own = hash_of(["product", *names, "", *groups])
        if not said or self.range_of_rewards == (self._inherited or UNIT):
            return own
        return hash_of([own, "reward_range"], [self.range_of_rewards])

    def _first_fingerprint(self) -> str:
        named = self.arm_names != joined_names(self.groups)
        names = self.arm_names if named else first_joined_names(self.groups)
        parts = [*names, *(group._first_fingerprint() for group in self.groups)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def __repr__(self) -> str:
        return (
            f"ProductStructure({len(self.groups)} groups × {self.n_arms} arms, "
            f"{len(self.best_arms)} arms best in some model{self._rewards_in_words()})"
        )


def joined_priors(groups: Sequence[Structure]) -> list[Any] | None:
    """Return the priors of the groups, those of a product one by one; None if none is given.

    A single one is not a list of one: it is that of the group.
    """
    priors: list[Any] = []
    for group in groups:
        count = len(getattr(group, "model_lines", [None]))
        priors += group.prior or [None] * count if count != 1 else [group.prior]
    if all(prior is None for prior in priors):
        return None
    return priors if len(priors) > 1 else priors[0]


def joined_names(groups: Sequence[Structure]) -> tuple[str, ...]:
    """Return the names of all groups' arms; those of a group without names are indices in the product.

    Names that several groups have get the number of their group before them.
    """
    names: list[str] = []
    for group in groups:
        own = (
            counting(group.n_arms, len(names)) if are_indices(group.arm_names) else group.arm_names
        )
        names += own
    if len(set(names)) == len(names):
        return tuple(names)
    return tuple(f"{place}.{name}" for place, name in zip(_places(groups), names, strict=True))


def first_joined_names(groups: Sequence[Structure]) -> tuple[str, ...]:
    """Return the names that version 0.1.0 gave: groups and unnamed arms were counted from 1."""
    names = tuple(name for group in groups for name in group._first_names())
    if len(set(names)) == len(names):
        return names
    return tuple(f"{place + 1}.{name}" for place, name in zip(_places(groups), names, strict=True))


def _places(groups: Sequence[Structure]) -> list[int]:
    """Return for each arm of a product the place of its group."""
    return [place for place, group in enumerate(groups) for _ in range(group.n_arms)]
