"""Posterior sampling in independent groups of arms: each draws a model, and the best arm is played.

Groups know nothing of each other, so the posterior of a product is the product of theirs. It decides
pull by pull, in Python.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.confidence import Data
from structured_bandits.base.records import Record
from structured_bandits.inference.curve_posterior import (
    CurveBelief,
    CurvePosterior,
    hill_of,
    line_of,
    log_likelihood,
    mass_between,
)
from structured_bandits.inference.draws import Drawn, Known
from structured_bandits.protocols import Outcome

MOST_STEPS = 100  # halvings end long before
CLOSE_ENOUGH = 1e-12  # of the mass below a position


class _Group(NamedTuple):
    sampling: Any
    first: Floats  # the best mean of each cell at one end, sorted as the posterior sorts them
    last: Floats  # and at the other


class Group(Record, _Group):
    """A group's posterior, and the best means of its models."""

    def arm_count(self) -> int:
        """Return the number of its arms."""
        return len(self.sampling.starts) - 1

    def draw_model(self, belief: Any, known: Known, rng: np.random.Generator) -> tuple[int, float]:
        """Draw a model; return its best arm and the mean of that."""
        sampling = self.sampling
        arm = sampling.draw_arm(belief, known, rng).arm
        begin, end = sampling.starts[arm], sampling.starts[arm + 1]
        passed = np.cumsum(belief.weights[begin:end])
        cell = begin + int(np.searchsorted(passed, rng.uniform(0.0, passed[-1]), side="right"))
        first, last = float(self.first[cell]), float(self.last[cell])
        if first == last:
            return arm, first
        return arm, first + (last - first) * draw_position(sampling, belief, cell, rng)


class ProductBelief(NamedTuple):
    """What each group believes; of a product as a whole no weights are known."""

    groups: tuple[Any, ...]
    weights: Floats
    arms: Floats


class _ProductSampling(NamedTuple):
    groups: tuple[Any, ...]  # `Group`, or what draws models and means likewise


class ProductSampling(Record, _ProductSampling):
    """The posterior over the models of a product, to draw arms from."""

    compiles: ClassVar[bool] = False

    def slices(self) -> list[slice]:
        """Return the arms of each group."""
        sizes = [group.arm_count() for group in self.groups]
        return [slice(*ends) for ends in pairwise(np.cumsum([0, *sizes]).tolist())]

    def fresh_belief(self) -> ProductBelief:
        """Return what is believed before the first pull."""
        beliefs = tuple(group.sampling.fresh_belief() for group in self.groups)
        return ProductBelief(beliefs, np.zeros(0), np.zeros(self.slices()[-1].stop))

    def take_in(self, belief: ProductBelief, outcome: Outcome) -> None:
        """Let the group of the arm take it in."""
        for group, own, arms in zip(self.groups, belief.groups, self.slices(), strict=True):
            if arms.start <= outcome.arm < arms.stop:
                group.sampling.take_in(own, outcome._replace(arm=outcome.arm - arms.start))

    def believe(self, belief: ProductBelief, data: Data) -> None:
        """Compute what each group believes from all data."""
        for group, own, arms in zip(self.groups, belief.groups, self.slices(), strict=True):
            group.sampling.believe(own, Data(data.pulls[arms], data.sums[arms]))

    def draw_arm(self, belief: ProductBelief, known: Known, rng: np.random.Generator) -> Drawn:
        """Let each group draw a model; return the arm with the highest mean, the lowest of equals."""
        choice, highest = 0, -math.inf
        for group, own, arms in zip(self.groups, belief.groups, self.slices(), strict=True):
            arm, mean = group.draw_model(own, known, rng)
            if mean > highest:
                choice, highest = arms.start + arm, mean
        return Drawn(choice, math.inf)


def draw_position(
    posterior: CurvePosterior, belief: CurveBelief, part: int, rng: np.random.Generator
) -> float:
    """Draw a position on a part of a curve: where its share of the mass is a uniform number.

    By Newton's method, with halvings where that would leave what is known of the position.
    """
    line = line_of(posterior, belief, part)
    hill = hill_of(line)

    def below(x: float) -> float:
        ends = (hill.left, min(x, hill.top)), (hill.top, max(x, hill.top))
        rule = posterior.nodes, posterior.node_weights
        return sum(mass_between(line, hill, *each, *rule) for each in ends)

    total = below(hill.right)
    mark = rng.uniform(0.0, total)
    low, high = hill.left, hill.right
    x = 0.5 * (low + high)
    for _ in range(MOST_STEPS):
        missing = mark - below(x)
        low, high = (x, high) if missing > 0.0 else (low, x)
        if abs(missing) <= CLOSE_ENOUGH * total:
            break
        x += missing * math.exp(hill.height - log_likelihood(line, x))
        x = x if low < x < high else 0.5 * (low + high)
    return x
