"""Definition-level oracles of policies with KL boxes, and of UCB-C, KL-UCB-C and TS-C.

A model fits while ``T kl(mean, q) < 2 alpha log(clock)`` on every arm that was pulled, q its mean of
the arm. So at a mean of 0 (1) the box holds 0 (1) itself, the first reward against a q of 0 or 1
refutes it, and a q outside [0, 1] fits no arm that was pulled. Rewards are in [0, 1].

The level that the phases of SAE use is ``alpha log(clock)``; the budget of a box is twice that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np
from oracles.draws import Prior, draws
from oracles.indices import (
    Offer,
    first_unpulled,
    highest,
    highest_upper,
    kl,
    kl_upper,
    klucb_budget,
    rough_mean,
    sharp_kl,
    sharp_kl_upper,
)
from oracles.policies import asae, sae
from oracles.structures import (
    MP,
    ONE,
    UNDECIDED,
    ZERO,
    Confidence,
    Game,
    Real,
    Rewards,
    Set,
    Structure,
    Trace,
    exact,
    log,
    real,
    width_constant,
)

__all__ = ["asae_kl", "klucbc", "sae_kl", "sucb_kl", "tsc", "ucb_kl", "ucbc"]


class End(NamedTuple):
    """A number ``base + factor u``, u the upper end of the box after these pulls with this sum of rewards."""

    base: Fraction
    factor: Fraction = ZERO
    pulls: int = 0
    total: Fraction = ZERO

    def at(self, budget: Real) -> Real:
        if self.factor == 0:
            return real(self.base)
        u = sharp_kl_upper(self.total / self.pulls, budget / self.pulls)
        return real(self.base) + real(self.factor) * u

    def along(self, low: Fraction, slope: Fraction) -> End:
        """The mean at this position of an arm that starts at low."""
        return End(low + slope * self.base, slope * self.factor, self.pulls, self.total)


class KLBoxes:
    """The cells of a structure that have fitting points, in positions from 0 to 1 of each cell.

    An arm whose mean is constant on a cell asks for ``T kl(mean, q) < budget``; another one leaves
    an interval of positions. A cell fits iff all constant arms agree and what the others leave has
    a positive length. ``doubtful`` has the cells with exact equality: they do not fit, but rounding
    may say otherwise.
    """

    def __init__(self, structure: Structure, game: Game) -> None:
        self.structure, self.game = structure, game
        self.low = np.array([cell.low for cell in structure.cells], float).T  # [arm, cell]
        self.slope = np.array(structure.slopes, float).T
        self.sloped = np.array([[x != 0 for x in row] for row in structure.slopes]).T
        self.steep = np.where(self.sloped, np.abs(self.slope), 1)
        self.blur = 1e-9 * (1 / self.steep).max(axis=0)  # far above the errors of positions
        self.seen = [0] * structure.n_arms
        self.score = np.zeros(self.low.shape)  # T kl(mean, q) where q is constant
        self.lefts = np.zeros(self.low.shape)  # what each arm leaves of a cell
        self.rights = np.ones(self.low.shape)
        self.inside = np.ones(len(structure.cells), bool)
        self.doubtful: list[int] = []

    def evaluate(self, level: Real) -> np.ndarray:
        """Which cells fit; counts re-entries and the closest decision."""
        trace, before, budget = self.game.trace, self.inside, 2 * level
        self.doubtful = []
        if budget == 0:
            self.inside = np.full(len(before), not any(self.game.counts))
            return self.inside
        self._refresh(float(budget))
        lengths = self.rough_ends(1) - self.rough_ends(-1)
        margin = np.minimum(slack(self.score.max(axis=0), float(budget)), lengths)
        for c in np.flatnonzero(np.abs(margin) <= self.blur).tolist():
            margin[c] = self._margin(c, budget)
            if margin[c] == 0:
                self.doubtful.append(c)
        self.inside = margin > 0
        trace.closest = min(trace.closest, np.abs(margin[margin != 0]).min(initial=np.inf))
        trace.reentries += int(np.count_nonzero(self.inside > before))
        return self.inside

    def arms(self, level: Real) -> list[int]:
        """The arms best in some cell of the set; a coincidence if rounding could add one."""
        best = self.structure.best
        arms = sorted(set(best[self.evaluate(level)].tolist()))
        if any(best[c] not in arms for c in self.doubtful):
            self.game.trace.coincidences.append(self.game.t)
        return arms

    def offer(self, c: int, budget: Real) -> Offer:
        """The supremum of the best arm's mean over the fitting part of cell c."""
        best = int(self.structure.best[c])
        low, slope = self.structure.cells[c].low[best], self.structure.slopes[c][best]
        if slope == 0:
            return Offer(best, float(low), End(low), lambda: real(low))
        side = 1 if slope > 0 else -1
        top = self._end(c, side, budget).along(low, slope)
        rough = float(low) + float(slope) * self.rough_ends(side)[c]
        return Offer(best, rough, top, lambda: top.at(budget))

    def _refresh(self, budget: float) -> None:
        """Scores of the arms pulled since the last time, and intervals at this budget."""
        for i, pulls in enumerate(self.game.counts):
            if pulls == 0:
                continue
            mean, s = rough_mean(self.game, i), self.sloped[i]
            if pulls != self.seen[i] and not s.all():
                self.score[i, ~s] = [pulls * kl(mean, q) for q in self.low[i, ~s].tolist()]
            self.seen[i] = pulls
            if s.any():
                b = budget / pulls
                box = np.array([[1 - kl_upper(1 - mean, b)], [kl_upper(mean, b)]])
                ends = (box - self.low[i, s]) / self.slope[i, s]
                self.lefts[i, s], self.rights[i, s] = ends.min(axis=0), ends.max(axis=0)

    def rough_ends(self, side: int) -> np.ndarray:
        return self.rights.min(axis=0, initial=1) if side > 0 else self.lefts.max(axis=0, initial=0)

    def _margin(self, c: int, budget: Real) -> float:
        """The margin of cell c from 60 digits; 0 for exact equality."""
        cell, slopes = self.structure.cells[c], self.structure.slopes[c]
        score = MP.mpf(0)
        for i, pulls in enumerate(self.game.counts):
            if pulls > 0 and slopes[i] == 0:
                score = max(score, pulls * sharp_kl(self.game.mean(i), cell.low[i]))
        length = self._end(c, 1, budget).at(budget) - self._end(c, -1, budget).at(budget)
        margin = min((budget - score) / max(budget, score), length)
        return 0.0 if abs(margin) < UNDECIDED else float(margin)

    def _end(self, c: int, side: int, budget: Real) -> End:
        """The right (side 1) or left (side -1) end of what is left of cell c."""
        border = End(ONE if side > 0 else ZERO)
        limits, rough = (self.rights if side > 0 else self.lefts)[:, c], self.rough_ends(side)[c]
        ends = [border] if abs(rough - float(border.base)) <= self.blur[c] else []
        for i in np.flatnonzero(np.abs(limits - rough) <= self.blur[c]).tolist():
            if self.game.counts[i] > 0 and self.sloped[i, c]:
                ends.append(self._limit(i, c, side))
        return ends[0] if len(ends) == 1 else min(ends, key=lambda end: side * end.at(budget))

    def _limit(self, arm: int, c: int, side: int) -> End:
        """The position at which the arm's mean leaves its box; the lower end is 1 - that of the losses."""
        low, slope = self.structure.cells[c].low[arm], self.structure.slopes[c][arm]
        pulls, total = self.game.counts[arm], Fraction(self.game.sums[arm], self.game.unit)
        if side * slope > 0:
            box = End(ONE) if total == pulls else End(ZERO, ONE, pulls, total)
        else:
            box = End(ZERO) if total == 0 else End(ONE, -ONE, pulls, pulls - total)
        return box.along(-low / slope, 1 / slope)


def slack(score: np.ndarray, budget: float) -> np.ndarray:
    """How far a score is below the budget, relative to the larger of them."""
    finite = np.where(np.isinf(score), 2 * budget, score)
    return np.where(np.isinf(score), -1.0, (budget - finite) / np.maximum(budget, finite))


# ------------------------------------------------------------------------------ UCB, SUCB, SAE


def ucb_kl(n_arms: int, rewards: Rewards, horizon: int, alpha: float = 2.0) -> Trace:
    """UCB whose index is the upper end of the closed KL box."""
    game, factor = Game(n_arms, rewards), 2 * real(exact(alpha))
    for t in range(1, horizon + 1):
        budget = factor * log(t)
        game.pull(highest_upper(game, range(n_arms), lambda _, b=budget: b, None))
    return game.trace


def sucb_kl(structure: Structure, rewards: Rewards, horizon: int, alpha: float = 2.0) -> Trace:
    """SUCB: the best arm of the most optimistic fitting model; empty set: the highest index over A*(Theta)."""
    game, factor = Game(structure.n_arms, rewards), real(exact(alpha))
    boxes = KLBoxes(structure, game)
    for t in range(1, horizon + 1):
        game.pull(sucb_kl_arm(boxes, factor * log(t)))
    return game.trace


def sucb_kl_arm(boxes: KLBoxes, level: Real) -> int:
    """SUCB's arm; a coincidence if rounding could give another arm, or a set that is not empty."""
    game, budget = boxes.game, 2 * level
    cells = np.flatnonzero(boxes.evaluate(level)).tolist()
    offers = [boxes.offer(c, budget) for c in cells]
    if offers:
        arm = highest(offers, game.trace)
    else:
        game.trace.empty += 1
        arm = highest_upper(game, boxes.structure.optimal, lambda _: budget, None)
    doubts = (boxes.offer(c, budget) for c in boxes.doubtful)
    if any(not offers or highest([*offers, doubt], Trace()) != arm for doubt in doubts):
        game.trace.coincidences.append(game.t)
    return arm


sae_kl = partial(sae, box=KLBoxes)
asae_kl = partial(asae, box=KLBoxes)


# -------------------------------------------------------------------------- the family of UCB-C


def competitive(
    structure: Structure,
    game: Game,
    horizon: int,
    level: Real,
    sets: Set,
    base: Callable[[int, list[int]], int],
) -> Trace:
    """Play ``base(t, arms)`` over the arms best in a fitting model, all arms if nothing fits."""
    for t in range(1, horizon + 1):
        arms = sets.arms(level * log(t))
        if not arms:
            game.trace.empty += 1
            arms = list(range(structure.n_arms))
        game.pull(base(t, arms))
    return game.trace


def ucbc(
    structure: Structure,
    rewards: Rewards,
    horizon: int,
    alpha: float = 2.0,
    confidence: str = "hoeffding",
    sigma: float = 0.5,
) -> Trace:
    """UCB-C: UCB over the competitive arms, with the radii (or KL boxes) of the set."""
    game, factor = Game(structure.n_arms, rewards), 2 * real(exact(alpha))
    sets = (KLBoxes if confidence == "kl" else Confidence)(structure, game)

    def base(t: int, arms: list[int]) -> int:
        scale = None if confidence == "kl" else sigma
        return highest_upper(game, arms, lambda _: factor * log(t), scale)

    return competitive(structure, game, horizon, width_constant(alpha, sigma), sets, base)


def klucbc(
    structure: Structure,
    rewards: Rewards,
    horizon: int,
    alpha: float = 2.0,
    c: float = 0.0,
    sigma: float | None = None,
) -> Trace:
    """KL-UCB-C: KL-UCB over the competitive arms of SUCB's set."""
    game = Game(structure.n_arms, rewards)
    level = width_constant(alpha, 0.5 if sigma is None else sigma)

    def base(t: int, arms: list[int]) -> int:
        return highest_upper(game, arms, lambda _: klucb_budget(t, c), sigma)

    return competitive(structure, game, horizon, level, Confidence(structure, game), base)


def tsc(
    structure: Structure,
    rewards: Rewards,
    horizon: int,
    uniforms: Iterable[float],
    alpha: float = 2.0,
    prior: Prior = None,
    sigma: float | None = None,
) -> Trace:
    """TS-C: Thompson sampling over the competitive arms of SUCB's set, a uniform for each of them.

    An arm that is competitive alone is played without a draw.
    Gaussian rewards without a prior: one pull of each arm first, competitive or not, without draws.
    """
    game, tape = Game(structure.n_arms, rewards), iter(uniforms)
    level = width_constant(alpha, 0.5 if sigma is None else sigma)
    first_pulls = sigma is not None and prior is None

    def base(t: int, arms: list[int]) -> int:
        first = first_unpulled(game, range(structure.n_arms)) if first_pulls else None
        if first is not None:
            return first
        if len(arms) == 1:
            return arms[0]
        return highest(draws(game, arms, tape, prior, sigma), game.trace)

    return competitive(structure, game, horizon, level, Confidence(structure, game), base)
