"""ASAE: structured arm elimination without a horizon (paper, Algorithm 2)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.base.checks import checked_above, checked_at_least
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Box, Data, fresh_box, fresh_data, width_budget
from structured_bandits.base.intervals import Intervals
from structured_bandits.base.round_robin import first_pulls
from structured_bandits.errors import ParameterError
from structured_bandits.inference.likelihood_sets import (
    LikelihoodSets,
    budget_at,
    by_sets,
)
from structured_bandits.policies.base import (
    GivenRange,
    PaperPolicy,
    checked_cells,
    checked_sets,
    flagged,
    registered,
    widths_of,
)
from structured_bandits.policies.paper_variant import Reading, checked_reading
from structured_bandits.policies.phases import (
    MOST_PULLS,
    Presence,
    all_present,
    check_first_phase,
    check_phase,
    copy_flags,
    find_best_arms,
    forget_notes,
    keep_only,
    largest_gap,
    note_here,
    notes_of,
    phase_target,
    top_up,
)
from structured_bandits.protocols import Now, Seen
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import Cells, candidate_arms

LIKELIHOOD_ALPHA = 0.5  # of the users' default on tables
LOG_2 = math.log(2.0)
SMALLEST_ETA, LARGEST_ETA = 1e-6, 1e6
MOST_EXPONENT = 1e4  # periods of 2^52 pulls and more come long before


@compilable
def period_length(exponent: float) -> int:
    """Return ceil(2^exponent), the pulls of a period with log n_k = exponent log 2.

    exp() rounds; a power within that rounding of a whole number is that number. So eta = 1 gives
    2, 4, 16, 256, 65536 exactly.
    """
    log_length = exponent * LOG_2
    if log_length > 36.0:
        return MOST_PULLS
    length = math.exp(log_length)
    nearest = math.floor(length + 0.5)
    if abs(length - nearest) <= 1e-13 * length:
        return nearest
    return math.ceil(length)


class ASAEState(NamedTuple):
    """What was seen of each arm, active arms, phase and period; the rest is scratch."""

    data: Data
    active: Flags
    phase: Ints  # one number
    exponent: (
        Floats  # one number: (1 + eta)^k, so that log n_k = exponent log 2; 0 before the start
    )
    ends: Ints  # one number: the pull at which the period is over
    counted: Ints  # pulls that phases count
    candidates: Flags  # arms that are best in some model
    carried: Flags  # best arms of the last set computed
    presence: Presence
    box: Box
    found: Flags
    notes: Any  # of the cells


class _ASAE(NamedTuple):
    widths: Any  # intervals of a budget of 0, or likelihood sets
    cells: Cells
    alpha: float
    beta: float
    eta: float
    recompute: bool
    by_length: bool
    per_period: bool
    truncate: bool
    sigma: float
    bottom: float
    top: float


@registered
class ASAE(PaperPolicy, _ASAE):
    """Play all arms in turn that are best in a fitting model, without a horizon.

    With confidence="likelihood", the default on tables, each round has one pull of each arm that is best
    in a model of {theta : log N - L_theta < alpha log(max(t, 1) + 1)}, the set of `SUCB`, after t pulls.
    `beta`, `eta` and `reading` have no meaning then.

    Otherwise it is the paper's Algorithm 2: SAE again and again, in periods of n_0 = 2, n_{k+1} =
    n_k^(1 + eta) pulls, keeping all data. `reading` settles what the paper leaves open: "theory" (the
    default), "figures", "pseudocode" or a `Reading`. The theorems have eta = 1, beta = 1 and alpha = 2
    (logarithmic regret) or 5/2 (constant regret), with radii; the paper's experiments have eta = 0.1
    and 0.01. `ASAE.paper` has alpha = 2 and radii; the defaults are for use.
    """

    asks = ("best_arms_in",)
    learned = ("data", "active", "phase", "exponent", "ends", "counted", "carried")
    clock = "n_k"

    def __new__(
        cls,
        structure: Structure,
        alpha: float | None = None,
        beta: float = 1.0,
        eta: float = 0.1,
        reading: str | Reading = "theory",
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
        confidence: str | None = None,
    ) -> ASAE:
        """Check the parameters."""
        chosen = checked_reading(reading)
        sets = checked_sets(structure, alpha, reward_range, sigma, confidence, LIKELIHOOD_ALPHA)
        if sets.confidence == "likelihood" and (beta, eta, reading) != (1.0, 0.1, "theory"):
            raise ParameterError(
                f"beta={beta!r}, eta={eta!r}, reading={reading!r}: confidence='likelihood' has no "
                "periods, so these have no meaning; leave them out, or take 'kl' or 'hoeffding'"
            )
        policy = super().__new__(
            cls,
            sets.widths,
            checked_cells(cls, structure),
            sets.alpha,
            checked_at_least("beta", beta, 1.0),
            _checked_eta(eta),
            chosen.init == "recompute",
            chosen.clock == "length",
            chosen.phase_counter == "period",
            chosen.period_end == "truncate",
            *sets.rewards,
        )
        policy.structure, policy.confidence = structure, sets.confidence
        if sets.confidence != "likelihood":
            check_first_phase(policy, width_budget(policy.alpha, policy.sigma, LOG_2))
        return policy

    @property
    def reading(self) -> Reading:
        """The reading in force."""
        return Reading(
            "recompute" if self.recompute else "carry",
            "length" if self.by_length else "time",
            "period" if self.per_period else "total",
            "truncate" if self.truncate else "finish_phase",
        )

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as plain values."""
        return {**super().parameters(), "reading": "/".join(self.reading)}

    def widths_at(self, state: ASAEState, t: int) -> Intervals | None:
        """Return the intervals of this period; of the first one before the start."""
        if isinstance(self.widths, LikelihoodSets):
            return None
        return widths_of(self, max(state.exponent[0], 1.0) * LOG_2)

    def active_arms(self, state: ASAEState, t: int) -> tuple[int, ...]:
        """Return the arms that have not been eliminated in this period."""
        return flagged(state.active)

    def init(self) -> ASAEState:
        """Return a fresh state; the first plan opens the first period."""
        arms = self.cells.arm_count()
        candidates = candidate_arms(self.cells)
        return ASAEState(
            fresh_data(arms),
            candidates.copy(),
            np.zeros(1, np.int64),
            np.zeros(1),
            np.zeros(1, np.int64),
            np.zeros(arms, np.int64),
            candidates,
            candidates.copy(),
            all_present(arms),
            fresh_box(arms),
            np.zeros(arms, np.bool_),
            notes_of(self.widths, self.cells),
        )

    def forget(self, state: ASAEState) -> None:
        """Clear what the cells noted for earlier plans."""
        forget_notes(self.widths, self.cells, state.notes)

    def check_learned(self, state: ASAEState, t: int) -> None:
        """Raise a ValueError if this is no phase, or no period, of the policy."""
        check_phase(int(state.phase[0]), state.active, state.candidates)
        if not state.carried.any() or (state.carried & ~state.candidates).any():
            raise ValueError("carried arms that are best in no model, or none")
        if ((state.counted < 0) | (state.counted > state.data.pulls)).any():
            raise ValueError(f"{state.counted} counted of {state.data.pulls} pulls")
        exponent, ends = float(state.exponent[0]), int(state.ends[0])
        if exponent == 0.0 and ends == 0:  # version 0.1.0 saved agents that had not planned yet
            return
        growing = math.isfinite(exponent) and exponent >= 1.0
        if not growing or not 0 < ends <= 2 * MOST_PULLS or exponent > MOST_EXPONENT:
            raise ValueError(f"a period of 2^{exponent} pulls that ends at {ends}")

    def observe(self, state: ASAEState, seen: Seen) -> None:
        """Add the pulls and the sums of their rewards."""
        for arm in range(len(seen.pulls)):
            state.data.pulls[arm] += seen.pulls[arm]
            state.data.sums[arm] += seen.sums[arm]
            state.counted[arm] += seen.pulls[arm]

    def plan(self, state: ASAEState, now: Now, quota: Ints, rng: np.random.Generator) -> int:
        """Plan the rest of the phase, up to the period's end if that cuts it; or a round."""
        return plan_by_sets(self.widths, self, state, now.t, quota)


def plan_round(widths: LikelihoodSets, policy: ASAE, state: ASAEState, t: int, quota: Ints) -> int:
    """Plan a pull of each arm that is best in a model which the likelihood does not refute."""
    budget = budget_at(policy.alpha, t)
    anyone = widths.arms_in_set(state.data, budget, state.notes, state.found)
    copy_flags(state.found if anyone else state.candidates, state.active)
    note_here(state.active, state.presence)
    for arm in range(len(quota)):
        quota[arm] = 1 if state.presence.here[arm] else 0
    return 0 if anyone else 1


def plan_phase(widths: Intervals, policy: ASAE, state: ASAEState, t: int, quota: Ints) -> int:
    """Plan the rest of the phase, up to the period's end if that cuts it."""
    gap = largest_gap(policy.bottom, policy.top)
    empty = 0
    if state.exponent[0] == 0.0:
        empty += open_period(policy, state, t)
    while True:
        if policy.truncate and t >= state.ends[0]:
            empty += open_period(policy, state, t)
        budget = width_budget(policy.alpha, policy.sigma, state.exponent[0] * LOG_2)
        target = phase_target(budget, policy.beta, gap, state.phase[0])
        note_here(state.active, state.presence)
        if top_up(state.counted, state.presence.here, target, quota):
            if policy.truncate:
                first_pulls(quota, state.ends[0] - t, quota)
            return empty
        rebuild(policy, state, budget)
        empty += keep_only(state.active, state.found)
        state.phase[0] += 1
        if not policy.truncate and t >= state.ends[0]:
            empty += open_period(policy, state, t)


plan_by_sets = by_sets(plan_round, plan_phase)


def _checked_eta(eta: float) -> float:
    """Return eta.

    Below the smallest accepted, periods would hardly grow and planning never end; above the largest,
    phases of the second period would take more pulls than can be counted.
    """
    if not SMALLEST_ETA <= checked_above("eta", eta, 0.0) <= LARGEST_ETA:
        raise ParameterError(f"eta={eta!r}: expected {SMALLEST_ETA:g} to {LARGEST_ETA:g}")
    return float(eta)


@compilable
def rebuild(policy: Any, state: ASAEState, budget: float) -> bool:
    """Rebuild the set, mark its best arms and carry them (all candidates if the set is empty)."""
    level = policy.widths.at(budget)
    alive = find_best_arms(policy.cells, state.data, level, state.box, state.found, state.notes)
    copy_flags(state.found if alive else state.candidates, state.carried)
    return alive


@compilable
def open_period(policy: Any, state: ASAEState, t: int) -> int:
    """Begin the next period (Algorithm 2, lines 3 and 5); return 1 if its first set is empty.

    If more pulls were taken in at once than it has, the one in which they end.
    """
    growth = 1.0 + policy.eta
    first = state.exponent[0] == 0.0
    begin = state.ends[0] if policy.truncate and not first else t
    state.exponent[0] = 1.0 if first else state.exponent[0] * growth
    if policy.by_length:
        state.ends[0] = begin + period_length(state.exponent[0])
        while state.ends[0] <= t:
            state.exponent[0] *= growth
            state.ends[0] += period_length(state.exponent[0])
    else:
        while period_length(state.exponent[0]) <= t:
            state.exponent[0] *= growth
        state.ends[0] = period_length(state.exponent[0])
    state.phase[0] = 0
    if policy.per_period:
        state.counted[:] = 0
    empty = 0
    if policy.recompute:
        budget = width_budget(policy.alpha, policy.sigma, state.exponent[0] * LOG_2)
        if not rebuild(policy, state, budget):
            empty = 1
    copy_flags(state.carried, state.active)
    return empty
