"""Lookahead of UncertainModelTS: memory for its weights; it decides before every pull."""

from __future__ import annotations

from typing import Any

import numpy as np

from structured_bandits.lookahead.base import Work
from structured_bandits.policies.uncertain_model_ts import (
    PairsState,
    UncertainModelTS,
    Weights,
    draw_best,
    fresh_weights,
)
from structured_bandits.protocol import Choice, Now


def memory(policy: UncertainModelTS, tables: Any) -> Weights:
    """Return memory for the weights."""
    return fresh_weights(policy.pairs)


def quick_choose(
    policy: UncertainModelTS, state: PairsState, now: Now, rng: np.random.Generator, work: Work
) -> Choice:
    """Choose by definition, in memory that is kept."""
    return Choice(draw_best(policy, state, work.memory, rng), 0)
