"""All that the library has passes the checks that it ships."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.policies.base import POLICIES
from structured_bandits.testing.structure import policies_for

TABLE = sb.FiniteStructure([[0.8, 0.3, 0.5], [0.2, 0.7, 0.1], [0.1, 0.6, 0.9]])
CURVES = sb.CurveStructure(
    [
        sb.Piece(0, 1, [0.1, 0.5, 0.3], [0.9, 0.5, 0.7]),
        sb.Piece(1, 2, [0.9, 0.5, 0.7], [0.2, 0.1, 0.8]),
    ]
)
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
    assert checked | {sb.UCB, sb.ImprovedUCB} == set(POLICIES.values())


@pytest.mark.parametrize(
    "policy", [*policies_for(TABLE), sb.UCB(3), sb.ImprovedUCB(3, 1000)], ids=repr
)
def test_policies_on_tables(policy: Any) -> None:
    sb.testing.check_policy(policy)


@pytest.mark.parametrize("policy", policies_for(CURVES), ids=repr)
def test_policies_on_curves(policy: Any) -> None:
    """Compiled is only what tables have not shown: tests/policies plays the others so."""
    sb.testing.check_policy(policy, compiled=isinstance(policy, sb.WAGP))


@pytest.mark.parametrize(
    "policy",
    [sb.UCB(1), sb.UCB(3, reward_range=None, sigma=0.5), sb.SAE(TABLE, 1000, reward_range=(-1, 3))],
    ids=repr,
)
def test_policies_with_one_arm_or_other_rewards(policy: Any) -> None:
    sb.testing.check_policy(policy, compiled=False)


def test_finite_structures() -> None:
    sb.testing.check_structure(TABLE, range(3), compiled=False)


def test_curve_structures() -> None:
    models = [0, 0.25, 0.5, 1.0, 1.5, 1.75]
    sb.testing.check_structure(CURVES, models, compiled=False)


@pytest.mark.parametrize("name", BUILT)
def test_builders(name: str) -> None:
    sb.testing.check_structure(BUILT[name](), compiled=False, boxes=24, pulls=20)


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
