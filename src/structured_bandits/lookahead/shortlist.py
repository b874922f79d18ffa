"""Who has the highest of many indices mean + root / sqrt(pulls), without a look at all arms each time.

An index falls by pulls of its arm and otherwise rises slowly, with the root of the budget. So a list of
the arms whose indices are near the highest serves for a while: as long as the root is below a limit,
all others stay below a border, and as long as two of the list are above that border, they are the first
and the second of all arms, to the last bit (docs/notes/lookahead.md 7.4).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.base.compilable import compilable

FEW_ARMS = 16  # of which all are looked at: a list would be no shorter
LISTED = 6  # arms of a list that is neither made anew too often nor long
WHILE = 32.0  # pulls for which a list is made


class Indices(NamedTuple):
    """What the indices of arms are made of."""

    means: Floats  # inf before the first pull
    roots: Floats  # 1 / sqrt(pulls); 0 before the first pull


class ShortList(NamedTuple):
    """Arms whose indices may be above a border; those of all others are below it for a while."""

    arms: Ints  # rising, in the first places
    size: Ints  # one number: how many they are
    listed: Flags  # the same arms
    border: Floats  # one number
    limit: Floats  # one number: the root up to which the list holds; 0 if there is none
    width: Floats  # one number: how far the border of the next list is below the highest index


class Front(NamedTuple):
    """The arm with the highest index, that index, and the second highest."""

    arm: int
    highest: float
    second: float


@compilable
def fresh_list(arms: int) -> ShortList:
    """Return no list, in memory for one."""
    flags = np.zeros(arms, np.bool_)
    return ShortList(
        np.arange(arms), np.zeros(1, np.int64), flags, np.zeros(1), np.zeros(1), np.ones(1)
    )


@compilable
def drop_list(short: ShortList) -> None:
    """Forget a list: an arm that is not on it has new results, which it does not know."""
    short.limit[0] = 0.0


@compilable
def front_arm(indices: Indices, short: ShortList, root: float, growth: float) -> Front:
    """Return the arm with the highest index, the lowest one of equals; `growth` is that of the root."""
    if root <= short.limit[0]:
        front = front_of_list(indices, short, root)
        if front.second > short.border[0]:
            return front
    front = front_of_all(indices, root)
    if len(indices.means) > FEW_ARMS:
        make_list(indices, short, front.highest, root + WHILE * growth)
    return front


@compilable
def front_of_all(indices: Indices, root: float) -> Front:
    """Return the first arm of all."""
    front = Front(0, -math.inf, -math.inf)
    for arm in range(len(indices.means)):
        front = passed(front, arm, indices.means[arm] + root * indices.roots[arm])
    return front


@compilable
def front_of_list(indices: Indices, short: ShortList, root: float) -> Front:
    """Return the first arm of a list."""
    front = Front(0, -math.inf, -math.inf)
    for place in range(short.size[0]):
        arm = short.arms[place]
        front = passed(front, arm, indices.means[arm] + root * indices.roots[arm])
    return front


@compilable
def passed(front: Front, arm: int, index: float) -> Front:
    """Return the front after one more arm; without branches, which nobody could foresee."""
    choice, highest, second = front
    lower = highest if index > highest else index
    return Front(
        arm if index > highest else choice,
        index if index > highest else highest,
        lower if lower > second else second,
    )


@compilable
def make_list(indices: Indices, short: ShortList, highest: float, limit: float) -> None:
    """List the arms whose indices are near the highest one while the root is at most `limit`."""
    border = highest - short.width[0]
    size = 0
    for arm in range(len(indices.means)):
        near = indices.means[arm] + limit * indices.roots[arm] >= border
        short.listed[arm] = near
        short.arms[size] = arm
        size += near
    short.size[0], short.border[0], short.limit[0] = size, border, limit
    short.width[0] *= 0.8 if size > LISTED else 1.25


@compilable
def rivals_after(indices: Indices, arm: int, second: float, root: float) -> tuple[float, float]:
    """Return the largest 1 / sqrt(pulls), and the highest index of the others when radii have grown.

    It is at least `second`. On the way there it lies below the straight line from what it was, since the
    highest of numbers that rise steadily is convex (docs/notes/lookahead.md 7.2).
    """
    widest = 0.0
    rival = second
    for other in range(len(indices.means)):
        index = indices.means[other] + root * indices.roots[other]
        index = index if other != arm else second
        rival = index if index > rival else rival
        widest = indices.roots[other] if indices.roots[other] > widest else widest
    return widest, rival
