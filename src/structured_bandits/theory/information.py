"""What a pull of each arm tells between the truth and another model: divergences and their slopes."""

from __future__ import annotations

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.errors import ParameterError

SAME = 5e-11  # by which rounding may put a probability outside [0, 1], or keep it from an end


class Information:
    """Divergences from the true means, for Bernoulli or for Gaussian rewards.

    The best arm tells nothing: the models in question have its true mean, up to a tolerance.
    """

    def __init__(self, means: Floats, best_arm: int, family: str, sigma: float) -> None:
        if family not in ("bernoulli", "gaussian"):
            raise ParameterError(f"family={family!r}: accepted are 'bernoulli' and 'gaussian'")
        self.best_arm, self.family, self.sigma = best_arm, family, sigma
        self.check(means)
        self.truth = self._plain(means)

    def check(self, means: Floats) -> None:
        """Raise if means cannot be those of rewards of the family."""
        bad = means[(means < -SAME) | (means > 1.0 + SAME)]
        if self.family == "bernoulli" and len(bad):
            raise ParameterError(
                f"family='bernoulli': a mean of {bad[0]:g} is no probability; use family='gaussian'"
            )

    def of(self, means: Floats) -> Floats:
        """Return the divergence of other means (a vector, or models x arms), by arm."""
        if self.family == "gaussian":
            divergence = (self.truth - means) ** 2 / (2.0 * self.sigma**2)
        else:
            divergence = kl_bernoulli(self.truth, self._plain(means))
        divergence[..., self.best_arm] = 0.0
        return divergence

    def slope(self, means: Floats) -> Floats:
        """Return the derivatives of the divergences by the other means.

        An outcome that the truth excludes adds nothing, also where the model does.
        """
        if self.family == "gaussian":
            return (means - self.truth) / self.sigma**2
        means = self._plain(means)
        return _quotient(1.0 - self.truth, 1.0 - means) - _quotient(self.truth, means)

    def curvature(self, means: Floats) -> Floats:
        """Return the second derivatives of the divergences by the other means."""
        if self.family == "gaussian":
            return np.full(len(means), 1.0 / self.sigma**2)
        means = self._plain(means)
        return _quotient(1.0 - self.truth, (1.0 - means) ** 2) + _quotient(self.truth, means**2)

    def _plain(self, means: Floats) -> Floats:
        """Return means, those of probabilities that rounding put outside [0, 1] set right."""
        return means if self.family == "gaussian" else np.clip(means, 0.0, 1.0)


def kl_bernoulli(p: Floats, q: Floats) -> Floats:
    """Return KL(Bernoulli(p), Bernoulli(q)): 0 log 0 = 0, infinite where q excludes an outcome.

    The textbook's two terms nearly cancel for close p and q. With u = (q - p) / p and its mirror image v
    their linear parts cancel exactly, which leaves p (u - log(1 + u)) + (1 - p) (v - log(1 + v)).
    """
    return _half_divergence(p, q) + _half_divergence(1.0 - p, 1.0 - q)


def _half_divergence(p: Floats, q: Floats) -> Floats:
    """Return p (u - log(1 + u)) for u = (q - p) / p, by its series for small u; q for p = 0."""
    u = np.where(p > 0.0, (q - p) / np.where(p > 0.0, p, 1.0), 0.0)
    series = u * u * (1 / 2 - u * (1 / 3 - u * (1 / 4 - u * (1 / 5 - u * (1 / 6 - u / 7)))))
    with np.errstate(divide="ignore"):
        plain = u - np.log1p(u)
    return np.where(p > 0.0, p * np.where(np.abs(u) < 1e-3, series, plain), q)


def _quotient(a: Floats, b: Floats) -> Floats:
    """Return a / b with 0 / 0 = 0."""
    with np.errstate(divide="ignore"):
        return np.where(a > 0.0, a / np.where(a > 0.0, b, 1.0), 0.0)
