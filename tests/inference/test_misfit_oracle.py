"""The oracles of the e-value themselves: values by hand, limits, and why E is valid, by enumeration."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest
from oracles.misfit import (
    Coins,
    Normal,
    arm_shares,
    enumerate_supermartingale,
    log_e_curve,
    log_e_gaussian,
    log_e_polytope,
    log_e_table,
    looks,
)
from oracles.structures import MP, Real, real

F = Fraction
SHARP = MP.mpf(10) ** -40
PROVED = MP.mpf(10) ** -10  # what the search in a polytope promises
TABLE = [[F(1, 2), F(1, 4)], [F(1, 5), F(3, 5)], [F(0), F(1)]]


def near(value: Real, expected: Any, within: Real = SHARP) -> bool:
    return abs(value - (real(expected) if isinstance(expected, Fraction) else expected)) < within


# ------------------------------------------------------------------------------- values by hand


def test_without_data_e_is_one() -> None:
    law = Normal(2, [0, 3], F(1, 2))
    none = [0, 0], [0, 0]
    values = [
        log_e_table(TABLE, *none),
        log_e_table(TABLE, *none, reward_range=(-3, 7), prior=[5, 1, 0]),
        log_e_gaussian(TABLE, *none, 2, [0, 3], F(1, 2)),
        log_e_curve([(TABLE[0], TABLE[1])], TABLE, *none),
        log_e_polytope(TABLE, TABLE, *none),
        log_e_polytope(TABLE, TABLE, *none, law=law),
    ]
    assert all(near(value, 0) for value in values)


@pytest.mark.parametrize(
    ("table", "pulls", "sums", "expected"),
    [
        # one arm, one model, a reward of 1: M = 1/2 is the likelihood
        ([[F(1, 2)]], [1], [1], F(1)),
        # M = (1/2, 1): 1/2 ((1/4 + 1/2)/2 + 1/2) / (1/4)
        ([[F(1, 2), F(1, 4)]], [0, 1], [0, 1], F(7, 4)),
        # M = 3/8 after 1, 1; likelihoods 1/4 and 9/16; the first term has the weight 1 for one arm
        ([[F(1, 2)], [F(3, 4)]], [2], [2], F(3, 8) / F(9, 16)),
        # M = (1/8, 1/2), first terms 1/2 1/8 + 1/4 1/2 and 1 1/8 + 0: the second model is refuted by arm 0
        ([[F(1, 2), F(1, 2)], [F(0), F(1)]], [2, 1], [1, 1], (F(5, 16) / 4 + F(1, 16)) / 2 * 8),
        # two models, both refuted
        ([[F(0), F(1, 2)], [F(1), F(1, 2)]], [2, 0], [1, 0], None),
        # a mean of 0 that rewards of 0 confirm: likelihood 1, M = 3/8
        ([[F(0), F(1, 2)]], [2, 0], [0, 0], F(1, 2) * ((F(3, 8) + 1) / 2 + F(3, 8))),
    ],
)
def test_values_by_hand(table: Any, pulls: Any, sums: Any, expected: Fraction | None) -> None:
    value = log_e_table(table, pulls, sums)
    assert value == MP.inf if expected is None else near(MP.exp(value), expected)


def test_the_prior_weighs_the_first_term_only() -> None:
    # M = 1/2 after a reward of 1 on arm 0, likelihoods 1/2 and 1/5; first terms 1/2 (1/2 + 1/2) and 1/2 (1/2 + 1/5)
    table, data = [[F(1, 2), F(1, 4)], [F(1, 5), F(3, 5)]], ([1, 0], [1, 0])
    first = F(1, 2), F(7, 20)
    for prior in ([1, 0], [0, 1], [3, 1], [F(1, 2), F(1, 2)]):
        share = [F(p) / sum(prior) for p in prior]
        mixed = share[0] * first[0] + share[1] * first[1]
        assert near(MP.exp(log_e_table(table, *data, prior=prior)), (mixed + F(1, 2)) / 2 * 2)


def test_a_range_is_scaled_to_the_unit_interval() -> None:
    pulls, sums = [7, 5], [F(5, 2), F(4)]
    wide = [[-2 + 10 * q for q in row] for row in TABLE[:2]]
    totals = [-2 * n + 10 * s for n, s in zip(pulls, sums, strict=True)]
    here = log_e_table(wide, pulls, totals, reward_range=(-2, 8))
    assert near(here, log_e_table(TABLE[:2], pulls, sums))


def test_a_mean_outside_the_range_fits_until_its_arm_is_pulled() -> None:
    table = [[F(1, 2), F(5, 4)], [F(1, 2), F(-1, 4)]]
    assert near(MP.exp(log_e_table(table, [1, 0], [1, 0])), F(1))
    assert log_e_table(table, [1, 1], [1, 1]) == MP.inf
    assert near(arm_shares(table, [1, 1], [1, 1])[1], F(1))  # right but for arm 1
    assert near(arm_shares(table, [1, 1], [1, 1])[0], F(0))


def test_arms_share_the_first_term() -> None:
    # likelihood 1/4 of arm 1 and 1/2 of arm 0, M = 1/2 of both: 1/4 1/2 against 1/2 1/2
    assert [float(x) for x in arm_shares([[F(1, 2), F(1, 4)]], [1, 1], [1, 1])] == pytest.approx(
        [1 / 3, 2 / 3], rel=1e-15
    )
    assert arm_shares([[F(0), F(0)]], [1, 1], [1, 1]) == [0, 0]


def test_looks_are_each_pull_and_then_one_percent_apart() -> None:
    assert looks(0) == []
    assert looks(100) == list(range(1, 101))
    assert looks(108)[100:] == [101, 103, 105, 107]
    assert all(
        b == math.ceil(F(101, 100) * a)
        for a, b in zip(looks(10**6)[99:], looks(10**6)[100:], strict=False)
    )


# ---------------------------------------------------------------------------------- normal laws


def test_the_normal_mixture_is_its_closed_form() -> None:
    sigma, ratio, centre, pulls, total = F(3, 2), F(2, 7), F(4), 23, F(101, 3)
    rise = real(total) - pulls * real(centre)  # of the rewards above the centre
    grown = 1 + pulls * real(ratio)
    around = real(ratio) * rise**2 / (2 * real(sigma) ** 2 * grown) - MP.log(grown) / 2
    at_centre = (real(total * centre) - pulls * real(centre) ** 2 / 2) / real(sigma) ** 2
    assert near(Normal(sigma, [centre], ratio).log_mixture(0, pulls, total), around + at_centre)


def test_the_normal_value_of_one_arm_and_one_model() -> None:
    # a single arm at 0, sigma 1, ratio 1, one reward of 2: exp(2**2 / 4) / sqrt(2)
    assert near(log_e_gaussian([[0]], [1], [2], 1, [0], 1), 1 - MP.log(2) / 2)


# ------------------------------------------------------------------------- curves and polytopes


def best_fit(pulls: Sequence[int], sums: Sequence[Any]) -> Real:
    """The largest log-likelihood that any means have."""
    law = Coins()
    return sum(law.log_likelihood(F(s, n), n, F(s)) for n, s in zip(pulls, sums, strict=True))


def test_a_curve_that_passes_the_averages_fits_best_there() -> None:
    pulls, sums = [9, 12], [3, 8]  # averages 1/3 and 2/3, on the diagonal from (0, 1) to (1, 0)
    grid = TABLE[:2]
    exact_fit = log_e_curve([([F(1, 3), F(2, 3)],) * 2], grid, pulls, sums)
    diagonal = ([F(0), F(1)], [F(1), F(0)])
    value = log_e_curve([([F(1, 2), F(1, 2)], [1, 1]), diagonal], grid, pulls, sums)
    assert near(value, exact_fit)
    assert near(
        exact_fit,
        log_e_table(grid, pulls, sums) + best_of(grid, pulls, sums) - best_fit(pulls, sums),
    )


def best_of(table: Any, pulls: Any, sums: Any) -> Real:
    """The largest log-likelihood in a table."""
    law = Coins()
    return max(
        sum(law.log_likelihood(mu, n, F(s)) for mu, n, s in zip(row, pulls, sums, strict=True))
        for row in table
    )


def test_a_curve_may_fit_best_at_an_end_or_only_in_part() -> None:
    pulls, sums, grid = [9, 12], [0, 12], TABLE
    corner = log_e_curve([([F(0), F(1)],) * 2], grid, pulls, sums)
    assert near(log_e_curve([([F(1), F(0)], [F(0), F(1)])], grid, pulls, sums), corner)
    assert near(
        log_e_curve([([F(1), F(0)], [F(-1, 10**9), 1 + F(1, 10**9)])], grid, pulls, sums), corner
    )
    outside = [([F(2), F(1, 2)], [F(3), F(1, 2)]), ([F(0), F(-1)], [F(1), F(-1)])]
    assert log_e_curve(outside, grid, pulls, sums) == MP.inf


def test_a_polytope_with_two_corners_is_a_piece() -> None:
    law = Normal(F(1, 2), [F(1, 2)] * 3, 3)
    a, b = [F(1, 10), F(4, 5), F(1, 2)], [F(9, 10), F(2, 5), F(-1, 4)]
    for sums in ([3, 9, 0], [F(17, 2), F(1, 3), 0], [0, 10, 0]):
        pulls = [11, 13, 0]
        for chosen in (Coins(), law):
            curve = log_e_curve([(a, b)], [a, b], pulls, sums, law=chosen)
            hull = log_e_polytope([a, b], [a, b], pulls, sums, law=chosen)
            assert near(hull, curve, PROVED)


def test_a_polytope_fits_best_at_averages_inside_and_at_a_corner() -> None:
    square = [[F(0), F(0)], [F(1), F(0)], [F(1), F(1)], [F(0), F(1)]]
    for pulls, sums in (([9, 12], [3, 8]), ([500, 70], [1, 70]), ([4, 4], [0, 4])):
        expected = (
            log_e_table(TABLE, pulls, sums) + best_of(TABLE, pulls, sums) - best_fit(pulls, sums)
        )
        assert near(log_e_polytope(square, TABLE, pulls, sums), expected, PROVED)


def test_a_polytope_in_three_dimensions_fits_best_at_averages_inside() -> None:
    corners = [
        [F(1, 10), F(1, 5), F(1, 2)],
        [F(9, 10), F(3, 10), F(1, 3)],
        [F(1, 5), F(1), F(0)],
        [F(1, 2), F(1, 2), F(1)],
    ]
    pulls, sums = [40, 50, 60], [18, 29, 31]  # averages with the weights .1, .2, .3, .4
    means = [F(s) / n for s, n in zip(sums, pulls, strict=True)]
    at_averages = log_e_polytope([means], corners, pulls, sums)
    assert near(log_e_polytope(corners, corners, pulls, sums), at_averages, PROVED)


def test_a_polytope_is_cut_to_means_that_rewards_can_have() -> None:
    # the triangle leaves the unit square on the right; within it, arm 0 at 1 goes with arm 1 in [1/4, 3/4]
    triangle, pulls, sums = [[F(0), F(0)], [F(2), F(1, 2)], [F(0), F(1)]], [6, 9], [6, 8]
    edge = log_e_curve([([F(1), F(1, 4)], [F(1), F(3, 4)])], TABLE[:2], pulls, sums)
    assert near(log_e_polytope(triangle, TABLE[:2], pulls, sums), edge, PROVED)
    beyond = [[F(2), F(0)], [F(3), F(1, 2)], [F(2), F(1)]]
    assert log_e_polytope(beyond, TABLE[:2], pulls, sums) == MP.inf
    assert log_e_polytope(beyond, TABLE[:2], [0, 9], [0, 8]) < MP.inf


# ------------------------------------------------------------------------------ why it is valid


def coin(mean: Fraction) -> list[tuple[Fraction, Fraction]]:
    return [(F(0), 1 - mean), (F(1), mean)]


def three_valued(mean: Fraction) -> list[tuple[Fraction, Fraction]]:
    """0, 1/3 and 1, as likely at 1/3 as the mean allows up to 1/2."""
    third = min(F(1, 2), 3 * mean, F(3, 2) * (1 - mean))
    one = mean - third / 3
    return [(F(0), 1 - third - one), (F(1, 3), third), (F(1), one)]


def round_robin(history: Any) -> int:
    return len(history) % 2


def win_stay(history: Any) -> int:
    """An adaptive rule: stay with an arm as long as it pays more than 0."""
    arm = 0
    for pulled, reward in history:
        arm = pulled if reward > 0 else 1 - pulled
    return arm


@pytest.mark.parametrize("choose", [round_robin, win_stay])
@pytest.mark.parametrize(("law", "horizon"), [(coin, 5), (three_valued, 4)])
def test_the_numerator_is_a_supermartingale_under_each_model(
    law: Callable[[Fraction], Any], horizon: int, choose: Callable[[Any], int]
) -> None:
    rewards = [[law(mean) for mean in row] for row in TABLE]
    assert enumerate_supermartingale(TABLE, horizon, choose, rewards) < SHARP


def test_validity_does_not_depend_on_the_prior() -> None:
    rewards = [[coin(mean) for mean in row] for row in TABLE]
    assert enumerate_supermartingale(TABLE, 3, win_stay, rewards, prior=[1, 0, 5]) < SHARP


def test_the_enumeration_refuses_laws_of_other_means() -> None:
    with pytest.raises(ValueError, match="has not the mean"):
        enumerate_supermartingale(TABLE, 3, win_stay, [[coin(F(1, 3))] * 2] * 3)
