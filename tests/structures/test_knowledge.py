"""Structures in the words of the problem: what they hold, what they promise, what they refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.theorems import play, pulls_of_phase

import structured_bandits as sb
from structured_bandits.structures.polyhedral.cells import PolytopeCells
from structured_bandits.structures.polyhedral.difference_cells import DifferenceCells
from structured_bandits.structures.polyhedral.product import ProductCells

OUTSIDE = pytest.mark.filterwarnings("ignore::structured_bandits.MeansOutsideUnitIntervalWarning")
PLACES = np.linspace(0.0, 1.0, 6)
TENT = 0.8 - 0.8 * np.abs(PLACES - 0.4)  # of docs/notes/mathematics.md 5.5


def holds(structure: Any, means: Any) -> bool:
    """Is there a model with these means?"""
    return sb.analyse(structure, means).inside


@pytest.mark.parametrize(
    ("make", "inside", "outside"),
    [
        (lambda: sb.unstructured(3), [0.1, 0.9, 0.5], [0.1, 1.1, 0.5]),
        (lambda: sb.unstructured(2, low=-1.0, high=0.5), [-0.9, 0.4], [0.2, 0.6]),
        (lambda: sb.linear([[1, 0], [0, 1], [0.5, 0.5]], (0, 1)), [0.2, 0.6, 0.4], [0.2, 0.6, 0.5]),
        (lambda: sb.linear([[1.0], [2.0]], (0, 1), low=0.0, high=1.0), [0.5, 1.0], [0.6, 1.2]),
        (lambda: sb.lipschitz([0, 1, 3], 0.1), [0.3, 0.4, 0.6], [0.3, 0.4, 0.61]),
        (lambda: sb.lipschitz([[0, 0], [3, 4]], 0.1), [0.2, 0.7], [0.2, 0.75]),
        (lambda: sb.monotone(3), [0.1, 0.1, 0.9], [0.1, 0.05, 0.9]),
        (lambda: sb.monotone(3, decreasing=True), [0.9, 0.5, 0.5], [0.5, 0.9, 0.5]),
        (lambda: sb.concave(3), [0.1, 0.5, 0.6], [0.1, 0.3, 0.6]),
        (lambda: sb.concave([0, 1, 5]), [0.1, 0.3, 0.6], [0.1, 0.15, 0.6]),
        (lambda: sb.unimodal(4), [0.1, 0.9, 0.5, 0.2], [0.5, 0.9, 0.2, 0.3]),
        (
            lambda: sb.unimodal(4, [(0, 1), (0, 2), (0, 3)]),
            [0.9, 0.1, 0.5, 0.2],
            [0.1, 0.9, 0.5, 0.2],
        ),
        (lambda: sb.known_best_mean(3, 0.7), [0.7, 0.1, 0.2], [0.6, 0.1, 0.2]),
    ],
)
@OUTSIDE
def test_which_means_belong(make: Any, inside: Any, outside: Any) -> None:
    structure = make()
    assert holds(structure, inside)
    assert not holds(structure, outside)


def test_a_cycle_is_unimodal_both_ways_round() -> None:
    ring = sb.unimodal(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    assert holds(ring, [0.9, 0.5, 0.1, 0.6])  # down both sides
    assert holds(ring, [0.9, 0.1, 0.3, 0.6])  # 2 climbs by 3 only
    assert not holds(ring, [0.9, 0.1, 0.8, 0.2])  # 2 is a second peak


def test_combinations() -> None:
    both = sb.union([sb.monotone(3, arms=["a", "b", "c"]), sb.concave(3)])
    assert both.arm_names == ("a", "b", "c")
    assert holds(both, [0.1, 0.2, 0.9])
    assert holds(both, [0.5, 0.9, 0.1])
    assert not holds(both, [0.9, 0.1, 0.5])
    near = sb.Constraint({"b": 1.0, "a": -1.0}, at_most=0.1)
    fewer = sb.intersection([sb.monotone(3, arms=["a", "b", "c"]), sb.concave(3)], near)
    assert holds(fewer, [0.1, 0.2, 0.25])
    assert not holds(fewer, [0.1, 0.25, 0.3])
    assert not holds(fewer, [0.1, 0.15, 0.9])
    half = sb.scaled(sb.unstructured(2), [0.5, 1.0])
    assert half.mean_ranges.tolist() == [[0.0, 0.5], [0.0, 1.0]]
    lines = sb.intersection([sb.linear([[1.0], [0.5]], (0, 1)), sb.linear([[1.0], [0.0]], (0, 1))])
    assert holds(lines, [0.0, 0.0])
    assert not holds(lines, [0.5, 0.25])


def test_a_product_joins_independent_groups() -> None:
    types = sb.FiniteStructure([[0.9, 0.1], [0.2, 0.6]])
    curve = sb.CurveStructure([sb.Piece(0, 1, [0.3, 0.8], [0.7, 0.4], closed="both")])
    both = sb.product([types, curve])
    assert both.arm_names == ("0", "1", "2", "3")
    assert isinstance(both.cells, ProductCells)
    assert holds(both, [0.9, 0.1, 0.5, 0.6])
    assert not holds(both, [0.9, 0.6, 0.5, 0.6])
    two = sb.product([sb.unstructured(2), sb.lipschitz([0, 1], 0.1)], arms=["a", "b", "c", "d"])
    assert isinstance(two.cells, DifferenceCells)  # constraints on differences stay such
    assert two.arm_names == ("a", "b", "c", "d")


def test_a_product_too_large_for_theory_still_plays() -> None:
    group = sb.FiniteStructure(np.random.default_rng(0).random((60, 2)))
    large = sb.product([group] * 3)
    with pytest.raises(sb.StructureError, match="60 × 60 × 60 = 216000 pieces are too many"):
        sb.analyse(large, large.mean_ranges[:, 0])
    result = sb.simulate(
        sb.SAE.paper(large, 500), sb.Bernoulli([0.5] * 6), 500, runs=2, progress=False
    )
    assert result.pulls["SAE"].sum() == 1000


def test_which_structures_have_a_closed_form() -> None:
    for structure in (
        sb.unstructured(3),
        sb.lipschitz(PLACES, 0.8),
        sb.unimodal(4),
        sb.monotone(4),
        sb.known_best_mean(3, 0.5),
        sb.intersection(sb.unimodal(3), sb.Constraint({2: 1, 1: -1}, at_most=0.1)),
        sb.intersection([sb.unimodal(3), sb.lipschitz([0, 1, 2], 0.2)]),
    ):
        assert isinstance(structure.cells, DifferenceCells)
    for structure in (
        sb.concave(3),
        sb.linear([[1.0, 0.0], [0.5, 0.5]], (0, 1)),
        sb.intersection(sb.unstructured(2), sb.Constraint({0: 1, 1: 1}, at_most=1.0)),
        sb.scaled(sb.monotone(3), [0.2, 0.5, 1.0]),
    ):
        assert isinstance(structure.cells, PolytopeCells)


def test_unstructured_arms_have_the_textbook_hardness() -> None:
    """docs/notes/mathematics.md 3.4: half the gap with the best arm's help, 0 alone, the gap if optimistic."""
    means = [0.3, 0.8, 0.5]
    a = sb.analyse(sb.unstructured(3), means)
    for arm in (0, 2):
        gap = 0.8 - means[arm]
        assert a.hardest(arm).gap == pytest.approx(gap / 2)
        assert a.hardest(arm, using=[arm, 1]).gap == pytest.approx(gap / 2)
        assert a.hardest(arm, using=[arm]).gap == pytest.approx(0.0, abs=1e-12)
        assert a.hardest(arm, using=[arm], optimistic=True).gap == pytest.approx(gap)
    assert a.gamma_star == 0.0
    assert a.lower_bound("gaussian", sigma=1.0).constant == pytest.approx(2 / 0.5 + 2 / 0.3)


def test_a_known_best_mean_rules_out_confusing_models() -> None:
    """I-14: Gamma_* = 0, and yet no model can hide behind the best arm."""
    a = sb.analyse(sb.known_best_mean(3, 0.7), [0.7, 0.5, 0.4])
    assert a.gamma_star == 0.0
    assert a.constant_regret_possible
    assert a.lower_bound().constant == 0.0


def test_golden_lower_bounds() -> None:
    """docs/notes/mathematics.md 5.2, 5.5, 5.6, 5.7 with the digits printed there."""
    for structure, constant in (
        (sb.unstructured(6), 8.085379),
        (sb.lipschitz(PLACES, 0.8), 6.520768),
        (sb.unimodal(6), 4.651749),
    ):
        assert sb.analyse(structure, TENT).lower_bound().constant == pytest.approx(
            constant, abs=6e-7
        )
    piece = sb.Polytope([[0.8, 0], [0, 0.8], [0.4, 0.4]], [0.1, 0.1, 0.05], np.eye(2), 0, 1)
    square = sb.PolyhedralStructure([piece])
    a = sb.analyse(square, square.at([0.8, 0.3]))
    gaussian = a.lower_bound("gaussian")
    assert gaussian.constant == pytest.approx(1.25, abs=1e-8)
    assert gaussian.allocation == pytest.approx([0.0, 3.125, 0.0], abs=1e-6)
    assert a.lower_bound("bernoulli").constant == pytest.approx(1.141524, abs=6e-7)


def test_models_that_exclude_an_outcome_cost_nothing() -> None:
    """Found in review: rounding made a certain reward of 1 merely likely, and gave it a price."""
    for structure in (sb.concave(3), sb.union([sb.concave(3), sb.lipschitz([0, 1, 2], 1.0)])):
        assert sb.analyse(structure, [0.3, 1.0, 0.0]).lower_bound().constant == 0.0
    sure = sb.union([sb.FiniteStructure([[0.5, 0.3]]), sb.linear([[0.5], [1.0]], (0, 1))])
    assert sb.analyse(sure, [0.5, 0.3]).lower_bound().constant == 0.0


def test_probabilities_may_be_off_by_rounding() -> None:
    """Found in review: a mean of -5e-17 is 0."""
    exact, rounded = (
        sb.analyse(sb.unimodal(3), [low, 0.5, 0.2]).lower_bound().constant for low in (0.0, -5e-17)
    )
    assert rounded == pytest.approx(exact)


@pytest.mark.parametrize("epsilon", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("bounds", [None, (-1.0, 1.0)])
@OUTSIDE
def test_the_end_of_optimism(epsilon: float, bounds: Any) -> None:
    """docs/notes/mathematics.md 5.3: the constant is 8, all of it on an arm that no optimist would play."""
    arms = [[1.0, 0.0], [1.0 - epsilon, 2.0 * epsilon], [0.0, 1.0]]
    structure = sb.linear(arms, bounds)
    a = sb.analyse(structure, structure.at([1.0, 0.0]))
    methods = ["planes", "cone"] if bounds is None else ["planes"]
    for method in methods:
        found = a.lower_bound("gaussian", sigma=1.0, method=method)
        assert found.constant == pytest.approx(8.0, abs=1e-7)
        assert found.allocation == pytest.approx([0.0, 0.0, 8.0], abs=1e-6)


@OUTSIDE
def test_cutting_planes_and_cones_agree() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        structure = sb.linear(rng.normal(size=(6, 3)), bounds=None)
        a = sb.analyse(structure, structure.at(rng.normal(size=3)))
        planes, cone = (a.lower_bound("gaussian", method=name) for name in ("planes", "cone"))
        assert planes.constant == pytest.approx(cone.constant, rel=1e-6)


@OUTSIDE
def test_the_cone_program_says_what_it_needs() -> None:
    bounded, free = sb.linear([[1.0], [2.0]]), sb.linear([[1.0], [2.0]], bounds=None)
    with pytest.raises(sb.ParameterError, match="without bounds"):
        sb.analyse(bounded, bounded.at([0.5])).lower_bound("gaussian", method="cone")
    with pytest.raises(sb.ParameterError, match="for 'gaussian', not for 'bernoulli'"):
        sb.analyse(free, free.at([0.5])).lower_bound(method="cone")
    with pytest.raises(sb.ParameterError, match="method='simplex'"):
        sb.analyse(free, free.at([0.5])).lower_bound(method="simplex")


@pytest.mark.parametrize("arms", [2, 5, 10])
def test_sae_on_unstructured_arms_obeys_the_theorem(arms: int) -> None:
    """On the good event no arm is pulled more often than its last phase allows."""
    horizon, good = 1_000_000, 0
    means = np.linspace(0.2, 0.8, arms)
    structure = sb.unstructured(arms)
    sets = sb.analyse(structure, means).elimination(horizon)
    policy = sb.SAE.paper(structure, horizon, alpha=0.5)
    for run in range(100):
        played = play(policy, means, np.random.default_rng([arms, run]))
        if played.good:
            good += 1
            for arm in range(arms - 1):
                assert played.pulls[arm] <= pulls_of_phase(policy, sets.last_phase[arm])
    assert good >= 50


@pytest.mark.parametrize(
    ("known", "means"),
    [
        (sb.unimodal(40), np.where(np.arange(40) == 13, 0.8, 0.3)),
        (sb.lipschitz(np.linspace(0, 1, 40), 0.8), 0.9 - 0.8 * np.linspace(0, 1, 40)),
    ],
    ids=["unimodal", "lipschitz"],
)
def test_knowledge_lowers_regret(known: Any, means: Any) -> None:
    """The 95 % intervals of SAE's and of ASAE's regret with and without the structure are apart."""
    horizon = 20_000
    worlds = {}
    for name, structure in (("with", known), ("without", sb.unstructured(40))):
        policies = {
            "SAE": sb.SAE.paper(structure, horizon, alpha=0.25),
            "ASAE": sb.ASAE.paper(structure, alpha=0.25, eta=1.0),
        }
        result = sb.simulate(policies, sb.Bernoulli(means), horizon, runs=60, progress=False)
        worlds[name] = result.summary()
    for policy in ("SAE", "ASAE"):
        assert worlds["with"]["high"][policy] < worlds["without"]["low"][policy], policy


def test_models_by_parameters() -> None:
    plane = sb.linear([[1, 0], [0, 1], [0.5, 0.5]], (0, 1), arms=["x", "y", "z"])
    assert plane.means([0.25, 0.75]).tolist() == [0.25, 0.75, 0.5]
    place = plane.at([0.25, 0.75])
    a = sb.analyse(plane, place)
    assert a.inside
    assert a.best_arm == 1
    assert a.model_gaps(plane.at([0.0, 1.0])) == pytest.approx([0.25, 0.25, 0.0])
    assert plane.model_name(place) == "(0.25, 0.75)"
    peaks = sb.unimodal(3)
    assert peaks.model_name(peaks.at([0.1, 0.2, 0.3], piece="peak 2")) == "peak 2 (0.1, 0.2, 0.3)"
    with pytest.raises(sb.StructureError, match="there are 3 pieces"):
        peaks.means([0.1, 0.2, 0.3])
    with pytest.raises(sb.StructureError, match=r"violates a constraint of piece 'peak 0' by 0\.1"):
        peaks.at([0.1, 0.2, 0.3])


def test_pictures_of_representations() -> None:
    assert "PolyhedralStructure(3 pieces × 3 arms" in sb.unimodal(3)._repr_html_()
    assert sb.unimodal(3) == sb.unimodal(3)
    assert sb.unimodal(3) != sb.unstructured(3)
    assert (
        len({sb.lipschitz(PLACES, 0.8), sb.lipschitz(PLACES, 0.8), sb.lipschitz(PLACES, 0.7)}) == 2
    )


def test_an_agent_asks_programs_and_survives_a_restart() -> None:
    structure = sb.concave(4)
    agent = sb.Agent(sb.SUCB.paper(structure, alpha=0.5), seed=1)
    for _ in range(30):
        decision = agent.ask()
        agent.tell(decision.id, float(decision.arm == 2))
    again = sb.Agent.from_json(agent.to_json(), sb.SUCB.paper(sb.concave(4), alpha=0.5))
    for _ in range(10):
        one, two = agent.ask(), again.ask()
        assert one.arm == two.arm
        agent.tell(one.id, 0.0)
        again.tell(two.id, 0.0)
    assert 2 in agent.active_arms


def test_workers_change_nothing() -> None:
    structure = sb.concave(4)
    policies = {
        "SUCB": sb.SUCB.paper(structure, alpha=0.5),
        "SAE": sb.SAE.paper(structure, 200),
        "UCB": sb.UCB(4),
    }
    world = sb.Bernoulli([0.2, 0.5, 0.6, 0.3])
    one, two = (
        sb.simulate(policies, world, 200, runs=6, workers=count, progress=False) for count in (1, 2)
    )
    for name in policies:
        assert np.array_equal(one.pulls[name], two.pulls[name])
        assert np.array_equal(one.plans[name], two.plans[name])


def test_unbounded_parameters_are_no_obstacle() -> None:
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        free = sb.linear([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]], bounds=None)
    policies = {
        kind.__name__: kind(free, reward_range=None, sigma=0.1) for kind in (sb.SUCB, sb.GreedyMLE)
    }
    policies["SAE"] = sb.SAE.paper(free, 300, reward_range=None, sigma=0.1)
    world = sb.Gaussian([0.1, 0.5, 0.42], sigma=0.1)
    result = sb.simulate(policies, world, 300, runs=2, progress=False)
    assert (result.pulls["SUCB"][:, 1] > 100).all()


SQUARE = {"slopes": [[1, 0], [0, 1]], "rows": [[1, 0], [0, 1]], "lower": 0.0, "upper": 1.0}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sb.PolyhedralStructure([]), "none given"),
        (lambda: sb.PolyhedralStructure([3]), r"pieces\[0\]=3: expected a Polytope"),
        (lambda: sb.PolyhedralStructure([sb.Polytope(**{**SQUARE, "lower": 2.0, "upper": 3.0}), sb.Polytope([[1.0]])]), r"pieces\[1\] has 1 arms"),
        (lambda: sb.PolyhedralStructure([sb.Polytope([[1, 0], [0, 1]], rows=[[1, 1], [1, 1]], lower=[0, 3], upper=[1, 4], name="left")]), "piece 'left': no model satisfies its constraints"),
        (lambda: sb.PolyhedralStructure([sb.Polytope(**SQUARE), sb.Polytope([[1, 0], [0, 1]], rows=[[1, 1], [1, 1]], lower=[0, 3], upper=[1, 4])]), "piece '1': no model satisfies its constraints"),
        (lambda: sb.Polytope([1, 2]), r"slopes have shape \(2,\); expected arms × parameters"),
        (lambda: sb.Polytope([[1, 2], [3]]), "expected rows of numbers of equal length"),
        (lambda: sb.Polytope([[1, math.nan]]), "slopes must be finite"),
        (lambda: sb.Polytope([[1, 0]], rows=[[1]]), r"rows have shape \(1, 1\); expected constraints × 2"),
        (lambda: sb.Polytope([[1]], rows=[[1]], lower=1, upper=0, name="thin"), r"piece 'thin', rows\[0\]: lower 1 is not at most upper 0"),
        (lambda: sb.Polytope([[1]], rows=[[1]], lower=[0, 1]), "expected 1 numbers"),
        (lambda: sb.Polytope([[1]], math.inf), "intercepts must be finite"),
        (lambda: sb.unstructured(0), "n_arms=0"),
        (lambda: sb.unstructured(2, low=1.0, high=1.0), "expected low < high"),
        (lambda: sb.linear([1.0, 2.0]), r"features: shape \(2,\)"),
        (lambda: sb.linear([["a"]]), "expected numbers"),
        (lambda: sb.linear([[1.0]], bounds=(0, 1, 2)), "expected a pair"),
        (lambda: sb.linear([[1.0]], low=2.0, high=3.0), "no model satisfies its constraints"),
        (lambda: sb.lipschitz([0, 1], -1.0), "constant=-1.0"),
        (lambda: sb.lipschitz([], 1.0), "expected a place for each arm"),
        (lambda: sb.concave([0, 2, 1]), "expected rising numbers"),
        (lambda: sb.unimodal(3, [(0, 1)]), "they do not connect all 3 arms"),
        (lambda: sb.unimodal(3, [(0, 1), (1, 5)]), r"\(1, 5\) is outside the arms 0 to 2"),
        (lambda: sb.unimodal(3, [(0, 0), (0, 1), (1, 2)]), "no pair of different arms"),
        (lambda: sb.unimodal(3, 7), "expected pairs of arms"),
        (lambda: sb.unimodal(20, [(i, j) for i in range(20) for j in range(i) if (i < 10) == (j < 10)]), "they do not connect all 20 arms"),
        (lambda: sb.unimodal(8, [(i, j) for i in range(8) for j in range(i)]), "262,144 spanning trees"),
        (lambda: sb.known_best_mean(3, 0.0), r"value=0\.0: expected more than low=0\.0"),
        (lambda: sb.unstructured(100_000), "expected at most 2000"),
        (lambda: sb.unstructured(2, low=True), "low=True: expected a finite number"),
        (lambda: sb.linear([[1.0]], low="a"), "low='a': expected a finite number"),
        (lambda: sb.monotone(3, decreasing="false"), "decreasing='false': expected True or False"),
        (lambda: sb.concave(True), "n_arms=True"),
        (lambda: sb.union(sb.unstructured(2)), "expected a list of structures"),
        (lambda: sb.intersection(sb.unstructured(2), 5), "constraints=5: expected a Constraint"),
        (lambda: sb.intersection(sb.unstructured(2), sb.Constraint({0: "a"})), "expected numbers, and weights by arm"),
        (lambda: sb.scaled(sb.unstructured(2), "a"), "factors='a'"),
        (lambda: sb.PolyhedralStructure(sb.Polytope([[1.0]])), "got a single Polytope"),
        (lambda: sb.Polytope([[1.0, 2.0]]).means([1.0, 2.0, 3.0]), "expected 2 numbers"),
        (lambda: sb.linear([[1.0, 0.0]], (0, 0.5)).means(sb.linear([[1.0, 0.0]], (0, 1)).at([0.9, 0.1])), r"violates a constraint of piece '0' by 0\.4"),
        (lambda: sb.union([]), "none given"),
        (lambda: sb.union([sb.unstructured(2), sb.unstructured(3)]), r"structures\[1\] has 3 arms, the first has 2"),
        (lambda: sb.product([3]), r"structures\[0\]=3"),
        (lambda: sb.intersection(sb.unstructured(2), sb.Constraint({"7": 1}, at_most=0)), "arm='7' is unknown"),
        (lambda: sb.intersection(sb.unstructured(2), sb.Constraint({0: 1}, at_most=-1)), "no model satisfies everything"),
        (lambda: sb.intersection(sb.unstructured(2), sb.Constraint({0: 1}, 2, 1)), "at_least=2 is above at_most=1"),
        (lambda: sb.intersection(sb.unstructured(2), sb.Constraint({0: 0.0})), "not all 0"),
        (lambda: sb.intersection(sb.unstructured(2), [3]), r"constraints\[0\]=3"),
        (lambda: sb.scaled(sb.unstructured(2), [1, 2, 3]), "expected a number, or one for each arm"),
        (lambda: sb.unstructured(2).at([0.5]), "piece '0' has 2 parameters"),
        (lambda: sb.unimodal(2).at([0.5, 0.5], piece="peak 9"), "piece='peak 9' is unknown"),
    ],
)  # fmt: skip
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises(sb.StructuredBanditsError, match=message):
        make()


def test_rows_of_very_different_size() -> None:
    """Found in review: a false "infeasible" made the distance of the truth from itself infinite."""
    piece = sb.Polytope(
        [[-0.5, -1], [0.25, 0], [0.625, -7], [-0.125, 8]],
        [0.5, 0.625, 0.5625, 0.4375],
        [[256, -2048], [-24, 128], [-1, 32]],
        [-48, -4.6875, 0.6171875],
        [-14, -1.4375, 1.0859375],
    )
    structure = sb.PolyhedralStructure([piece])
    a = sb.analyse(structure, structure.at([0.2890625, 0.04296875]))
    equal = np.array([True, True, False, False])
    assert a.distances.nearest(3, np.ones(4), False, equal).gap == pytest.approx(0.0, abs=1e-9)


@OUTSIDE
def test_features_of_very_different_size() -> None:
    """Found in review: least squares gave up."""
    arms = sb.linear([[-400.0, 1e-4], [-900.0, 3e-4]], bounds=[(0, 0.001), (0, 1000)])
    result = sb.simulate(sb.GreedyMLE(arms), sb.Bernoulli([0.5, 0.5]), 50, runs=3, progress=False)
    assert result.pulls["GreedyMLE"].sum() == 150


def test_lower_dimensional_pieces_are_accepted() -> None:
    """A segment given by two opposite inequalities, and a point given by equations."""
    line = sb.Polytope(
        [[1, 0], [0, 1]], rows=[[1, 1], [-1, -1], [1, 0]], lower=[-9, -9, 0], upper=[1, -1, 1]
    )
    dot = sb.Polytope([[1, 0], [0, 1]], rows=[[1, 0], [0, 1]], lower=[0.3, 0.6], upper=[0.3, 0.6])
    both = sb.PolyhedralStructure([line, dot])
    a = sb.analyse(both, [0.3, 0.7])
    assert a.inside
    assert a.best_arm == 1
    assert a.hardest(0).gap == pytest.approx(0.2)
    assert sb.analyse(both, [0.3, 0.6]).inside
    assert not sb.analyse(both, [0.3, 0.65]).inside
