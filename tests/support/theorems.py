"""The theorems on random structures: what SAE did on each run beside what the paper says it does.

`make theorems` prints the mean regret of the policies beside their bounds; test_theorems.py asserts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import structured_bandits as sb
from structured_bandits.base.confidence import width_budget
from structured_bandits.policies.phases import phase_target

STRUCTURES, RUNS = 50, 200
HORIZON = 100_000


@dataclass
class Run:
    """One run of SAE: did the good event E hold, which arms were active in each phase, pulls."""

    good: bool
    active: list[tuple[int, ...]]
    pulls: np.ndarray


def draw_problem(index: int) -> sb.Analysis:
    """Return a random structure with a truth that has one best arm; every fifth is a curve."""
    rng = np.random.default_rng([50, index])
    while True:
        arms = int(rng.integers(2, 6))
        if index % 5 == 4:
            ends = [rng.random((2, arms)) for _ in range(3)]
            structure = sb.CurveStructure(
                [sb.Piece(i, i + 1, *pair, closed="left") for i, pair in enumerate(ends)]
            )
            truth: float = 3 * rng.random()
        else:
            table = rng.random((int(rng.integers(2, 12)), arms))
            copied = rng.random(table.shape) < rng.choice([0.0, 0.5])
            structure = sb.FiniteStructure(np.where(copied, table[0], table))
            truth = 0
        analysis = sb.analyse(structure, truth)
        gaps = analysis.gaps[analysis.gaps > 0]
        if analysis.costly_arms and len(gaps) == arms - 1 and gaps.min() > 0.02:
            return analysis


def play(policy: sb.SAE, means: np.ndarray, rng: np.random.Generator) -> Run:
    """Play SAE phase by phase on Bernoulli rewards and look at every end of a phase (Lemma 1)."""
    state = policy.init()
    quota = np.zeros(len(means), np.int64)
    margin = (
        math.sqrt(width_budget(policy.alpha, policy.sigma, math.log(policy.horizon))) / policy.beta
    )
    good, active, t = True, [], 0
    while t < policy.horizon:
        policy.plan(state, sb.Now(t, policy.horizon - t), quota, rng)
        assert state.phase[0] == len(active)
        active.append(policy.active_arms(state, t))
        if t + quota.sum() > policy.horizon:
            break  # the horizon ends the run inside this phase: no set is computed from it
        ones = rng.binomial(quota, means).astype(float)
        policy.observe(state, sb.Seen(quota, ones, ones))
        t += int(quota.sum())
        pulls, sums = state.data
        pulled = pulls > 0
        away = np.abs(sums[pulled] / pulls[pulled] - means[pulled])
        good = good and bool((away < margin / np.sqrt(pulls[pulled])).all())
    pulls = state.data.pulls
    return Run(good, active, pulls + quota if t + quota.sum() > policy.horizon else pulls)


def pulls_of_phase(policy: sb.SAE, phase: float) -> int:
    """Return the pulls that end a phase (Algorithm 1, line 6)."""
    budget = width_budget(policy.alpha, policy.sigma, math.log(policy.horizon))
    return phase_target(budget, policy.beta, 1.0, int(phase))


def policies(analysis: sb.Analysis) -> dict[str, object]:
    structure = analysis.structure
    return {
        "SAE beta=1": sb.SAE.paper(structure, HORIZON, alpha=1.0, beta=1.0),
        "SAE beta=3": sb.SAE.paper(structure, HORIZON, alpha=9.0, beta=3.0),
        "ASAE eta=1": sb.ASAE.paper(structure, alpha=2.0, beta=1.0, eta=1.0),
        "SUCB alpha=1.5": sb.SUCB.paper(structure, alpha=1.5),
    }


BOUNDS = {
    "SAE beta=1": "SAE (Theorem 3)",
    "SAE beta=3": "SAE (Theorem 3)",
    "ASAE eta=1": "ASAE, logarithmic (Theorem 4)",
    "SUCB alpha=1.5": "SUCB (Theorem 1)",
}


def regrets_and_bounds(index: int, runs: int = RUNS) -> dict[str, tuple[float, float, float]]:
    """Return mean regret, its standard error and its bound for each policy on one structure."""
    analysis = draw_problem(index)
    chosen = policies(analysis)
    world = sb.Bernoulli(analysis.means)
    result = sb.simulate(
        chosen, world, HORIZON, runs=runs, seed=index, checkpoints=[HORIZON], progress=False
    )
    table = analysis.bounds(HORIZON, chosen)
    found = {}
    for name in chosen:
        row = table[(table.policy == name) & (table.bound == BOUNDS[name])].iloc[0]
        assert row.valid, row.why_not
        regret = result.regret[name][:, -1]
        found[name] = regret.mean(), regret.std(ddof=1) / math.sqrt(runs), row.value
    return found
