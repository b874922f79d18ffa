"""Divergences between the truth and another model by a pull of each arm, and their slopes."""

from __future__ import annotations

import numpy as np

from structured_bandits.base.arrays import Flags, Floats
from structured_bandits.base.families import divergence_of
from structured_bandits.errors import ParameterError

#: By which rounding may put a mean outside those of its family, or keep it from their ends, as a share
#: of their range.
MEAN_ROUNDING = 5e-11


class Information:
    """Divergences from the true means, for rewards of a family.

    The best arm tells nothing: the models in question have its true mean, up to a tolerance. Bernoulli
    rewards are the ends of `reward_range`; Gaussian ones have none.
    """

    def __init__(
        self,
        means: Floats,
        best_arm: int,
        family: str,
        sigma: float,
        reward_range: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        self._divergence = divergence_of(family, reward_range)
        self._width = reward_range[1] - reward_range[0]
        self.best_arm, self.family, self.sigma = best_arm, family, sigma
        self.check(means)
        self.truth = self._clipped(means)

    def check(self, means: Floats, rounding: float = MEAN_ROUNDING) -> None:
        """Raise if means cannot be those of rewards of the family, however they are rounded."""
        bad = means[self._outside(means, rounding)]
        if len(bad):
            lowest, highest = self._divergence.lowest, self._divergence.highest
            raise ParameterError(
                f"family={self.family!r}: a mean of {bad[0]:g} is outside [{lowest:g}, {highest:g}], "
                "the range of the rewards; declare theirs (reward_range=…), or use family='gaussian'"
            )

    def allows(self, means: Floats, rounding: float = MEAN_ROUNDING) -> bool:
        """Return whether all means can be those of rewards of the family, however they are rounded."""
        return not self._outside(means, rounding).any()

    def _outside(self, means: Floats, rounding: float) -> Flags:
        slack = rounding * self._width
        lowest, highest = self._divergence.lowest, self._divergence.highest
        outside: Flags = (means < lowest - slack) | (means > highest + slack)
        return outside

    def of(self, means: Floats) -> Floats:
        """Return the divergence of other means (a vector, or models x arms), by arm."""
        divergence = self._divergence.value(self.truth, self._clipped(means), self.sigma)
        divergence[..., self.best_arm] = 0.0
        return divergence

    def slope(self, means: Floats) -> Floats:
        """Return the derivatives of the divergences by the other means."""
        return self._divergence.slope(self.truth, self._clipped(means), self.sigma)

    def curvature(self, means: Floats) -> Floats:
        """Return the second derivatives of the divergences by the other means."""
        return self._divergence.curvature(self.truth, self._clipped(means), self.sigma)

    def snapped(self, means: Floats) -> Floats:
        """Return means; those that only rounding keeps from an end of their range are this end."""
        lowest, highest = self._divergence.lowest, self._divergence.highest
        near = MEAN_ROUNDING * self._width
        low, high = means < lowest + near, means > highest - near
        return np.where(low, lowest, np.where(high, highest, means))

    def _clipped(self, means: Floats) -> Floats:
        """Return means, those that rounding put outside their range set right."""
        return np.clip(means, self._divergence.lowest, self._divergence.highest)
