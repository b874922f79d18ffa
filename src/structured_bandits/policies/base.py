"""What a policy is, and what all of ours have in common.

A policy is a named tuple of parameters. Most decide before each pull (`ChoicePolicy`):

- `init()` returns a fresh state, a named tuple of arrays that hold what was learned;
- `choose(state, now, rng)` returns the arm of the next pull, after now.t pulls so far, and whether no
  model fitted the data;
- `update(state, outcome)` takes in the results of some pulls of one arm.

A policy whose own definition is a phase of several arms, such as SAE, has two other methods instead:

- `plan(state, now, quota, rng)` writes into `quota` how often each arm is pulled next, played in
  round-robin order, and returns the number of empty confidence sets it met. If rewards matter before
  the plan's end, it plans no further than now.limit;
- `observe(state, seen)` takes in the pulls of each arm and the sums of their rewards.

For how many pulls a choice is certain whatever they pay is no part of a policy: the package `lookahead`
knows that of many, which makes simulations fast and changes no arm.

What the engine and the agent must know of a policy besides, it says by class attributes (`Policy`).
Everything else here (checks, representation) is plain Python and never compiled.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeVar

import numpy as np

from structured_bandits.base.arrays import Ints
from structured_bandits.base.checks import (
    LARGEST,
    SMALLEST,
    checked_above,
    checked_count,
    checked_range,
    checked_word,
    parameters_of,
)
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data, fresh_data, width_budget
from structured_bandits.base.intervals import Hoeffding, Intervals, KLIntervals
from structured_bandits.base.records import Record
from structured_bandits.errors import ParameterError
from structured_bandits.inference.likelihood_sets import LikelihoodSets, table_sets
from structured_bandits.inference.priors import believed_prior, checked_prior
from structured_bandits.inference.product_sets import sets_of
from structured_bandits.policies.playing import add_outcome, plan_one, update_each
from structured_bandits.policies.validation import refusal
from structured_bandits.protocols import Now, Outcome, Seen
from structured_bandits.structures.base import Structure, counting
from structured_bandits.structures.questions import candidate_arms
from structured_bandits.structures.reward_ranges import UNIT, Range, Rewards

#: The range of rewards that a policy is given: a pair (low, high), None for rewards without bounds, or
#: "structure", the default, for the one that its structure declares, (0, 1) if it says nothing.
GivenRange = Range | Literal["structure"] | None


class Policy(Record):
    """Mixin of the library's policies; `structure` is the one that they were built for, or None.

    The class attributes are what the engine, the agent and the command need to know:

    - `chooses`: it is played by `choose` and `update` instead of `plan` and `observe`. A class that
      overrides `plan` or `observe` but not `choose` is played by these, unless it sets `chooses` itself;
    - `compiles`: its methods can be compiled;
    - `takes_memory`: what is compiled of it makes arrays (or calls NumPy functions that do), so the
      engine has to count references, which makes short plans slower (docs/notes/decisions.md);
    - `randomised`: it draws from `rng`, so equal rewards may give different play;
    - `in_order`: results matter in the order in which they were asked for. A live agent, whose rewards
      may come late, calls `hear(state, seen)` when they come and `settle(state, seen)` in that order,
      instead of `observe`; `settle` returns whether the agent must plan anew;
    - `needs_squares`: it uses sums of squared rewards, so they must be known;
    - `asks`: the questions that it asks of a structure's cells (structures/questions.py);
    - `learned`: the fields of its state that hold what it has learned; a snapshot saves them. The other
      fields are scratch memory, which `restore` makes anew;
    - `absent_parameters`: what it means if a snapshot of an earlier version lacks a parameter;
    - `former_defaults`: what it means if a file names no value of a parameter whose default has changed;
    - `shown_as`: the class whose constructor makes it, if that is another.
    """

    chooses: ClassVar[bool] = False
    compiles: ClassVar[bool] = True
    takes_memory: ClassVar[bool] = False
    randomised: ClassVar[bool] = False
    in_order: ClassVar[bool] = False
    needs_squares: ClassVar[bool] = False
    asks: ClassVar[tuple[str, ...]] = ()
    learned: ClassVar[tuple[str, ...]] = ("data",)
    absent_parameters: ClassVar[dict[str, Any]] = {}
    former_defaults: ClassVar[dict[str, Any]] = {}
    shown_as: ClassVar[str | None] = None

    structure: Structure | None = None
    n_arms: int
    sigma: float
    bottom: float  # the range of rewards
    top: float

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        own = vars(cls)
        if "chooses" not in own and ("choose" in own or "plan" in own or "observe" in own):
            cls.chooses = "choose" in own

    @classmethod
    def parameter_names(cls) -> tuple[str, ...]:
        """Return the names of the parameters besides the structure, as the constructor has them."""
        _, _, *names = parameters_of(cls.__new__)
        return tuple(names)

    @property
    def adapts(self) -> bool:
        """Whether it expects means to change; such a policy makes no certificate."""
        return False

    @property
    def inner_policies(self) -> tuple[Policy, ...]:
        """The policies that it plays, if it is one around others."""
        return ()

    @property
    def idle_parameters(self) -> tuple[str, ...]:
        """Parameters that do not count as the policy is built, and are not named."""
        return ()

    @property
    def tested_structure(self) -> Structure | None:
        """The structure that rewards may refute; None if there is none, or the true model may change."""
        return None if self.adapts else self.structure

    def observe(self, state: Any, seen: Seen) -> None:
        """Add the pulls and the sums of their rewards.

        At once, since a live agent does this for each reward.
        """
        np.add(state.data.pulls, seen.pulls, state.data.pulls)
        np.add(state.data.sums, seen.sums, state.data.sums)

    def restore(self, state: Any) -> None:
        """Make the scratch memory of a state whose learned fields were read from a snapshot."""

    def forget(self, state: Any) -> None:
        """Clear scratch memory that could decide the next plan (live agents do)."""

    def check_learned(self, state: Any, t: int) -> None:
        """Raise a ValueError if no play of `t` pulls leads to such learned fields."""

    @property
    def arm_names(self) -> tuple[str, ...]:
        """The names of the arms."""
        if self.structure is not None:
            return self.structure.arm_names
        return counting(self.n_arms)

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """The range of rewards, declared by the policy or its structure; None if they are unbounded."""
        return (self.bottom, self.top) if math.isfinite(self.bottom) else None

    @property
    def family(self) -> str:
        """The family of rewards that the policy is made for: any in a range, or Gaussian ones."""
        return "bounded" if math.isfinite(self.bottom) else "gaussian"

    @property
    def model_prior(self) -> Any:
        """The weights that it gives to models before the first pull; None if it gives none."""
        return None

    def active_arms(self, state: Any, t: int) -> tuple[int, ...]:
        """Return the arms that the policy may still choose after `t` pulls."""
        return tuple(range(self.n_arms))

    def width(self) -> str:
        """Return the confidence interval in words, for tables."""
        return "none"

    def widths_at(self, state: Any, t: int) -> Intervals | None:
        """Return the confidence intervals that the policy uses after `t` pulls, None if it uses none."""
        return None

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and self.structure == other.structure  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return super().__hash__()

    def __repr__(self) -> str:
        subject = repr(self.structure) if self.structure is not None else f"{self.n_arms} arms"
        shown = [f"{name}={value!r}" for name, value in self.parameters().items()]
        return f"{self.shown_as or type(self).__name__}({', '.join([subject, *shown])})"

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as plain values, for results and snapshots."""
        idle = self.idle_parameters
        names = (name for name in self.parameter_names() if name not in idle)
        return {name: _plain(getattr(self, name)) for name in names}


def described(policy: Policy) -> dict[str, Any]:
    """Return the kind and the parameters of a policy, for the parameters of one around it."""
    return {"kind": type(policy).__name__, **policy.parameters()}


class State(NamedTuple):
    """What most policies learn: pulls and sums of rewards of each arm."""

    data: Data


@compilable
def fresh_state(n_arms: int) -> State:
    """Return what a policy has learned before the first pull: no pulls, no rewards."""
    return State(fresh_data(n_arms))


class ChoicePolicy(Policy):
    """Mixin of the policies that choose one arm before each pull, by their method `choose`.

    `plan` and `observe`, which speak of all arms, follow from `choose` and `update`.
    """

    chooses = True

    def init(self) -> Any:
        """Return a fresh state: no arm was pulled."""
        return fresh_state(self.n_arms)

    def update(self, state: Any, outcome: Outcome) -> None:
        """Add the pulls and the sum of their rewards."""
        add_outcome(self, state, outcome)

    def plan(self, state: Any, now: Now, quota: Ints, rng: np.random.Generator) -> int:
        """Plan one pull, of the arm that is chosen."""
        return plan_one(self, state, now, quota, rng)

    def observe(self, state: Any, seen: Seen) -> None:
        """Take in the pulls and the sums of their rewards, arm by arm."""
        update_each(self, state, seen)


class StructuredPolicy(Policy):
    """Mixin of the policies that need a structure; the others have `n_arms` as a parameter."""

    structure: Structure

    @property
    def n_arms(self) -> int:  # type: ignore[override]
        """The number of arms."""
        return self.structure.n_arms


class ConfidenceSetPolicy(Policy):
    """Mixin of the policies with confidence intervals of a chosen kind: `alpha` and `confidence`.

    A subclass has the fields `widths` (intervals of a budget of 0, or likelihood sets), `alpha`,
    `sigma`, `bottom` and `top`, and `clock`, the word for what the logarithm is taken of.
    """

    absent_parameters: ClassVar[dict[str, Any]] = {"confidence": "hoeffding"}
    clock: ClassVar[str] = "t"

    widths: Any
    alpha: float
    confidence: str

    def width(self) -> str:
        """Return the confidence interval in words, for tables."""
        if isinstance(self.widths, LikelihoodSets):
            return f"log N - L < {self.alpha:g} log {self.clock}"
        if isinstance(self.widths, KLIntervals):
            return f"kl < {2.0 * self.alpha:g} log {self.clock} / T"
        return f"sqrt({width_budget(self.alpha, self.sigma, 1.0):g} log {self.clock} / T)"

    def widths_at(self, state: Any, t: int) -> Intervals | None:
        """Return the intervals of the next pull; None of likelihood sets, which have none."""
        if isinstance(self.widths, LikelihoodSets):
            return None
        return widths_of(self, math.log(t + 1))


#: The confidence sets of the paper's experiments.
PAPER = {"alpha": 2.0, "confidence": "hoeffding"}
#: alpha of the users' defaults: with KL intervals the smallest one for which log t regret is known.
USERS_ALPHA = 0.5


class PaperPolicy(ConfidenceSetPolicy, StructuredPolicy):
    """Mixin of the paper's algorithms: the defaults are for users, `paper` returns the paper's rule."""

    former_defaults: ClassVar[dict[str, Any]] = PAPER

    @classmethod
    def paper(cls, structure: Structure, *horizon: int, **parameters: Any) -> Self:
        """Return the policy of the paper's experiments: alpha=2 and Hoeffding radii, unless given.

        >>> import structured_bandits as sb
        >>> sb.SUCB.paper(sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]])).width()
        'sqrt(2 log t / T)'
        """
        kind: Any = cls  # each has a constructor of its own
        policy: Self = kind(structure, *horizon, **{**PAPER, **parameters})
        return policy


Kind = TypeVar("Kind", bound=type[Policy])
POLICIES: dict[str, type[Policy]] = {}


def registered(kind: Kind) -> Kind:
    """Note a class of policies, so that experiment files and commands know it by its name.

    They are kept in the order of the alphabet, whatever is imported first.
    """
    known: dict[str, type[Policy]] = {**POLICIES, kind.__name__: kind}
    POLICIES.clear()
    POLICIES.update(sorted(known.items(), key=lambda each: each[0].casefold()))
    return kind


def checked_rewards(
    reward_range: GivenRange, sigma: float | None, structure: Any = None
) -> Rewards:
    """Return scale and range; sigma defaults to half the range's width (Hoeffding).

    The range "structure" is that of the structure, if one is given, else (0, 1).
    """
    bottom, top = -math.inf, math.inf
    if reward_range is None:
        if sigma is None:
            raise ParameterError("sigma=None: unbounded rewards (reward_range=None) need a sigma")
    elif isinstance(reward_range, str) and reward_range == "structure":
        bottom, top = structure.range_of_rewards if isinstance(structure, Structure) else UNIT
    else:
        bottom, top = checked_range("reward_range", reward_range, " or None")
    scale = (top - bottom) / 2.0 if sigma is None else checked_scale("sigma", sigma)
    return Rewards(scale, bottom, top)


class ConfidenceSets(NamedTuple):
    """The checked parameters of a policy's confidence sets."""

    confidence: str
    widths: Any  # intervals of a budget of 0, or likelihood sets
    alpha: float
    rewards: Rewards


def checked_sets(
    structure: Any,
    alpha: float | None,
    reward_range: GivenRange,
    sigma: float | None,
    confidence: str | None,
    likelihood_alpha: float | None = None,
) -> ConfidenceSets:
    """Return the confidence sets that a policy is given.

    confidence=None stands for likelihood sets on tables, if the policy has an alpha for them, else for
    KL intervals; if a sigma is given, which both have not for rewards in a range, for Hoeffding radii.
    alpha=None stands for that of the users' defaults.
    """
    rewards = checked_rewards(reward_range, sigma, structure)
    bounded = math.isfinite(rewards.bottom)
    if confidence is None:
        listed = likelihood_alpha is not None and hasattr(structure, "model_lines")
        sharp = "likelihood" if listed else "kl"
        confidence = "hoeffding" if bounded and sigma is not None else sharp
    if confidence == "likelihood" and likelihood_alpha is not None:
        usual = likelihood_alpha
        widths: Any = checked_likelihood_sets(structure, rewards)
    else:
        usual = USERS_ALPHA
        widths = checked_widths(confidence, rewards, likelihood_alpha is not None)
    scale = checked_scale("alpha", usual if alpha is None else alpha)
    return ConfidenceSets(confidence, widths, scale, rewards)


def checked_likelihood_sets(structure: Any, rewards: Rewards, prior: Any = None) -> LikelihoodSets:
    """Return the likelihood sets of a table, a curve or a product of these."""
    groups = getattr(structure, "model_lines", None)
    table: Any = getattr(getattr(structure, "cells", None), "table", None)
    if not isinstance(structure, Structure) or (groups is None and table is None):
        raise ParameterError(
            "confidence='likelihood': needs a table of models, a curve or a product of these, not "
            f"structure={structure!r}; take 'kl'"
        )
    if math.isfinite(rewards.bottom) and rewards.sigma != (rewards.top - rewards.bottom) / 2.0:
        raise ParameterError(
            f"confidence='likelihood', sigma={rewards.sigma:g}: the likelihood of rewards in a range "
            "has no sigma; leave sigma out"
        )
    prior = believed_prior(prior, structure)
    if groups is None:  # a kind of one's own, whose cells are those of a table
        return table_sets(table, checked_prior(prior, len(table)), rewards)
    return sets_of(groups, prior, rewards)


def checked_widths(
    confidence: Any, rewards: Rewards, likelihood: bool = False
) -> Hoeffding | KLIntervals:
    """Return the kind of confidence intervals that a policy uses, with a budget of 0.

    `confidence` is "hoeffding" or "kl". Of Gaussian rewards the two are the same.
    """
    accepted = ("hoeffding", "kl", "likelihood") if likelihood else ("hoeffding", "kl")
    checked_word("confidence", confidence, accepted)
    if confidence == "hoeffding" or not math.isfinite(rewards.bottom):
        return Hoeffding(0.0)
    width = rewards.top - rewards.bottom
    if rewards.sigma != width / 2.0:
        raise ParameterError(
            f"confidence='kl', sigma={rewards.sigma:g}: KL intervals follow from the range of the "
            "rewards alone and have no sigma of their own; leave sigma out, or take "
            "confidence='hoeffding'"
        )
    return KLIntervals(0.0, rewards.bottom, width)


def widths_of(policy: Any, log_clock: float) -> Intervals:
    """Return the intervals of a policy with `widths` and `alpha` when its clock has this logarithm."""
    level: Intervals = policy.widths.at(width_budget(policy.alpha, policy.sigma, log_clock))
    return level


def checked_scale(name: str, value: Any) -> float:
    """Return a positive number whose square is neither 0 nor infinite."""
    scale = checked_above(name, value, 0.0)
    if not SMALLEST <= scale <= LARGEST:
        raise ParameterError(f"{name}={value!r}: expected {SMALLEST:g} to {LARGEST:g}")
    return scale


def checked_cells(kind: type[Policy], structure: Any, name: str = "cells") -> Any:
    """Return the cells of a structure that can answer what policies of this kind ask."""
    return getattr(checked_structure(kind, structure), name)


def checked_structure(kind: type[Policy], structure: Any) -> Structure:
    """Return a structure that can answer what policies of this kind ask."""
    if not isinstance(structure, Structure):
        raise ParameterError(f"structure={structure!r}: expected a structure")
    for question in kind.asks:
        if not _answers(structure, question):
            raise cannot_play(kind.__name__, structure, question)
    return structure


def cannot_play(policy: str, structure: Structure, question: str) -> ParameterError:
    """Return the error that a policy asks a question which the structure cannot answer."""
    return ParameterError(
        refusal(policy, structure, question, lambda name: answers(structure, POLICIES[name]))
    )


def answers(structure: Structure, kind: type[Policy]) -> bool:
    """Can this structure answer what policies of this kind ask?"""
    return all(_answers(structure, question) for question in kind.asks)


def _answers(structure: Structure, question: str) -> bool:
    """Can the structure, or one of the kinds of cells that it has, answer a question?

    The cells for fitting are asked last: some structures have none, and say so by an error.
    """
    if hasattr(structure, question) or hasattr(structure.cells, question):
        return True
    return hasattr(structure.fitting_cells, question)


def structure_and_arms(structure_or_n_arms: Any) -> tuple[Structure | None, int]:
    """Return the structure, if one is given, and the number of arms."""
    if isinstance(structure_or_n_arms, Structure):
        return structure_or_n_arms, structure_or_n_arms.n_arms
    return None, checked_count("n_arms", structure_or_n_arms)


def playable_arms(structure: Structure | None, n_arms: int, arms: Any) -> Ints:
    """Return the arms that a policy without a use for models plays, rising.

    `arms` is "all", or "candidates" for those that are best in some model of the structure.
    """
    if checked_word("arms", arms, ("all", "candidates")) == "all":
        return np.arange(n_arms)
    if structure is None:
        raise ParameterError(
            "arms='candidates': only a structure says which arms can be best; give a structure "
            "instead of the number of arms, or take arms='all'"
        )
    return np.flatnonzero(candidate_arms(structure.cells))


def flagged(flags: Any) -> tuple[int, ...]:
    """Return the indices of the flags that are set."""
    return tuple(int(index) for index in np.flatnonzero(flags))


def _plain(value: Any) -> Any:
    """Return a value of which JSON gives back an equal one: arrays as lists."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return value
