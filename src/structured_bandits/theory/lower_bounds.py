"""The rows of the table of bounds, and lower bounds: Burnetas-Katehakis, Theorem 6, Graves-Lai.

A bound has a value, and says whether what it assumes is true.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from structured_bandits.base.extras import needs
from structured_bandits.base.text_tables import number
from structured_bandits.errors import MissingExtraError
from structured_bandits.theory.classes import outside_constant_regret, outside_worst_case
from structured_bandits.theory.graves_lai import cheapest_allocation
from structured_bandits.theory.truth import Truth

Check = tuple[bool, str]  # a condition, and what to say if it fails


@dataclass(frozen=True)
class Bound:
    """One row of the table of bounds."""

    bound: str
    policy: str
    side: str  # "upper" or "lower"
    value: float
    checks: list[Check] = field(default_factory=list)
    printed: float = math.nan
    erratum: str = ""
    note: str = ""

    def row(self, most: float) -> dict[str, Any]:
        """Return the columns of the table, `most` being what no regret exceeds.

        A bound above it says nothing: it is vacuous, and `capped` has `most` in its place.
        """
        failed = [why for holds, why in self.checks if not holds]
        return {
            "bound": self.bound,
            "policy": self.policy,
            "side": self.side,
            "value": self.value,
            "capped": most if self.value > most else self.value,
            "vacuous": self.value > most,
            "valid": not failed,
            "why_not": "; ".join(failed),
            "printed": self.printed,
            "erratum": self.erratum,
            "note": self.note,
        }


def largest_regret(truth: Truth, horizon: int) -> float:
    """Return what no regret exceeds: each pull costs the largest gap."""
    return horizon * float(truth.gaps.max())


def hardness(
    truth: Truth, using: Callable[[int], Iterable[int]], optimistic: bool = False
) -> dict[int, float]:
    """Return, for each arm that costs regret, the gap of its hardest model by the arms `using(arm)`."""
    return {arm: truth.hardest(arm, using(arm), optimistic).gap for arm in truth.costly_arms}


def cost_over_hardness(truth: Truth, hard: dict[int, float]) -> float:
    """Return the sum of Delta_i / Psi_i, which all bounds have in common."""
    return sum(
        float(truth.gaps[arm]) / gap / gap if gap > 0.0 else math.inf for arm, gap in hard.items()
    )


def omega(x: float) -> int:
    """Return the least natural y such that z >= x log z for all z >= y (Lattimore and Munos).

    >>> omega(3), omega(10), omega(100), omega(10_000)
    (5, 36, 648, 116672)
    """
    if x <= math.e:
        return 1
    with needs("Analysis.bounds", extra="polyhedral,report"):
        from scipy.special import lambertw

    # the larger root of z = x log z is -x W(-1/x) on the lower branch
    return math.ceil(-x * float(lambertw(-1.0 / x, -1).real))


def burnetas_katehakis(truth: Truth, horizon: int, sigma: float) -> Bound:
    """Return Theorem 2 for Gaussian rewards: the coefficient of log n is 2 sigma^2 Delta / Psi (I-8)."""
    hard = hardness(truth, lambda arm: (arm,), optimistic=True)
    printed = cost_over_hardness(truth, hard) * math.log(horizon)
    return Bound(
        f"Burnetas–Katehakis, Gaussian sigma={sigma:g} (Theorem 2)",
        "any consistent",
        "lower",
        2.0 * sigma**2 * printed,
        [
            *truth_checks(truth),
            (
                not outside_worst_case(truth),
                "the structure is not in the worst-case class Omega^wc",
            ),
        ],
        printed,
        "I-8",
        "asymptotic: coefficient × log n",
    )


def graves_lai_bound(
    truth: Truth,
    horizon: int,
    family: str,
    sigma: float | None = None,
    reward_range: tuple[float, float] | None = None,
) -> Bound:
    """Return the Graves-Lai bound at a horizon: of Gaussian rewards, or of the ends of a range."""
    low, high = reward_range or truth.structure.range_of_rewards
    scale = f" {low:g} or {high:g}" if (low, high) != (0.0, 1.0) else ""
    if family == "gaussian":
        scale = f" sigma={0.5 * (high - low) if sigma is None else sigma:g}"
    constant, why = math.nan, ""
    try:
        constant = cheapest_allocation(truth, family, sigma, reward_range).constant
    except MissingExtraError:
        raise  # says nothing about the bound
    except ValueError as error:
        why = str(error)
    return Bound(
        f"Graves–Lai, {family.capitalize()}{scale}",
        "any consistent",
        "lower",
        constant * math.log(horizon),
        [*truth_checks(truth), (not why, why)],
        note="asymptotic: coefficient × log n",
    )


def constant_regret(truth: Truth, horizon: int, sigma: float, convergence: float) -> Bound:
    """Return Theorem 6 for Gaussian rewards, for super-fast convergent policies with constant c.

    The paper has sigma^2 = 1/2 and looks at t = 1/Gamma_*^2 pulls; t must be a whole number (I-21), so
    it is rounded down, which keeps every step of the proof.
    """
    gamma = truth.gamma_star
    possible = 0.0 < gamma < math.inf
    t = math.floor(2.0 * sigma**2 / gamma**2 * (1.0 + 1e-12)) if possible else 0
    checks = [
        *truth_checks(truth),
        (
            not outside_constant_regret(truth),
            "the structure is not in the constant-regret class Omega^cr",
        ),
        (possible, f"Gamma_* is {number(gamma, 6)}: the theorem needs it positive and finite"),
    ]
    if possible:
        checks += _time_checks(truth, horizon, t, convergence)
    return Bound(
        f"constant regret, Gaussian sigma={sigma:g} (Theorem 6)",
        f"E[T_i(t)] <= {convergence:g} log t / Delta_i², without a horizon",
        "lower",
        2.0 * sigma**2 * _half_regret(truth, t, convergence),
        checks,
        _half_regret(truth, 1.0 / gamma**2 if possible else 0.0, convergence),
        "I-21",
    )


def _time_checks(truth: Truth, horizon: int, t: int, convergence: float) -> list[Check]:
    """Return the conditions on t pulls; d is the sum of the inverse squared gaps of all other arms."""
    gaps = [float(gap) for arm, gap in enumerate(truth.gaps) if arm != truth.best_arm]
    tied = min(gaps) == 0.0
    d = math.inf if tied else sum(1.0 / gap**2 for gap in gaps)
    needed = math.inf if tied else omega(2.0 * convergence * d)
    return [
        (truth.gamma_star < min(gaps), "Gamma_* is not below the smallest gap"),
        (t >= needed, f"2 sigma²/Gamma_*² = {t:g} is below omega(2cd) = {needed:g}"),
        (horizon >= t, f"horizon={horizon}: the theorem needs at least 2 sigma²/Gamma_*² = {t:g}"),
        (
            _log_argument(truth, t, convergence) > 1.0,
            "the argument of the logarithm is at most 1, so the bound says nothing",
        ),
    ]


def _half_regret(truth: Truth, t: float, convergence: float) -> float:
    """Return the sum of Delta_i / (2 Psi(Theta*_i, {i})) times the logarithm, at least 0."""
    argument = _log_argument(truth, t, convergence)
    if argument <= 1.0:
        return 0.0
    hard = hardness(truth, lambda arm: (arm,))
    return 0.5 * math.log(argument) * cost_over_hardness(truth, hard)


def _log_argument(truth: Truth, t: float, convergence: float) -> float:
    """Return Delta^2 t / (4 e^2 c log t), Delta being the least lead of a rival over i*."""
    if t <= 1.0:
        return 0.0
    lead = min(truth.distances.smallest_lead(arm, truth.best_arm) for arm in truth.other_arms)
    return lead**2 * t / (4.0 * math.e**2 * convergence * math.log(t))


def truth_checks(truth: Truth) -> list[Check]:
    """Return what every theorem assumes of the truth."""
    ties = int((truth.gaps == 0.0).sum())
    return [
        (truth.inside, "the truth is not a model of the structure"),
        (ties == 1, f"the truth has {ties} best arms"),
    ]
