"""How long SAE plays each arm: the elimination timeline, from the sets that theory computes.

With alpha = beta², and unless the rewards are very unlikely ones (on the good event of Lemma 1), the
arms that SAE plays in a phase lie between two sets that are known beforehand (Theorem 7). So an arm is
dropped at the end of its last phase or earlier, and until then there are at most as many pulls as told.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from structured_bandits.base.confidence import width_budget
from structured_bandits.policies.phases import largest_gap, phase_target
from structured_bandits.policies.sae import SAE
from structured_bandits.structures.questions import Nearest
from structured_bandits.theory.analysis import Analysis
from structured_bandits.theory.elimination import Elimination


class Phase(NamedTuple):
    """A phase: differences that it detects, pulls of each arm at its end, and of all arms at most."""

    number: int
    detects: float
    each: int
    ends_at: int


class Life(NamedTuple):
    """How long SAE plays an arm.

    `last_phase` is infinite if the arm is never dropped, `dropped_at` the number of pulls of all arms by
    which it is dropped at the latest; it may be beyond the horizon. `helpers` are the arms that are sure
    to be played until then, `hardest` is the model that keeps the arm alive longest.
    """

    arm: int
    last_phase: float
    dropped_at: float
    own_pulls: float
    helpers: tuple[int, ...]
    hardest: Nearest | None


class Timeline(NamedTuple):
    """The lives of all arms that SAE plays, the longest first, and the phases within the horizon."""

    horizon: int
    beta: float
    phases: tuple[Phase, ...]
    lives: tuple[Life, ...]
    never_played: tuple[int, ...]


def timeline(analysis: Analysis, horizon: int, beta: float) -> Timeline:
    """Return how long SAE plays each arm if the truth is that of the analysis."""
    policy = SAE.paper(analysis.structure, horizon, alpha=beta**2, beta=beta)
    start = largest_gap(policy.bottom, policy.top)
    sets = analysis.elimination(horizon, beta, start)
    budget = width_budget(policy.alpha, policy.sigma, math.log(horizon))
    targets = [phase_target(budget, beta, start, phase) for phase in range(len(sets.active))]
    ends = [_pulls_at(sets, targets, phase) for phase in range(len(targets))]
    phases = [
        Phase(phase, start / 2.0**phase, each, end)
        for phase, (each, end) in enumerate(zip(targets, ends, strict=True))
        if end <= horizon
    ]
    lives = [_life(analysis, sets, arm, targets, ends) for arm in analysis.best_arms]
    never = set(range(analysis.structure.n_arms)) - set(analysis.best_arms)
    return Timeline(
        horizon,
        beta,
        tuple(phases),
        tuple(sorted(lives, key=lambda life: (-life.dropped_at, life.arm != analysis.best_arm))),
        tuple(sorted(never)),
    )


def _pulls_at(sets: Elimination, targets: list[int], phase: int) -> int:
    """Return the pulls of all arms by the end of a phase if each arm lives as long as it can."""
    return sum(targets[int(min(last, phase))] for last in sets.last_phase.values())


def _life(
    analysis: Analysis, sets: Elimination, arm: int, targets: list[int], ends: list[int]
) -> Life:
    last: Any = sets.last_phase[arm]
    if not math.isfinite(last):
        return Life(arm, last, math.inf, math.inf, (), None)
    helpers = sets.helpers[arm]
    return Life(arm, last, ends[last], targets[last], helpers, analysis.hardest(arm, helpers))
