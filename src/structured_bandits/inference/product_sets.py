"""Likelihood sets of products: groups of arms that know nothing of each other.

The rewards of a group say nothing of the others, so N is the product of the groups' N and L the sum of
their L. With the *deficit* log N - L of a group's model, a combination of models is in the set if its
deficits sum to less than the budget. Plain Python only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Floats
from structured_bandits.base.confidence import Data
from structured_bandits.inference.curve_sets import (
    CurveLogs,
    CurveSets,
    curve_sets,
    ends_of_line,
    highest_mean,
    log_mixture_of_lines,
    reaches,
    renew,
    slope_on,
)
from structured_bandits.inference.likelihood_sets import (
    NO_ARM,
    LikelihoodSets,
    TableSets,
    table_sets,
    write_log_likelihoods,
)
from structured_bandits.inference.priors import line_weights
from structured_bandits.structures.curves.cells import between
from structured_bandits.structures.questions import ModelLines
from structured_bandits.structures.reward_ranges import Rewards

HALVINGS = 60  # of a part of a line; what is undecided then counts as in the set


class Deficit(NamedTuple):
    """A model of a group with the least deficit of some: its means, its best arm and that arm's mean."""

    deficit: float
    means: Floats
    arm: int
    value: float


NO_MODEL_LEFT = Deficit(math.inf, np.zeros(0), NO_ARM, -math.inf)


class TableDeficits(NamedTuple):
    """The models of a group that is a table, after some rewards."""

    sets: TableSets
    deficits: Floats

    def least(self) -> float:
        """Return the least deficit of a model."""
        return float(self.deficits.min())

    def least_below(self, mean: float, strictly: bool) -> float:
        """Return the least deficit of the models whose best mean is at most this one, or below it."""
        value = self.sets.value
        fits = value < mean if strictly else value <= mean
        return float(self.deficits.min(initial=math.inf, where=fits))

    def highest(self, budget: float) -> tuple[float, int]:
        """Return the highest best mean of the models with less than a deficit, and its arm."""
        mean, arm = -math.inf, NO_ARM
        for model in np.flatnonzero(self.deficits < budget):
            value, best = float(self.sets.value[model]), int(self.sets.best[model])
            if value > mean or (value == mean and best < arm):
                mean, arm = value, best
        return mean, arm

    def likeliest(self) -> Deficit:
        """Return the likeliest model."""
        return self._least_of(np.ones(len(self.deficits), np.bool_))

    def least_rival(self, arm: int, epsilon: float) -> Deficit:
        """Return the likeliest model in which another arm of the group is so much better."""
        return self._least_of(self.sets.value - self.sets.means[:, arm] > epsilon)

    def _least_of(self, models: Flags) -> Deficit:
        marked = np.flatnonzero(models)
        if not len(marked) or self.deficits[marked].min() == math.inf:
            return NO_MODEL_LEFT
        model = int(marked[self.deficits[marked].argmin()])
        sets = self.sets
        value = float(sets.value[model])
        return Deficit(float(self.deficits[model]), sets.means[model], int(sets.best[model]), value)

    def mean_range(self, arm: int) -> tuple[float, float]:
        """Return the least and the highest mean of an arm."""
        return float(self.sets.means[:, arm].min()), float(self.sets.means[:, arm].max())

    def value_range(self) -> tuple[float, float]:
        """Return the least and the highest best mean."""
        return float(self.sets.value.min()), float(self.sets.value.max())

    def least_with_mean(self, arm: int, mean: float) -> Deficit:
        """Return the likeliest model whose mean of an arm is at most this one."""
        return self._least_of(self.sets.means[:, arm] <= mean)

    def least_above(self, mean: float) -> Deficit:
        """Return the likeliest model whose best mean is above this one."""
        return self._least_of(self.sets.value > mean)

    def reaches(self, arm: int, others: Others, budget: float) -> bool:
        """Is an arm the best of all in a combination of the set?"""
        return any(
            self.deficits[model] + others.least(float(self.sets.value[model])) < budget
            for model in np.flatnonzero(self.sets.best == arm)
        )


class CurveDeficits(NamedTuple):
    """The models of a group that is a curve, after some rewards."""

    sets: CurveSets
    total: float  # log N
    logs: CurveLogs

    def least(self) -> float:
        """Return the least deficit of a model."""
        return self.total - float(self.logs.heights.max())

    def likeliest(self) -> Deficit:
        """Return the likeliest model."""
        line = int(self.logs.heights.argmax())
        return self._placed(line, float(self.logs.places[line]))

    def _placed(self, line: int, x: float) -> Deficit:
        first, last = self.sets.first[line], self.sets.last[line]
        means = first + x * (last - first)
        return Deficit(self._at(line, x), means, int(self.sets.best[line]), self._mean(line, x))

    def _likeliest_of(self, found: Iterable[Deficit]) -> Deficit:
        return min(found, key=lambda each: each.deficit, default=NO_MODEL_LEFT)

    def least_rival(self, arm: int, epsilon: float) -> Deficit:
        """Return the likeliest model in which another arm of the group is so much better."""
        return self._likeliest_of(
            self._least_where(line, int(self.sets.best[line]), arm, epsilon, math.inf)
            for line in range(len(self.sets.best))
            if self.sets.best[line] != arm
        )

    def mean_range(self, arm: int) -> tuple[float, float]:
        """Return the least and the highest mean of an arm."""
        ends = np.concatenate([self.sets.first[:, arm], self.sets.last[:, arm]])
        return float(ends.min()), float(ends.max())

    def value_range(self) -> tuple[float, float]:
        """Return the least and the highest best mean."""
        ranges = [self.mean_range(arm) for arm in range(self.sets.first.shape[1])]
        return min(low for low, _ in ranges), max(high for _, high in ranges)

    def least_with_mean(self, arm: int, mean: float) -> Deficit:
        """Return the likeliest model whose mean of an arm is at most this one."""
        return self._likeliest_of(
            self._least_where(line, arm, None, -math.inf, mean)
            for line in range(len(self.sets.best))
        )

    def least_above(self, mean: float) -> Deficit:
        """Return the likeliest model whose best mean is at least this one."""
        return self._likeliest_of(
            self._least_where(line, int(self.sets.best[line]), None, mean, math.inf)
            for line in range(len(self.sets.best))
        )

    def _least_where(
        self, line: int, arm: int, less: int | None, low: float, high: float
    ) -> Deficit:
        """Return the likeliest model of a line where a mean, less another one, is from low to high."""
        sets = self.sets
        first, last = float(sets.first[line, arm]), float(sets.last[line, arm])
        if less is not None:
            first, last = first - float(sets.first[line, less]), last - float(sets.last[line, less])
        begin, end = ends_of_line(sets, line, self.logs)
        if (
            self.logs.heights[line] == -math.inf
            or max(first, last) < low
            or min(first, last) > high
        ):
            return NO_MODEL_LEFT
        if first != last:
            at_low, at_high = ((each - first) / (last - first) for each in (low, high))
            begin = max(begin, min(at_low, at_high))
            end = min(end, max(at_low, at_high))
        if begin > end:
            return NO_MODEL_LEFT
        return self._placed(line, min(max(float(self.logs.places[line]), begin), end))

    def _at(self, line: int, x: float) -> float:
        return self.total - slope_on(self.sets, line, x, self.logs).value

    def _mean(self, line: int, x: float) -> float:
        arm = self.sets.best[line]
        return between(float(self.sets.first[line, arm]), float(self.sets.last[line, arm]), x)

    def least_below(self, mean: float, strictly: bool) -> float:
        """Return the least deficit of the models whose best mean is at most this one."""
        return self._likeliest_of(
            self._least_where(line, int(self.sets.best[line]), None, -math.inf, mean)
            for line in range(len(self.sets.best))
        ).deficit

    def highest(self, budget: float) -> tuple[float, int]:
        """Return the supremum of the best means of the models with less than a deficit, and its arm."""
        mean, arm = -math.inf, NO_ARM
        for line in np.flatnonzero(self.total - self.logs.heights < budget):
            value = float(highest_mean(self.sets, int(line), self.total - budget, self.logs))
            best = int(self.sets.best[line])
            if value > mean or (value == mean and best < arm):
                mean, arm = value, best
        return mean, arm

    def reaches(self, arm: int, others: Others, budget: float) -> bool:
        """Is an arm the best of all in a combination of the set?"""
        left = budget - others.least(math.inf)  # the deficits of others may be negative
        lines = np.flatnonzero((self.sets.best == arm) & (self.total - self.logs.heights < left))
        return any(self._reaches_on(int(line), others, budget) for line in lines)

    def _reaches_on(self, line: int, others: Others, budget: float) -> bool:
        """Look from the likeliest place towards higher best means, where the others are freer.

        Between two places the sum is at least the deficit of the first and what the others have at the
        second; parts that this does not settle are halved.
        """
        place = float(self.logs.places[line])
        begin, end = ends_of_line(self.sets, line, self.logs)
        rising = self._mean(line, 1.0) >= self._mean(line, 0.0)
        parts = [(place, end if rising else begin, 0)]
        while parts:
            near, far, depth = parts.pop()
            own, free = self._at(line, near), others.least(self._mean(line, far))
            if own + free >= budget:
                continue
            if self._at(line, far) + free < budget or depth == HALVINGS:
                return True
            if own + others.least(self._mean(line, near)) < budget:
                return True
            middle = 0.5 * (near + far)
            parts += [(near, middle, depth + 1), (middle, far, depth + 1)]
        return False


class Others(NamedTuple):
    """The other groups of a product, seen from one of them: those before it win ties."""

    before: list[Any]
    after: list[Any]

    def least(self, mean: float) -> float:
        """Return the least sum of deficits with which no other group has a better arm."""
        return sum(each.least_below(mean, True) for each in self.before) + sum(
            each.least_below(mean, False) for each in self.after
        )


class ProductSets(LikelihoodSets):
    """The models of a product, group by group, and what rewards say about them."""

    compiles: ClassVar[bool] = False

    def __init__(self, groups: tuple[TableSets | CurveSets, ...]) -> None:
        self.groups = groups
        sizes = [arms_of(group) for group in groups]
        self._slices = [slice(*ends) for ends in pairwise(np.cumsum([0, *sizes]).tolist())]
        self.starts = [arms.start for arms in self._slices]

    def fresh_logs(self) -> tuple[Any, ...]:
        """Return memory for each group."""
        return tuple(group.fresh_logs() for group in self.groups)

    def deficits(self, data: Data, logs: tuple[Any, ...]) -> list[Any]:
        """Return the deficits of each group after these rewards."""
        return [
            deficits_of(group, Data(data.pulls[arms], data.sums[arms]), own)
            for group, arms, own in zip(self.groups, self._slices, logs, strict=True)
        ]

    def arm_in_set(self, data: Data, budget: float, logs: tuple[Any, ...]) -> int:
        """Return the best arm of the most optimistic combination: one group at its highest."""
        groups = self.deficits(data, logs)
        least = [group.least() for group in groups]
        highest, chosen = -math.inf, NO_ARM
        if not sum(least) < budget:  # rewards that are impossible in all models
            return NO_ARM
        for number, (group, arms) in enumerate(zip(groups, self._slices, strict=True)):
            rest = sum(least[:number]) + sum(least[number + 1 :])
            mean, arm = group.highest(budget - rest)
            if arm != NO_ARM and mean > highest:
                highest, chosen = mean, arms.start + arm
        return chosen

    def arms_in_set(self, data: Data, budget: float, logs: tuple[Any, ...], found: Flags) -> bool:
        """Mark the arms that are best of all in some combination."""
        groups = self.deficits(data, logs)
        found[:] = False
        for number, (group, arms) in enumerate(zip(groups, self._slices, strict=True)):
            others = Others(groups[:number], groups[number + 1 :])
            for arm in range(arms.stop - arms.start):
                found[arms.start + arm] = group.reaches(arm, others, budget)
        return bool(found.any())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProductSets) and self.groups == other.groups

    def __hash__(self) -> int:
        return hash(self.groups)


def arms_of(group: TableSets | CurveSets) -> int:
    """Return the number of arms of a group."""
    return len(group.silent)


def deficits_of(group: Any, data: Data, logs: Any) -> TableDeficits | CurveDeficits:
    """Return the deficits of a group's models after the rewards of its arms."""
    if isinstance(group, TableSets):
        total = write_log_likelihoods(group, data, logs)
        deficits = total - logs if total > -math.inf else np.full(len(logs), math.inf)
        return TableDeficits(group, deficits)
    renew(logs)
    total = log_mixture_of_lines(group, data, logs)
    for line in range(len(group.best)):
        reaches(group, line, -math.inf, logs)  # every height is asked for
    return CurveDeficits(group, total, logs)


def sets_of(groups: tuple[ModelLines, ...], prior: Any, rewards: Rewards) -> LikelihoodSets:
    """Return the likelihood sets of a structure, given as lines of models for each of its groups.

    The prior is that of a structure: weights of a table's models or of a curve's pieces, a list of such
    for the groups of a product, or None.
    """
    if len(groups) == 1:
        return sets_of_group(groups[0], prior, rewards)
    priors = [None] * len(groups) if prior is None else prior
    return ProductSets(
        tuple(sets_of_group(each, own, rewards) for each, own in zip(groups, priors, strict=True))
    )


def sets_of_group(lines: ModelLines, prior: Any, rewards: Rewards) -> TableSets | CurveSets:
    """Return the likelihood sets of a table or a curve."""
    weights = line_weights(lines, prior)
    if lines.length.any():
        return curve_sets(lines, weights, rewards)
    return table_sets(lines.first, weights, rewards)
