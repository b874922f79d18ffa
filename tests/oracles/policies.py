"""Definition-level oracles of seven bandit policies: one pull at a time, in exact arithmetic.

Nothing is planned ahead and nothing is shared with the library. The definitions are those of
docs/notes/mathematics.md 2; numbers, structures and sets are in structures.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import count

import numpy as np
from oracles.structures import (
    MP,
    Cell,
    Confidence,
    Curves,
    Game,
    Models,
    Real,
    Rewards,
    Set,
    Structure,
    Surd,
    Trace,
    ceiling,
    compare,
    exact,
    log,
    real,
    width_constant,
)

__all__ = [
    "Curves",
    "Models",
    "Trace",
    "asae",
    "greedy_mle",
    "improved_ucb",
    "sae",
    "sucb",
    "ucb",
    "wagp",
]


# ----------------------------------------------------------------------- shared steps of policies


def choose(
    arms: np.ndarray,
    values: np.ndarray,
    errors: np.ndarray,
    surd: Callable[[int], Surd],
    level: Real,
    trace: Trace,
) -> int:
    """The arm of the largest value, the lowest arm on exact ties; ``surd(j)`` is value j."""
    contends = values + errors >= (values - errors).max()
    near = np.flatnonzero(contends)
    tied = {int(arms[near[0]])}
    if (arms[near] != arms[near[0]]).any():
        offers = [(int(arms[j]), surd(int(j))) for j in near]
        top = offers[0][1]
        for _, offer in offers:
            if compare(offer, top, level) > 0:
                top = offer
        tied = {arm for arm, offer in offers if offer == top}
        trace.ties += len(tied) > 1
        for arm, offer in offers:
            if arm not in tied:
                trace.note(offer.at(level), top.at(level))
    rivals = values[~contends & (arms != min(tied))]
    if len(rivals):
        trace.note(float(values.max()), float(rivals.max()))
    return min(tied)


def highest_index(game: Game, arms: Sequence[int], level: Real) -> int:
    """docs/notes/mathematics.md 2.2: the arm with the largest mean_i + sqrt(level / T_i), arms without a pull first."""
    for i in arms:
        if game.counts[i] == 0:
            return i
    pulls = np.array([game.counts[i] for i in arms])
    means = np.array([game.sums[i] / (game.unit * game.counts[i]) for i in arms])
    radii = np.sqrt(float(level) / pulls)

    def index(j: int) -> Surd:
        return Surd(game.mean(arms[j]), Fraction(1, int(pulls[j])))

    error = 1e-12 * (np.abs(means) + radii)
    return choose(np.array(arms), means + radii, error, index, level, game.trace)


def top_up(game: Game, active: list[int], goals: Sequence[int], stop: int) -> bool:
    """docs/notes/mathematics.md 2.5: round robin until every active arm has its goal; False if t = stop came first."""
    while todo := [i for i in active if game.counts[i] < goals[i]]:
        for i in todo:
            game.pull(i)
            if game.t == stop:
                return False
    return True


def phase_target(game: Game, level: Real, beta: float, h: int, horizon: int) -> int:
    """docs/notes/mathematics.md 2.5: p_h = max(1, ceil(c L (1 + 1/beta)**2 4**h))."""
    factor = (1 + 1 / exact(beta)) ** 2 * 4**h
    return max(1, ceiling(level * real(factor), game.trace, horizon))


def eliminate(game: Game, active: list[int], optimal: list[int]) -> list[int]:
    """docs/notes/mathematics.md 2.5: the active arms in A*(set); if there is none, count it and keep them all (docs/notes/mathematics.md 2.9)."""
    kept = [i for i in active if i in optimal]
    if not kept:
        game.trace.empty += 1
        kept = active
    game.trace.updates.append((game.t, tuple(game.counts), tuple(active), tuple(kept)))
    return kept


# ------------------------------------------------------------------------------------- policies


def ucb(
    n_arms: int, rewards: Rewards, horizon: int, alpha: float = 2.0, sigma: float = 0.5
) -> Trace:
    """UCB over all arms (docs/notes/mathematics.md 2.2)."""
    game, c = Game(n_arms, rewards), width_constant(alpha, sigma)
    for t in range(1, horizon + 1):
        game.pull(highest_index(game, range(n_arms), c * log(t)))
    return game.trace


def improved_ucb(
    n_arms: int, rewards: Rewards, horizon: int, n: float | None = None, sigma: float = 0.5
) -> Trace:
    """Improved UCB (docs/notes/mathematics.md 2.3) tuned for n pulls, played for horizon pulls."""
    game, size = Game(n_arms, rewards), exact(horizon if n is None else n)
    trace, scale, active = game.trace, width_constant(1, sigma), list(range(n_arms))
    last = ceiling((log(size) - 1) / log(4), trace, horizon) - 1  # floor(log2(n / e) / 2)
    for m in range(max(0, last) + 1):
        if len(active) == 1:
            break
        level = scale * log(size / 4**m)
        goal = max(1, ceiling(2 * level * 4**m, trace, horizon))
        if not top_up(game, active, [goal] * n_arms, horizon):
            return trace
        square = Fraction(1, 2 * goal)  # w**2 = level / (2 n_m)
        least = Surd(max(map(game.mean, active)), -square)
        kept = []
        for i in active:
            most = Surd(game.mean(i), square)
            if compare(most, least, level) >= 0:
                kept.append(i)
            trace.note(most.at(level), least.at(level))
        trace.updates.append((game.t, tuple(game.counts), tuple(active), tuple(kept)))
        active = kept
    if len(active) > 1:
        top = max(map(game.mean, active))
        for i in active:
            trace.note(game.mean(i), top)
        active = [i for i in active if game.mean(i) == top]
        trace.ties += len(active) > 1
    while game.t < horizon:
        game.pull(active[0])
    return trace


def sucb(
    structure: Structure, rewards: Rewards, horizon: int, alpha: float = 2.0, sigma: float = 0.5
) -> Trace:
    """SUCB (docs/notes/mathematics.md 2.4): best arm of the most optimistic model; empty set: UCB over A*(Theta) (docs/notes/mathematics.md 2.9)."""
    game, c = Game(structure.n_arms, rewards), width_constant(alpha, sigma)
    confidence, memo = Confidence(structure, game), dict[bytes, tuple[int, int]]()
    for t in range(1, horizon + 1):
        level, ties = c * log(t), game.trace.ties
        inside = confidence.evaluate(level)
        key = inside.tobytes()
        if confidence.straight and key in memo:  # constant means: the set decides alone
            arm, tied = memo[key]
            game.trace.ties += tied
        else:
            arm = sucb_arm(confidence, inside, level)
            if inside.any():
                memo[key] = arm, game.trace.ties - ties
        game.pull(arm)
    return game.trace


def sucb_arm(confidence: Confidence, inside: np.ndarray, level: Real) -> int:
    """SUCB's arm, given the cells that fit."""
    if inside.any():
        return most_optimistic(confidence, np.flatnonzero(inside), level)
    confidence.game.trace.empty += 1
    return highest_index(confidence.game, confidence.structure.optimal, level)


def most_optimistic(confidence: Confidence, cells: np.ndarray, level: Real) -> int:
    """The arm with the largest sup of its mean over the cells of the set in which it is best."""
    values, errors = confidence.tops()

    def top(j: int) -> Surd:
        return confidence.top(int(cells[j]), level)

    arms = confidence.structure.best[cells]
    return choose(arms, values[cells], errors[cells], top, level, confidence.game.trace)


def sae(
    structure: Structure,
    rewards: Rewards,
    horizon: int,
    n: float | None = None,
    alpha: float = 2.0,
    beta: float = 1.0,
    sigma: float = 0.5,
    box: Callable[[Structure, Game], Set] = Confidence,
) -> Trace:
    """SAE (docs/notes/mathematics.md 2.5) tuned for n pulls, played for horizon pulls."""
    game = Game(structure.n_arms, rewards)
    confidence, active = box(structure, game), structure.optimal
    level = width_constant(alpha, sigma) * log(exact(horizon if n is None else n))
    if level == 0 and horizon > 1:
        raise ValueError("n = 1 asks for one pull in every phase: the phases would never end")
    for h in count():
        goal = phase_target(game, level, beta, h, horizon)
        if not top_up(game, active, [goal] * structure.n_arms, horizon):
            break
        active = eliminate(game, active, confidence.arms(level))
    return game.trace


def asae(
    structure: Structure,
    rewards: Rewards,
    horizon: int,
    alpha: float = 2.0,
    beta: float = 1.0,
    eta: float = 0.1,
    init: str = "recompute",
    clock: str = "length",
    phase_counter: str = "period",
    period_end: str = "truncate",
    sigma: float = 0.5,
    box: Callable[[Structure, Game], Set] = Confidence,
) -> Trace:
    """ASAE (docs/notes/mathematics.md 2.6) with its four switches: periods of SAE with n_k = 2**((1 + eta)**k)."""
    game = Game(structure.n_arms, rewards)
    confidence, last_optimal = box(structure, game), structure.optimal
    for k in count():
        power = (1 + real(exact(eta))) ** k
        length = ceiling(MP.mpf(2) ** power, game.trace, horizon)
        end = game.t + length if clock == "length" else length
        if end <= game.t:
            continue
        level = width_constant(alpha, sigma) * power * log(2)
        active = last_optimal or structure.optimal
        if init == "recompute" and k > 0:
            active = confidence.arms(level)
            if not active:
                game.trace.empty += 1
                active = structure.optimal
        base = list(game.counts) if phase_counter == "period" else [0] * structure.n_arms
        stop = min(end, horizon) if period_end == "truncate" else horizon
        for h in count():
            goal = phase_target(game, level, beta, h, horizon)
            if not top_up(game, active, [pulls + goal for pulls in base], stop):
                break
            last_optimal = confidence.arms(level)
            active = eliminate(game, active, last_optimal)
            if game.t >= end:
                break
        if game.t == horizon:
            return game.trace
    raise AssertionError("unreachable")


def closest_parameter(curves: Curves, arm: int, mean: Fraction, trace: Trace) -> Fraction:
    """docs/notes/mathematics.md 2.7: midpoint of the extreme minimisers of |mu_arm(theta) - mean| over all closed pieces."""
    found = []
    for start, end, first, last in curves.pieces:
        a, b = first[arm], last[arm]
        found += [(abs(mean - a), start)]
        trace.note(mean, a)
        if start < end:
            found += [(abs(mean - b), end)]
            trace.note(mean, b)
            if a < mean < b or b < mean < a:
                found += [(Fraction(0), start + (mean - a) / (b - a) * (end - start))]
    least = min(distance for distance, _ in found)
    for distance, _ in found:
        trace.note(distance, least)
    thetas = [theta for distance, theta in found if distance == least]
    return (min(thetas) + max(thetas)) / 2


def arm_at(curves: Curves, theta: Fraction, trace: Trace) -> int:
    """Best arm of the cell holding theta: a point, else [start, end), else the nearest cell.

    A tie is a theta on the border of cells with different arms (or halfway between two of them).
    """
    near = [cell for cell in curves.cells if cell.start <= theta <= cell.end]
    if not near:
        distances = [abs(cell.nearest(theta) - theta) for cell in curves.cells]
        least = min(distances)
        near = [cell for cell, d in zip(curves.cells, distances, strict=True) if d == least]
        trace.note(least, min([d for d in distances if d > least], default=least))
    trace.ties += len({cell.best for cell in near}) > 1
    for border in curves.borders:
        trace.note(theta, border)

    def order(cell: Cell) -> tuple[Fraction, bool, bool]:
        p = cell.nearest(theta)
        return p, cell.start < cell.end, p == cell.end

    return min(near, key=order).best


def wagp(curves: Curves, rewards: Rewards, horizon: int, first_arm: int) -> Trace:
    """WAGP (docs/notes/mathematics.md 2.7): play the best arm at the pull-weighted average of the arms' own parameters."""
    game = Game(curves.n_arms, rewards)
    theta = [Fraction(0)] * curves.n_arms
    arm = first_arm
    for t in range(1, horizon + 1):
        game.pull(arm)
        if t < horizon:
            theta[arm] = closest_parameter(curves, arm, game.mean(arm), game.trace)
            weighted = (n * p for n, p in zip(game.counts, theta, strict=True))
            arm = arm_at(curves, sum(weighted, Fraction(0)) / t, game.trace)
    return game.trace


def greedy_mle(structure: Structure, rewards: Rewards, horizon: int) -> Trace:
    """The best arm of the cell fitting best in least squares (2.5, oracle 6 of Part 0).

    The sum of (reward - mu)**2 over all pulls is the weighted least squares plus a term that does
    not depend on the model. At position x of a cell it is ``quad x**2 - 2 line x + base``.
    """
    game = Game(structure.n_arms, rewards)
    den, low, slope = structure.integers(game.unit)
    quad, line, base = (0 * den for _ in range(3))
    per_unit, square = den // game.unit, den * den
    for _ in range(horizon):
        inner = (line > 0) & (line < quad)
        at_end = np.where(line <= 0, base, base - 2 * line + quad)
        tops = np.where(inner, base * quad - line * line, at_end)
        bottoms = np.where(inner, quad, 1) * square
        arm = least_loss(structure.best, tops, bottoms, game.trace)
        off = game.pull(arm) * per_unit - low[arm]
        quad = quad + slope[arm] * slope[arm]
        line = line + slope[arm] * off
        base = base + off * off
    return game.trace


def least_loss(best: np.ndarray, tops: np.ndarray, bottoms: np.ndarray, trace: Trace) -> int:
    """Arm of the smallest loss tops / bottoms, the first cell on ties.

    Division of Python integers rounds correctly, hence in order: the smallest loss is among those
    with the smallest float. ``closest`` compares losses as they are here, with the common term.
    """
    losses = (tops / bottoms).astype(float)
    near = np.flatnonzero(losses == losses.min())
    loss = {c: Fraction(tops[c], bottoms[c]) for c in near}
    winner = min(near, key=lambda c: loss[c])
    tied = {int(best[c]) for c in near if loss[c] == loss[winner]}
    trace.ties += len(tied) > 1
    rivals = np.flatnonzero((best != best[winner]) & (losses > losses.min()))
    if len(rivals):
        c = rivals[losses[rivals].argmin()]
        loss[c] = Fraction(tops[c], bottoms[c])
    for c, value in loss.items():
        if best[c] != best[winner]:
            trace.note(value, loss[winner])
    return int(best[winner])
