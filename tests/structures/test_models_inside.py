"""Which arms are best inside a box: all ways to look at a table against the definition."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numba import njit

from structured_bandits.base.confidence import Box
from structured_bandits.structures.finite import inside
from structured_bandits.structures.finite.cells import FiniteCells

Answer = tuple[bool, list[bool]]
Ask = Callable[[FiniteCells, Box], Answer]


def by_definition(table: Any, box: Box) -> Answer:
    """The best arms of the rows inside, each row on its own."""
    low, high = box.low.tolist(), box.high.tolist()
    found = [False] * len(low)
    for row in table.tolist():
        if all(least < mean < most for least, mean, most in zip(low, row, high, strict=True)):
            found[row.index(max(row))] = True
    return any(found), found


def asking(mark: Any) -> Ask:
    """Ask one of the functions that mark arms, in memory that has been used."""

    def ask(cells: FiniteCells, box: Box) -> Answer:
        found = np.ones(cells.arm_count(), np.bool_)
        alive = mark(cells, box, found)
        return bool(alive), found.tolist()

    return ask


def hostile_tables(rng: Any) -> Iterator[Any]:
    """Small tables of few values, so that ties are the rule."""
    for models in (1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 40):
        for arms in (1, 2, 3, 4, 5, 9):
            table = rng.integers(0, 4, (models, arms)) / 4
            yield table
            yield np.repeat(table, 5, axis=0)  # blocks of equal models
            alone = np.full((models, arms), 0.5)  # each model leaves a box at an arm of its own
            alone[np.arange(models), np.arange(models) % arms] = 1.0
            yield alone


def hostile_boxes(rng: Any, table: Any) -> Iterator[Box]:
    """Boxes whose borders are means of the table; some are empty, some have no border at all."""
    arms = table.shape[1]
    values = np.array([-math.inf, -0.5, *np.unique(table), 1.5, math.inf])
    everything = Box(np.full(arms, -math.inf), np.full(arms, math.inf))
    yield everything
    yield Box(everything.high, everything.low)
    yield Box(everything.low, np.full(arms, 1.0))
    for arm in (0, arms - 1):
        last = Box(everything.low.copy(), everything.high.copy())
        last.low[arm] = table[:, arm].max()
        yield last
    for _ in range(6):
        yield Box(rng.choice(values[:3], arms), rng.choice(values[-3:], arms))
        yield Box(rng.choice(values, arms), rng.choice(values, arms))
    for model in table[:: max(1, len(table) // 12)]:
        yield Box(np.nextafter(model, -1.0), np.nextafter(model, 2.0))  # it alone, or its equals
        yield Box(model, np.nextafter(model, 2.0))  # open: it is on the border


@pytest.mark.parametrize("name", ["mark_best_arms", "mark_by_models", "mark_one_by_one"])
def test_every_way_marks_what_the_definition_marks(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In plain Python, with limits so small that each table meets all of them."""
    for limit, value in {"SMALL": 0, "SPARED": 2, "STEADY": 4, "BLOCK": 12}.items():
        monkeypatch.setattr(inside, limit, value)
    rng = np.random.default_rng(17)
    ask = asking(getattr(inside, name))
    seen = set()
    for table in hostile_tables(rng):
        cells = FiniteCells(table)
        for box in hostile_boxes(rng, table):
            wanted = by_definition(table, box)
            assert ask(cells, box) == wanted, (table, box)
            seen.add((wanted[0], all(wanted[1])))
    assert seen == {(False, False), (True, False), (True, True)}


def larger_tables(rng: Any) -> Iterator[Any]:
    """Tables that are not small, with lengths around a block or a steady stretch of models."""
    arms = 7
    for models in (inside.SMALL // arms + 1, 4 * inside.STEADY + 1, inside.BLOCK // arms + 1):
        yield rng.random((models, arms))
    models = 6 * inside.STEADY - 1
    alone = rng.random((models, arms))
    alone[np.arange(models), rng.integers(0, arms, models)] = 1.5
    yield alone
    yield np.sort(rng.random((models, arms)), axis=0)
    changing = rng.random((models, arms))  # now one arm says more, now another one
    for start in range(0, models, 1500):
        changing[start : start + 1500, start // 1500 % arms] += 1.0
    yield changing
    yield rng.random((70_000, 1))


def test_compiled_and_plain_python_agree_on_larger_tables() -> None:
    import structured_bandits.simulation.compiled  # noqa: F401  lets Numba compile cells

    @njit
    def compiled(cells: Any, box: Any, found: Any) -> Any:
        return cells.best_arms_in(box, found, cells.fresh_notes())

    rng = np.random.default_rng(18)
    for table in larger_tables(rng):
        cells = FiniteCells(table)
        arms = cells.arm_count()
        low = np.full(arms, -1.0)
        for box in (
            *(Box(low, np.full(arms, high)) for high in (0.02, 0.2, 0.5, 0.9, 1.0, 3.0)),
            Box(np.full(arms, 0.45), np.full(arms, 0.55)),
            Box(np.append(low[1:], 1.4), np.full(arms, 2.0)),
            Box(np.quantile(table, 0.3, axis=0), np.quantile(table, 0.7, axis=0)),
            Box(np.nextafter(table[-1], -9.0), np.nextafter(table[-1], 9.0)),
        ):
            rows = np.all((box.low < table) & (table < box.high), axis=1)
            best = set(table[rows].argmax(axis=1).tolist())
            wanted = bool(best), [arm in best for arm in range(arms)]
            assert asking(compiled)(cells, box) == wanted
            assert asking(inside.mark_best_arms)(cells, box) == wanted
