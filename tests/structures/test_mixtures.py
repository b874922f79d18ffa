"""Mixtures of rows: their convex hull, by weights or by inequalities, is one structure."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from support.boxes import best_arms, optimistic_arm
from support.play import play

import structured_bandits as sb
from structured_bandits.errors import StructureError
from structured_bandits.structures.polyhedral.polytope import means_with

CORNERS = np.array([[0.25, 0.5], [0.75, 0.25], [0.5, 0.875]])
#: With a corner twice, a row between two others and one inside.
ROWS = np.vstack([CORNERS, CORNERS[1], [0.5, 0.375], [0.5, 0.5]])


def by_inequalities(corners: Any) -> Any:
    """The triangle as means on the inner side of each edge, within the box around it."""
    rows, lower = [], []
    for one, two, third in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        along = corners[two] - corners[one]
        across = np.array([-along[1], along[0]])
        side = np.sign(across @ (corners[third] - corners[one]))
        rows.append(side * across)
        lower.append(side * across @ corners[one])
    box = corners.min(axis=0), corners.max(axis=0)
    return sb.PolyhedralStructure([means_with(*box, np.array(rows), lower)])


HULL = by_inequalities(CORNERS)


@pytest.mark.parametrize("rows", [CORNERS, ROWS], ids=["corners", "rows that add nothing"])
def test_the_same_hull_written_otherwise(rows: Any) -> None:
    """The same answers in boxes, the same arms played, the same theory."""
    mixtures = sb.mixtures(rows)
    assert mixtures.best_arms == HULL.best_arms == (0, 1)
    rng = np.random.default_rng(5)
    for _ in range(60):
        centre, radius = rng.random(2), rng.uniform(0.05, 0.5, 2)
        low, high = centre - radius, centre + radius
        assert best_arms(mixtures.cells, low, high) == best_arms(HULL.cells, low, high)
        assert optimistic_arm(mixtures.cells, low, high) == optimistic_arm(HULL.cells, low, high)
    rewards = (rng.random((2, 60)) < [[0.5], [0.625]]).astype(int)
    for make in (
        lambda s: sb.SUCB.paper(s, alpha=0.125),
        lambda s: sb.SAE.paper(s, 60, alpha=0.125),
        sb.GreedyMLE,
    ):
        played = [play(make(each), rewards, 60, False, True).arms for each in (mixtures, HULL)]
        assert played[0] == played[1]


def test_the_same_theory_of_both() -> None:
    mixtures = sb.mixtures(ROWS)
    for truth in ([0.5, 0.5625], [0.65, 0.35], CORNERS[2]):
        ours, theirs = sb.analyse(mixtures, truth), sb.analyse(HULL, truth)
        assert (ours.best_arm, ours.inside) == (theirs.best_arm, theirs.inside)
        assert ours.gamma_star == pytest.approx(theirs.gamma_star, abs=1e-8)
        for arm in (0, 1):
            for optimistic in (False, True):
                one, two = (a.hardest(arm, optimistic=optimistic) for a in (ours, theirs))
                assert one.gap == pytest.approx(two.gap, abs=1e-8)
                assert one.attained == two.attained
        for family in ("bernoulli", "gaussian"):
            constant = theirs.lower_bound(family).constant
            assert ours.lower_bound(family).constant == pytest.approx(constant, rel=1e-5)


def test_an_audience_of_types_is_no_type() -> None:
    """Two types, each with a favourite, and a third arm that is best only for a mix of both."""
    table = [[0.8, 0.2, 0.6], [0.2, 0.8, 0.6]]
    assert sb.FiniteStructure(table).best_arms == (0, 1)
    assert sb.mixtures(table).best_arms == (0, 1, 2)


def test_models_by_weights_and_names() -> None:
    table = sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]], arms=["tea", "milk"], models=["A", "B"])
    audience = sb.mixtures(table)
    assert audience.arm_names == ("tea", "milk")
    place = audience.at({"A": 3, "B": 7})
    assert place == audience.at([0.3, 0.7])
    assert audience.model_name(place) == "30 % A, 70 % B"
    assert audience.means(place) == pytest.approx([0.38, 0.58])
    assert audience.means("B").tolist() == audience.means(1).tolist() == [0.2, 0.7]
    assert audience.model_name("B") == "100 % B"
    assert audience.mean_ranges.tolist() == [[0.2, 0.8], [0.3, 0.7]]
    assert audience.model_name(audience.at([0.9999, 0.0001])) == "100 % A"
    hardest = sb.analyse(audience, "A").hardest("milk")
    assert audience.model_name(hardest.model) == "50 % A, 50 % B"
    assert repr(audience) == "MixtureStructure(2 models × 2 arms, 2 arms best in some mixture)"
    assert "part of the mix" in audience._repr_html_()
    assert pickle.loads(pickle.dumps(audience)) == audience
    assert sb.mixtures(table, arms=["1", "2"], models=["x", "y"]).model_names == ("x", "y")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"A": -1}, r"parameter\['A'\]=-1: expected a finite number >= 0"),
        ({"A": 0}, "expected a positive weight"),
        ({"C": 1}, "model='C' is unknown; known are 'A', 'B'"),
        ([0.5, 0.6], "violates a constraint"),
        ([1.0], "has 2 parameters"),
        (True, "give an index from 0 or a name"),
    ],
)
def test_wrong_weights_are_refused(weights: Any, message: str) -> None:
    audience = sb.mixtures([[0.8, 0.3], [0.2, 0.7]], models=["A", "B"])
    with pytest.raises(StructureError, match=message):
        audience.means(weights)


def test_one_row_is_that_row() -> None:
    audience = sb.mixtures([[0.25, 0.5]])
    assert audience.best_arms == (1,)
    assert sb.analyse(audience, 0).inside


def test_only_tables_can_be_mixed_or_widened() -> None:
    for build in (sb.mixtures, lambda structure: sb.around(structure, 0.1)):
        with pytest.raises(StructureError, match="expected a table of models × arms"):
            build(sb.unimodal(3))


def test_it_does_what_is_asked_of_every_structure() -> None:
    audience = sb.mixtures([[0.75, 0.25, 0.5], [0.25, 0.75, 0.5], [0.25, 0.25, 0.625]])
    models = ["1", audience.at([0.2, 0.3, 0.5]), audience.at([0.5, 0.5, 0.0])]
    sb.testing.check_structure(audience, models, policies=False, boxes=20, pulls=20)
