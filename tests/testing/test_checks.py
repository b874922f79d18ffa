"""All that the library has passes the checks that it ships."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.policies.base import POLICIES
from structured_bandits.structures.base import Structure
from structured_bandits.testing.structure_checks import policies_for

TABLE = sb.FiniteStructure([[0.8, 0.3, 0.5], [0.2, 0.7, 0.1], [0.1, 0.6, 0.9]])
CURVES = sb.CurveStructure(
    [
        sb.Piece(0, 1, [0.1, 0.5, 0.3], [0.9, 0.5, 0.7]),
        sb.Piece(1, 2, [0.9, 0.5, 0.7], [0.2, 0.1, 0.8]),
    ]
)
BLIND = [  # policies that ask a structure nothing
    sb.UCB(3),
    sb.ImprovedUCB(3, 1000),
    sb.KLUCB(3),
    sb.KLUCB(3, variant="++", horizon=1000),
    sb.MOSS(3),
    sb.MOSS(3, 1000),
    sb.IMED(3),
    sb.UCBV(3),
    sb.OSSB(3),
    sb.ThompsonSampling(3),
]
TREE = sb.unimodal(4)
BUILT: dict[str, Any] = {
    "unstructured": lambda: sb.unstructured(3),
    "lipschitz": lambda: sb.lipschitz([0.0, 0.3, 1.0], 1.0),
    "monotone": lambda: sb.monotone(3),
    "concave": lambda: sb.concave([0.0, 0.5, 1.0]),
    "unimodal": lambda: TREE,
    "known_best_mean": lambda: sb.known_best_mean(3, 0.75),
    "union": lambda: sb.union([TABLE, sb.FiniteStructure([[0.5, 0.25, 0.75]])]),
    "product": lambda: sb.product([sb.FiniteStructure([[0.5], [0.75]]), sb.unstructured(1)]),
    "intersection": lambda: sb.intersection(
        sb.unstructured(3), sb.Constraint({0: 1.0}, at_least=0.5)
    ),
    "scaled": lambda: sb.scaled(CURVES, [0.5, 1.0, 0.75]),
    "linear": lambda: sb.linear([[0.75, 0.25], [0.25, 0.75], [0.5, 0.25]], bounds=(0.0, 1.0)),
}


def test_the_checks_are_loaded_when_they_are_asked_for() -> None:
    code = (
        "import sys, structured_bandits as sb; assert 'structured_bandits.testing' not in sys.modules;"
        "sb.testing.check_policy; assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_registered_policy_is_checked_below() -> None:
    checked = {type(policy) for one in (TABLE, CURVES) for policy in policies_for(one)}
    known = checked | {type(policy) for policy in BLIND}
    assert known == set(POLICIES.values()), "add it to BLIND"


@pytest.mark.parametrize("policy", [*policies_for(TABLE), *BLIND], ids=repr)
def test_policies_on_tables(policy: Any) -> None:
    sb.testing.check_policy(policy)


@pytest.mark.parametrize("policy", policies_for(CURVES), ids=repr)
def test_policies_on_curves(policy: Any) -> None:
    """Compiled is only what tables have not shown: tests/policies plays the others so."""
    sb.testing.check_policy(policy, compiled=isinstance(policy, sb.WAGP))


class OwnKind(Structure):
    """No more than the base class asks for."""

    kind = "own"

    def means(self, model: Any) -> Any:
        return TABLE.means(model)

    def model_name(self, model: Any) -> str:
        return str(model)

    def distances(self, means: Any, tolerance: float) -> Any:
        raise sb.StructureError("no theory")

    def _table(self, limit: int) -> Any:
        return list(self.arm_names), [], 0


def test_a_kind_of_ones_own_needs_no_representation() -> None:
    """The example of docs/add-a-structure.md failed as a module: its address was in each policy's repr."""
    own = OwnKind(TABLE.cells, None)
    sb.testing.check_structure(own, range(3), compiled=False, boxes=5, pulls=20)
    assert repr(own) == "OwnKind(3 arms, 3 arms best in some model)"


@pytest.mark.parametrize(
    "policy",
    [
        sb.UCB(1),
        sb.UCB(3, reward_range=None, sigma=0.5),
        sb.SAE.paper(TABLE, 1000, reward_range=(-1, 3)),
        *(kind(1, reward_range=(-1, 3)) for kind in (sb.KLUCB, sb.MOSS, sb.IMED, sb.UCBV)),
        *(kind(3, reward_range=(0.1, 0.7)) for kind in (sb.KLUCB, sb.MOSS, sb.IMED, sb.UCBV)),
        *(kind(3, reward_range=None, sigma=0.5) for kind in (sb.KLUCB, sb.MOSS, sb.IMED)),
    ],
    ids=repr,
)
def test_policies_with_one_arm_or_other_rewards(policy: Any) -> None:
    sb.testing.check_policy(policy, compiled=False)


def test_finite_structures() -> None:
    sb.testing.check_structure(TABLE, range(3), compiled=False)


def test_curve_structures() -> None:
    models = [0, 0.25, 0.5, 1.0, 1.5, 1.75]
    sb.testing.check_structure(CURVES, models, compiled=False, boxes=30, pulls=30)


@pytest.mark.parametrize("name", BUILT)
def test_builders(name: str) -> None:
    sb.testing.check_structure(BUILT[name](), compiled=False, boxes=10, pulls=10)


@pytest.mark.parametrize(
    "world",
    [
        sb.Bernoulli([0.0, 0.3, 1.0]),
        sb.Gaussian([0.3, -0.5], 2.0),
        sb.Tape(np.random.default_rng(0).integers(0, 9, (3, 50)) / 8),
    ],
    ids=repr,
)
def test_worlds(world: Any) -> None:
    sb.testing.check_world(world)
