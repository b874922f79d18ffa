"""UCB1 by another library, played in that library's environment (see contestants.py).

Called as `peer_driver.py '{"name": "river", "means": [...], "pulls": 10000}'`. Every player returns how
often each arm was pulled. All have the width sqrt(2 log t / pulls), on one core.
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


def pymab(means: list[float], pulls: int) -> Player:
    """Its Experiment, in Rust, one replicate; rewards are not shared between policies."""
    import numpy as np
    from pymab import BanditEnvironment, BernoulliReward, Experiment, ExperimentConfig
    from pymab.policies import UCBPolicy

    def play() -> Sequence[int]:
        config = ExperimentConfig(
            horizon=pulls,
            n_replicates=1,
            seed=random.getrandbits(32),
            reward_coupling="independent",
            backend="rust",
        )
        world = BanditEnvironment(means=np.array(means), reward_model=BernoulliReward())
        policies = {"UCB": UCBPolicy(n_arms=len(means), c=2.0)}
        result = Experiment(environment=world, policies=policies, config=config).run()
        counts: list[int] = np.bincount(result.actions.ravel(), minlength=len(means)).tolist()
        return counts

    return play


def pymab_loop(means: list[float], pulls: int) -> Player:
    """Its policy in a loop of one's own."""
    import numpy as np
    from pymab.policies import UCBPolicy

    def play() -> Sequence[int]:
        policy = UCBPolicy(n_arms=len(means), c=2.0)
        rng = np.random.default_rng()
        counts = [0] * len(means)
        for _ in range(pulls):
            arm = policy.select_action(rng=rng)
            policy.update(action=arm, reward=float(random.random() < means[arm]))
            counts[arm] += 1
        return counts

    return play


def river(means: list[float], pulls: int) -> Player:
    """The loop of its documentation, without the Gym environment."""
    from river import bandit

    arms = range(len(means))

    def play() -> Sequence[int]:
        policy = bandit.UCB(delta=1)
        draws = [random.random() for _ in range(pulls)]
        counts = [0] * len(means)
        for draw in draws:
            arm = policy.pull(arms)
            policy.update(arm, float(draw < means[arm]))
            counts[arm] += 1
        return counts

    return play


def mabwiser(means: list[float], pulls: int) -> Player:
    """Predict and partial_fit; its simulator replays logged data only. Each arm is fitted once first."""
    from mabwiser.mab import MAB, LearningPolicy

    arms = list(range(len(means)))

    def play() -> Sequence[int]:
        policy = MAB(arms, LearningPolicy.UCB1(alpha=1.0), seed=random.getrandbits(31))
        policy.fit(arms, [float(random.random() < means[arm]) for arm in arms])
        counts = [1] * len(means)
        for _ in range(pulls - len(arms)):
            arm = policy.predict()
            policy.partial_fit([arm], [float(random.random() < means[arm])])
            counts[arm] += 1
        return counts

    return play


def smpybandits(means: list[float], pulls: int) -> Player:
    """Its Evaluator, one repetition; its alpha is twice ours."""
    os.environ["MPLBACKEND"] = "agg"
    with contextlib.redirect_stdout(io.StringIO()):
        from SMPyBandits.Arms import Bernoulli
        from SMPyBandits.Environment import Evaluator
        from SMPyBandits.Policies import UCBalpha

    def play() -> Sequence[int]:
        configuration = {
            "horizon": pulls,
            "repetitions": 1,
            "n_jobs": 1,
            "verbosity": 0,
            "environment": [{"arm_type": Bernoulli, "params": means}],
            "policies": [{"archtype": UCBalpha, "params": {"alpha": 4.0}}],
        }
        with contextlib.redirect_stdout(io.StringIO()):
            evaluator = Evaluator(configuration)
            evaluator.startAllEnv()
        counts: list[int] = evaluator.pulls[0][0].tolist()
        return counts

    return play


PLAYERS: dict[str, Callable[[list[float], int], Player]] = {
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
    play = PLAYERS[work["name"]](work["means"], work["pulls"])
    print(json.dumps({"version": version(work["name"].removesuffix("-loop"))}), flush=True)
    for _ in sys.stdin:
        print(json.dumps({"counts": play()}), flush=True)


if __name__ == "__main__":
    main()
