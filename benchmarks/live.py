"""A live agent beside river's: the cost of a decision and its reward (`make bench`).

`ask` and `tell` of an agent that plays SAE on 150 models × 50 arms, without Numba, against `pull` and
`update` of river's UCB on 50 arms, in its own environment (contestants.py): 10,000 rewards each,
drawn at the same cost on both sides, in turn.
"""

from __future__ import annotations

import json
import random
import sys
import time
import warnings
from typing import Any

import numpy as np
from contestants import Contestant, ContestantError, python_of
from rows import Row, interleaved, write

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import random_structure

TOPIC = "live"
REWARDS = 10_000
REPETITIONS = 5


def draw() -> tuple[Any, list[float]]:
    """Return a random structure and its true means."""
    warnings.simplefilter("ignore", sb.MeansOutsideUnitIntervalWarning)
    structure, truth = random_structure(np.random.default_rng(0))
    return structure, structure.means(truth).tolist()


def play_agent() -> None:
    """Play whenever a line comes in; the side of the contestant."""
    structure, means = draw()
    policy = sb.SAE.paper(structure, REWARDS)
    print(json.dumps({"version": sb.__version__}), flush=True)
    for line in sys.stdin:
        agent = sb.Agent(policy)
        draws = [random.random() for _ in range(REWARDS)]
        if line.strip() == "each":
            answer = {"slowest": slowest(agent, means, draws)}
        else:
            for number in draws:
                decision = agent.ask()
                agent.tell(decision.id, float(number < means[decision.arm]))
            answer = {"best": int(agent.pulls.max())}
        assert "numba" not in sys.modules
        print(json.dumps(answer), flush=True)


def slowest(agent: Any, means: list[float], draws: list[float]) -> float:
    """Return the seconds of the slowest call."""
    longest = 0.0
    for number in draws:
        begin = time.perf_counter()
        decision = agent.ask()
        middle = time.perf_counter()
        agent.tell(decision.id, float(number < means[decision.arm]))
        longest = max(longest, middle - begin, time.perf_counter() - middle)
    return longest


def main() -> None:
    _, means = draw()
    work = {"means": means, "pulls": REWARDS}
    ours = Contestant(sys.executable, "live.py", {"name": "agent"})
    worst = min(ours.play("each")["slowest"] for _ in range(REPETITIONS))
    rows = [
        Row(
            TOPIC,
            "the slowest single call, at a phase's end",
            "",
            1e3 * worst,
            "ms",
            f"least of {REPETITIONS} runs",
        )
    ]
    title = "ask + tell, SAE on 150 models × 50 arms, against river's UCB on 50 arms"
    try:
        theirs = Contestant(
            python_of("river"), "peer_driver.py", {"name": "river", "policy": "UCB1", **work}
        )
        times = interleaved({"ours": ours.play, "river": theirs.play}, REPETITIONS)
        each, other = (1e6 * times[name] / REWARDS for name in ("ours", "river"))
        note = f"{each:.1f} µs and {other:.1f} µs, over {REWARDS:,} rewards; no Numba"
        note += f"; river {theirs.about['version']}"
        rows.insert(0, Row(TOPIC, title, ">= 2", other / each, "times", note))
        theirs.stop()
    except ContestantError as error:
        times = interleaved({"ours": ours.play}, REPETITIONS)
        note = f"river: {error}"
        rows.insert(0, Row(TOPIC, title, "", 1e6 * times["ours"] / REWARDS, "µs", note))
    ours.stop()
    write(TOPIC, rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        play_agent()
    else:
        main()
