"""What settled rewards say about which arm is best, for each kind of structure.

With L the log-likelihood of a model and N a *numerator*, a mixture or a product of predictions made
before the rewards came, N / e^L is a non-negative supermartingale that begins at 1 under the model.

- Tables, curves and products of these: N is the mixture of all models by their prior. Arm b is best with
  the error e^-(log N - sup of L over the models in which it is not).
- Polytopes and boxes: N is the mean of two products of predictions, renewed at looks (after each pull at
  first, then after each 2 % more): by the likeliest model on data with half a success and half a failure
  more in each arm, and by the model with half a success for each wall of its piece. Where every mean is
  nearly free such an N pays half a logarithm for each; so half of the evidence comes from pairs of arms.
  For each cell, a piece and an arm that is best in a part of it,

      E = 1/2 N e^-(sup of L in the cell) + 1/2 M_b M_i / ((K - 1) sup of the likelihood of both arms
          over means with that of i >= that of b),

  where M is the mixture of Krichevsky and Trofimov and i an arm that is at least as good as b in all of
  the cell. The error is one over the least E of the cells of other arms.

The probability that an arm that is not best is ever named with an error of at most delta is at most
delta, whatever is pulled and however often one looks: the E of all arms together are at most one process
that begins at 1 (docs/notes/mathematics.md 8.1).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.confidence import Data
from structured_bandits.inference.curve_sets import CurveSets
from structured_bandits.inference.likelihood_sets import TableSets
from structured_bandits.inference.margin_models import MarginModels, margin_models
from structured_bandits.inference.misfit.reward_likelihood import (
    Counts,
    RewardScale,
    log_likelihood,
    log_mixture,
    reward_counts,
    reward_scale,
)
from structured_bandits.inference.mixture_evidence import (
    Lead,
    lead_on_curve,
    lead_on_product,
    lead_on_table,
)
from structured_bandits.inference.polytope_models import PolytopeModels, polytope_models
from structured_bandits.inference.product_sets import ProductSets, sets_of
from structured_bandits.inference.shares import log_likelihood_of
from structured_bandits.inference.unimodal_rows import RowModels, row_of
from structured_bandits.structures.reward_ranges import Rewards

GROWTH = 1.02  # of the pulls from look to look
LOG_TWO = math.log(2.0)
FINE = 1e-6  # nats that a barrier may leave where a model is looked for
CERTAIN = 1e-12  # a prediction is no closer to 0 or 1
EQUAL = 1e-9  # shares that differ by no more may be those of equal arms


class Best(NamedTuple):
    """An arm, and the logarithm of the evidence that it is the best; infinite if it has no rival."""

    arm: int
    log_evidence: float

    @property
    def error(self) -> float:
        """The probability, at most, that another arm is named with so much evidence."""
        return math.exp(min(0.0, -self.log_evidence))


class Prequential(NamedTuple):
    """What a numerator of predictions has to remember: arrays that an agent saves."""

    pulls: Ints  # scored so far
    sums: Floats
    estimates: Floats  # two x arms: what the next rewards are predicted by, as shares
    logs: Floats  # of the two products
    next_look: Ints  # one number: the pulls after which estimates are renewed; 0 before the first


def fresh_prequential(arms: int) -> Prequential:
    """Return the memory before the first pull."""
    return Prequential(
        np.zeros(arms, np.int64),
        np.zeros(arms),
        np.zeros((2, arms)),
        np.zeros(2),
        np.zeros(1, np.int64),
    )


def check_prequential(memory: Prequential, pulls: Ints) -> None:
    """Raise a ValueError if no rewards, so many of each arm, lead to such a memory."""
    if ((memory.pulls < 0) | (memory.pulls > pulls)).any():
        raise ValueError(f"evidence: {memory.pulls} of {pulls} pulls are scored")
    if not all(np.isfinite(values).all() for values in memory):
        raise ValueError("evidence: numbers that are not finite")


class Evidence(Protocol):
    """What is asked of the evidence on a structure."""

    def fresh(self) -> Prequential | None:
        """Return the memory before the first pull; None if it needs none."""

    def look(self, memory: Any, data: Data) -> None:
        """Renew the predictions if it is time; `data` are all settled rewards."""

    def best(self, memory: Any, data: Data, epsilon: float = 0.0) -> Best:
        """Return the best arm of the likeliest model, and the evidence for it.

        With an epsilon: that no other arm is better by more than that.
        """

    def nearest(self, means: Floats, weights: Floats, arm: int) -> list[Floats]:
        """Return rivals of an arm from which weighted pulls tell these means the least."""


class SetEvidence:
    """Tables, curves and products: the mixture of all models needs no memory."""

    def __init__(self, sets: Any) -> None:
        self.sets = sets
        kinds: dict[type, Any] = {
            TableSets: lead_on_table,
            CurveSets: lead_on_curve,
            ProductSets: lead_on_product,
        }
        self._lead = kinds[type(sets)]

    def lead(self, data: Data, epsilon: float = 0.0, arm: int | None = None) -> Lead:
        """Return the likeliest model, its best arm, and the likeliest rivals of that or another arm."""
        found: Lead = self._lead(self.sets, data, epsilon, arm)
        return found

    def nearest(self, means: Floats, weights: Floats, arm: int) -> list[Floats]:
        """Return rivals of an arm from which weighted pulls tell these means the least."""
        return self.lead(Data(weights, weights * means), 0.0, arm).rivals  # type: ignore[arg-type]

    def fresh(self) -> None:
        """Return no memory."""

    def look(self, memory: None, data: Data) -> None:
        """Do nothing."""

    def best(self, memory: None, data: Data, epsilon: float = 0.0) -> Best:
        """Compare the mixture with the models in which the arm is not best."""
        lead = self.lead(data, epsilon)
        return Best(lead.arm, lead.log_evidence)


class Rival(NamedTuple):
    """What speaks against the models in which an arm, or those on one side of it, are better."""

    means: Floats  # the likeliest of these models, as shares
    other: int  # an arm that is at least as good as the one in question in all of them
    highest: float  # their highest log-likelihood
    structure: float  # log-evidence against them from the structure, 1/2 included
    pair: float  # and from two arms alone

    @property
    def log_evidence(self) -> float:
        """The log-evidence of both."""
        return float(np.logaddexp(self.structure, self.pair))


class PredictedEvidence(ABC):
    """Evidence by predictions, and by pairs of arms."""

    def __init__(self, models: Any, rewards: Rewards) -> None:
        self.models = models
        self.arms: int = models.arms
        self.candidates = frozenset(range(self.arms))  # arms that have a cell
        around_zero = np.zeros((self.arms, 2))
        self.scale = reward_scale(rewards.bottom, rewards.top, rewards.sigma, lambda: around_zero)

    @abstractmethod
    def estimates(self, data: Data) -> Floats:
        """Return what both kinds of estimates predict, as shares (2 x arms)."""

    @abstractmethod
    def rivals(
        self, total: float, data: Data, arm: int, epsilon: float, enough: float = math.inf
    ) -> Iterator[Rival]:
        """Yield the rivals of an arm, those with the least evidence from pairs first.

        `total` is log N. Rivals whose pairs alone have `enough` evidence may be left out.
        """

    @abstractmethod
    def nearest(self, means: Floats, weights: Floats, arm: int) -> list[Floats]:
        """Return rivals of an arm from which weighted pulls tell these means the least."""

    def fresh(self) -> Prequential:
        """Return the memory before the first pull."""
        return fresh_prequential(self.arms)

    def look(self, memory: Prequential, data: Data) -> None:
        """Score what came since the last look, and renew the predictions."""
        total = int(data.pulls.sum())
        if total < memory.next_look[0]:
            return
        if not memory.next_look[0]:  # the first rewards are predicted, too
            nothing = Data(np.zeros_like(data.pulls), np.zeros_like(data.sums))
            memory.estimates[:] = self.estimates(nothing)
        memory.logs[:] = self.logs(memory, data)
        memory.pulls[:], memory.sums[:] = data.pulls, data.sums
        memory.estimates[:] = self.estimates(data)
        memory.next_look[0] = max(total + 1, math.ceil(GROWTH * total))

    def logs(self, memory: Prequential, data: Data) -> Floats:
        """Return the logarithms of both parts of the numerator after all rewards."""
        new = self.models.counts(data.pulls - memory.pulls, data.sums - memory.sums)
        return memory.logs + [
            log_of(estimate, new, self.models.variance) for estimate in memory.estimates
        ]

    def log_numerator(self, memory: Prequential, data: Data) -> float:
        """Return log N; rewards since the last look are predicted by its estimates."""
        if not memory.next_look[0]:
            self.look(memory, data)
        one, two = self.logs(memory, data)
        return float(np.logaddexp(one, two)) - LOG_TWO

    def leader(self, memory: Prequential) -> int:
        """Return the best arm of the first estimate; of arms that are equal one that may be the best."""
        shares = memory.estimates[0]
        near = np.flatnonzero(shares >= shares.max() - EQUAL)
        return int(next((arm for arm in near if arm in self.candidates), near[0]))

    def best(self, memory: Prequential, data: Data, epsilon: float = 0.0) -> Best:
        """Compare both kinds of evidence with the cells of other arms."""
        total = self.log_numerator(memory, data)
        arm, least = self.leader(memory), math.inf
        for rival in self.rivals(total, data, arm, epsilon):
            if rival.pair >= least:  # the structure can only add to it
                break
            least = min(least, rival.log_evidence)
        if least == math.inf and not self.is_possible(data):
            return Best(arm, 0.0)
        return Best(arm, least)

    @abstractmethod
    def is_possible(self, data: Data) -> bool:
        """Can these rewards come in any model? If not, that no rival is left says nothing."""

    def _explains(self, shares: Floats, data: Data) -> bool:
        counts = self.models.counts(*data)
        return log_likelihood_of(shares, counts, self.models.variance) > -math.inf

    def pair(self, data: Data, arm: int, other: int) -> float:
        """Return the log-evidence of two arms alone that `arm` is better, 1/2 included."""
        shared = math.log(2.0 * max(self.arms - 1, 1))
        return pair_evidence(self.scale, data, arm, other) - shared


class CellEvidence(PredictedEvidence):
    """Polytopes and boxes: the rivals of an arm are the cells of others."""

    models: PolytopeModels | MarginModels

    def __init__(self, models: Any, rewards: Rewards) -> None:
        super().__init__(models, rewards)
        self.candidates = frozenset(int(cell.arm) for cell in models.cells)

    def is_possible(self, data: Data) -> bool:
        """Is the likeliest model possible?"""
        likeliest = self.models.likeliest(self.models.counts(*data))
        return likeliest is not None and self._explains(likeliest.shares, data)

    def estimates(self, data: Data) -> Floats:
        """Return the likeliest model of smoothed data, and the central one of its piece."""
        smoothed = self.models.smoothed(self.models.counts(*data))
        likeliest = self.models.likeliest(smoothed)
        first = np.full(self.arms, 0.5) if likeliest is None else likeliest.shares
        piece = 0 if likeliest is None else likeliest.piece
        central = self.models.centre(self.models.counts(*data), piece)
        return np.array([first, first if central is None else central])

    def rivals(
        self, total: float, data: Data, arm: int, epsilon: float, enough: float = math.inf
    ) -> Iterator[Rival]:
        """Yield the cells of other arms."""
        cells = self.models.cells
        against = [number for number, cell in enumerate(cells) if cell.arm != arm]
        others = {number: self.models.nearer_arm(arm, number) for number in against}
        pairs = {other: self.pair(data, arm, other) for other in set(others.values())}
        counts = self.models.counts(*data)
        lead = (arm, epsilon) if epsilon > 0.0 else None
        for number in sorted(against, key=lambda each: pairs[others[each]]):
            other = others[number]
            if pairs[other] >= enough:
                return
            highest, shares = self.models.highest(number, counts, lead)
            if shares is not None:
                yield Rival(shares, other, highest, total - highest - LOG_TWO, pairs[other])

    def nearest(self, means: Floats, weights: Floats, arm: int) -> list[Floats]:
        """Return the nearest model of each cell of another arm."""
        counts = self.models.counts(weights, weights * means)
        found = [
            self.models.highest(number, counts, None, FINE)[1]
            for number, cell in enumerate(self.models.cells)
            if cell.arm != arm
        ]
        return [self.models.means(shares) for shares in found if shares is not None]


class RowEvidence(PredictedEvidence):
    """Unimodal arms in a row: two rivals of an arm, a peak before it and a peak after it.

    The second part of N is the product of the mixtures of Krichevsky and Trofimov of all arms. With an
    epsilon it looks at the cells, one for each peak.
    """

    models: RowModels

    def __init__(self, models: Any, rewards: Rewards, structure: Any) -> None:
        super().__init__(models, rewards)
        self._structure, self._rewards = structure, rewards
        self._cells: CellEvidence | None = None  # made when an epsilon asks for it

    def is_possible(self, data: Data) -> bool:
        """Is the likeliest model possible?"""
        return self._explains(self.models.likeliest(self.models.counts(*data)), data)

    def estimates(self, data: Data) -> Floats:
        """Return the likeliest model of smoothed data, twice; the second one predicts nothing."""
        likeliest = self.models.likeliest(self.models.smoothed(self.models.counts(*data)))
        return np.array([likeliest, likeliest])

    def logs(self, memory: Prequential, data: Data) -> Floats:
        """Return the logarithm of the product of predictions, and of the product of the mixtures."""
        free = sum(
            log_mixture(self.scale, arm, *reward_counts(self.scale, *each))
            for arm, each in enumerate(zip(data.pulls, data.sums, strict=True))
        )
        return np.array([super().logs(memory, data)[0], free])

    def rivals(
        self, total: float, data: Data, arm: int, epsilon: float, enough: float = math.inf
    ) -> Iterator[Rival]:
        """Yield both sides, or the cells of the other peaks."""
        if epsilon > 0.0:
            if self._cells is None:
                self._cells = cell_evidence(self._structure, self._rewards)
            yield from self._cells.rivals(total, data, arm, epsilon, enough)
            return
        found = [
            Rival(
                side.means,
                side.neighbour,
                side.log_likelihood,
                total - side.log_likelihood - LOG_TWO,
                self.pair(data, arm, side.neighbour),
            )
            for side in self.models.sides(self.models.counts(*data), arm)
        ]
        yield from sorted(found, key=lambda each: each.pair)

    def nearest(self, means: Floats, weights: Floats, arm: int) -> list[Floats]:
        """Return the nearest models with a peak on either side."""
        counts = self.models.counts(weights, weights * means)
        return [self.models.means(side.means) for side in self.models.sides(counts, arm)]


def log_of(estimate: Floats, counts: Counts, variance: float) -> float:
    """Return the log-likelihood that predictions give to rewards."""
    first, second = counts
    if variance > 0.0:
        return float(((first - 0.5 * second * estimate) * estimate).sum()) / variance
    shares = estimate.clip(CERTAIN, 1.0 - CERTAIN)
    return float(first @ np.log(shares) + second @ np.log1p(-shares))


def pair_evidence(scale: RewardScale, data: Data, arm: int, other: int) -> float:
    """Return the log-evidence that an arm has a higher mean than another one, from the two alone."""
    evidence, counts = 0.0, []
    for each in (arm, other):
        first, second = reward_counts(scale, data.pulls[each], data.sums[each])
        evidence += log_mixture(scale, each, first, second)
        counts.append((first, second))
    pulls = [second if scale.gaussian else first + second for first, second in counts]
    if not sum(pulls):
        return 0.0
    pooled = (counts[0][0] + counts[1][0]) / sum(pulls)
    means = [pooled, pooled]
    if min(pulls) > 0.0:
        own = [count[0] / number for count, number in zip(counts, pulls, strict=True)]
        means = own if own[1] >= own[0] else means
    if not scale.gaussian:  # of shares of the range
        means = [scale.bottom + scale.width * mean for mean in means]
    return evidence - sum(
        log_likelihood(scale, mean, *count) for mean, count in zip(means, counts, strict=True)
    )


def has_model_prior(structure: Any) -> bool:
    """Is the numerator on a structure the mixture of its models by a prior?"""
    groups = getattr(structure, "model_groups", None)
    return groups is not None and not any(hasattr(group, "least") for group in groups)


def evidence_on(structure: Any, rewards: Rewards, prior: Any = None) -> Evidence | None:
    """Return the evidence on a structure; None if it has none, or too many pieces to look at."""
    if not hasattr(structure, "bounds_likelihood"):
        return None
    if has_model_prior(structure):
        own = structure.prior if prior is None else prior
        return SetEvidence(sets_of(structure.model_groups, own, rewards))
    if getattr(structure, "kind", "") == "boxes":
        return CellEvidence(margin_models(structure, rewards), rewards)
    bounded = math.isfinite(rewards.bottom)
    scale = (rewards.bottom, rewards.top - rewards.bottom) if bounded else (0.0, 1.0)
    row = row_of(structure, *scale)
    if row is not None:
        return RowEvidence(RowModels(row, rewards), rewards, structure)
    return cell_evidence(structure, rewards)


def cell_evidence(structure: Any, rewards: Rewards) -> CellEvidence:
    """Return the evidence on a union of polytopes, by its cells."""
    return CellEvidence(polytope_models(structure, rewards), rewards)
