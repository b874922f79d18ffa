"""Evidence on structures that are no tables: bounds by other means, other encodings, and how rarely it errs."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize
from scipy.stats import binomtest

import structured_bandits as sb
from structured_bandits.base.confidence import Data
from structured_bandits.inference.barrier import (
    climb,
    climb_by_loops,
    highest_in,
    loglik,
    solve_in_place,
)
from structured_bandits.inference.evidence import evidence_on
from structured_bandits.inference.mixture_evidence import SLACK
from structured_bandits.inference.unimodal_rows import RowModels, row_of
from structured_bandits.structures.reward_ranges import Rewards

COINS = Rewards(0.5, 0.0, 1.0)
NORMAL = Rewards(0.5, -math.inf, math.inf)


def log_of_coins(means: Any, pulls: Any, sums: Any) -> float:
    """The log-likelihood, -inf where an outcome is impossible."""
    with np.errstate(divide="ignore", invalid="ignore"):
        hits = np.where(sums > 0, sums * np.log(means), 0.0)
        misses = np.where(pulls > sums, (pulls - sums) * np.log1p(-means), 0.0)
    return float((hits + misses).sum())


def seen(rng: Any, arms: int, most: int = 40) -> Data:
    """Pulls and sums of coins; some arms were never pulled, some never paid."""
    pulls = rng.integers(0, most, arms)
    return Data(pulls, rng.binomial(pulls, rng.choice([0.0, 0.3, 0.7, 1.0], arms)).astype(float))


# ------------------------------------------------------------------------- the highest likelihood


def by_grid(pulls: Any, sums: Any, arm: int, side: int, steps: int = 200) -> float:
    """The likeliest means on a grid that rise to a peak on one side of an arm and then fall.

    By dynamic programming over the arms, forwards to each peak and backwards.
    """
    grid = np.linspace(0.0, 1.0, steps + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(sums[:, None] > 0, sums[:, None] * np.log(grid), 0.0)
        misses = (pulls - sums)[:, None]
        logs = logs + np.where(misses > 0, misses * np.log1p(-grid), 0.0)

    def below(rows: Any) -> list[Any]:
        """For each arm: the likeliest rising means of those before it, at most a number."""
        found = [np.zeros(steps + 1)]
        for row in rows:
            found.append(np.maximum.accumulate(found[-1] + row))
        return found[:-1]

    before, after = below(logs), below(logs[::-1])[::-1]
    peaks = range(arm + 1, len(pulls)) if side > 0 else range(arm)
    return max(float((before[peak] + logs[peak] + after[peak]).max()) for peak in peaks)


@pytest.mark.parametrize("index", range(40))
def test_unimodal_rows_by_dynamic_programming(index: int) -> None:
    rng = np.random.default_rng([90, index])
    arms = int(rng.integers(2, 7))
    data = seen(rng, arms)
    row = row_of(sb.unimodal(arms), 0.0, 1.0)
    assert row is not None
    models = RowModels(row, COINS)
    for arm in range(arms):
        found = models.sides(models.counts(*data), arm)
        sides = [side for side in (1, -1) if (arm + 1 < arms if side > 0 else arm > 0)]
        assert len(found) == len(sides)
        for each, side in zip(found, sides, strict=True):
            least = by_grid(data.pulls, data.sums, arm, side)
            assert least - 1e-9 <= each.log_likelihood <= least + 0.05
            assert log_of_coins(each.means, *data) == pytest.approx(each.log_likelihood, abs=1e-9)
            assert each.neighbour == arm + side


KINDS: dict[str, Any] = {
    "lipschitz": sb.lipschitz([0.0, 0.1, 0.3, 0.7], 1.0),
    "concave": sb.concave(4),
    "monotone": sb.monotone(4, decreasing=True),
    "mixtures": sb.mixtures([[0.5, 0.2, 0.4], [0.1, 0.6, 0.3], [0.2, 0.2, 0.7]]),
    "linear": sb.linear([[1, 0], [0.6, 0.8], [0, 1]], bounds=(0, 0.7), reward_range=(0, 1)),
    "known best mean": sb.known_best_mean(3, 0.6),
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("index", range(4))
def test_bounds_are_those_of_another_solver_and_never_too_low(name: str, index: int) -> None:
    """Of every cell, beside SciPy's; a model of the cell is never likelier than the bound."""
    structure, rng = KINDS[name], np.random.default_rng([91, index])
    arms = structure.n_arms
    pulls = rng.integers(1, 60, arms)
    data = Data(pulls, rng.binomial(pulls, rng.uniform(0.1, 0.9, arms)).astype(float))
    evidence: Any = evidence_on(structure, COINS)
    models = evidence.models
    counts = models.counts(*data)
    for number, cell in enumerate(models.cells):
        bound, shares = models.highest(number, counts)
        piece = structure.pieces[cell.piece]
        rows = np.vstack([piece.rows, piece.slopes[cell.arm] - piece.slopes])
        least = np.concatenate([piece.lower, piece.intercepts - piece.intercepts[cell.arm]])
        most = np.concatenate([piece.upper, np.full(arms, np.inf)])

        def loss(x: Any, piece: Any = piece) -> float:
            means = (piece.slopes @ x + piece.intercepts).clip(1e-12, 1 - 1e-12)
            return -log_of_coins(means, *data)

        equal = least == most
        within = [
            LinearConstraint(rows[kind], least[kind], most[kind])
            for kind in (equal, ~equal)
            if kind.any()
        ]
        start = models._region(("cell", number, None), np.ones(arms, np.bool_))
        inner = np.linalg.lstsq(
            piece.slopes, start.means(start.inner) - piece.intercepts, rcond=None
        )[0]
        found = minimize(loss, inner, constraints=within, method="SLSQP", options={"maxiter": 500})
        inside = ((rows @ found.x > least - 1e-7) & (rows @ found.x < most + 1e-7)).all()
        assert log_of_coins(shares, *data) <= bound + 1e-9
        assert bound <= log_of_coins(shares, *data) + 3e-3
        assert inside
        assert bound >= -found.fun - 1e-5
        assert bound <= -found.fun + 5e-3


@pytest.mark.parametrize("index", range(6))
def test_a_lead_is_asked_of_the_cell(index: int) -> None:
    """With an epsilon: models of the cell in which its arm is better by so much, by a grid."""
    rng = np.random.default_rng([92, index])
    structure = sb.around([[0.5, 0.3, 0.6], [0.2, 0.7, 0.4]], 0.2)
    pulls = rng.integers(1, 40, 3)
    data = Data(pulls, rng.binomial(pulls, 0.5).astype(float))
    evidence: Any = evidence_on(structure, COINS)
    cells = structure.cells
    for number, cell in enumerate(evidence.models.cells):
        for other in {0, 1, 2} - {cell.arm}:
            ends = zip(cells.least[cell.piece], cells.most[cell.piece], strict=True)
            grid = [np.linspace(low, high, 25) for low, high in ends]
            fits = [
                log_of_coins(np.array(means), *data)
                for means in product(*grid)
                if means[cell.arm] >= max(means) and means[cell.arm] >= means[other] + 0.1
            ]
            bound, _ = evidence.models.highest(number, evidence.models.counts(*data), (other, 0.1))
            best = max(fits, default=-math.inf)
            assert bound >= best - 1e-9
            if fits:
                assert bound <= best + 0.3
            else:
                assert bound == -math.inf


@pytest.mark.parametrize("name", ["lipschitz", "mixtures", "linear"])
def test_loops_and_numpy_climb_alike(name: str) -> None:
    """What simulations compile, in plain Python."""
    rng = np.random.default_rng(93)
    evidence: Any = evidence_on(KINDS[name], COINS)
    models = evidence.models
    scope = {"loglik": loglik, "solve_in_place": solve_in_place}
    assert all(climb_by_loops.__globals__[key] is value for key, value in scope.items())
    for _ in range(5):
        data = seen(rng, models.arms)
        counts = models.counts(*data)
        region = models._region(("cell", 0, None), data.pulls > 0)
        places = [region.inner.copy() for _ in range(2)]
        ends = [1e-3 / len(region.ends)] * 2
        one = climb.plain(*region[:4], *counts, 0.0, places[0], 1.0, ends[0])
        two = climb_by_loops(*region[:4], *counts, 0.0, places[1], 1.0, ends[1])
        assert one == pytest.approx(two, abs=1e-6)
        np.testing.assert_allclose(places[0], places[1], atol=1e-5)


def test_where_the_likelihood_is_highest_at_a_corner() -> None:
    """Two free coins that never and always paid: the bound is at most the pressure too high."""
    evidence: Any = evidence_on(sb.lipschitz([0.0, 2.0], 1.0), COINS)
    counts = evidence.models.counts(np.array([50, 70]), np.array([50.0, 0.0]))
    found = [evidence.models.highest(cell, counts)[0] for cell in range(2)]
    assert 0.0 <= max(found) <= 2.5e-3
    pooled = 50 * math.log(50 / 120) + 70 * math.log(70 / 120)
    assert min(found) == pytest.approx(pooled, abs=3e-3)
    assert (
        highest_in(evidence.models._region(("piece", 0), np.ones(2, np.bool_)), *counts, 0.0).bound
        >= 0.0
    )


# ------------------------------------------------------------------------- other encodings


def certificates(structure: Any, data: Data, rewards: Rewards = COINS) -> tuple[int, float]:
    """The arm, and the log-evidence, after all rewards at once."""
    evidence: Any = evidence_on(structure, rewards)
    best = evidence.best(evidence.fresh(), data)
    return best.arm, best.log_evidence


@pytest.mark.parametrize("index", range(10))
def test_a_product_of_tables_is_the_table_of_combinations(index: int) -> None:
    rng = np.random.default_rng([94, index])
    parts = [rng.uniform(0.05, 0.95, (3, 2)), rng.uniform(0.05, 0.95, (2, 2))]
    table = np.array([[*one, *two] for one in parts[0] for two in parts[1]])
    whole = sb.FiniteStructure(table)
    groups = sb.product([sb.FiniteStructure(part) for part in parts])
    data = seen(rng, 4)
    one, two = certificates(whole, data), certificates(groups, data)
    assert one[1] - 1.1 * SLACK <= two[1] <= one[1] + 1e-9  # the slack is counted for the rival
    if one[1] > 0.0:
        assert one[0] == two[0]


@pytest.mark.parametrize("rewards", [COINS, NORMAL], ids=["coins", "Gaussian"])
def test_a_curve_is_about_a_fine_table(rewards: Rewards) -> None:
    ends = (0.8, 0.4, 0.1), (0.2, 0.6, 0.4)
    curve = sb.CurveStructure([sb.Piece(0.0, 1.0, *ends)])
    places = (np.arange(4_000) + 0.5)[:, None] / 4_000
    table = np.array(ends[0]) + places * (np.array(ends[1]) - np.array(ends[0]))
    data = Data(np.array([60, 50, 10]), np.array([40.0, 22.0, 1.0]))
    one = certificates(curve, data, rewards)
    two = certificates(sb.FiniteStructure(table), data, rewards)
    assert one[0] == two[0]
    assert one[1] == pytest.approx(two[1], abs=0.01)


# ------------------------------------------------------------------------- found by an attack


def test_few_hits_in_very_many_pulls_are_not_nothing() -> None:
    """Two arms with the same 50 hits in 10^12 pulls: one was certain to be the better one."""
    for policy in (sb.UCB(2), sb.SUCB(sb.unimodal(2)), sb.SUCB(sb.lipschitz([0.0, 1.0], 0.5))):
        for hits in ([50, 50], [40, 45]):
            agent = sb.Agent(policy)
            agent.learn([10**12] * 2, hits)
            certificate: Any = agent.certificate
            assert certificate.from_arms.error > 0.5
            assert certificate.given_models is None or certificate.given_models.error > 0.5


def test_lines_that_meet_in_a_point_leave_no_cell_without_length() -> None:
    """ISAE played one arm for ever: a cell of length 0 has the prior 0, and weights were no numbers."""
    first = sb.Piece(0, 0.5, [0.2, 0.3, 0.6], [0.5, 0.4, 0.1], closed="both")
    curve = sb.CurveStructure([first, sb.Piece(1, 2, [0.5, 0.9, 0.2], [0.5, 0.1, 0.2])])
    assert (curve.model_lines[0].length > 0.0).all()
    agent, rng = sb.Agent(sb.ISAE(curve)), np.random.default_rng(0)
    for _ in range(60):
        decision = agent.ask()
        agent.tell(decision.id, float(rng.random() < (0.26, 0.32, 0.5)[decision.arm]))
    assert agent.pulls[2] > 10
    assert agent.certificate is not None


def test_a_product_of_two_curves_is_soon_looked_at() -> None:
    """It took minutes: where two convex deficits meet, very many small parts are as good as the best."""
    line = sb.CurveStructure([sb.Piece(0.0, 1.0, [0.0], [1.0])])
    structure = sb.product([line, line])
    found = certificates(structure, Data(np.array([5, 5]), np.array([2.0, 3.0])))
    places = np.linspace(0.0, 1.0, 20_001)[1:-1]
    logs = [hits * np.log(places) + (5 - hits) * np.log1p(-places) for hits in (2, 3)]
    total = sum(np.log(np.exp(each).sum() / 20_000) for each in logs)
    pooled = float((logs[0] + logs[1]).max())
    assert found[0] == 1
    assert found[1] == pytest.approx(total - pooled, abs=3e-4)


@pytest.mark.parametrize(
    "structure",
    [
        sb.mixtures([[0, 0.5, 0.1], [0, 0.1, 0.5]]),
        sb.around([[0, 0.5, 0.1], [0, 0.1, 0.5]], [0, 0.1, 0.1]),
        sb.known_best_mean(3, 1.0),
    ],
    ids=["mixtures", "margins", "known best mean"],
)
def test_rewards_that_no_model_allows_make_nothing_certain(structure: sb.Structure) -> None:
    agent = sb.Agent(sb.BestArm(structure))
    agent.learn([50] * 3, [2, 45, 2])
    certificate: Any = agent.certificate
    assert certificate.given_models.error == 1.0
    assert agent.settled_arm is None
    assert agent.ask().arm in range(3)


def test_an_arm_whose_mean_is_at_the_end_of_the_range() -> None:
    """The barrier began where the likelihood is 0, and divided by it."""
    world = sb.Bernoulli([1.0, 0.5, 0.5])
    found = sb.identify(sb.known_best_mean(3, 1.0), world, runs=5, horizon=300, engine="python")
    assert found.wrong.sum() == found.undecided == 0


def test_arms_that_an_equation_makes_equal_become_certain() -> None:
    """The arm that has a cell is named; it was the other one by rounding, and its rival as likely."""
    rows = np.vstack([np.eye(3), [1, -1, 0]])
    piece = sb.Polytope(np.eye(3), rows=rows, lower=[0, 0, 0, 0], upper=[1, 1, 1, 0])
    for structure in (sb.PolyhedralStructure([piece]), sb.lipschitz([0, 0, 1], 0.3)):
        agent = sb.Agent(sb.SUCB(structure))
        for _ in range(4):
            agent.learn([1_000] * 3, [800, 805, 500])
        certificate: Any = agent.certificate
        assert certificate.given_models.arm == 0
        assert certificate.given_models.error < 1e-3


def test_the_evidence_changes_with_the_policy() -> None:
    """After `switch` the certificate was that of the old structure, until the agent was restored."""
    agent = sb.Agent(sb.ModelTS(sb.FiniteStructure([[0.9, 0.1, 0.2], [0.1, 0.8, 0.3]])))
    agent.learn([10] * 3, [8, 2, 3])
    for policy in (
        sb.BestArm(sb.unimodal(3)),
        sb.UCB(3),
        sb.SUCB(sb.around([[0.9, 0.1, 0.2]], 0.3)),
    ):
        agent.switch(policy)
        for _ in range(5):
            agent.tell(agent.ask().id, 1.0)
        twin = sb.Agent.from_json(agent.to_json(), policy)
        assert twin.certificate == agent.certificate
        assert agent.certificate is not None
        assert (agent.certificate.given_models is None) == isinstance(policy, sb.UCB)


def test_an_epsilon_counts_for_unimodal_arms() -> None:
    agent = sb.Agent(sb.BestArm(sb.unimodal(3), epsilon=0.2))
    for _ in range(20):
        agent.learn([400] * 3, [200, 200, 40])
    assert agent.settled_arm is not None
    assert agent.settled_arm.arm in (0, 1)
    strict = sb.Agent(sb.BestArm(sb.unimodal(3)))
    strict.learn([8_000] * 3, [4_000, 4_000, 800])
    assert strict.settled_arm is None


def test_a_prior_where_there_is_none() -> None:
    for structure in (sb.unimodal(3), sb.around([[0.5, 0.2], [0.1, 0.4]], 0.1)):
        with pytest.raises(
            sb.ParameterError, match=r"prior=\[1, 2\]: .* has no prior over its models"
        ):
            sb.BestArm(structure, prior=[1, 2])


# ------------------------------------------------------------------------- it is rarely wrong


@pytest.mark.parametrize(
    ("structure", "means"),
    [
        (sb.unimodal(4), (0.3, 0.5, 0.45, 0.2)),
        (sb.mixtures([[0.5, 0.2], [0.3, 0.6]]), (0.42, 0.36)),
        (sb.around([[0.5, 0.45], [0.2, 0.6]], 0.1), (0.45, 0.42)),
    ],
    ids=["unimodal", "mixtures", "margins"],
)
def test_it_is_rarely_wrong_under_peeking(structure: Any, means: Any) -> None:
    """60 lives at level 0.4, looked at after each pull; 12 structures: tools/false_certificates.py."""
    rng, lives, level = np.random.default_rng(95), 60, 0.4
    evidence: Any = evidence_on(structure, COINS)
    arms, bad = len(means), 0
    for _ in range(lives):
        memory = evidence.fresh()
        pulls, sums = np.zeros(arms, np.int64), np.zeros(arms)
        for _ in range(40):
            greedy = int((sums / np.maximum(pulls, 1)).argmax())
            arm = greedy if rng.random() < 0.6 else int(rng.integers(arms))
            pulls[arm] += 1
            sums[arm] += rng.random() < means[arm]
            data = Data(pulls, sums)
            evidence.look(memory, data)
            best = evidence.best(memory, data)
            if means[best.arm] < max(means) and best.error <= level:
                bad += 1
                break
    assert binomtest(bad, lives, level, alternative="greater").pvalue > 1e-6


def test_more_evidence_comes_with_more_rewards() -> None:
    """On structures in which the first arm can be better than equal other ones."""
    kinds = [KINDS[name] for name in ("lipschitz", "concave", "mixtures", "known best mean")]
    for structure in (*kinds, sb.unimodal(4), sb.around([[0.5, 0.3], [0.2, 0.6]], 0.05)):
        arms = structure.n_arms
        means = np.full(arms, 0.4)
        means[0] = 0.6
        found = [
            certificates(structure, Data(np.full(arms, n), n * means))[1] for n in (50, 500, 5_000)
        ]
        assert found[0] < found[1] < found[2]
