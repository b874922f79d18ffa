"""The models of boxes, tables whose means are known up to margins: how likely they are at most.

The arms of a box know nothing of each other, so the likeliest model has each mean as near to its average
as the box lets it. Where an arm has to be best, no other mean may be above its own: a concave function
of that one number.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.inference.misfit.reward_likelihood import Counts
from structured_bandits.inference.shares import (
    InShares,
    LikeliestModel,
    PieceCell,
    log_likelihood_of,
)
from structured_bandits.structures.questions import ModelBoxes
from structured_bandits.structures.reward_ranges import Rewards

HALVINGS = 60


class MarginModels(InShares):
    """The models of boxes and rewards of one kind, as `polytope_models.PolytopeModels` are asked."""

    def __init__(self, boxes: ModelBoxes, cells: list[PieceCell], rewards: Rewards) -> None:
        self.set_rewards(rewards)
        low, high = self.shares(boxes.least), self.shares(boxes.most)
        if self.variance == 0.0:
            low, high = low.clip(0.0, 1.0), high.clip(0.0, 1.0)
        self.low: Floats = low
        self.high: Floats = high
        self.cells = cells
        self.arms = low.shape[1]

    def likeliest(self, counts: Counts) -> LikeliestModel | None:
        """Return the likeliest model of all boxes; None if none explains the data."""
        models = np.clip(self._averages(counts), self.low, self.high)
        logs = [log_likelihood_of(model, counts, self.variance) for model in models]
        best = int(np.argmax(logs))
        return LikeliestModel(models[best], best) if logs[best] > -math.inf else None

    def centre(self, counts: Counts, piece: int) -> Floats | None:
        """Return None: boxes have one estimate."""
        return None

    def highest(
        self,
        cell: int,
        counts: Counts,
        lead: tuple[int, float] | None = None,
        pressure: float = 0.0,
    ) -> tuple[float, Floats | None]:
        """Return the highest log-likelihood in a cell, and the shares where it is reached.

        With a lead (an arm, and how much) only models count in which the cell's arm is so much better
        than this one. (It is exact: there is no pressure.)
        """
        box, arm = self.cells[cell]
        low, high = self.low[box], self.high[box]
        less = np.zeros(self.arms)  # how far below the best arm each other one has to be
        if lead is not None:
            less[lead[0]] = lead[1] / self.width
        others = np.arange(self.arms) != arm
        least = max(float(low[arm]), float((low + less)[others].max(initial=-math.inf)))
        most = float(high[arm])
        if least > most:
            return -math.inf, None
        free = np.clip(self._averages(counts), low, high)

        def model(best: float) -> Floats:
            means = np.minimum(free, best - less)
            means[arm] = best
            return means

        left, right = least, most
        for _ in range(HALVINGS):
            middle = 0.5 * (left + right)
            if self._slope(model(middle), counts, (free > middle - less) | ~others) > 0.0:
                left = middle
            else:
                right = middle
        found = max((model(each) for each in (left, right, least, most)), key=self._value(counts))
        log = log_likelihood_of(found, counts, self.variance)
        return (log, found) if log > -math.inf else (log, None)

    def _value(self, counts: Counts) -> Any:
        return lambda means: log_likelihood_of(means, counts, self.variance)

    def nearer_arm(self, arm: int, cell: int) -> int:
        """Return the best arm of the cell."""
        return self.cells[cell].arm

    def _averages(self, counts: Counts) -> Floats:
        pulls = counts.second if self.variance > 0.0 else counts.first + counts.second
        return np.divide(counts.first, pulls, out=np.full(self.arms, 0.5), where=pulls > 0.0)

    def _slope(self, means: Floats, counts: Counts, moving: Any) -> float:
        """Return how the log-likelihood rises with the means that move."""
        first, second, means = counts.first[moving], counts.second[moving], means[moving]
        if self.variance > 0.0:
            return float((first - second * means).sum())
        with np.errstate(divide="ignore", invalid="ignore"):
            rise = np.where(first > 0.0, first / means, 0.0)
            fall = np.where(second > 0.0, second / (1.0 - means), 0.0)
        return float(rise.sum() - fall.sum())


def margin_models(structure: Any, rewards: Rewards) -> MarginModels:
    """Return the models of a structure of boxes."""
    cells = structure.cells
    pairs = zip(cells.model.tolist(), cells.best.tolist(), strict=True)
    found = [PieceCell(model, arm) for model, arm in pairs]
    return MarginModels(ModelBoxes(cells.least, cells.most), found, rewards)
