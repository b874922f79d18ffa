"""Theory against brute force in exact fractions (naive_theory.py) on 1,000 random structures.

Means are mostly multiples of powers of two, many of them copied from the truth, so that ties, equal
models, confusing models and decoys happen; how often is asserted. One number has a tolerance of
its own: the Graves-Lai constant on curves, where the oracle samples intervals of models and is low.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from oracles import theory as naive

import structured_bandits as sb

CASES, BLOCKS = 600, 12
CLOSE = {"rel": 1e-9, "abs": 1e-12}
HORIZON = 5000


def draw(index: int) -> tuple[Any, Any, Any]:
    """Return a structure, its truth and the oracle; three of five are finite, the others curves."""
    rng = np.random.default_rng([3, index])
    return draw_finite(rng) if index % 5 < 3 else draw_curves(rng)


def means(rng: np.random.Generator, shape: tuple[int, ...], grid: int) -> np.ndarray:
    return rng.integers(0, grid + 1, shape) / grid if grid else rng.random(shape)


def draw_finite(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    models, arms = int(rng.integers(1, 7)), int(rng.integers(1, 5))
    table = means(rng, (models, arms), int(rng.choice([0, 4, 16, 64, 1024])))
    truth = int(rng.integers(models))
    copied = rng.random((models, arms)) < rng.choice([0.0, 0.4, 0.8])
    table = np.where(copied, table[truth], table)
    if arms > 1 and rng.random() < 0.2:
        table[:, int(rng.integers(arms))] = 0.0  # an arm that is hardly ever best
    return sb.FiniteStructure(table), truth, naive.Finite(table.tolist(), truth)


def draw_curves(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    count, arms = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    grid = int(rng.choice([0, 4, 16, 64]))
    common = means(rng, (arms,), grid)  # a level that lines keep coming back to
    plain = []
    for number in range(count):
        first, last = (
            np.where(rng.random(arms) < 0.35, common, means(rng, (arms,), grid)) for _ in range(2)
        )
        flat = rng.random(arms) < 0.35
        last = np.where(flat, first, last)
        if rng.random() < 0.2:  # a single model
            plain.append((float(number), float(number), first.tolist(), first.tolist(), "both"))
        else:
            closed = str(rng.choice(["left", "right", "both", "neither"]))
            end = number + float(rng.choice([0.25, 0.5, 0.75]))
            plain.append((float(number), end, first.tolist(), last.tolist(), closed))
    pieces = [sb.Piece(*piece) for piece in plain]
    home = pieces[int(rng.integers(count))]
    places = [x for x in (home.start, home.end, 0.5 * (home.start + home.end)) if home.holds(x)]
    truth = float(rng.choice(places))
    return sb.CurveStructure(pieces), truth, naive.Line(plain, truth)


def subsets(rng: np.random.Generator, arms: int) -> list[set[int]]:
    some = set(np.flatnonzero(rng.random(arms) < 0.5).tolist())
    return [set(range(arms)), some, {int(rng.integers(arms))}]


@pytest.mark.parametrize("block", range(BLOCKS))
def test_agrees_with_brute_force(block: int) -> None:
    for index in range(block, CASES, BLOCKS):
        compare(*draw(index), index)


def compare(structure: Any, truth: Any, oracle: Any, index: int) -> None:
    rng = np.random.default_rng([4, index])
    analysis = sb.analyse(structure, truth)
    assert analysis.inside
    assert analysis.best_arm == naive.best_arm(oracle)
    assert analysis.gaps == pytest.approx([float(gap) for gap in naive.gaps(oracle)], **CLOSE)
    assert list(analysis.best_arms) == naive.best_arms(oracle)
    compare_hardness(analysis, oracle, rng)
    gamma, attained = naive.gamma_star(oracle)
    assert analysis.gamma_star == pytest.approx(float(gamma), **CLOSE)
    assert analysis.rival.attained == attained
    assert analysis.constant_regret_possible == (not naive.confusing(oracle))
    assert list(analysis.decoys) == naive.decoys(oracle)
    for beta in (1.0, float(rng.choice([1.5, 3.0, 8.0]))):
        compare_elimination(analysis, oracle, beta, rng)
    compare_bounds(analysis, oracle)


def compare_hardness(analysis: sb.Analysis, oracle: Any, rng: np.random.Generator) -> None:
    arms = analysis.structure.n_arms
    for arm in range(arms):
        for using in subsets(rng, arms):
            for optimistic in (False, True):
                gap, models, attained = naive.hardest(oracle, arm, using, optimistic)
                found = analysis.hardest(arm, sorted(using), optimistic)
                assert found.gap == pytest.approx(float(gap), **CLOSE)
                assert found.attained == attained
                assert (found.model is None) == (gap == math.inf)
                if attained and isinstance(oracle, naive.Finite):
                    assert found.model == min(models)
                elif attained:  # the model really is in the set, and that near
                    there = naive.model_gaps(oracle, found.model)
                    assert max([float(there[j]) for j in using], default=0) == pytest.approx(
                        float(gap), **CLOSE
                    )
        weights = 2.0 ** -rng.integers(0, 4, arms)
        gap, _, _ = naive.hardest(oracle, arm, set(range(arms)), weights=list(weights))
        assert analysis.distances.nearest(arm, weights).gap == pytest.approx(float(gap), **CLOSE)


def compare_elimination(
    analysis: sb.Analysis, oracle: Any, beta: float, rng: np.random.Generator
) -> None:
    expected = naive.elimination(oracle, HORIZON, beta)
    assert expected.closest > 1e-9  # no near-tie that rounding could break
    sets = analysis.elimination(HORIZON, beta)
    assert list(sets.active) == expected.active
    assert list(sets.removed) == expected.removed
    assert list(sets.guaranteed) == expected.guaranteed
    assert sets.last_phase == expected.last_phase
    assert sets.helpers == expected.helpers
    for before, after in zip(sets.guaranteed, sets.guaranteed[1:], strict=False):
        assert set(after) <= set(before)  # docs/notes/mathematics.md 4.2
    for phase, kept in enumerate(sets.guaranteed):
        assert analysis.best_arm in kept
        assert set(kept) <= set(sets.active[phase])
    for arm, helpers in sets.helpers.items():  # I-19: what makes the pull count a bound
        assert 2.0 ** (1 - sets.last_phase[arm]) > analysis.hardest(arm, helpers).gap * (1 - 1e-12)
    factor, pair = float(rng.choice([1, 4])), bool(rng.random() < 0.5)
    classes = analysis.classes(HORIZON, beta, factor, "pair" if pair else "helpers")
    for name, holds in naive.classes(oracle, HORIZON, beta, factor, pair).items():
        assert getattr(classes, name) == holds, name


def compare_bounds(analysis: sb.Analysis, oracle: Any) -> None:
    structure = analysis.structure
    policies = {
        "SUCB": sb.SUCB.paper(structure, alpha=1.5),
        "SAE": sb.SAE.paper(structure, HORIZON, alpha=2.5, beta=1.5),
        "ASAE": sb.ASAE.paper(structure, alpha=2.0, eta=1.0),
    }
    table = analysis.bounds(HORIZON, policies, convergence=0.01).set_index("bound")
    log = math.log(HORIZON)
    constants = {family: naive.graves_lai(oracle, family) for family in ("gaussian", "bernoulli")}
    for name, value in {
        "SUCB (Theorem 1)": naive.bound_sucb(oracle, HORIZON, 1.5, 0.5),
        "SAE (Theorem 3)": naive.bound_sae(oracle, HORIZON, 2.5, 1.5),
        "SAE, gaps only (Proposition 1)": naive.bound_sae_gap_form(oracle, HORIZON, 2.5, 1.5),
        "ASAE, logarithmic (Theorem 4)": naive.bound_asae_log(oracle, HORIZON),
        "ASAE, constant (Theorem 5)": naive.bound_asae_const(oracle),
        "Burnetas–Katehakis, Gaussian sigma=0.5 (Theorem 2)": naive.lower_bk(oracle, 0.5) * log,
    }.items():
        assert table.value[name] == pytest.approx(value, **CLOSE), name
    for name, (constant, empty) in constants.items():
        shown = analysis.lower_bound(name).constant
        assert shown == 0.0 or not empty
        sampled = isinstance(oracle, naive.Line) and not isinstance(oracle, naive.Finite)
        assert shown == pytest.approx(constant, rel=1e-3 if sampled else 1e-6, abs=1e-9)
        assert shown >= constant * (1 - 1e-6) - 1e-9
    compare_constant_bound(analysis, oracle, table)


def compare_constant_bound(analysis: sb.Analysis, oracle: Any, table: Any) -> None:
    value, valid = naive.lower_const(oracle, HORIZON, 0.01, 0.5)
    bound = table.loc["constant regret, Gaussian sigma=0.5 (Theorem 6)"]
    assert bound.valid == (valid and analysis.inside)
    if valid and (0.5 / analysis.gamma_star**2).is_integer():
        assert bound.value == pytest.approx(value, **CLOSE)
    elif valid:  # the oracle does not round t down (I-21)
        assert bound.value <= value


def test_the_cases_are_hard_enough() -> None:
    seen: Counter[str] = Counter()
    for index in range(CASES):
        structure, truth, _ = draw(index)
        analysis = sb.analyse(structure, truth)
        classes = analysis.classes(HORIZON)
        rows = {tuple(cell) for cell in np.hstack(list(np.atleast_2d(*_ends(structure))))}
        seen["single arm"] += structure.n_arms == 1
        seen["tied truth"] += int((analysis.gaps == 0).sum()) > 1
        seen["equal models"] += len(rows) < len(structure.cells.best)
        seen["unreachable arm"] += len(analysis.best_arms) < structure.n_arms
        seen["nothing to learn"] += not analysis.other_arms
        seen["not attained"] += math.isfinite(analysis.rival.gap) and not analysis.rival.attained
        seen["known best mean (I-14)"] += classes.unconfused and not classes.assumption1
        seen["confusing"] += not classes.unconfused
        seen["decoy"] += bool(analysis.decoys)
        seen["worst case"] += bool(analysis.other_arms) and classes.worst_case
        seen["optimistic"] += bool(analysis.other_arms) and classes.optimistic
        seen["constant regret"] += bool(analysis.other_arms) and classes.constant_regret
        seen["helpers"] += any(
            len(h) > 2 for h in analysis.elimination(HORIZON, 3.0).helpers.values()
        )
    for what, least in {"constant regret": 6, "known best mean (I-14)": 6}.items():
        assert seen.pop(what) >= least, what
    assert min(seen.values()) >= 20, seen


def _ends(structure: Any) -> tuple[np.ndarray, np.ndarray]:
    cells = structure.cells
    return (
        (cells.table, cells.table) if structure.kind == "finite" else (cells.at_start, cells.at_end)
    )


@pytest.mark.parametrize("index", [index for index in range(200) if index % 5 >= 3])
def test_a_grid_agrees_on_curves(index: int) -> None:
    structure, truth, oracle = draw(index)
    analysis = sb.analyse(structure, truth)
    for arm in analysis.best_arms:
        gap = analysis.hardest(arm, range(structure.n_arms)).gap
        found, error = naive.grid_hardest(oracle, arm, range(structure.n_arms), 200)
        assert gap <= float(found) + 1e-12
        assert float(found) <= gap + float(error) + 1e-6 or found == math.inf
