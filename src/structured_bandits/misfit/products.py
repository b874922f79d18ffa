"""The likeliest model of a product: groups know nothing of each other, so each has its own."""

from __future__ import annotations

import math
from typing import ClassVar

from structured_bandits.arrays import Floats
from structured_bandits.misfit.likeliest import Counts, Likeliest, likeliest_on
from structured_bandits.misfit.scale import RewardScale
from structured_bandits.structures.base import hash_of
from structured_bandits.structures.questions import ModelLines


class GroupModels:
    """The models of a product's groups, each a table or a curve. Plain Python only."""

    compiles: ClassVar[bool] = False

    def __init__(self, groups: tuple[ModelLines, ...]) -> None:
        self.groups = groups

    def likeliest(self, scale: RewardScale, counts: Counts, totals: Floats) -> Likeliest:
        """Return the sum of the groups' highest log-likelihoods."""
        total, start = 0.0, 0
        for group in self.groups:
            arms = slice(start, start + group.first.shape[1])
            part = Counts(counts.first[arms], counts.second[arms])
            total += max(
                likeliest_on(scale, first, last, part, -math.inf).log_likelihood
                for first, last in zip(group.first, group.last, strict=True)
            )
            start = arms.stop
        return Likeliest(total, 0, 0.0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GroupModels) and self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash(self._facts())

    def _facts(self) -> str:
        return hash_of((), (part for group in self.groups for part in group))
