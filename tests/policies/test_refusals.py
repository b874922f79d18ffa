"""A policy that cannot play on a structure says what it plays, and names what plays there.

ModelTS on a polytope said that it asks for 'model_lines', and to use one of 15 policies in the order of
the alphabet.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.policies.base import POLICIES
from structured_bandits.structures.base import Structure

TABLE = np.array([[0.125, 0.5], [0.625, 0.5]])
STRUCTURES: dict[str, Structure] = {
    "table": sb.FiniteStructure(TABLE),
    "curve": sb.CurveStructure([sb.Piece(0, 1, [0.25, 0.75], [0.75, 0.25])]),
    "margins": sb.around(TABLE, 0.05),
    "unimodal": sb.unimodal(3),
    "known best mean": sb.known_best_mean(3, 0.75),
    "linear": sb.linear(np.eye(2), bounds=(0.0, 1.0), low=0.0, high=1.0),
    "concave": sb.concave(3),
    "mixtures": sb.mixtures(TABLE),
    "product of tables": sb.product([sb.FiniteStructure(TABLE), sb.FiniteStructure(TABLE)]),
    "product with a polytope": sb.product([sb.FiniteStructure(TABLE), sb.unimodal(2)]),
    "union": sb.union([sb.FiniteStructure(TABLE), sb.FiniteStructure([[0.25, 0.125]])]),
}


def refusals(structure: Structure) -> dict[str, str]:
    """Return what the policies say that cannot play on a structure."""
    said = {}
    for name, kind in POLICIES.items():
        horizon = {"horizon": 100} if "horizon" in kind.parameter_names() else {}
        try:
            kind(structure, **horizon)  # type: ignore[call-arg]
        except sb.ParameterError as error:
            said[name] = str(error)
    return said


@pytest.mark.parametrize("name", STRUCTURES)
def test_refusals_say_what_is_played_and_name_policies_that_play(name: str) -> None:
    structure = STRUCTURES[name]
    said = refusals(structure)
    assert set(said) >= {"IDS", "WAGP"} - {{"table": "IDS", "curve": "WAGP"}.get(name, "")}
    for policy, text in said.items():
        assert text.startswith(f"{policy} cannot play on structure={structure!r}: it plays ")
        instead = re.split(r", (?=[A-Z]\w+\()", text.partition("Take instead, best first: ")[2])
        assert len(instead) >= 3
        for each in instead:
            played = eval(each, {**vars(sb), "structure": structure})
            assert sb.Agent(played).ask().arm in range(structure.n_arms)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("unimodal", ["TSC", "ThompsonSampling", "SUCB"]),
        ("mixtures", ["SUCB", "TSC", "ThompsonSampling"]),
        ("union", ["SUCB", "TSC", "ThompsonSampling"]),
    ],
)
def test_what_model_ts_says_of_structures_that_are_no_table(name: str, instead: list[str]) -> None:
    said = refusals(STRUCTURES[name])["ModelTS"]
    assert "it plays tables, with margins or without, curves and products of these" in said
    listed = said.partition("best first: ")[2]
    places = [listed.index(f"{policy}(") for policy in instead]
    assert places == sorted(places)
