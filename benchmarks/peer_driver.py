"""A policy by another library, played in that library's environment (see contestants.py).

Called as `peer_driver.py '{"name": "river", "policy": "UCB1", "means": [...], "pulls": 10000}'`. Every
player returns how often each arm was pulled, on one core. UCB1 has the width sqrt(2 log t / pulls) in
all libraries; Thompson sampling has uniform priors; KL-UCB is as its library has it; MOSS knows the
horizon. A library that lacks the policy raises a KeyError.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

Player = Callable[[], Sequence[int]]


def pymab_policy(policy: str, arms: int, pulls: int) -> Callable[[], Any]:
    """Return what makes one of its policies."""
    from pymab import policies

    name, parameters = {
        "UCB1": ("UCBPolicy", {"c": 2.0}),
        "Thompson sampling": ("BernoulliThompsonSamplingPolicy", {}),
        "KL-UCB": ("KLUCBPolicy", {}),
        "MOSS": ("MOSSPolicy", {"horizon": pulls}),
    }[policy]
    return lambda: getattr(policies, name)(n_arms=arms, **parameters)


def pymab(policy: str, means: list[float], pulls: int) -> Player:
    """Its Experiment, in Rust, one replicate; rewards are not shared between policies."""
    import numpy as np
    from pymab import BanditEnvironment, BernoulliReward, Experiment, ExperimentConfig

    make = pymab_policy(policy, len(means), pulls)

    def play() -> Sequence[int]:
        config = ExperimentConfig(
            horizon=pulls,
            n_replicates=1,
            seed=random.getrandbits(32),
            reward_coupling="independent",
            backend="rust",
        )
        world = BanditEnvironment(means=np.array(means), reward_model=BernoulliReward())
        result = Experiment(environment=world, policies={policy: make()}, config=config).run()
        counts: list[int] = np.bincount(result.actions.ravel(), minlength=len(means)).tolist()
        return counts

    return play


def pymab_loop(policy: str, means: list[float], pulls: int) -> Player:
    """Its policy in a loop of one's own."""
    import numpy as np

    make = pymab_policy(policy, len(means), pulls)

    def play() -> Sequence[int]:
        player = make()
        rng = np.random.default_rng()
        counts = [0] * len(means)
        for _ in range(pulls):
            arm = player.select_action(rng=rng)
            player.update(action=arm, reward=float(random.random() < means[arm]))
            counts[arm] += 1
        return counts

    return play


def river(policy: str, means: list[float], pulls: int) -> Player:
    """The loop of its documentation, without the Gym environment."""
    from river import bandit, proba

    arms = range(len(means))
    make = {
        "UCB1": lambda: bandit.UCB(delta=1),
        "Thompson sampling": lambda: bandit.ThompsonSampling(
            reward_obj=proba.Beta(1, 1), seed=random.getrandbits(31)
        ),
    }[policy]

    def play() -> Sequence[int]:
        player = make()
        draws = [random.random() for _ in range(pulls)]
        counts = [0] * len(means)
        for draw in draws:
            arm = player.pull(arms)
            player.update(arm, float(draw < means[arm]))
            counts[arm] += 1
        return counts

    return play


def mabwiser(policy: str, means: list[float], pulls: int) -> Player:
    """Predict and partial_fit; its simulator replays logged data only. Each arm is fitted once first."""
    from mabwiser.mab import MAB, LearningPolicy

    arms = list(range(len(means)))
    learning = {
        "UCB1": LearningPolicy.UCB1(alpha=1.0),
        "Thompson sampling": LearningPolicy.ThompsonSampling(),
    }[policy]

    def play() -> Sequence[int]:
        player = MAB(arms, learning, seed=random.getrandbits(31))
        player.fit(arms, [float(random.random() < means[arm]) for arm in arms])
        counts = [1] * len(means)
        for _ in range(pulls - len(arms)):
            arm = player.predict()
            player.partial_fit([arm], [float(random.random() < means[arm])])
            counts[arm] += 1
        return counts

    return play


def smpybandits(policy: str, means: list[float], pulls: int) -> Player:
    """Its Evaluator, one repetition; its alpha is twice ours."""
    os.environ["MPLBACKEND"] = "agg"
    with contextlib.redirect_stdout(io.StringIO()):
        from SMPyBandits.Arms import Bernoulli
        from SMPyBandits.Environment import Evaluator
        from SMPyBandits.Policies import MOSSH, Thompson, UCBalpha, klUCB

    kind, parameters = {
        "UCB1": (UCBalpha, {"alpha": 4.0}),
        "Thompson sampling": (Thompson, {}),
        "KL-UCB": (klUCB, {}),
        "MOSS": (MOSSH, {"horizon": pulls}),
    }[policy]

    def play() -> Sequence[int]:
        configuration = {
            "horizon": pulls,
            "repetitions": 1,
            "n_jobs": 1,
            "verbosity": 0,
            "environment": [{"arm_type": Bernoulli, "params": means}],
            "policies": [{"archtype": kind, "params": parameters}],
        }
        with contextlib.redirect_stdout(io.StringIO()):
            evaluator = Evaluator(configuration)
            evaluator.startAllEnv()
        counts: list[int] = evaluator.pulls[0][0].tolist()
        return counts

    return play


PLAYERS: dict[str, Callable[[str, list[float], int], Player]] = {
    "PyMAB": pymab,
    "PyMAB-loop": pymab_loop,
    "river": river,
    "MABWiser": mabwiser,
    "SMPyBandits": smpybandits,
}


def main() -> None:
    work: dict[str, Any] = json.loads(sys.argv[1])
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    play = PLAYERS[work["name"]](work["policy"], work["means"], work["pulls"])
    print(json.dumps({"version": version(work["name"].removesuffix("-loop"))}), flush=True)
    for _ in sys.stdin:
        print(json.dumps({"counts": play()}), flush=True)


if __name__ == "__main__":
    main()
