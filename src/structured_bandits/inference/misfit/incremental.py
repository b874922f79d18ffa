"""Looks by whole tables at a time, for plain Python; compiled code goes arm by arm.

What was computed for an arm is kept while its results stay the same. Of an agent only the largest
e-value counts, and as long as the structure explains the rewards it stays where it was: that is told
without a search for the likeliest model, since any known one will do. Rounding is allowed for: whenever
the e-value could be larger than before, a look in full decides.
"""

from __future__ import annotations

import math

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.inference.misfit.alternatives import write_own
from structured_bandits.inference.misfit.e_value import (
    MisfitTest,
    Watching,
    await_next_look,
    fresh_look_memory,
    known_likelihood,
    log_average,
    look_if_due,
)
from structured_bandits.inference.misfit.reward_likelihood import Counts, log_mixture, reward_counts

MARGIN = 1e-9  # for rounding, relative to the numbers that are compared


class IncrementalLook:
    """The log-likelihoods of a grid of models, brought up to date arm by arm."""

    def __init__(self, test: MisfitTest) -> None:
        self.test = test
        self._memory = fresh_look_memory(test)
        arms, models = test.grid.per_hit.shape
        self._pulls = np.zeros(arms, np.int64)
        self._sums = np.zeros(arms)
        self._counts = Counts(np.zeros(arms), np.zeros(arms))
        self._mixed = np.zeros((arms, 1))
        self._own = np.zeros((arms, models))
        self._totals = np.zeros(models)
        self._spare = np.zeros(models)

    def look(self, watching: Watching) -> None:
        """Take the look that is due; in full only if the e-value could be the largest so far."""
        if self._stays_below(watching):
            await_next_look(watching)
        else:
            look_if_due(self.test, watching, self._memory)

    def _stays_below(self, watching: Watching) -> bool:
        """Return whether the e-value is surely no larger than the largest so far."""
        against = self._log_numerator(watching.pulls, watching.sums)
        known = known_likelihood(self.test.models, self.test.scale, self._counts, self._totals)
        slack = MARGIN * (1.0 + abs(known))
        return bool(against - known + slack <= watching.largest[0])

    def _log_numerator(self, pulls: Ints, sums: Floats) -> float:
        """Return the logarithm of what speaks against the structure."""
        for arm in np.flatnonzero((pulls != self._pulls) | (sums != self._sums)):
            self._update(int(arm), int(pulls[arm]), float(sums[arm]))
        self._totals = self._own.sum(axis=0)
        terms = self._others()
        terms += self._mixed
        terms += self.test.grid.prior
        peak = off = float(terms.max())
        if peak > -math.inf:
            terms -= peak
            off += math.log(np.exp(terms, out=terms).sum() / len(terms))
        return log_average(float(self._mixed.sum()), off)

    def _others(self) -> Floats:
        """Return the log-likelihoods of all arms but each one (arms x models).

        Where a model excludes what an arm paid, that cannot be taken off the sum over all; then arms
        before and after are summed, as in `alternatives.log_one_arm_off`.
        """
        if math.isfinite(self._totals.sum()):
            return self._totals - self._own
        others = np.zeros_like(self._own)
        np.cumsum(self._own[:-1], axis=0, out=others[1:])
        others[:-1] += np.cumsum(self._own[:0:-1], axis=0)[::-1]
        return others

    def _update(self, arm: int, pulls: int, total: float) -> None:
        first, second = reward_counts(self.test.scale, pulls, total)
        self._pulls[arm], self._sums[arm] = pulls, total
        self._counts.first[arm], self._counts.second[arm] = first, second
        self._mixed[arm, 0] = log_mixture(self.test.scale, arm, first, second)
        write_own(self.test.grid, arm, first, second, self._own[arm], self._spare)
