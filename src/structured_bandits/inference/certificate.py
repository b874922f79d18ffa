"""Which arm is best, and how sure: from settled rewards, at any time, for any policy.

*Given that one of the models is right*: b is the best arm of the likeliest model, and the error follows
from the evidence on the structure (`evidence`). *Without the structure*: b is the arm with the highest
mean; for each other arm j the evidence is

    M_b M_j / ((K - 1) sup of the likelihood of both arms over means with that of j >= that of b),

where M is the mixture of an arm's likelihoods over all means (Krichevsky and Trofimov; of Gaussian
rewards over Normal(0, sigma^2)), and the error is one over the least. Both are anytime: the probability
that a wrong arm is ever named with an error of at most delta is at most delta
(docs/notes/mathematics.md 8.1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.confidence import Data
from structured_bandits.inference.evidence import Evidence, pair_evidence
from structured_bandits.inference.misfit.reward_likelihood import (
    reward_scale,
)
from structured_bandits.structures.reward_ranges import Rewards


class Named(NamedTuple):
    """An arm that is said to be best, and how likely that is ever wrong."""

    arm: int
    name: str
    error: float


class Certificate(NamedTuple):
    """Which arm is best, and how sure, after the rewards that are settled.

    `given_models` supposes that one of the models of the structure is right; it is None without a
    structure, and with one of too many pieces to be looked at. `from_arms` supposes nothing but that
    each arm keeps its mean. Each `error` is an anytime p-value: however often you look, the probability
    that it is ever at most x for an arm that is not best is at most x. They are two tests: choose which
    one counts before you look.
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
    evidence: Evidence | None, memory: Any, names: Sequence[str], rewards: Rewards, data: Data
) -> Certificate:
    """Return the certificate of settled results; `memory` is that of the evidence on the structure."""
    given = None
    if evidence is not None:
        best = evidence.best(memory, data)
        given = Named(best.arm, names[best.arm], best.error)
    arm, error = best_from_arms(rewards, data)
    return Certificate(given, Named(arm, names[arm], error), int(data.pulls.sum()))


def best_from_arms(rewards: Rewards, data: Data) -> tuple[int, float]:
    """Return the arm with the highest mean, and the error whatever the means are."""
    around_zero = np.zeros((len(data.pulls), 2))  # where means of Gaussian rewards are looked for
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
