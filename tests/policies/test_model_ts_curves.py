"""ModelTS on curves and products: masses against closed forms, and play against tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special, stats
from support.play import play
from support.taped_contests import random_curve
from support.uniform_tapes import hostile_uniforms, play_tape

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import (
    figure1_left,
    figure1_right,
    figure1_right_as_curves,
)
from structured_bandits.inference.draws import UNKNOWN
from structured_bandits.lookahead import curve_odds
from structured_bandits.protocols import Outcome

LEFT = figure1_left()


def believed(policy: sb.ModelTS, pulls: Any, sums: Any) -> Any:
    """Return what the policy believes after so many pulls."""
    state = policy.init()
    state.data.pulls[:], state.data.sums[:] = pulls, sums
    policy.restore(state)
    return state.belief


def gridded(structure: sb.CurveStructure, models: int) -> tuple[sb.FiniteStructure, list[float]]:
    """Return the middles of so many parts of each piece as a table, and their prior weights."""
    middles = (np.arange(models) + 0.5) / models
    rows, prior = [], []
    for piece in structure.pieces:
        ends = np.array(piece.at_start), np.array(piece.at_end)
        rows += [(1.0 - x) * ends[0] + x * ends[1] for x in middles]
        prior += [(piece.end - piece.start) / models] * models
    return sb.FiniteStructure(rows), prior


@pytest.mark.parametrize("pulls", [1, 10, 1_000, 10**6])
def test_masses_of_coins_are_incomplete_beta_integrals(pulls: int) -> None:
    rng = np.random.default_rng(pulls)
    for _ in range(40):
        low, high = np.sort(rng.uniform(0.01, 0.99, 2))
        ends = [[0.0, low], [0.0, high]] if rng.random() < 0.5 else [[0.0, high], [0.0, low]]
        sums = rng.binomial(pulls, rng.uniform(low, high))
        policy = sb.ModelTS(sb.CurveStructure([sb.Piece(0.0, 1.0, *ends)]))
        found = believed(policy, [0, pulls], [0.0, float(sums)]).logs[0]
        shape = sums + 1.0, pulls - sums + 1.0
        share = special.betainc(*shape, high) - special.betainc(*shape, low)
        exact = special.betaln(*shape) + np.log(share / (high - low))
        assert found == pytest.approx(exact, rel=0.0, abs=1e-8 if pulls == 10**6 else 1e-10)


def test_masses_of_gaussian_rewards_are_normal_integrals() -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        low, high = np.sort(rng.normal(0.5, 0.2, 2).clip(0.0, 1.0))
        pulls, sigma = int(rng.integers(1, 2_000)), 0.3
        total = pulls * rng.uniform(low, high)
        structure = sb.CurveStructure([sb.Piece(0.0, 1.0, [0.0, low], [0.0, high])])
        policy = sb.ModelTS(structure, reward_range=None, sigma=sigma)
        found = believed(policy, [0, pulls], [0.0, total]).logs[0]
        mean, deviation = total / pulls, sigma / np.sqrt(pulls)
        share = np.diff(special.ndtr((np.array([low, high]) - mean) / deviation))[0]
        height = 0.5 * total**2 / (pulls * sigma**2)
        exact = height + np.log(np.sqrt(2.0 * np.pi) * deviation * share / (high - low))
        assert found == pytest.approx(exact, rel=1e-12, abs=1e-10)


def test_a_curve_is_the_limit_of_fine_tables() -> None:
    rng = np.random.default_rng(2)
    table, prior = gridded(LEFT, 2_000)
    curve, fine = sb.ModelTS(LEFT), sb.ModelTS(table, prior=prior)
    for _ in range(30):
        pulls = rng.integers(0, 200, 3)
        sums = rng.binomial(pulls, LEFT.means(rng.uniform(0.0, 1.0))).astype(float)
        ours, theirs = (believed(policy, pulls, sums).arms for policy in (curve, fine))
        np.testing.assert_allclose(ours / ours.sum(), theirs / theirs.sum(), rtol=1e-4, atol=1e-12)


def test_a_curve_plays_as_a_fine_table() -> None:
    rng = np.random.default_rng(3)
    table, prior = gridded(LEFT, 500)
    for parameter in (0.05, 0.3, 0.5, 0.9):
        rewards = (rng.random((3, 200)) < LEFT.means(parameter)[:, None]).astype(float)
        uniforms = rng.random(200)
        curve, _ = play_tape(sb.ModelTS(LEFT), rewards, uniforms, planning=True)
        fine, _ = play_tape(sb.ModelTS(table, prior=prior), rewards, uniforms, planning=True)
        assert curve.arms == fine.arms, parameter


def test_a_curve_of_constant_pieces_plays_as_the_table() -> None:
    rng = np.random.default_rng(4)
    rewards = (rng.random((4, 400)) < figure1_right().means(0)[:, None]).astype(float)
    uniforms = rng.random(400)
    curve, _ = play_tape(sb.ModelTS(figure1_right_as_curves()), rewards, uniforms, planning=True)
    table, _ = play_tape(sb.ModelTS(figure1_right()), rewards, uniforms, planning=True)
    assert curve.arms == table.arms


Tape = tuple[sb.ModelTS, np.ndarray, np.ndarray, list[int]]


@pytest.fixture(scope="module")
def tapes() -> list[Tape]:
    """Return policies, rewards and uniforms with the arms of pull-by-pull play."""
    rng = np.random.default_rng(9)
    found = []
    for index in range(48):
        policy, rewards = random_curve(5, index)
        if index % 3 == 0:
            truth = LEFT.means(rng.random())[:, None]
            policy, rewards = sb.ModelTS(LEFT), (rng.random((3, 200)) < truth).astype(float)
        uniforms = rng.random(rewards.shape[1])
        if index % 2:
            uniforms = hostile_uniforms(policy, rewards, len(uniforms), rng)
        each, _ = play_tape(policy, rewards, uniforms, planning=False)
        found.append((policy, rewards, uniforms, each.arms))
    return found


def test_curves_are_planned_as_they_are_played_pull_by_pull(tapes: list[Tape]) -> None:
    lengths = []
    for index, (policy, rewards, uniforms, arms) in enumerate(tapes):
        planned, longest = play_tape(policy, rewards, uniforms, planning=True)
        assert planned.arms == arms, index
        lengths.append(longest)
    assert sum(length > 10 for length in lengths) >= 24, lengths


@pytest.mark.parametrize("factor", [0.2, 0.0])
def test_a_bound_that_is_too_small_is_noticed(
    tapes: list[Tape], monkeypatch: pytest.MonkeyPatch, factor: float
) -> None:
    """By 0.2 for the odds at the end, by 0 for all odds but those of now."""
    real = curve_odds.panel_odds
    monkeypatch.setattr(curve_odds, "panel_odds", lambda *given: factor * real(*given))
    assert any(
        play_tape(policy, rewards, uniforms, planning=True)[0].arms != arms
        for policy, rewards, uniforms, arms in tapes
    )


def test_the_odds_at_the_corners_bound_those_inside() -> None:
    """Of stretches of any means, for any evidence of the leader's own models."""
    rng = np.random.default_rng(10)
    for _ in range(200):
        low, high = np.sort(rng.uniform(0.02, 0.98, (2, 3)), axis=0)
        panels = curve_odds.Panels(rng.normal(-3.0, 1.0, 3), low, high)
        own = curve_odds.Own(*(-rng.exponential(0.7, 2)), 0.0)
        length = int(rng.integers(2, 10))
        misses = int(rng.integers(0, length + 1))
        bound = curve_odds.panel_odds(panels, 3, own, 1.0, length, misses)
        now = np.exp(panels.logs).sum()
        inside = max(
            curve_odds.odds_at(panels, 3, own, float(o), float(z))
            for z in range(misses + 1)
            for o in range(length - z + 1)
        )
        assert inside <= max(now, bound) * (1.0 + 1e-12)


def test_curves_play_alike_compiled_and_in_python() -> None:
    for index in range(20):
        policy, rewards = random_curve(5, index)
        ways = [
            play(policy, rewards, rewards.shape[1], compiled, planning=True, seed=index)
            for compiled in (True, False)
        ]
        assert ways[0] == ways[1], index


def test_single_models_among_intervals_need_a_prior() -> None:
    pieces = [
        sb.Piece(0.0, 1.0, [0.2, 0.5], [0.9, 0.5]),
        sb.Piece(2.0, 2.0, [0.1, 0.9], [0.1, 0.9]),
    ]
    structure = sb.CurveStructure(pieces)
    with pytest.raises(
        sb.ParameterError, match=r"prior=None: .* give 2 weights, one for each piece"
    ):
        sb.ModelTS(structure)
    belief = sb.ModelTS(structure, prior=[1.0, 3.0]).init().belief
    np.testing.assert_allclose(belief.arms / belief.arms.sum(), [1 / 7, 6 / 7], rtol=1e-12)


# ------------------------------------------------------------------------------- products


def test_a_product_of_one_group_is_the_group() -> None:
    rng = np.random.default_rng(6)
    rewards, uniforms = (rng.random((4, 200)) < 0.6).astype(float), rng.random(200)
    plays = [
        play_tape(sb.ModelTS(structure), rewards, uniforms, planning=True)[0].arms
        for structure in (figure1_right(), sb.product([figure1_right()]))
    ]
    assert plays[0] == plays[1]


def test_a_group_that_is_never_best_changes_nothing_but_the_draws() -> None:
    """The law of the regret is that of the other group alone."""
    right, means = figure1_right(), figure1_right().means(0)
    together = sb.product([right, sb.FiniteStructure([[0.05], [0.1]])])
    regret = [
        sb.simulate(
            {"ModelTS": sb.ModelTS(structure)},
            sb.Bernoulli(truth),
            50,
            runs=400,
            seed=seed,
            engine="python",
        ).regret["ModelTS"][:, -1]
        for seed, (structure, truth) in enumerate([(right, means), (together, [*means, 0.05])])
    ]
    assert stats.ks_2samp(*regret).pvalue > 1e-3


def test_a_product_of_tables_draws_as_the_table_of_all_pairs() -> None:
    """Arm probabilities, by frequency, against those of all combinations of models."""
    first, second = np.array([[0.3, 0.6], [0.8, 0.1]]), np.array([[0.5], [0.7], [0.65]])
    pairs = [np.append(one, two) for one in first for two in second]
    prior = [[1.0, 2.0], [3.0, 1.0, 2.0]]
    together = np.outer(*map(np.array, prior)).ravel().tolist()
    product = sb.product([sb.FiniteStructure(first), sb.FiniteStructure(second)])
    pulls, sums = [4, 3, 5], [2.0, 2.0, 3.0]
    whole = believed(sb.ModelTS(sb.FiniteStructure(pairs), prior=together), pulls, sums).arms
    policy = sb.ModelTS(product, prior=prior)
    state = policy.init()
    for arm in range(3):
        policy.update(state, Outcome(arm, pulls[arm], sums[arm], sums[arm]))
    rng = np.random.default_rng(7)
    drawn = [policy.posterior.draw_arm(state.belief, UNKNOWN, rng).arm for _ in range(6000)]
    expected = 6000 * whole / whole.sum()
    assert stats.chisquare(np.bincount(drawn, minlength=3), expected).pvalue > 1e-3


def test_positions_on_a_curve_are_drawn_from_the_posterior() -> None:
    """One arm from 0.2 to 0.9 against a constant: the probability is that of a Beta interval."""
    product = sb.product(
        [
            sb.CurveStructure([sb.Piece(0.0, 1.0, [0.2], [0.9])]),
            sb.FiniteStructure([[0.6]]),
        ]
    )
    policy = sb.ModelTS(product)
    state = policy.init()
    policy.update(state, Outcome(0, 12, 7.0, 7.0))
    rng = np.random.default_rng(8)
    drawn = [policy.posterior.draw_arm(state.belief, UNKNOWN, rng).arm for _ in range(1000)]
    low, cut, high = special.betainc(8.0, 6.0, [0.2, 0.6, 0.9])
    above = (high - cut) / (high - low)
    assert stats.binomtest(drawn.count(0), 1000, above).pvalue > 1e-3


def test_the_prior_of_a_product_has_a_part_for_each_group() -> None:
    product = sb.product([figure1_right(), LEFT])
    with pytest.raises(sb.ParameterError, match="2 priors, one for each group"):
        sb.ModelTS(product, prior=[1.0, 2.0, 3.0, 4.0])
    policy = sb.ModelTS(product, prior=[[1.0, 2.0, 3.0, 4.0], None])
    assert policy.parameters()["prior"] == [[1.0, 2.0, 3.0, 4.0], None]


def test_polytopes_are_refused_with_the_policies_that_serve() -> None:
    with pytest.raises(sb.ParameterError, match=r"best first: TSC.*ThompsonSampling.*SUCB"):
        sb.ModelTS(sb.unstructured(3))
