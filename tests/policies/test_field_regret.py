"""Mean regrets of the index policies, against those of loops written elsewhere, pull by pull.

Ten arms, 10,000 pulls, 400 runs on each side: within four joint standard errors.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import structured_bandits as sb

MEANS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
HORIZON, RUNS = 10_000, 400


@pytest.mark.parametrize(
    ("policy", "regret", "error"),
    [
        (sb.KLUCB(10), 53.06, 0.55),
        (sb.KLUCB(10, c=3.0), 85.72, 0.69),
        (sb.KLUCB(10, variant="++", horizon=HORIZON), 48.43, 0.44),
        (sb.MOSS(10, HORIZON), 97.66, 0.66),
        (sb.IMED(10), 42.87, 0.45),
    ],
    ids=["KL-UCB", "KL-UCB with c=3", "kl-UCB++", "MOSS", "IMED"],
)
def test_mean_regret(policy: Any, regret: float, error: float) -> None:
    result = sb.simulate(
        {"P": policy}, sb.Bernoulli(MEANS), HORIZON, runs=RUNS, seed=13, checkpoints=1, workers=1
    )
    ours = result.regret["P"][:, -1]
    joint = math.hypot(error, float(np.std(ours, ddof=1)) / math.sqrt(RUNS))
    assert abs(ours.mean() - regret) < 4.0 * joint
