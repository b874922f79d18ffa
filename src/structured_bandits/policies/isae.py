"""ISAE: test other arms only while being wrong for as long again would cost more than finding out."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.checks import checked_above, checked_at_least, checked_word
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data, fresh_data
from structured_bandits.errors import ParameterError
from structured_bandits.inference.priors import (
    believed_prior,
    checked_prior,
    line_weights,
    plain_prior,
)
from structured_bandits.policies.base import (
    ChoicePolicy,
    GivenRange,
    StructuredPolicy,
    checked_cells,
    checked_rewards,
    registered,
)
from structured_bandits.policies.curve_rivals import curve_models
from structured_bandits.policies.rivals import (
    Expectations,
    cheapest_arm,
    counted,
    fresh_belief,
    leave_out,
    models_in,
    models_of,
    regret_per_nat,
    rivals_of,
    telling_arm,
    write_posterior,
    write_regret,
)
from structured_bandits.protocols import Choice, Now
from structured_bandits.structures.base import Structure
from structured_bandits.structures.reward_ranges import Rewards

FAINT = 1e-9  # rivals that are all below this weight are not tested
RULES = ("value", "threshold")
LEADERS = ("auto", "drawn", "likeliest")


class Rule(NamedTuple):
    """The numbers of a rule."""

    by_value: bool
    kappa: float
    t0: float
    c: float
    f: float


class ISAEState(NamedTuple):
    """What was learned, and how many pulls of each arm have rewards that are out."""

    data: Data
    pending: Ints


class LeadingModel(NamedTuple):
    """The leading model and the arm that is pulled for it."""

    leader: int
    arm: int
    tests: bool  # is it a test of the rivals?
    cheap: bool  # are these too light to be tested?


class _ISAE(NamedTuple):
    models: Any  # of a table, `ModelTable`, or of a curve, `CurveModels`
    numbers: Rule
    draws: int  # which of LEADERS
    sigma: float
    bottom: float
    top: float


@registered
class ISAE(StructuredPolicy, ChoicePolicy, _ISAE):
    """Play the best arm of the likeliest model, and test its rivals only where a test pays.

    Models have weights w, prior times likelihood. The heaviest model is the *leader* h, b its best arm;
    its *rivals* are the models in which another arm is better than b. A pull of arm k is expected to
    cost regret_k = sum over models of w (best mean - mean of k), and to tell info_k = sum over rivals of
    w d(h_k, rival_k) in nats, where d is the divergence of the rewards. Let a be the arm with the
    largest info_k / (regret_k + f min regret). With rule="value", a is pulled unless

        (t + t0) stay < kappa nat,   stay = sum over rivals of w (best mean - mean of b),
                                     nat = min over k != b of regret_k (sum over rivals of w) / info_k:

    if b were wrong, t + t0 further pulls of it would be expected to lose less than what a nat of
    evidence against the rivals costs. Then b is pulled, as it is if a = b, or if no rival has a
    weight above 1e-9. With rule="threshold" only the models count with log(sum of prior times
    likelihood) - log-likelihood < c log(t + 1), and a is pulled as long as the leader has rivals
    among them; for this rule there is a regret bound (docs/notes/mathematics.md 2.22).

    - `prior`: a weight for each model; by default those of the structure, or equal ones;
    - `kappa`, `t0`: of the value rule, by default 0.3 and 100;
    - `c`: of the threshold rule, by default 1, the least with a logarithmic bound on every table;
    - `f`: how much of the least possible regret is added to that of each arm before information is
      divided by it; by default 1 for the value rule, 0.2 for the threshold rule;
    - `leader`: against whose rivals is tested: "likeliest", the heaviest model; "drawn", a model drawn
      from the weights; "auto" (default), drawn while rewards are out, else likeliest. Whether to test is
      decided for the likeliest model.

    On a curve the sums are integrals, by Gauss and Legendre on both sides of the likeliest model of each
    line (right to about 1e-9): the leader is the likeliest model of all, a drawn one is drawn from the
    places of that rule, and rivals are not tested if all together have a weight of at most 1e-9.

    While rewards are out, their pulls count as if they had paid the mean of the leader (`expect`), and
    an agent's decisions have a propensity (`chances`).

    >>> from structured_bandits import FiniteStructure
    >>> ISAE(FiniteStructure([[0.8, 0.3], [0.2, 0.7]])).parameters()["rule"]
    'value'
    """

    asks = ("weighed_models",)
    randomised = True

    rule: str
    prior: Any
    kappa: float | None
    t0: float | None
    c: float | None
    f: float
    leader: str

    def __new__(
        cls,
        structure: Structure,
        rule: str = "value",
        prior: Any = None,
        kappa: float | None = None,
        t0: float | None = None,
        c: float | None = None,
        f: float | None = None,
        leader: str = "auto",
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
    ) -> ISAE:
        """Check the parameters."""
        cells = checked_cells(cls, structure)
        prior = believed_prior(prior, structure)
        rewards = checked_rewards(reward_range, sigma, structure)
        checked_word("leader", leader, LEADERS)
        numbers = checked_rule(rule, kappa, t0, c, f)
        models = known_models(structure, cells, prior, rewards)
        policy = super().__new__(cls, models, numbers, LEADERS.index(leader), *rewards)
        policy.structure = structure
        policy.rule, policy.leader, policy.f = rule, leader, numbers.f
        policy.prior = plain_prior(prior)
        policy.kappa, policy.t0 = (numbers.kappa, numbers.t0) if numbers.by_value else (None, None)
        policy.c = None if numbers.by_value else numbers.c
        return policy

    @property
    def model_prior(self) -> Any:
        """The prior."""
        return self.prior

    def init(self) -> ISAEState:
        """Return a fresh state."""
        arms = self.models.arm_count()
        return ISAEState(fresh_data(arms), np.zeros(arms, np.int64))

    def expect(self, state: ISAEState, pulls: Ints) -> None:
        """Note how many pulls of each arm have rewards that are out."""
        for arm in range(len(pulls)):
            state.pending[arm] = pulls[arm]

    def choose(self, state: ISAEState, now: Now, rng: np.random.Generator) -> Choice:
        """Pull the leader's best arm, or test its rivals."""
        belief = fresh_belief(self.models)
        lead = judge(self, state, now.t, belief)
        return Choice(pulled_arm(self, state, lead, belief, rng), 0)

    def is_drawn(self, state: ISAEState) -> bool:
        """Does the next choice depend on chance? Otherwise its arm has the chance 1."""
        return bool(leader_is_drawn(self, state))

    def chances(self, state: ISAEState, now: Now) -> Floats:
        """Return the probability with which each arm is chosen."""
        belief = fresh_belief(self.models)
        lead = judge(self, state, now.t, belief)
        chances = np.zeros(self.n_arms)
        if lead.tests and leader_is_drawn(self, state):
            least = self.numbers.f * belief.regret.min()
            known = models_in(self.models, belief)
            for model in np.flatnonzero(belief.weights):
                arm = telling_arm(known, int(model), least, belief)
                chances[arm] += belief.weights[model]
        else:
            chances[lead.arm] = 1.0
        return chances


def known_models(structure: Structure, cells: Any, prior: Any, rewards: Rewards) -> Any:
    """Return the models of a table or a curve with their prior."""
    if hasattr(cells, "table"):
        return models_of(cells.table, checked_prior(prior, len(cells.table)), rewards)
    (lines,) = structure.model_lines  # type: ignore[attr-defined]
    return curve_models(lines, line_weights(lines, prior), rewards)


def checked_rule(
    rule: str, kappa: float | None, t0: float | None, c: float | None, f: float | None
) -> Rule:
    """Return the numbers of a rule; those of the other rule may not be given."""
    by_value = checked_word("rule", rule, RULES) == "value"
    others = {"c": c} if by_value else {"kappa": kappa, "t0": t0}
    for name, value in others.items():
        if value is not None:
            raise ParameterError(f"{name}={value!r}: rule={rule!r} has no {name}")
    return Rule(
        by_value,
        checked_above("kappa", 0.3 if kappa is None else kappa, 0.0),
        checked_above("t0", 100.0 if t0 is None else t0, 0.0),
        checked_above("c", 1.0 if c is None else c, 0.0),
        checked_at_least("f", (1.0 if by_value else 0.2) if f is None else f, 0.0),
    )


@compilable
def judge(policy: Any, state: Any, t: int, belief: Expectations) -> LeadingModel:
    """Return the leader, and whether its best arm is pulled or its rivals are tested."""
    models, rule = policy.models, policy.numbers
    clock = t + counted(state.pending)
    leader = write_posterior(models, state.data, state.pending, belief)
    if not rule.by_value:
        leader = leave_out(models, rule.c * math.log(max(clock, 1) + 1), belief)
    known = models_in(models, belief)
    best = known.best[leader]
    rivals = rivals_of(known, best, belief)
    if rivals.heaviest <= (FAINT if rule.by_value else 0.0):
        return LeadingModel(leader, best, False, True)
    cheapest = write_regret(known, belief)
    if belief.regret[cheapest] == 0.0:  # best in all models that have a weight
        return LeadingModel(leader, cheapest, False, False)
    arm = telling_arm(known, leader, rule.f * belief.regret[cheapest], belief)
    if rule.by_value:
        nat = regret_per_nat(best, rivals.weight, belief)
        cheap = (clock + rule.t0) * rivals.regret < rule.kappa * nat
        if arm == best or nat == math.inf or cheap:
            return LeadingModel(leader, best, False, cheap)
    return LeadingModel(leader, arm, True, False)


@compilable
def leader_is_drawn(policy: Any, state: Any) -> bool:
    """Is a test one of the rivals of a model that is drawn?"""
    return policy.draws == 1 or (policy.draws == 0 and counted(state.pending) > 0)


@compilable
def pulled_arm(
    policy: Any, state: Any, lead: LeadingModel, belief: Expectations, rng: np.random.Generator
) -> int:
    """Return the arm that is pulled: that of the lead, unless the leader of a test is drawn."""
    if not lead.tests or not leader_is_drawn(policy, state):
        return lead.arm
    u = rng.uniform(0.0, 1.0)
    drawn = lead.leader
    below = 0.0
    for model in range(len(belief.weights)):
        if belief.weights[model] > 0.0:
            below += belief.weights[model]
            drawn = model
            if u < below:
                break
    least = belief.regret[cheapest_arm(belief.regret)]
    return telling_arm(models_in(policy.models, belief), drawn, policy.numbers.f * least, belief)
