"""Can these be the results of pulls? Pulls, sums and sums of squares of rewards in a range."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.confidence import Data
from structured_bandits.errors import RewardError
from structured_bandits.policies.phases import MOST_PULLS
from structured_bandits.protocols import Outcome, Seen

LARGEST_REWARD = 1e150  # its square is a finite number
SLACK = 1e-9  # relatively: rewards are rounded
ROUNDED = 2.0**-53  # relatively: by how much each addition to a sum may be off

Range = tuple[float, float]


def checked_reward(reward: Any, allowed: Range, name: str = "reward") -> float:
    """Return a reward as a float; raise if it is no number in the range; messages call it `name`."""
    low, high = allowed
    try:
        value = math.nan if isinstance(reward, str) else float(reward)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not (math.isfinite(value) and low <= value <= high):
        raise RewardError(f"{name}={reward!r}: expected a number in [{low:g}, {high:g}]")
    if abs(value) > LARGEST_REWARD:
        raise RewardError(f"{name}={reward!r}: expected a number up to {LARGEST_REWARD:g}")
    return value


def checked_results(pulls: Any, sums: Any, squares: Any, arms: int, allowed: Range) -> Seen:
    """Return results of pulls, a number for each arm; `squares` is None if they are not known."""
    wanted = [pulls, sums] if squares is None else [pulls, sums, squares]
    names = "pulls and sums" if squares is None else "pulls, sums and squares"
    try:
        columns = [np.array(values, dtype=np.float64) for values in wanted]
    except (TypeError, ValueError, OverflowError):
        raise RewardError(f"{names}: expected one number per arm in each") from None
    shapes = [column.shape for column in columns]
    if any(shape != (arms,) for shape in shapes):
        shown = " and ".join(map(str, shapes))
        raise RewardError(f"{names}: shapes {shown}, expected ({arms},) each")
    counts = _checked_counts(pulls, columns[0])
    for arm in range(arms):
        check_sum(f"sums[{arm}]", int(counts[arm]), float(columns[1][arm]), allowed)
    if squares is None:
        return Seen(counts, columns[1], np.where(counts > 0, math.nan, 0.0))
    seen = Seen(counts, columns[1], columns[2])
    check_squares(seen, range(arms), allowed)
    return seen


def check_total(before: int, more: int) -> None:
    """Raise if there would be more pulls than can be counted."""
    if before + more >= MOST_PULLS:
        raise RewardError(
            f"pulls: {more} on top of {before} before; expected less than 2**52 in all"
        )


def _checked_counts(given: Any, counts: Floats) -> Ints:
    if not ((counts >= 0) & (counts == np.floor(counts)) & (counts < MOST_PULLS)).all():
        raise RewardError(f"pulls={given!r}: expected whole numbers >= 0, less than 2**52")
    return counts.astype(np.int64)


def check_sum(name: str, count: int, total: float, allowed: Range) -> None:
    """Raise if no `count` rewards sum to `total`, which the message calls `name`."""
    low, high = (min(max(end, -LARGEST_REWARD), LARGEST_REWARD) for end in allowed)
    least, most = count * low, count * high
    slack = (SLACK + ROUNDED * count) * max(abs(least), abs(most))
    if not (math.isfinite(total) and least - slack <= total <= most + slack):
        raise RewardError(
            f"{name}={total:g}: {count:g} rewards in [{low:g}, {high:g}] "
            f"sum to between {least:g} and {most:g}"
        )


def check_squares(seen: Seen, arms: Iterable[int], allowed: Range) -> None:
    """Raise if no rewards of one of these arms have these squares."""
    for arm in arms:
        check_square(
            f"squares[{arm}]",
            Outcome(arm, int(seen.pulls[arm]), float(seen.sums[arm]), float(seen.squares[arm])),
            allowed,
        )


def check_square(name: str, outcome: Outcome, allowed: Range) -> None:
    """Raise if no rewards with this sum have these squares, which the message calls `name`.

    They sum to at least sum^2 / n, and for rewards in [low, high] to at most (low + high) sum - n low
    high, since the sum of (x - low)(high - x) is not negative.
    """
    low, high = (min(max(end, -LARGEST_REWARD), LARGEST_REWARD) for end in allowed)
    _, count, total, value = outcome
    count, total = int(count), float(total)  # these overflow to inf quietly
    least = total * total / count if count else 0.0
    most = (low + high) * total - count * low * high if count else 0.0
    slack = (SLACK + 4.0 * ROUNDED * count) * count * max(low * low, high * high)
    if not (math.isfinite(value) and least - slack <= value <= most + slack):
        raise RewardError(
            f"{name}={value:g}: {count:g} rewards in [{low:g}, {high:g}] that sum to "
            f"{total:g} have squares that sum to between {least:g} and {most:g}"
        )


def known_data(seen: Seen) -> Data:
    """Return pulls and sums; arms whose sums nobody knows count as not pulled."""
    unknown = np.isnan(seen.sums)
    return Data(np.where(unknown, 0, seen.pulls), np.where(unknown, 0.0, seen.sums))
