"""Convex sets of confusing models, and the model in each that an allocation refutes least."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.solvers.convex import least_quadratic
from structured_bandits.structures.curves.minimax import lowest_maximum
from structured_bandits.structures.polyhedral.cell import mean_ends
from structured_bandits.structures.polyhedral.regions import Region
from structured_bandits.structures.questions import Model
from structured_bandits.theory.divergence import Information

HALVINGS = 60  # of an interval of models, which exhausts its floats
INWARD = 1e-9  # how far from an end at which a divergence is infinite: it is a limit of the others
STEPS = 100  # of Newton's method
SOLVED = 5e-10  # by which a solver may miss the ends of the range of rewards, as a share of it


class ConfusingSet(Protocol):
    """A convex set of confusing models; x says which."""

    def starts(self) -> list[Floats]:
        """Return models to begin with."""

    def weakest(self, allocation: Floats) -> Floats:
        """Return the model that the allocation refutes least."""

    def means(self, x: Floats) -> Floats:
        """Return the means of a model."""

    def model(self, x: Floats) -> Model:
        """Return what the structure calls a model."""

    def distance(self) -> float:
        """Return the distance of the nearest model from the truth."""


class SegmentSet:
    """Models on a segment, between two vectors of means."""

    def __init__(
        self, information: Information, first: Floats, last: Floats, start: float, end: float
    ) -> None:
        self._information = information
        self._first, self._last, self._start, self._end = first, last, start, end

    def starts(self) -> list[Floats]:
        """Return the two ends and the middle."""
        return [self._inside(np.array([x])) for x in (0.0, 0.5, 1.0)]

    def weakest(self, allocation: Floats) -> Floats:
        """Halve the interval in which the slope of the convex divergence vanishes."""
        low, high = self._inside(np.zeros(1)), self._inside(np.ones(1))
        if self._slope(allocation, low) >= 0.0:
            return low
        if self._slope(allocation, high) <= 0.0:
            return high
        for _ in range(HALVINGS):
            x = 0.5 * (low + high)
            if self._slope(allocation, x) < 0.0:
                low = x
            else:
                high = x
        return high

    def means(self, x: Floats) -> Floats:
        """Return the means at a position."""
        return self._first + x[0] * (self._last - self._first)

    def model(self, x: Floats) -> Model:
        """Return the parameter at a position."""
        return float(self._start + x[0] * (self._end - self._start))

    def distance(self) -> float:
        """Return the distance of the nearest model from the truth."""
        first, last = self._first - self._information.truth, self._last - self._information.truth
        lines = np.array([[*first, *-first]]), np.array([[*last, *-last]])
        return float(lowest_maximum(*lines)[0][0])

    def _inside(self, x: Floats) -> Floats:
        finite = np.isfinite(self._information.of(self.means(x))).all()
        return x if finite else np.clip(x, INWARD, 1.0 - INWARD)

    def _slope(self, allocation: Floats, x: Floats) -> float:
        rise = self._last - self._first
        counts = (rise != 0.0) & (allocation > 0.0)
        steep = self._information.slope(self.means(x))
        return float((allocation * rise)[counts] @ steep[counts])


def check_range(information: Information, region: Region) -> None:
    """Raise if a model of a region has a mean that rewards of the family cannot have.

    The piece that it is a part of is looked at first, once for all of its parts.
    """
    if information.family != "bernoulli" or information.allows(mean_ends(region.polytope), SOLVED):
        return
    for arm, slope in enumerate(region.polytope.slopes):
        for sign in (1.0, -1.0):
            end = sign * region.extreme(sign * slope).value
            information.check(end + region.polytope.intercepts[[arm]], SOLVED)


class RegionSet:
    """Models of a polytope. The weakest is found by quadratic programs.

    For Gaussian rewards by one. For Bernoulli rewards by Newton's method: each step minimises the
    second-order model of the divergence over the polytope and is shortened until the divergence falls.
    """

    def __init__(
        self, information: Information, region: Region, name: Callable[[Region, Floats], Model]
    ) -> None:
        self._information, self._region, self._name = information, region, name
        everything = np.ones(len(information.truth))
        closest = self._project(everything, information.truth)
        self._closest, self._start = closest, closest + INWARD * (region.inner - closest)

    @property
    def is_impossible(self) -> bool:
        """Whether every model excludes an outcome that the truth allows, so that one pull tells them."""
        return not np.isfinite(self._information.of(self.means(self._start))).all()

    def starts(self) -> list[Floats]:
        """Return the model next to the truth."""
        return [self._inside(self._closest)]

    def weakest(self, allocation: Floats) -> Floats:
        """Return the model that the allocation refutes least."""
        if self._information.family == "gaussian":
            weights = allocation / self._information.sigma**2
            x = self._project(weights, self._information.truth)
        else:
            x = self._newton(allocation)
        return self._inside(x)

    def _inside(self, x: Floats) -> Floats:
        """Return a model next to x that excludes no outcome; x itself if it is such a one.

        Means close to an end of their range count as this end, so the first step may be too short.
        """
        inside, share = x, INWARD
        while not np.isfinite(self._information.of(self.means(inside))).all():
            inside = x + share * (self._start - x)
            share = min(10.0 * share, 1.0)
        return inside

    def means(self, x: Floats) -> Floats:
        """Return the means of a model; probabilities that only rounding keeps from 0 or 1 are these."""
        polytope = self._region.polytope
        return self._information.snapped(polytope.slopes @ x + polytope.intercepts)

    def model(self, x: Floats) -> Model:
        """Return what the structure calls a model."""
        return self._name(self._region, x)

    def distance(self) -> float:
        """Return the distance of the nearest model from the truth."""
        return -self._region.nearest(np.ones(len(self._information.truth))).value

    def _project(self, weights: Floats, target: Floats) -> Floats:
        """Minimise the sum of weights * (mean - target)^2 / 2 over the polytope."""
        region, slopes = self._region, self._region.polytope.slopes
        curvature = slopes.T @ (weights[:, None] * slopes)
        linear = slopes.T @ (weights * (region.polytope.intercepts - target))
        return least_quadratic(curvature, linear, region.rows, region.lower, region.upper)

    def _newton(self, allocation: Floats) -> Floats:
        x = self._start
        value = self._refuted(allocation, x)
        for _ in range(STEPS):
            means = self.means(x)
            counts = allocation > 0.0
            weights, slope = np.zeros(len(means)), np.zeros(len(means))
            weights[counts] = allocation[counts] * self._information.curvature(means)[counts]
            slope[counts] = allocation[counts] * self._information.slope(means)[counts]
            target = means - np.divide(
                slope, weights, out=np.zeros_like(slope), where=weights > 0.0
            )
            step = self._project(weights, target) - x
            falls = -float(slope @ (self._region.polytope.slopes @ step))
            length = 1.0
            while length > 1e-12 and self._refuted(allocation, x + length * step) > (
                value - 0.1 * length * falls
            ):
                length *= 0.5
            if falls <= 1e-13 * (1.0 + value) or length <= 1e-12:
                break
            x = x + length * step
            value = self._refuted(allocation, x)
        return x

    def _refuted(self, allocation: Floats, x: Floats) -> float:
        counts = allocation > 0.0
        return float(allocation[counts] @ self._information.of(self.means(x))[counts])
