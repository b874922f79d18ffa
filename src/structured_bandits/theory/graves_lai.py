"""The lower bound of Graves and Lai: the cheapest pulls that refute every confusing model.

C = min sum_i eta_i Delta_i over eta >= 0 with sum_i eta_i KL_i(truth, model) >= 1 for every model with
another best arm that agrees with the truth on the best one. Finitely many models make a linear
program. On an interval of models the divergence is convex, and models are added where the present
solution refutes too little (cutting planes), until none lacks more than `SLACK`: an approximation
from below, good to about eight digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.errors import ParameterError, StructuredBanditsError
from structured_bandits.structures.distances import Confusing, Model
from structured_bandits.structures.minimax import lowest_maximum

SLACK = 1e-8  # by which a constraint may be missed
SMALL = 1e-9  # cost of a pull beside its gap: among equally cheap allocations, the smallest
BATCH = 64  # models added to the program at a time
HALVINGS = 60  # of an interval of models, which exhausts its floats


@dataclass(frozen=True)
class LowerBound:
    """The regret of a consistent policy is at least `constant` log n, as n grows.

    `allocation` has the pulls of each arm, in units of log n, that attain it; `binding` the models that
    enforce it. The constant is 0 if no confusing model exists, or if refuting them costs nothing; it is
    infinite if no allocation refutes them all (the truth is tied and their limit).
    """

    family: str
    constant: float
    allocation: Floats
    binding: tuple[Model, ...]


def graves_lai(
    confusing: Sequence[Confusing],
    means: Floats,
    gaps: Floats,
    best_arm: int,
    family: str,
    sigma: float,
) -> LowerBound:
    """Solve the program for the confusing models given."""
    program = _Program(means, gaps, best_arm, family, sigma)
    for segments in confusing:
        program.add(segments)
    return program.solve()


class _Program:
    """The linear program and the models that constrain it: single ones, and segments of them."""

    def __init__(
        self, means: Floats, gaps: Floats, best_arm: int, family: str, sigma: float
    ) -> None:
        if family not in ("bernoulli", "gaussian"):
            raise ParameterError(f"family={family!r}: accepted are 'bernoulli' and 'gaussian'")
        self.means, self.gaps, self.best_arm = means, gaps, best_arm
        self.family, self.sigma = family, sigma
        self.tied = int((gaps == 0.0).sum()) > 1
        self.hopeless = False
        self.singles: list[Floats] = []  # divergences, models x arms
        self.single_models: list[Model] = []
        self.segments: list[_Segment] = []
        self.rows: dict[
            tuple[int, float], Floats
        ] = {}  # of the program, by single or by segment, x
        self.models: list[Model] = []

    def add(self, confusing: Confusing) -> None:
        """Add confusing models.

        A model that excludes what the truth allows has an infinite divergence: one outcome rules it
        out, and pulls that cost nothing in the limit find it. It constrains nothing. Inside a segment
        the divergence is infinite everywhere or nowhere, so its middle tells.
        """
        if self.family == "bernoulli":
            for values in (self.means, confusing.first, confusing.last):
                _check_probabilities(values)
        middle = self._divergence(0.5 * (confusing.first + confusing.last))
        possible = np.isfinite(middle).all(axis=1)
        single = confusing.start == confusing.end
        self.singles += list(middle[possible & single])
        self.single_models += confusing.start[possible & single].tolist()
        for index in np.flatnonzero(possible & ~single):
            segment = _Segment(
                confusing.first[index],
                confusing.last[index],
                float(confusing.start[index]),
                float(confusing.end[index]),
            )
            self.segments.append(segment)
            self.hopeless |= self.tied and segment.distance(self.means) <= SLACK

    def solve(self) -> LowerBound:
        """Alternate between the linear program and the models that it refutes too little."""
        if self.hopeless:  # a tied truth that is the limit of confusing models
            unknown = np.full(len(self.means), math.nan)
            return LowerBound(self.family, math.inf, unknown, ())
        for number, segment in enumerate(self.segments):
            for x in (0.0, 0.5, 1.0):
                self._cut(number, segment, x)
        new = True
        while new:
            allocation = self._cheapest()
            new = self._add_singles(allocation)
            for number, segment in enumerate(self.segments):
                x = self._weakest(segment, allocation)
                if allocation @ self._divergence(segment.means(x)) < 1.0 - SLACK:
                    new |= self._cut(number, segment, x)
        tight = {
            model
            for model, row in zip(self.models, self.rows.values(), strict=True)
            if row @ allocation <= 1.0 + 1e-6
        }
        constant = float(self.gaps @ allocation)
        return LowerBound(self.family, constant, allocation, tuple(sorted(tight)))

    def _add_singles(self, allocation: Floats) -> bool:
        """Add the single models that are refuted least; is there any?"""
        if not self.singles:
            return False
        refuted = np.array(self.singles) @ allocation
        short = [i for i in np.argsort(refuted, kind="stable")[:BATCH] if refuted[i] < 1.0 - SLACK]
        before = len(self.rows)
        for index in short:
            if (-1, float(index)) not in self.rows:
                self.rows[-1, float(index)] = self.singles[index]
                self.models.append(self.single_models[index])
        return len(self.rows) > before

    def _cut(self, number: int, segment: _Segment, x: float) -> bool:
        """Add the model at a place of a segment; is it a new one?"""
        x = self._inside(segment, x)
        if (number, x) in self.rows:
            return False
        self.rows[number, x] = self._divergence(segment.means(x))
        self.models.append(segment.model(x))
        return True

    def _inside(self, segment: _Segment, x: float) -> float:
        """Keep away from an end at which a divergence is infinite: it is a limit of the others."""
        if x in (0.0, 1.0) and not np.isfinite(self._divergence(segment.means(x))).all():
            return 1e-9 if x == 0.0 else 1.0 - 1e-9
        return x

    def _cheapest(self) -> Floats:
        """Return the cheapest allocation for the present rows."""
        if not self.rows:
            return np.zeros(len(self.means))
        from scipy.optimize import linprog

        rows = np.array(list(self.rows.values()))
        scale = rows.max(axis=1)
        unit = scale.min()  # pulls are counted in 1 / unit, costs in the largest gap
        most = np.full(len(self.means), np.inf)
        most[self.best_arm] = 0.0  # refutes nothing
        solution = linprog(
            self.gaps / max(self.gaps.max(), 1e-300) + SMALL,
            A_ub=-rows / scale[:, None],
            b_ub=-unit / scale,
            bounds=np.column_stack([np.zeros(len(most)), most]),
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if solution.status != 0:
            raise StructuredBanditsError(f"the Graves-Lai program failed: {solution.message}")
        return np.asarray(solution.x) / unit

    def _divergence(self, other: Floats) -> Floats:
        """Return the divergence of other means (a vector, or models x arms) from the truth, by arm."""
        if self.family == "gaussian":
            divergence = (self.means - other) ** 2 / (2.0 * self.sigma**2)
        else:
            divergence = kl_bernoulli(self.means, other)
        divergence[..., self.best_arm] = 0.0  # equal up to the tolerance of the analysis
        return divergence

    def _weakest(self, segment: _Segment, allocation: Floats) -> float:
        """Return the place of a segment at which the allocation refutes least.

        The divergence is convex along the segment: halve the interval in which its slope vanishes.
        """
        low, high = self._inside(segment, 0.0), self._inside(segment, 1.0)
        if self._slope(segment, allocation, low) >= 0.0:
            return low
        if self._slope(segment, allocation, high) <= 0.0:
            return high
        for _ in range(HALVINGS):
            x = 0.5 * (low + high)
            if self._slope(segment, allocation, x) < 0.0:
                low = x
            else:
                high = x
        return high

    def _slope(self, segment: _Segment, allocation: Floats, x: float) -> float:
        """Return the derivative of the refuting information along the segment."""
        other, p = segment.means(x), self.means
        rise = segment.last - segment.first
        if self.family == "gaussian":
            steep = (other - p) / self.sigma**2
        else:  # an outcome that the truth excludes adds nothing, also where the model does
            steep = _quotient(1.0 - p, 1.0 - other) - _quotient(p, other)
        counts = (rise != 0.0) & (allocation > 0.0)
        return float((allocation * rise)[counts] @ steep[counts])


@dataclass(frozen=True)
class _Segment:
    """Confusing models between two ends."""

    first: Floats
    last: Floats
    start: float
    end: float

    def means(self, x: float) -> Floats:
        return self.first + x * (self.last - self.first)

    def model(self, x: float) -> float:
        return self.start + x * (self.end - self.start)

    def distance(self, means: Floats) -> float:
        first, last = self.first - means, self.last - means
        lines = np.array([[*first, *-first]]), np.array([[*last, *-last]])
        return float(lowest_maximum(*lines)[0][0])


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


def _check_probabilities(means: Floats) -> None:
    bad = means[(means < 0.0) | (means > 1.0)]
    if len(bad):
        raise ParameterError(
            f"family='bernoulli': a mean of {bad[0]:g} is no probability; use family='gaussian'"
        )
