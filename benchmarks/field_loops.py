"""Hand-written Numba loops of the field's policies, one pull at a time: the opponents of field.py.

As one writes them who knows the policy and Numba well: nothing here plans ahead, nothing uses this
library, and what can be had before the first pull (logarithms of a table, sorted models, allocations)
comes as an argument and is not timed. Rewards are Bernoulli with means `truth`. The functions that take
a truth play `horizon` pulls and return how often each arm was pulled.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

FLOOR = 1e-6  # of the likelihood of a reward, as in the library
TINY = 1e-300  # of a weight, so that models may come back and no denormal number slows the loop


# ------------------------------------------------------------------------------------------ divergence


@njit(cache=True)
def divergence(x: float, q: float) -> float:
    """Return d(x, q) of two coins, for x in [0, 1] and 0 < q < 1; accurate for close ones."""
    if x <= 0.0:
        return -math.log1p(-q)
    if x >= 1.0:
        return -math.log(q)
    e = q - x
    return -x * math.log1p(e / x) - (1.0 - x) * math.log1p(-e / (1.0 - x))


@njit(cache=True)
def upper_end(x: float, budget: float) -> float:
    """Return the largest q with d(x, q) <= budget by Newton's method from above, where d is convex."""
    if budget <= 0.0 or x >= 1.0:
        return x
    if x <= 0.0:
        return -math.expm1(-budget)
    entropy = x * math.log(x) + (1.0 - x) * math.log1p(-x)
    q = min(x + math.sqrt(0.5 * budget), -math.expm1(-(budget - entropy) / (1.0 - x)))
    if q >= 1.0 - 2.0**-53:
        return 1.0 - 2.0**-53
    while q > x:
        lower = q - (divergence(x, q) - budget) * q * (1.0 - q) / (q - x)
        if not lower < q:
            return q
        q = lower
    return x


@njit(cache=True)
def _unpulled(pulls: Any) -> int:
    """Return the first arm without pulls, -1 if there is none."""
    for arm in range(pulls.size):
        if pulls[arm] == 0:
            return arm
    return -1


# --------------------------------------------------------------------------------- without a structure


@njit(cache=True)
def kl_ucb(truth: Any, horizon: int, rng: Any) -> Any:
    """KL-UCB with c = 0: the highest upper end at the budget log t / pulls, each arm once first."""
    pulls, sums = np.zeros(truth.size, np.int64), np.zeros(truth.size)
    for t in range(horizon):
        choice = _unpulled(pulls) if t < truth.size else -1
        if choice < 0:
            log_time, highest = math.log(t + 1), -1.0
            for arm in range(truth.size):
                index = upper_end(sums[arm] / pulls[arm], log_time / pulls[arm])
                if index > highest:
                    choice, highest = arm, index
        sums[choice] += rng.random() < truth[choice]
        pulls[choice] += 1
    return pulls


@njit(cache=True)
def imed(truth: Any, horizon: int, rng: Any) -> Any:
    """IMED: the least pulls * d(mean, best mean) + log pulls, each arm once first."""
    pulls, sums = np.zeros(truth.size, np.int64), np.zeros(truth.size)
    means, logs = np.zeros(truth.size), np.zeros(truth.size)
    for t in range(horizon):
        choice = _unpulled(pulls) if t < truth.size else -1
        if choice < 0:
            best, least = 0.0, math.inf
            for arm in range(truth.size):
                best = max(best, means[arm])
            for arm in range(truth.size):
                index = logs[arm]
                if means[arm] < best:
                    away = divergence(means[arm], best) if best < 1.0 else math.inf
                    index += pulls[arm] * away
                if index < least:
                    choice, least = arm, index
        sums[choice] += rng.random() < truth[choice]
        pulls[choice] += 1
        means[choice] = sums[choice] / pulls[choice]
        logs[choice] = math.log(pulls[choice])
    return pulls


@njit(cache=True)
def thompson(truth: Any, horizon: int, rng: Any) -> Any:
    """Thompson sampling with uniform priors: a Beta draw for each arm and pull."""
    wins, losses = np.ones(truth.size), np.ones(truth.size)
    pulls = np.zeros(truth.size, np.int64)
    for _ in range(horizon):
        choice, highest = 0, -1.0
        for arm in range(truth.size):
            draw = rng.beta(wins[arm], losses[arm])
            if draw > highest:
                choice, highest = arm, draw
        if rng.random() < truth[choice]:
            wins[choice] += 1.0
        else:
            losses[choice] += 1.0
        pulls[choice] += 1
    return pulls


# ------------------------------------------------------------------------------- posterior over models


def likelihoods(table: Any) -> tuple[Any, Any]:
    """Return the probabilities of rewards 1 and 0 as arms x models, so that a pull reads neighbours."""
    return np.maximum(table.T, FLOOR).copy(), np.maximum(1.0 - table.T, FLOOR).copy()


@njit(cache=True, fastmath=True)
def _update(weights: Any, factors: Any, scale: float) -> float:
    """Multiply the weights, divide them by their last sum, and return the new sum: one pass, no exp."""
    total = 0.0
    for model in range(weights.size):
        weights[model] = max(weights[model] * factors[model] * scale, TINY)
        total += weights[model]
    return total


@njit(cache=True)
def _drawn(weights: Any, level: float) -> int:
    """Return the model at which the sum of the weights exceeds the level."""
    for model in range(weights.size - 1):
        level -= weights[model]
        if level < 0.0:
            return model
    return weights.size - 1


@njit(cache=True)
def model_ts(ones: Any, zeros: Any, best: Any, truth: Any, horizon: int, rng: Any) -> Any:
    """ModelTS, the good loop: weights are multiplied, and renormalised in the same pass."""
    weights = np.full(best.size, 1.0 / best.size)
    pulls, total = np.zeros(truth.size, np.int64), 1.0
    for _ in range(horizon):
        arm = best[_drawn(weights, rng.random() * total)]
        pulls[arm] += 1
        factors = ones[arm] if rng.random() < truth[arm] else zeros[arm]
        total = _update(weights, factors, 1.0 / total)
    return pulls


@njit(cache=True)
def model_ts_textbook(
    log_ones: Any, log_zeros: Any, best: Any, truth: Any, horizon: int, rng: Any
) -> Any:
    """ModelTS as a textbook writes it: log weights, and exp of all of them at each pull."""
    logs, weights = np.zeros(best.size), np.empty(best.size)
    pulls = np.zeros(truth.size, np.int64)
    for _ in range(horizon):
        top, total = logs.max(), 0.0
        for model in range(best.size):
            weights[model] = math.exp(logs[model] - top)
            total += weights[model]
        arm = best[_drawn(weights, rng.random() * total)]
        pulls[arm] += 1
        logs += log_ones[arm] if rng.random() < truth[arm] else log_zeros[arm]
    return pulls


# -------------------------------------------------------------------------------- informed elimination


def divergences(table: Any) -> Any:
    """Return d(h_k, g_k) of two coins for models h and g and arms k, as h x g x k."""
    ones, zeros = np.log(np.maximum(table, FLOOR)), np.log(np.maximum(1.0 - table, FLOOR))
    told = table[:, None] * (ones[:, None] - ones[None])
    told += (1.0 - table)[:, None] * (zeros[:, None] - zeros[None])
    return np.maximum(told, 0.0)


def isae_arguments(table: Any) -> tuple[Any, ...]:
    """Return what the loop takes before the truth."""
    gaps = table.max(axis=1)[:, None] - table
    return *likelihoods(table), gaps, table.argmax(axis=1), divergences(table)


@njit(cache=True)
def isae(
    ones: Any, zeros: Any, gaps: Any, best: Any, told: Any, truth: Any, horizon: int, rng: Any
) -> Any:
    """ISAE, value rule, likeliest leader: weights are multiplied; the rest only where a rival counts."""
    models, arms = gaps.shape
    weights = np.full(models, 1.0 / models)
    pulls, total = np.zeros(arms, np.int64), 1.0
    regret, info = np.empty(arms), np.empty(arms)
    for t in range(horizon):
        arm = _arm_of_isae(weights, total, gaps, best, told, t, regret, info)
        pulls[arm] += 1
        factors = ones[arm] if rng.random() < truth[arm] else zeros[arm]
        total = _update(weights, factors, 1.0 / total)
    return pulls


@njit(cache=True)
def _arm_of_isae(
    weights: Any, total: float, gaps: Any, best: Any, told: Any, t: int, regret: Any, info: Any
) -> int:
    """Return the leader's best arm, or the one that tells most against its rivals."""
    leader = 0
    for model in range(1, weights.size):
        if weights[model] > weights[leader]:
            leader = model
    b = best[leader]
    stay, rivals, heaviest = 0.0, 0.0, 0.0
    for model in range(weights.size):
        if gaps[model, b] > 0.0:
            weight = weights[model] / total
            stay += weight * gaps[model, b]
            rivals += weight
            heaviest = max(heaviest, weight)
    if heaviest <= 1e-9:
        return int(b)
    regret[:] = 0.0
    info[:] = 0.0
    for model in range(weights.size):
        weight = weights[model] / total
        for arm in range(regret.size):
            regret[arm] += weight * gaps[model, arm]
        if gaps[model, b] > 0.0:
            for arm in range(regret.size):
                info[arm] += weight * told[leader, model, arm]
    least = regret.min()
    if least == 0.0:
        return int(regret.argmin())
    a, most, nat = b, 0.0, math.inf
    for arm in range(regret.size):
        if info[arm] / (regret[arm] + least) > most:
            a, most = arm, info[arm] / (regret[arm] + least)
        if arm != b and info[arm] > 0.0:
            nat = min(nat, regret[arm] * rivals / info[arm])
    return int(b) if a == b or (t + 100.0) * stay < 0.3 * nat else int(a)


# ------------------------------------------------------------------------------------ likelihood sets


def set_arguments(table: Any) -> tuple[Any, ...]:
    """Return log-likelihoods of rewards 1 and 0 (arms x models), best arms and best means."""
    ones, zeros = np.log(np.maximum(table, 1e-300)), np.log1p(-np.minimum(table, 1.0 - 1e-16))
    return ones.T.copy(), zeros.T.copy(), table.argmax(axis=1), table.max(axis=1)


@njit(cache=True)
def _log_mean(logs: Any) -> float:
    """Return the logarithm of the mean of the likelihoods."""
    top, total = logs.max(), 0.0
    for log in logs:
        total += math.exp(log - top)
    return float(top + math.log(total / logs.size))


@njit(cache=True)
def sucb_sets(
    ones: Any,
    zeros: Any,
    best: Any,
    value: Any,
    alpha: float,
    truth: Any,
    horizon: int,
    rng: Any,
) -> Any:
    """SUCB with likelihood sets: log-likelihoods are kept, the most optimistic model found anew."""
    logs = np.zeros(best.size)
    pulls = np.zeros(truth.size, np.int64)
    for t in range(horizon):
        least = _log_mean(logs) - alpha * math.log(max(t, 1) + 1)
        model = -1
        for other in range(best.size):
            if logs[other] > least and (
                model < 0
                or value[other] > value[model]
                or (value[other] == value[model] and best[other] < best[model])
            ):
                model = other
        arm = best[model]
        pulls[arm] += 1
        logs += ones[arm] if rng.random() < truth[arm] else zeros[arm]
    return pulls


@njit(cache=True)
def sae_sets(
    ones: Any,
    zeros: Any,
    best: Any,
    value: Any,
    alpha: float,
    truth: Any,
    horizon: int,
    rng: Any,
) -> Any:
    """SAE with likelihood sets, looked at after each round; a single arm is pulled to the end."""
    logs = np.zeros(best.size)
    pulls = np.zeros(truth.size, np.int64)
    active, found = np.zeros(truth.size, np.bool_), np.zeros(truth.size, np.bool_)
    for arm in best:
        active[arm] = True
    t = 0
    while t < horizon:
        for arm in range(truth.size):
            if active[arm] and t < horizon:
                pulls[arm] += 1
                t += 1
                logs += ones[arm] if rng.random() < truth[arm] else zeros[arm]
        least = _log_mean(logs) - alpha * math.log(horizon)
        found[:] = False
        for model in range(best.size):
            if logs[model] > least and active[best[model]]:
                found[best[model]] = True
        if found.any():
            active &= found
    return pulls


# ------------------------------------------------------------------------------------------------ OSSB


@njit(cache=True)
def ossb(means: Any, best: Any, allocations: Any, truth: Any, horizon: int, rng: Any) -> Any:
    """OSSB with epsilon = gamma = 0 and allocations (arms x models) that are ready.

    `means` come as arms x models. The losses of the models change by one term with each pull.
    """
    losses = np.zeros(best.size)
    pulls = np.zeros(truth.size, np.int64)
    for t in range(horizon):
        model = losses.argmin()
        arm = _arm_of_ossb(allocations[:, model], best[model], pulls, math.log(t + 1))
        reward = 1.0 if rng.random() < truth[arm] else 0.0
        pulls[arm] += 1
        for other in range(best.size):
            losses[other] += means[arm, other] * (means[arm, other] - 2.0 * reward)
    return pulls


@njit(cache=True)
def _arm_of_ossb(allocation: Any, best: int, pulls: Any, log_time: float) -> int:
    """Return the best arm if all others have their share of pulls, else the arm that lacks most.

    With epsilon = 0 an arm that was never pulled comes before those that lack some.
    """
    enough = True
    for arm in range(pulls.size):
        enough &= pulls[arm] >= allocation[arm] * log_time
    if enough:
        return best
    choice, least = _unpulled(pulls), math.inf
    if choice >= 0:
        return choice
    for arm in range(pulls.size):
        if allocation[arm] > 0.0 and pulls[arm] < least * allocation[arm]:
            choice, least = arm, pulls[arm] / allocation[arm]
    return choice


# -------------------------------------------------------------------------------- confidence by KL boxes


@njit(cache=True)
def _first_that_fits(means: Any, best: Any, pulls: Any, centre: Any, budget: float) -> int:
    """Return the best arm of the first model in the box, -1 if there is none."""
    for model in range(best.size):
        for arm in range(pulls.size):
            q = means[model, arm]
            if pulls[arm] > 0 and pulls[arm] * divergence(centre[arm], q) >= budget:
                break
        else:
            return best[model]
    return -1


@njit(cache=True)
def sucb_kl(means: Any, best: Any, alpha: float, truth: Any, horizon: int, rng: Any) -> Any:
    """SUCB with KL boxes, models (sorted by value) held against the data anew at each pull.

    A model is left at the first arm that excludes it. Without a model in the box: the highest upper end
    among the arms that are best in some model.
    """
    pulls, sums, centre = np.zeros(truth.size, np.int64), np.zeros(truth.size), np.zeros(truth.size)
    for t in range(1, horizon + 1):
        budget = 2.0 * alpha * math.log(t)
        choice = _first_that_fits(means, best, pulls, centre, budget)
        if choice < 0:
            choice = _highest_end(best, pulls, centre, budget)
        sums[choice] += rng.random() < truth[choice]
        pulls[choice] += 1
        centre[choice] = sums[choice] / pulls[choice]
    return pulls


@njit(cache=True)
def _highest_end(best: Any, pulls: Any, centre: Any, budget: float) -> int:
    """Return the arm, of those that are best in some model, with the highest upper end of its box."""
    choice, highest = pulls.size, -1.0
    for arm in best:
        end = upper_end(centre[arm], budget / pulls[arm]) if pulls[arm] > 0 else math.inf
        if end > highest or (end == highest and arm < choice):
            choice, highest = arm, end
    return choice


@njit(cache=True)
def sucb_kl_remembered(
    log_ones: Any, log_zeros: Any, best: Any, alpha: float, truth: Any, horizon: int, rng: Any
) -> Any:
    """The same, faster: only the evidence of the arm just pulled is computed anew, without logarithms.

    pulls * d(mean, q) = -pulls * entropy(mean) - sum * log q - (pulls - sum) * log(1 - q), with
    logarithms (arms x models) that are ready. It loses some digits; the box moves by about 1e-10.
    """
    pulls, sums, centre = np.zeros(truth.size, np.int64), np.zeros(truth.size), np.zeros(truth.size)
    against = np.full((best.size, truth.size), -1.0)  # pulls * divergence; -1 before the first pull
    for t in range(1, horizon + 1):
        budget, choice = 2.0 * alpha * math.log(t), -1
        for model in range(best.size):
            if _all_below(against[model], budget):
                choice = best[model]
                break
        if choice < 0:
            choice = _highest_end(best, pulls, centre, budget)
        sums[choice] += rng.random() < truth[choice]
        pulls[choice] += 1
        centre[choice] = sums[choice] / pulls[choice]
        mean, missed = centre[choice], pulls[choice] - sums[choice]
        base = 0.0
        if 0.0 < mean < 1.0:
            base = sums[choice] * math.log(mean) + missed * math.log1p(-mean)
        for model in range(best.size):
            likelihood = sums[choice] * log_ones[choice, model] + missed * log_zeros[choice, model]
            against[model, choice] = base - likelihood
    return pulls


@njit(cache=True)
def _all_below(values: Any, bound: float) -> bool:
    """Are all values below the bound?"""
    for value in values:
        if value >= bound:
            return False
    return True


@njit(cache=True)
def sae_kl(means: Any, best: Any, alpha: float, truth: Any, horizon: int, rng: Any) -> Any:
    """SAE with KL boxes and beta = 1: phases of round robin, then the arms of the models in the box."""
    pulls, sums, centre = np.zeros(truth.size, np.int64), np.zeros(truth.size), np.zeros(truth.size)
    active = np.zeros(truth.size, np.bool_)
    active[best] = True
    log_time, t, phase = math.log(horizon), 0, 0
    while t < horizon:
        target = max(1, math.ceil(min(4.0 * alpha * log_time * 4.0**phase, float(horizon))))
        short = True
        while short and t < horizon:
            short = False
            for arm in range(truth.size):
                if active[arm] and pulls[arm] < target and t < horizon:
                    sums[arm] += rng.random() < truth[arm]
                    pulls[arm] += 1
                    t += 1
                    short = True
        centre = sums / np.maximum(pulls, 1)
        kept = np.zeros(truth.size, np.bool_)
        for model in range(best.size):
            arm = best[model]
            if active[arm] and not kept[arm]:
                one = slice(model, model + 1)
                budget = 2.0 * alpha * log_time
                kept[arm] = _first_that_fits(means[one], best[one], pulls, centre, budget) == arm
        if kept.any():
            active = kept
        phase += 1
    return pulls
