"""Which arm is best, and how sure: from settled rewards, at any time, for any policy.

*Given that one of the models is right*: b is the best arm of the likeliest model, and the error is
e^-min(log N - L_g) over the models g in which b is not best, with N the mean of the likelihoods L by the
prior. *Without the structure*: b is the arm with the highest mean; for each other arm j the evidence is

    M_b M_j / ((K - 1) sup of the likelihood of both arms over means with that of j >= that of b),

where M is the mixture of an arm's likelihoods over all means (Krichevsky and Trofimov; of Gaussian
rewards over Normal(0, sigma^2)), and the error is one over the least. Both are anytime: the probability
that a wrong arm is ever named with an error of at most delta is at most delta (docs/mathematics.md 8.1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.inference.likelihood_sets import likelihood_sets
from structured_bandits.inference.likelihood_sets import log_mixture as log_mixture_of_models
from structured_bandits.inference.misfit.reward_likelihood import (
    RewardScale,
    log_likelihood,
    log_mixture,
    reward_counts,
    reward_scale,
)
from structured_bandits.inference.priors import checked_prior
from structured_bandits.planning.confidence import Data
from structured_bandits.structures.finite.structure import FiniteStructure
from structured_bandits.structures.reward_ranges import Rewards


class Named(NamedTuple):
    """An arm that is said to be best, and how likely that is ever wrong."""

    arm: int
    name: str
    error: float


class Certificate(NamedTuple):
    """Which arm is best, and how sure, after the rewards that are settled.

    `given_models` supposes that one of the models of a table is right; it is None for other structures
    and without one. `from_arms` supposes nothing but that each arm keeps its mean. Each `error` is an
    anytime p-value: however often you look, the probability that it is ever at most x for an arm that is
    not best is at most x. They are two tests: choose which one counts before you look.
    """

    given_models: Named | None
    from_arms: Named
    rewards: int

    def __str__(self) -> str:
        """Return it in sentences."""
        given, alone = self.given_models, self.from_arms
        return "\n".join(sentences(None if given is None else given[1:], alone[1:]))


def sentences(given: tuple[str, float] | None, alone: tuple[str, float]) -> list[str]:
    """Return the sentences on names of arms and errors: given the models, and from the arms alone."""
    supposed = [
        ("If one of the models is right", given),
        ("By the rewards of the arms alone", alone),
    ]
    return [
        f"{words}: {found[0]!r} is best, {error_text(found[1])}."
        for words, found in supposed
        if found is not None
    ]


def error_text(error: float) -> str:
    """Return an error in words."""
    if error >= 0.5:
        return "but that is not certain yet"
    return (
        f"with an error of at most {error:.2g}" if error >= 1e-6 else "with an error below 0.000001"
    )


def certificate_of(
    structure: Any, names: Sequence[str], rewards: Rewards, data: Data, prior: Any
) -> Certificate:
    """Return the certificate of settled results; the prior is that of a table, by default its own."""
    table = None
    if isinstance(structure, FiniteStructure):
        means = structure.cells.table
        log_prior = checked_prior(structure.prior if prior is None else prior, len(means))
        arm, error = best_given_models(means, log_prior, rewards, data)
        table = Named(arm, names[arm], error)
    arm, error = best_from_arms(rewards, data)
    return Certificate(table, Named(arm, names[arm], error), int(data.pulls.sum()))


def best_given_models(
    table: Any, log_prior: Any, rewards: Rewards, data: Data
) -> tuple[int, float]:
    """Return the best arm of the likeliest model, and the error if one of the models is right."""
    sets = likelihood_sets(table, log_prior, rewards)
    told = ~sets.silent & (data.pulls > 0)
    counts = np.array(
        [reward_counts(sets.scale, *each) for each in zip(data.pulls, data.sums, strict=True)]
    )
    logs = np.zeros(len(table))
    for part, evidence in zip(counts.T, (sets.first, sets.second), strict=True):
        said = told & (part != 0.0)  # what was never seen excludes no model
        logs += part[said] @ evidence[said]
    total = log_mixture_of_models(sets, logs)
    arm = int(sets.best[logs.argmax()])
    rivals = logs[table.max(axis=1) > table[:, arm]]
    if not len(rivals):
        return arm, 0.0
    if total == -math.inf:  # rewards that are impossible in all models
        return arm, 1.0
    return arm, math.exp(min(0.0, float(rivals.max()) - total))


def best_from_arms(rewards: Rewards, data: Data) -> tuple[int, float]:
    """Return the arm with the highest mean, and the error whatever the means are."""
    around_zero = np.zeros(
        (len(data.pulls), 2)
    )  # where the means of Gaussian rewards are looked for
    scale = reward_scale(rewards.bottom, rewards.top, rewards.sigma, lambda: around_zero)
    means = np.divide(
        data.sums, data.pulls, out=np.full(len(data.pulls), -math.inf), where=data.pulls > 0
    )
    best = int(means.argmax())
    others = [arm for arm in range(len(means)) if arm != best]
    if not others:
        return best, 0.0
    least = min(pair_evidence(scale, data, best, other) for other in others)
    return best, math.exp(min(0.0, math.log(len(others)) - least))


def pair_evidence(scale: RewardScale, data: Data, arm: int, other: int) -> float:
    """Return the log-evidence that an arm has a higher mean than another one."""
    evidence, counts = 0.0, []
    for each in (arm, other):
        first, second = reward_counts(scale, data.pulls[each], data.sums[each])
        evidence += log_mixture(scale, each, first, second)
        counts.append((first, second))
    pulls = data.pulls[arm] + data.pulls[other]
    if not pulls:
        return 0.0
    pooled = float(data.sums[arm] + data.sums[other]) / float(pulls)
    means = [pooled, pooled]
    shares = [data.sums[each] / max(data.pulls[each], 1) for each in (arm, other)]
    if data.pulls[other] and data.pulls[arm] and shares[1] >= shares[0]:
        means = shares
    return evidence - sum(
        log_likelihood(scale, float(mean), *count)
        for mean, count in zip(means, counts, strict=True)
    )
