"""Linear programs by two solvers, and the one tolerance.

daqp, a dual active-set method, answers small dense programs in microseconds. Its answer to a linear
program is believed only with a certificate: the point satisfies the rows, and the multipliers prove by
weak duality that no point is better. Where that fails, and for large programs, HiGHS is asked. Both get
objectives near 1, whatever those of the user are: gradients of likelihoods grow with the pulls.

A program that neither of them solves is no error: its value is infinite, a bound that always holds, and
it is counted (`unsolved_here`).
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.extras import needs
from structured_bandits.errors import StructuredBanditsError

# Leads and slacks must exceed this to count as positive, and means closer than this are equal. It is
# absolute: rewards are taken to be of order one.
TOLERANCE = 1e-9
CERTIFIED = 1e-10  # by how much a certificate may be off, relative to the numbers in it
PROGRAMS = "Solving programs (polytopes, the Graves-Lai bound)"  # what daqp and highspy are for
LARGE = 100_000  # entries of the matrix from which on HiGHS is asked first
INFINITE = 1e30  # what daqp takes for no bound
#: What HiGHS is asked with, until it knows an answer.
HIGHS_OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"presolve": "off"},
    {"presolve": "off", "simplex_strategy": 4},  # the primal method
    {"presolve": "off", "solver": "ipm"},
)
SETTINGS = {"eps_prox": 1.0, "eta_prox": 1e-13, "primal_tol": 1e-12, "iter_limit": 1000}


class Solution(NamedTuple):
    """The answer to a program: `status` is "optimal", "infeasible", "unbounded" or "unsolved".

    `multipliers` belong to the rows: the objective is their sum weighted by these, so that
    `dual_bound` with any other bounds of the rows is a bound on the value there. Only of an optimal
    solution do `x` and `multipliers` say anything; the value is a bound in any case.
    """

    status: str
    value: float
    x: Floats
    multipliers: Floats


class _Unsolved(threading.local):
    count = 0


_unsolved = _Unsolved()


def unsolved_here() -> int:
    """Return how many programs of this thread no solver has solved so far."""
    return _unsolved.count


def note_unsolved() -> None:
    """Count a program that no solver has solved."""
    _unsolved.count += 1


class UnsolvedError(StructuredBanditsError):
    """A number that theory asked for and no solver has found."""


def solved(solution: Solution) -> Solution:
    """Return a solution for somebody to whom a bound that merely holds is of no use."""
    if solution.status == "unsolved":
        raise UnsolvedError(
            f"a linear program with {len(solution.x)} variables and {len(solution.multipliers)} rows "
            "was not solved, neither by daqp nor by any method of HiGHS"
        )
    return solution


def dual_bound(multipliers: Floats, lower: Floats, upper: Floats) -> float:
    """Return the upper bound on a maximum that multipliers prove, whatever these bounds are."""
    pressed = np.where(multipliers > 0.0, upper, lower)
    used = multipliers != 0.0
    return float(multipliers[used] @ pressed[used])


class WarmStart:
    """What a solver keeps of the last solution of one program, to start from it the next time.

    It belongs to a run: where optima tie, it decides which one is found.
    """

    def __init__(self) -> None:
        self.model: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {
            "model": None
        }  # a solver's memory cannot be copied; without it the next start is cold


class LinearProgram:
    """Maximise objective·x over lower <= rows x <= upper, again and again for other bounds.

    A program is the same for everyone; who solves it often brings a `WarmStart`, which is most of the
    solver's speed.
    """

    def __init__(self, objective: Floats, rows: Floats) -> None:
        self.objective = np.ascontiguousarray(objective, dtype=np.float64)
        self.rows = np.ascontiguousarray(rows, dtype=np.float64)
        self._size = float(np.abs(self.objective).max(initial=1.0))
        self._heights, self._widths = scales(self.rows)
        self._unit = float(near_one(np.abs(self.objective * self._widths).max(initial=0.0)))
        self._even = self._heights[:, None] * self.rows * self._widths

    def solve(self, lower: Floats, upper: Floats, warm: WarmStart | None = None) -> Solution:
        """Return the solution for these bounds."""
        if self.rows.size <= LARGE:
            solution = self._by_daqp(lower, upper, warm or WarmStart())
            if solution is not None:
                return solution
        return by_highs(self.objective, self.rows, lower, upper)

    def _by_daqp(self, lower: Floats, upper: Floats, warm: WarmStart) -> Solution | None:
        """Return daqp's answer if it comes with a certificate.

        Equalities that hang together can make it call a feasible program infeasible, so that is no
        answer either.
        """
        low, high = np.maximum(lower, -INFINITE), np.minimum(upper, INFINITE)
        ends = self._heights * low, self._heights * high
        if not (low > high).any() and self._prepare(*ends, warm) >= 0:
            scaled, _, flag, info = warm.model.solve()
            x, multipliers = self._widths * scaled, self._heights * info["lam"] / self._unit
            if flag == 1 and self._certified(x, multipliers, lower, upper):
                return Solution("optimal", float(self.objective @ x), x, multipliers)
        warm.model = None  # a failure may leave it in any state
        return None

    def _prepare(self, low: Floats, high: Floats, warm: WarmStart) -> int:
        """Hand the bounds to daqp; return its flag, negative if it has seen enough."""
        if warm.model is not None:
            warm.model.update(bupper=high, blower=low)
            return 0
        with needs(PROGRAMS, extra="polyhedral"):
            import daqp

        warm.model = daqp.Model()
        warm.model.settings = SETTINGS
        kinds = np.zeros(len(low), np.int32)
        flat = np.zeros((len(self.objective), len(self.objective)))
        push = -self._unit * self.objective * self._widths
        flag: int = warm.model.setup(flat, push, self._even, high, low, kinds)[0]
        return flag

    def _certified(self, x: Floats, multipliers: Floats, lower: Floats, upper: Floats) -> bool:
        reached = self.rows @ x
        size = 1.0 + np.abs(reached).max(initial=0.0)
        outside = np.maximum(lower - reached, reached - upper).max(initial=0.0)
        if outside > CERTIFIED * size:
            return False
        residual = np.abs(self.objective - multipliers @ self.rows).max(initial=0.0)
        if residual > CERTIFIED * self._size:
            return False
        weight = size * (self._size + np.abs(multipliers).sum())
        gap = dual_bound(multipliers, lower, upper) - float(self.objective @ x)
        return abs(gap) <= CERTIFIED * weight


def scales(rows: Floats) -> tuple[Floats, Floats]:
    """Return factors of rows and columns that bring the largest entry of each near 1.

    They are powers of two, so scaling rounds nothing.
    """
    widths = near_one(np.abs(rows).max(axis=0, initial=0.0))
    return near_one(np.abs(rows * widths).max(axis=1, initial=0.0)), widths


def near_one(sizes: Floats) -> Floats:
    """Return the powers of two that bring these sizes near 1."""
    with np.errstate(divide="ignore"):
        return np.where(sizes > 0.0, 2.0 ** -np.round(np.log2(sizes)), 1.0)


def maximise(objective: Floats, rows: Floats, lower: Floats, upper: Floats) -> Solution:
    """Solve one linear program."""
    return LinearProgram(objective, rows).solve(lower, upper)


def by_highs(objective: Floats, rows: Floats, lower: Floats, upper: Floats) -> Solution:
    """Solve one linear program by HiGHS; by other methods of it where its first one fails."""
    unit = near_one(np.abs(objective).max(initial=0.0))
    program = _highs_program(np.asarray(objective) * unit, np.asarray(rows), lower, upper)
    for options in HIGHS_OPTIONS:
        status, solver = _run_highs(program, options)
        if status is not None:
            break
    else:
        note_unsolved()
        return Solution("unsolved", np.inf, np.zeros(len(objective)), np.zeros(len(rows)))
    found = solver.getSolution()
    x = np.array(found.col_value) if len(found.col_value) else np.zeros(len(objective))
    values = {"optimal": float(objective @ x), "infeasible": -np.inf, "unbounded": np.inf}
    multipliers = np.array(found.row_dual) if len(found.row_dual) else np.zeros(len(rows))
    return Solution(status, values[status], x, multipliers / unit)


def _run_highs(program: Any, options: dict[str, Any]) -> tuple[str | None, Any]:
    """Return what HiGHS says of a program with these options, None if it does not know, and itself."""
    with needs(PROGRAMS, extra="polyhedral"):
        import highspy

    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("primal_feasibility_tolerance", TOLERANCE)
    solver.setOptionValue("dual_feasibility_tolerance", TOLERANCE)
    for name, value in options.items():
        solver.setOptionValue(name, value)
    solver.passModel(program)
    solver.run()
    kinds = {
        highspy.HighsModelStatus.kOptimal: "optimal",
        highspy.HighsModelStatus.kModelEmpty: "optimal",
        highspy.HighsModelStatus.kInfeasible: "infeasible",
        highspy.HighsModelStatus.kUnbounded: "unbounded",
    }
    return kinds.get(solver.getModelStatus()), solver


def _highs_program(objective: Floats, rows: Floats, lower: Floats, upper: Floats) -> Any:
    with needs(PROGRAMS, extra="polyhedral"):
        import highspy

    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = len(objective), len(rows)
    program.sense_ = highspy.ObjSense.kMaximize
    program.col_cost_ = objective
    program.col_lower_ = np.full(len(objective), -highspy.kHighsInf)
    program.col_upper_ = np.full(len(objective), highspy.kHighsInf)
    program.row_lower_, program.row_upper_ = lower, upper
    row, column = np.nonzero(rows)
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = np.searchsorted(row, np.arange(len(rows) + 1)).astype(np.int32)
    program.a_matrix_.index_ = column.astype(np.int32)
    program.a_matrix_.value_ = rows[row, column]
    return program
