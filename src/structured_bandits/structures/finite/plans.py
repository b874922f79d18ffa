"""For how many pulls SUCB's choice is certain on finitely many models, whatever the intervals.

By a search over lengths, whose test goes down the ranking. For Hoeffding's intervals there is a closed
form (ranked_plans.py).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from structured_bandits.arrays import Ints
from structured_bandits.compilable import chosen_by_class, compilable
from structured_bandits.planning.confidence import Ahead, Data, Prospect, after_pulls
from structured_bandits.planning.intervals import Hoeffding, Intervals
from structured_bandits.planning.lookahead import certain_pulls
from structured_bandits.planning.tangents import tangents
from structured_bandits.planning.watches import Ranges, Watches, comes_in, pulls_gaps_hold
from structured_bandits.protocol import Now

if TYPE_CHECKING:
    from structured_bandits.structures.finite.cells import FiniteCells

NO_COVER = -1  # instead of a rank


@compilable
def choice_length(
    cells: FiniteCells, arm: int, prospect: Prospect, data: Data, work: Watches
) -> int:
    """Return a number of pulls, from 1 to its limit, in which an arm is certain to stay the choice.

    The search begins at the length found last for this arm.
    """
    outlook = Outlook(cells, prospect, data, work, work.lengths, prospect.bottom)
    return certain_pulls(outlook, outlook, arm, Now(prospect.t, prospect.limit))


def gaps_length(level: Hoeffding, arm: int, prospect: Prospect, data: Data, work: Watches) -> float:
    """By the gaps in which no arm's interval holds a model."""
    return pulls_gaps_hold(tangents(prospect, data.pulls[arm], data.sums[arm]), arm, work)


def no_length(level: Intervals, arm: int, prospect: Prospect, data: Data, work: Watches) -> float:
    """Return 0.0: with KL intervals an empty set is looked at again after each pull."""
    return 0.0


#: For how many pulls of an arm every model surely stays out.
outside_length = chosen_by_class({Hoeffding: gaps_length}, no_length)


class Outlook(NamedTuple):
    """What is known when the length of a plan is searched."""

    cells: FiniteCells
    prospect: Prospect
    data: Data
    work: Watches
    lengths: Ints
    bottom: float  # the least reward

    def certain(self, state: Any, arm: int, now: Now, extra: int) -> bool:
        """Does `arm` stay the choice over `extra` more pulls of it, whatever comes?

        Models of `arm` that are inside now protect the choice: they have to cover every mean that may
        come. The one that completes the cover outranks all threats below it, and no other threat may
        come in (docs/planning.md 16.5).
        """
        cells, work = self.cells, self.work
        ahead = after_pulls(self.data.pulls[arm], self.data.sums[arm], extra, self.prospect)
        completing = covering_rank(cells, arm, work, ahead)
        ranges = Ranges(cells.table, cells.table, cells.ranking)
        for rank in range(completing):
            other = cells.best[cells.ranking[rank]] != arm
            if other and comes_in(ranges, work, rank, arm, ahead):
                return False
        return completing != NO_COVER


@compilable
def covering_rank(cells: FiniteCells, arm: int, work: Watches, ahead: Ahead) -> int:
    """Return the rank of the model that completes the cover of `arm`, NO_COVER if there is none.

    The interval of every mean that may come has to hold a model of `arm` that is inside now. Down the
    ranking: the first has to reach the highest mean, each further one has to meet the one before it,
    and nothing is left to cover as soon as one is below the ceiling.
    """
    if ahead.roof <= ahead.floor:
        return NO_COVER  # rounding is all there is
    reached = math.inf  # the lowest so far
    for rank in work.inside[: work.size[0]]:
        model = cells.ranking[rank]
        mean = cells.table[model, arm]
        if cells.best[model] != arm or mean >= ahead.roof:
            continue
        if reached == math.inf:
            if mean <= ahead.floor:
                return NO_COVER
        elif not ahead.level.meets(ahead.pulls, mean, reached, ahead.margin):
            return NO_COVER
        if mean < ahead.ceiling:
            return int(rank)
        reached = mean
    return NO_COVER
