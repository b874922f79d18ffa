"""Estimated tables: boxes around rows answer as the table does, or as polytopes do.

Without margins a box is a model of a finite structure, with margins it is a polytope of means. Both
twins have tests of their own; here the boxes have to agree with them, pull for pull.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from support.boxes import best_arms, optimistic_arm
from support.play import play
from support.twins import as_polytopes, by_programs

import structured_bandits as sb
from structured_bandits.base.confidence import Data
from structured_bandits.errors import MeansOutsideUnitIntervalWarning, StructureError
from structured_bandits.structures.boxes.distances import BoxDistances
from structured_bandits.structures.boxes.structure import BoxStructure
from structured_bandits.structures.polyhedral.regions import Region
from structured_bandits.structures.polyhedral.structure import Place

Rng = np.random.Generator
GRID = 16  # means are multiples of 1/16, so that ties are exact and common
KL = "kl"


def dyadic(rng: Rng, *shape: int) -> np.ndarray:
    return rng.integers(0, GRID + 1, shape) / GRID


def random_boxes(index: int, arms: int = 5) -> tuple[BoxStructure, Rng]:
    """Up to four boxes: some means known, some up to a little, some not at all."""
    rng = np.random.default_rng([17, index])
    shape = int(rng.integers(1, 5)), int(rng.integers(1, arms))
    margins = dyadic(rng, *shape) * rng.choice([0.0, 0.25, 0.5, 1.0], shape)
    return sb.around(dyadic(rng, *shape), margins), rng


def random_ends(structure: BoxStructure, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """A confidence box, often around a row, with ends that are often those of a box."""
    arms = structure.n_arms
    centre = structure.rows[rng.integers(structure.n_models)] + 0.1 * rng.normal(size=arms)
    radius = 10.0 ** rng.uniform(-1.5, 0.2, arms)
    if rng.random() < 0.5:
        centre, radius = dyadic(rng, arms), dyadic(rng, arms) / 2 + 1 / GRID
    free = rng.random(arms) < 0.2
    return np.where(free, -math.inf, centre - radius), np.where(free, math.inf, centre + radius)


def tape(rng: Rng, arms: int, pulls: int) -> np.ndarray:
    return (rng.random((arms, pulls)) < rng.random((arms, 1))).astype(int)


def test_the_same_answers_as_linear_programs() -> None:
    met: Counter[bool] = Counter()
    for index in range(120):
        structure, rng = random_boxes(index)
        twin = as_polytopes(structure)
        cells = [(cell.piece, cell.arm) for cell in twin.cells.cells]
        assert list(zip(structure.cells.model, structure.cells.best, strict=True)) == cells
        for _ in range(5):
            low, high = random_ends(structure, rng)
            ours, theirs = (
                (best_arms(each.cells, low, high), optimistic_arm(each.cells, low, high))
                for each in (structure, twin)
            )
            assert ours == theirs, (index, low, high)
            met[ours[0][0]] += 1
    assert min(met[True], met[False]) >= 50, met


def test_the_same_arms_fit_best_as_by_quadratic_programs() -> None:
    for index in range(60):
        structure, rng = random_boxes(1000 + index)
        pulls = rng.integers(0, 9, structure.n_arms) * (rng.random(structure.n_arms) < 0.8)
        data = Data(pulls.astype(np.int64), rng.binomial(pulls, 0.5).astype(float))
        twin = as_polytopes(structure).fitting_cells
        assert structure.cells.fitting_arm(data) == twin.fitting_arm(data), (index, data)


def policies(structure: Any, horizon: int, alpha: float) -> list[Any]:
    return [
        sb.SUCB.paper(structure, alpha=alpha),
        sb.SUCB.paper(structure, alpha=alpha, confidence=KL),
        sb.SAE.paper(structure, horizon, alpha=alpha),
        sb.ASAE.paper(structure, alpha=alpha, confidence=KL),
        sb.UCBC(structure, alpha),
        sb.GreedyMLE(structure),
    ]


def test_without_margins_it_plays_as_the_table() -> None:
    """Every policy, planning ahead, on 100 tables with many ties."""
    horizon = 80
    for index in range(100):
        rng = np.random.default_rng([19, index])
        table = dyadic(rng, int(rng.integers(1, 7)), int(rng.integers(1, 5)))
        rewards = tape(rng, table.shape[1], horizon)
        alpha = float(rng.choice([0.125, 0.5, 2.0]))
        number = index % 6
        ours = policies(sb.around(table, 0), horizon, alpha)[number]
        theirs = policies(sb.FiniteStructure(table), horizon, alpha)[number]
        played = [play(each, rewards, horizon, False, True) for each in (ours, theirs)]
        assert played[0].arms == played[1].arms, (index, ours)


def test_planned_as_pull_by_pull_and_as_by_linear_programs() -> None:
    """What a plan promises, each pull decides; and the programs decide alike."""
    horizon, saved = 80, 0
    for index in range(36):
        structure, rng = random_boxes(2000 + index)
        rewards = tape(rng, structure.n_arms, horizon)
        alpha = float(rng.choice([0.03125, 0.125, 0.5]))
        number = index % 5
        ours = policies(structure, horizon, alpha)[number]
        theirs = policies(as_polytopes(structure), horizon, alpha)[number]
        planned = play(ours, rewards, horizon, False, True)
        assert play(ours, rewards, horizon, False, False).arms == planned.arms, (index, ours)
        assert play(theirs, rewards, horizon, False, True).arms == planned.arms, (index, ours)
        saved += horizon - planned.plans
    assert saved > 1000


def test_compiled_as_in_python() -> None:
    """SUCB, whose plans are the longest code, with and without margins."""
    horizon = 400
    for index in range(6):
        structure, rng = random_boxes(3000 + index)
        known = sb.around(structure.rows, 0)
        rewards = tape(rng, structure.n_arms, horizon)
        for each in (structure, known):
            policy = sb.SUCB.paper(each, alpha=0.125)
            exact = play(policy, rewards, horizon, False, False)
            for planning in (True, False):
                assert play(policy, rewards, horizon, True, planning).arms == exact.arms, index
        table = sb.SUCB.paper(sb.FiniteStructure(structure.rows), alpha=0.125)
        assert play(table, rewards, horizon, False, True).arms == exact.arms


def truths(structure: BoxStructure, rng: Rng) -> list[Any]:
    """A row, a place in a box, often on its border, and means that need not be in any."""
    model = int(rng.integers(structure.n_models))
    least, most = structure.cells.least[model], structure.cells.most[model]
    inside = least + rng.integers(0, 5, structure.n_arms) / 4 * (most - least)
    return [structure.means(model), inside, dyadic(rng, structure.n_arms)]


def test_the_same_theory_as_of_polytopes() -> None:
    """Distances, decoys and the Graves-Lai constant, for truths on the borders of boxes too."""
    for index in range(40):
        structure, rng = random_boxes(4000 + index, arms=4)
        twin = as_polytopes(structure)
        for means in truths(structure, rng):
            ours, theirs = sb.analyse(structure, means), sb.analyse(twin, means)
            assert (ours.best_arm, ours.inside) == (theirs.best_arm, theirs.inside), index
            assert ours.gamma_star == pytest.approx(theirs.gamma_star, abs=1e-8)
            assert ours.decoys == theirs.decoys
            assert ours.constant_regret_possible == theirs.constant_regret_possible
            for arm in structure.best_arms:
                compare_distances(ours.distances, theirs.distances, arm, rng, exact=False)
        assert structure.has_margins or isinstance(ours.hardest(ours.best_arm).model, int)


def compare_distances(ours: Any, theirs: Any, arm: int, rng: Rng, exact: bool) -> None:
    same = (lambda value: value) if exact else (lambda value: pytest.approx(value, abs=1e-8))
    arms = len(ours._means)
    weights = rng.choice([0.0, 0.25, 1.0, 2.0], arms)
    for optimistic in (False, True):
        for equal in (None, np.arange(arms) == rng.integers(arms)):
            one = ours.nearest(arm, weights, optimistic, equal)
            two = theirs.nearest(arm, weights, optimistic, equal)
            assert one.gap == same(two.gap)
            assert one.attained == two.attained
            assert (one.model is None) == (two.model is None)
            if exact:
                assert one.told_by == two.told_by
    assert ours.farthest(arm, weights) == same(theirs.farthest(arm, weights))
    assert ours.ties_with_truth(arm) == theirs.ties_with_truth(arm)
    assert len(ours.optimistic(arm)) == len(theirs.optimistic(arm))
    for other in range(arms):
        assert ours.smallest_lead(arm, other) == same(theirs.smallest_lead(arm, other))


def test_without_margins_the_formulas_of_boxes_are_those_of_a_table() -> None:
    """To the last bit, though a structure without margins asks the table itself."""
    for index in range(60):
        rng = np.random.default_rng([23, index])
        table = dyadic(rng, int(rng.integers(1, 7)), int(rng.integers(1, 5)))
        known = sb.around(table, 0)
        means = table[0] if index % 2 else dyadic(rng, table.shape[1])
        finite = sb.FiniteStructure(table).distances(means, 1e-9)
        boxes = BoxDistances(known.cells, means, 1e-9, known.polytopes, Place)
        for arm in known.best_arms:
            compare_distances(boxes, finite, arm, rng, exact=True)
        assert type(known.distances(means, 1e-9)) is type(finite)


def test_the_nearest_model_is_a_model_at_that_distance() -> None:
    for index in range(40):
        structure, rng = random_boxes(5000 + index)
        means = dyadic(rng, structure.n_arms)
        distances = structure.distances(means, 1e-9)
        for arm in structure.best_arms if structure.has_margins else ():
            nearest = distances.nearest(arm, np.ones(structure.n_arms))
            there = structure.means(nearest.model)  # raises if it is outside its box
            assert np.abs(there - means).max() == pytest.approx(nearest.gap, abs=1e-9)
            assert there[arm] == pytest.approx(there.max(), abs=1e-9)
            assert abs(there - means)[nearest.told_by] == pytest.approx(nearest.gap, abs=1e-9)


def test_the_same_bounds_and_the_same_constant() -> None:
    structure = sb.around([[0.75, 0.5, 0.25], [0.5, 0.75, 0.25], [0.5, 0.5, 0.875]], 0.125)
    twin = as_polytopes(structure)
    for truth in (structure.means(0), [0.625, 0.5, 0.25]):
        ours, theirs = sb.analyse(structure, truth), sb.analyse(twin, truth)
        assert ours.elimination(10_000) == theirs.elimination(10_000)
        values, others = (each.bounds(10_000)["value"].to_numpy() for each in (ours, theirs))
        np.testing.assert_allclose(values, others, rtol=1e-7)
        for family in ("bernoulli", "gaussian"):
            constant = theirs.lower_bound(family).constant
            assert ours.lower_bound(family).constant == pytest.approx(constant, rel=1e-6)


def test_the_smallest_change_of_a_box_is_the_hardest_to_refute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One row for each confusing box, or cutting planes over all its models: the same constant."""
    positive = 0
    for index in range(25):
        structure, rng = random_boxes(6000 + index, arms=4)
        means = truths(structure, rng)[1]
        constants = {}
        for family in ("bernoulli", "gaussian"):
            with monkeypatch.context() as patch:
                constants[family] = sb.analyse(structure, means).lower_bound(family).constant
                patch.setattr(Region, "smallest_change", lambda region: None)
                planes = sb.analyse(structure, means).lower_bound(family).constant
            assert constants[family] == pytest.approx(planes, rel=1e-6, abs=1e-8), index
        positive += 0.0 < constants["gaussian"] < math.inf
    assert positive >= 5


def test_a_confusing_model_that_almost_excludes_an_outcome() -> None:
    """A step into the set that is too short to be seen made a divergence infinite (0 · inf is nan)."""
    structure = sb.around(
        [[0.28125, 0.25, 0.8125, 0.078125], [0.875, 0.8125, 0.640625, 0.4375]],
        [[0.28125, 0.25, 0.03125, 0.078125], [0.0, 0.171875, 0.359375, 0.4375]],
    )
    truth = [0.421875, 0.375, 0.78125, 0.0390625]
    bound = sb.analyse(structure, truth).lower_bound()
    assert 0.0 < bound.constant < math.inf
    assert np.isfinite(bound.allocation).all()


def test_margins_wider_than_the_range_leave_nothing_known() -> None:
    structure, nothing = sb.around([[0.5, 0.25, 1.0]], 3), sb.unstructured(3)
    assert structure.mean_ranges.tolist() == [[0.0, 1.0]] * 3
    rng = np.random.default_rng(3)
    rewards = tape(rng, 3, 120)
    played = [
        play(sb.SUCB.paper(each, alpha=0.5), rewards, 120, False, True)
        for each in (structure, nothing)
    ]
    assert played[0].arms == played[1].arms
    gaps = [sb.analyse(each, [0.5, 0.25, 0.75]).hardest(0).gap for each in (structure, nothing)]
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-9)


@pytest.mark.parametrize(
    ("least", "most", "cells"),
    [
        ([0.5, 0.5], [0.5, 0.5], [0]),  # equal in the whole box: the lowest
        ([0.25, 0.5, 0.5], [0.5, 0.5, 0.5], [1]),  # the first can only tie
        ([0.5, 0.5], [0.5, 0.75], [1]),  # known, and never strictly better
        ([0.5, 0.25], [0.5, 0.5], [0]),  # known, and never worse
        ([0.5, 0.25], [0.5, 0.75], [0, 1]),
        ([0.25, 0.25, 0.5], [0.75, 0.5, 0.5], [0, 2]),
        ([0.25], [0.25], [0]),  # one arm
    ],
)
def test_which_arms_can_be_best(least: list[float], most: list[float], cells: list[int]) -> None:
    least_, most_ = np.array([least]), np.array([most])
    structure = sb.around((least_ + most_) / 2, (most_ - least_) / 2)
    assert structure.cells.best.tolist() == cells
    assert as_polytopes(structure).cells.best.tolist() == cells


def test_ends_that_only_rounding_keeps_apart_are_equal() -> None:
    structure = sb.around([[0.3, 0.7]], 0.2)  # in floats 0.7 - 0.2 is below 0.5
    assert structure.best_arms == (1,)
    assert structure.cells.least[0, 1] == structure.cells.most[0, 0] == 0.5


def test_a_box_is_cut_to_the_range_but_never_loses_its_row() -> None:
    with pytest.warns(MeansOutsideUnitIntervalWarning) as warned:
        structure = sb.around([[0.95, 1.05, -0.5]], 0.1)
    assert len(warned) == 1
    np.testing.assert_array_equal(structure.cells.least, [[0.85, 0.95, -0.5]])
    np.testing.assert_array_equal(structure.cells.most, [[1.0, 1.05, 0.0]])
    with pytest.warns(MeansOutsideUnitIntervalWarning):
        wide = sb.around([[0.95, 0.5]], 0.1, low=-1, high=math.inf)
    assert wide.cells.most.tolist() == [[1.05, 0.6]]


@pytest.mark.parametrize(
    ("margins", "message"),
    [
        (-0.1, "-0.1 is among them; expected finite numbers >= 0"),
        (math.nan, "nan is among them"),
        ([0.1, 0.2, 0.3], "one for each of the 2 arms, or a table of 3 models × 2 arms"),
        ([[0.1], [0.1], [0.1]], "expected a number"),
        ("0.1", "expected a number"),
        (True, "expected a number"),
    ],
)
def test_wrong_margins_are_refused(margins: Any, message: str) -> None:
    with pytest.raises(StructureError, match=message):
        sb.around([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], margins)


def test_a_number_a_row_and_a_table_of_margins() -> None:
    table = [[0.25, 0.5], [0.75, 0.5]]
    one = sb.around(table, 0.125)
    assert one == sb.around(table, [0.125, 0.125]) == sb.around(table, np.full((2, 2), 0.125))
    assert one != sb.around(table, [0.125, 0.25])
    assert one != sb.FiniteStructure(table)


def test_models_are_rows_or_places() -> None:
    structure = sb.around([[0.25, 0.5], [0.75, 0.5]], 0.125, models=["A", "B"])
    place = structure.at([0.3, 0.5], "A")
    assert structure.means(place).tolist() == [0.3, 0.5]
    assert structure.means("B").tolist() == structure.means(1).tolist() == [0.75, 0.5]
    assert structure.model_name(place) == "A (0.3, 0.5)"
    assert structure.model_name(structure.at([0.25, 0.5], 0)) == structure.model_name("A") == "A"
    with pytest.raises(StructureError, match="the mean of arm '0' leaves the box of 'A'"):
        structure.at([0.5, 0.5])
    with pytest.raises(StructureError, match="expected 2 finite means"):
        structure.at([0.5])


def test_policies_that_need_single_models_say_so() -> None:
    structure = sb.around([[0.25, 0.5], [0.75, 0.5]], 0.125)
    for policy in (sb.IDS, sb.ISAE, sb.WAGP):
        with pytest.raises(sb.ParameterError, match=f"{policy.__name__} cannot play on"):
            policy(structure)
    with pytest.raises(sb.ParameterError, match="OSSB cannot play on"):
        sb.OSSB(structure)


def test_it_does_what_is_asked_of_every_structure() -> None:
    rng = np.random.default_rng(1)
    structure = sb.around(rng.uniform(0.1, 0.9, (5, 4)).round(2), 0.08)
    spread = structure.cells.most - structure.cells.least
    places = [
        structure.at(structure.cells.least[model] + rng.random(4) * spread[model], model)
        for model in range(5)
    ]
    sb.testing.check_structure(structure, [0, "2", *places], policies=False)


def test_boxes_are_a_group_of_a_product() -> None:
    """Beside linear arms, whose cells call programs, so that each group is asked by itself."""
    boxes = sb.around([[0.75, 0.25], [0.25, 0.5]], [0.125, 0.25])
    structure = sb.product([boxes, sb.linear([[0.5, 0.5], [1.0, 0.0]], bounds=(0.0, 0.75))])
    twin = by_programs(structure)
    assert type(structure.cells) is not type(twin.cells)
    rng = np.random.default_rng(7)
    for _ in range(60):
        centre, radius = rng.random(4), rng.uniform(0.05, 0.6, 4)
        low, high = centre - radius, centre + radius
        assert best_arms(structure.cells, low, high) == best_arms(twin.cells, low, high)
        assert optimistic_arm(structure.cells, low, high) == optimistic_arm(twin.cells, low, high)


def test_an_agent_comes_back_from_its_snapshot() -> None:
    structure = sb.around([[0.75, 0.25, 0.5], [0.25, 0.75, 0.5]], [0.0625, 0.125, 0.0])
    agent = sb.Agent(sb.SUCB.paper(structure, alpha=0.125))
    for number in range(60):
        if number == 30:
            again = sb.Agent.from_json(agent.to_json(), sb.SUCB.paper(structure, alpha=0.125))
        agents = [agent] if number < 30 else [agent, again]
        asked = [each.ask() for each in agents]
        assert len({decision.arm for decision in asked}) == 1
        for each, decision in zip(agents, asked, strict=True):
            each.tell(decision.id, float(number % 3 == decision.arm))
