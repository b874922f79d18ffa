"""The oracles of the posterior policies against numbers found in other ways."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import posteriors

# Figure 1 right of the paper, and data on which everything was computed by hand
RIGHT = [[0.8, 0.7, 0.6, 0.5], [0.8, 0.7, 0.84, 0.1], [0.8, 0.4, 0.6, 0.88], [0.8, 0.92, 0.6, 0.5]]
WINS, LOSSES = (7, 3, 2, 1), (2, 2, 1, 2)
PULLS = tuple(w + f for w, f in zip(WINS, LOSSES, strict=True))


def test_posterior_on_the_paper_structure() -> None:
    golden = [0.57302225, 0.29111364, 0.04335633, 0.09250779]
    assert posteriors.posterior(RIGHT, PULLS, WINS) == pytest.approx(golden, abs=6e-9)


def tape(rng: np.random.Generator, means: np.ndarray, horizon: int) -> list[list[int]]:
    return (rng.random((len(means), horizon)) < means[:, None]).astype(int).tolist()


def model_ts_in_floats(
    table: np.ndarray, rewards: list[list[int]], uniforms: np.ndarray
) -> list[int]:
    """The textbook loop: products of probabilities, no logarithms."""
    best, weights, arms = table.argmax(axis=1), np.ones(len(table)), list[int]()
    for u in uniforms:
        share = np.array([weights[best == i].sum() for i in range(table.shape[1])]) / weights.sum()
        top = int(share.argmax())
        order = list(range(len(share)))
        if share[top] > 1.7 * (1 - share[top]):
            order = [i for i in order if i != top] + [top]
        arm = order[int(np.searchsorted(np.cumsum(share[order])[:-1], u, side="right"))]
        mean = np.clip(table[:, arm], 1e-6, 1 - 1e-6)
        weights = weights * (mean if rewards[arm][arms.count(arm)] else 1 - mean)
        weights /= weights.max()
        arms.append(arm)
    return arms


@pytest.mark.parametrize("seed", range(10))
def test_model_ts_is_the_textbook_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.random((6, 4))
    rewards, uniforms = tape(rng, rng.random(4), 150), rng.random(150)
    trace = posteriors.model_ts(table, rewards, 150, uniforms)
    assert trace.arms == model_ts_in_floats(table, rewards, uniforms)


def test_uniforms_on_a_border_are_ties() -> None:
    """Two equal arms share the interval; 1/2 belongs to the upper one, whatever was seen."""
    table = [[0.75, 0.25], [0.25, 0.75]]
    rewards = [[1, 0] * 4, [0, 1] * 4]
    for options in ({}, {"temper": 0.3}, {"sigma": 0.5}, {"prior": [0.1, 0.1]}):
        trace = posteriors.model_ts(table, rewards, 1, [0.5], **options)
        assert (trace.arms, trace.ties) == ([1], 1)
    halves = posteriors.model_ts(
        [[0.5, 0.25], [0.5, 0.75]], [[1] * 8, [0] * 8], 3, [0.25, 0.25, 0.5]
    )
    assert halves.arms == [0, 0, 1]  # equal means on the pulled arm: 1/2 is the border to the end
    assert (halves.ties, halves.closest) == (1, 0.25)
