"""Guarded: play a policy as long as its structure is not refuted, then one that needs none."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Ints
from structured_bandits.base.checks import checked_at_least, checked_probability
from structured_bandits.base.compilable import compilable
from structured_bandits.base.intervals import Intervals
from structured_bandits.base.round_robin import first_pulls
from structured_bandits.errors import ParameterError
from structured_bandits.inference.misfit.build import misfit_test
from structured_bandits.inference.misfit.e_value import (
    LookMemory,
    MisfitTest,
    Watching,
    check_watching,
    fresh_look_memory,
    fresh_watching,
    look_if_due,
    settle_pulls,
)
from structured_bandits.policies.base import ChoicePolicy, Policy, described
from structured_bandits.policies.klucb import KLUCB
from structured_bandits.policies.playing import (
    choose,
    chooses,
    expect,
    forget,
    observe,
    plan,
    plan_one,
    update,
)
from structured_bandits.policies.validation import check_policy
from structured_bandits.protocols import Choice, Now, Outcome, Seen

NOT_DUE = -1  # no arm has to be explored
NOT_RUNG = 0


class GuardState(NamedTuple):
    """What was seen, by whom, and whether the alarm has rung."""

    inner: Any  # the state of the policy that is guarded
    fallback: Any
    heard: Seen  # all results that came in
    watching: (
        Watching  # those that count for the e-value: in the order in which they were asked for
    )
    rung: Ints  # one number: the pulls after which the alarm rang, NOT_RUNG if it has not
    wanted: Ints  # the plan of the guarded policy, which may go beyond the next look
    told: Ints  # of that plan
    part: Ints  # what was planned last and has not come in
    look: LookMemory


class _Guarded(NamedTuple):
    inner: Any
    fallback: Any
    test: MisfitTest
    alarm: float  # log(1 / level)
    explore: float
    sigma: float
    bottom: float
    top: float


class Guarded(Policy, _Guarded):
    """Play `policy` until its structure is refuted at `level`, then `fallback`, with all data.

    The alarm rings when the e-value of the structure (`Agent.misfit`) reaches 1 / `level`. If the truth
    is in the structure, the probability that it ever rings is at most `level`, whatever the policy. The
    e-value is computed after each of the first 100 pulls, and then each time the number of pulls has
    grown by 1 %; plans end there. `fallback` is by default KL-UCB on all arms (for Gaussian rewards its
    Gaussian form), which needs no structure.

    Arms that are never pulled can hide that the structure is wrong. With `explore` = c > 0, every arm is
    pulled at least c log(t + 1) times until the alarm rings: if the arm with the fewest pulls has fewer,
    it is pulled before anything else. This costs regret in proportion to c log(t), and finds errors on
    such arms.

    >>> import structured_bandits as sb
    >>> types = sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]])
    >>> sb.Guarded(sb.ModelTS(types), level=0.001).fallback.width()
    'T d(m, q) <= log t'
    """

    takes_memory = True
    in_order = True
    learned = ("inner", "fallback", "heard", "watching", "rung", "wanted", "told", "part")

    level: float

    def __new__(
        cls,
        policy: Policy,
        fallback: Policy | None = None,
        level: float = 0.01,
        explore: float = 0.0,
    ) -> Guarded:
        """Check the parameters."""
        check_policy("policy", policy)
        structure = getattr(policy, "tested_structure", getattr(policy, "structure", None))
        if isinstance(policy, Guarded):
            raise ParameterError(f"policy={policy!r}: it is guarded already")
        for name, each in (("policy", policy), ("fallback", fallback)):
            if getattr(each, "in_order", False):
                raise ParameterError(
                    f"{name}={each!r}: it counts rewards in the order of asking, as a guard does, and "
                    "inside one it would not get that order"
                )
        if structure is None:
            raise ParameterError(
                f"policy={policy!r}: expected a policy with a structure that could be wrong, "
                "such as sb.ModelTS(structure); one that expects changes needs no guard"
            )
        chance = checked_probability("level", level)
        share = checked_at_least("explore", explore, 0.0)
        other = _checked_fallback(policy, fallback)
        test = misfit_test(structure, policy.bottom, policy.top, policy.sigma)
        if test is None:
            raise ParameterError(
                f"policy: {structure!r} cannot be watched by an e-value: it is too large, or of a kind "
                "that has none"
            )
        both_choose = chooses(type(policy)) and chooses(type(other))
        apart = (
            share > 0.0 and policy.randomised
        )  # explored arms come between waits that were drawn
        guarded: Guarded = _Guarded.__new__(
            GuardedChoices if both_choose and not apart else Guarded,
            policy,
            other,
            test,
            -math.log(chance),
            share,
            policy.sigma,
            policy.bottom,
            policy.top,
        )
        guarded.structure = structure
        guarded.level = chance
        return guarded

    @property
    def n_arms(self) -> int:  # type: ignore[override]
        """The number of arms."""
        return int(self.inner.n_arms)

    @property
    def inner_policies(self) -> tuple[Policy, ...]:
        """The policy that is guarded, and the fallback."""
        return self.inner, self.fallback

    @property
    def randomised(self) -> bool:  # type: ignore[override]
        """Does one of the two policies draw from `rng`?"""
        return bool(self.inner.randomised or self.fallback.randomised)

    @property
    def needs_squares(self) -> bool:  # type: ignore[override]
        """Does one of the two policies use squared rewards?"""
        return bool(self.inner.needs_squares or self.fallback.needs_squares)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters, those of the two policies included."""
        return {
            "policy": described(self.inner),
            "fallback": described(self.fallback),
            "level": self.level,
            "explore": self.explore,
        }

    def __repr__(self) -> str:
        return (
            f"Guarded({self.inner!r}, fallback={self.fallback!r}, level={self.level!r}, "
            f"explore={self.explore!r})"
        )

    def width(self) -> str:
        """Return the confidence radius of the guarded policy."""
        return str(self.inner.width())

    @property
    def model_prior(self) -> Any:
        """That of the guarded policy."""
        return self.inner.model_prior

    def widths_at(self, state: GuardState, t: int) -> Intervals | None:
        """Return the confidence intervals of the policy at work."""
        if state.rung[0] != NOT_RUNG:
            return self.fallback.widths_at(state.fallback, t)
        return self.inner.widths_at(state.inner, t)

    def active_arms(self, state: GuardState, t: int) -> tuple[int, ...]:
        """Return the arms that the policy at work may still play."""
        if state.rung[0] != NOT_RUNG:
            return tuple(self.fallback.active_arms(state.fallback, t))
        return tuple(self.inner.active_arms(state.inner, t))

    def init(self) -> GuardState:
        """Return a fresh state."""
        arms = len(self.test.grid.per_hit)
        return GuardState(
            self.inner.init(),
            self.fallback.init(),
            Seen(np.zeros(arms, np.int64), np.zeros(arms), np.zeros(arms)),
            fresh_watching(arms),
            np.zeros(1, np.int64),
            np.zeros(arms, np.int64),
            np.zeros(arms, np.int64),
            np.zeros(arms, np.int64),
            fresh_look_memory(self.test),
        )

    def restore(self, state: GuardState) -> None:
        """Make the scratch memory of both policies anew."""
        self.inner.restore(state.inner)
        self.fallback.restore(state.fallback)

    def expect(self, state: GuardState, pulls: Ints) -> None:
        """Tell both policies how many pulls of each arm have rewards that are out."""
        expect(self.inner, state.inner, pulls)
        expect(self.fallback, state.fallback, pulls)

    def forget(self, state: GuardState) -> None:
        """Clear scratch memory of both policies."""
        forget(self.inner, state.inner)
        forget(self.fallback, state.fallback)

    def check_learned(self, state: GuardState, t: int) -> None:
        """Raise a ValueError if no play of `t` pulls leads to such learned fields."""
        check_watching(state.watching)
        if int(state.heard.pulls.sum()) != t or not 0 <= state.rung[0] <= t:
            raise ValueError("the guard has heard another number of rewards")
        self.inner.check_learned(state.inner, t)
        self.fallback.check_learned(state.fallback, t)

    def plan(self, state: GuardState, now: Now, quota: Ints, rng: np.random.Generator) -> int:
        """Plan what the policy at work plans, up to the next look."""
        if state.rung[0] != NOT_RUNG:
            return plan(self.fallback, state.fallback, now, quota, rng)
        empty = 0
        due = due_arm(self.explore, state.heard.pulls, now.t)
        if due != NOT_DUE:
            quota[:] = 0
            quota[due] = 1
        else:
            limit = undisturbed(self, state, now)
            if not lacking(state.wanted, state.told):
                until = Now(now.t, limit, math.nan, math.nan)
                empty = plan(self.inner, state.inner, until, state.wanted, rng)
                state.told[:] = 0
            next_part(state.wanted, state.told, limit, quota)
        state.part[:] = quota
        return empty

    def observe(self, state: GuardState, seen: Seen) -> None:
        """Take in results that came in the order in which they were asked for."""
        take_in_results(self, state, seen)
        if state.rung[0] == NOT_RUNG:
            settle_results(self, state, seen)

    def hear(self, state: GuardState, seen: Seen) -> None:
        """Take in results as they come; for the e-value they count when they are settled."""
        take_in_results(self, state, seen)

    def moment(self, state: GuardState) -> int:
        """Return the pulls after which the alarm rang, NOT_RUNG if it has not."""
        return int(state.rung[0])

    def settle(self, state: GuardState, seen: Seen) -> bool:
        """Count results for the e-value, in the order in which they were asked for.

        Does the alarm ring now?
        """
        if state.rung[0] != NOT_RUNG:
            return False
        settle_results(self, state, seen)
        return bool(state.rung[0] != NOT_RUNG)


class GuardedChoices(Guarded, ChoicePolicy):
    """The guard of a policy that chooses before each pull, with a fallback that does, too."""

    former_names = ("GuardedStreaks",)

    def choose(self, state: GuardState, now: Now, rng: np.random.Generator) -> Choice:
        """Return an arm that has to be explored, else what the policy at work chooses."""
        if state.rung[0] != NOT_RUNG:
            return choose(self.fallback, state.fallback, now, rng)
        due = due_arm(self.explore, state.heard.pulls, now.t)
        if due != NOT_DUE:
            return Choice(due, 0)
        return choose(self.inner, state.inner, now, rng)

    def update(self, state: GuardState, outcome: Outcome) -> None:
        """Take in the results of some pulls of one arm, and look if it is time."""
        arm = outcome.arm
        state.heard.pulls[arm] += outcome.pulls
        state.heard.sums[arm] += outcome.total
        state.heard.squares[arm] += outcome.squares
        if state.rung[0] != NOT_RUNG:
            update(self.fallback, state.fallback, outcome)
            return
        update(self.inner, state.inner, outcome)
        settle_pulls(state.watching, arm, outcome.pulls, outcome.total)
        ring_if_due(self, state)

    def plan(self, state: GuardState, now: Now, quota: Ints, rng: np.random.Generator) -> int:
        """Plan one pull, of the arm that is chosen."""
        return plan_one(self, state, now, quota, rng)


def usual_fallback(policy: Any) -> KLUCB:
    """Return KL-UCB for the rewards of a policy, on all its arms: it needs no structure."""
    return KLUCB(policy.structure, reward_range=_range_of(policy), sigma=policy.sigma)


def _range_of(policy: Any) -> tuple[float, float] | None:
    return (policy.bottom, policy.top) if math.isfinite(policy.bottom) else None


def _checked_fallback(policy: Any, fallback: Any) -> Any:
    if fallback is None:
        return usual_fallback(policy)
    reward_range = _range_of(policy)
    check_policy("fallback", fallback)
    if not isinstance(fallback, Policy):
        raise ParameterError(
            f"fallback={fallback!r}: expected a policy of the library, such as sb.UCB(structure), or "
            "one that is built with its mixin Policy (docs/add-a-policy.md#joining-the-library)"
        )
    if fallback.n_arms != policy.n_arms:
        raise ParameterError(
            f"fallback={fallback!r}: it plays {fallback.n_arms} arms, the policy {policy.n_arms}"
        )
    if fallback.reward_range != reward_range:
        raise ParameterError(
            f"fallback={fallback!r}: its reward_range is {fallback.reward_range}, that of the policy "
            f"{reward_range}"
        )
    return fallback


@compilable
def due_arm(explore: float, pulls: Ints, t: int) -> int:
    """Return the arm that has to be explored after `t` pulls, NOT_DUE if none has."""
    if explore == 0.0:
        return NOT_DUE
    fewest = int(pulls.argmin())
    return fewest if pulls[fewest] < explore * math.log(t + 1) else NOT_DUE


@compilable
def undisturbed(guard: Any, state: GuardState, now: Now) -> int:
    """Return a number of pulls within which there is no look, and no arm has to be explored.

    At least 1. Arms have to be explored once explore * log(t + 1) exceeds the fewest pulls of an arm,
    which do not fall: t + 1 has to stay below exp(fewest / explore), with room for rounding.
    """
    limit = min(now.limit, state.watching.times[1] - state.watching.times[0])
    if guard.explore > 0.0:
        times = state.heard.pulls.min() / guard.explore
        if times < math.log(now.t + 1 + limit) + 1.0:
            limit = min(limit, int(math.exp(times) * (1.0 - 1e-9)) - now.t)
    return max(limit, 1)


@compilable
def lacking(wanted: Ints, told: Ints) -> bool:
    """Does a plan lack results?"""
    for arm in range(len(wanted)):
        if told[arm] < wanted[arm]:
            return True
    return False


@compilable
def next_part(wanted: Ints, told: Ints, limit: int, quota: Ints) -> None:
    """Write the next pulls of a plan, at most `limit`, so that all of it is played round robin.

    From the middle of a round the rest of that round comes first: one pull of each arm that has had
    the least. At its start any number of pulls is a plan of its own.
    """
    least = -1
    even = True
    for arm in range(len(wanted)):
        quota[arm] = max(wanted[arm] - told[arm], 0)
        if quota[arm] > 0 and (least < 0 or told[arm] < least):
            even = even and least < 0
            least = told[arm]
        elif quota[arm] > 0 and told[arm] > least:
            even = False
    if not even:
        for arm in range(len(wanted)):
            quota[arm] = 1 if quota[arm] > 0 and told[arm] == least else 0
    first_pulls(quota, limit, quota)


@compilable
def take_in_results(guard: Any, state: GuardState, seen: Seen) -> None:
    """Hand results to the policy at work, and note which part of its plan they are.

    Results that were not asked for by the last plan end the plan of the guarded policy. All arms at
    once, since a live agent does this for each reward.
    """
    np.add(state.heard.pulls, seen.pulls, state.heard.pulls)
    np.add(state.heard.sums, seen.sums, state.heard.sums)
    np.add(state.heard.squares, seen.squares, state.heard.squares)
    np.add(state.told, seen.pulls, state.told)
    np.subtract(state.part, seen.pulls, state.part)
    if state.part.min() < 0:
        state.wanted[:] = 0
    if state.rung[0] != NOT_RUNG:
        observe(guard.fallback, state.fallback, seen)
    else:
        observe(guard.inner, state.inner, seen)


@compilable
def settle_results(guard: Any, state: GuardState, seen: Seen) -> None:
    """Count results for the e-value; if the alarm rings, the fallback learns all that was heard."""
    for arm in range(len(seen.pulls)):
        if seen.pulls[arm] > 0:
            settle_pulls(state.watching, arm, seen.pulls[arm], seen.sums[arm])
    ring_if_due(guard, state)


@compilable
def ring_if_due(guard: Any, state: GuardState) -> None:
    """Look if it is time; if the structure is refuted, the fallback learns all that was heard."""
    if not look_if_due(guard.test, state.watching, state.look):
        return
    if state.watching.largest[0] >= guard.alarm:
        state.rung[0] = state.watching.times[0]
        observe(guard.fallback, state.fallback, state.heard)
