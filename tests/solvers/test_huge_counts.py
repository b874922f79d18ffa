"""No solver's failure reaches a user, whatever the counts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from support.huge_counts import T3, every_kind, learn_anything

import structured_bandits as sb
from structured_bandits.solvers import linear
from structured_bandits.solvers.convex import least_quadratic
from structured_bandits.solvers.linear import Solution, maximise, unsolved_here

#: Pulls and sums on which `learn` raised "a linear program … was not solved" after it had counted them.
FOUND: list[tuple[list[int], list[float]]] = [
    ([4295369, 9503546, 9942680], [4295369.0, 9503546.0, 9942680.0]),
    ([51679281, 75063262, 45505975], [11987832.0, 57654888.0, 19131124.0]),
]


def test_random_counts_up_to_a_million_million_on_every_kind_of_structure() -> None:
    """All 10,000 of them are tried by `make soak`."""
    met = sum((learn_anything(97, index) for index in range(8)), Counter())
    assert met["cases"] == 8 * len(every_kind())
    assert met["refuted"] > 20


@pytest.mark.parametrize(("pulls", "sums"), FOUND)
def test_counts_that_were_learned_and_then_raised(pulls: list[int], sums: list[float]) -> None:
    agent = sb.Agent(sb.SUCB.paper(sb.mixtures(T3)))
    agent.learn(pulls, sums)
    assert agent.pulls.tolist() == pulls
    assert agent.ask().arm in range(3)


def test_no_decision_names_an_arm_that_there_is_not() -> None:
    """Found by attack: after a `tell` that raised, `ask` handed out arm -1."""
    pulls = FOUND[0][0]
    agent = sb.Agent(sb.UCB(sb.mixtures(T3)))
    decision = agent.ask()
    agent.learn(pulls, pulls)
    agent.tell(decision.id, 1.0)
    assert agent.ask().arm in range(3)


@pytest.mark.parametrize("structure", ["mixtures", "linear", "concave"])
def test_without_any_solution_play_goes_on_and_there_is_no_evidence(
    structure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All programs but those of the structure itself are left unsolved."""
    made = every_kind()[structure]
    policies = [sb.SUCB.paper(made, alpha=0.5), sb.UCBC(made), sb.GreedyMLE(made), sb.OSSB(made)]
    monkeypatch.setattr(linear.LinearProgram, "_by_daqp", lambda *arguments: None)
    monkeypatch.setattr(linear, "_run_highs", lambda *arguments: (None, None))
    for policy in policies:
        agent = sb.Agent(policy)
        agent.learn([400] * made.n_arms, [400.0 * (arm % 2) for arm in range(made.n_arms)])
        for reward in (0.0, 1.0, 0.0):
            agent.tell(agent.ask().id, reward)
        assert agent.log_e_value == 0.0
        assert agent.unsolved > 0
        assert f"{agent.unsolved:,} programs that no solver solved" in agent.describe()
        assert sb.Agent.from_json(agent.to_json(), policy).unsolved == agent.unsolved


def test_an_unsolved_program_is_bounded_by_infinity_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(linear.LinearProgram, "_by_daqp", lambda *arguments: None)
    monkeypatch.setattr(linear, "_run_highs", lambda *arguments: (None, None))
    before = unsolved_here()
    found: Solution = maximise(np.ones(2), np.eye(2), np.zeros(2), np.ones(2))
    assert (found.status, found.value) == ("unsolved", np.inf)
    assert unsolved_here() == before + 1


@pytest.mark.parametrize("exponent", [0, 4, 8, 12])
def test_a_gradient_of_any_size_has_the_solution_of_a_small_one(exponent: int) -> None:
    rng = np.random.default_rng(exponent)
    for _ in range(50):
        rows = np.vstack([np.eye(3), rng.normal(size=(4, 3))])
        centre = rows @ rng.random(3)
        lower, upper = centre - rng.random(7), centre + rng.random(7)
        objective = rng.normal(size=3)
        small = maximise(objective, rows, lower, upper)
        large = maximise(objective * 10.0**exponent, rows, lower, upper)
        assert large.value == pytest.approx(small.value * 10.0**exponent, rel=1e-8)


def test_the_best_that_was_found_stands_in_for_a_minimiser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights from 1 to 10^24: no answer is accurate enough to be recognised; all are inside."""
    rng = np.random.default_rng(4)
    rows: Any = np.vstack([np.eye(4), np.ones((1, 4))])
    lower, upper = np.zeros(5), np.ones(5)
    half = rng.normal(size=(6, 4))
    weights = 10.0 ** np.linspace(0, 24, 6)
    x = least_quadratic(half.T @ (weights[:, None] * half), rng.normal(size=4), rows, lower, upper)
    assert np.maximum(lower - rows @ x, rows @ x - upper).max() <= 1e-8
