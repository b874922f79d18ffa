"""What is broken is caught, and the message says how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.base.confidence import Box
from structured_bandits.lookahead.cells import CellsLookahead, base
from structured_bandits.structures.finite.cells import FiniteCells
from structured_bandits.structures.model_fit import ModelFit

CheckError = sb.testing.CheckError


class State(NamedTuple):
    pulls: Any
    sums: Any


class Leader(NamedTuple):
    """Each arm once, then the highest average: right, and the base of all that is wrong below."""

    n_arms: int
    weights: Any = np.zeros(3)

    def init(self) -> State:
        return State(np.zeros(self.n_arms, np.int64), np.zeros(self.n_arms))

    def plan(self, state: State, now: sb.Now, quota: Any, rng: Any) -> int:
        quota[:] = 0
        quota[self.choice(state)] = 1
        return 0

    def choice(self, state: State) -> int:
        fresh = np.flatnonzero(state.pulls == 0)
        return int(fresh[0] if len(fresh) else np.argmax(state.sums / state.pulls))

    def observe(self, state: State, seen: sb.Seen) -> None:
        state.pulls[:] += seen.pulls
        state.sums[:] += seen.sums


class PlansTooFar(Leader):
    def plan(self, state: State, now: sb.Now, quota: Any, rng: Any) -> int:
        quota[:] = 0
        quota[self.choice(state)] = min(3, now.limit)
        return 0


class ForgetsAnArm(Leader):
    def observe(self, state: State, seen: sb.Seen) -> None:
        for arm in range(self.n_arms):
            if seen.pulls[arm] > 0:
                state.pulls[arm] += 1  # of a whole plan, one pull only
                state.sums[arm] += seen.sums[arm]

    def plan(self, state: State, now: sb.Now, quota: Any, rng: Any) -> int:
        quota[:] = 2 if state.pulls.sum() < 12 else 0
        quota[self.choice(state)] = 1
        return 0


class LeavesTheQuota(Leader):
    def plan(self, state: State, now: sb.Now, quota: Any, rng: Any) -> int:
        quota[self.choice(state)] = 1
        return 0


class ReturnsNone(Leader):
    def plan(self, state: State, now: sb.Now, quota: Any, rng: Any) -> int:
        quota[:] = 1
        return None  # type: ignore[return-value]


class PlansNothing(Leader):
    def plan(self, state: State, now: sb.Now, quota: Any, rng: Any) -> int:
        quota[:] = 0
        return 0


class ChangesItself(Leader):
    def observe(self, state: State, seen: sb.Seen) -> None:
        Leader.observe(self, state, seen)
        self.weights[:] += 1.0


class SharesItsState(Leader):
    kept = State(np.zeros(3, np.int64), np.zeros(3))

    def init(self) -> State:
        return self.kept


class DrawsElsewhere(Leader):
    def choice(self, state: State) -> int:
        return int(np.random.randint(self.n_arms))  # noqa: NPY002


class DrawsUnsaid(Leader):
    def plan(self, state: State, now: sb.Now, quota: Any, rng: Any) -> int:
        quota[:] = 0
        quota[rng.integers(self.n_arms)] = 1
        return 0


class OldForm(Leader):
    def plan(self, state: State, t: int, limit: int, quota: Any, rng: Any) -> int:  # type: ignore[override]
        return 0


class ForgetsToSave(Leader):
    learned = ("sums",)


class SavesWhatItLacks(Leader):
    """`learned` of the mixin `Policy` is ("data",): who copies it has to say the own fields."""

    learned = ("data",)


class ChangesWhenRead(Leader):
    def active_arms(self, state: State, t: int) -> tuple[int, ...]:
        state.sums[0] += 1.0
        return (0,)


class UsesSquaresUnsaid(Leader):
    def observe(self, state: State, seen: sb.Seen) -> None:
        state.pulls[:] += seen.pulls
        state.sums[:] += seen.squares


class Remembers(Leader):
    """Keeps what it has seen in its class, where all runs meet."""

    count = np.zeros(1)

    def choice(self, state: State) -> int:
        self.count[0] += 1
        return int(self.count[0]) // 7 % self.n_arms


class Raises(Leader):
    def choice(self, state: State) -> int:
        return [0][len(state.pulls)]


POLICIES: list[tuple[type, str]] = [
    (PlansTooFar, "A plan must not be longer than now.limit"),
    (ForgetsAnArm, "in a simulation and asked and told by a live agent"),
    (LeavesTheQuota, "begin it with quota"),
    (ReturnsNone, "plan returned None"),
    (PlansNothing, "planned no pull"),
    (ChangesItself, "must not change the policy"),
    (SharesItsState, "must not share memory"),
    (DrawsElsewhere, "from rng only"),
    (DrawsUnsaid, "randomised = True"),
    (OldForm, "Since version 0.2"),
    (ForgetsToSave, "saved and restored"),
    (
        SavesWhatItLacks,
        "names 'data', which its state does not have; accepted are names among pulls",
    ),
    (ChangesWhenRead, "read in between"),
    (UsesSquaresUnsaid, "needs_squares = True"),
    (Remembers, "belongs into the state"),
    (Raises, "It raised IndexError"),
]


def test_what_is_right_passes() -> None:
    sb.testing.check_policy(Leader(3), compiled=False)


@pytest.mark.parametrize(
    ("kind", "message"), POLICIES, ids=lambda value: getattr(value, "__name__", "")
)
def test_broken_policies_are_caught(kind: Callable[[int, Any], Any], message: str) -> None:
    with pytest.raises(CheckError, match=message):
        sb.testing.check_policy(kind(3, np.zeros(3)), compiled=False)


class WrongWhenCompiled(NamedTuple):
    """Python wraps round at 64 bits never, compiled code does."""

    n_arms: int

    def init(self) -> State:
        return State(np.zeros(self.n_arms, np.int64), np.zeros(self.n_arms))

    def plan(self, state: State, now: sb.Now, quota: Any, rng: Any) -> int:
        quota[:] = 0
        big = 1 << 62
        quota[1 if big * 4 > 0 else 0] = 1
        return 0

    def observe(self, state: State, seen: sb.Seen) -> None:
        for arm in range(self.n_arms):
            state.pulls[arm] += seen.pulls[arm]


def test_what_is_wrong_in_compiled_code_only_is_caught() -> None:
    sb.testing.check_policy(WrongWhenCompiled(2), compiled=False)
    with pytest.raises(CheckError, match="Compiled code means something else"):
        sb.testing.check_policy(WrongWhenCompiled(2))


def highest(values: Any) -> Any:
    return np.argmax(values)


class CallsAPlainFunction(Leader):
    def plan(self, state: State, now: sb.Now, quota: Any, rng: Any) -> int:
        quota[:] = 0
        quota[highest(state.sums)] = 1
        return 0


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            CallsAPlainFunction,
            "does not compile: it calls the plain function highest; mark highest with",
        ),
        (Leader, "does not compile: compiled code knows no 'choice' of Leader, only fields"),
    ],
)
def test_what_does_not_compile_is_named_first(
    kind: Callable[[int, Any], Any], message: str
) -> None:
    """Numba says it too, after twenty lines about what it tried."""
    with pytest.raises(sb.ParameterError, match=message):
        sb.simulate(kind(3, np.zeros(3)), sb.Bernoulli([0.5, 0.5, 0.5]), 10, runs=1)


# --------------------------------------------------------------------------------- structures

MEANS = [[0.8, 0.3, 0.5], [0.2, 0.7, 0.1], [0.1, 0.6, 0.9]]


class NotesMatter(FiniteCells):
    def fresh_notes(self) -> Any:
        return np.zeros(1)

    def best_arms_in(self, box: Box, found: Any, notes: Any) -> bool:
        notes[0] += 1
        alive = FiniteCells.best_arms_in(self, box, found, notes)
        found[:] &= notes[0] < 2
        return bool(alive and found.any())


class KeepsFlags(FiniteCells):
    def best_arms_in(self, box: Box, found: Any, notes: Any) -> bool:
        before = found.copy()
        FiniteCells.best_arms_in(self, box, found, notes)
        found |= before
        return bool(found.any())


class LowestArm(FiniteCells):
    def optimistic_arm(self, box: Box, notes: Any) -> int:
        found = np.zeros(3, bool)
        return int(found.argmax()) if self.best_arms_in(box, found, notes) and found[0] else (
            FiniteCells.optimistic_arm(self, box, notes)
        )  # fmt: skip


class StaleChoice(FiniteCells):
    """Its lookahead does not look."""


class PromisesTooMuch(FiniteCells):
    """Its lookahead does."""


LOOKAHEADS = {
    StaleChoice: CellsLookahead(choose=lambda cells, changed, data, level, box, work: 0),
    PromisesTooMuch: CellsLookahead(
        certain_length=lambda cells, arm, prospect, data, work: prospect.limit
    ),
}


class MissesAnArm(FiniteCells):
    def best_arms_in(self, box: Box, found: Any, notes: Any) -> bool:
        FiniteCells.best_arms_in(self, box, found, notes)
        found[2] = False
        return bool(found.any())


class FitsTheFirst(ModelFit):
    def fitting_arm(self, data: Any) -> int:
        return 0


CELLS: list[tuple[type[FiniteCells], str]] = [
    (NotesMatter, "with fresh notes and with notes that were used"),
    (KeepsFlags, "write every flag"),
    (LowestArm, "must be the one with the highest mean"),
    (StaleChoice, "must return what optimistic_arm returns"),
    (PromisesTooMuch, "must not promise more than is certain"),
    (MissesAnArm, "must hold all models"),
]


@pytest.mark.parametrize(
    ("cells", "message"), CELLS, ids=lambda value: getattr(value, "__name__", "")
)
def test_broken_cells_are_caught(
    cells: type[FiniteCells], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if cells in LOOKAHEADS:
        monkeypatch.setitem(base.CELLS, cells, LOOKAHEADS[cells])
    structure = sb.FiniteStructure(MEANS)
    structure.cells = cells(np.array(MEANS))
    with pytest.raises(CheckError, match=message):
        sb.testing.check_structure(structure, range(3), compiled=False)


def test_broken_fits_are_caught() -> None:
    structure = sb.FiniteStructure(MEANS)
    fit = structure.fitting_cells
    structure.fitting_cells = FitsTheFirst(fit.per_pull, fit.per_reward, fit.best)
    with pytest.raises(CheckError, match="no other fits better"):
        sb.testing.check_structure(structure, range(3), compiled=False)


def test_wrong_means_of_models_are_caught() -> None:
    class Other(sb.FiniteStructure):
        def means(self, model: Any) -> Any:
            return super().means((model + 1) % 3)

        def distances(self, means: Any, tolerance: float) -> Any:
            return sb.FiniteStructure([[0.0, 0.5, 0.25]]).distances(means, tolerance)

    with pytest.raises(CheckError, match="nearest and farthest"):
        sb.testing.check_structure(Other(MEANS), range(3), compiled=False)


# ------------------------------------------------------------------------------------- worlds


class WrongSquares(sb.Bernoulli):
    def draw(self, arm: int, pulls: int, count: int, rng: Any) -> sb.Paid:
        return sb.Bernoulli.draw(self, arm, pulls, count, rng)._replace(squares=-1.0)


class WrongMeans(sb.Bernoulli):
    def draw(self, arm: int, pulls: int, count: int, rng: Any) -> sb.Paid:
        ones = float(rng.binomial(count, 0.5))
        return sb.Paid(count, ones, ones)


class NarrowBlocks(sb.Bernoulli):
    def draw(self, arm: int, pulls: int, count: int, rng: Any) -> sb.Paid:
        if count == 1:
            return sb.Bernoulli.draw(self, arm, pulls, count, rng)
        share = count * self.means[arm]
        ones = float(np.floor(share + rng.random()))
        return sb.Paid(count, ones, ones)


class StopsLate(sb.Bernoulli):
    def draw_until(self, arm: int, pulls: int, count: int, misses: int, rng: Any) -> sb.Paid:
        return sb.Bernoulli.draw_until(self, arm, pulls, count, misses + 1, rng)


class OverlooksGains(sb.Bernoulli):
    def draw_while(self, arm: int, pulls: int, stop: Any, rng: Any) -> sb.Paid:
        return sb.Bernoulli.draw_while(self, arm, pulls, stop._replace(gains=stop.gains + 1), rng)


class PaysANumber(sb.Bernoulli):
    def draw(self, arm: int, pulls: int, count: int, rng: Any) -> Any:
        return 1.0


class CountsWrong(sb.Bernoulli):
    def draw(self, arm: int, pulls: int, count: int, rng: Any) -> sb.Paid:
        return sb.Bernoulli.draw(self, arm, pulls, count, rng)._replace(pulls=1)


WORLDS: list[tuple[type, str]] = [
    (WrongSquares, "the sum of their squares"),
    (WrongMeans, "must average to means"),
    (NarrowBlocks, "must have the variance"),
    (StopsLate, "until there are more than"),
    (OverlooksGains, "or more than . above the least"),
    (PaysANumber, "must return sb.Paid"),
    (CountsWrong, "as many pulls as it is asked for"),
]


@pytest.mark.parametrize(
    ("kind", "message"), WORLDS, ids=lambda value: getattr(value, "__name__", "")
)
def test_broken_worlds_are_caught(kind: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(CheckError, match=message):
        sb.testing.check_world(kind([0.3, 0.7]), compiled=False)
