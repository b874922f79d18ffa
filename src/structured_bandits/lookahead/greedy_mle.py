"""Lookahead of GreedyMLE: for how long models of an arm fit best (docs/notes/lookahead.md 17, 22)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.compilable import chosen_by_class
from structured_bandits.lookahead.base import Work
from structured_bandits.lookahead.fit_margin import RewardRange, agreed_streak
from structured_bandits.lookahead.streaks import Streak, certain_streak
from structured_bandits.policies.base import State
from structured_bandits.policies.greedy_mle import GreedyMLE
from structured_bandits.protocols import Choice, Now
from structured_bandits.structures.model_fit import FitWork, ModelFit, fresh_fit_work, write_losses


class BestModel(NamedTuple):
    """The best arm of the model that fits best, and that model."""

    arm: int
    empty: int
    model: int


def memory(policy: GreedyMLE, tables: Any) -> FitWork:
    """Return memory for the loss of each model."""
    return memory_for(policy.cells)


def for_models(cells: ModelFit) -> FitWork:
    """Return memory for finitely many models."""
    return fresh_fit_work(len(cells.best))


def for_cells(cells: Any) -> FitWork:
    """Return memory for no model: they are not looked at one by one."""
    return fresh_fit_work(0)


memory_for = chosen_by_class({ModelFit: for_models}, for_cells)


def quick_choose(
    policy: GreedyMLE, state: State, now: Now, rng: np.random.Generator, work: Work
) -> Any:
    """Find the model, and keep the losses."""
    return by_cells(policy.cells, state, work)


def by_losses(cells: ModelFit, state: State, work: Work) -> BestModel:
    """By the loss of each model."""
    model = write_losses(cells, state.data, work.memory.losses)
    return BestModel(int(cells.best[model]), 0, model)


def by_fit(cells: Any, state: State, work: Work) -> Choice:
    """By the arm that cells find."""
    return Choice(cells.fitting_arm(state.data), 0)


by_cells = chosen_by_class({ModelFit: by_losses}, by_fit)


def stretch(
    policy: GreedyMLE, state: State, choice: Any, now: Now, rng: np.random.Generator, work: Work
) -> Streak:
    """Pull the arm for as long as models of it surely fit best."""
    return stretch_of(choice, policy, state, now, work)


def while_agreed(
    choice: BestModel, policy: GreedyMLE, state: State, now: Now, work: Work
) -> Streak:
    """By the lead that the losses have."""
    fit: Any = policy.cells
    rewards, most = RewardRange(policy.bottom, policy.top), now.limit - 1.0
    return agreed_streak(fit, choice.model, state.data, work.memory, now, rewards, most)


def once(choice: Choice, policy: GreedyMLE, state: State, now: Now, work: Work) -> Streak:
    """Decide before each pull."""
    return certain_streak(choice.arm, 1, 0)


stretch_of = chosen_by_class({BestModel: while_agreed}, once)
