"""SAE: structured arm elimination for a known horizon (paper, Algorithm 1)."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Ints
from structured_bandits.base.checks import checked_at_least, checked_count, checked_word
from structured_bandits.base.confidence import Box, Data, fresh_box, fresh_data, width_budget
from structured_bandits.base.intervals import Intervals
from structured_bandits.errors import ParameterError
from structured_bandits.inference.likelihood_sets import LikelihoodSets, by_sets
from structured_bandits.policies.base import (
    GivenRange,
    PaperPolicy,
    checked_cells,
    checked_sets,
    flagged,
    registered,
    widths_of,
)
from structured_bandits.policies.phases import (
    MOST_PHASES,
    MOST_PULLS,
    Presence,
    all_present,
    check_first_phase,
    check_phase,
    find_best_arms,
    forget_notes,
    keep_only,
    largest_gap,
    note_here,
    notes_of,
    phase_target,
    top_up,
)
from structured_bandits.protocols import Now
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import Cells, candidate_arms

LIKELIHOOD_ALPHA = 1.0  # of the users' default on tables: the truth is lost with probability 1 / n


class SAEState(NamedTuple):
    """What was seen of each arm, the active arms and the phase; the rest is scratch."""

    data: Data
    active: Flags
    phase: Ints  # one number
    presence: Presence
    box: Box
    found: Flags
    notes: Any  # of the cells


class _SAE(NamedTuple):
    widths: Any  # intervals of a budget of 0, or likelihood sets
    cells: Cells
    horizon: int
    alpha: float
    beta: float
    by_round: bool  # likelihood sets: is there a look after every round?
    sigma: float
    bottom: float
    top: float


@registered
class SAE(PaperPolicy, _SAE):
    """Play all active arms in turn; at the end of a phase drop those that are best in no fitting model.

    An arm is active until it is best in no model that fits the data; arms that are best in no model of
    the structure never are. `horizon` is the number of pulls in all.

    With confidence="likelihood", the default on tables, the models that fit are {theta : log N -
    L_theta < alpha log n}, where n is the horizon, L the log-likelihood and N the mean of the models'
    likelihoods by their prior: the best arm of the truth is dropped with a probability of at most
    n^-alpha (docs/notes/mathematics.md 4.6). They are looked at after every round of the active arms
    (looks="round"), or when each has 1, 2, 4, 8, … pulls ("phase"). Otherwise:

    Phase h ends when each active arm has ceil((2 sigma)^2 alpha log n (1 + 1/beta)^2 4^h / w^2) pulls,
    where n is the horizon and w the width of the range of rewards (1 if they have no bounds). The set of
    fitting models is then rebuilt from the whole structure and from the data of all arms. So a model
    that did not fit may fit again, but an arm that was dropped does not come back. The theory has alpha
    = beta^2 (Theorem 3), the paper's experiments alpha = 2, beta = 1 and Hoeffding's intervals, which is
    `SAE.paper(structure, horizon)`; the defaults lose less in practice and
    are outside the theorem. With confidence="kl" models are compared with KL intervals instead of
    radii (see `SUCB`); the phases are the same.
    """

    asks = ("best_arms_in",)
    learned = ("data", "active", "phase")
    clock = "n"
    absent_parameters: ClassVar = {**PaperPolicy.absent_parameters, "looks": None}

    looks: str | None

    def __new__(
        cls,
        structure: Structure,
        horizon: int,
        alpha: float | None = None,
        beta: float = 1.0,
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
        confidence: str | None = None,
        looks: str | None = None,
    ) -> SAE:
        """Check the parameters."""
        sets = checked_sets(structure, alpha, reward_range, sigma, confidence, LIKELIHOOD_ALPHA)
        looks = checked_looks(sets.confidence, looks, beta)
        policy = super().__new__(
            cls,
            sets.widths,
            checked_cells(cls, structure),
            checked_count("horizon", horizon),
            sets.alpha,
            checked_at_least("beta", beta, 1.0),
            looks == "round",
            *sets.rewards,
        )
        policy.structure, policy.confidence, policy.looks = structure, sets.confidence, looks
        if looks is None:
            check_first_phase(policy, width_budget(policy.alpha, policy.sigma, math.log(horizon)))
        return policy

    def widths_at(self, state: SAEState, t: int) -> Intervals | None:
        """Return the intervals, which do not depend on time; None of likelihood sets."""
        if isinstance(self.widths, LikelihoodSets):
            return None
        return widths_of(self, math.log(self.horizon))

    def active_arms(self, state: SAEState, t: int) -> tuple[int, ...]:
        """Return the arms that have not been eliminated."""
        return flagged(state.active)

    def init(self) -> SAEState:
        """Return a fresh state: the arms that are best in some model are active."""
        arms = self.cells.arm_count()
        return SAEState(
            fresh_data(arms),
            candidate_arms(self.cells),
            np.zeros(1, np.int64),
            all_present(arms),
            fresh_box(arms),
            np.zeros(arms, np.bool_),
            notes_of(self.widths, self.cells),
        )

    def forget(self, state: SAEState) -> None:
        """Clear what the cells noted for earlier plans."""
        forget_notes(self.widths, self.cells, state.notes)

    def check_learned(self, state: SAEState, t: int) -> None:
        """Raise a ValueError if this is no phase of the policy."""
        most = MOST_PHASES if self.looks is None else MOST_PULLS
        check_phase(int(state.phase[0]), state.active, candidate_arms(self.cells), most)

    def plan(self, state: SAEState, now: Now, quota: Ints, rng: np.random.Generator) -> int:
        """Plan the rest of the phase; phases that are complete are closed first."""
        empty = 0
        while True:
            note_here(state.active, state.presence)
            target = target_of(self.widths, self, state)
            if top_up(state.data.pulls, state.presence.here, target, quota):
                return empty
            look(self.widths, self, state)
            empty += keep_only(state.active, state.found)
            state.phase[0] = next_phase(self.widths, self, state)


def target_of_phase(widths: Intervals, policy: SAE, state: SAEState) -> int:
    """Return the pulls of each active arm that end a phase: four times as many as the one before."""
    budget = width_budget(policy.alpha, policy.sigma, math.log(policy.horizon))
    gap = largest_gap(policy.bottom, policy.top)
    return phase_target(budget, policy.beta, gap, state.phase[0])


def target_of_looks(widths: LikelihoodSets, policy: SAE, state: SAEState) -> int:
    """Return the pulls of each active arm before the next look: 1, 2, 3, … or 1, 2, 4, ….

    They double where a single arm is left, as no look can drop it.
    """
    if not policy.by_round:
        return 1 << min(state.phase[0], 52)
    count = 0
    fewest = MOST_PULLS
    for arm in range(len(state.active)):
        count += state.active[arm]
        if state.presence.here[arm]:
            fewest = min(fewest, state.data.pulls[arm])
    state.phase[0] = min(state.phase[0], fewest)  # an arm that comes back catches up round by round
    return min(state.phase[0] + 1 if count > 1 else 2 * (state.phase[0] + 1), MOST_PULLS)


target_of = by_sets(target_of_looks, target_of_phase)


def look_at_box(widths: Intervals, policy: SAE, state: SAEState) -> None:
    """Mark the best arms of the models in the intervals of all arms."""
    level = widths.at(width_budget(policy.alpha, policy.sigma, math.log(policy.horizon)))
    find_best_arms(policy.cells, state.data, level, state.box, state.found, state.notes)


def look_at_likelihoods(widths: LikelihoodSets, policy: SAE, state: SAEState) -> None:
    """Mark the best arms of the models that the likelihood does not refute."""
    budget = policy.alpha * math.log(max(policy.horizon, 2))
    widths.arms_in_set(state.data, budget, state.notes, state.found)


look = by_sets(look_at_likelihoods, look_at_box)


def one_more(widths: Intervals, policy: SAE, state: SAEState) -> int:
    """Return the number of the next phase."""
    return state.phase[0] + 1


def next_look(widths: LikelihoodSets, policy: SAE, state: SAEState) -> int:
    """Return the number of the next look: after a round more than all active arms have had.

    They may have had many more, say in a log, which are looked at once.
    """
    if not policy.by_round:
        return state.phase[0] + 1
    fewest = MOST_PULLS
    for arm in range(len(state.active)):
        if state.presence.here[arm]:
            fewest = min(fewest, state.data.pulls[arm])
    return max(state.phase[0] + 1, fewest)


next_phase = by_sets(next_look, one_more)


def checked_looks(confidence: str, looks: str | None, beta: float) -> str | None:
    """Return when likelihood sets are looked at; None for other sets, whose phases say it."""
    if confidence != "likelihood":
        if looks is not None:
            raise ParameterError(f"looks={looks!r}: only confidence='likelihood' has looks")
        return None
    if beta != 1.0:
        raise ParameterError(f"beta={beta!r}: the looks of confidence='likelihood' have no beta")
    return checked_word("looks", "round" if looks is None else looks, ("round", "phase"))
