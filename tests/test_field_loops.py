"""The loops that the benchmark of the field's policies takes as opponents play as the library does.

Loops that do not draw play the same arms on tapes of rewards. Those that do have the same mean regret.
"""

from __future__ import annotations

from typing import Any

import field_loops
import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_right
from structured_bandits.theory.graves_lai import cheapest_allocation
from structured_bandits.theory.truth import truth_of

HORIZON = 1_500
RIGHT = figure1_right()
SHOP = sb.FiniteStructure(np.round(np.random.default_rng(11).uniform(0.01, 0.16, (6, 8)), 3))


class TapeOfArms:
    """Stands for the true means and for the generator of a loop: `rng.random() < truth[arm]` reads a tape."""

    def __init__(self, tape: Any) -> None:
        self.tape, self.size = tape, len(tape)
        self.pulls = [0] * len(tape)
        self.arms: list[int] = []

    def __getitem__(self, arm: int) -> float:
        reward = self.tape[arm][self.pulls[arm]]
        self.pulls[arm] += 1
        self.arms.append(int(arm))
        return float(reward)

    def random(self) -> float:
        """Return a number that is less than a reward of 1 and not less than one of 0."""
        return 0.5


def arms_by_hand(loop: Any, before: tuple[Any, ...], tape: Any) -> list[int]:
    """Return the arms that a loop plays on a tape, run as plain Python."""
    world = TapeOfArms(tape)
    loop.py_func(*before, world, HORIZON, world)
    return world.arms


def arms_of(policy: Any, tape: Any) -> list[int]:
    """Return the arms that the library plays pull by pull."""
    return sb.testing.play(policy, tape, HORIZON, compiled=False, planning=False).arms


def draw_tape(means: Any, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return (rng.random((len(means), HORIZON)) < np.asarray(means)[:, None]).astype(float)


def sorted_models(structure: Any) -> tuple[Any, Any]:
    table = structure.cells.table
    models = table[np.lexsort((table.argmax(axis=1), -table.max(axis=1)))]
    return models, models.argmax(axis=1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("loop", "policy"), [("kl_ucb", sb.KLUCB), ("imed", sb.IMED)])
def test_blind_loops_play_the_same_arms(loop: str, policy: Any, seed: int) -> None:
    tape = draw_tape(np.random.default_rng(seed).random(5), seed)
    assert arms_by_hand(getattr(field_loops, loop), (), tape) == arms_of(policy(5), tape)


@pytest.mark.parametrize("truth", range(4))
def test_ossb_plays_the_same_arms(truth: int) -> None:
    table = RIGHT.cells.table
    ready = [cheapest_allocation(truth_of(RIGHT, row), "bernoulli").allocation for row in range(4)]
    before = (table.T.copy(), table.argmax(axis=1), np.array(ready).T.copy())
    tape = draw_tape(table[truth], truth)
    assert arms_by_hand(field_loops.ossb, before, tape) == arms_of(sb.OSSB(RIGHT), tape)


@pytest.mark.parametrize("structure", [RIGHT, SHOP], ids=["right", "shop"])
@pytest.mark.parametrize("truth", range(3))
def test_loops_with_kl_boxes_play_the_same_arms(structure: Any, truth: int) -> None:
    models, best = sorted_models(structure)
    tape = draw_tape(structure.cells.table[truth], truth)
    sucb = arms_of(sb.SUCB.paper(structure, confidence="kl"), tape)
    assert arms_by_hand(field_loops.sucb_kl, (models, best, 2.0), tape) == sucb
    logs = tuple(map(np.log, field_loops.likelihoods(models)))
    assert arms_by_hand(field_loops.sucb_kl_remembered, (*logs, best, 2.0), tape) == sucb
    sae = arms_of(sb.SAE(structure, HORIZON, alpha=0.1, confidence="kl"), tape)
    assert arms_by_hand(field_loops.sae_kl, (models, best, 0.1), tape) == sae


@pytest.mark.parametrize("structure", [RIGHT, SHOP], ids=["right", "shop"])
@pytest.mark.parametrize("truth", range(3))
def test_isae_plays_the_same_arms(structure: Any, truth: int) -> None:
    table = structure.cells.table
    tape = draw_tape(table[truth], truth)
    before = field_loops.isae_arguments(table)
    assert arms_by_hand(field_loops.isae, before, tape) == arms_of(sb.ISAE(structure), tape)


@pytest.mark.parametrize("structure", [RIGHT, SHOP], ids=["right", "shop"])
@pytest.mark.parametrize("truth", range(3))
def test_loops_with_likelihood_sets_play_the_same_arms(structure: Any, truth: int) -> None:
    table = structure.cells.table
    tape, before = draw_tape(table[truth], truth), field_loops.set_arguments(table)
    sucb, sae = sb.SUCB(structure, alpha=0.5), sb.SAE(structure, HORIZON, alpha=1.0)
    assert arms_by_hand(field_loops.sucb_sets, (*before, 0.5), tape) == arms_of(sucb, tape)
    assert arms_by_hand(field_loops.sae_sets, (*before, 1.0), tape) == arms_of(sae, tape)


def mean_regret(runs: list[Any], means: Any) -> tuple[float, float]:
    """Return the mean regret of some runs, given the pulls of the arms, and its standard error."""
    regrets = np.array(runs) @ (np.max(means) - np.asarray(means))
    return float(regrets.mean()), float(regrets.std(ddof=1) / np.sqrt(len(regrets)))


def check_regret(loop: Any, before: tuple[Any, ...], policy: Any, means: Any) -> None:
    """Hold the mean regret of a loop against the library's, within four standard errors."""
    rng, runs, horizon = np.random.default_rng(5), 2_000, 1_000
    theirs, error = mean_regret(
        [loop(*before, np.array(means), horizon, rng) for _ in range(runs)], means
    )
    result = sb.simulate({"ours": policy}, sb.Bernoulli(means), horizon, runs=runs, workers=1)
    ours, own_error = mean_regret(list(result.pulls["ours"]), means)
    assert abs(theirs - ours) < 4.0 * np.hypot(error, own_error)


def test_thompson_sampling_has_the_same_regret() -> None:
    check_regret(field_loops.thompson, (), sb.ThompsonSampling(3), [0.3, 0.5, 0.6])


@pytest.mark.parametrize("textbook", [False, True], ids=["good", "textbook"])
def test_posterior_sampling_has_the_same_regret(textbook: bool) -> None:
    table = RIGHT.cells.table
    ones, zeros = field_loops.likelihoods(table)
    before = (np.log(ones), np.log(zeros)) if textbook else (ones, zeros)
    loop = field_loops.model_ts_textbook if textbook else field_loops.model_ts
    check_regret(loop, (*before, table.argmax(axis=1)), sb.ModelTS(RIGHT), table[0])
