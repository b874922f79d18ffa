"""Stretches of Thompson sampling played with the very means that pull-by-pull play draws.

A tape has a uniform number for each decision and arm; the mean of an arm at a decision is the quantile of
its Beta law there. `CoupledDraws` stands in for the generator of a policy that plans ahead: whatever the
policy asks it, it answers such that the means at each decision are those of the tape. It looks ahead on the
rewards, finds the next decision at which an arm is in its tail, or would propose in vain (by a second
tape), and answers the wait, the arm, the distance accordingly. So the arms of planned and pull-by-pull
play must be the same, one by one.

It raises where the policy could not be right for every tape: a tail that is likelier than its envelope's
mass, a density above the envelope, a decision of which something is known that is drawn anew.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betainc, betaincc, betaincinv, betaln, xlog1py, xlogy

from structured_bandits.lookahead.base import Work, fresh_work
from structured_bandits.simulation.engine import fresh_table, game_of, play
from structured_bandits.simulation.run_spec import RunRecord
from structured_bandits.worlds.tape import Tape

MUCH = 10**12  # a wait that outlasts everything


class Stir(NamedTuple):
    """An arm that proposes at a decision; `mean` is nan if it does so in vain."""

    arm: int
    mean: float


class CoupledDraws:
    """What a policy asks of a generator, answered from tapes."""

    def __init__(
        self,
        policy: Any,
        state: Any,
        work: Work,
        rewards: np.ndarray,
        uniforms: np.ndarray,
        seed: int,
    ) -> None:
        self.playable = [int(arm) for arm in policy.playable]
        self.state = state
        self.betas, self.quiet = work.memory
        self.rewards = rewards
        self.uniforms = uniforms  # decisions x arms
        self.vain = np.random.default_rng(seed).random(uniforms.shape)
        self.met: Counter[str] = Counter()
        self.known_until = (
            -1
        )  # of this decision and those before it is known whether anybody proposes
        self.stirs: list[Stir] = []  # at the decision `known_until`
        self.resolved = -1  # the last decision that was made by proposals
        self.distances: deque[float] = deque()
        self.proposes: deque[float] = deque()
        self.means: deque[float] = deque()
        self.plain: tuple[int, int] = (
            -1,
            0,
        )  # a decision by draws for all arms, and how many it had

    @property
    def now(self) -> int:
        return int(self.state.data.pulls.sum())

    def mean_at(self, decision: int, arm: int, a: float, b: float) -> float:
        return float(betaincinv(a, b, self.uniforms[decision, arm]))

    def beta(self, a: float, b: float) -> float:
        if self.means:
            return self.means.popleft()
        decision, had = self.plain if self.plain[0] == self.now else (self.now, 0)
        assert decision > self.known_until, "all means are drawn though something is known of them"
        self.plain = (decision, had + 1)
        self.met["plain draws"] += 1
        return self.mean_at(decision, self.playable[had], a, b)

    def geometric(self, chance: float) -> int:
        quiet, betas = self.quiet, self.betas
        leader, now = int(quiet.envelopes.leader[0]), self.now
        decided = int(now <= self.known_until or now == self.resolved)
        assert math.isclose(chance, self.chance_now(), rel_tol=1e-9)
        rewards = self.rewards[leader, int(self.state.data.pulls[leader]) :]
        top = self.rewards.max()
        ones = zeros = 0.0
        misses = 0
        for played in range(len(self.uniforms) - now):
            if played >= decided:
                laws = {arm: (betas.a[arm], betas.b[arm]) for arm in self.playable}
                laws[leader] = (betas.a[leader] + ones, betas.b[leader] + zeros)
                self.known_until = now + played
                self.stirs = self.stirs_at(now + played, laws)
                if self.stirs:
                    return played - decided + 1
            if misses == quiet.misses[0]:  # here the stretch stops, whatever is known beyond
                self.met["misses"] += 1
                return MUCH
            ones += rewards[played]
            zeros += 1.0 - rewards[played]
            misses += bool(rewards[played] < top or top < 1.0)  # without ones all count as misses
        self.known_until = len(self.uniforms)
        return MUCH

    def chance_now(self) -> float:
        masses = self.quiet.envelopes.masses
        return -math.expm1(sum(math.log1p(-masses[arm]) for arm in self.playable))

    def stirs_at(self, decision: int, laws: dict[int, tuple[float, float]]) -> list[Stir]:
        envelopes, leader = self.quiet.envelopes, int(self.quiet.envelopes.leader[0])
        level = envelopes.level[0]
        stirs = []
        for arm, (a, b) in laws.items():
            tail = float(betainc(a, b, level) if arm == leader else betaincc(a, b, level))
            assert tail <= envelopes.masses[arm] * (1.0 + 1e-9)
            mean = self.mean_at(decision, arm, a, b)
            if mean <= level if arm == leader else mean > level:
                height = envelopes.heights[arm] - envelopes.slopes[arm] * abs(mean - level)
                density = xlogy(a - 1.0, mean) + xlog1py(b - 1.0, -mean) - betaln(a, b)
                assert density <= height + 1e-9
                stirs.append(Stir(arm, mean))
            elif self.vain[decision, arm] < (envelopes.masses[arm] - tail) / (1.0 - tail):
                stirs.append(Stir(arm, math.nan))
        return stirs

    def uniform(self, low: float, high: float) -> float:
        """Answer which arm is the first to propose, and prepare what is asked next."""
        assert self.now == self.known_until, "proposals are drawn where none are known"
        assert low == 0.0
        assert math.isclose(high, self.chance_now(), rel_tol=1e-9)
        envelopes, betas = self.quiet.envelopes, self.betas
        leader = int(self.quiet.envelopes.leader[0])
        self.resolved = self.now
        proposing = {stir.arm: stir.mean for stir in self.stirs}
        first = self.stirs[0].arm
        before = [arm for arm in self.playable if arm < first]
        after = [arm for arm in self.playable if arm > first]
        silence = math.prod(1.0 - envelopes.masses[arm] for arm in before)
        self.proposes.extend(0.0 if arm in proposing else 1.0 for arm in after)
        for arm, mean in proposing.items():
            vain = math.isnan(mean)
            distance = 0.0 if vain else abs(mean - envelopes.level[0]) * envelopes.slopes[arm]
            self.distances.extend([distance, -math.inf if vain else math.inf])
        stirring = {arm for arm, mean in proposing.items() if not math.isnan(mean)}
        if stirring == {leader}:
            asked = [arm for arm in self.playable if arm != leader]
            self.met["leader alone below"] += 1
        else:
            asked = [leader] if stirring and leader not in stirring else []
            self.met["others above" if stirring else "in vain"] += 1
            self.met["leader below, others above"] += leader in stirring
        self.means.extend(self.mean_at(self.now, arm, betas.a[arm], betas.b[arm]) for arm in asked)
        return 1.0 - silence * (1.0 - 0.5 * envelopes.masses[first])

    def random(self) -> float:
        return self.proposes.popleft()

    def exponential(self, scale: float) -> float:
        assert scale == 1.0
        return self.distances.popleft()

    def left_over(self) -> int:
        """Return how many answers were prepared and never asked for."""
        return len(self.distances) + len(self.proposes) + len(self.means)


def play_coupled(
    policy: Any, rewards: np.ndarray, uniforms: np.ndarray, seed: int
) -> tuple[list[int], CoupledDraws, int]:
    """Return the arms of planned play with the means of a tape, the stand-in, and the number of plans."""
    world, horizon = Tape(rewards), len(uniforms)
    state, work = policy.init(), fresh_work(policy)
    rng: Any = CoupledDraws(policy, state, work, rewards, uniforms, seed)
    arms = np.zeros(horizon, np.int64)
    pulls, sums = np.zeros(len(rewards), np.int64), np.zeros(len(rewards))
    record = RunRecord(np.array([horizon]), np.zeros(1), pulls, sums, arms)
    game = game_of(policy, world, horizon, True, rng, np.zeros(1, np.int64))
    plans, _ = play(policy, state, game, record, fresh_table(world.means, work))
    return arms.tolist(), rng, plans
