"""The arguments of `advise`, checked."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from structured_bandits.base.checks import checked_above, checked_count, checked_share
from structured_bandits.base.families import checked_family
from structured_bandits.errors import ParameterError
from structured_bandits.structures.base import Structure

FEWEST_RUNS = 64  # regret has heavy tails: with fewer runs Student's t says nothing


@dataclass(frozen=True)
class Options:
    """A structure, how long it is played, and how far the answer is to be trusted."""

    structure: Structure
    horizon: int
    family: str
    trust: float
    prior: Any
    wrong: tuple[float, ...]
    level: float
    runs: int | None
    seconds: float
    seed: int

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """The range of the rewards, None of Gaussian ones."""
        if self.family == "gaussian":
            return None
        return self.structure.range_of_rewards

    @property
    def sigma(self) -> float:
        """The deviation of Gaussian rewards: half the width of the structure's range."""
        low, high = self.structure.range_of_rewards
        return 0.5 * (high - low)

    @property
    def rewards(self) -> dict[str, Any]:
        """What policies are told of the rewards."""
        if self.family == "gaussian":
            return {"reward_range": None, "sigma": self.sigma}
        return {"reward_range": self.reward_range}

    @property
    def ends(self) -> tuple[float, float]:
        """Between which ends means lie."""
        return self.reward_range or (-math.inf, math.inf)


def checked_options(
    structure: Any,
    horizon: Any,
    *,
    family: Any,
    trust: Any,
    prior: Any,
    wrong: Any,
    level: Any,
    runs: Any,
    seconds: Any,
    seed: Any,
) -> Options:
    """Return the options; raise a ParameterError that names the argument that is wrong."""
    if not isinstance(structure, Structure):
        raise ParameterError(f"structure={structure!r}: expected a structure")
    return Options(
        structure,
        checked_count("horizon", horizon, least=2),
        checked_family(family, ("bernoulli", "gaussian")),
        checked_share("trust", trust, 0.0, 1.0),
        structure.prior if prior is None else prior,
        _checked_wrong(wrong),
        checked_share("level", level, 1e-6, 0.5),
        None if runs is None else _checked_runs(runs),
        checked_above("seconds", seconds, 0.0),
        checked_count("seed", seed, least=0),
    )


def _checked_runs(runs: Any) -> int:
    count = checked_count("runs", runs)
    if count < FEWEST_RUNS:
        raise ParameterError(
            f"runs={runs!r}: expected at least {FEWEST_RUNS}; regret has rare large values, and with "
            "fewer runs nothing can be decided"
        )
    return count


def _checked_wrong(wrong: Any) -> tuple[float, ...]:
    if isinstance(wrong, str) or not isinstance(wrong, Iterable):
        raise ParameterError(f"wrong={wrong!r}: expected how far means may be off, such as (0.02,)")
    sizes = tuple(checked_above("wrong", size, 0.0) for size in wrong)
    if len(set(sizes)) < len(sizes):
        raise ParameterError(f"wrong={wrong!r}: a number is given twice")
    return tuple(sorted(sizes))
