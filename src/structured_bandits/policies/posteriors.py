"""What a policy believes of the models of a structure before the first pull, and how it learns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.errors import ParameterError
from structured_bandits.inference.curve_posterior import CurvePosterior
from structured_bandits.inference.draws import Sampling
from structured_bandits.inference.likelihood import FLOOR, evidence_of
from structured_bandits.inference.lines import cut_at_floor, scaled_to_range, shares_of
from structured_bandits.inference.priors import checked_prior, line_weights
from structured_bandits.inference.product_posterior import Group, ProductSampling
from structured_bandits.inference.spike_and_slab import (
    Doubt,
    SlabGroup,
    SpikeAndSlab,
    Spikes,
    spike_and_slab,
)
from structured_bandits.inference.switching import SwitchingPosterior
from structured_bandits.inference.table_posterior import TablePosterior
from structured_bandits.structures.questions import ModelBoxes, ModelLines
from structured_bandits.structures.reward_ranges import Rewards

STEP = 0.005  # between neighbouring models of a curve that may be wrong
LEAST_WORTH = 1e-6  # observations behind a mean whose margins leave the range of rewards


def sampling_of(
    groups: tuple[ModelLines | ModelBoxes, ...],
    prior: Any,
    temper: float,
    rewards: Rewards,
    doubt: Doubt,
) -> Sampling:
    """Return the posterior over the models of a structure: a table, a curve or a product of these."""
    if len(groups) == 1:
        return _sampling(groups[0], prior, temper, rewards, doubt)
    if prior is None:
        prior = [None] * len(groups)
    if not isinstance(prior, (list, tuple)) or len(prior) != len(groups):
        raise ParameterError(
            f"prior={prior!r}: expected None or {len(groups)} priors, one for each group of the product"
        )
    priors = zip(groups, prior, strict=True)
    return ProductSampling(tuple(_group(each, own, temper, rewards, doubt) for each, own in priors))


def filter_of(
    structure: Any, prior: Any, temper: float, rewards: Rewards, hazards: Floats
) -> SwitchingPosterior:
    """Return the posterior over the models of a table of which another may become the true one."""
    lines: tuple[ModelLines, ...] = getattr(structure, "model_lines", ())
    if len(lines) != 1 or lines[0].length.any():
        raise ParameterError(
            f"switching={hazards.tolist()!r}: ModelTS follows changes on tables of models only, not "
            f"on structure={structure!r}"
        )
    return SwitchingPosterior(_believed(lines[0], prior, temper, rewards)[0], hazards)


def _group(
    models: ModelLines | ModelBoxes, prior: Any, temper: float, rewards: Rewards, doubt: Doubt
) -> Group | SlabGroup:
    """Return a group of a product."""
    if isinstance(models, ModelBoxes) or doubt.trust < 1.0:
        return SlabGroup(_doubted(models, prior, temper, rewards, doubt))
    sampling, lines = _believed(models, prior, temper, rewards)
    order = np.argsort(lines.best, kind="stable")
    ends = (end[np.arange(len(lines.best)), lines.best][order] for end in (lines.first, lines.last))
    return Group(sampling, *ends)


def _sampling(
    models: ModelLines | ModelBoxes, prior: Any, temper: float, rewards: Rewards, doubt: Doubt
) -> Any:
    """Return the posterior over the models of one group."""
    if isinstance(models, ModelBoxes) or doubt.trust < 1.0:
        return _doubted(models, prior, temper, rewards, doubt)
    return _believed(models, prior, temper, rewards)[0]


def _doubted(
    models: ModelLines | ModelBoxes, prior: Any, temper: float, rewards: Rewards, doubt: Doubt
) -> SpikeAndSlab:
    """Return the posterior over models that may be wrong, or are known up to margins."""
    if isinstance(models, ModelBoxes):
        log_prior = checked_prior(prior, len(models.least))
        return spike_and_slab(spikes_in(models, rewards), log_prior, doubt, temper, rewards)
    means, log_prior = grid_of(models, line_weights(models, prior), rewards)
    spikes = Spikes(means, np.full_like(means, math.inf))
    return spike_and_slab(spikes, log_prior, doubt, temper, rewards)


def spikes_in(boxes: ModelBoxes, rewards: Rewards) -> Spikes:
    """Return laws with the mean and the variance of an even spread within the margins."""
    means = 0.5 * (boxes.least + boxes.most)
    variance = (boxes.most - boxes.least) ** 2 / 12.0
    with np.errstate(divide="ignore"):
        if not math.isfinite(rewards.bottom):
            return Spikes(means, rewards.sigma**2 / variance)
        width = rewards.top - rewards.bottom
        shares = scaled_to_range(means, rewards).clip(FLOOR, 1.0 - FLOOR)
        worth = np.where(
            variance > 0.0, shares * (1.0 - shares) * width**2 / variance - 1.0, math.inf
        )
    return Spikes(means, np.maximum(worth, LEAST_WORTH))


def grid_of(lines: ModelLines, weights: Floats, rewards: Rewards) -> tuple[Floats, Floats]:
    """Return models on lines, no mean more than STEP from the next, and their log prior weights.

    STEP is in units of the range of rewards, or of their deviation if they have no range. A line of no
    length is one model.
    """
    unit = rewards.top - rewards.bottom if math.isfinite(rewards.bottom) else rewards.sigma
    spans = np.abs(lines.last - lines.first).max(axis=1) / unit
    counts = np.where(lines.length > 0.0, np.maximum(np.ceil(spans / STEP), 1.0), 1.0).astype(int)
    line = np.repeat(np.arange(len(counts)), counts)
    before = (np.cumsum(counts) - counts)[line]
    place = (np.arange(len(line)) - before + 0.5) / counts[line]
    first, last = lines.first[line], lines.last[line]
    means = np.where(first == last, first, first + place[:, None] * (last - first))
    return means, weights[line] - np.log(counts[line])


def _believed(
    lines: ModelLines, prior: Any, temper: float, rewards: Rewards
) -> tuple[Any, ModelLines]:
    """Return the posterior over lines of models, and the lines as it counts them."""
    weights = line_weights(lines, prior)
    bounded = math.isfinite(rewards.bottom)
    reward_range = rewards.bottom, rewards.top
    if not lines.length.any():
        evidence = evidence_of(lines.first, rewards)
        hit, miss = evidence.per_reward, evidence.per_pull
        if bounded:
            hit, miss = rewards.top * hit + miss, rewards.bottom * hit + miss
        return TablePosterior(weights, temper * hit, temper * miss, lines.best, reward_range), lines
    if not bounded:
        scale = temper / rewards.sigma**2
        curve = CurvePosterior(weights, lines.first, lines.last, lines.best, scale, reward_range)
        return curve, lines
    lines, weights = cut_at_floor(lines, weights, rewards)
    first, last = (shares_of(end, rewards) for end in (lines.first, lines.last))
    return CurvePosterior(weights, first, last, lines.best, temper, reward_range), lines
