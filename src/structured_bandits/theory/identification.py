"""How many pulls does it take to be certain which arm is best? The bound of Garivier and Kaufmann.

For a structure and a true model theta, the *characteristic time* T* is given by

    1 / T* = max over shares w of min over models lambda in which the best arm of theta is not best
             of sum over arms k of w_k d(theta_k, lambda_k),

and w* are the shares at which the maximum is reached. A policy that is wrong with a probability of at
most delta in every model takes at least kl(delta, 1 - delta) T* pulls in the mean.

On tables it is a linear program: with c = w T*, the least sum of c with sum over k of c_k d(theta_k,
lambda_k) >= 1 for all lambda. Elsewhere the least over lambda is a concave maximum likelihood (of the
counts w_k theta_k), whose argument gives a linear bound on it for all w: cutting planes (Kelley), with
a bound from either side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.checks import checked_above, checked_probability
from structured_bandits.base.families import divergence_of
from structured_bandits.errors import ParameterError
from structured_bandits.inference.evidence import FINE, Evidence, evidence_on
from structured_bandits.inference.shares import divergences_from
from structured_bandits.structures.reward_ranges import Rewards
from structured_bandits.theory.truth import Truth

PULLS = 1e6  # that rivals are looked for with: what a barrier leaves is small beside them
CLOSE = 2e-6  # relatively, between the bounds
SAME = 1e-9  # shares
TINY = 1e-300
MOST_SHARE = 1e12  # pulls of another arm for one of the best
STEPS = 200  # of Newton's method; some ten are enough
ROUNDS = 1_000  # of cutting
LEAST_TOLD = 1e-10  # nats a pull: what tells less cannot be told apart
NEAREST = 50  # rivals that cut in a round; a curve has some on each of its lines
LEFT = 2.0 * FINE  # nats that a barrier may leave


class CharacteristicTime(NamedTuple):
    """`time` is T*, 0 if no model has another best arm; `proportions` are the shares w* of pulls."""

    time: float
    proportions: Floats

    def least_pulls(self, level: float) -> float:
        """Return the least mean number of pulls of a policy that is wrong with this probability.

        >>> CharacteristicTime(10.0, np.ones(2) / 2).least_pulls(0.05).__round__(2)
        26.5
        """
        delta = checked_probability("level", level)
        told = (1.0 - 2.0 * delta) * math.log((1.0 - delta) / delta)  # kl(delta, 1 - delta)
        return told * self.time if delta < 0.5 else 0.0


def characteristic_time(
    truth: Truth,
    family: str,
    sigma: float | None = None,
    reward_range: tuple[float, float] | None = None,
) -> CharacteristicTime:
    """Return T* and w* of a true model of a structure."""
    table = getattr(truth.structure.cells, "table", None)
    low, high = ends = reward_range or truth.structure.range_of_rewards
    sigma = 0.5 * (high - low) if sigma is None else checked_above("sigma", sigma, 0.0)
    if table is not None:
        return _on_table(table, truth, family, sigma, ends)
    gaussian = family == "gaussian"
    rewards = Rewards(sigma, -math.inf, math.inf) if gaussian else Rewards(sigma, low, high)
    evidence = evidence_on(truth.structure, rewards)
    if evidence is None:
        raise ParameterError(
            f"identification: {truth.structure!r} has too many pieces to look at one by one"
        )
    return time_by_cuts(evidence, truth.means, truth.best_arm, rewards)


def _on_table(
    table: Floats, truth: Truth, family: str, sigma: float, ends: tuple[float, float]
) -> CharacteristicTime:
    rivals = table[table.max(axis=1) > table[:, truth.best_arm]]
    arms = len(truth.means)
    if not len(rivals):
        return CharacteristicTime(0.0, np.full(arms, 1.0 / arms))
    told = divergence_of(family, ends).value(truth.means, rivals, sigma)
    told = told[np.isfinite(told).all(axis=1)]  # any pull at all may refute the others
    if not len(told):
        return CharacteristicTime(0.0, np.full(arms, 1.0 / arms))
    if (told.max(axis=1) == 0.0).any():
        return CharacteristicTime(math.inf, np.full(arms, 1.0 / arms))
    return _cheapest(told)


def _cheapest(told: Floats) -> CharacteristicTime:
    """Return the least pulls that tell a nat against each rival (rivals x arms)."""
    from structured_bandits.solvers.linear import by_highs, solved

    arms = told.shape[1]
    rows = np.vstack([told / told.max(axis=1, keepdims=True), np.eye(arms)])
    least = np.concatenate([1.0 / told.max(axis=1), np.zeros(arms)])
    found = solved(by_highs(-np.ones(arms), rows, least, np.full(len(rows), np.inf)))
    pulls = np.maximum(found.x, 0.0)
    return CharacteristicTime(float(pulls.sum()), pulls / pulls.sum())


def within(close: float) -> Callable[[float, float], bool]:
    """Return whether two bounds of a time are so close to each other, relatively."""
    return lambda low, high: high - low <= close * high


TO_DIGITS = within(CLOSE)


def time_by_cuts(
    evidence: Evidence,
    means: Floats,
    arm: int,
    rewards: Rewards,
    enough: Callable[[float, float], bool] = TO_DIGITS,
) -> CharacteristicTime:
    """Return T* and w* by cutting planes, until its lower and upper bound are good `enough`.

    Without rivals it is 0; where a rival cannot be told apart it is infinite. Shares are looked at
    halfway between the best ones so far and those of the linear program, which alone would jump from
    corner to corner.
    """
    arms = len(means)
    best, shares = 0.0, np.full(arms, 1.0 / arms)
    trial, cuts = shares, np.zeros((0, arms))
    for _ in range(ROUNDS):
        rivals = evidence.nearest(means, PULLS * trial, arm)
        if not rivals:
            return CharacteristicTime(0.0, np.full(arms, 1.0 / arms))
        told = np.array([divergences_from(means, rival, rewards) for rival in rivals])
        along = told @ trial
        reached = float(along.min()) - LEFT / PULLS
        if reached > best:
            best, shares = reached, trial
        cuts = np.vstack([cuts, told[np.argsort(along, kind="stable")[:NEAREST]]])
        above, corner = _best_shares(cuts)
        if above <= LEAST_TOLD:
            return CharacteristicTime(math.inf, np.full(arms, 1.0 / arms))
        if enough(1.0 / above, 1.0 / best if best > 0.0 else math.inf):
            break
        if np.abs(corner - shares).max() <= SAME:  # as near as programs are solved
            break
        trial = 0.5 * (corner + shares)
    return CharacteristicTime(1.0 / best if best > 0.0 else math.inf, shares)


def _best_shares(cuts: Floats) -> tuple[float, Floats]:
    """Return the largest least value of the cuts over all shares, and the shares."""
    from structured_bandits.solvers.linear import maximise

    arms = cuts.shape[1]
    finite = np.where(np.isfinite(cuts), cuts, 1e6)
    scale = float(finite.max()) or 1.0
    rows = np.vstack(
        [
            np.hstack([finite / scale, np.full((len(cuts), 1), -1.0)]),
            np.append(np.ones(arms), 0.0),
            np.hstack([np.eye(arms), np.zeros((arms, 1))]),
        ]
    )
    lower = np.concatenate([np.zeros(len(cuts)), [1.0], np.zeros(arms)])
    upper = np.concatenate([np.full(len(cuts), np.inf), [1.0], np.full(arms, np.inf)])
    found = maximise(np.append(np.zeros(arms), 1.0), rows, lower, upper)
    shares = np.maximum(found.x[:-1], 0.0)
    return found.value * scale, shares / shares.sum()


def time_without_structure(means: Floats, rewards: Rewards, close: float = 0.0) -> float:
    """Return T* if nothing is known of the arms (Garivier and Kaufmann, 2016, Theorem 5).

    It is found by halving, up to a relative error of `close`. Means are kept a billionth of the range of
    rewards away from its ends, where divergences are infinite.

    >>> coins = Rewards(0.5, 0.0, 1.0)
    >>> round(time_without_structure(np.array([0.5, 0.45, 0.43, 0.4]), coins), 2)
    989.79
    """
    if math.isfinite(rewards.bottom):
        margin = SAME * (rewards.top - rewards.bottom)
        means = means.clip(rewards.bottom + margin, rewards.top - margin)
    order = np.argsort(-means, kind="stable")
    others = means[order[1:]]
    best = np.full(len(others), means[order[0]])
    if not len(others) or (others >= best).any():
        return 0.0 if not len(others) else math.inf
    bottom, top = 0.0, float(divergences_from(best, others, rewards).min())
    if top <= LEAST_TOLD:
        return math.inf
    for _ in range(100):
        middle = 0.5 * (bottom + top)
        shares = _shares_at(middle, best, others, rewards)
        mixed = (best + shares * others) / (1.0 + shares)
        from_best = divergences_from(best, mixed, rewards)
        from_other = np.maximum(divergences_from(others, mixed, rewards), TINY)
        if float((from_best / from_other).sum()) < 1.0:
            bottom = middle
        else:
            top = middle
        if top - bottom <= close * bottom:
            break
    return float((1.0 + _shares_at(bottom, best, others, rewards).sum()) / bottom)


def _shares_at(told: float, best: Floats, others: Floats, rewards: Rewards) -> Floats:
    """Return the pulls of each other arm, for one of the best, with which its pair is told this much.

    What a pair tells is concave in them, so Newton's method from 0 never goes too far.
    """
    shares = np.zeros(len(others))
    for _ in range(STEPS):
        mixed = (best + shares * others) / (1.0 + shares)
        slope = np.maximum(divergences_from(others, mixed, rewards), TINY)
        missing = told - divergences_from(best, mixed, rewards) - shares * slope
        if (missing <= SAME * told).all():
            break
        shares = np.minimum(shares + np.maximum(missing, 0.0) / slope, MOST_SHARE)
    return shares
