"""Looks that need not be taken: the e-value of a live agent by whole tables at a time.

Only the largest e-value counts, and as long as the structure explains the rewards it stays where it was.
That is told here without a search for the likeliest model (any known one will do), with what was found
for arms that were not pulled meanwhile. Rounding is allowed for: whenever the e-value could be larger
than before, a look in full decides. Plain Python only; compiled code takes every look.
"""

from __future__ import annotations

import math

import numpy as np

from structured_bandits.misfit.e_value import MisfitTest
from structured_bandits.misfit.likeliest import Counts
from structured_bandits.misfit.looks import Watching, known_likelihood
from structured_bandits.misfit.scale import log_mixture, reward_counts

MARGIN = 1e-9  # for rounding, relative to the numbers that are compared


class QuickLook:
    """The log-likelihoods of a grid of models, brought up to date arm by arm."""

    def __init__(self, test: MisfitTest) -> None:
        self._test = test
        arms, models = test.grid.per_hit.shape
        self._pulls = np.zeros(arms, np.int64)
        self._counts = Counts(np.zeros(arms), np.zeros(arms))
        self._mixed = np.zeros((arms, 1))
        self._own = np.zeros((arms, models))

    def stays_below(self, watching: Watching) -> bool:
        """Is the e-value surely no larger than the largest so far?"""
        for arm in np.flatnonzero(watching.pulls != self._pulls):
            self._update(int(arm), int(watching.pulls[arm]), float(watching.sums[arm]))
        totals = self._own.sum(axis=0)
        if not math.isfinite(totals.sum()):
            return False  # some model excludes what was seen
        terms = (totals + self._test.grid.prior) - self._own + self._mixed
        peak = float(terms.max())
        off = peak + math.log(np.exp(terms - peak).sum() / len(terms))
        unknown = float(self._mixed.sum())
        high, low = max(off, unknown), min(off, unknown)
        against = high + math.log1p(math.exp(low - high)) - math.log(2.0)
        known = known_likelihood(self._test.models, self._test.scale, self._counts, totals)
        slack = MARGIN * (1.0 + abs(known))
        return bool(against - known + slack <= watching.largest[0])

    def _update(self, arm: int, pulls: int, total: float) -> None:
        grid, scale = self._test.grid, self._test.scale
        first, second = reward_counts(scale, pulls, total)
        self._pulls[arm] = pulls
        self._counts.first[arm], self._counts.second[arm] = first, second
        self._mixed[arm, 0] = log_mixture(scale, arm, first, second)
        own = self._own[arm]
        own[:] = 0.0
        if first != 0.0:
            own += first * grid.per_hit[arm]
        if second != 0.0:
            own += second * grid.per_miss[arm]
