"""Upper bounds on the regret, for the parameters that policies have, and the table of all bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.confidence import width_budget
from structured_bandits.base.extras import needs
from structured_bandits.base.families import kl_bernoulli
from structured_bandits.base.intervals import KLIntervals
from structured_bandits.errors import ParameterError
from structured_bandits.inference.likelihood import FLOOR
from structured_bandits.inference.likelihood_sets import LikelihoodSets
from structured_bandits.policies.asae import ASAE
from structured_bandits.policies.base import GivenRange, Policy
from structured_bandits.policies.isae import ISAE
from structured_bandits.policies.phases import largest_gap
from structured_bandits.policies.rivals import told_of
from structured_bandits.policies.sae import SAE
from structured_bandits.policies.sucb import SUCB
from structured_bandits.protocols import PolicyLike
from structured_bandits.structures.base import Structure
from structured_bandits.theory.elimination import eliminate
from structured_bandits.theory.lower_bounds import (
    Bound,
    Check,
    burnetas_katehakis,
    constant_regret,
    cost_over_hardness,
    graves_lai_bound,
    hardness,
    largest_regret,
    truth_checks,
)
from structured_bandits.theory.truth import Truth

if TYPE_CHECKING:
    import pandas


def bounds_table(
    truth: Truth,
    horizon: int,
    policies: Mapping[str, PolicyLike] | Iterable[PolicyLike] | PolicyLike | None,
    convergence: float,
) -> pandas.DataFrame:
    """Return the table of `Analysis.bounds`."""
    with needs("Analysis.bounds", extra="polyhedral,report"):
        import pandas

    return pandas.DataFrame(bound_rows(truth, horizon, policies, convergence))


def bound_rows(
    truth: Truth,
    horizon: int,
    policies: Mapping[str, PolicyLike] | Iterable[PolicyLike] | PolicyLike | None,
    convergence: float,
) -> list[dict[str, Any]]:
    """Return the rows of that table, for those who need no data frame."""
    if policies is None:
        policies = theorem_policies(truth.structure, horizon)
    policies = _named(policies)
    rows: list[Bound] = []
    for name, policy in policies.items():
        if getattr(policy, "structure", truth.structure) not in (truth.structure, None):
            raise ParameterError(f"policies[{name!r}]: it was built for another structure")
        rows += upper_bounds(truth, horizon, name, policy)
    for sigma in dict.fromkeys(getattr(policy, "sigma", 0.5) for policy in policies.values()):
        rows += [
            burnetas_katehakis(truth, horizon, sigma),
            graves_lai_bound(truth, horizon, "gaussian", sigma),
            constant_regret(truth, horizon, sigma, convergence),
        ]
    for reward_range in _declared_ranges(truth.structure, policies):
        rows.append(graves_lai_bound(truth, horizon, "bernoulli", reward_range=reward_range))
    most = largest_regret(truth, horizon)
    return [bound.row(most) for bound in rows]


def _declared_ranges(
    structure: Structure, policies: Mapping[str, PolicyLike]
) -> list[tuple[float, float]]:
    """Return the ranges of rewards that the policies declare, that of the structure if none does."""
    ranges = [getattr(policy, "reward_range", None) for policy in policies.values()]
    declared = dict.fromkeys((each[0], each[1]) for each in ranges if each is not None)
    return list(declared) or [structure.range_of_rewards]


def _named(policies: Any) -> dict[str, PolicyLike]:
    """Return policies by name: as given, or by their kinds, numbered if a kind comes again."""
    if isinstance(policies, Mapping):
        return dict(policies)
    named: dict[str, PolicyLike] = {}
    for policy in [policies] if hasattr(policies, "plan") else policies:
        kind = type(policy).__name__
        same = sum(type(other).__name__ == kind for other in named.values())
        named[f"{kind} {same + 1}" if same else kind] = policy
    return named


def theorem_policies(
    structure: Structure,
    horizon: int,
    reward_range: GivenRange = "structure",
    sigma: float | None = None,
) -> dict[str, PolicyLike]:
    """Return policies with the parameters of the theorems."""
    span: dict[str, Any] = {"reward_range": reward_range, "sigma": sigma}
    return {
        "SUCB alpha=2": SUCB.paper(structure, **span),
        "SAE alpha=1 beta=1": SAE.paper(structure, horizon, alpha=1.0, beta=1.0, **span),
        "SAE alpha=9 beta=3": SAE.paper(structure, horizon, alpha=9.0, beta=3.0, **span),
        "ASAE alpha=2 eta=1": ASAE.paper(structure, alpha=2.0, beta=1.0, eta=1.0, **span),
        "ASAE alpha=2.5 eta=1": ASAE.paper(structure, alpha=2.5, beta=1.0, eta=1.0, **span),
    }


def upper_bounds(truth: Truth, horizon: int, name: str, policy: PolicyLike) -> list[Bound]:
    """Return the upper bounds that the theory has for a policy."""
    if isinstance(getattr(policy, "widths", None), LikelihoodSets):
        return [_likelihood_sets(truth, horizon, name, policy)]
    if isinstance(policy, SUCB):
        return [_sucb(truth, horizon, name, policy)]
    if isinstance(policy, SAE):
        return _sae(truth, horizon, name, policy)
    if isinstance(policy, ASAE):
        return [
            _asae_logarithmic(truth, horizon, name, policy),
            _asae_constant(truth, name, policy),
        ]
    if isinstance(policy, ISAE):
        return [_isae(truth, horizon, name, policy)]
    return [Bound("none", name, "upper", math.nan, [(False, "the library has no bound for it")])]


def _sucb(truth: Truth, horizon: int, name: str, policy: SUCB) -> Bound:
    """Theorem 1 with the constants of its proof (App. B); the paper's alpha is 2 alpha here."""
    budget = width_budget(policy.alpha, policy.sigma, math.log(horizon))
    hard = hardness(truth, lambda arm: (arm,), optimistic=True)
    pulls = sum(
        float(truth.gaps[arm]) * math.ceil(4.0 * budget / gap / gap) for arm, gap in hard.items()
    )
    names = truth.structure.arm_names
    tied = [
        names[arm]
        for arm in truth.other_arms
        if arm < truth.best_arm and truth.distances.ties_with_truth(arm)
    ]
    checks = [
        *truth_checks(truth),
        *_reward_checks(truth, policy),
        (policy.alpha > 1.0, f"alpha={policy.alpha:g}: the theorem needs alpha > 1"),
        (not tied, f"models of {', '.join(tied)} tie with the truth's best mean (I-15)"),
    ]
    outside = math.inf  # the expected number of times that the truth is not in the set
    if policy.alpha > 1.0:
        outside = len(truth.best_arms) * (2.0 * policy.alpha - 1.0) / (policy.alpha - 1.0)
    largest = float(truth.gaps[list(truth.best_arms)].max())
    value = pulls + largest * outside if largest > 0.0 else pulls
    return Bound("SUCB (Theorem 1)", name, "upper", value, checks)


def _sae(truth: Truth, horizon: int, name: str, policy: SAE) -> list[Bound]:
    """Theorem 3 and its form with gaps only (Proposition 1), with corrected constants.

    With KL intervals sets are smaller, so nothing says how long an arm stays that is neither the one in
    question nor the best: these two are its only helpers then (docs/notes/mathematics.md 4.5).
    """
    n, beta = policy.horizon, policy.beta
    start = largest_gap(policy.bottom, policy.top)
    sharper = isinstance(policy.widths, KLIntervals)
    helpers = {}
    if truth.inside and n > 1 and not sharper:
        helpers = eliminate(truth, n, beta, start).helpers
    own = (lambda arm: (arm, truth.best_arm)) if sharper else (lambda arm: (arm,))
    hard = hardness(truth, lambda arm: helpers.get(arm, own(arm)))
    checks = [
        *truth_checks(truth),
        *_reward_checks(truth, policy),
        *_gap_checks(hard, start),
        (n >= 64, f"the policy's horizon is {n}: the theorem needs 64 or more"),
        (horizon <= n, f"horizon={horizon}: the policy was built for {n}"),
        (
            _at_least(policy.alpha, beta**2),
            f"alpha={policy.alpha:g}, beta={beta:g}: the theorem needs alpha >= beta²",
        ),
        (
            _at_least(width_budget(policy.alpha, policy.sigma, 1.0), (beta * start) ** 2),
            f"sigma={policy.sigma:g} is too small for phases that start from a gap of {start:g}",
        ),
    ]
    log = math.log(n)
    width = width_budget(policy.alpha, policy.sigma, log) * (1.0 + 1.0 / beta) ** 2
    count = len(truth.best_arms)
    rest = _scale(truth, policy) * count * (1.0 + _failing(policy))
    sum_hard = cost_over_hardness(truth, hard)
    sum_gaps = sum(1.0 / float(truth.gaps[arm]) for arm in truth.costly_arms)
    values = 4.0 * width * sum_hard + rest, 16.0 * width * sum_gaps + rest
    gaps_only = "SAE, gaps only (Proposition 1)"
    if sharper:
        return [
            Bound("SAE (Theorem 3, i and i*)", name, "upper", values[0], checks),
            Bound(gaps_only, name, "upper", values[1], checks),
        ]
    printed = 4.0 * (1.0 + beta**2) * log * sum_hard + 2.0 * count, 8.0 * width * sum_gaps + rest
    erratum = "I-1, I-5" if beta == 1.0 else "I-1"
    return [
        Bound("SAE (Theorem 3)", name, "upper", values[0], checks, printed[0], erratum),
        Bound(gaps_only, name, "upper", values[1], checks, printed[1], "I-16"),
    ]


def _failing(policy: SAE) -> float:
    """Return n times the probability that the good event fails, per arm (Lemma 1).

    Theorem 3, which has alpha = beta^2, rounds it up to 1. For beta > 1 the good event, that means are
    within 1/beta of the radius, says nothing of KL intervals: that these hold the truth comes on top.
    """
    within = _missing(policy.horizon, policy.alpha / policy.beta**2)
    apart = isinstance(policy.widths, KLIntervals) and policy.beta > 1.0
    return within + _missing(policy.horizon, policy.alpha) if apart else within


def _missing(n: int, alpha: float) -> float:
    """Return n times the probability that an arm's mean is ever outside at the end of a phase."""
    return 1.0 if math.isclose(alpha, 1.0) else n ** (1.0 - 2.0 * alpha) * (math.log2(n) + 2.0) ** 2


def _asae_logarithmic(truth: Truth, horizon: int, name: str, policy: ASAE) -> Bound:
    """Theorem 4."""
    hard = hardness(truth, lambda arm: (arm, truth.best_arm))
    value = 192.0 * 4.0 * policy.sigma**2 * math.log(horizon) * cost_over_hardness(truth, hard)
    count = len(truth.best_arms)
    checks = _asae_checks(truth, policy, hard, alpha=2.0)
    value += 6.0 * _scale(truth, policy) * count
    return Bound("ASAE, logarithmic (Theorem 4)", name, "upper", value, checks)


def _asae_constant(truth: Truth, name: str, policy: ASAE) -> Bound:
    """Theorem 5: the same with the time t-bar at which the best arm has told all, for any horizon."""
    hard = hardness(truth, lambda arm: (arm, truth.best_arm))
    gamma = truth.gamma_star
    count = len(truth.best_arms)
    checks = [
        *_asae_checks(truth, policy, hard, alpha=2.5),
        (gamma > 0.0, "Gamma_* is 0: Assumption 1 does not hold"),
    ]
    value = math.inf
    if gamma > 0.0:
        variance = 4.0 * policy.sigma**2  # 1 for rewards in [0, 1]
        time = variance * 20.0 * count * math.log(2.0) / gamma**2 + 2.0 * count
        value = 480.0 * variance * math.log(time) * cost_over_hardness(truth, hard)
        value += 9.0 * _scale(truth, policy) * count
    return Bound("ASAE, constant (Theorem 5)", name, "upper", value, checks)


def _asae_checks(truth: Truth, policy: ASAE, hard: dict[int, float], alpha: float) -> list[Check]:
    reading, start = policy.reading, largest_gap(policy.bottom, policy.top)
    return [
        *truth_checks(truth),
        *_reward_checks(truth, policy),
        *_gap_checks(hard, start),
        (
            _at_least(2.0 * policy.sigma, start),
            f"sigma={policy.sigma:g} is too small for phases that start from a gap of {start:g}",
        ),
        (policy.eta == 1.0, f"eta={policy.eta:g}: the theorem is for eta = 1"),
        (policy.alpha == alpha, f"alpha={policy.alpha:g}: the theorem is for alpha = {alpha:g}"),
        (policy.beta == 1.0, f"beta={policy.beta:g}: the theorem is for beta = 1"),
        (reading.init == "recompute", "init='carry': the proof needs 'recompute' (I-3)"),
        (reading.clock == "length", "clock='time': the proof needs 'length' (I-7)"),
        (
            reading.period_end == "truncate",
            "period_end='finish_phase': the proof needs 'truncate'",
        ),
    ]


class _Coins(NamedTuple):
    """A table whose rewards count as coins, and the truth in it."""

    others: Floats  # the means of the models that differ from the truth, scaled to [0, 1]
    true: Floats
    log_prior: float  # of the truth
    checks: list[Check]


def _coins(truth: Truth, policy: Any, table: Floats, log_prior: Floats) -> _Coins:
    """Return what the bounds by likelihoods need, and whether they hold."""
    width = policy.top - policy.bottom
    bounded = math.isfinite(width)
    scale, low = (width, policy.bottom) if bounded else (1.0, 0.0)
    shares, true = (table - low) / scale, (truth.means - low) / scale
    same = (table == truth.means).all(axis=1)
    outside = ((shares < FLOOR) | (shares > 1.0 - FLOOR)).any()
    checks = [
        (bounded, "the proof is for rewards in a range"),
        (bool(same.any()), "the truth is not a row of the table"),
        (not bounded or not bool(outside), f"means of 0 or 1, or within {FLOOR:g} of these"),
    ]
    weight = float(np.exp(log_prior[same]).sum())
    return _Coins(shares[~same], true, math.log(weight) if weight else -math.inf, checks)


def _likelihood_sets(truth: Truth, horizon: int, name: str, policy: Any) -> Bound:
    """The theorem on SAE with a look after each round (docs/notes/mathematics.md 4.6)."""
    if not isinstance(policy, SAE) or not policy.by_round:
        none = "of likelihood sets the library has a bound for SAE with looks='round' alone"
        return Bound("none", name, "upper", math.nan, [(False, none)])
    title = "SAE, likelihood sets (4.6)"
    table: Any = policy.structure.cells
    coins = _coins(truth, policy, table.table, policy.widths.log_prior)
    n = policy.horizon
    checks = [
        *coins.checks,
        (horizon <= n, f"horizon={horizon}: the policy was built for {n}"),
    ]
    if not all(holds for holds, _ in coins.checks):
        return Bound(title, name, "upper", math.inf, checks)
    budget = policy.alpha * math.log(max(n, 2)) - coins.log_prior
    best = int(coins.true.argmax())
    value = float(truth.gaps.max()) * n ** (1.0 - policy.alpha)
    value += sum(float(truth.gaps[arm]) for arm in truth.costly_arms)
    for other in coins.others:
        arm = int(other.argmax())
        told, step, apart = _told(coins.true, other)
        if truth.gaps[arm] > 0.0:
            passed = 1.0 / (apart[arm] + apart[best] - apart[arm] * apart[best])
            rounds = (budget + step.sum()) / (told[arm] + told[best]) + passed
            value += float(truth.gaps[arm]) * float(rounds)
    return Bound(title, name, "upper", value, checks)


def _told(true: Floats, other: Floats) -> tuple[Floats, Floats, Floats]:
    """Return divergence, largest step of the log-likelihood, and 1 - affinity of coins, arm by arm."""
    ones, zeros = np.log(true / other), np.log((1.0 - true) / (1.0 - other))
    apart = (np.sqrt(true) - np.sqrt(other)) ** 2
    apart += (np.sqrt(1.0 - true) - np.sqrt(1.0 - other)) ** 2
    return kl_bernoulli(true, other), np.maximum(ones, zeros), 0.5 * apart


def _isae(truth: Truth, horizon: int, name: str, policy: ISAE) -> Bound:
    """The bound for the threshold rule, a part of it for the value rule.

    See docs/notes/mathematics.md 2.22.
    """
    others, true, log_prior, checks = _coins(
        truth, policy, policy.models.means, policy.models.log_prior
    )
    if not all(holds for holds, _ in checks):
        return Bound("ISAE (2.22)", name, "upper", math.inf, checks)
    if policy.numbers.by_value:
        part = _isae_staying(policy, horizon, log_prior)
        said = "of pulls of the leader's arm that are not worth a test alone; the rest is O(log n)"
        return Bound("ISAE, value rule (2.22)", name, "upper", part, [*checks, (False, said)])
    value = float(truth.gaps.max()) * _isae_pulls(policy, others, true, horizon, log_prior)
    return Bound("ISAE, threshold (2.22)", name, "upper", value, checks)


def _isae_pulls(
    policy: ISAE, others: Floats, true: Floats, horizon: int, log_prior: float
) -> float:
    """Return how many pulls of the threshold rule can be wrong or tests, for means in [0, 1]."""
    c = policy.numbers.c
    budget = c * math.log(horizon + 1) - log_prior
    best = true.max()
    pulls, masked = 0.0, False
    for other in others:
        telling = other != true
        told, step, apart = _told(true[telling], other[telling])
        passed = 1.0 / apart.min()
        pulls += (budget + step.max()) / told.min() + passed
        wrong = (other == other.max()) & (true < best)
        if (wrong & ~telling).any():
            masked = True
        elif wrong.any():
            pulls += passed
    return pulls + (_sum_of_powers(horizon, c) if masked else 0.0)


def _sum_of_powers(n: int, c: float) -> float:
    """Return the sum of s^-c for s from 2 to n, at most: beyond a million terms the integral."""
    exact = min(n, 1_000_000)
    total = float((np.arange(2.0, exact + 1.0) ** -c).sum())
    if n == exact:
        return total
    return total + (
        math.log(n / exact) if c == 1.0 else (n ** (1.0 - c) - exact ** (1.0 - c)) / (1.0 - c)
    )


def _isae_staying(policy: ISAE, horizon: int, log_prior: float) -> float:
    """Return the regret of the pulls of the value rule that are not worth a test."""
    models, rule = policy.models, policy.numbers
    most = 0.0
    for leader, best in enumerate(models.best.tolist()):
        costs = np.zeros(models.gaps.shape[1])
        for rival in np.flatnonzero(models.gaps[:, best] > 0.0).tolist():
            each = [told_of(models, arm, leader, rival) for arm in range(len(costs))]
            each[best] = 0.0
            arm = int(np.argmax(each))
            costs[arm] = max(costs[arm], 1.0 / each[arm] if each[arm] > 0.0 else math.inf)
        most = max(most, float(costs.sum()))
    per_nat = float(models.gaps.max()) * most
    times = 1.0 / rule.t0 + math.log1p(horizon / rule.t0)
    return rule.kappa * per_nat * math.exp(-log_prior) * times


def _reward_checks(truth: Truth, policy: Policy) -> list[Check]:
    """Hoeffding: rewards of a range of width w are w/2-sub-Gaussian, and their means lie in it."""
    width = policy.top - policy.bottom
    enough = not math.isfinite(width) or _at_least(policy.sigma, 0.5 * width)
    means = truth.means[list(truth.best_arms)]
    outside = means[(means < policy.bottom) | (means > policy.top)]
    shown = f"{outside[0]:g}" if len(outside) else ""
    return [
        (enough, f"sigma={policy.sigma:g} is below half the width of the rewards' range"),
        (not shown, f"a true mean of {shown} is outside the rewards' range"),
    ]


def _at_least(value: float, bound: float) -> bool:
    return value >= bound or math.isclose(value, bound)


def _gap_checks(hard: dict[int, float], start: float) -> list[Check]:
    """Phase 0 must not be longer than the bound allows: gaps are at most twice the first threshold."""
    largest = max(hard.values(), default=0.0)
    return [
        (largest <= 2.0 * start, f"a model gap of {largest:g} is over twice the rewards' range")
    ]


def _scale(truth: Truth, policy: SAE | ASAE) -> float:
    """Return what a pull can cost at most: 1 in the paper, where rewards are in [0, 1]."""
    return max(largest_gap(policy.bottom, policy.top), float(truth.gaps.max()))
