"""The lower bound of Graves and Lai: the cheapest pulls that refute every confusing model.

C = min sum_i eta_i Delta_i over eta >= 0 with sum_i eta_i KL_i(truth, model) >= 1 for every model with
another best arm that agrees with the truth on the best one. Finitely many models make a linear
program. On an interval of models the divergence is convex, and models are added where the present
solution refutes too little (cutting planes), until none lacks more than `SLACK`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.errors import ParameterError, StructuredBanditsError
from structured_bandits.structures.distances import Confusing, Model

SLACK = 1e-9  # by which a constraint may be missed
SMALL = 1e-9  # cost of a pull beside its gap: among equally cheap allocations, the smallest
HALVINGS = 200  # of an interval of models; 60 exhaust its floats


@dataclass(frozen=True)
class LowerBound:
    """The regret of a consistent policy is at least `constant` log n, as n grows.

    `allocation` has the pulls of each arm, in units of log n, that attain it; `binding` the models that
    enforce it. A constant of 0 means that no confusing model exists; an infinite one that no
    allocation refutes them all (the truth is tied).
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
        models = segments.start.tolist(), segments.end.tolist()
        for first, last, start, end in zip(segments.first, segments.last, *models, strict=True):
            program.add(_Segment(first, last, start, end))
    return program.solve()


@dataclass(frozen=True)
class _Segment:
    """Confusing models between two ends; a single one if they are equal."""

    first: Floats
    last: Floats
    start: Model
    end: Model

    def means(self, x: float) -> Floats:
        return self.first + x * (self.last - self.first)

    def model(self, x: float) -> Model:
        return self.start if self.start == self.end else self.start + x * (self.end - self.start)


class _Program:
    def __init__(
        self, means: Floats, gaps: Floats, best_arm: int, family: str, sigma: float
    ) -> None:
        if family not in ("bernoulli", "gaussian"):
            raise ParameterError(f"family={family!r}: accepted are 'bernoulli' and 'gaussian'")
        self.means, self.gaps, self.best_arm = means, gaps, best_arm
        self.family, self.sigma = family, sigma
        self.segments: list[_Segment] = []
        self.rows: list[Floats] = []
        self.models: list[Model] = []

    def add(self, segment: _Segment) -> None:
        """Add the constraints of a segment: at first those of its ends and its middle.

        A model whose divergence from the truth is infinite is refuted by pulls that cost nothing in
        the limit (one outcome rules it out), so it constrains nothing.
        """
        if self.family == "bernoulli":
            _check_probabilities(self.means, segment)
        self.segments.append(segment)
        single = segment.start == segment.end
        for x in (0.5,) if single else (0.0, 0.5, 1.0):
            self._cut(segment, x)

    def solve(self) -> LowerBound:
        """Alternate between the linear program and the models it refutes too little."""
        while True:
            allocation = self._cheapest()
            if allocation is None:
                unknown = np.full(len(self.means), math.nan)
                return LowerBound(self.family, math.inf, unknown, tuple(self.models))
            short = [
                (segment, x)
                for segment in self.segments
                if segment.start != segment.end
                for x in [self._weakest(segment, allocation)]
                if allocation @ self._divergence(segment.means(x)) < 1.0 - SLACK
            ]
            for segment, x in short:
                self._cut(segment, x)
            if not short:
                break
        refuted = np.array(self.rows).reshape(-1, len(self.means)) @ allocation
        tight = [m for m, r in zip(self.models, refuted, strict=True) if r <= 1.0 + 1e-7]
        return LowerBound(
            self.family, float(self.gaps @ allocation), allocation, tuple(sorted(set(tight)))
        )

    def _cut(self, segment: _Segment, x: float) -> None:
        row = self._divergence(segment.means(x))
        if np.isfinite(row).all():
            self.rows.append(row)
            self.models.append(segment.model(x))

    def _cheapest(self) -> Floats | None:
        """Return the cheapest allocation for the present rows, None if there is none."""
        if not self.rows:
            return np.zeros(len(self.means))
        from scipy.optimize import linprog

        rows = np.array(self.rows)
        if (rows.max(axis=1) == 0.0).any():
            return None
        scale = rows.max(axis=1, keepdims=True)
        most = np.full(len(self.means), np.inf)
        most[self.best_arm] = 0.0  # refutes nothing
        solution = linprog(
            self.gaps + SMALL,
            A_ub=-rows / scale,
            b_ub=-1.0 / scale[:, 0],
            bounds=np.column_stack([np.zeros(len(most)), most]),
        )
        if solution.status != 0:
            raise StructuredBanditsError(f"the Graves-Lai program failed: {solution.message}")
        return np.asarray(solution.x)

    def _divergence(self, other: Floats) -> Floats:
        if self.family == "gaussian":
            row = (self.means - other) ** 2 / (2.0 * self.sigma**2)
        else:
            row = kl_bernoulli(self.means, other)
        row[self.best_arm] = 0.0  # equal up to the tolerance of the analysis
        return row

    def _weakest(self, segment: _Segment, allocation: Floats) -> float:
        """Return the place of a segment at which the allocation refutes least.

        The divergence is convex along the segment: halve the interval in which its slope vanishes.
        """
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            x = 0.5 * (low + high)
            if x in (low, high):
                break
            if self._slope(segment, allocation, x) < 0.0:
                low = x
            else:
                high = x
        return 1.0 if self._slope(segment, allocation, 1.0) <= 0.0 else high if low > 0.0 else low

    def _slope(self, segment: _Segment, allocation: Floats, x: float) -> float:
        other = segment.means(x)
        away = other - self.means
        away[self.best_arm] = 0.0
        scale = np.full(len(other), self.sigma**2)
        if self.family == "bernoulli":
            scale = other * (1.0 - other)
        moves = (segment.last != segment.first) & (allocation > 0.0) & (away != 0.0)
        with np.errstate(divide="ignore"):
            pull = allocation[moves] * away[moves] / scale[moves]
        return float(pull @ (segment.last - segment.first)[moves])


def kl_bernoulli(p: Floats, q: Floats) -> Floats:
    """Return KL(Bernoulli(p), Bernoulli(q)): 0 log 0 = 0, infinite where q excludes an outcome."""
    from scipy.special import rel_entr

    return np.asarray(rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q))


def _check_probabilities(means: Floats, segment: _Segment) -> None:
    for values in (means, segment.first, segment.last):
        if (values < 0.0).any() or (values > 1.0).any():
            raise ParameterError(
                f"family='bernoulli': a mean of {values[(values < 0) | (values > 1)][0]:g} is no "
                "probability; use family='gaussian'"
            )
