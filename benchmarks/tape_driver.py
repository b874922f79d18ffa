"""An index policy of another library on a tape of rewards, in its own environment (contestants.py).

Called as `tape_driver.py '{"name": "SMPyBandits klUCB", "arms": 10, "horizon": 2000}'`. Each line that
it is sent is a tape as JSON, rewards[arm][how often the arm was pulled before]; it answers with the arm
of each pull, and with its own indices before that pull (none before every arm was pulled).
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

Tape = list[list[float]]
Player = Callable[[Tape], tuple[list[int], list[list[float] | None]]]


def smpybandits(name: str, arms: int, horizon: int) -> Player:
    """Play one of its index policies; the divergence is solved to 1e-13, its default is 1e-4."""
    os.environ["MPLBACKEND"] = "agg"
    with contextlib.redirect_stdout(io.StringIO()):
        from SMPyBandits import Policies
    parameters: dict[str, dict[str, Any]] = {
        "klUCB": {"tolerance": 1e-13},
        "klUCBPlusPlus": {"tolerance": 1e-13, "horizon": horizon},
        "MOSSH": {"horizon": horizon},
        "MOSSAnytime": {},
    }

    def play(tape: Tape) -> tuple[list[int], list[list[float] | None]]:
        policy = getattr(Policies, name)(arms, **parameters[name])
        policy.startGame()
        pulls, played, indices = [0] * arms, [], []
        for _ in range(horizon):
            arm = int(policy.choice())
            indices.append(policy.index.tolist() if min(pulls) > 0 else None)
            policy.getReward(arm, tape[arm][pulls[arm]])
            pulls[arm] += 1
            played.append(arm)
        return played, indices

    return play


def pymab(name: str, arms: int, horizon: int) -> Player:
    """Play one of its policies; the decisions are made in Rust, the indices by its Python reference."""
    import numpy as np
    from pymab import policies
    from pymab._reference import policies as reference

    settings = {"horizon": horizon} if name == "MOSSPolicy" else {}

    def play(tape: Tape) -> tuple[list[int], list[list[float] | None]]:
        policy = getattr(policies, name)(n_arms=arms, **settings)
        shadow = getattr(reference, name)(n_arms=arms, **settings)
        rng = np.random.default_rng(1)
        pulls, played, indices = [0] * arms, [], []
        for _ in range(horizon):
            arm = policy.select_action(rng=rng)
            indices.append(values(shadow) if min(pulls) > 0 else None)
            reward = tape[arm][pulls[arm]]
            policy.update(action=arm, reward=reward)
            shadow.update(action=arm, reward=reward)
            pulls[arm] += 1
            played.append(arm)
        return played, indices

    def values(policy: Any) -> list[float]:
        if name == "KLUCBPolicy":
            found = policy.indices()
        else:
            found = policy.estimates + policy._confidence_bonus()
        return [float(each) for each in found]

    return play


PLAYERS = {"SMPyBandits": smpybandits, "PyMAB": pymab}


def main() -> None:
    work: dict[str, Any] = json.loads(sys.argv[1])
    library, name = work["name"].split()
    play = PLAYERS[library](name, work["arms"], work["horizon"])
    print(json.dumps({"version": version(library)}), flush=True)
    for line in sys.stdin:
        arms, indices = play(json.loads(line))
        print(json.dumps({"arms": arms, "indices": indices}), flush=True)


if __name__ == "__main__":
    main()
