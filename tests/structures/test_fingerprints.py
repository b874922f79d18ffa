"""Fingerprints: default names stay out of them, and those that version 0.1.0 printed are known."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence

import pytest

import structured_bandits as sb

TABLE = [[0.8, 0.3], [0.2, 0.7]]
Names = Sequence[str] | None


def curves(arms: Names) -> sb.CurveStructure:
    pieces = [
        sb.Piece(0, 1, [0.9, 0.5], [0.1, 0.5], closed="both"),
        sb.Piece(2, 2, [0.25, 0.75], [0.25, 0.75]),
    ]
    return sb.CurveStructure(pieces, arms=arms)


def polyhedral(arms: Names) -> sb.PolyhedralStructure:
    corner = sb.Polytope(
        [[1, 0], [0, 1]], rows=[[1, 0], [0, 1], [1, 1]], lower=0.0, upper=[1, 1, 1.5]
    )
    line = sb.Polytope([[0.5], [0.25]], 0.25, [[1]], 0, 1)
    return sb.PolyhedralStructure([corner, line], arms=arms)


def near(arms: Names) -> sb.PolyhedralStructure:
    limit = sb.Constraint({0: 1, 1: -1}, at_most=0.125)
    return sb.intersection(sb.lipschitz([0, 1], 0.5), limit, arms=arms)


MAKE: dict[str, Callable[[Names], sb.Structure]] = {
    "finite": lambda arms: sb.FiniteStructure(TABLE, arms=arms),
    "curves": curves,
    "polyhedral": polyhedral,
    "unimodal": lambda arms: sb.unimodal(2, arms=arms),
    "unstructured": lambda arms: sb.unstructured(2, arms=arms),
    "union": lambda arms: sb.union([sb.monotone(2), sb.FiniteStructure(TABLE)], arms=arms),
    "intersection": near,
    "scaled": lambda arms: sb.scaled(sb.monotone(2), [0.5, 0.25], arms=arms),
    "product": lambda arms: sb.product(
        [sb.FiniteStructure(TABLE), curves(None)], arms=arms and ("a", "b", "c", "d")
    ),
    "product of named": lambda arms: sb.product([sb.FiniteStructure(TABLE, arms), curves(None)]),
}
FIRST = {  # printed by version 0.1.0, without names and with "tea" and "milk" (a, b, c, d)
    "finite": (
        "2418e405a7de552f2e380efe486c6ab1b07555609f32420e375a3b63af96f8ee",
        "bb7efba551a730deade81bc6bd8da4e3693a9381733ee441a202a81918e44556",
    ),
    "curves": (
        "699275653ad1cee2a3365b0457f11cec16ebb64bc3deb514935dc9c30941d5d4",
        "55be1a853333cc605b8d1534dc74d0a23872d20ebb2b5ee04133c6f301b66e30",
    ),
    "polyhedral": (
        "3a049ac4e5420d037ae8862474dc01b7cad6545e6961601316048bb1f787942b",
        "7a68d77c2d7f85e098cf945f6c5d61375016d93a09a04768d33a4e62a1764f93",
    ),
    "unimodal": (
        "ae92f9f9da903d8189dbefd5d38432ba38935ac77a79f556ddbd8a1e57800b06",
        "3e64731145e4ebd9584fbf406d64156b3b94ca8f126566987b7acc8e9980b377",
    ),
    "unstructured": (
        "0510c4c310b867f645ea3112d8be0fe37601a59fff4b0256be47893897f18546",
        "d986d8ae38e0bed72d78912a91585005404b5b78ff196f2872e3ee21960fb761",
    ),
    "union": (
        "4af9936dd010410c940e963e2f4b3f419be24c5736c6035054ec8578feed987f",
        "d0fb99ed89de0cf8474656bddb0de2f8b3ceb514052f56adc1e822c6c25c3b62",
    ),
    "intersection": (
        "8e18bee2513edde12bca82dd47e9b32d97ec8ae450a49e538071c08f7e639109",
        "571276bf4e99b3bdc6163fdc4e5b108d068fa8faaf5cfc7c1cf18b1e6971e0ad",
    ),
    "scaled": (
        "159eb6ca1f694db20a9d339d4509281e9c367bf7d47f59eae0545c1d851f417e",
        "088cd279989662e1aad2273fa462c4496fa7390628129fc97c91c088e5f24803",
    ),
    "product": (
        "18137b4a729f7401a75f44040080fa2e47f1be24c51e03218bff4f9bdee20fea",
        "cab510f89b655d82491f33a604abdae09f39d4c898131d549a7020774d17dd66",
    ),
    "product of named": (
        "18137b4a729f7401a75f44040080fa2e47f1be24c51e03218bff4f9bdee20fea",
        "f38105d68a6b44bca3f20e878c25a339f98d10a0eb109419d2085aff18bcb980",
    ),
}


@pytest.mark.parametrize("kind", MAKE)
def test_fingerprints_of_version_0_1_0_are_recognised(kind: str) -> None:
    for arms, first in zip((None, ("tea", "milk")), FIRST[kind], strict=True):
        structure = MAKE[kind](arms)
        assert structure.fingerprints == (structure.fingerprint, first)
        assert structure.fingerprint != first


@pytest.mark.parametrize("kind", [kind for kind in MAKE if "product" not in kind])
def test_names_that_are_indices_are_as_good_as_none(kind: str) -> None:
    """They play alike and are called alike, so they are equal; other names make another structure."""
    structure = MAKE[kind](None)
    assert pickle.loads(pickle.dumps(structure)) == structure
    assert structure != MAKE[kind](("tea", "milk"))
    assert MAKE[kind](("0", "1")) == structure
    assert MAKE[kind](("1", "0")) != structure


@pytest.mark.parametrize("kind", [kind for kind in MAKE if "product" not in kind])
def test_names_that_counted_from_1_are_recognised(kind: str) -> None:
    """They were the default once, and left out of fingerprints."""
    structure, counted = MAKE[kind](None), MAKE[kind](("1", "2"))
    assert counted != structure
    assert structure.fingerprint in counted.fingerprints
    assert counted.arm_labels == ("arm 1", "arm 2")
    assert structure.arm_labels == ("arm 0", "arm 1")


def test_arms_of_products_are_called_by_their_index_or_name() -> None:
    unnamed, named = sb.FiniteStructure(TABLE), sb.FiniteStructure(TABLE, arms=["tea", "milk"])
    assert sb.product([unnamed, curves(None)]).arm_names == ("0", "1", "2", "3")
    assert sb.product([named, unnamed]).arm_names == ("tea", "milk", "2", "3")
    assert sb.product([named, named]).arm_names == ("0.tea", "0.milk", "1.tea", "1.milk")
    both = sb.product([unnamed, curves(None)])
    assert sb.product([unnamed, curves(None)], arms=["0", "1", "2", "3"]) == both
    assert sb.product([unnamed, curves(None)], arms=["1", "2", "3", "4"]) != both


def test_names_and_numbers_do_not_run_into_each_other() -> None:
    one, other = ("a", "b\0c", "d"), ("a\0b", "c", "d")
    assert sb.FiniteStructure([[0.5] * 3], one) != sb.FiniteStructure([[0.5] * 3], other)
    assert sb.FiniteStructure([[0.5, 0.25]]) != sb.FiniteStructure([[0.5], [0.25]])
    points = sb.CurveStructure([sb.Piece(0, 1, [0.5], [0.5], closed="both")])
    assert points != sb.CurveStructure([sb.Piece(0, 1, [0.5], [0.5], closed="right")])
