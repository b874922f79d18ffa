"""The oracles of the posterior policies against numbers found in other ways."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import posteriors
from scipy import stats
from scipy.special import betaln

# Figure 1 right of the paper, and data on which everything was computed by hand
RIGHT = [[0.8, 0.7, 0.6, 0.5], [0.8, 0.7, 0.84, 0.1], [0.8, 0.4, 0.6, 0.88], [0.8, 0.92, 0.6, 0.5]]
WINS, LOSSES = (7, 3, 2, 1), (2, 2, 1, 2)
PULLS = tuple(w + f for w, f in zip(WINS, LOSSES, strict=True))


def test_posterior_on_the_paper_structure() -> None:
    golden = [0.57302225, 0.29111364, 0.04335633, 0.09250779]
    assert posteriors.posterior(RIGHT, PULLS, WINS) == pytest.approx(golden, abs=6e-9)


def tape(rng: np.random.Generator, means: np.ndarray, horizon: int) -> list[list[int]]:
    return (rng.random((len(means), horizon)) < means[:, None]).astype(int).tolist()


def model_ts_in_floats(
    table: np.ndarray, rewards: list[list[int]], uniforms: np.ndarray
) -> list[int]:
    """The textbook loop: products of probabilities, no logarithms."""
    best, weights, arms = table.argmax(axis=1), np.ones(len(table)), list[int]()
    for u in uniforms:
        share = np.array([weights[best == i].sum() for i in range(table.shape[1])]) / weights.sum()
        top = int(share.argmax())
        order = list(range(len(share)))
        if share[top] > 1.7 * (1 - share[top]):
            order = [i for i in order if i != top] + [top]
        arm = order[int(np.searchsorted(np.cumsum(share[order])[:-1], u, side="right"))]
        mean = np.clip(table[:, arm], 1e-6, 1 - 1e-6)
        weights = weights * (mean if rewards[arm][arms.count(arm)] else 1 - mean)
        weights /= weights.max()
        arms.append(arm)
    return arms


@pytest.mark.parametrize("seed", range(10))
def test_model_ts_is_the_textbook_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.random((6, 4))
    rewards, uniforms = tape(rng, rng.random(4), 150), rng.random(150)
    trace = posteriors.model_ts(table, rewards, 150, uniforms)
    assert trace.arms == model_ts_in_floats(table, rewards, uniforms)


def test_uniforms_on_a_border_are_ties() -> None:
    """Two equal arms share the interval; 1/2 belongs to the upper one, whatever was seen."""
    table = [[0.75, 0.25], [0.25, 0.75]]
    rewards = [[1, 0] * 4, [0, 1] * 4]
    for options in ({}, {"temper": 0.3}, {"sigma": 0.5}, {"prior": [0.1, 0.1]}):
        trace = posteriors.model_ts(table, rewards, 1, [0.5], **options)
        assert (trace.arms, trace.ties) == ([1], 1)
    halves = posteriors.model_ts(
        [[0.5, 0.25], [0.5, 0.75]], [[1] * 8, [0] * 8], 3, [0.25, 0.25, 0.5]
    )
    assert halves.arms == [0, 0, 1]  # equal means on the pulled arm: 1/2 is the border to the end
    assert (halves.ties, halves.closest) == (1, 0.25)


def doubting_in_floats(
    table: np.ndarray, rewards: list[list[int]], horizon: int, uniforms: np.ndarray, off: float
) -> list[int]:
    """Trust 1/4: weights from Beta functions, means from the quantiles of SciPy's statistics."""
    reads, arms, n_arms = iter(uniforms), list[int](), table.shape[1]
    wins, losses = np.zeros(n_arms), np.zeros(n_arms)
    worth = table.mean() * (1 - table.mean()) / (2 * table.var()) - 1
    slab = (worth * table.mean(), worth * (1 - table.mean())) if worth >= 0.5 else (1.0, 1.0)
    shares = (0.0625, 0.375, 0.28125, 0.28125)
    for _ in range(horizon):
        wide = np.exp(betaln(slab[0] + wins, slab[1] + losses) - betaln(*slab))
        places, weights = [], []
        for level, strength in enumerate((None, None, 2, 50)):
            for row in table:
                a, b = (
                    (row, 1 - row) if strength is None else (strength * row, strength * (1 - row))
                )
                spike = row**wins * (1 - row) ** losses
                if strength is not None:
                    spike = np.exp(betaln(a + wins, b + losses) - betaln(a, b))
                chance = off if level else 0.0
                both = (1 - chance) * spike + chance * wide
                places.append((level, row, a, b, chance * wide / both))
                weights.append(shares[level] * both.prod())
        mark = next(reads) * sum(weights)
        level, row, a, b, offs = places[
            np.searchsorted(np.cumsum(weights)[:-1], mark, side="right")
        ]
        means = row.copy()
        for arm in range(n_arms if level else 0):
            if next(reads) < offs[arm]:
                means[arm] = stats.beta.ppf(next(reads), slab[0] + wins[arm], slab[1] + losses[arm])
            elif level > 1:
                means[arm] = stats.beta.ppf(next(reads), a[arm] + wins[arm], b[arm] + losses[arm])
        arm = int(np.argmax(means))
        if rewards[arm][arms.count(arm)]:
            wins[arm] += 1
        else:
            losses[arm] += 1
        arms.append(arm)
    return arms


@pytest.mark.parametrize("seed", range(10))
def test_doubtful_model_ts_is_the_textbook_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.uniform(0.0, 0.3 + 0.07 * seed, (4, 3))
    rewards, uniforms = tape(rng, rng.random(3), 120), rng.random(840)
    trace = posteriors.doubtful_model_ts(table, rewards, 120, uniforms, 0.25, 0.2, (2, 50))
    assert trace.arms == doubting_in_floats(table, rewards, 120, uniforms, 0.2)
    assert min(trace.met.values()) > 0


def test_quantiles_of_means_at_the_border() -> None:
    """Beta(2e-6, 2) is nearly all at 0; its quantiles are x**a / (a B(a, b)) = u."""
    tiny, two, half = posteriors.exact(2e-6), posteriors.exact(2), posteriors.exact(0.5)
    assert posteriors.quantile(tiny, two, half) == 0.0
    assert posteriors.quantile(two, tiny, half) == 1.0
    law = posteriors.exact(0.0625), posteriors.exact(3), posteriors.exact(2**-6)
    by_hand = (2**-6 * 0.0625 * np.exp(betaln(0.0625, 3))) ** 16
    assert posteriors.quantile(*law) == pytest.approx(by_hand, rel=1e-12)
    middle = posteriors.exact(5), posteriors.exact(3), posteriors.exact(0.25)
    start = posteriors.quantile(*middle)
    assert float(posteriors.refined(*middle)) == pytest.approx(start, rel=1e-14)


def test_equal_laws_at_equal_uniforms_tie() -> None:
    trace = posteriors.doubtful_model_ts(
        [[0.5, 0.5]], [[1], [1]], 1, [0.25, 0.75, 0.75], 0.0, 0.0, (2,)
    )
    assert (trace.arms, trace.ties) == ([0], 1)


def test_information_on_the_paper_structure() -> None:
    now = posteriors.belief(RIGHT, posteriors.posterior(RIGHT, PULLS, WINS))
    lost, told = np.array(now.regret, float), np.array(now.gain, float)
    assert lost == pytest.approx([0.02621399, 0.11886917, 0.15634671, 0.42618404], abs=6e-9)
    assert told == pytest.approx([0, 0.0216745875, 0.0291899007, 0.101168934], abs=6e-10)
    assert now.gain[0] == 0
    mixes = [posteriors.best_mix(now, i, j) for i in range(4) for j in range(i + 1, 4)]
    best = min(mixes, key=lambda mix: mix.ratio)
    assert (best.low, best.high) == (0, 3)
    assert float(best.weight) == pytest.approx(0.93446013, abs=6e-9)
    assert float(best.ratio) == pytest.approx(0.41454660, abs=6e-9)
    plays = np.random.default_rng(0).dirichlet([0.3] * 4, 100_000)
    assert ((plays @ lost) ** 2 >= (plays @ told) * (float(best.ratio) - 1e-12)).all()


@pytest.mark.parametrize("seed", range(30))
def test_the_mix_is_no_worse_than_any_other(seed: int) -> None:
    """The test for one arm agrees with the best pair, and random plays are no better."""
    rng = np.random.default_rng(seed)
    table, weights = rng.random((5, 4)) ** 2, rng.dirichlet([0.5] * 5)
    now = posteriors.belief(table, weights)
    mixes = [posteriors.best_mix(now, i, j) for i in range(4) for j in range(i + 1, 4)]
    least = min(mix.ratio for mix in mixes)
    alone = [i for i in range(4) if posteriors.is_optimal_alone(now, i)]
    assert all(posteriors.pure_ratio(now, i) == least for i in alone)
    inner = [mix for mix in mixes if mix.ratio == least and 0 < mix.weight < 1]
    assert bool(alone) != bool(inner)
    lost, told = np.array(now.regret, float), np.array(now.gain, float)
    plays = rng.dirichlet([0.3] * 4, 20_000)
    assert ((plays @ lost) ** 2 >= (plays @ told) * float(least) * (1 - 1e-9)).all()
    assert told == pytest.approx(mutual_information(table, weights), rel=1e-9)


def mutual_information(table: np.ndarray, weights: np.ndarray) -> list[float]:
    """Of an arm's reward and the best arm, from their joint law."""
    found = []
    for i in range(table.shape[1]):
        joint = np.zeros((table.shape[1], 2))
        for row, weight in zip(table, weights, strict=True):
            joint[row.argmax()] += weight * np.array([row[i], 1 - row[i]])
        joint = joint[joint.sum(axis=1) > 0]
        apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
        found.append(float((joint * np.log(joint / apart)).sum()))
    return found


def ids_in_floats(table: np.ndarray, rewards: list[list[int]], uniforms: np.ndarray) -> list[int]:
    """Information from the joint law; the least ratio over a pair from a fine search."""
    arms, likelihoods, n_arms = list[int](), np.ones(len(table)), table.shape[1]
    grid = np.linspace(0, 1, 20_001)
    for u in uniforms:
        weights = likelihoods / likelihoods.sum()
        lost = weights @ (table.max(axis=1, keepdims=True) - table)
        told = np.array(mutual_information(table, weights))
        found = []
        for i in range(n_arms):
            for j in range(i + 1, n_arms):
                loss, gain = (grid * x[i] + (1 - grid) * x[j] for x in (lost, told))
                best = int((loss**2 / gain).argmin())
                found.append((float(loss[best] ** 2 / gain[best]), i, j, grid[best]))
        _, i, j, weight = min(found)
        arm = i if u < weight else j
        likelihoods *= table[:, arm] if rewards[arm][arms.count(arm)] else 1 - table[:, arm]
        arms.append(arm)
    return arms


@pytest.mark.parametrize("seed", range(6))
def test_ids_is_a_search_over_all_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = 0.3 + 0.4 * rng.random((4, 3))
    rewards, uniforms = tape(rng, table[0], 30), rng.integers(0, 32, 30) / 32 + 1 / 64
    trace = posteriors.ids(table, rewards, 30, uniforms)
    assert trace.closest > 1e-4  # the search is that fine
    assert trace.arms == ids_in_floats(table, rewards, uniforms)


def test_gaussian_gain_is_the_spread_of_conditional_means() -> None:
    """Means 1 and 0 of arm 0 with weights 1/4 and 3/4 have variance 3/16, here over 2 sigma**2 = 1/2."""
    now = posteriors.belief([[1.0, 0.5], [0.0, 0.5]], [0.25, 0.75], sigma=0.5)
    assert [float(x) for x in now.gain] == [0.375, 0.0]
    assert [float(x) for x in now.regret] == [0.375, 0.125]


def test_without_gain_the_likeliest_best_arm_is_played() -> None:
    table = [[0.5, 0.25], [0.25, 0.5], [0.25, 0.5]]
    equal = [[0.5, 0.25], [0.5, 0.25]]
    assert posteriors.ids(equal, [[1] * 3] * 2, 3, [0.0, 0.5, 0.9]).arms == [0, 0, 0]
    now = posteriors.belief(table, [0.25, 0.5, 0.25])
    trace, columns = posteriors.Trace(), list(zip(*table, strict=True))
    assert posteriors.directed_arm(now._replace(gain=[0, 0]), 0.0, trace, columns) == 1
    assert trace.closest == pytest.approx(2 / 3)
    even = posteriors.Belief([0.5, 0.5], [0.25, 0.25], [0, 0])
    assert posteriors.directed_arm(even, 0.9, trace, columns) == 0
    assert trace.ties == 1


@pytest.mark.parametrize("seed", range(10))
def test_greedy_likelihood_is_the_textbook_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.random((6, 4))
    rewards, arms = tape(rng, rng.random(4), 150), list[int]()
    likelihoods = np.ones(6)
    for _ in range(150):
        arm = int(table[likelihoods.argmax()].argmax())
        likelihoods *= table[:, arm] if rewards[arm][arms.count(arm)] else 1 - table[:, arm]
        arms.append(arm)
    assert posteriors.greedy_likelihood(table, rewards, 150).arms == arms


def test_greedy_likelihood_takes_the_first_of_equal_models() -> None:
    """1/4 and 3/4 explain one 1 and one 0 equally well; so do 1/4 once and 1/2 twice."""
    mirrored = posteriors.greedy_likelihood([[0.75, 0.5], [0.25, 0.5]], [[1, 0, 0, 1], [0] * 4], 4)
    assert mirrored.arms == [0, 0, 0, 1]
    assert mirrored.ties == 2  # at first, and after the rewards 1, 0
    floor = posteriors.greedy_likelihood([[0.5, 0.0], [0.0, 0.5]], [[0, 0], [1, 0]], 2)
    assert (floor.arms, floor.ties) == ([0, 1], 1)


def test_gaussian_greedy_likelihood_is_least_squares() -> None:
    rng = np.random.default_rng(5)
    table = rng.integers(0, 9, (6, 4)) / 8
    rewards = (rng.integers(-8, 17, (4, 200)) / 8).tolist()
    likely = posteriors.greedy_likelihood(table, rewards, 200, sigma=0.5)
    squares = posteriors.ossb(table, rewards, 200, np.zeros((6, 4)))  # explores nothing: greedy
    assert likely.arms == squares.arms


def test_ossb_explores_by_its_allocation() -> None:
    """One model, c = (0, 2, 1): 2 log(t + 1) pulls of arm 1, half as many of arm 2, arm 0 otherwise.

    log 2, 3, 4, 5, 6 = .69, 1.10, 1.39, 1.61, 1.79: exploration at t = 1 to 4, then 2 >= 1.79 but 2 < 3.58.
    """
    one = [[0.75, 0.5, 0.25]]
    trace = posteriors.ossb(one, [[1] * 99] * 3, 6, [[0, 2, 1]])
    assert trace.arms == [0, 1, 2, 1, 1, 2]
    assert trace.ties == 2  # N / c = 0, 0 at t = 1; 1, 1 at t = 3
    doubled = posteriors.ossb(one, [[1] * 99] * 3, 40, [[0, 2, 1]], gamma=1.0).arms
    assert doubled == posteriors.ossb(one, [[1] * 99] * 3, 40, [[0, 4, 2]]).arms
    pulls = np.bincount(posteriors.ossb(one, [[1] * 300] * 3, 300, [[0, 2, 1]]).arms)
    assert pulls.tolist() == [282, 12, 6]  # log 300 = 5.70; 11.41 and 5.70 rounded up


def test_ossb_keeps_every_arm_going_with_epsilon() -> None:
    """Arm 2 needs no pulls. It gets one, as 0 <= epsilon s whatever epsilon is, and more with 1/2."""
    one = [[0.75, 0.5, 0.25]]
    assert posteriors.ossb(one, [[1] * 99] * 3, 50, [[0, 4, 0]]).arms.count(2) == 1
    trace = posteriors.ossb(one, [[1] * 99] * 3, 6, [[0, 4, 0]], epsilon=0.5)
    assert trace.arms == [0, 1, 2, 0, 1, 2]


def test_forgotten_models_come_back() -> None:
    """60 failures leave a mean of 1 a weight of (2e-6)**60 < e**-700; each success doubles it again."""
    table = [[0.5, 0.25], [1.0, 0.25]]
    assert posteriors.posterior(table, [60, 0], [0, 0]).tolist() == [1.0, 0.0]
    assert posteriors.posterior(table, [60 + 1200, 0], [1200, 0])[1] > 0.99


def test_mirrored_means_tie_by_coincidence() -> None:
    """Found by the soak: 3/4 and 1/4 are as likely after a one and a zero, and tell as much at first.

    The library's sums of logarithms differ there in their last digits, and may choose the other arm.
    """
    rewards = [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    trace = posteriors.greedy_likelihood([[0.75, 0.5], [0.25, 0.5]], rewards, 3)
    assert trace.arms == [0, 0, 0]
    assert trace.coincidences == [2]
    trace = posteriors.ids([[0.75, 0.25], [0.25, 0.75]], rewards, 1, [0.5])
    assert trace.arms == [0]
    assert trace.coincidences == [0]


def test_models_and_arms_that_are_the_same_tie_without_coincidence() -> None:
    rewards = [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    trace = posteriors.greedy_likelihood([[0.5, 0.75, 0.0], [0.5, 0.0, 1.0]], rewards, 1)
    assert trace.ties == 1
    assert trace.coincidences == []
    trace = posteriors.ids([[0.75, 0.75, 0.5], [0.25, 0.25, 0.5]], rewards, 1, [0.5])
    assert trace.arms == [0]
    assert trace.coincidences == []
