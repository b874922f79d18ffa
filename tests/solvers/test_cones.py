"""Programs over cones."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.solvers.convex import least_over_cones


def test_the_lowest_point_of_a_disc_on_a_line_and_in_a_half_plane() -> None:
    # z = (x, y): |(x, y)| <= 1 is the triple (1, x, y); least -x - y there is at (1, 1) / sqrt 2
    disc = np.array([[0.0, 0.0], [-1.0, 0.0], [0.0, -1.0]])
    right = np.array([1.0, 0.0, 0.0])
    cost = np.array([-1.0, -1.0])
    found = least_over_cones(cost, disc, right, 0, 0, "a test")
    assert found == pytest.approx([math.sqrt(0.5)] * 2, abs=1e-6)
    # with x = 0.6 the highest y is 0.8, and with y <= 0.5 as well it is 0.5
    line, below = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    found = least_over_cones(cost, np.vstack([line, disc]), np.r_[0.6, right], 1, 0, "a test")
    assert found == pytest.approx([0.6, 0.8], abs=1e-6)
    rows = np.vstack([line, below, disc])
    found = least_over_cones(cost, rows, np.r_[0.6, 0.5, right], 1, 1, "a test")
    assert found == pytest.approx([0.6, 0.5], abs=1e-6)


def test_a_program_without_a_solution_is_an_error() -> None:
    # x = 2 is not in the disc
    rows = np.array([[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0], [0.0, -1.0]])
    with pytest.raises(sb.StructuredBanditsError, match="the cone program was not solved"):
        least_over_cones(np.ones(2), rows, np.array([2.0, 1.0, 0.0, 0.0]), 1, 0, "a test")


def test_a_missing_solver_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        structure = sb.linear([[1.0, 0.0], [0.0, 1.0]], bounds=None)
    analysis = sb.analyse(structure, structure.at([0.8, 0.3]))
    with pytest.raises(
        sb.MissingExtraError,
        match=r"needs clarabel, .*: pip install clarabel \(part of the extra \[cones\]\)",
    ):
        analysis.lower_bound("gaussian", method="cone")
