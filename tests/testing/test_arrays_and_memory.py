"""Policies with arrays among their parameters, and policies whose plans take memory."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.policies.base import Policy
from structured_bandits.simulation import compiled

FEATURES = np.array([[1.0, 0.0], [0.0, 1.0], [0.75, 0.75]])


class LinearState(NamedTuple):
    gram: Any
    moments: Any


class Bare(NamedTuple):
    """LinUCB, as a bare named tuple; np.linalg takes memory."""

    n_arms: int
    features: Any

    def init(self) -> LinearState:
        return LinearState(np.eye(2), np.zeros(2))

    def plan(self, state: LinearState, now: sb.Now, quota: Any, rng: Any) -> int:
        quota[:] = 0
        inverse = np.linalg.inv(state.gram)
        estimate = inverse @ state.moments
        choice, highest = 0, -math.inf
        for arm in range(self.features.shape[0]):
            x = self.features[arm]
            index = x @ estimate + math.sqrt(x @ inverse @ x)
            if index > highest + 1e-9:
                choice, highest = arm, index
        quota[choice] = 1
        return 0

    def observe(self, state: LinearState, seen: sb.Seen) -> None:
        for arm in range(self.features.shape[0]):
            x = self.features[arm]
            state.gram[:, :] += seen.pulls[arm] * np.outer(x, x)
            state.moments[:] += seen.sums[arm] * x


class _Full(NamedTuple):
    n_arms: int
    features: Any
    sigma: float = 0.5
    bottom: float = 0.0
    top: float = 1.0


class Full(Policy, _Full):
    """The same as a `Policy`."""

    takes_memory = True
    learned = ("gram", "moments")
    init = Bare.init
    plan = Bare.plan
    observe = Bare.observe


KINDS = [Bare, Full]


@pytest.mark.parametrize("kind", KINDS)
def test_policies_with_arrays_and_np_linalg_pass_the_check(kind: Any) -> None:
    """One of them compiled, as a user's: np.linalg takes long to compile, and the other is below."""
    sb.testing.check_policy(kind(3, FEATURES), long_pulls=500, compiled=kind is Bare)


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_among_the_parameters_in_results(kind: Any, tmp_path: Path) -> None:
    policy = kind(3, FEATURES)
    result = sb.simulate(policy, sb.Bernoulli([0.2, 0.5, 0.7]), 50, runs=2, engine="python")
    info = result.info["policies"][kind.__name__]
    if kind is Full:
        assert info["parameters"]["features"] == FEATURES.tolist()
    result.save(tmp_path / "result.parquet")
    loaded = sb.load_result(tmp_path / "result.parquet")
    assert loaded.info == result.info
    assert (loaded.pulls[kind.__name__] == result.pulls[kind.__name__]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_snapshots_tell_arrays_apart(kind: Any) -> None:
    agent = sb.Agent(kind(3, FEATURES))
    for _ in range(5):
        agent.tell(agent.ask().id, 1.0)
    text = agent.to_json()
    assert sb.Agent.from_json(text, kind(3, FEATURES.copy())).to_json() == text
    with pytest.raises(sb.FileFormatError, match="its parameters is"):
        sb.Agent.from_json(text, kind(3, FEATURES + 0.5))


def test_policies_with_equal_arrays_are_equal() -> None:
    policy, same, other = Full(3, FEATURES), Full(3, FEATURES.copy()), Full(3, FEATURES + 0.5)
    assert policy == same
    assert hash(policy) == hash(same)
    assert policy != other


def test_a_policy_of_the_library_may_take_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if it were ours: through the engine that is cached, with reference counts."""
    monkeypatch.setattr(Full, "__module__", "structured_bandits.policies.linucb")
    monkeypatch.setattr(compiled, "library_runs", uncached_runs)
    policy, rewards = Full(3, FEATURES), sb.testing.reward_tape(6, 3, 300)
    assert compiled.engine_for(policy, sb.Tape(rewards)) is uncached_runs
    runs = [
        sb.testing.play(policy, rewards, 300, compiled=by_compiler, planning=True)
        for by_compiler in (False, True)
    ]
    assert runs[0] == runs[1]


def uncached_runs(policy: Any, game: Any, starts: Any, runs: Any) -> None:
    """The library's engine, not kept on disk: this class is not in its sources."""
    compiled._library_runs("test")(policy, *compiled.without_generator(game), starts, runs)
