"""Which arms are best in some model inside a box: one look at a table, however large it is.

Compiled code goes model by model, plain Python block by block; both say what the definition says. Which
models are read, and how far, depends on what the models before them showed. The answer does not: it is
a union over models.

A model that is outside is told by any arm that says so, which is quick if the arm is well chosen. But a
processor that jumps from row to row by surprise takes several times as long as one that reads all in
order. So rows are left early only as long as nearly all of them are, and are read whole otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from structured_bandits.base.arrays import Flags, Floats
from structured_bandits.base.compilable import compilable, compiled_as
from structured_bandits.base.confidence import Box

if TYPE_CHECKING:
    from structured_bandits.structures.finite.cells import TableQuestions

SMALL = 1 << 16  # means, half a megabyte: in the processor's cache, where jumps cost little
SPARED = 256  # models that have to be left early for each one that is read whole out of turn
STEADY = 4096  # models that are read whole in a row when fewer were
BLOCK = 1 << 17  # means looked at at a time in plain Python, a megabyte
RANKED = 1 << 12  # means looked at first in the order of ranks
FEW = 4  # a block of which at most one in so many models is left is not read whole


@compilable
def first_out(table: Floats, model: int, box: Box) -> int:
    """Return the first arm on which a model is outside the open box, -1 if it is inside."""
    for arm in range(len(box.low)):
        if not box.low[arm] < table[model, arm] < box.high[arm]:
            return arm
    return -1


@compilable
def last_out(table: Floats, model: int, box: Box) -> int:
    """Return the last arm on which a model is outside the open box, -1 if it is inside.

    There is no way out of the loop and no branch in it, so that compiled code compares several means at
    a time.
    """
    last = -1
    for arm in range(len(box.low)):
        mean = table[model, arm]
        fits = (box.low[arm] < mean) & (mean < box.high[arm])
        last = max(last, -1 if fits else arm)
    return last


@compilable
def is_out(table: Floats, model: int, box: Box, arm: int) -> bool:
    """Is a model outside the open box on this arm?"""
    mean = table[model, arm]
    return not ((box.low[arm] < mean) & (mean < box.high[arm]))


@compilable
def out_nearby(table: Floats, model: int, box: Box, watch: int) -> bool:
    """Is a model outside the open box on `watch` or one of the three arms before it?

    Written out and without a branch: from model to model each of these reads goes on by one row, which
    the processor foresees. It does not foresee what a loop over the arms would read.
    """
    return (
        is_out(table, model, box, watch)
        | is_out(table, model, box, max(0, watch - 1))
        | is_out(table, model, box, max(0, watch - 2))
        | is_out(table, model, box, max(0, watch - 3))
    )


@compilable
def mark_one_by_one(cells: TableQuestions, box: Box, found: Flags) -> bool:
    """Mark the arms as the definition says, for small tables."""
    found[:] = False
    alive = False
    for model in range(len(cells.best)):
        arm = cells.best[model]
        if not found[arm] and first_out(cells.table, model, box) < 0:
            found[arm] = True
            alive = True
    return alive


def mark_by_models(cells: TableQuestions, box: Box, found: Flags) -> bool:
    """Mark the arms that are best in some model inside the open box; is there a model at all?

    Arms are looked at first where the last model that took a whole look was outside.
    """
    if cells.table.size <= SMALL:
        return mark_one_by_one(cells, box, found)
    found[:] = False
    alive = False
    watch = min(3, len(found) - 1)
    steady_until = 0
    credit = 0
    for model in range(len(cells.best)):
        if model >= steady_until:
            if found[cells.best[model]] or out_nearby(cells.table, model, box, watch):
                credit += 1
                continue
            credit -= SPARED
            if credit < 0:
                steady_until = model + STEADY
                credit = 0
        last = last_out(cells.table, model, box)
        if last < 0:
            found[cells.best[model]] = True
            alive = True
        else:
            watch = last
    return alive


@compiled_as(mark_by_models)
def mark_best_arms(cells: TableQuestions, box: Box, found: Flags) -> bool:
    """Mark the arms that are best in some model inside the open box; is there a model at all?

    In plain Python block by block. In each, the models that one arm leaves and whose best arm is not
    marked yet are looked at in full, or all of them if these are many.
    """
    found[:] = False
    table, best = cells.table, cells.best
    look = _WholeLook(box, min(len(table), max(1, BLOCK // len(found))))
    watch = 0
    for start in range(0, len(table), look.rows):
        rows = slice(start, start + look.rows)
        column, arms = table[rows, watch], best[rows]
        left = ~found[arms] & (box.low[watch] < column) & (column < box.high[watch])
        count = np.count_nonzero(left)
        if count == 0:
            continue
        means = table[rows]
        if FEW * count <= len(means):
            means, arms = means[left], arms[left]
        inside, watch = look.inside(means, watch)
        found[arms[inside]] = True
    return bool(found.any())


def first_by_rank(cells: TableQuestions, box: Box) -> int:
    """Return the first model by rank inside the open box, -1 if there is none."""
    for model in cells.ranking:
        if first_out(cells.table, model, box) < 0:
            return int(model)
    return -1


@compiled_as(first_by_rank)
def highest_inside(cells: TableQuestions, box: Box) -> int:
    """Return the highest-ranked model inside the open box, -1 if there is none; block by block."""
    start, rows = 0, max(1, RANKED // len(box.low))
    while start < len(cells.ranking):
        models = cells.ranking[start : start + rows]
        means = cells.table[models]
        inside: Flags = np.logical_and.reduce((box.low < means) & (means < box.high), axis=1)
        first = int(inside.argmax())
        if inside[first]:
            return int(models[first])
        start, rows = start + rows, 4 * rows  # the first models are the likeliest to fit
    return -1


class _WholeLook:
    """Compares all means of at most so many models; the bounds are repeated and the memory kept."""

    def __init__(self, box: Box, rows: int) -> None:
        self.rows = rows
        shape = (rows, len(box.low))
        self._low, self._high = np.empty(shape), np.empty(shape)
        self._low[:], self._high[:] = box.low, box.high
        self._fits, self._below = np.empty(shape, np.bool_), np.empty(shape, np.bool_)

    def inside(self, means: Floats, watch: int) -> tuple[Flags, int]:
        """Say of each model whether it is inside, and name an arm on which one is not, else `watch`."""
        count = len(means)
        fits, below = self._fits[:count], self._below[:count]
        np.less(self._low[:count], means, out=fits)
        np.less(means, self._high[:count], out=below)
        np.logical_and(fits, below, out=fits)
        inside: Flags = np.logical_and.reduce(fits, axis=1)
        outside = int(inside.argmin())
        return inside, watch if inside[outside] else int(fits[outside].argmin())
