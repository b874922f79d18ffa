"""What a structure says of rewards and prior: checked, handed on, in the fingerprint, in files."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_fingerprints import MAKE

import structured_bandits as sb
from structured_bandits.base.records import Record

TABLE = [[8.0, 3.0], [2.0, 7.0]]
TEN = (0.0, 10.0)


def curve(prior: Any = None, reward_range: Any = None) -> sb.CurveStructure:
    pieces = [sb.Piece(2, 3, [4, 5], [4, 5], "both"), sb.Piece(0, 1, [9, 5], [1, 5], "both")]
    return sb.CurveStructure(pieces, prior=prior, reward_range=reward_range)


SECOND = {  # printed by version 0.2.0, without names and with "tea" and "milk" (a, b, c, d)
    "finite": (
        "3d1d243be6cb1bfd0e8db88f2807d6b8542900862e22dffbf8b4241e81d9ba14",
        "6896ba0a28af2adcd5700f7a0128e2d228fc0142f73e262562a960e8166f0a04",
    ),
    "curves": (
        "29157f0bab85ca143f4462325853a1cdf29afe7e386ddd0f89c4a682ea2653b9",
        "142c4c799883cb09d7f18d08c33d72338baa9452533f9fb003f98bb930371be2",
    ),
    "polyhedral": (
        "212221721f21d4a31dd4c41a59a89c1f72d7799bfe4f2d7d31df34f26a85e4b9",
        "32b1e6f7b10d55bac48a480e069daf609d4ba217203ffb16d823e30b674590c4",
    ),
    "scaled": (
        "3a6416a2b4effbcdf048e7e4b12555e900533393283aa7a0ce4a97ec842143df",
        "c58b6672e9e75a1aaff81b343324b0ef8ec87ebfbb6102168c3054383ff3c2e3",
    ),
    "product": (
        "b79a4ea1f104793bc4970707da9ee9f50bc8559208b63f5029f71e5c06085299",
        "602a36d02b5e7aac88ee839b101e5ed6330d1e605fdb84daeb6cb801b1874d3b",
    ),
}


@pytest.mark.parametrize("kind", SECOND)
def test_who_says_nothing_keeps_the_fingerprint_of_version_0_2_0(kind: str) -> None:
    for arms, second in zip((None, ("tea", "milk")), SECOND[kind], strict=True):
        assert MAKE[kind](arms).fingerprint == second


def test_range_and_prior_are_in_the_fingerprint_when_they_say_something() -> None:
    table = np.array(TABLE) / 10.0
    plain = sb.FiniteStructure(table)
    said = [
        sb.FiniteStructure(table, reward_range=(0, 2)),
        sb.FiniteStructure(table, reward_range=(0, 3)),
        sb.FiniteStructure(table, prior=[3, 1]),
        sb.FiniteStructure(table, prior=[1, 3]),
        sb.FiniteStructure(table, prior=[1, 3], reward_range=(0, 2)),
    ]
    assert len({each.fingerprint for each in [plain, *said]}) == 6
    assert sb.FiniteStructure(table, reward_range=(0, 1)) == plain  # what it means anyway
    for each in said:
        assert pickle.loads(pickle.dumps(each)) == each
        assert set(plain.fingerprints) < set(each.fingerprints)  # snapshots of earlier versions fit
        assert each.fingerprint not in plain.fingerprints


def test_a_product_hashes_what_it_does_not_inherit() -> None:
    group, wide = sb.FiniteStructure([[0.5]]), sb.FiniteStructure([[0.5]], reward_range=TEN)
    inherited = sb.product([wide, group])
    assert inherited.reward_range == TEN
    assert sb.product([wide, group], reward_range=TEN) == inherited
    assert sb.product([wide, group], reward_range=(0, 1)) != inherited
    assert sb.product([group, group], reward_range=(0, 1)) == sb.product([group, group])
    assert sb.product([group, group], reward_range=TEN) != sb.product([group, group])


def test_builders_take_a_range_and_means_fill_it() -> None:
    built = [
        sb.unstructured(2, reward_range=(-1, 3)),
        sb.lipschitz([0, 1], 9.0, reward_range=(-1, 3)),
        sb.monotone(2, reward_range=(-1, 3)),
        sb.concave(2, reward_range=(-1, 3)),
        sb.unimodal(2, reward_range=(-1, 3)),
        sb.known_best_mean(2, 3.0, reward_range=(-1, 3)),
        sb.linear([[1.0], [1.0]], bounds=(-1, 3), reward_range=(-1, 3)),
    ]
    for structure in built:
        assert structure.reward_range == structure.range_of_rewards == (-1.0, 3.0)
        assert structure.mean_ranges.tolist() == [[-1.0, 3.0], [-1.0, 3.0]]
        assert repr(structure).endswith("in some model, rewards in [-1, 3])")
    assert sb.unstructured(2, high=2.0, reward_range=(-1, 3)).mean_ranges[0].tolist() == [-1, 2]
    assert sb.unstructured(2).reward_range is None
    assert sb.unstructured(2).range_of_rewards == (0.0, 1.0)


def test_structures_made_of_others_inherit_the_range() -> None:
    plain = sb.unstructured(2)
    low = sb.unstructured(2, low=0, high=1, reward_range=(-1, 2))
    high = sb.unstructured(2, low=0, high=1, reward_range=(0, 3))
    assert sb.union([plain, low]).reward_range == (-1, 2)
    assert sb.union([low, high]).reward_range == (-1, 3)
    assert sb.intersection([plain, low, high]).reward_range == (0, 2)
    assert sb.product([low, high]).reward_range == (-1, 3)
    assert sb.scaled(low, [1.0, -2.0]).reward_range == (-4, 2)
    for made in (sb.union, sb.intersection, sb.product):
        assert made([plain, plain]).reward_range is None
        assert made([low, high], reward_range=(-2, 4)).reward_range == (-2, 4)
    assert sb.scaled(low, 0.5, reward_range=(-2, 4)).reward_range == (-2, 4)
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        assert sb.scaled(plain, 2.0).reward_range is None
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        far = sb.union([plain], reward_range=(5, 6))
    with pytest.raises(
        sb.StructureError, match=r"declare \(-1, 2\), \(5, 6\), which have no range"
    ):
        sb.intersection([low, far])


def test_priors_of_curves_stay_with_their_pieces_and_products_join_them() -> None:
    ten = {"reward_range": TEN}
    shuffled = curve([3, 1], TEN)  # the second piece comes first on the line
    assert shuffled.prior == [1.0, 3.0]
    assert [piece.start for piece in shuffled.pieces] == [0.0, 2.0]
    finite = sb.FiniteStructure(TABLE, prior=(2, 1), **ten)
    bare = sb.FiniteStructure(TABLE, **ten)
    assert sb.product([bare, bare]).prior is None
    assert sb.product([finite, bare]).prior == [[2.0, 1.0], None]
    nested = sb.product([sb.product([bare, shuffled]), sb.product([bare, bare]), finite])
    assert nested.prior == [None, [1.0, 3.0], None, None, [2.0, 1.0]]
    assert sb.product([finite]).prior == [2.0, 1.0]


def test_policies_take_the_prior_over_and_theirs_wins() -> None:
    finite = sb.FiniteStructure(TABLE, prior=[3, 1], reward_range=TEN)
    for kind in (sb.ModelTS, sb.IDS, sb.ISAE):
        assert kind(finite).prior == [3.0, 1.0]
        assert kind(finite).parameters()["prior"] == [3.0, 1.0]
        bare = sb.FiniteStructure(TABLE, reward_range=TEN)
        assert Record.__eq__(kind(finite), kind(bare, prior=[3, 1]))
        assert Record.__eq__(kind(finite, prior=[1, 1]), kind(bare))
        assert not Record.__eq__(kind(finite), kind(bare))
    product = sb.product([finite, curve([3, 1], TEN)])
    same = sb.ModelTS(sb.product([finite, curve([3, 1], TEN)]), prior=[[3, 1], [1, 3]])
    assert sb.ModelTS(product) == same
    assert sb.ModelTS(sb.product([finite, curve(None, TEN)])) != same
    assert sb.ThompsonSampling(finite).prior == (1.0, 1.0)  # of each arm's mean, not of the models


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"reward_range": (1, 0)}, "reward_range=(1, 0): needs finite low < high"),
        ({"reward_range": "structure"}, "reward_range='structure': expected a pair (low, high)"),
        ({"reward_range": "01"}, "reward_range='01': expected a pair (low, high)"),
        ({"reward_range": (0, float("inf"))}, "needs finite low < high"),
        ({"reward_range": (0, True)}, "expected a pair (low, high)"),
        ({"reward_range": 10}, "reward_range=10: expected a pair (low, high)"),
        ({"prior": [1]}, "prior=[1]: expected 2 numbers, one for each model"),
        ({"prior": [1, 0]}, "prior=[1, 0]: expected positive numbers; leave out a model"),
        ({"prior": [1, "2"]}, "prior=[1, '2']: expected 2 numbers"),
        ({"prior": 3}, "prior=3: expected 2 numbers"),
    ],
)
def test_what_cannot_be_said(said: dict[str, Any], message: str) -> None:
    with pytest.raises(sb.ParameterError) as error:
        sb.FiniteStructure([[0.5, 0.25], [0.25, 0.5]], **said)
    assert message in str(error.value)
    assert "None" not in str(error.value)  # unbounded rewards are a matter of policies
    with pytest.raises(sb.ParameterError):
        curve(**said)


def test_means_are_compared_with_the_range_that_is_declared() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sb.FiniteStructure(TABLE, reward_range=TEN)
        curve(reward_range=TEN)
    cases: list[Any] = [
        lambda: sb.FiniteStructure(TABLE, reward_range=(0, 5)),
        lambda: curve(reward_range=(3, 10)),
        lambda: sb.unstructured(2, high=2.0, reward_range=(0.5, 1)),
        lambda: sb.product([sb.unstructured(2)] * 2, reward_range=(0.5, 1)),
    ]
    for make in cases:
        with pytest.warns(
            sb.MeansOutsideUnitIntervalWarning, match="such rewards cannot have"
        ) as found:
            make()
        assert "percent" not in str(found[0].message)
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning, match="are these percentages"):
        sb.FiniteStructure(TABLE)


def test_tables_from_frames_and_csv_files(tmp_path: Path) -> None:
    frame = pd.DataFrame(TABLE, index=["A", "B"], columns=["tea", "milk"])
    path = tmp_path / "a.csv"
    frame.to_csv(path, index_label="model")
    said: dict[str, Any] = {"prior": [3, 1], "reward_range": TEN}
    wanted = sb.FiniteStructure(TABLE, ["tea", "milk"], ["A", "B"], **said)
    for found in (
        sb.FiniteStructure(frame, **said),
        sb.FiniteStructure.from_frame(frame, **said),
        sb.FiniteStructure.from_csv(path, **said),
        sb.load_structure(path, **said),
    ):
        assert found == wanted
        assert (found.arm_names, list(found.model_names)) == (("tea", "milk"), ["A", "B"])
    path.write_text("8.5,3.0\n2.0,7.5\n")  # the first model would be lost
    with pytest.raises(sb.FileFormatError, match="expected a header with arm names, found means"):
        sb.load_structure(path, reward_range=TEN)
    assert sb.load_structure(path, header=True, reward_range=TEN).arm_names == ("8.5", "3.0")
    with pytest.raises(sb.FileFormatError, match=r"a\.csv: prior=\[1, 2\]: expected 1 numbers"):
        sb.load_structure(path, header=True, prior=[1, 2], reward_range=TEN)


TOML = {
    "kind = 'finite'\nmeans = [[8, 3], [2, 7]]\nprior = [3, 1]\nreward_range = [0, 10]": [3.0, 1.0],
    "kind = 'union'\n[[parts]]\nfile = 'a.csv'\nreward_range = [0, 10]": None,
    "kind = 'product'\n[[parts]]\nfile = 'a.csv'\nprior = [3, 1]\nreward_range = [0, 10]": [3.0, 1.0],
    "kind = 'unimodal'\nn_arms = 2\nreward_range = [0, 10]\n[[constraints]]\nweights = {1 = 1}\nat_most = 5": None,
    "kind = 'monotone'\nn_arms = 2\nfactors = [5, 10]\nreward_range = [0, 10]": None,
    "prior = [3]\nreward_range = [0, 10]\n[[pieces]]\nstart = 0\nend = 1\nat_start = [9, 5]\nat_end = [1, 5]": [3.0],
}  # fmt: skip


@pytest.mark.parametrize("text", TOML)
def test_toml_files_say_both(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n8,3\n2,7\n")
    path = tmp_path / "a.toml"
    path.write_text(text)
    structure = sb.load_structure(path)
    assert structure.reward_range == TEN
    assert structure.prior == TOML[text]
    with pytest.raises(sb.FileFormatError, match=r"prior=\[1\] is for \.csv files; write it into"):
        sb.load_structure(path, prior=[1])
    path.write_text(text.replace("[0, 10]", "[10, 0]"))
    with pytest.raises(
        sb.FileFormatError, match=r"reward_range=\[10, 0\]: needs finite low < high"
    ):
        sb.load_structure(path)
