"""A policy at work: ask for an arm, tell the reward.

The agent follows the policy's plans, so it plays exactly what the simulation would play on the same
rewards, and it never imports Numba. Rewards may come late, out of order or not at all.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Ints
from structured_bandits.checks import checked_count
from structured_bandits.errors import DecisionError, ParameterError, RewardError
from structured_bandits.live.snapshot import from_snapshot, to_snapshot
from structured_bandits.policies.base import PolicyLike
from structured_bandits.policies.phases import MOST_PULLS


class Decision(NamedTuple):
    """An arm to pull; tell its reward under `id`."""

    id: int
    arm: int
    name: str
    extra: bool  # asked for beyond the plan, because rewards were still out


class Agent:
    """Ask and tell around a policy.

    A plan is made when the one before is complete, that is when each of its arms has brought as many
    rewards as it holds. If more is asked for while rewards are out, the agent goes on round-robin
    over the plan's arms that lack rewards; such decisions are marked `extra` and their rewards
    count, so that a lost reward never stops it. A decision of an earlier plan does not count as
    handed out in a later one; if its reward comes after all, the agent plans anew.

    >>> import structured_bandits as sb
    >>> structure = sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]], arms=["tea", "coffee"])
    >>> agent = sb.Agent(sb.SUCB(structure))
    >>> decision = agent.ask()
    >>> decision.arm, decision.name
    (0, 'tea')
    >>> agent.tell(decision.id, 1.0)
    >>> agent.pending, agent.empty
    ((), 0)
    """

    def __init__(self, policy: PolicyLike, seed: int = 0) -> None:
        n_arms = getattr(policy, "n_arms", None)
        if n_arms is None:
            raise ParameterError(f"policy={policy!r}: expected a policy with n_arms")
        self.policy = policy
        self._rng = np.random.Generator(np.random.PCG64(checked_count("seed", seed, least=0)))
        self._names = getattr(policy, "arm_names", tuple(str(i + 1) for i in range(n_arms)))
        self._state = policy.init()
        self._pulls = np.zeros(n_arms, np.int64)  # observed so far
        self._quota = np.zeros(n_arms, np.int64)  # the plan
        self._told = np.zeros(n_arms, np.int64)  # observed since the plan was made
        self._plan_number = 0  # 0: there is no plan that holds
        self._plans = 0
        self._pending: dict[int, tuple[Decision, int]] = {}  # with the number of their plan
        self._out = np.zeros(n_arms, np.int64)  # of these, the current plan's, by arm
        self._next_id = 0
        self._extra_in_plan = 0
        self._extra = 0
        self._empty = 0

    def ask(self) -> Decision:
        """Return the next arm to pull."""
        self._refresh()
        handed = self._told + self._out
        open_arms = np.flatnonzero(handed < self._quota)
        extra = not len(open_arms)
        if extra:
            lacking = np.flatnonzero(self._told < self._quota)
            arm = int(lacking[self._extra_in_plan % len(lacking)])
            self._extra_in_plan += 1
            self._extra += 1
        else:
            arm = int(open_arms[np.argmin(handed[open_arms])])  # round robin: who has had least
        decision = Decision(self._next_id, arm, self._names[arm], extra)
        self._next_id += 1
        self._pending[decision.id] = (decision, self._plan_number)
        self._out[arm] += 1
        return decision

    def tell(self, decision_id: int, reward: float) -> None:
        """Take in the reward of a decision; each counts once."""
        decision, plan_number = self._find(decision_id)
        reward = self._checked_reward(reward)
        self._forget(decision, plan_number)
        pulls = np.zeros_like(self._pulls)
        sums = np.zeros(len(pulls))
        pulls[decision.arm] = 1
        sums[decision.arm] = reward
        self._observe(pulls, sums)
        if plan_number != self._plan_number:
            self._plan_number = 0  # the plan did not reckon with this reward

    def cancel(self, decision_id: int) -> None:
        """Take a decision back: its reward will not come; its place in the plan is free again."""
        self._forget(*self._find(decision_id))

    def learn(self, pulls: Any, sums: Any) -> None:
        """Take in a whole plan's results, or logged data: pulls and sums of rewards per arm."""
        pulls, sums = self._checked_results(pulls, sums)
        if pulls.any():
            self._observe(pulls, sums)
            self._plan_number = 0

    @property
    def plan(self) -> Ints:
        """How many rewards of each arm the plan still waits for, pending ones included."""
        self._refresh()
        return np.maximum(self._quota - self._told, 0)

    @property
    def pending(self) -> tuple[Decision, ...]:
        """The decisions whose rewards are out."""
        return tuple(decision for decision, _ in self._pending.values())

    @property
    def pulls(self) -> Ints:
        """How many rewards of each arm have been observed."""
        return self._pulls.copy()

    @property
    def active_arms(self) -> tuple[int, ...]:
        """The arms that are still in the race."""
        self._refresh()
        if not hasattr(self.policy, "active_arms"):
            return tuple(range(len(self._pulls)))
        arms: tuple[int, ...] = self.policy.active_arms(self._state, int(self._pulls.sum()))
        return arms

    @property
    def empty(self) -> int:
        """How often no model, or none with an arm still active, fitted the data.

        More than 0 is a sign that the structure is wrong.
        """
        self._refresh()
        return self._empty

    @property
    def extra_decisions(self) -> int:
        """How many decisions went beyond their plan because rewards were out."""
        return self._extra

    def to_json(self) -> str:
        """Return the agent as JSON, pending decisions included; the structure by its hash only."""
        return to_snapshot(self)

    @classmethod
    def from_json(cls, text: str, policy: PolicyLike) -> Agent:
        """Restore an agent; `policy` must be the one it was saved with."""
        agent = cls(policy)
        from_snapshot(agent, text)
        return agent

    def __repr__(self) -> str:
        return (
            f"Agent({self.policy!r}, pulls={self._pulls.tolist()}, "
            f"pending={len(self._pending)}, empty={self._empty})"
        )

    def _refresh(self) -> None:
        """Make a plan if there is none that holds."""
        if self._plan_number and (self._told < self._quota).any():
            return
        t = int(self._pulls.sum())
        self._empty += self.policy.plan(self._state, t, MOST_PULLS, self._quota, self._rng)
        self._plans += 1
        self._plan_number = self._plans
        if self._quota.sum() < 1:
            raise ParameterError("the policy planned no pull; a plan holds at least one")
        self._told[:] = 0
        self._out[:] = 0
        self._extra_in_plan = 0

    def _forget(self, decision: Decision, plan_number: int) -> None:
        del self._pending[decision.id]
        if plan_number == self._plan_number:
            self._out[decision.arm] -= 1

    def _observe(self, pulls: Ints, sums: Any) -> None:
        self.policy.observe(self._state, pulls, sums)
        self._pulls += pulls
        self._told += pulls

    def _find(self, decision_id: int) -> tuple[Decision, int]:
        if isinstance(decision_id, Decision):
            raise DecisionError(f"got a whole decision; pass its id, {decision_id.id}")
        whole = isinstance(decision_id, (int, np.integer)) and not isinstance(decision_id, bool)
        if whole and decision_id in self._pending:
            return self._pending[decision_id]
        if whole and 0 <= decision_id < self._next_id:
            raise DecisionError(f"decision {decision_id} was already told or cancelled")
        raise DecisionError(f"decision {decision_id!r} is unknown: no ask() returned it")

    def _reward_range(self) -> tuple[float, float]:
        return getattr(self.policy, "reward_range", None) or (-math.inf, math.inf)

    def _checked_reward(self, reward: Any) -> float:
        low, high = self._reward_range()
        try:
            value = math.nan if isinstance(reward, str) else float(reward)
        except (TypeError, ValueError, OverflowError):
            value = math.nan
        if not (math.isfinite(value) and low <= value <= high):
            raise RewardError(f"reward={reward!r}: expected a number in [{low:g}, {high:g}]")
        return value

    def _checked_results(self, pulls: Any, sums: Any) -> tuple[Ints, Any]:
        arms = len(self._pulls)
        try:
            counts, totals = np.array(pulls, dtype=np.float64), np.array(sums, dtype=np.float64)
        except (TypeError, ValueError):
            raise RewardError("pulls and sums: expected one number per arm in each") from None
        if counts.shape != (arms,) or totals.shape != (arms,):
            raise RewardError(
                f"pulls and sums: shapes {counts.shape} and {totals.shape}, expected ({arms},) each"
            )
        if not ((counts >= 0) & (counts == np.floor(counts)) & (counts < MOST_PULLS)).all():
            raise RewardError(f"pulls={pulls!r}: expected whole numbers >= 0, less than 2**52")
        low, high = self._reward_range()
        for arm in range(arms):
            least, most = (counts[arm] * low, counts[arm] * high) if counts[arm] else (0.0, 0.0)
            slack = 1e-9 * max(abs(least), abs(most))  # sums of rewards are rounded
            if not (math.isfinite(totals[arm]) and least - slack <= totals[arm] <= most + slack):
                raise RewardError(
                    f"sums[{arm}]={totals[arm]:g}: {counts[arm]:g} rewards in [{low:g}, {high:g}] "
                    f"sum to between {least:g} and {most:g}"
                )
        return counts.astype(np.int64), totals
