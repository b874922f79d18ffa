"""Truths to play: means drawn from a structure, and means just outside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from structured_bandits.advice.options import Options
from structured_bandits.base.arrays import Floats
from structured_bandits.base.text_tables import number
from structured_bandits.errors import ParameterError
from structured_bandits.inference.hit_and_run import Walk, started_walk
from structured_bandits.inference.likelihood import evidence_of
from structured_bandits.inference.priors import line_weights
from structured_bandits.policies.base import checked_rewards
from structured_bandits.protocols import Seen
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import ModelLines
from structured_bandits.structures.reward_ranges import Rewards
from structured_bandits.theory.truth import true_means

PARTS = 1000  # of a line of models: where data are known, the posterior is constant on each
TRIES = 50  # at a truth outside before there is held to be none
WORST_IS_BEST, BEST_IS_BAD = "worst best", "best bad"  # ways in which one arm is off
LEAST_DISTANCE = 1e-6  # of such a truth from all models
Move = Callable[[Floats, np.random.Generator], Floats]


class NamedTruth(NamedTuple):
    """A truth with a name for people."""

    name: str
    means: Floats


class Truths(Protocol):
    """From where truths are drawn."""

    approximate: str  # in which respect the draws are not exactly from the prior; "" if they are

    def draw(self, rng: np.random.Generator) -> Floats:
        """Return the means of a truth."""


class LineGroup(NamedTuple):
    """Lines of models with the probability of each."""

    first: Floats
    last: Floats
    weights: Floats

    def draw(self, rng: np.random.Generator) -> Floats:
        """Return the means of a model."""
        line = int(rng.choice(len(self.weights), p=self.weights))
        place = rng.random()
        return (1.0 - place) * self.first[line] + place * self.last[line]


class FromLines:
    """Truths of a table, a curve or a product of these, from the prior or what data made of it."""

    def __init__(self, groups: Iterable[LineGroup], approximate: str) -> None:
        self.groups = tuple(groups)
        self.approximate = approximate

    def draw(self, rng: np.random.Generator) -> Floats:
        """Return the means of a truth: groups of a product know nothing of each other."""
        return np.concatenate([group.draw(rng) for group in self.groups])


class FromPolytopes:
    """Truths of polytopes: walks through each piece, all pieces equally likely."""

    def __init__(self, walks: list[Walk], learned: bool) -> None:
        self.walks = walks
        self.approximate = (
            "drawn from the polytopes by hit-and-run, which is uniform only in the limit"
            + (" and follows the data likewise" if learned else "")
            + (f", each of the {len(walks)} pieces equally often" if len(walks) > 1 else "")
        )

    def draw(self, rng: np.random.Generator) -> Floats:
        """Return the means of a truth."""
        return self.walks[int(rng.integers(len(self.walks)))].draw(rng)


class FromList:
    """Truths that the user gave, equally likely."""

    approximate = ""

    def __init__(self, named: list[NamedTruth]) -> None:
        self.named = named

    def draw(self, rng: np.random.Generator) -> Floats:
        """Return the means of a truth."""
        return self.named[int(rng.integers(len(self.named)))].means


def truths_of(options: Options, data: Seen | None) -> FromLines | FromPolytopes:
    """Return where truths are drawn from: the structure with its prior, and data if there are any.

    Truths whose means no reward can have are left out.
    """
    structure, rewards = options.structure, checked_rewards(**_rewards(options))
    if hasattr(structure, "model_lines"):
        groups = list(structure.model_lines)
        priors = [options.prior] if len(groups) == 1 else options.prior or [None] * len(groups)
        starts = np.cumsum([0, *(lines.first.shape[1] for lines in groups)])
        parts = [
            _group(lines, prior, _part(data, first, last), rewards, options.ends)
            for lines, prior, first, last in zip(groups, priors, starts, starts[1:], strict=False)
        ]
        long = data is not None and any(lines.length.any() for lines in groups)
        words = f"drawn from the posterior, which is taken in {PARTS} steps a cell" if long else ""
        return FromLines(parts, words)
    if options.prior is not None:
        raise ParameterError(
            f"prior={options.prior!r}: polytopes have none; truths are drawn evenly"
        )
    likelihood = None if data is None else _likelihood(data, rewards)
    walks = [started_walk(piece, options.ends, likelihood) for piece in structure.polytopes]
    possible = [walk for walk in walks if walk is not None]
    if not possible:
        raise _nothing_possible(options.ends)
    return FromPolytopes(possible, data is not None)


def named_truths(structure: Structure, truths: Any) -> list[NamedTruth]:
    """Return the truths that the user gave: models, or vectors of means."""
    if isinstance(truths, str) or not isinstance(truths, Iterable):
        raise ParameterError(f"truths={truths!r}: expected a list of models or of vectors of means")
    named = [NamedTruth(_name(structure, truth), true_means(structure, truth)) for truth in truths]
    if not named:
        raise ParameterError("truths: none given")
    return named


def posterior_of(options: Options, data: Seen) -> Any:
    """Return the prior over the models of a table that data make of the one given; else None."""
    table = getattr(options.structure.cells, "table", None)
    if table is None or len(getattr(options.structure, "model_lines", ())) != 1:
        return options.prior
    (lines,) = options.structure.model_lines  # type: ignore[attr-defined]
    rewards = checked_rewards(**_rewards(options))
    logs = line_weights(lines, options.prior) + _logs(table, data, rewards)
    return np.maximum(np.exp(logs - logs.max()), 1e-300)  # weights of policies are positive


class Outside:
    """Truths to which a `move` of one drawn inside leads, at least so far from all models."""

    approximate = ""

    def __init__(self, structure: Structure, inside: Truths, move: Move, least: float) -> None:
        self.structure = structure
        self.inside = inside
        self.move = move
        self.least = least

    def draw(self, rng: np.random.Generator) -> Floats:
        """Return the means of a truth; only if there are some."""
        while True:
            means = self.move(self.inside.draw(rng), rng)
            if distance(self.structure, means) >= self.least:
                return means

    def exist(self, seed: int) -> bool:
        """Return whether there are such truths: whether one comes up in many tries."""
        rng = np.random.default_rng([seed, TRIES])
        moved = (self.move(self.inside.draw(rng), rng) for _ in range(TRIES))
        return any(distance(self.structure, means) >= self.least for means in moved)


def outsides(options: Options, inside: Truths) -> dict[str, Outside]:
    """Return truths outside the structure: all means off by each size, or one arm off by much."""
    structure, ends = options.structure, options.ends
    found = {
        f"{size:g}": Outside(structure, inside, partial(all_off, size, ends), 0.5 * size)
        for size in options.wrong
    }
    if options.wrong and structure.n_arms > 1:
        for name, move in ((WORST_IS_BEST, worst_is_best), (BEST_IS_BAD, best_is_bad)):
            found[name] = Outside(structure, inside, partial(move, ends), LEAST_DISTANCE)
    return found


def all_off(
    size: float, ends: tuple[float, float], means: Floats, rng: np.random.Generator
) -> Floats:
    """Return means that are all off by `size`, better or worse by a toss of coins, between the ends."""
    return np.clip(means + size * rng.choice((-1.0, 1.0), len(means)), *ends)


def worst_is_best(ends: tuple[float, float], means: Floats, rng: np.random.Generator) -> Floats:
    """Return means of which the lowest one is by a quarter better than the best of the others.

    By a quarter of how far that is above the lowest reward. Where there is no room for it, the others
    are lowered.
    """
    low = _lower_end(ends, means)
    worst, most = means.argmin(), means.max() - low
    risen = min(1.25 * most, ends[1] - low)
    share = risen / (1.25 * most) if most > 0.0 else 1.0
    moved: Floats = low + share * (means - low)
    moved[worst] = low + risen
    return moved


def best_is_bad(ends: tuple[float, float], means: Floats, rng: np.random.Generator) -> Floats:
    """Return means of which the best is at three tenths of what it was."""
    low = _lower_end(ends, means)
    moved = means.copy()
    moved[means.argmax()] = low + 0.3 * (means.max() - low)
    return moved


def _lower_end(ends: tuple[float, float], means: Floats) -> float:
    """Return the lowest reward; without one the lowest mean."""
    return ends[0] if math.isfinite(ends[0]) else float(means.min())


def distance(structure: Structure, means: Floats) -> float:
    """Return how far the nearest model is, on the arm on which it differs most."""
    table = getattr(structure.cells, "table", None)
    if table is not None:
        return float(np.abs(table - means).max(axis=1).min())
    distances = structure.distances(means, 0.0)
    every = np.ones(structure.n_arms)
    return min(distances.nearest(arm, every).gap for arm in structure.best_arms)


def means_text(means: Floats) -> str:
    """Return means as a short text."""
    shown = ", ".join(number(mean, 3) for mean in means[:6])
    return f"means {shown}{', …' if len(means) > 6 else ''}"


def _name(structure: Structure, truth: Any) -> str:
    if np.ndim(truth) > 0:
        return means_text(np.asarray(truth))
    return truth if isinstance(truth, str) else f"model {structure.model_name(truth)}"


def _group(
    lines: ModelLines,
    prior: Any,
    data: Seen | None,
    rewards: Rewards,
    ends: tuple[float, float],
) -> LineGroup:
    """Return the lines on which every mean is possible, in parts if data make some likelier."""
    first, last, logs = lines.first, lines.last, line_weights(lines, prior)
    if data is not None:
        first, last, logs = _in_parts(lines, logs)
        logs = logs + _logs(0.5 * (first + last), data, rewards)
    both = np.concatenate([first, last], axis=1)
    possible = ((ends[0] <= both) & (both <= ends[1])).all(axis=1)
    if not possible.any():
        raise _nothing_possible(ends)
    weights = np.where(possible, np.exp(logs - logs[possible].max()), 0.0)
    return LineGroup(first, last, weights / weights.sum())


def _in_parts(lines: ModelLines, logs: Floats) -> tuple[Floats, Floats, Floats]:
    """Return lines cut into many of equal length; single models stay as they are."""
    if not lines.length.any():
        return lines.first, lines.last, logs
    cuts = np.linspace(0.0, 1.0, PARTS + 1)[:, None, None]
    places = (1.0 - cuts) * lines.first + cuts * lines.last  # cuts x lines x arms
    arms = lines.first.shape[1]
    return (
        places[:-1].reshape(-1, arms),
        places[1:].reshape(-1, arms),
        np.tile(logs - math.log(PARTS), PARTS),
    )


def _logs(table: Floats, data: Seen, rewards: Rewards) -> Floats:
    """Return the log-likelihood of the data in each model of a table."""
    evidence = evidence_of(table, rewards)
    return evidence.per_reward @ data.sums + evidence.per_pull @ data.pulls


def _likelihood(data: Seen, rewards: Rewards) -> Any:
    """Return the log-likelihood of the data as a function of means."""
    return lambda means: float(_logs(means[None, :], data, rewards)[0])


def _part(data: Seen | None, first: int, last: int) -> Seen | None:
    """Return the data of the arms of one group."""
    if data is None:
        return None
    part = slice(first, last)
    return Seen(data.pulls[part], data.sums[part], data.squares[part])


def _rewards(options: Options) -> dict[str, Any]:
    return {"reward_range": options.reward_range, "sigma": options.rewards.get("sigma")}


def _nothing_possible(ends: tuple[float, float]) -> ParameterError:
    return ParameterError(
        f"structure: no model has all its means in the range of the rewards, {ends[0]:g} to {ends[1]:g}"
    )
