"""The oracles of the index, sampling and KL policies: golden numbers, cases by hand, plain loops of floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from oracles import draws, indices, kl_sets
from oracles.policies import Curves, Models, Trace, sae, ucb
from oracles.structures import MP, Game, log, real
from scipy.optimize import brentq
from scipy.stats import beta

# SMPyBandits prints six digits of these in its documentation.
GOLDEN = [
    (0.1, 0.2, 0.378391548848),
    (0.5, 0.2, 0.787088816381),
    (0.9, 0.2, 0.994489489379),
    (0.1, 0.4, 0.519475531763),
    (0.1, 0.9, 0.734715064211),
    (0.5, 0.9, 0.956809892564),
    (0.9, 0.4, 0.999285837460),
    (0.9, 0.9, 0.999995218646),
]


def tapes(seed: int, number: int = 25) -> list[list[list[float]]]:
    """Rewards of one to five arms; means 0 and 1 and rewards between 0 and 1 are among them."""
    rng = np.random.default_rng(seed)
    found = []
    for case in range(number):
        arms, horizon = int(rng.integers(1, 6)), int(rng.integers(1, 200))
        means = rng.integers(0, 5, arms) / 4 if case % 2 else rng.random(arms)
        rewards = (rng.random((arms, horizon)) < means[:, None]).astype(float)
        if case % 5 == 0:
            rewards *= rng.integers(0, 5, (arms, horizon)) / 4
        found.append(rewards.tolist())
    return found


@pytest.mark.parametrize(("x", "b", "q"), GOLDEN)
def test_kl_index_has_its_golden_values(x: float, b: float, q: float) -> None:
    assert indices.kl_upper(x, b) == pytest.approx(q, abs=1e-12)
    sharp = indices.sharp_kl_upper(Fraction(x), MP.mpf(b))
    assert float(sharp) == pytest.approx(q, abs=1e-12)
    assert abs(indices.sharp_kl(Fraction(x), sharp) - MP.mpf(b)) < MP.mpf(10) ** -45


@pytest.mark.parametrize("b", [1e-6, 0.3, 25.0, 200.0])
def test_kl_index_at_the_ends_of_the_range(b: float) -> None:
    assert indices.kl_upper(0.0, b) == -math.expm1(-b)
    assert indices.kl_upper(1.0, b) == 1
    assert 0.3 < indices.kl_upper(0.3, b) <= 1
    assert indices.kl_upper(0.3, 0.0) == 0.3


def test_divergence_at_the_ends_of_the_range() -> None:
    assert indices.kl(0.0, 0.0) == indices.kl(1.0, 1.0) == 0
    assert indices.kl(0.5, 0.0) == indices.kl(0.5, 1.0) == indices.kl(0.5, 1.5) == math.inf
    assert indices.kl(0.0, 0.5) == indices.kl(1.0, 0.5) == pytest.approx(math.log(2))
    assert indices.sharp_kl(Fraction(1, 4), Fraction(1, 2)) == pytest.approx(
        0.25 * math.log(0.5) + 0.75 * math.log(1.5)
    )


# ------------------------------------------------------------- plain loops of floats, one per rule


class Arm(NamedTuple):
    """What the index of an arm may depend on."""

    pulls: float
    mean: float
    squares: float = 0.0
    clock: int = 1  # the number of the decision at hand
    arms: int = 1
    horizon: int = 1
    top: float = 1.0  # the highest mean of all arms


Index = Callable[[Arm], float]


def klucb_index(arm: Arm) -> float:
    b = math.log(arm.clock) / arm.pulls
    if arm.mean in (0, 1):
        return 1 if arm.mean == 1 else 1 - math.exp(-b)
    return brentq(lambda q: indices.kl(arm.mean, q) - b, arm.mean, 1 - 1e-16, xtol=1e-15)


def plus_plus_index(arm: Arm) -> float:
    y = arm.horizon / (arm.arms * arm.pulls)
    g = max(0, math.log(y * (1 + max(0, math.log(y)) ** 2)))
    return indices.kl_upper(arm.mean, g / arm.pulls)


def moss_index(arm: Arm) -> float:
    share = arm.horizon / (arm.arms * arm.pulls)
    return arm.mean + math.sqrt(max(0, math.log(share)) / arm.pulls)


def anytime_index(arm: Arm) -> float:
    share = arm.clock / (arm.arms * arm.pulls)
    return arm.mean + math.sqrt(1.175 * max(0, math.log(share)) / arm.pulls)  # 1.175 = (1 + 1.35)/2


def imed_index(arm: Arm) -> float:
    away = arm.pulls * indices.kl(arm.mean, arm.top) if arm.mean < arm.top else 0
    return -away - math.log(arm.pulls)


def ucbv_index(arm: Arm) -> float:
    v, part = max(0, arm.squares / arm.pulls - arm.mean**2), math.log(arm.clock) / arm.pulls
    return arm.mean + math.sqrt(2.4 * v * part) + 3.6 * part


def float_loop(index: Index, rewards: list[list[float]], horizon: int) -> list[int]:
    """Arms without a pull first, then the highest index, the lowest arm on ties."""
    n, played = len(rewards), []
    pulls, sums, squares = np.zeros(n), np.zeros(n), np.zeros(n)
    for t in range(1, horizon + 1):
        arm = int(np.argmin(pulls))
        if pulls[arm] > 0:
            data = zip(pulls, sums / pulls, squares, strict=True)
            top = (sums / pulls).max()
            arm = int(np.argmax([index(Arm(*row, t, n, len(rewards[0]), top)) for row in data]))
        reward = rewards[arm][int(pulls[arm])]
        pulls[arm] += 1
        sums[arm] += reward
        squares[arm] += reward**2
        played.append(arm)
    return played


ORACLES: dict[str, tuple[Index, Callable[..., Trace]]] = {
    "KL-UCB": (klucb_index, indices.klucb),
    "kl-UCB++": (plus_plus_index, lambda *case: indices.klucb(*case, variant="++")),
    "MOSS": (moss_index, lambda *case: indices.moss(*case, n=case[2])),
    "MOSS anytime": (anytime_index, lambda *case: indices.moss(*case, alpha=1.35)),
    "IMED": (imed_index, indices.imed),
    "UCB-V": (ucbv_index, indices.ucbv),
}


@pytest.mark.parametrize("name", ORACLES)
def test_oracle_plays_as_a_loop_of_floats_where_nothing_is_close(name: str) -> None:
    index, oracle = ORACLES[name]
    compared = 0
    for rewards in tapes(1):
        trace = oracle(len(rewards), rewards, len(rewards[0]))
        if trace.closest > 1e-9:
            assert float_loop(index, rewards, trace.sure) == trace.arms[: trace.sure]
            compared += trace.sure
    assert compared > 500


def test_ucb_with_kl_boxes_and_half_an_alpha_is_klucb() -> None:
    for rewards in tapes(2):
        arms, horizon = len(rewards), len(rewards[0])
        expected = indices.klucb(arms, rewards, horizon).arms
        assert kl_sets.ucb_kl(arms, rewards, horizon, alpha=0.5).arms == expected


def test_gaussian_klucb_is_ucb_with_half_an_alpha() -> None:
    for rewards in tapes(3):
        arms, horizon = len(rewards), len(rewards[0])
        expected = ucb(arms, rewards, horizon, alpha=0.5, sigma=0.75).arms
        assert indices.klucb(arms, rewards, horizon, sigma=0.75).arms == expected


def test_moss_is_greedy_once_every_arm_has_its_share() -> None:
    rewards = [[1.0, 0.0, 0.0, 0.0, 0.0], [0.0] * 5]
    # n = 2 and two arms: every radius is 0 after one pull each, a mean above 0 stays above 0.
    assert indices.moss(2, rewards, 6, n=2).arms == [0, 1, 0, 0, 0, 0]


def test_imed_names_the_coincidence_of_log_2() -> None:
    rewards = [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    # Pulls 0, 1, 0 leave a mean of 1/2 (index log 2) and one loss: kl(0, 1/2) + log 1 = log 2 as well.
    trace = indices.imed(2, rewards, 4)
    assert trace.arms == [0, 1, 0, 0]
    assert trace.coincidences == [trace.sure] == [3]
    assert indices.imed(2, rewards, 4, follow=[0, 1, 0, 1]).arms == [0, 1, 0, 1]
    assert indices.imed(2, rewards, 4, follow=[1, 1, 1, 0]).arms == [0, 1, 0, 0]


def test_only_playable_arms_are_played() -> None:
    rewards = tapes(4, 3)[1]
    for oracle in (indices.klucb, indices.moss, indices.imed, indices.ucbv):
        assert set(oracle(len(rewards), rewards, 30, arms=[0]).arms) == {0}


# -------------------------------------------------------------------------------------- sampling


@pytest.mark.parametrize(
    ("a", "b", "u"), [(1, 1, 0.25), (3, 5, 0.2), (200, 7, 0.9999), (7, 200, 1e-9)]
)
def test_beta_quantiles_agree_with_scipy(a: int, b: int, u: float) -> None:
    sharp = draws.sharp_beta_quantile(Fraction(a), Fraction(b), real(Fraction(u)))
    assert float(sharp) == pytest.approx(beta.ppf(u, a, b), rel=1e-12)


def test_thompson_takes_a_uniform_for_each_playable_arm() -> None:
    rewards = [[1.0] * 3, [0.0] * 3, [1.0] * 3]
    tape = iter([0.2, 0.9, 0.3, 0.1, 0.7, 0.3])
    # Arm 0 draws its uniforms. Arm 2 draws 0.9, then sqrt(0.1) = 0.316, then the cube root 0.669 of 0.3.
    assert draws.thompson(3, rewards, 3, tape, arms=[0, 2]).arms == [2, 2, 0]
    assert next(tape, None) is None


def test_gaussian_thompson_pulls_each_arm_once_unless_there_is_a_prior() -> None:
    rewards = [[0.0] * 3, [1.0] * 3]
    assert draws.thompson(2, rewards, 3, [0.5, 0.5], sigma=1.0).arms == [0, 1, 1]
    assert draws.thompson(2, rewards, 1, [0.4, 0.6], prior=(0.0, 1.0), sigma=1.0).arms == [1]


# -------------------------------------------------------------------------------- sets and UCB-C


def fits(row: list[float], data: list[tuple[int, int]], level: float) -> bool:
    """Whether a model fits (pulls, sum) of each arm."""
    game = Game(len(row), [[0.0, 1.0]])
    game.counts, game.sums = [n for n, _ in data], [s for _, s in data]
    return bool(kl_sets.KLBoxes(Models([row]), game).evaluate(MP.mpf(level))[0])


def test_kl_boxes_at_means_of_0_and_1() -> None:
    assert fits([0.0], [(5, 0)], 0.1)
    assert fits([1.0], [(5, 5)], 0.1)
    assert not fits([0.0], [(500, 1)], 1e6)
    assert not fits([1.0], [(500, 499)], 1e6)


def test_means_outside_the_range_fit_only_arms_without_a_pull() -> None:
    assert fits([0.5, 1.5], [(2, 1), (0, 0)], 0.1)
    assert not fits([0.5, 1.5], [(2, 1), (1, 1)], 1e6)
    assert not fits([0.5, -0.5], [(2, 1), (1, 0)], 1e6)


def test_kl_box_is_open_and_equality_is_seen() -> None:
    game = Game(1, [[0.0, 1.0]])
    game.counts, game.sums = [1], [1]
    boxes = kl_sets.KLBoxes(Models([[0.5]]), game)
    half = log(2) / 2  # the budget is twice the level: kl(1, 1/2) = log 2 exactly
    assert not boxes.evaluate(half)[0]
    assert boxes.doubtful == [0]
    assert boxes.evaluate(half + MP.mpf(10) ** -20)[0]


Piece = tuple[float, float, list[float], list[float]]


def highest_on_grid(
    pieces: list[Piece], pulls: list[int], sums: list[float], budget: float
) -> float:
    """The highest mean of any arm over a fine grid of fitting points, -inf if there is none."""
    top = -math.inf
    for _, _, first, last in pieces:
        for x in np.linspace(0, 1, 2001):
            means = [(1 - x) * a + x * b for a, b in zip(first, last, strict=True)]
            data = zip(means, pulls, sums, strict=True)
            if all(n == 0 or n * indices.kl(s / n, q) < budget for q, n, s in data):
                top = max(top, *means)
    return top


@pytest.mark.parametrize("seed", range(12))
def test_most_optimistic_point_of_a_curve_is_that_of_a_fine_grid(seed: int) -> None:
    rng = np.random.default_rng([5, seed])
    pieces = [(k, k + 1, rng.random(3).tolist(), rng.random(3).tolist()) for k in range(2)]
    if seed % 2:
        pieces[0][3][0] = pieces[0][2][0]  # an arm whose mean is constant on a piece
    game = Game(3, [[0.0, 1.0]])
    game.counts = rng.integers(0, 12, 3).tolist()
    game.sums = [int(rng.integers(0, n + 1)) for n in game.counts]
    level = MP.mpf(float(rng.choice([0.5, 1.0, 2.0])))
    boxes = kl_sets.KLBoxes(Curves(pieces), game)
    cells = np.flatnonzero(boxes.evaluate(level)).tolist()
    offers = [boxes.offer(c, 2 * level) for c in cells]
    expected = highest_on_grid(pieces, game.counts, game.sums, float(2 * level))
    if expected == -math.inf:
        widest = max((boxes.rough_ends(1) - boxes.rough_ends(-1))[cells], default=0)
        assert widest < 1e-3  # a grid may miss a short interval, not a long one
    else:
        assert max(offer.rough for offer in offers) == pytest.approx(expected, abs=1e-3)
    for offer in offers:
        assert float(offer.sharp()) == pytest.approx(offer.rough, abs=1e-9)


def test_sucb_names_a_coincidence_that_would_fill_an_empty_set() -> None:
    """After a reward of 1 the budget of the second decision is log 2 = kl(1, 1/2): the only model leaves."""
    trace = kl_sets.sucb_kl(Models([[0.5]]), [[1.0, 1.0]], 2, alpha=0.5)
    assert trace.empty == 1
    assert trace.coincidences == [1]


def test_sucb_with_kl_boxes_plays_as_a_loop_of_floats() -> None:
    compared = 0
    for number, rewards in enumerate(tapes(6)):
        rng = np.random.default_rng([7, number])
        table, horizon = rng.random((4, len(rewards))), len(rewards[0])
        trace = kl_sets.sucb_kl(Models(table.tolist()), rewards, horizon, alpha=0.5)
        if trace.closest > 1e-9 and not trace.coincidences:
            assert sucb_floats(table, rewards, horizon) == trace.arms
            compared += horizon
    assert compared > 1000


def sucb_floats(table: np.ndarray, rewards: list[list[float]], horizon: int) -> list[int]:
    """SUCB with KL boxes and alpha = 1/2 on a table without equal means."""
    pulls, sums, played = [0] * table.shape[1], [0.0] * table.shape[1], []
    optimal = sorted(set(table.argmax(axis=1).tolist()))

    def fit(row: np.ndarray, t: int) -> bool:
        data = [(n, s / n, q) for n, s, q in zip(pulls, sums, row, strict=True) if n > 0]
        return all(n * indices.kl(mean, q) < math.log(t) for n, mean, q in data)

    def index(i: int, t: int) -> float:
        return klucb_index(Arm(pulls[i], sums[i] / pulls[i], clock=t)) if pulls[i] else math.inf

    for t in range(1, horizon + 1):
        if rows := [row for row in table if fit(row, t)]:
            arm = int(np.argmax(max(rows, key=max)))
        else:
            arm = optimal[int(np.argmax([index(i, t) for i in optimal]))]
        sums[arm] += rewards[arm][pulls[arm]]
        pulls[arm] += 1
        played.append(arm)
    return played


def test_competitive_policies_without_a_fitting_model_are_their_bases() -> None:
    """Means of 9 fit until the first pull, each arm is best in one model: all arms are competitive, always."""
    for number, rewards in enumerate(tapes(8)):
        arms, horizon = len(rewards), len(rewards[0])
        structure = Models((9 + np.eye(arms)).tolist())
        tape = np.random.default_rng(number).random(arms * horizon)
        case = arms, rewards, horizon
        far = structure, rewards, horizon
        assert kl_sets.ucbc(*far, alpha=1.0).arms == ucb(*case, alpha=1.0).arms
        assert kl_sets.ucbc(*far, confidence="kl").arms == kl_sets.ucb_kl(*case).arms
        assert kl_sets.klucbc(*far, c=3.0).arms == indices.klucb(*case, c=3.0).arms
        trace = kl_sets.tsc(*far, tape)
        assert trace.arms == draws.thompson(*case, tape).arms
        assert trace.empty == horizon - 1


def test_sae_with_kl_boxes_refutes_what_hoeffding_keeps() -> None:
    """Rewards all 0, phases of 12 and 48 pulls, log 400 = 5.99: after 48 pulls 48 kl(0, 0.2) = 10.7 is
    above, 48 kl(0, 0.1) = 5.06 below; in squares 2 * 48 * 0.2**2 = 3.84 is below as well.
    """
    structure, rewards = Models([[0.2, 0.0], [0.0, 0.1]]), [[0.0] * 200] * 2
    for oracle, kept in [(sae, (0, 1)), (kl_sets.sae_kl, (1,))]:
        trace = oracle(structure, rewards, 100, n=400, alpha=0.5)
        assert trace.updates == [
            (24, (12, 12), (0, 1), (0, 1)),
            (96, (48, 48), (0, 1), kept),
        ]
