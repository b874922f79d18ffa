"""A warning points at the user's line, whichever way a structure is built, and says what may help."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import structured_bandits as sb

TABLE = [[0.5, 1.5], [0.25, 0.75]]


def quiet(make: Callable[[], Any]) -> Any:
    """Return a part of a structure, whose own warning is not the question."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


def wide(n_arms: int = 2) -> Any:
    return quiet(lambda: sb.unstructured(n_arms, high=2.0))


def csv(folder: Path) -> Path:
    path = folder / "a.csv"
    path.write_text("model,a,b\nx,0.5,1.5\n")
    return path


def toml(folder: Path) -> Path:
    path = folder / "a.toml"
    path.write_text(f"kind = 'union'\n[[parts]]\nfile = '{csv(folder).name}'\n")
    return path


WAYS: dict[str, Callable[[Path], Any]] = {
    "FiniteStructure": lambda folder: sb.FiniteStructure(TABLE),
    "a data frame": lambda folder: sb.FiniteStructure(pd.DataFrame(TABLE)),
    "from_frame": lambda folder: sb.FiniteStructure.from_frame(pd.DataFrame(TABLE)),
    "from_csv": lambda folder: sb.FiniteStructure.from_csv(csv(folder)),
    "CurveStructure": lambda folder: sb.CurveStructure([sb.Piece(0, 1, [0.5], [1.5])]),
    "PolyhedralStructure": lambda folder: sb.PolyhedralStructure(wide().pieces),
    "unstructured": lambda folder: sb.unstructured(2, high=2.0),
    "linear": lambda folder: sb.linear([[2.0], [1.0]], (0, 1)),
    "lipschitz": lambda folder: sb.lipschitz([0, 1], 0.5, high=2.0),
    "monotone": lambda folder: sb.monotone(2, high=2.0),
    "concave": lambda folder: sb.concave(3, high=2.0),
    "unimodal": lambda folder: sb.unimodal(3, high=2.0),
    "known_best_mean": lambda folder: sb.known_best_mean(2, 2.0),
    "union": lambda folder: sb.union([wide(), sb.monotone(2)]),
    "intersection": lambda folder: sb.intersection([wide(), wide()]),
    "scaled": lambda folder: sb.scaled(sb.unstructured(2), 2.0),
    "load_structure, CSV": lambda folder: sb.load_structure(csv(folder)),
    "load_structure, TOML": lambda folder: sb.load_structure(toml(folder)),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_warning_points_at_the_users_line(way: str, tmp_path: Path) -> None:
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning) as caught:
        WAYS[way](tmp_path)
    assert {warning.filename for warning in caught} == {__file__}
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    assert {f'"{way}": lambda' in lines[warning.lineno - 1] for warning in caught} == {True}


def test_a_product_does_not_repeat_the_warnings_of_its_groups() -> None:
    group = wide()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sb.product([group, group])


@pytest.mark.parametrize(
    ("means", "asked"),
    [
        ([[50.0, 100.0]], True),
        ([[0.5, 1.5]], True),
        ([[0.5, 100.5]], False),
        ([[-0.5, 50.0]], False),
        ([[-0.5, 0.5]], False),
    ],
)
def test_means_up_to_100_may_be_percentages(means: Any, asked: bool) -> None:
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning) as caught:
        sb.FiniteStructure(means)
    message = str(caught[0].message)
    assert ("are these percentages? Divide by 100." in message) == asked
    assert (f"The largest is {np.max(means):g}" in message) == asked
    assert "reward_range=…" in message


def test_a_policy_tuned_for_less_warns_at_the_users_line() -> None:
    structure = sb.FiniteStructure([[0.5, 0.25]])
    world = sb.Bernoulli([0.5, 0.25])
    policy = sb.SAE.paper(structure, horizon=5)
    with pytest.warns(sb.HorizonWarning, match="tuned for horizon=5") as caught:
        sb.simulate(policy, world, 10, runs=1, engine="python", progress=False)
    assert [warning.filename for warning in caught] == [__file__]
