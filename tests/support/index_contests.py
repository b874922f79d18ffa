"""The policies that look at arms one by one, each with its oracle, on rewards in ranges of all kinds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from oracles import indices
from oracles.structures import Trace
from support.cases import draw_case
from support.exactness import Contest

import structured_bandits as sb


@dataclass
class IndexCase:
    """Rewards for the oracle, in [0, 1], and the same for the library, in a range of its own."""

    structure: Any  # of which only the best arms matter
    shares: Any  # arms x pulls
    horizon: int
    reward_range: tuple[float, float]
    arms: str
    rng: np.random.Generator  # for the parameters

    @property
    def rewards(self) -> Any:
        low, high = self.reward_range
        return low + (high - low) * self.shares

    @property
    def playable(self) -> list[int] | None:
        return None if self.arms == "all" else sorted(self.structure.best_arms)

    @property
    def kind(self) -> dict[str, Any]:
        """The arguments that all policies share."""
        return {"arms": self.arms, "reward_range": self.reward_range}

    @property
    def game(self) -> tuple[int, Any, int]:
        """The first arguments of all oracles."""
        return self.structure.n_arms, self.shares.tolist(), self.horizon

    def tuned(self) -> int:
        """Draw a horizon to tune for: mostly the right one."""
        return max(1, int(self.horizon * self.rng.choice([0.5, 1.0, 1.0, 20.0])))


def draw_index_case(seed: int, index: int) -> IndexCase:
    """Return 0/1 rewards, or fractions of 8; the k-th case is the same each time."""
    case = draw_case(seed, index, "finite", full_size=False)
    rng = np.random.default_rng([seed, index])
    shares = np.array(case.rewards, dtype=float)
    if rng.random() < 0.4:  # between both rewards of two arms of the tape there are others
        shares = rng.integers(0, 9, shares.shape) / 8 * shares
    if rng.random() < 0.1:
        shares[0] = 1.0
    if rng.random() < 0.1:
        shares[-1] = shares[0]
    ranges = [(0.0, 1.0), (0.0, 1.0), (-1.0, 3.0), (2.0, 2.5)]
    low, high = ranges[rng.integers(len(ranges))]
    arms = "candidates" if rng.random() < 0.3 else "all"
    return IndexCase(case.structure, shares, case.horizon, (low, high), arms, rng)


KLUCB = Contest(
    draw_index_case,
    lambda case: sb.KLUCB(case.structure, c=float(case.rng.choice([0.0, 0.5, 3.0])), **case.kind),
    lambda case, policy, _: indices.klucb(*case.game, c=policy.c, arms=case.playable),
)
KLUCB_PLUS_PLUS = Contest(
    draw_index_case,
    lambda case: sb.KLUCB(case.structure, variant="++", horizon=case.tuned(), **case.kind),
    lambda case, policy, _: indices.klucb(
        *case.game, variant="++", n=policy.horizon, arms=case.playable
    ),
)


def moss(anytime: bool) -> Contest:
    return Contest(
        draw_index_case,
        lambda case: sb.MOSS(
            case.structure,
            None if anytime else case.tuned(),
            alpha=float(case.rng.choice([0.0, 1.0, 1.35])),
            **case.kind,
        ),
        lambda case, policy, _: indices.moss(
            *case.game, n=policy.horizon, alpha=policy.alpha, arms=case.playable
        ),
    )


def followed_imed(case: IndexCase, _: Any, arms: list[int]) -> Trace:
    """Coincidences are common, so the oracle follows the library through them; all pulls count."""
    trace = indices.imed(*case.game, arms=case.playable, follow=arms)
    trace.coincidences.clear()
    return trace


IMED = Contest(draw_index_case, lambda case: sb.IMED(case.structure, **case.kind), followed_imed)
UCBV = Contest(
    draw_index_case,
    lambda case: sb.UCBV(case.structure, **case.kind),
    lambda case, _, __: indices.ucbv(*case.game, arms=case.playable),
)
