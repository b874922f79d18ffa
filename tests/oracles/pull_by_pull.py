"""Hand-written Numba loops of the bandit policies, one pull at a time.

These are the opponent in the benchmarks and the reference of the statistical tests, so nothing
here uses `structured_bandits` and nothing plans more than one pull. Rewards are Bernoulli. Every
public function plays `horizon` pulls against arms with means `truth` and returns the int64 number
of pulls of each arm.

A structure is either *finite* (`means`, models x arms) or made of *curves* (`at_start`, `at_end`,
cells x arms): inside a cell every mean is affine, and one arm is best throughout. A finite model
is a cell whose means do not move, which is how elimination, where the confidence set is needed
only between phases, treats it; SUCB needs it at every pull and has a loop for each kind.

A confidence set is an open box: |empirical mean - model mean| < sqrt(alpha * L / pulls) for every
pulled arm, where L is the log of the policy's clock (rewards in [0, 1], sigma = 1/2). An arm
without pulls has an infinite radius and so constrains nothing.
"""

import math

import numpy as np
from numba import njit

# ------------------------------------------------------------------------------------ shared parts


@njit(cache=True)
def _pull(arm, truth, counts, sums, rng):
    """Draw one reward of `arm` and record it."""
    counts[arm] += 1
    sums[arm] += rng.random() < truth[arm]


@njit(cache=True, error_model="numpy")
def _set_radii(radii, counts, alpha, log_clock):
    """Write the half-widths of the confidence box into `radii`."""
    width = alpha * log_clock
    for arm in range(radii.size):
        radii[arm] = math.sqrt(width / counts[arm]) if counts[arm] > 0 else math.inf


@njit(cache=True)
def _best_arms(at_start, at_end):
    """Best arm of each cell: highest mean at the midpoint, lowest index on ties."""
    best = np.empty(at_start.shape[0], np.int64)
    for cell in range(best.size):
        best[cell] = np.argmax(0.5 * (at_start[cell] + at_end[cell]))
    return best


@njit(cache=True)
def _arms_in(best, n_arms):
    """Mark the arms that occur in `best`."""
    found = np.zeros(n_arms, np.bool_)
    for arm in best:
        found[arm] = True
    return found


@njit(cache=True)
def _by_value_then_arm(value, best):
    """Order by value, highest first, and by best arm, lowest first, among equal values."""
    by_arm = np.argsort(best, kind="mergesort")
    return by_arm[np.argsort(-value[by_arm], kind="mergesort")]


@njit(cache=True, error_model="numpy")
def _clip(start, end, centre, radii):
    """Part of a cell inside the open box, as positions (low, high) in [0, 1].

    The part is empty iff low >= high. A cell with constant means is kept whole or not at all.
    """
    low, high = 0.0, 1.0
    for arm in range(start.size):
        slope = end[arm] - start[arm]
        offset = centre[arm] - start[arm]
        radius = radii[arm]
        if slope == 0.0:
            if abs(offset) >= radius:
                return 1.0, 0.0
        elif abs(offset) >= radius or abs(offset - slope) >= radius:  # else: the whole cell fits
            enter = (offset - radius) / slope
            leave = (offset + radius) / slope
            if slope < 0.0:
                enter, leave = leave, enter
            low = max(low, enter)
            high = min(high, leave)
            if low >= high:
                return 1.0, 0.0
    return low, high


@njit(cache=True)
def _highest_on(start, end, low, high):
    """Supremum of the affine mean going from `start` to `end` over positions (low, high)."""
    position = high if end > start else low
    return end if position == 1.0 else start + (end - start) * position


@njit(cache=True)
def _highest_index(centre, radii, candidates):
    """Candidate with the highest UCB index; one without pulls first; lowest arm on ties."""
    choice, highest = -1, -math.inf
    for arm in range(centre.size):
        if candidates[arm] and centre[arm] + radii[arm] > highest:
            choice, highest = arm, centre[arm] + radii[arm]
    return choice


# --------------------------------------------------------------------------------------------- UCB


@njit(cache=True, error_model="numpy")
def ucb(truth, horizon, alpha, rng):
    """UCB over all arms: each once, then the highest mean + sqrt(alpha * log t / pulls)."""
    n_arms = truth.size
    everyone = np.ones(n_arms, np.bool_)
    counts = np.zeros(n_arms, np.int64)
    sums = np.zeros(n_arms)
    centre = np.zeros(n_arms)
    radii = np.empty(n_arms)
    for t in range(1, horizon + 1):
        _set_radii(radii, counts, alpha, math.log(t))
        choice = _highest_index(centre, radii, everyone)
        _pull(choice, truth, counts, sums, rng)
        centre[choice] = sums[choice] / counts[choice]
    return counts


# -------------------------------------------------------------------------------------------- SUCB


@njit(cache=True)
def _most_optimistic_model(models, best, centre, radii):
    """Best arm of the first model inside the box, -1 if none is; `models` come sorted by value.

    A model is left at the first arm that excludes it.
    """
    for model in range(best.size):
        for arm in range(centre.size):
            if abs(centre[arm] - models[model, arm]) >= radii[arm]:
                break
        else:
            return best[model]
    return -1


@njit(cache=True)
def _most_optimistic_cell(starts, ends, best, tops, centre, radii):
    """Best arm of the cell whose surviving part reaches highest, -1 if no cell survives.

    Cells come sorted by `tops`, their highest values, so the scan stops at the first that can no
    longer win.
    """
    choice, highest = -1, -math.inf
    for cell in range(best.size):
        if tops[cell] < highest:
            break
        low, high = _clip(starts[cell], ends[cell], centre, radii)
        if low < high:
            arm = best[cell]
            value = _highest_on(starts[cell, arm], ends[cell, arm], low, high)
            if value > highest or (value == highest and arm < choice):
                choice, highest = arm, value
    return choice


@njit(cache=True, error_model="numpy")
def sucb_finite(means, truth, horizon, alpha, rng):
    """SUCB on finitely many models: the best arm of the most optimistic model in the box.

    When no model is left, the highest UCB index among the arms that are best in some model.
    """
    n_arms = truth.size
    best = _best_arms(means, means)
    optimal = _arms_in(best, n_arms)
    value = np.array([means[model, best[model]] for model in range(best.size)])
    order = _by_value_then_arm(value, best)
    models, best = means[order], best[order]

    counts = np.zeros(n_arms, np.int64)
    sums = np.zeros(n_arms)
    centre = np.zeros(n_arms)
    radii = np.empty(n_arms)
    for t in range(1, horizon + 1):
        _set_radii(radii, counts, alpha, math.log(t))
        choice = _most_optimistic_model(models, best, centre, radii)
        if choice < 0:
            choice = _highest_index(centre, radii, optimal)
        _pull(choice, truth, counts, sums, rng)
        centre[choice] = sums[choice] / counts[choice]
    return counts


@njit(cache=True)
def _most_optimistic_by_definition(models, best, value, centre, radii, inside):
    """Best arm of the best model in the set, lowest arm on equal values, -1 if the set is empty.

    As the definition reads: the set of all models that fit on all arms, then the best of it.
    """
    for model in range(best.size):
        fits = True
        for arm in range(centre.size):
            fits &= abs(centre[arm] - models[model, arm]) < radii[arm]
        inside[model] = fits
    choice, highest = -1, -math.inf
    for model in range(best.size):
        if inside[model]:
            better = value[model] > highest
            if better or (value[model] == highest and best[model] < choice):
                choice, highest = best[model], value[model]
    return choice


@njit(cache=True, error_model="numpy")
def sucb_by_definition(means, truth, horizon, alpha, rng):
    """SUCB on finitely many models, the confidence set computed anew at each pull."""
    n_arms = truth.size
    best = _best_arms(means, means)
    optimal = _arms_in(best, n_arms)
    value = np.array([means[model, best[model]] for model in range(best.size)])
    inside = np.empty(best.size, np.bool_)

    counts = np.zeros(n_arms, np.int64)
    sums = np.zeros(n_arms)
    centre = np.zeros(n_arms)
    radii = np.empty(n_arms)
    for t in range(1, horizon + 1):
        _set_radii(radii, counts, alpha, math.log(t))
        choice = _most_optimistic_by_definition(means, best, value, centre, radii, inside)
        if choice < 0:
            choice = _highest_index(centre, radii, optimal)
        _pull(choice, truth, counts, sums, rng)
        centre[choice] = sums[choice] / counts[choice]
    return counts


@njit(cache=True)
def _most_optimistic_watched(models, best, watched, centre, counts, width):
    """Like `_most_optimistic_model`, but each model is first held against the arm that excluded it last.

    |centre - mean| >= sqrt(width / pulls) is asked without the root; arms without pulls exclude nothing.
    """
    for model in range(best.size):
        arm = watched[model]
        away = centre[arm] - models[model, arm]
        if counts[arm] * (away * away) >= width:
            continue
        for other in range(centre.size):
            away = centre[other] - models[model, other]
            if counts[other] * (away * away) >= width:
                watched[model] = other
                break
        else:
            return best[model]
    return -1


@njit(cache=True, error_model="numpy")
def sucb_finite_watched(means, truth, horizon, alpha, rng):
    """SUCB on finitely many models, faster on large tables: see `_most_optimistic_watched`."""
    n_arms = truth.size
    best = _best_arms(means, means)
    optimal = _arms_in(best, n_arms)
    value = np.array([means[model, best[model]] for model in range(best.size)])
    order = _by_value_then_arm(value, best)
    models, best = means[order], best[order]
    watched = best.copy()

    counts = np.zeros(n_arms, np.int64)
    sums = np.zeros(n_arms)
    centre = np.zeros(n_arms)
    radii = np.empty(n_arms)
    for t in range(1, horizon + 1):
        log_clock = math.log(t)
        width = (
            alpha * log_clock if t > 1 else math.inf
        )  # nothing is excluded before the first pull
        choice = _most_optimistic_watched(models, best, watched, centre, counts, width)
        if choice < 0:
            _set_radii(radii, counts, alpha, log_clock)
            choice = _highest_index(centre, radii, optimal)
        _pull(choice, truth, counts, sums, rng)
        centre[choice] = sums[choice] / counts[choice]
    return counts


@njit(cache=True, error_model="numpy")
def sucb_curves(at_start, at_end, truth, horizon, alpha, rng):
    """SUCB on cells: the arm whose own surviving cells reach the highest mean of that arm.

    When no cell is left, the highest UCB index among the arms that are best in some cell.
    """
    n_arms = truth.size
    best = _best_arms(at_start, at_end)
    optimal = _arms_in(best, n_arms)
    tops = np.array([max(at_start[c, best[c]], at_end[c, best[c]]) for c in range(best.size)])
    order = _by_value_then_arm(tops, best)
    starts, ends, best, tops = at_start[order], at_end[order], best[order], tops[order]

    counts = np.zeros(n_arms, np.int64)
    sums = np.zeros(n_arms)
    centre = np.zeros(n_arms)
    radii = np.empty(n_arms)
    for t in range(1, horizon + 1):
        _set_radii(radii, counts, alpha, math.log(t))
        choice = _most_optimistic_cell(starts, ends, best, tops, centre, radii)
        if choice < 0:
            choice = _highest_index(centre, radii, optimal)
        _pull(choice, truth, counts, sums, rng)
        centre[choice] = sums[choice] / counts[choice]
    return counts


# ------------------------------------------------------------------------------------- SAE and ASAE


@njit(cache=True, error_model="numpy")
def _surviving_arms(at_start, at_end, best, counts, sums, alpha, log_clock):
    """Mark the arms that are best in some cell meeting the confidence box of all data."""
    radii = np.empty(counts.size)
    _set_radii(radii, counts, alpha, log_clock)
    centre = np.array([sums[i] / counts[i] if counts[i] > 0 else 0.0 for i in range(counts.size)])
    found = np.zeros(counts.size, np.bool_)
    for cell in range(best.size):
        if not found[best[cell]]:
            low, high = _clip(at_start[cell], at_end[cell], centre, radii)
            found[best[cell]] = low < high
    return found


@njit(cache=True)
def _phase_target(phase, alpha, beta, log_clock, budget):
    """Return the pulls an active arm owes to a phase, capped at the budget so as to fit an int."""
    inflation = 1.0 + 1.0 / beta
    target = alpha * log_clock * (inflation * inflation) * 4.0**phase
    return max(1, math.ceil(min(target, float(budget))))


@njit(cache=True)
def _play_phase(active, goals, budget, truth, counts, sums, rng):
    """Pull active arms in rounds until each has reached its goal; return the pulls spent."""
    arms = np.flatnonzero(active)
    spent = 0
    while True:
        spent_before = spent
        for arm in arms:
            if counts[arm] < goals[arm]:
                if spent == budget:
                    return spent
                _pull(arm, truth, counts, sums, rng)
                spent += 1
        if spent == spent_before:
            return spent


@njit(cache=True)
def _eliminate(
    at_start, at_end, best, active, truth, budget, log_clock, alpha, beta, counts, sums, rng
):
    """Spend `budget` pulls in phases that end with an elimination; the last one may be cut short.

    Phases count the pulls made here; the confidence sets use every pull ever made.
    """
    already = counts.copy()
    left = budget
    phase = 0
    while left > 0:
        goals = already + _phase_target(phase, alpha, beta, log_clock, budget)
        left -= _play_phase(active, goals, left, truth, counts, sums, rng)
        if left > 0:
            kept = active & _surviving_arms(at_start, at_end, best, counts, sums, alpha, log_clock)
            if kept.any():
                active = kept
        phase += 1


@njit(cache=True)
def sae_curves(at_start, at_end, truth, horizon, alpha, beta, rng):
    """SAE on cells: phases of round robin over the arms that may still be best."""
    counts = np.zeros(truth.size, np.int64)
    sums = np.zeros(truth.size)
    best = _best_arms(at_start, at_end)
    active = _arms_in(best, truth.size)
    log_clock = math.log(max(1, horizon))
    _eliminate(
        at_start, at_end, best, active, truth, horizon, log_clock, alpha, beta, counts, sums, rng
    )
    return counts


@njit(cache=True)
def sae_finite(means, truth, horizon, alpha, beta, rng):
    """SAE on finitely many models."""
    return sae_curves(means, means, truth, horizon, alpha, beta, rng)


@njit(cache=True)
def asae_curves(at_start, at_end, truth, horizon, alpha, beta, eta, rng):
    """ASAE on cells: period k plays SAE for ceil(2^((1+eta)^k)) pulls with the log of that clock.

    Each period starts from the arms left by its own clock and all data, or from every arm that is
    best somewhere if none is left.
    """
    counts = np.zeros(truth.size, np.int64)
    sums = np.zeros(truth.size)
    best = _best_arms(at_start, at_end)
    optimal = _arms_in(best, truth.size)
    left = horizon
    # 2**exponent is exact for integer exponents; exp(log_clock) can land just above the integer.
    exponent, log_clock = 1.0, math.log(2.0)
    while left > 0:
        length = math.ceil(min(2.0**exponent, float(left)))
        active = _surviving_arms(at_start, at_end, best, counts, sums, alpha, log_clock)
        if not active.any():
            active = optimal
        _eliminate(
            at_start, at_end, best, active, truth, length, log_clock, alpha, beta, counts, sums, rng
        )
        left -= length
        exponent *= 1.0 + eta
        log_clock *= 1.0 + eta
    return counts


@njit(cache=True)
def asae_finite(means, truth, horizon, alpha, beta, eta, rng):
    """ASAE on finitely many models."""
    return asae_curves(means, means, truth, horizon, alpha, beta, eta, rng)
