"""How many pulls does it take to be certain which arm is best? Simulated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.base.checks import checked_count
from structured_bandits.errors import ParameterError
from structured_bandits.policies.best_arm import BestArm
from structured_bandits.simulation.delayed import comes_late
from structured_bandits.simulation.simulate import simulate
from structured_bandits.structures.base import Structure

MOST_RECORDED = 10_000_000  # arms that are recorded at once


@dataclass(frozen=True)
class Identification:
    """When runs became certain, and of which arm.

    `pulls` are those after which a run was certain, 0 if it was not before the last one; `arms` the arms
    of which it was; `wrong` marks those that are not best.
    """

    pulls: Ints
    arms: Ints
    wrong: Flags
    level: float
    horizon: int

    @property
    def undecided(self) -> int:
        """The number of runs that were not certain within the horizon."""
        return int((self.pulls == 0).sum())

    @property
    def mean(self) -> float:
        """The mean number of pulls until a run was certain; infinite if one was not."""
        return math.inf if self.undecided else float(self.pulls.mean())

    def quantile(self, share: float) -> float:
        """Return the pulls within which this share of the runs was certain; infinite if it was not."""
        if not 0.0 < share <= 1.0:
            raise ParameterError(f"share={share!r}: expected a number above 0, at most 1")
        times = np.where(self.pulls == 0, math.inf, self.pulls.astype(float))
        return float(np.sort(times)[max(math.ceil(share * len(times)) - 1, 0)])

    def __str__(self) -> str:
        """Return it in sentences."""
        runs = len(self.pulls)
        said = f"Certain after {self.mean:,.0f} pulls on average"
        if self.undecided:
            said = f"{self.undecided:,} of {runs:,} runs were not certain in {self.horizon:,} pulls"
        wrong, allowed = int(self.wrong.sum()), self.level * runs
        return (
            f"{said}, 9 of 10 within {self.quantile(0.9):,.0f}; wrong in {wrong:,} of {runs:,} runs, "
            f"where {allowed:,.0f} are allowed."
        )


def identify(
    structure: Structure,
    world: Any,
    level: float = 0.05,
    epsilon: float = 0.0,
    horizon: int = 100_000,
    runs: int = 1_000,
    seed: int = 0,
    **how: Any,
) -> Identification:
    """Simulate `BestArm` until it is certain which arm is best.

    `world` pays the rewards, such as `sb.Bernoulli(structure.means(0))`; `how` goes to `simulate`, such
    as `engine` or `workers`. An arm within `epsilon` of the best is no error.

    >>> import structured_bandits as sb
    >>> types = sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]])
    >>> found = sb.identify(types, sb.Bernoulli([0.8, 0.3]), runs=50, engine="python")
    >>> found.undecided, bool(found.mean < 20)
    (0, True)
    """
    if comes_late(type(world)):
        raise ParameterError(f"world={world!r}: rewards have to come at once")
    policy = BestArm(structure, level, epsilon, *_rewards_of(world))
    pulls, arms = [], []
    horizon, runs = checked_count("horizon", horizon), checked_count("runs", runs)
    if horizon > MOST_RECORDED:
        raise ParameterError(f"horizon={horizon}: expected at most {MOST_RECORDED:,}")
    size = MOST_RECORDED // horizon
    for first in range(0, runs, size):
        result = simulate(
            policy,
            world,
            horizon,
            min(size, runs - first),
            seed=seed,
            first_run=first,
            record_arms=True,
            misfit=False,
            **{"progress": False, **how},
        )
        pulls.append(result.alarms["BestArm"])
        arms.append(result.arms["BestArm"][:, -1])
    means: Floats = np.asarray(world.means)
    certain, last = np.concatenate(pulls), np.concatenate(arms)
    wrong = (certain > 0) & (means[last] < means.max() - epsilon)
    return Identification(certain, last, wrong, policy.level, horizon)


def _rewards_of(world: Any) -> tuple[Any, float | None]:
    """Return the range of a world's rewards, or their deviation if they have none."""
    if getattr(world, "family", "") == "gaussian":
        return None, float(world.sigma)
    return "structure", None
