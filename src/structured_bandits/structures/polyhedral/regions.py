"""Sets of models about which theory asks: a cell of a polytope and further conditions."""

from __future__ import annotations

import numpy as np

from structured_bandits.base.arrays import Flags, Floats
from structured_bandits.solvers.linear import TOLERANCE, Solution, maximise, solved
from structured_bandits.structures.polyhedral.cell import PolytopeCell, widest
from structured_bandits.structures.polyhedral.differences import differences

EQUATION_SLACK = 1e-2  # of a tolerance: by what equations and least distances may be missed


class Region:
    """The models of a cell that satisfy more conditions; some of its rows are strict.

    `inner` is a model that satisfies the strict ones by as much as possible. Where the region is not
    empty, infima are minima over its closure.
    """

    def __init__(
        self,
        cell: PolytopeCell,
        truth: Floats,
        tolerance: float,
        optimistic: bool = False,
        equal: Flags | None = None,
    ) -> None:
        self.cell, self.polytope, self.truth = cell, cell.polytope, truth
        self.near = EQUATION_SLACK * tolerance
        self.kept = np.flatnonzero(equal) if equal is not None else np.zeros(0, np.int64)
        slopes, shift = self.polytope.slopes, self.polytope.intercepts
        own = len(self.polytope.rows)
        rows, lower, upper = [cell.rows], [cell.lower], [cell.upper]
        strict = [np.arange(len(cell.lower)) >= own]
        if optimistic:
            rows.append(slopes[[cell.arm]])
            lower.append(truth.max() - shift[[cell.arm]])
            upper.append(np.array([np.inf]))
            strict.append(np.array([True]))
        if equal is not None:
            rows.append(slopes[equal])
            lower.append((truth - shift)[equal] - self.near)
            upper.append((truth - shift)[equal] + self.near)
            strict.append(np.zeros(int(equal.sum()), np.bool_))
        self.rows, self.strict = np.vstack(rows), np.concatenate(strict)
        self.lower, self.upper = np.concatenate(lower), np.concatenate(upper)
        best = solved(widest(self.rows, self.lower, self.upper, self.strict))
        self.inner = best.x[:-1]
        self.is_empty = not best.value > TOLERANCE

    def nearest(self, weights: Floats) -> Solution:
        """Minimise z over (x, z): no weighted distance of a mean from the truth exceeds z."""
        used = weights > 0.0
        sides, centre = self._distances(used, weights)
        count, arms = len(self.rows), int(used.sum())
        rows = np.zeros((count + 2 * arms + 1, self.polytope.dimension + 1))
        rows[:count, :-1] = self.rows
        rows[count : count + arms, :-1] = rows[count + arms : -1, :-1] = sides
        rows[count : count + arms, -1] = -1.0
        rows[count + arms :, -1] = 1.0
        nothing = np.full(arms, np.inf)
        objective = np.zeros(rows.shape[1])
        objective[-1] = -1.0
        return solved(
            maximise(
                objective,
                rows,
                np.concatenate([self.lower, -nothing, centre, [0.0]]),
                np.concatenate([self.upper, centre, nothing, [np.inf]]),
            )
        )

    def least_change(self, gap: float, weights: Floats) -> Floats:
        """Return, among the models of the closure within `gap`, one with the least sum of changes.

        The nearest model is rarely unique; this one changes no mean without need.
        """
        used = weights > 0.0
        sides, centre = self._distances(used, weights)
        slopes, arms = self.polytope.slopes, self.polytope.n_arms
        change = self.truth - self.polytope.intercepts
        near, count = np.vstack([self.rows, sides]), self.polytope.dimension
        rows = np.zeros((len(near) + 2 * arms, count + arms))
        rows[: len(near), :count] = near
        rows[len(near) : len(near) + arms] = np.hstack([slopes, -np.eye(arms)])
        rows[len(near) + arms :] = np.hstack([slopes, np.eye(arms)])
        nothing, loose = np.full(arms, np.inf), gap + self.near
        objective = np.concatenate([np.zeros(count), -np.ones(arms)])
        lower = np.concatenate([self.lower, centre - loose, -nothing, change])
        upper = np.concatenate([self.upper, centre + loose, change, nothing])
        return solved(maximise(objective, rows, lower, upper)).x[:count]

    def attains(self, gap: float, weights: Floats) -> bool:
        """Has a model that satisfies the strict rows strictly no larger distance than `gap`?"""
        used = weights > 0.0
        sides, centre = self._distances(used, weights)
        loose = gap + self.near
        best = widest(
            np.vstack([self.rows, sides]),
            np.concatenate([self.lower, centre - loose]),
            np.concatenate([self.upper, centre + loose]),
            np.concatenate([self.strict, np.zeros(len(sides), np.bool_)]),
        )
        return best.value > TOLERANCE

    def extreme(self, direction: Floats) -> Solution:
        """Maximise a combination of the parameters over the closure."""
        return solved(maximise(direction, self.rows, self.lower, self.upper))

    def smallest_change(self) -> Floats | None:
        """Return the confusing model that differs least from the truth on every arm at once, if any.

        A model in which the arm reaches the truth's best mean, and some arms keep their means, has other
        means of at least and at most what the differences from these allow, and within their limits; the
        arm itself is above the least means of all. If changing just what these require gives a model of
        the region, no other is harder to refute, whatever the allocation (docs/notes/mathematics.md 5.4:
        Lipschitz and unimodal arms, boxes).
        """
        known = differences(self.polytope)
        if known is None:
            return None
        arm, lead = self.cell.arm, known.most_lead
        low = np.maximum(self.truth.max() - lead[arm], known.low)
        low = np.maximum(
            low, (self.truth[self.kept, None] - lead[self.kept]).max(0, initial=-np.inf)
        )
        high = (self.truth[self.kept] + lead[:, self.kept]).min(axis=1, initial=np.inf)
        changed: Floats = np.clip(self.truth, low, np.minimum(high, known.high))
        changed[arm] = max(changed[arm], known.low.max())
        parameter = changed[: self.polytope.dimension]
        reached = self.rows @ parameter
        outside = np.maximum(self.lower - reached, reached - self.upper).max(initial=0.0)
        same = np.abs(self.polytope.means(parameter) - changed).max() <= self.near
        return parameter if same and outside <= TOLERANCE else None  # estimates are not more exact

    def _distances(self, used: Flags, weights: Floats) -> tuple[Floats, Floats]:
        centre = weights * (self.truth - self.polytope.intercepts)
        return (weights[:, None] * self.polytope.slopes)[used], centre[used]
