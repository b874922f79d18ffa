"""A policy at work: ask for an arm, tell the reward.

The agent follows the policy's plans, so it plays exactly what the simulation would play on the same
rewards, and it never imports Numba. Rewards may come late, out of order or not at all.

An agent is a function of its events (asked, told, cancelled, expired, learned, parked). It plans when
it is made and inside these events, never when it is read, and a plan follows from what was learned:
scratch memory that could decide it is cleared first. So reading an agent, or saving and restoring it,
changes no later decision.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection
from typing import Any, NamedTuple, overload
from zlib import crc32

import numpy as np

from structured_bandits.agents.availability import allowed_arms, optimistic_arm
from structured_bandits.agents.evidence_monitor import EvidenceMonitor
from structured_bandits.agents.intervals import open_box, shown_intervals
from structured_bandits.agents.learned import copied_state
from structured_bandits.agents.likely import likely_models, rewards_of
from structured_bandits.agents.logs import Learned, read_log
from structured_bandits.agents.misfit_monitor import MisfitMonitor
from structured_bandits.agents.ordered_results import WaitingResults
from structured_bandits.agents.pending import (
    EXTRA,
    FORCED,
    PLAN,
    REASONS,
    RESTRICTED,
    Pending,
    PendingDecisions,
)
from structured_bandits.agents.plan_order import (
    NO_ARM,
    NOTHING_WANTED,
    ORDERS,
    Served,
    drawn_pull,
    next_pull,
    with_propensity,
)
from structured_bandits.agents.results import (
    check_total,
    checked_results,
    checked_reward,
    known_data,
)
from structured_bandits.agents.snapshot import from_snapshot, read_snapshot, to_snapshot
from structured_bandits.agents.speculative_plan import (
    LookAhead,
    assumed_results,
    chance_of,
    look_ahead,
    note_away,
    plan_ahead,
)
from structured_bandits.agents.transaction import arrays_of, atomic
from structured_bandits.agents.view import describe
from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.base.checks import checked_count, checked_word
from structured_bandits.base.confidence import Data
from structured_bandits.base.writing import write_whole
from structured_bandits.errors import (
    DecisionError,
    FileFormatError,
    HorizonWarning,
    ParameterError,
    RewardError,
    warn_user,
)
from structured_bandits.inference.certificate import Certificate
from structured_bandits.inference.misfit.e_value import watching_of
from structured_bandits.inference.misfit.report import Misfit
from structured_bandits.policies.horizons import beyond_horizon, tuned_horizon
from structured_bandits.policies.phases import MOST_PULLS
from structured_bandits.policies.playing import chooses, expect, moment_of, observe, plan, update
from structured_bandits.policies.validation import check_plan, check_policy
from structured_bandits.protocols import Now, Outcome, PolicyLike, Seen
from structured_bandits.structures.base import counting, index_of

SPAWN_KEY = (crc32(b"agent"),)  # of an agent's stream of random numbers


class SettledArm(NamedTuple):
    """An arm that was found to be best, and after how many rewards."""

    arm: int
    name: str
    rewards: int


class Decision(NamedTuple):
    """An arm to pull; tell its reward under `id`.

    `reason` says why this arm was chosen. "plan": it is the next one of the plan. "extra": it goes
    beyond the plan, because rewards of the plan were still out. "restricted": no arm that the plan
    wanted was available. "forced": `force` was called for it, and the plan did not want it.

    `propensity` is the probability with which this arm came, given all that was asked and told before.
    It is known of agents with `order="drawn"` whose policy does not draw by itself, and of policies that
    say how likely each arm was (`chances`, as `ISAE` has it) if all arms were available. Otherwise it is
    None.
    """

    id: int
    arm: int
    name: str
    extra: bool
    reason: str = "plan"
    propensity: float | None = None


class Agent:
    """A policy in use: ask it for an arm, pull the arm, tell it the reward.

    The policy makes a plan, and the next one when all rewards of the plan have been told. A policy with
    phases, such as SAE, plans several pulls; one that chooses before each pull, such as SUCB, plans one
    (`extend_plan` lets it plan all that are certain). If you ask for more arms while rewards are out,
    the agent plans ahead as if each missing reward were the average of its arm (a randomised policy
    draws from what it knows without them). Such decisions are marked `extra`. Their rewards count
    like all others, so a reward that never comes does not stop the agent. When a reward comes that
    was not part of the plan, the agent plans anew.

    If a policy with a horizon is asked for more pulls than that, it goes on, with a warning the first
    time.

    `order` says how the pulls of a plan are handed out. "turn": the arms take turns, as in the
    simulation. "drawn": each pull that the plan still wants is equally likely to be the next, so that
    a change over the day is not mistaken for an effect of the arm; each decision has its propensity, the
    probability with which its arm was chosen. Both orders end with the same numbers of pulls. The
    theorem on constant regret (docs/notes/mathematics.md) is proved for arms that take turns.

    A policy that draws, and the order "drawn", take their random numbers from the stream of
    SeedSequence(seed, spawn_key=(crc32(b"agent"),)). So a world of your own may use the same seed:
    default_rng(seed) and what is spawned from it have other streams.

    If a method raises an error (your policy, a warning that is an error, Ctrl-C), the agent is as it was
    before the call.

    One agent must not be used by several threads at the same time; several agents may share a structure.

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

    def __init__(self, policy: PolicyLike, seed: int = 0, order: str = "turn") -> None:
        self._prepare(policy)
        self.order = checked_word("order", order, ORDERS)
        self._rng = agent_generator(checked_count("seed", seed, least=0))
        self._make_plan()

    def _prepare(self, policy: PolicyLike) -> None:
        """Set everything but the generator and the plan."""
        check_policy("policy", policy)
        n_arms = getattr(policy, "n_arms", None)
        if n_arms is None:
            raise ParameterError(f"policy={policy!r}: expected a policy with n_arms")
        self.policy = policy
        self._names = getattr(policy, "arm_names", counting(n_arms))
        self._range = getattr(policy, "reward_range", None) or (-math.inf, math.inf)
        self._set_state(policy.init())
        self._t = 0  # rewards observed so far
        self._seen = _no_results(n_arms)  # all of them
        self._settled = _no_results(n_arms)  # those that came before the oldest one still out
        self._misfit_monitor = MisfitMonitor(policy, watching_of(self._settled))
        self._one = _no_results(n_arms)  # memory for a single one
        self._quota = np.zeros(n_arms, np.int64)  # the plan
        self._told = np.zeros(n_arms, np.int64)  # rewards that the plan has brought, by arm
        self._handed = np.zeros(n_arms, np.int64)  # handed out by the plan, by arm: told or pending
        self._in_plan = 0  # how many of these are pending
        self._left = 0  # rewards that the plan still waits for
        self._plans = 0  # made so far, which is the number of the last one
        self._overturned = False  # has a policy that settles results changed its mind?
        self._ahead: LookAhead | None = None  # what is handed out beyond the plan
        self._parked = np.zeros(n_arms, np.bool_)
        self._any_parked = False
        self._pending = PendingDecisions(n_arms)
        self._waiting = WaitingResults()  # told, but not settled
        self._in_order = bool(getattr(policy, "in_order", False))
        self._next_id = 0
        self._extra = 0
        self._empty = 0
        self._unsolved = 0
        self._horizon = tuned_horizon(policy)
        self._warned = False  # that it is played beyond its horizon
        self._changing = False  # within a method that changes it
        watching = self._misfit_monitor.watching
        self._own_arrays = [*self._seen, *self._settled, watching.times, watching.largest]
        self._own_arrays += [self._quota, self._told, self._handed, self._parked]
        self._set_evidence(EvidenceMonitor(policy, self._settled))

    def _set_evidence(self, evidence: EvidenceMonitor) -> None:
        """Take other evidence, with the arrays in which it remembers."""
        self._evidence = evidence
        self._remembered = evidence.arrays()

    def _set_state(self, state: Any) -> None:
        self._state = state
        self._learned = arrays_of(self.policy, state)

    @overload
    def ask(self, n: None = None, available: Collection[int | str] | None = None) -> Decision: ...

    @overload
    def ask(
        self, n: int, available: Collection[int | str] | None = None
    ) -> tuple[Decision, ...]: ...

    @atomic
    def ask(
        self, n: int | None = None, available: Collection[int | str] | None = None
    ) -> Decision | tuple[Decision, ...]:
        """Return the next arm to pull, or a tuple of the next `n`, the same as by asking n times.

        `available` are the arms that can be pulled now, by index or name; without it all can. The agent
        returns the available arm that its plan wants next. If the plan wants none of them, it chooses
        among them optimistically, the arm that could be best (`Decision.reason` is "restricted"). No arm
        is dropped because it was not available.
        """
        count = 1 if n is None else checked_count("n", n)
        allowed = None
        if available is not None or self._any_parked:
            allowed = allowed_arms(available, self._names, self._parked)
        if n is None:
            return self._decide(allowed)
        return tuple(self._decide(allowed) for _ in range(count))

    @atomic
    def tell(self, decision_id: int, reward: float) -> None:
        """Tell the agent the reward of a decision; each decision gets one reward."""
        pending = self._find(decision_id)
        reward = checked_reward(reward, self._range)
        arm = pending.arm
        check_total(self._t, 1)
        self._forget(pending)
        self._observe_one(arm, reward)
        self._seen.pulls[arm] += 1
        self._seen.sums[arm] += reward
        self._seen.squares[arm] += reward * reward
        self._t += 1
        self._settle_told(pending.id, arm, reward)
        if self._overturned or not self._is_planned(pending):
            self._make_plan()  # the plan did not reckon with it
            return
        self._told[arm] += 1
        self._left -= 1
        if not self._lacks_rewards():
            self._make_plan()

    @atomic
    def tell_totals(
        self,
        decision_ids: Collection[int],
        sums: Any,
        squares: Any = None,
        until: int | None = None,
    ) -> None:
        """Tell the results of several decisions at once: the sum of their rewards for each arm.

        How often each arm was pulled follows from the decisions. `squares` are as in `learn`. Which
        decisions are told together must not depend on their rewards. The test of the structure
        (`misfit`) counts them together, as soon as no decision before the last of them is out. If they
        are a part of a larger batch, say by `until` which is the last decision of that: the test then
        counts all parts together, once none of the batch is out, so which part comes first may depend on
        the rewards.
        """
        seen = self._checked(self._pulls_of(decision_ids), sums, squares)
        several = [self._find(each) for each in dict.fromkeys(decision_ids)]
        last = max((pending.id for pending in several), default=-1)
        end = last if until is None else self._checked_end(until, last)
        if not several:
            return
        within = True
        for pending in several:
            within = within and self._is_planned(pending)
            self._forget(pending)
            self._told[pending.arm] += self._is_planned(pending)
        self._take_in(seen)
        self._settle_together(end, seen)
        self._left = int(np.maximum(self._quota - self._told, 0).sum())
        if self._overturned or not within or not self._lacks_rewards():
            self._make_plan()

    @atomic
    def force(self, arm: int | str) -> Decision:
        """Return a decision for an arm that was chosen from outside, such as the arm of a control group.

        Its reward counts like all others. If the plan wants a pull of this arm, the decision is that
        pull.
        """
        chosen = index_of(arm, self._names, "arm")
        serves = self._in_plan == len(self._pending)
        wanted = serves and self._handed[chosen] < self._quota[chosen]
        return self._hand_out(chosen, PLAN if wanted else FORCED, None)

    @atomic
    def cancel(self, decision_id: int) -> None:
        """Take a decision back because its reward will not come; the plan asks for this pull again."""
        pending = self._find(decision_id)
        self._forget(pending)
        if self._is_planned(pending):
            self._handed[pending.arm] -= 1
        self._settle_waiting()
        closed = self._any_parked and not self._lacks_rewards()
        drawn = hasattr(getattr(self.policy, "inner", self.policy), "chances")  # a guard's policy
        if closed or self._overturned or drawn:
            self._make_plan()  # what was handed out tells of the draw: the next pull has its own

    @atomic
    def expire(self, older_than: int, reward: float | None) -> tuple[int, ...]:
        """Tell `reward` for all decisions that are out except the last `older_than` that were asked for.

        They are told in the order in which they were asked for, and their ids are returned. A reward of
        None cancels them. For example, if a click counts only within the next 1,000 decisions, call
        `agent.expire(1000, 0.0)` after each `ask`: it tells that there was no click.
        """
        kept = checked_count("older_than", older_than, least=0)
        if reward is not None:
            reward = checked_reward(reward, self._range)
        expired = self._pending.ids_before(self._next_id - kept)
        for decision_id in expired:
            if reward is None:
                self.cancel(decision_id)
            else:
                self.tell(decision_id, reward)
        return expired

    @atomic
    def park(self, arm: int | str) -> None:
        """Leave an arm, given by index or name, out of all plans until it is unparked.

        The plan is completed without it. The arm is not dropped: what is known of it is kept, and the
        first plan after it is unparked makes up for the pulls that it missed.
        """
        parked = index_of(arm, self._names, "arm")
        if self._parked.sum() == len(self._parked) - (not self._parked[parked]):
            raise ParameterError(f"arm={arm!r}: it is the last one that is not parked")
        if not self._parked[parked]:
            self._set_parked(parked, True)
            if not self._lacks_rewards():
                self._make_plan()

    @atomic
    def unpark(self, arm: int | str) -> None:
        """Let plans use a parked arm, given by index or name, again; the agent plans anew."""
        parked = index_of(arm, self._names, "arm")
        if self._parked[parked]:
            self._set_parked(parked, False)
            self._make_plan()

    @property
    def parked(self) -> tuple[int, ...]:
        """The arms that are parked."""
        return tuple(np.flatnonzero(self._parked).tolist())

    @overload
    def learn(self, pulls: Any, /) -> Learned: ...

    @overload
    def learn(self, pulls: Any, sums: Any, squares: Any = None) -> None: ...

    @atomic
    def learn(self, pulls: Any, sums: Any = None, squares: Any = None) -> Learned | None:
        """Take in the results of many pulls, such as logged data: pulls and sums of rewards per arm.

        `squares` are the sums of the squared rewards. They may be left out unless the policy uses
        them; for rewards of 0 and 1 they are the sums.

        The results count at once, also in the test of the structure (`misfit`). So which results are
        learned, and when, must not depend on their rewards. That is so for a log that is complete, and
        not for what has come so far while other rewards are out: give that to `take_over`.

        A single argument is a log: a data frame, or the path of a CSV file. It names the arms in a
        column `arm` and has either a `reward` in each row, or `pulls` and their `sum` (and, if they are
        known, their `squares`); rows of one arm add up. What was read is returned. A log with an unknown
        name, an empty cell or a reward outside the range is refused as a whole.
        """
        if sums is None:
            log = read_log(pulls, self._names, self._range)
            self.learn(log.pulls, log.sums, log.squares)
            return log.learned(self._names)
        seen = self._checked(pulls, sums, squares)
        if seen.pulls.any():
            self._take_in(seen)
            self._settle_many(seen)
            self._make_plan()
            self._warn_beyond_horizon("has the results of {} pulls")
        return None

    @atomic
    def take_over(self, pulls: Any, sums: Any, squares: Any = None, tested: Any = None) -> None:
        """Take in the results of another agent, which this one replaces.

        They count like those of `learn`, except in the test of the structure (`misfit`): what has come
        while other rewards are out is no fair sample of all. So the test begins anew, with the decisions
        of this agent. If nothing is out at the other agent and it has the same structure, its test goes
        on here with `tested=other.tested`.
        """
        seen = self._checked(pulls, sums, squares)
        counts = _no_results(len(self._quota))
        if tested is not None:
            pulled, total, squared = tested
            counts = checked_results(pulled, total, squared, len(self._quota), self._range)
        if (counts.pulls > seen.pulls).any():
            raise RewardError(f"tested: {counts.pulls} pulls, of {seen.pulls} that are taken over")
        if seen.pulls.any():
            self._take_in(seen)
            self._settle_many(counts)
            self._make_plan()
            self._warn_beyond_horizon("has the results of {} pulls")

    @property
    def plan(self) -> Ints:
        """How many rewards of each arm the plan still waits for, pending ones included.

        For parked arms only pending rewards count.
        """
        lacking = np.maximum(self._quota - self._told, 0)
        return np.where(self._parked, np.minimum(lacking, self._handed - self._told), lacking)

    @property
    def pending(self) -> tuple[Decision, ...]:
        """The decisions whose rewards are out."""
        return tuple(self._decision(each) for each in self._pending)

    @property
    def pulls(self) -> Ints:
        """How many rewards of each arm have been observed."""
        return self._seen.pulls.copy()

    @property
    def sums(self) -> Floats:
        """The sum of the rewards of each arm."""
        return self._seen.sums.copy()

    @property
    def squares(self) -> Floats:
        """The sum of the squared rewards of each arm, nan where it is not known."""
        return self._seen.squares.copy()

    @property
    def means(self) -> Floats:
        """The mean reward of each arm, nan where there was none."""
        pulls = self._seen.pulls
        return np.divide(self._seen.sums, pulls, out=np.full(len(pulls), math.nan), where=pulls > 0)

    @property
    def intervals(self) -> Floats:
        """The confidence interval of each arm's mean (arms × 2), cut to the range of rewards.

        For UCB, SUCB, UCBC, KLUCBC, TSC, SAE and ASAE these are the intervals by which they judge arms
        or models at this moment, with their own alpha, clock and kind of confidence. For all other
        policies they are intervals that contain all means at all times with probability 0.95: for K arms
        and T rewards of mean m, scaled to [0, 1], the means q with T d(m, q) < log(40 K sqrt(T)), d the
        divergence of coins; for Gaussian rewards those within sigma sqrt((1 + 1/T) (2 log(20 K) + log(T
        + 1)) / T) of m. An arm that was never pulled has the whole range.
        """
        return shown_intervals(open_box(self.policy, self._state, self._data), self._range)

    @property
    def fitting_models(self) -> Any:
        """The models whose means are strictly inside the `intervals` of all arms, before these are cut.

        For a table these are their names, for curves intervals of the parameter (whose ends may or may
        not fit), for polytopes the names of the pieces in which there are some, for a product such a
        tuple for each group. None if the policy has no structure.
        """
        structure = getattr(self.policy, "structure", None)
        if structure is None:
            return None
        return structure.models_in(open_box(self.policy, self._state, self._data))

    @property
    def likely_models(self) -> Any:
        """How likely the models are if one of them is right.

        For a table these are the posterior weights by name, the likeliest first. The prior is that of
        ModelTS, IDS or ISAE if the policy is one of these, else that of the structure, else
        equal weights (`temper` and `trust` are ignored). For curves it is the most likely model
        (`LikelyModel`), None before the first reward; for a product a tuple with the answer for each
        group. It is None for polytopes and for models with margins, where it is not computed, and for
        policies that forget. Of `ModelTS` with `switching` it is how likely each model is now.
        """
        policy: Any = self.policy
        if getattr(policy, "adapts", False):
            follows = hasattr(policy, "model_weights")
            return policy.model_weights(self._state) if follows else None
        structure = getattr(self.policy, "structure", None)
        prior = getattr(self.policy, "model_prior", None)
        return likely_models(structure, self._data, rewards_of(self.policy), prior)

    @property
    def active_arms(self) -> tuple[int, ...]:
        """The arms that are still in the race: the policy may still choose them."""
        if not hasattr(self.policy, "active_arms"):
            return tuple(range(len(self._quota)))
        arms: tuple[int, ...] = self.policy.active_arms(self._state, self._t)
        return arms

    @property
    def empty(self) -> int:
        """How often no model fitted the data, or none whose best arm was still in the race.

        More than 0 hints that the structure may be wrong, but proves nothing; `misfit` is the test.
        """
        return self._empty

    @property
    def unsolved(self) -> int:
        """How many programs no solver solved so far, while the agent decided and was told.

        Such a program is never an error: the policy goes on with a looser bound, or the best that was
        found, and the test of the structure sees no evidence in it.
        """
        return self._unsolved

    @property
    def misfit(self) -> Misfit | None:
        """How much the rewards speak against the structure of the policy.

        It contains an e-value, which you may look at as often as you like. Rewards are counted in the
        order in which their pulls were asked for, up to the oldest that is still out
        (docs/notes/mathematics.md 7). None if the policy has no structure, or one that is too large to
        be tested again and again.
        """
        return self._misfit_monitor.misfit()

    @property
    def certificate(self) -> Certificate | None:
        """Which arm is best, and how sure that is, at any time and for any policy.

        Rewards count as in `misfit`: in the order in which their pulls were asked for, up to the oldest
        that is still out. None if the policy declares neither a range of rewards nor a sigma, or if it
        expects the means to change: then which arm is best is true for a moment only.

        >>> import structured_bandits as sb
        >>> structure = sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]], arms=["tea", "coffee"])
        >>> agent = sb.Agent(sb.ModelTS(structure))
        >>> agent.learn(pulls=[8, 3], sums=[7, 1])
        >>> print(agent.certificate)
        If one of the models is right: 'tea' is best, with an error of at most 0.00021.
        By the rewards of the arms alone: 'tea' is best, but that is not certain yet.
        """
        return self._evidence.certificate(self._names)

    @property
    def settled_arm(self) -> SettledArm | None:
        """Which arm a policy that looks for certainty has found to be best, and after how many rewards.

        None before that, and for policies other than `Certain` and `BestArm`.
        """
        arm = self.policy.certain_arm(self._state) if hasattr(self.policy, "certain_arm") else -1
        if arm < 0:
            return None
        return SettledArm(arm, self._names[arm], moment_of(self.policy, self._state))

    @property
    def log_e_value(self) -> float:
        """The logarithm of the largest e-value so far (see `misfit`), 0 if there is none."""
        return float(self._misfit_monitor.watching.largest[0])

    @property
    def tested(self) -> Seen:
        """The results that count in the test of the structure: pulls, sums and squares of each arm."""
        pulls, sums, squares = self._settled
        return Seen(pulls.copy(), sums.copy(), squares.copy())

    @property
    def rewards(self) -> int:
        """How many rewards were observed."""
        return self._t

    @property
    def reward_range(self) -> tuple[float, float]:
        """The lowest and the highest reward that are accepted."""
        return self._range

    @property
    def pending_count(self) -> int:
        """How many rewards are out."""
        return len(self._pending)

    @property
    def waiting_count(self) -> int:
        """How many rewards the test of the structure does not count yet, since an older one is out."""
        return len(self._waiting)

    @property
    def oldest_out(self) -> int | None:
        """The lowest id of a decision whose reward is out, None if there is none."""
        return self._pending.oldest()

    def oldest_pending(self, before: int, most: int) -> list[int]:
        """Return the ids of the oldest decisions that are out and below `before`, at most `most`."""
        return self._pending.oldest_ids(before, most)

    def pending_arm(self, decision_id: int) -> int | None:
        """Return the arm of a decision whose reward is out, None if it is not."""
        pending = self._pending.find(decision_id)
        return None if pending is None else pending.arm

    @property
    def left_to_hand_out(self) -> int:
        """How many pulls of the plan have not been handed out; 0 if asking goes beyond the plan."""
        if self._in_plan != len(self._pending):
            return 0
        return int(np.where(self._parked, 0, np.maximum(self._quota - self._handed, 0)).sum())

    @atomic
    def extend_plan(self, most: int) -> None:
        """Let the plan hold all pulls that are certain whatever they pay, but at most `most`.

        For who hands out many pulls at once. The plan of a policy that chooses before each pull holds
        one, unless its choice is certain for longer; that of a policy that draws stays as it is. It is
        extended only if nothing of it was handed out and nothing else is out.
        """
        limit = checked_count("most", most)
        policy: Any = self.policy
        untouched = not len(self._pending) and not self._handed.any()
        if not untouched or not chooses(type(policy)) or getattr(policy, "randomised", False):
            return
        from structured_bandits.lookahead import plan_certain, resumed_work

        copy, quota = copied_state(policy, self._state), np.zeros_like(self._quota)
        work = resumed_work(policy, copy)
        if work is None:
            return
        plan_certain(policy, copy, Now(self._t, limit), quota, self._rng, work)
        if (quota >= self._quota).all():  # else it counts its choices, and chose another arm now
            self._quota[:] = quota
            self._left = int(quota.sum())

    @property
    def planned(self) -> Ints:
        """How many pulls of each arm the plan consists of."""
        return self._quota.copy()

    @property
    def out(self) -> Ints:
        """How many rewards of each arm are out."""
        return np.array(self._pending.counts, np.int64)

    @property
    def parked_arms(self) -> Flags:
        """A flag for each arm: is it parked?"""
        return self._parked

    @property
    def next_id(self) -> int:
        """The id of the next decision; that many have been handed out."""
        return self._next_id

    def chance(self, arm: int, available: Collection[int | str] | None = None) -> float | None:
        """The probability with which the next `ask` returns this arm.

        None where it is not known: see `Decision.propensity`. What is drawn from a plan is known only
        within the plan.
        """
        if hasattr(self.policy, "chances"):
            return self._chance_of_policy(arm, available)
        if self._certain is None or self._in_plan != len(self._pending):
            return None
        wanted = np.maximum(self._quota - self._handed, 0)
        wanted[~allowed_arms(available, self._names, self._parked)] = 0
        total = int(wanted.sum())
        return int(wanted[arm]) / total if total else None

    def _chance_of_policy(self, arm: int, available: Collection[int | str] | None) -> float | None:
        """Return the chance that the policy gives an arm in the next decision, if all are available."""
        if self._any_parked or available is not None:
            return None
        policy: Any = self.policy
        state, t = self._state, self._t
        if len(self._pending):
            state, t = look_ahead(policy, state, t, self._assumed(), self._parked)
        return float(policy.chances(state, Now(t, 1))[arm])

    @property
    def extra_decisions(self) -> int:
        """How many decisions went beyond their plan because rewards were out."""
        return self._extra

    @atomic
    def switch(self, policy: PolicyLike) -> None:
        """Go on with another policy for the same arms and rewards, which learns all that was seen.

        Decisions whose rewards are out stay so. Save the agent with `to_json` as usual; the policy to
        restore it with is then this one.
        """
        check_policy("policy", policy)
        arms = getattr(policy, "n_arms", None)
        if arms != len(self._quota) or getattr(policy, "in_order", False):
            raise ParameterError(
                f"policy={policy!r}: expected one for {len(self._quota)} arms, and none that counts "
                "rewards in the order of asking (Guarded, Certain)"
            )
        if getattr(policy, "needs_squares", False) and np.isnan(self._seen.squares).any():
            raise ParameterError(
                f"policy={policy!r}: it needs squared rewards, and some are unknown"
            )
        self.policy = policy
        self._in_order = False
        self._set_state(policy.init())
        observe(policy, self._state, self._seen)
        self._horizon = tuned_horizon(policy)
        self._set_evidence(EvidenceMonitor(policy, self._settled))
        self._evidence.look()
        self._make_plan()

    def to_json(self) -> str:
        """Return the agent as JSON with its pending decisions; of the structure only a hash is saved."""
        return to_snapshot(self)

    @classmethod
    def from_json(cls, text: str, policy: PolicyLike) -> Agent:
        """Restore an agent; `policy` must be the one it was saved with."""
        agent = cls.__new__(cls)
        agent._prepare(policy)
        from_snapshot(agent, text)
        agent._warned = agent._is_beyond()  # then it has warned before it was saved
        return agent

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what `to_json` returns into a file, completely or not at all."""
        write_whole(path, self.to_json() + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str], policy: PolicyLike) -> Agent:
        """Restore an agent from a file that `save` has written; `policy` must be the same."""
        text = read_snapshot(path)
        try:
            return cls.from_json(text, policy)
        except FileFormatError as error:
            raise FileFormatError(f"{path}: {error}") from None

    def describe(self) -> str:
        """Return in sentences and a table what was seen and what is known of arms and models.

        >>> import structured_bandits as sb
        >>> structure = sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]], arms=["tea", "coffee"])
        >>> agent = sb.Agent(sb.SUCB.paper(structure, alpha=0.5))
        >>> agent.learn(pulls=[40, 10], sums=[34, 2])
        >>> print(agent.describe())
        The agent plays SUCB(FiniteStructure(2 models × 2 arms, 2 arms best in some model), alpha=0.5,
        reward_range=(0.0, 1.0), sigma=0.5, confidence='hoeffding').
        It has seen 50 rewards and waits for no more.
        <BLANKLINE>
        arm     pulls  mean  interval     in the race
        ------  -----  ----  -----------  -----------
        tea     40     0.85  0.6283 to 1  yes
        coffee  10     0.2   0 to 0.6434  no
        <BLANKLINE>
        The intervals are those that the policy uses now, cut to the range of rewards; their width is
        given by sqrt(0.5 log t / T), where T is the number of pulls of the arm.
        1 of 2 models fits these intervals: '0'.
        If one of the models is right, the likeliest are '0' (over 99.9 %), '1' (below 0.1 %).
        Each time the policy decided, some model fitted the rewards.
        The rewards do not refute the structure (e-value 1, p-value 1 after 50 pulls).
        """
        return describe(self).text()

    def _repr_html_(self) -> str:
        return describe(self).html()

    def __repr__(self) -> str:
        return (
            f"Agent({self.policy!r}, pulls={self._seen.pulls.tolist()}, "
            f"pending={len(self._pending)}, empty={self._empty})"
        )

    def _decide(self, allowed: Flags | None) -> Decision:
        """Hand out the next arm among those allowed (all if None)."""
        chosen, reason, served = NOTHING_WANTED, PLAN, False
        if self._in_plan == len(self._pending):  # the plan reckons with all that is out
            chosen = self._next_of(self._quota, self._handed, allowed)
            if chosen.arm != NO_ARM and allowed is None:
                chance = chance_of(self.policy, self._state, self._t, chosen.arm)
                chosen = with_propensity(chosen, chance)
            served = chosen.arm != NO_ARM or self._wants_more()
        if not served:
            chosen, reason = self._next_ahead(allowed), EXTRA
        if chosen.arm == NO_ARM and allowed is not None:
            chosen, reason = Served(self._restricted(allowed), self._certain), RESTRICTED
        return self._hand_out(chosen.arm, reason, chosen.propensity)

    def _hand_out(self, arm: int, reason: int, propensity: float | None) -> Decision:
        """Note a decision as one whose reward is out."""
        pending = Pending(self._next_id, arm, self._plans, reason)
        self._next_id += 1
        self._pending.add(pending)
        if reason == PLAN:
            self._handed[arm] += 1
            self._in_plan += 1
        elif reason == EXTRA:
            self._extra += 1
        else:
            self._ahead = None  # it does not reckon with this decision
        self._warn_beyond_horizon("is asked for pull number {}")
        return self._decision(pending, propensity)

    def _is_beyond(self) -> bool:
        """Were more pulls made or asked for than the policy is tuned for?"""
        return self._horizon is not None and self._t + len(self._pending) > self._horizon

    def _warn_beyond_horizon(self, happening: str) -> None:
        """Warn, once, if the policy is played beyond its horizon now."""
        if self._horizon is None or self._warned or not self._is_beyond():
            return
        self._warned = True
        name = type(self.policy).__name__
        pulls = self._t + len(self._pending)
        warn_user(beyond_horizon(name, self._horizon, happening.format(pulls)), HorizonWarning)

    def _decision(self, pending: Pending, propensity: float | None = None) -> Decision:
        arm, reason = pending.arm, pending.reason
        name, extra = self._names[arm], reason == EXTRA
        return Decision(pending.id, arm, name, extra, REASONS[reason], propensity)

    @property
    def _certain(self) -> float | None:
        """The propensity of a decision that follows from what was seen; the policy's draws hide it."""
        drawn = self.order == "drawn" and not getattr(self.policy, "randomised", False)
        return 1.0 if drawn else None

    def _next_of(self, quota: Ints, handed: Ints, allowed: Flags | None) -> Served:
        """Return the next arm of a plan, in the order of this agent."""
        if self.order == "turn":
            return Served(next_pull(quota, handed, allowed), None)
        served = drawn_pull(quota, handed, allowed, self._rng)
        return served if self._certain else Served(served.arm, None)

    def _wants_more(self) -> bool:
        """Has the plan pulls that were not handed out? If nothing is out, it has."""
        if not len(self._pending):
            return True
        return next_pull(self._quota, self._handed, ~self._parked) != NO_ARM

    def _next_ahead(self, allowed: Flags | None) -> Served:
        """Return the next allowed arm beyond the plan, NO_ARM if none of its arms is allowed."""
        ahead = self._ahead
        chance = None
        if ahead is None or next_pull(*ahead, None) == NO_ARM:
            ahead, chance = plan_ahead(
                self.policy, self._state, self._t, self._assumed(), self._parked, self._rng
            )
        chosen = self._next_of(*ahead, allowed)
        if allowed is None:
            chosen = with_propensity(chosen, chance)
        if chosen.arm != NO_ARM:
            handed = ahead.handed.copy()
            handed[chosen.arm] += 1
            ahead = LookAhead(ahead.quota, handed)
        draws = getattr(self.policy, "randomised", False)  # then each decision is drawn by itself
        self._ahead = None if draws else ahead
        return chosen

    def _restricted(self, allowed: Flags) -> int:
        """Return the most promising of the allowed arms, of which no plan wants one."""
        return optimistic_arm(
            self.policy, self._state, self._t, self._seen, self._assumed(), allowed
        )

    def _assumed(self) -> Seen:
        return assumed_results(self._seen, self._pending.counts, self._range)

    @property
    def _data(self) -> Data:
        """What was seen; arms whose sums nobody knows count as not pulled."""
        return known_data(self._seen)

    def _make_plan(self) -> None:
        """Plan from what was learned."""
        self._ahead = None
        if hasattr(self.policy, "forget"):
            self.policy.forget(self._state)
        note_away(self._state, self._parked)
        now = Now(self._t, MOST_PULLS)
        if hasattr(self.policy, "expect"):
            expect(self.policy, self._state, np.array(self._pending.counts, np.int64))
        empty = plan(self.policy, self._state, now, self._quota, self._rng)
        check_plan("policy", empty, self._quota)
        self._empty += int(empty)
        self._plans += 1
        self._told[:] = 0
        self._handed[:] = 0
        self._in_plan = 0
        self._left = int(self._quota.sum())
        self._overturned = False

    def _is_planned(self, pending: Pending) -> bool:
        """Is this a decision of the current plan, and no extra or restricted one?"""
        return pending.plan == self._plans and pending.reason == PLAN

    def _lacks_rewards(self) -> bool:
        """Does the plan still wait for rewards? For those of parked arms only if they are out."""
        return self._left > 0 and (not self._any_parked or bool(self.plan.any()))

    def _set_parked(self, arm: int, parked: bool) -> None:
        self._parked[arm] = parked
        self._any_parked = bool(self._parked.any())
        self._ahead = None

    def _observe_one(self, arm: int, reward: float) -> None:
        """Hand a single reward to the policy; to one that chooses without a pass over the arms."""
        policy: Any = self.policy
        if self._in_order:
            self._hand_over(policy.hear, arm, reward)
        elif chooses(type(policy)):
            update(policy, self._state, Outcome(arm, 1, reward, reward * reward))
        else:
            self._hand_over(policy.observe, arm, reward)

    def _hand_over(self, take_in: Callable[[Any, Seen], Any], arm: int, reward: float) -> bool:
        """Hand a single reward to a method of the policy that takes those of all arms.

        Is the plan overturned by it? A guard's is when its alarm rings.
        """
        one = self._one
        one.pulls[arm], one.sums[arm], one.squares[arm] = 1, reward, reward * reward
        overturned = take_in(self._state, one)
        one.pulls[arm], one.sums[arm], one.squares[arm] = 0, 0.0, 0.0
        return bool(overturned)

    def check_results(self, pulls: Any, sums: Any, squares: Any = None) -> None:
        """Raise if `learn` would refuse these results."""
        self._checked(pulls, sums, squares)

    def check_totals(self, decision_ids: Collection[int], sums: Any, squares: Any = None) -> None:
        """Raise if `tell_totals` would refuse these results."""
        self._checked(self._pulls_of(decision_ids), sums, squares)

    def _pulls_of(self, decision_ids: Collection[int]) -> Ints:
        arms = [self._find(each).arm for each in dict.fromkeys(decision_ids)]
        return np.bincount(np.array(arms, np.int64), minlength=len(self._quota))

    def _checked(self, pulls: Any, sums: Any, squares: Any) -> Seen:
        """Return results of many pulls if they can be that, and if they are all that is needed."""
        if squares is None and getattr(self.policy, "family", None) == "bernoulli":
            squares = sums
        if squares is None and getattr(self.policy, "needs_squares", False):
            raise RewardError(
                f"squares=None: {type(self.policy).__name__} needs the sums of squared rewards"
            )
        seen = checked_results(pulls, sums, squares, len(self._quota), self._range)
        check_total(self._t, sum(map(int, seen.pulls)))
        return seen

    def _take_in(self, seen: Seen) -> None:
        """Learn the results of many pulls; settling them and planning are left to the caller."""
        policy: Any = self.policy
        if self._in_order:
            policy.hear(self._state, seen)
        else:
            observe(policy, self._state, seen)
        for total, part in zip(self._seen, seen, strict=True):
            np.add(total, part, out=total)
        self._t += sum(map(int, seen.pulls))

    def _settle_told(self, decision_id: int, arm: int, reward: float) -> None:
        """Settle a reward that was told, and those that waited for it; or let it wait itself."""
        oldest = self._pending.oldest()
        if oldest is None or oldest > decision_id:
            if not len(self._waiting):
                self._settle_next(arm, reward)
                return
            oldest = decision_id
        self._waiting.add(decision_id, arm, reward, oldest)
        self._settle_waiting()

    def _settle_together(self, last: int, seen: Seen) -> None:
        """Settle results that were told together in the place of their last decision, if it has come."""
        oldest = self._pending.oldest()
        if not len(self._waiting) and (oldest is None or oldest > last):
            self._settle_many(seen)
            return
        self._waiting.add_together(last, seen, last if oldest is None else min(oldest, last))
        self._settle_waiting()

    def _settle_waiting(self) -> None:
        """Settle what waits for no decision any more."""
        if len(self._waiting):
            for each in self._waiting.settled_before(self._pending.oldest()):
                if isinstance(each, Seen):
                    self._settle_many(each)
                else:
                    self._settle_next(*each)

    def _settle_next(self, arm: int, reward: float) -> None:
        """Take note of a result in asked order: no earlier decision is out."""
        if self._in_order:
            policy: Any = self.policy
            self._overturned |= self._hand_over(policy.settle, arm, reward)
        self._settled.squares[arm] += reward * reward
        self._misfit_monitor.settle(arm, reward)
        self._evidence.look()

    def _settle_many(self, seen: Seen) -> None:
        """Take note of results that count together."""
        if self._in_order:
            policy: Any = self.policy
            self._overturned |= bool(policy.settle(self._state, seen))
        np.add(self._settled.squares, seen.squares, out=self._settled.squares)
        self._misfit_monitor.settle_many(seen)
        self._evidence.look()

    def _forget(self, pending: Pending) -> None:
        """Take a decision from those that are out."""
        self._pending.remove(pending)
        self._ahead = None
        if self._is_planned(pending):
            self._in_plan -= 1

    def _checked_end(self, until: Any, last: int) -> int:
        """Return the last decision of a batch, of which `last` was told."""
        if not _is_whole(until) or not last <= until < self._next_id:
            raise DecisionError(
                f"until={until!r}: expected a decision from {max(last, 0)} to {self._next_id - 1}"
            )
        return int(until)

    def _find(self, decision_id: int) -> Pending:
        if isinstance(decision_id, Decision):
            raise DecisionError(f"got a whole decision; pass its id, {decision_id.id}")
        if _is_whole(decision_id) and 0 <= decision_id < self._next_id:
            pending = self._pending.find(int(decision_id))
            if pending is not None:
                return pending
            raise DecisionError(f"decision {decision_id} was already told or cancelled")
        raise DecisionError(f"decision {decision_id!r} is unknown: no ask() returned it")


def agent_generator(seed: int) -> np.random.Generator:
    """Return the generator of an agent: a stream that a world with the same seed does not have."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=SPAWN_KEY)))


def _is_whole(value: Any) -> bool:
    """Return whether this is a whole number, and no flag."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _no_results(arms: int) -> Seen:
    return Seen(np.zeros(arms, np.int64), np.zeros(arms), np.zeros(arms))
