"""Certain: play a policy, and sample a little so that it becomes certain which arm is best."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.checks import checked_share
from structured_bandits.base.compilable import compilable
from structured_bandits.errors import ParameterError
from structured_bandits.inference.evidence import has_model_prior
from structured_bandits.policies.base import ChoicePolicy, Policy, described
from structured_bandits.policies.best_arm import UNDECIDED, BestArm, BestArmState
from structured_bandits.policies.playing import choose, chooses, expect, forget, observe, update
from structured_bandits.policies.validation import check_policy
from structured_bandits.protocols import Choice, Now, Outcome, Seen

NO_RNG: Any = None  # BestArm draws nothing


class CertainState(NamedTuple):
    """The state of the policy, and that of the test."""

    inner: Any
    test: BestArmState


class _Certain(NamedTuple):
    inner: Any
    test: BestArm
    share: float
    settles: bool
    sigma: float
    bottom: float
    top: float


class Certain(ChoicePolicy, _Certain):
    """Play `policy`, but in a share of the pulls what `BestArm` would, until the best arm is certain.

    Policies with little regret rarely pull the arms that would make them certain; the `share` (default
    0.1) is for that. Once one arm is best with an error of at most `level`, it is played to the end
    (`settles=False`: the policy goes on). The error holds however often one looks and for any policy, if
    one of the models of the structure is right. `Result.alarms` has the number of pulls after which a
    run was certain. Late rewards count in the order of asking, as in `Agent.certificate`, because how
    late they are may depend on what they are.

    `Certain(policy, share=0, settles=False)` changes nothing of the play and only notes when the
    policy's own pulls have made it certain (`simulate(..., stop=level)`).

    >>> import structured_bandits as sb
    >>> sb.Certain(sb.ModelTS(sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]])), level=0.01).share
    0.1
    """

    in_order = True
    learned = ("inner", "test")

    def __new__(
        cls,
        policy: Policy,
        share: float = 0.1,
        level: float = 0.05,
        epsilon: float = 0.0,
        settles: bool = True,
    ) -> Certain:
        """Check the parameters."""
        check_policy("policy", policy)
        structure = getattr(policy, "tested_structure", None)
        if structure is None:
            raise ParameterError(
                f"policy={policy!r}: expected a policy with a structure of which one model stays true, "
                "such as sb.ModelTS(table); only then it can be certain which arm is best"
            )
        if not chooses(type(policy)):
            raise ParameterError(f"policy={policy!r}: expected one that decides before each pull")
        if getattr(policy, "in_order", False):
            raise ParameterError(
                f"policy={policy!r}: expected one that is neither guarded nor Certain; both count "
                "rewards in the order of asking, and one inside the other would not get that order"
            )
        if not isinstance(settles, (bool, np.bool_)):
            raise ParameterError(f"settles={settles!r}: expected True or False")
        bounded = math.isfinite(policy.bottom)
        rewards = (policy.bottom, policy.top) if bounded else None
        sigma = None if bounded else policy.sigma
        prior = policy.model_prior if has_model_prior(structure) else None
        test = BestArm(structure, level, epsilon, rewards, sigma, prior)
        certain = super().__new__(
            cls,
            policy,
            test,
            checked_share("share", share, 0.0, 1.0),
            bool(settles),
            policy.sigma,
            policy.bottom,
            policy.top,
        )
        certain.structure = structure
        return certain

    @property
    def n_arms(self) -> int:  # type: ignore[override]
        """The number of arms."""
        return int(self.inner.n_arms)

    @property
    def inner_policies(self) -> tuple[Policy, ...]:
        """The policy, and what says when an arm is certain."""
        return self.inner, self.test

    @property
    def randomised(self) -> bool:  # type: ignore[override]
        """Whether it draws from `rng`, or the policy does."""
        return self.share > 0.0 or bool(self.inner.randomised)

    @property
    def needs_squares(self) -> bool:  # type: ignore[override]
        """Whether the policy uses squared rewards."""
        return bool(self.inner.needs_squares)

    @property
    def model_prior(self) -> Any:
        """That of the policy."""
        return self.inner.model_prior

    def parameters(self) -> dict[str, Any]:
        """Return the parameters, those of the policy included."""
        return {
            "policy": described(self.inner),
            "share": self.share,
            "level": self.test.level,
            "epsilon": self.test.epsilon,
            "settles": self.settles,
        }

    def __repr__(self) -> str:
        return (
            f"Certain({self.inner!r}, share={self.share!r}, level={self.test.level!r}, "
            f"epsilon={self.test.epsilon!r}, settles={self.settles!r})"
        )

    def width(self) -> str:
        """Return the confidence radius of the policy."""
        return str(self.inner.width())

    def active_arms(self, state: CertainState, t: int) -> tuple[int, ...]:
        """Return all arms, or the one that is certain."""
        if is_settled(self, state):
            return (int(state.test.decided[1]),)
        return tuple(range(self.n_arms))

    def init(self) -> CertainState:
        """Return a fresh state."""
        return CertainState(self.inner.init(), self.test.init())

    def restore(self, state: CertainState) -> None:
        """Make the scratch memory of the policy anew."""
        self.inner.restore(state.inner)

    def expect(self, state: CertainState, pulls: Ints) -> None:
        """Tell the policy how many pulls of each arm have rewards that are out."""
        expect(self.inner, state.inner, pulls)

    def forget(self, state: CertainState) -> None:
        """Clear scratch memory of the policy."""
        forget(self.inner, state.inner)

    def check_learned(self, state: CertainState, t: int) -> None:
        """Raise a ValueError if no play of `t` pulls leads to such learned fields."""
        self.inner.check_learned(state.inner, t)
        self.test.check_learned(state.test, t)

    def moment(self, state: CertainState) -> int:
        """Return the pulls after which it was certain, 0 if it is not."""
        return int(state.test.decided[0])

    def certain_arm(self, state: CertainState) -> int:
        """Return the arm of which it is certain that it is best, -1 if it is of none."""
        return self.test.certain_arm(state.test)

    def __getattr__(self, name: str) -> Any:
        """Say how likely arms are if the policy does: `chances` and `is_drawn`."""
        if name not in ("chances", "is_drawn"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        of_inner = getattr(self.inner, name)  # an AttributeError if it does not say so
        return partial(_chances if name == "chances" else _is_drawn, self, of_inner)

    def choose(self, state: CertainState, now: Now, rng: np.random.Generator) -> Choice:
        """Return the arm that is certain, else with some probability one that tells most."""
        arm = arm_of_test(self, state, now, rng)
        if arm >= 0:
            return Choice(arm, 0)
        return choose(self.inner, state.inner, now, rng)

    def update(self, state: CertainState, outcome: Outcome) -> None:
        """Let the policy and the test learn."""
        update(self.inner, state.inner, outcome)
        update(self.test, state.test, outcome)

    def observe(self, state: CertainState, seen: Seen) -> None:
        """Let both learn results that came in the order in which they were asked for."""
        observe(self.inner, state.inner, seen)
        observe(self.test, state.test, seen)

    def hear(self, state: CertainState, seen: Seen) -> None:
        """Let the policy learn results as they come; for the test they count when they are settled."""
        observe(self.inner, state.inner, seen)

    def settle(self, state: CertainState, seen: Seen) -> bool:
        """Count results in the test; whether one arm is certain is looked at before the next pull."""
        observe(self.test, state.test, seen)
        return False


def _is_drawn(policy: Certain, of_inner: Any, state: CertainState) -> bool:
    """Return whether the next choice depends on chance."""
    if is_settled(policy, state):
        return False
    looks = policy.share > 0.0 and state.test.decided[0] == UNDECIDED
    return looks or bool(of_inner(state.inner))


def _chances(policy: Certain, of_inner: Any, state: CertainState, now: Now) -> Floats:
    """Return the probability with which each arm is chosen."""
    arm = policy.test.choose(state.test, now, NO_RNG).arm
    share = 1.0 if is_settled(policy, state) else policy.share
    if state.test.decided[0] != UNDECIDED and not policy.settles:
        share = 0.0
    chances: Floats = (1.0 - share) * np.asarray(of_inner(state.inner, now))
    chances[arm] += share
    return chances


@compilable
def is_settled(policy: Any, state: CertainState) -> bool:
    """Return whether an arm is certain, and played to the end."""
    return bool(policy.settles and state.test.decided[0] != UNDECIDED)


@compilable
def arm_of_test(policy: Any, state: CertainState, now: Now, rng: np.random.Generator) -> int:
    """Return the arm that the test wants pulled, -1 if the policy is to choose.

    Whether one arm is certain now is looked at before each pull until it is.
    """
    if state.test.decided[0] != UNDECIDED:
        return int(state.test.decided[1]) if policy.settles else -1
    arm = choose(policy.test, state.test, now, rng).arm
    if state.test.decided[0] != UNDECIDED:
        return int(state.test.decided[1]) if policy.settles else -1
    if policy.share > 0.0 and rng.uniform(0.0, 1.0) < policy.share:
        return int(arm)
    return -1
