"""A structure in which one arm is best everywhere is called useless for choosing."""

from __future__ import annotations

import pytest

import structured_bandits as sb
from structured_bandits.structures.base import Structure
from structured_bandits.structures.single_best_arm import no_choice

SAME = sb.FiniteStructure([[0.9, 0.1], [0.8, 0.2]], arms=["tea", "coffee"])
OTHER = sb.FiniteStructure([[0.9, 0.1], [0.2, 0.8]], arms=["tea", "coffee"])


@pytest.mark.parametrize(
    ("structure", "said"),
    [
        (SAME, "tea is best in every row, so"),
        (sb.around([[0.9, 0.1], [0.8, 0.2]], 0.0), "arm 0 is best in every row, so"),
        (sb.around([[0.9, 0.1], [0.8, 0.2]], 0.1), "every row, whatever the margins allow, so"),
        (sb.CurveStructure([sb.Piece(0, 1, [0.5, 0], [0.75, 0.5])]), "arm 0 is best in every model"),
        (sb.monotone(3), "arm 2 is best in every model, so there is nothing to learn"),
        (sb.product([sb.FiniteStructure([[0.9]]), sb.FiniteStructure([[0.1], [0.2]])]), "every model"),
        (sb.FiniteStructure([[0.5], [0.6]]), "There is only one arm, so there is nothing to choose."),
    ],
    ids=["table", "no margins", "margins", "curve", "polytope", "product", "one arm"],
)  # fmt: skip
def test_one_arm_that_is_best_in_every_model_is_told(structure: Structure, said: str) -> None:
    assert said in no_choice(structure)


@pytest.mark.parametrize(
    "structure",
    [
        OTHER,
        sb.around([[0.5, 0.45], [0.6, 0.5]], 0.1),
        sb.unimodal(3),
        sb.product([sb.FiniteStructure([[0.5]]), sb.FiniteStructure([[0.4], [0.6]])]),
    ],
    ids=["table", "margins that overlap", "polytope", "product of groups with a best arm each"],
)
def test_nothing_is_said_where_the_best_arm_depends_on_the_model(structure: Structure) -> None:
    assert no_choice(structure) == ""


def test_an_analysis_shows_that_one_arm_is_best_in_every_model() -> None:
    assert "best arm 'tea' in every model" in repr(sb.analyse(SAME, 0))
    assert "best arm 'tea'," in repr(sb.analyse(OTHER, 0))
    assert "best arm 'coffee'," in repr(sb.analyse(SAME, [0.1, 0.9]))
