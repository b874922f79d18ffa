"""Which arm tells most against the rivals of the best one, on structures that are no tables.

Everything is looked at after each pull at first, then after each 2 % more; in between the same arm is
pulled. With h the likeliest model and b its best arm:

- an arm with fewer than sqrt(t) - K/2 pulls is pulled first (not on curves and products): without that
  some runs would never look at what they take to be bad;
- *against the structure*: g is the likeliest rival, and the arm with the largest d(h_k, g_k) is pulled;
- *against pairs*: of the rival with the least evidence, the less pulled of b and the arm that stands
  for the rival, or the same as above if the structure tells more of it.

Which of the two is quicker is foretold by characteristic times: against the structure, of dimension d,
it takes about n = T (log(2 / level) + d/2 log(n / d)) pulls; against pairs n = T' (log(2 (K - 1) /
level) + 1/2 log(n / 2)), where T' is the time without a structure (in a row of unimodal arms T, as
neighbours are compared). It is asked again whenever the pulls have doubled.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.confidence import Data
from structured_bandits.inference.evidence import (
    GROWTH,
    PredictedEvidence,
    Prequential,
    Rival,
    RowEvidence,
    SetEvidence,
    check_prequential,
    fresh_prequential,
)
from structured_bandits.inference.shares import divergences_from
from structured_bandits.structures.reward_ranges import Rewards

ROUGH = 0.05  # how far apart the bounds of a characteristic time may be, relatively
STRUCTURE, PAIRS = 1, 2


class LookMemory(NamedTuple):
    """What was found at the last look: arrays that an agent saves."""

    predictions: Prequential
    arm: Ints  # one number: the arm that is pulled
    next_look: Ints  # one number
    mode: Ints  # two numbers: `STRUCTURE` or `PAIRS`, and the pulls at which it is asked again


class RivalFinder:
    """What tells most, on curves, products, polytopes and boxes. Plain Python only."""

    compiles: ClassVar[bool] = False

    def __init__(self, evidence: Any, rewards: Rewards, structure: Any, level: float) -> None:
        self.evidence: SetEvidence | PredictedEvidence = evidence
        self.rewards = rewards
        self.structure = structure
        self.level = level
        self.dimension = max(
            (getattr(piece, "dimension", 1) for piece in getattr(structure, "pieces", ())),
            default=1,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RivalFinder) and self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash(self._facts())

    def _facts(self) -> tuple[Any, ...]:
        return self.structure, self.rewards, self.level

    def arm_count(self) -> int:
        """Return the number of arms."""
        return int(self.structure.n_arms)

    def fresh_work(self) -> LookMemory:
        """Return the memory before the first pull."""
        predictions = fresh_prequential(
            self.arm_count() if isinstance(self.evidence, PredictedEvidence) else 0
        )
        one, other = (np.zeros(1, np.int64) for _ in range(2))
        return LookMemory(predictions, one, other, np.zeros(2, np.int64))

    def check_work(self, work: LookMemory, data: Data) -> None:
        """Raise a ValueError if no look at such data leaves this behind."""
        if not 0 <= work.arm[0] < self.arm_count():
            raise ValueError(f"arm {work.arm[0]} is pulled up to the next look")
        if len(work.predictions.pulls):
            check_prequential(work.predictions, data.pulls)

    def look(self, data: Data, budget: float, epsilon: float, work: LookMemory) -> tuple[int, bool]:
        """Return an arm, and whether it is certain that it is the best."""
        t = int(data.pulls.sum())
        if 0 < t < work.next_look[0]:
            return int(work.arm[0]), False
        if isinstance(self.evidence, SetEvidence):
            arm, certain = self._by_sets(self.evidence, data, budget, epsilon)
        else:
            arm, certain = self._by_rivals(self.evidence, data, budget, epsilon, work)
        work.arm[0] = arm
        work.next_look[0] = max(t + 1, math.ceil(GROWTH * t))
        return arm, certain

    def _by_sets(
        self, evidence: SetEvidence, data: Data, budget: float, epsilon: float
    ) -> tuple[int, bool]:
        """Look at the likeliest rival of all."""
        lead = evidence.lead(data, epsilon)
        if not lead.rivals or lead.log_evidence >= budget:
            return lead.arm, True
        return self._telling(lead.means, lead.rivals[0], data), False

    def _by_rivals(
        self,
        evidence: PredictedEvidence,
        data: Data,
        budget: float,
        epsilon: float,
        work: LookMemory,
    ) -> tuple[int, bool]:
        """Look at the rivals of the best arm, one by one."""
        memory = work.predictions
        evidence.look(memory, data)
        means = evidence.models.means(memory.estimates[0])
        best = evidence.leader(memory)
        total = evidence.log_numerator(memory, data)
        rivals = list(evidence.rivals(total, data, best, epsilon))
        if all(rival.log_evidence >= budget for rival in rivals):
            return best, bool(rivals) or evidence.is_possible(data)
        t = int(data.pulls.sum())
        fewest = int(data.pulls.argmin())
        if data.pulls[fewest] < math.sqrt(t) - 0.5 * len(data.pulls):
            return fewest, False
        if self._mode(means, best, t, work) == STRUCTURE:
            nearest = max(rivals, key=lambda each: each.highest)
        else:
            nearest = min(rivals, key=lambda each: max(each.structure, each.pair))
            if nearest.pair > nearest.structure:
                return self._less_pulled(data, best, nearest), False
        return self._telling(means, evidence.models.means(nearest.means), data), False

    def _less_pulled(self, data: Data, best: int, rival: Rival) -> int:
        """Return the less pulled of two arms, the best one if they are equal."""
        return best if data.pulls[best] <= data.pulls[rival.other] else rival.other

    def _telling(self, means: Floats, rival: Floats, data: Data) -> int:
        """Return the arm that tells most against a rival; the least pulled if none tells anything."""
        told = divergences_from(means, rival, self.rewards)
        return int(told.argmax()) if told.max() > 0.0 else int(data.pulls.argmin())

    def _mode(self, means: Floats, best: int, t: int, work: LookMemory) -> int:
        """Return what is quicker to play against, asked again whenever the pulls have doubled.

        Before the arms were pulled once on average, nothing is known of it: the structure.
        """
        if t < self.arm_count():
            return STRUCTURE
        if t >= work.mode[1]:
            work.mode[0] = self._quicker(means, best)
            work.mode[1] = max(2 * t, 1)
        return int(work.mode[0])

    def _quicker(self, means: Floats, best: int) -> int:
        """Return which of the two has the smaller expected number of pulls."""
        from structured_bandits.theory.identification import (
            time_by_cuts,
            time_without_structure,
            within,
        )

        arms, d = len(means), max(self.dimension, 1)
        price = math.log(2.0 * max(arms - 1, 1) / self.level)

        def structure(time: float) -> float:
            return _pulls(time, math.log(2.0 / self.level), 0.5 * d, float(d))

        if isinstance(self.evidence, RowEvidence):
            time = time_by_cuts(self.evidence, means, best, self.rewards, within(ROUGH)).time
            return STRUCTURE if structure(time) <= _pulls(time, price, 0.5, 2.0) else PAIRS
        pairs = _pulls(time_without_structure(means, self.rewards, ROUGH), price, 0.5, 2.0)

        def decided(low: float, high: float) -> bool:
            return structure(low) > pairs or structure(high) <= pairs

        time = time_by_cuts(self.evidence, means, best, self.rewards, decided).time
        return STRUCTURE if structure(time) <= pairs else PAIRS


def _pulls(time: float, nats: float, half: float, scale: float) -> float:
    """Return the n with n = time (nats + half log(n / scale)), at least."""
    if not 0.0 < time < math.inf:
        return time
    n = max(time * nats, scale)
    for _ in range(50):
        n = time * (nats + half * max(math.log(n / scale), 0.0))
    return n
