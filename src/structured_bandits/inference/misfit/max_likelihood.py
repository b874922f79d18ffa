"""The maximum likelihood over the models of a structure, for each kind of structure.

Too high a number is safe here, as it makes the e-value smaller; too low a one is not.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple, Protocol

from structured_bandits.base.arrays import Floats
from structured_bandits.base.compilable import compilable
from structured_bandits.base.records import Record
from structured_bandits.inference.misfit.reward_likelihood import (
    Counts,
    RewardScale,
    log_likelihood,
)
from structured_bandits.structures.base import hash_of
from structured_bandits.structures.questions import ModelLines

HALVINGS = 60  # of an interval of parameters: it is as narrow as numbers allow then
SLACK = 1e-9  # far more than rounding does to a log-likelihood, relatively
NOBODY = -1  # no model explains what was seen


class Likeliest(NamedTuple):
    """The logarithm of the highest likelihood, where it is reached, and whose it is."""

    log_likelihood: float
    place: int  # of a table the model, of curves the cell, of polytopes the piece
    position: float  # on a cell from 0 to 1


class Models(Protocol):
    """The models of a structure, which know their likeliest one."""

    def likeliest(self, scale: RewardScale, counts: Counts, totals: Floats) -> Likeliest:
        """Return the likeliest model; `totals` are the log-likelihoods of the grid's models."""


class TableModels(NamedTuple):
    """The models of a table, which are those of the grid."""

    size: int

    def likeliest(self, scale: RewardScale, counts: Counts, totals: Floats) -> Likeliest:
        """Return the first of the likeliest models."""
        place = int(totals.argmax())
        return Likeliest(totals[place], place, 0.0)


class _LineModels(NamedTuple):
    at_start: Floats  # cells x arms
    at_end: Floats


class LineModels(Record, _LineModels):
    """The models of a curve: cells on which all means are affine."""

    def likeliest(self, scale: RewardScale, counts: Counts, totals: Floats) -> Likeliest:
        """Return the likeliest model of all cells; no less likely than the grid's, which are of them."""
        best = Likeliest(-math.inf, NOBODY, 0.0)
        known = float(totals.max())
        for cell in range(len(self.at_start)):
            first, last = self.at_start[cell], self.at_end[cell]
            found = likeliest_on(scale, first, last, counts, known - SLACK * (1.0 + abs(known)))
            if found.log_likelihood > best.log_likelihood:
                best = Likeliest(found.log_likelihood, cell, found.position)
                known = max(known, found.log_likelihood)
        return best


class _BoxModels(NamedTuple):
    low: Floats  # models x arms
    high: Floats


class BoxModels(Record, _BoxModels):
    """Models that are known up to a margin: boxes of means, each arm's on its own."""

    def likeliest(self, scale: RewardScale, counts: Counts, totals: Floats) -> Likeliest:
        """Return the likeliest box: in it each arm has the mean that is nearest to its average."""
        best = Likeliest(-math.inf, NOBODY, 0.0)
        for model in range(len(self.low)):
            total = 0.0
            for arm in range(len(counts.first)):
                first, second = counts.first[arm], counts.second[arm]
                low, high = self.low[model, arm], self.high[model, arm]
                mean = min(max(average(scale, first, second, low), low), high)
                total += log_likelihood(scale, mean, first, second)
            if total > best.log_likelihood:
                best = Likeliest(total, model, 0.0)
        return best


@compilable
def average(scale: RewardScale, first: float, second: float, otherwise: float) -> float:
    """Return the average reward of an arm, `otherwise` if it has none."""
    if scale.gaussian:
        return first / second if second > 0.0 else otherwise
    pulls = first + second
    return scale.bottom + scale.width * first / pulls if pulls > 0.0 else otherwise


class Slope(NamedTuple):
    """A log-likelihood on a cell, and its derivatives by the position."""

    value: float
    rise: float
    bend: float  # the second one, at most 0


@compilable
def slope_at(
    scale: RewardScale, at_start: Floats, at_end: Floats, counts: Counts, position: float
) -> Slope:
    """Return the log-likelihood at a position on a cell, and how it rises and bends there."""
    value = 0.0
    rise = 0.0
    bend = 0.0
    for arm in range(len(at_start)):
        first, second = counts.first[arm], counts.second[arm]
        step = at_end[arm] - at_start[arm]
        mean = at_start[arm] + position * step
        value += log_likelihood(scale, mean, first, second)
        if scale.gaussian:
            rise += step * (first - second * mean) / (scale.sigma * scale.sigma)
            bend -= step * step * second / (scale.sigma * scale.sigma)
        elif step != 0.0 and value > -math.inf:
            share = (mean - scale.bottom) / scale.width
            if first > 0.0:
                rise += step / scale.width * first / share
                bend -= first * (step / scale.width / share) ** 2
            if second > 0.0:
                rise -= step / scale.width * second / (1.0 - share)
                bend -= second * (step / scale.width / (1.0 - share)) ** 2
    return Slope(value, rise, bend)


@compilable
def possible_part(
    scale: RewardScale, at_start: Floats, at_end: Floats, counts: Counts
) -> tuple[float, float]:
    """Return the positions on a cell between which every mean of a pulled arm is in the range."""
    begin, end = 0.0, 1.0
    for arm in range(len(at_start)):
        if counts.first[arm] == 0.0 and counts.second[arm] == 0.0:
            continue
        step = at_end[arm] - at_start[arm]
        low, high = scale.bottom - at_start[arm], scale.bottom + scale.width - at_start[arm]
        if step == 0.0:
            if low > 0.0 or high < 0.0:
                return 1.0, 0.0
        elif step > 0.0:
            begin, end = max(begin, low / step), min(end, high / step)
        else:
            begin, end = max(begin, high / step), min(end, low / step)
    return begin, end


@compilable
def likeliest_on(
    scale: RewardScale, at_start: Floats, at_end: Floats, counts: Counts, floor: float
) -> Likeliest:
    """Return the highest log-likelihood on a cell, ends included, or one below `floor` if it is below.

    It is concave in the position: halving finds where it stops to rise. What may lie between the two
    ends that are left is bounded by the tangents there, which is added: the number is never too low.
    """
    begin, end = 0.0, 1.0
    if not scale.gaussian:
        begin, end = possible_part(scale, at_start, at_end, counts)
    if begin > end:
        return Likeliest(-math.inf, NOBODY, 0.0)
    left, right = begin, end
    best = -math.inf
    place = begin
    above = math.inf  # what the maximum is at most, if a tangent says so
    for halving in range(HALVINGS):
        middle = 0.5 * (left + right) if halving > 1 else (begin, end)[halving]
        here = slope_at(scale, at_start, at_end, counts, middle)
        rising = here.rise > 0.0
        if here.value > -math.inf:
            above = min(above, here.value + here.rise * ((right if rising else left) - middle))
        else:  # rounding at an end of what is possible
            rising = middle - begin < end - middle
        if here.value > best:
            best = here.value
            place = middle
        if above < floor:  # another cell has a likelier model
            break
        if rising:
            left = middle
        else:
            right = middle
    return Likeliest(max(best, above) if above < math.inf else best, 0, place)


class GroupModels:
    """The models of a product's groups, each a table or a curve. Plain Python only.

    Groups know nothing of each other, so each has a likeliest model of its own.
    """

    compiles: ClassVar[bool] = False

    def __init__(self, groups: tuple[ModelLines, ...]) -> None:
        self.groups = groups

    def likeliest(self, scale: RewardScale, counts: Counts, totals: Floats) -> Likeliest:
        """Return the sum of the groups' highest log-likelihoods."""
        total, start = 0.0, 0
        for group in self.groups:
            arms = slice(start, start + group.first.shape[1])
            part = Counts(counts.first[arms], counts.second[arms])
            total += max(
                likeliest_on(scale, first, last, part, -math.inf).log_likelihood
                for first, last in zip(group.first, group.last, strict=True)
            )
            start = arms.stop
        return Likeliest(total, 0, 0.0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GroupModels) and self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash(self._facts())

    def _facts(self) -> str:
        return hash_of((), (part for group in self.groups for part in group))
