"""Random counts up to 10^12 on every kind of structure: no solver may fail where a user sees it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

import structured_bandits as sb

T3 = [[0.8, 0.2, 0.5], [0.1, 0.9, 0.4], [0.5, 0.5, 0.5]]


def every_kind() -> dict[str, Any]:
    """Return a structure of each kind."""
    return {
        "table": sb.FiniteStructure(T3),
        "around": sb.around(sb.FiniteStructure(T3), 0.05),
        "curves": sb.CurveStructure([sb.Piece(0, 1, [0.1, 0.8, 0.4], [0.9, 0.3, 0.5])]),
        "mixtures": sb.mixtures(T3),
        "linear": sb.linear([[1, 0], [0.5, 0.5], [0, 1.0]], bounds=(0, 1)),
        "unimodal": sb.unimodal(4),
        "monotone": sb.monotone(4),
        "lipschitz": sb.lipschitz([0.0, 0.3, 0.5, 1.0], 0.8),
        "concave": sb.concave([0.0, 1.0, 2.0, 4.0]),
        "best mean known": sb.known_best_mean(3, 0.7),
        "two arms": sb.linear([[0.2], [0.7]], bounds=(0, 1)),
        "product": sb.product([sb.mixtures([[0.9, 0.2], [0.3, 0.6]]), sb.unimodal(3)]),
    }


def random_counts(arms: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return pulls of any size up to 10^12, and sums of any share of them, mostly a likely one."""
    pulls = (10.0 ** rng.uniform(0, rng.uniform(1, 12), arms)).astype(np.int64)
    pulls[rng.random(arms) < 0.1] = 0
    shares = rng.choice([rng.random(arms), rng.integers(0, 2, arms), np.full(arms, rng.random())])
    return pulls, np.floor(pulls * shares)


POLICIES = (sb.SUCB, sb.UCBC, sb.GreedyMLE, sb.UCB)


def learn_anything(seed: int, index: int) -> Counter[str]:
    """Let an agent on each kind of structure learn random counts, and use it; count what happens."""
    rng = np.random.default_rng([seed, index])
    met: Counter[str] = Counter()
    for kind, structure in every_kind().items():
        policy: Any = POLICIES[index % len(POLICIES)](structure)
        agent = sb.Agent(policy)
        pulls, sums = random_counts(structure.n_arms, rng)
        agent.learn(pulls, sums)
        decision = agent.ask()
        agent.tell(decision.id, float(rng.integers(2)))
        agent.ask(available=[int(rng.integers(structure.n_arms))])
        met["refuted"] += agent.misfit is not None and agent.misfit.refuted()
        met["unsolved"] += agent.unsolved
        met["cases"] += 1
        assert np.isfinite(agent.intervals).all(), (kind, pulls, sums)
        assert str(agent.unsolved) in agent.describe() or not agent.unsolved
    return met
