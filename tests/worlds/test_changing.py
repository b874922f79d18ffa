"""Worlds whose means change, and the regret that a simulation counts in them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import structured_bandits as sb

JUMPS = sb.Piecewise([[0.8, 0.3, 0.1], [0.2, 0.7, 0.6], [0.1, 0.2, 0.9]], at=[100, 250])
DRIFTS = sb.Drifting([[0.9, 0.1], [0.1, 0.5]], at=[0, 400])


def by_hand(world: Any, arms: Any) -> np.ndarray:
    """Regret after each pull, from the means as numpy finds them."""
    if isinstance(world, sb.Piecewise):
        rows = np.searchsorted(world.times, np.arange(len(arms)), side="right") - 1
        means = world.rows[rows]
    else:
        moments = np.arange(len(arms))
        means = np.stack([np.interp(moments, world.times, each) for each in world.rows.T], axis=1)
    return np.cumsum(means.max(axis=1) - means[np.arange(len(arms)), arms])


@pytest.mark.parametrize("world", [JUMPS, DRIFTS], ids=["jumps", "drifts"])
@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_regret_is_against_the_best_arm_of_the_moment(world: Any, engine: str) -> None:
    arms = len(world.means)
    policies = {"TS": sb.ThompsonSampling(arms), "ImprovedUCB": sb.ImprovedUCB(arms, 600)}
    points = [1, 99, 100, 101, 250, 600]
    result = sb.simulate(
        policies,
        world,
        600,
        runs=3,
        checkpoints=points,
        engine=engine,
        record_arms=True,
        progress=False,
    )
    for name in policies:
        for run in range(3):
            wanted = by_hand(world, result.arms[name][run])[np.array(points) - 1]
            assert result.regret[name][run] == pytest.approx(wanted, abs=1e-9)


def test_both_engines_play_alike() -> None:
    table = sb.FiniteStructure(JUMPS.rows)
    policies = {
        "ModelTS": sb.ModelTS(table, switching=True),
        "SAE": sb.SAE(table, 500),
        "SUCB": sb.SUCB(table),
        "window": sb.KLUCB(3, window=50),
    }
    one, other = (
        sb.simulate(
            policies, JUMPS, 500, runs=4, engine=engine, record_arms=True, progress=False, seed=3
        )
        for engine in ("python", "compiled")
    )
    for name in policies:
        assert (one.arms[name] == other.arms[name]).all(), name
        assert (one.sums[name] == other.sums[name]).all(), name


def test_what_is_paid_has_the_mean_of_the_moment() -> None:
    for world in (
        JUMPS,
        DRIFTS,
        sb.Drifting([[2.0, 8.0], [6.0, 4.0]], [0, 20], reward_range=(0, 10)),
    ):
        sb.testing.check_world(world)
        assert pickle.loads(pickle.dumps(world)) == world


def test_a_checked_world_that_lies_is_found() -> None:
    class Liar(sb.Piecewise):
        def mean_at(self, arm: int, t: int) -> float:
            return 0.5 if t > 5 else float(self.rows[0, arm])

        def draw_at(self, arm: int, t: int, rng: np.random.Generator) -> sb.Paid:
            return sb.Paid(1, 1.0, 1.0)

    with pytest.raises(sb.testing.CheckError, match="must have the mean that mean_at says"):
        sb.testing.check_world(Liar([[0.5, 0.5]], []))


def test_means_after_the_last_change_stay() -> None:
    assert [JUMPS.mean_at(0, t) for t in (0, 99, 100, 249, 250, 10**6)] == [
        0.8,
        0.8,
        0.2,
        0.2,
        0.1,
        0.1,
    ]
    assert [DRIFTS.mean_at(0, t) for t in (0, 100, 400, 10**6)] == pytest.approx(
        [0.9, 0.7, 0.1, 0.1]
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sb.Piecewise([0.5, 0.5], []), "expected rows of means"),
        (lambda: sb.Piecewise([[0.5, 1.5]], []), r"expected means in \[0, 1\]"),
        (lambda: sb.Piecewise([[0.5], [0.4]], []), r"at=\[\]: expected 1 rising whole numbers"),
        (lambda: sb.Piecewise([[0.5], [0.4]], [0]), "the first row of means holds from pull 0"),
        (lambda: sb.Piecewise([[0.5], [0.4], [0.3]], [9, 9]), "expected 2 rising whole numbers"),
        (lambda: sb.Piecewise([[0.5], [0.4]], [1.5]), "expected 1 rising whole numbers"),
        (lambda: sb.Drifting([[0.5], [0.4]], [1, 5]), "expected 0 as the first time"),
        (lambda: sb.Drifting([["a"]], [0]), "expected rows of means"),
        (lambda: sb.Delayed(JUMPS, 3), "rewards of worlds that change come at once"),
        (lambda: JUMPS.draw(0, 0, 1, np.random.default_rng(0)), "says what it pays by `draw_at`"),
    ],
)
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises(sb.ParameterError, match=message):
        make()


def test_how_they_are_shown() -> None:
    assert repr(sb.Piecewise([[0.5], [0.25]], [7])) == "Piecewise([[0.5 ],\n [0.25]], at=[7])"
    world = sb.Drifting([[1.0], [2.0]], [0, 9], reward_range=(0, 4))
    assert repr(world) == "Drifting([[1.],\n [2.]], at=[0, 9], reward_range=(0.0, 4.0))"
    assert (world.family, world.noise(), JUMPS.family) == ("bounded", 2.0, "bernoulli")
