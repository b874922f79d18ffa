"""The highest log-likelihood in a convex region of models, from above: Newton's method with a barrier.

In a polytope {y : walls y < ends} of parameters means are affine, so the log-likelihood l is concave.
With a pressure mu the maximum of

    l(y) + mu sum over walls of log(end - wall y)

lies inside, and no model of the region has a log-likelihood above l there by more than mu times the
number of walls. The pressure is lowered step by step; what is returned is that bound. With a pressure of
1/2 the point itself is of use: it is the estimate with "half a success for each wall".

The same steps are written twice: in NumPy for a live agent, in loops that simulations compile.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.compilable import kernel

PRESSURE = 1e-3  # in all, of the last step: what the bound may be too high by, in nats
FALL = 0.05  # of the pressure from step to step
STEPS = 60  # of Newton's method for one pressure; some five are enough
CENTRED = 1e-2  # the decrement, as a share of the pressure, with which the next step begins
CLOSE = 1e-6  # and that of the last one
INSIDE = 0.95  # of the way to the nearest wall that one step may go


class Region(NamedTuple):
    """A polytope of parameters, and the means of the arms in it.

    Means are shares of the range of rewards, from 0 to 1; of rewards without a range they are as they
    are. `inner` is a point away from all walls.
    """

    slopes: Floats  # arms x parameters
    shift: Floats
    walls: Floats  # walls x parameters, of length 1
    ends: Floats
    inner: Floats

    def means(self, y: Floats) -> Floats:
        """Return the means of a model."""
        return self.slopes @ y + self.shift


class Highest(NamedTuple):
    """A bound on the log-likelihoods in a region, and a model that nearly reaches it."""

    bound: float
    place: Floats


def highest_in(
    region: Region,
    first: Floats,
    second: Floats,
    variance: float,
    pressure: float = PRESSURE,
) -> Highest:
    """Return a bound on the log-likelihoods in a region, at most `pressure` too high, or a bit more.

    `first` and `second` are hits and misses; with a variance above 0 sums and numbers of Gaussian
    rewards.
    """
    least = pressure / max(len(region.ends), 1)
    place = region.inner.copy()
    value = climb(*region[:4], first, second, variance, place, 1.0, least)
    return Highest(value + pressure * (1.0 + 1.0 / max(len(region.ends), 1)), place)


def centre_of(
    region: Region, first: Floats, second: Floats, variance: float, pressure: float
) -> Floats:
    """Return where log-likelihood and barrier together are highest under a pressure."""
    place = region.inner.copy()
    climb(*region[:4], first, second, variance, place, pressure, pressure)
    return place


def climb_by_loops(
    slopes: Floats,
    shift: Floats,
    walls: Floats,
    ends: Floats,
    first: Floats,
    second: Floats,
    variance: float,
    place: Floats,
    pressure: float,
    least: float,
) -> float:
    """Do what `climb` does, number by number."""
    arms, size = slopes.shape
    count = len(ends)
    gradient = np.zeros(size)
    bend = np.zeros((size, size))
    step = np.zeros(size)
    trial = np.zeros(size)
    value = loglik(slopes, shift, first, second, variance, place)
    if size == 0 or value == -math.inf:  # then so it is in the whole region
        return value
    while True:
        goal = CLOSE if pressure <= least else CENTRED
        for _ in range(STEPS):
            for i in range(size):
                gradient[i] = 0.0
                for j in range(i + 1):
                    bend[i, j] = 0.0
            for arm in range(arms):
                if first[arm] == 0.0 and second[arm] == 0.0:
                    continue
                mean = shift[arm]
                for i in range(size):
                    mean += slopes[arm, i] * place[i]
                if variance > 0.0:
                    rise = (first[arm] - second[arm] * mean) / variance
                    fall = second[arm] / variance
                else:
                    rise = 0.0
                    fall = 0.0
                    if first[arm] > 0.0:
                        rise += first[arm] / mean
                        fall += first[arm] / (mean * mean)
                    if second[arm] > 0.0:
                        rise -= second[arm] / (1.0 - mean)
                        fall += second[arm] / ((1.0 - mean) * (1.0 - mean))
                for i in range(size):
                    gradient[i] += rise * slopes[arm, i]
                    for j in range(i + 1):
                        bend[i, j] += fall * slopes[arm, i] * slopes[arm, j]
            room = 0.0
            for wall in range(count):
                slack = ends[wall]
                for i in range(size):
                    slack -= walls[wall, i] * place[i]
                room += math.log(slack)
                push = pressure / slack
                for i in range(size):
                    gradient[i] -= push * walls[wall, i]
                    for j in range(i + 1):
                        bend[i, j] += push / slack * walls[wall, i] * walls[wall, j]
            ridge = 0.0
            for i in range(size):
                ridge = max(ridge, bend[i, i])
            for i in range(size):
                bend[i, i] += 1e-14 * ridge + 1e-300
            solve_in_place(bend, gradient, step)
            decrement = 0.0
            for i in range(size):
                decrement += gradient[i] * step[i]
            if not decrement > goal * pressure:
                break
            share = 1.0
            for wall in range(count):
                slack = ends[wall]
                nearer = 0.0
                for i in range(size):
                    slack -= walls[wall, i] * place[i]
                    nearer += walls[wall, i] * step[i]
                if nearer > 0.0 and INSIDE * slack < share * nearer:
                    share = INSIDE * slack / nearer
            now = value + pressure * room
            better = False
            for _ in range(40):
                for i in range(size):
                    trial[i] = place[i] + share * step[i]
                there = loglik(slopes, shift, first, second, variance, trial)
                total = there
                if there > -math.inf:
                    for wall in range(count):
                        slack = ends[wall]
                        for i in range(size):
                            slack -= walls[wall, i] * trial[i]
                        if slack > 0.0:
                            total += pressure * math.log(slack)
                        else:
                            total = -math.inf
                            break
                if total >= now + 0.1 * share * decrement:
                    better = True
                    break
                share *= 0.5
            if not better:
                break
            for i in range(size):
                place[i] = trial[i]
            value = there
        if pressure <= least:
            return value
        pressure = max(least, FALL * pressure)


def loglik(
    slopes: Floats, shift: Floats, first: Floats, second: Floats, variance: float, place: Floats
) -> float:
    """Return the log-likelihood of a model, -inf if it excludes what was seen."""
    total = 0.0
    for arm in range(len(shift)):
        if first[arm] == 0.0 and second[arm] == 0.0:
            continue
        mean = shift[arm]
        for i in range(len(place)):
            mean += slopes[arm, i] * place[i]
        if variance > 0.0:
            total += (first[arm] - 0.5 * second[arm] * mean) * mean / variance
            continue
        if (first[arm] > 0.0 and mean <= 0.0) or (second[arm] > 0.0 and mean >= 1.0):
            return -math.inf
        if first[arm] > 0.0:
            total += first[arm] * math.log(mean)
        if second[arm] > 0.0:
            total += second[arm] * math.log1p(-mean)
    return total


def solve_in_place(bend: Floats, gradient: Floats, step: Floats) -> None:
    """Solve bend step = gradient by Cholesky's method; the lower half of `bend` is overwritten."""
    size = len(gradient)
    for i in range(size):
        for j in range(i + 1):
            total = bend[i, j]
            for k in range(j):
                total -= bend[i, k] * bend[j, k]
            if i == j:
                bend[i, i] = math.sqrt(max(total, 1e-300))
            else:
                bend[i, j] = total / bend[j, j]
    for i in range(size):
        total = gradient[i]
        for k in range(i):
            total -= bend[i, k] * step[k]
        step[i] = total / bend[i, i]
    for i in range(size - 1, -1, -1):
        total = step[i]
        for k in range(i + 1, size):
            total -= bend[k, i] * step[k]
        step[i] = total / bend[i, i]


@kernel(climb_by_loops, loglik, solve_in_place)
def climb(
    slopes: Floats,
    shift: Floats,
    walls: Floats,
    ends: Floats,
    first: Floats,
    second: Floats,
    variance: float,
    place: Floats,
    pressure: float,
    least: float,
) -> float:
    """Move a point to where log-likelihood and barrier are highest, down to the least pressure.

    Return its log-likelihood.
    """
    seen = (first != 0.0) | (second != 0.0)
    slopes, shift, first, second = slopes[seen], shift[seen], first[seen], second[seen]
    value = _loglik(slopes, shift, first, second, variance, place)
    if not slopes.shape[1] or value == -math.inf:  # then so it is in the whole region
        return value
    while True:
        goal = CLOSE if pressure <= least else CENTRED
        for _ in range(STEPS):
            rise, fall = _derivatives(shift + slopes @ place, first, second, variance)
            slack = ends - walls @ place
            push = pressure / slack
            gradient = rise @ slopes - push @ walls
            bend = (slopes.T * fall) @ slopes + (walls.T * (push / slack)) @ walls
            diagonal = bend.reshape(-1)[:: len(bend) + 1]
            diagonal += 1e-14 * diagonal.max() + 1e-300
            step = np.linalg.solve(bend, gradient)
            decrement = float(gradient @ step)
            if not decrement > goal * pressure:
                break
            nearer = walls @ step
            ahead = nearer > 0.0
            share = min(1.0, INSIDE * float((slack[ahead] / nearer[ahead]).min(initial=math.inf)))
            now = value + pressure * float(np.log(slack).sum())
            for _ in range(40):
                trial = place + share * step
                there = _loglik(slopes, shift, first, second, variance, trial)
                left = ends - walls @ trial
                if there > -math.inf and (left > 0.0).all():
                    total = there + pressure * float(np.log(left).sum())
                    if total >= now + 0.1 * share * decrement:
                        break
                share *= 0.5
            else:
                break
            place[:] = trial
            value = there
        if pressure <= least:
            return value
        pressure = max(least, FALL * pressure)


def _derivatives(
    means: Floats, first: Floats, second: Floats, variance: float
) -> tuple[Floats, Floats]:
    """Return the first derivatives of the log-likelihood by the means, and minus the second ones."""
    if variance > 0.0:
        return (first - second * means) / variance, second / variance
    ones = np.where(first > 0.0, means, 1.0)
    zeros = np.where(second > 0.0, 1.0 - means, 1.0)
    return first / ones - second / zeros, first / ones**2 + second / zeros**2


def _loglik(
    slopes: Floats, shift: Floats, first: Floats, second: Floats, variance: float, place: Floats
) -> float:
    means = shift + slopes @ place
    if variance > 0.0:
        return float(((first - 0.5 * second * means) * means).sum()) / variance
    if (means[first > 0.0] <= 0.0).any() or (means[second > 0.0] >= 1.0).any():
        return -math.inf
    ones, zeros = np.where(first > 0.0, means, 1.0), np.where(second > 0.0, means, 0.0)
    return float(first @ np.log(ones) + second @ np.log1p(-zeros))
